"""Figures of the chapter on drift."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, halo, label, letter, line
from lossnav.figures.landscape import ground, known_minimum

MINIMUM = {"marker": "*", "color": COLOURS["ink"], "ms": 13, "mec": "white", "ls": "none"}
END = {"marker": "o", "color": COLOURS["optimal"], "ms": 8, "mec": "white", "ls": "none"}
WRONG = {"marker": "X", "color": COLOURS["ballistic"], "ms": 9, "mec": "white", "ls": "none"}


def sails(*, sail, times, span, printed, zoom):
    """Draw paths under two drifts, and below them the end of the first, magnified (the paper's Fig. 3c and 3d)."""
    times = np.asarray(times, dtype=np.float64)
    figure = plt.figure(figsize=(5.8, 5.9))
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 0.82))
    above = [figure.add_subplot(grid[0, i]) for i in range(2)]
    below = figure.add_subplot(grid[1, :])
    for ax, problem in zip(above, sail, strict=True):
        ground(ax, problem["loss"], span)
        _arrows(ax, problem["drift"], span, 9)
        ax.plot(*problem["alone"].T, color=COLOURS["loss"], ls=":", lw=1.8)
        ax.plot(*problem["path"](times).T, **line("optimal", lw=2.2), path_effects=halo(3.5))
        first = problem["path"](0.0)
        ax.plot(*first, "o", color=COLOURS["ink"], ms=6)
        label(ax, first[0] + 0.08, first[1] + 0.08, "start", ha="left", va="bottom")
        ax.plot(*known_minimum(problem["loss"]), **MINIMUM)
        ax.plot(*problem["path"].asymptote, **END, zorder=5)
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal", xlabel=r"$\theta_1$")
    above[0].set_ylabel(r"$\theta_2$")
    label(above[1], 0.12, known_minimum(sail[1]["loss"])[1] - 0.05, "minimum of $L$", va="top", ha="left")
    path = sail[0]["path"]
    dense = np.linspace(times[0], times[-1], 8 * len(times))
    below.plot(*path(dense).T, **line("optimal", lw=1.8))
    below.plot(*path.asymptote, **END, zorder=5)
    below.plot(*np.asarray(printed), **WRONG)
    ends = ((path.asymptote, 0.6, "end", "optimal"), (np.asarray(printed), 0.48, "printed", "ballistic"))
    for (x, y), share, text, rule in ends:
        aside = zoom[0] + share * (zoom[1] - zoom[0])
        below.plot([x, aside], [y, y], color=COLOURS[rule], lw=0.8, ls=":", zorder=1)
        label(below, aside, y, f" {text}, {y:.6f}".replace("-", "−"), rule, va="center")
    below.set(xlim=zoom[:2], ylim=zoom[2:], xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    letter([*above, below], [*(problem["title"] for problem in sail), "the end of a, magnified"])
    return figure


def signs(*, times, curves, checks, rest):
    """Draw one coordinate of two claimed optima, with points of a direct minimisation on the right one."""
    t = np.asarray(times, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axhline(rest, color=COLOURS["quiet"], lw=0.8, ls=":")
    label(ax, t[-1] * 0.99, rest, "minimum of $L$", "quiet", ha="right", va="bottom")
    for text, curve in curves.items():
        rule, y = curve["rule"], curve["y"]
        ax.plot(t, y, **line(rule, lw=2.2))
        at, above = int(0.72 * len(t)), y[-1] > rest
        shift = 0.05 * (1 if above else -1) * np.ptp(y)
        label(ax, t[at], y[at] + shift, text, rule, ha="center", va="bottom" if above else "top")
    ax.plot(*checks, "o", ms=5, mfc="white", mec=COLOURS["ink"], mew=1.2, zorder=5)
    low, high = ax.get_ylim()
    ax.set(xlabel="time $t$", ylabel=r"$\theta_2(t)$", xlim=(t[0], t[-1]), ylim=(low, high + 0.06 * (high - low)))
    return figure


def overtaking(*, horizons, costs, rest, beyond):
    """Draw the cost up to T of several paths, and the same less the cost of resting for T."""
    x = np.asarray(horizons, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    below.axhline(beyond, color=COLOURS["quiet"], lw=0.9, ls=":")
    best = costs["optimal"]["cost"]
    for ax, share, top in ((above, 0.0, 1.75 * best[-1]), (below, rest, 1.75 * beyond)):
        for rule, curve in costs.items():
            y = curve["cost"] - share * x
            ax.plot(x, y, **line(rule))
            place = min(int(np.searchsorted(y, 0.85 * top)), int(0.8 * len(x)))  # on the curve, inside the panel
            steep = y[-1] > top
            at, height = (x[place] + 0.015 * x[-1], y[place]) if steep else (x[place], y[place] + 0.05 * top)
            lower = rule == "optimal"
            label(
                ax,
                at,
                height - 0.1 * top * lower,
                curve["label"],
                rule,
                ha="left" if steep else "center",
                va="center" if steep else ("top" if lower else "bottom"),
            )
    above.set(ylabel="$J_T$", xlim=(x[0], x[-1]), ylim=(0, 1.75 * best[-1]))
    below.set(ylabel=r"$J_T - T\cdot$rest", xlabel="up to time $T$", ylim=(0, 1.75 * beyond))
    letter((above, below), ("the cost grows for ever", "less what resting costs"))
    return figure


def ends(*, minimum, arcs, checks):
    """Draw where the optimal path ends, for each rotation rate an arc over the discount rate."""
    figure, ax = plt.subplots(figsize=(5.8, 4.2))
    star = np.asarray(minimum, dtype=np.float64)
    ax.plot([0, star[0]], [0, star[1]], color=COLOURS["loss"], ls="--", lw=1.4, zorder=1)
    for text, arc in arcs.items():
        dot = arc["dot"]
        ax.plot(*arc["path"].T, **line("optimal", lw=2.2))
        ax.plot(*dot, **END, zorder=5)
        ax.plot(*arc["effective"], "D", ms=7, mfc="white", mec=COLOURS["ink"], zorder=5)
        label(ax, dot[0] + 0.03, dot[1], text, "optimal", va="center", ha="left")
    ax.plot(*np.asarray(checks).T, "o", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.1, ls="none", zorder=6)
    ax.plot(*star, **MINIMUM)
    ax.plot(0, 0, "+", color=COLOURS["ink"], ms=10)
    label(ax, star[0] - 0.03, star[1], r"minimum of $L$", ha="right", va="center")
    effective = next(iter(arcs.values()))["effective"]
    label(ax, effective[0] - 0.03, effective[1], r"minimum of $L_{\rm eff}$", ha="right", va="center")
    label(ax, -0.03, 0.0, r"$\gamma\to\infty$", "optimal", ha="right", va="bottom")
    ax.margins(0.06, 0.08)
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal", xlim=(-0.5, None))
    return figure


def wrong_way(*, loss, drift, paths, checks, span):
    """Draw the optimum on a bowl that is not round, and what the formula for round bowls says instead."""
    figure, ax = plt.subplots(figsize=(5.8, 4.6))
    ground(ax, loss, span)
    _arrows(ax, drift, span, 11)
    for rule, way in paths.items():
        path = way["points"]
        ax.plot(*path.T, **line(rule, lw=2.4), path_effects=halo(4))
        ax.plot(*path[-1], marker="o", ms=8, color=COLOURS[rule], mec="white", zorder=5)
        at = path[int(np.argmin(path[:, 0]))]
        side = -1 if rule == "optimal" else 1
        label(ax, at[0] + 0.08 * side, at[1], way["label"], rule, ha="right" if side < 0 else "left", va="center")
    ax.plot(*np.asarray(checks).T, "o", ms=5, mfc="white", mec=COLOURS["ink"], mew=1.2, ls="none", zorder=5)
    ax.plot(*known_minimum(loss), **MINIMUM)
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=span[:2], ylim=span[2:], aspect="equal")
    return figure


def decomposition(*, parts, heights, span, points=13):
    """Draw a field and its two parts, and contours of scalars."""
    count = len(parts) + len(heights)
    rows = (count + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(5.8, 2.75 * rows), sharex=True, sharey=True)
    panels = list(np.ravel(axes))[:count]
    longest = max(float(np.max(np.linalg.norm(_sample(f, span, points)[1], axis=-1))) for f in parts.values())
    for ax, field in zip(panels, parts.values(), strict=False):
        _arrows(ax, field, span, points, longest=longest, strong=True)
    for ax, height in zip(panels[len(parts) :], heights.values(), strict=True):
        ground(ax, height, span)
    for ax in panels:
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal")
    letter(panels, [*parts, *heights])
    return figure


def shares(*, measured, smooth, level, name):
    """Draw the non-gradient fraction of a rotation against the shape of the region it is measured on."""
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axhline(level, color=COLOURS["quiet"], lw=0.9, ls=":")
    across = ax.get_yaxis_transform()
    label(ax, 0.985, level, name, "quiet", transform=across, ha="right", va="bottom")
    x, y = (np.asarray(v, dtype=np.float64) for v in smooth)
    ax.plot(x, y, **line("loss", lw=1.6))
    at = len(x) // 4
    label(ax, x[at] * 1.05, y[at], "ellipse", "loss", ha="left", va="bottom")
    x, y = (np.asarray(v, dtype=np.float64) for v in measured)
    ax.plot(x, y, **line("optimal", marker=True))
    at = int(np.argmin(np.abs(x - 2.0)))
    label(ax, x[at] * 0.95, y[at], "rectangle", "optimal", ha="right", va="top")
    ax.set(xscale="log", ylim=(0, 1.15), xlabel="long side over short side", ylabel="non-gradient fraction")
    ticks = [1, 2, 3, 5, 10]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    return figure


def _arrows(ax, field, span, points, longest=None, strong=False):
    """Draw a field as arrows on a grid; lengths are compressed by a square root, so that weak parts can be seen."""
    places, values = _sample(field, span, points)
    size = np.linalg.norm(values, axis=-1)
    top = longest or float(size.max())
    length = 0.95 * (span[1] - span[0]) / points * np.sqrt(size / top)
    with np.errstate(invalid="ignore"):
        shown = np.where(size[..., None] > 1e-9 * top, values / size[..., None] * length[..., None], np.nan)
    x, y, u, v = places[..., 0], places[..., 1], shown[..., 0], shown[..., 1]
    ax.quiver(
        x,
        y,
        u,
        v,
        pivot="mid",
        angles="xy",
        scale_units="xy",
        scale=1.0,
        width=0.0075 if strong else 0.006,
        color=COLOURS["gradient descent"],
        alpha=0.9 if strong else 0.5,
        zorder=2,
    )


def _sample(field, span, points):
    half = (span[1] - span[0]) / points / 2
    x = np.linspace(span[0] + half, span[1] - half, points)
    y = np.linspace(span[2] + half, span[3] - half, points)
    places = np.stack(np.meshgrid(x, y), axis=-1)
    flat = np.array([field(place) for place in places.reshape(-1, 2)])
    return places, flat.reshape(places.shape)


def plane(*, orbits, span):
    """Draw landscapes with their drift, and for one start on each the path that goes round and the one that rests."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3), sharey=True)
    for ax, orbit in zip(axes, orbits, strict=True):
        ground(ax, orbit["loss"], span)
        _arrows(ax, orbit["drift"], span, 9)
        if orbit["going"] is not None:
            ax.plot(*orbit["going"].T, **line("optimal", lw=2.2), path_effects=halo(3.5))
            ax.plot(*orbit["resting"].T, **line("newton", lw=2.0), path_effects=halo(3.2))
            ax.plot(*orbit["resting"][-1], "D", ms=7, color=COLOURS["newton"], mec="white", zorder=5)
        else:
            ax.plot(*orbit["resting"].T, **line("optimal", lw=2.2), path_effects=halo(3.5))
            ax.plot(*orbit["resting"][-1], **END, zorder=5)
        ax.plot(*orbit["resting"][0], "o", color=COLOURS["ink"], ms=6, zorder=6)
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal", xlabel=r"$\theta_1$")
    axes[0].set_ylabel(r"$\theta_2$")
    letter(axes, [orbit["title"] for orbit in orbits])
    return figure


def locking(*, tilt, rest, going, theory, locks, curves, vanishing):
    """Draw what resting and going round cost against the tilt, and the drift below which the learner locks."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 6.0))
    rest, going, theory = np.array(rest), np.array(going), np.array(theory)
    above.axvline(float(locks), color=COLOURS["quiet"], lw=0.9, ls=":")
    above.plot(tilt, 1e3 * rest, **line("newton", lw=2.0))
    above.plot(tilt, 1e3 * going, **line("optimal", marker=True, lw=0, ms=6, mec="white"))
    above.plot(tilt, 1e3 * theory, **line("optimal", lw=1.8))
    low, high = 1e3 * float(np.nanmin(rest)), 1e3 * float(np.nanmax(rest))
    at = len(tilt) // 4
    label(above, tilt[at], 1e3 * rest[at] + 0.06 * (high - low), "resting", "newton", ha="left", va="bottom")
    label(above, tilt[at], 1e3 * theory[at] - 0.08 * (high - low), "going round", "optimal", ha="center", va="top")
    across = above.get_xaxis_transform()
    label(above, float(locks), 0.97, "locks ", "quiet", transform=across, ha="right", va="top")
    above.set(xlabel="tilt $d$", ylabel="cost per time, $10^{-3}$", xlim=(0, tilt[-1]))
    below.plot(*(np.asarray(v) for v in vanishing), color=COLOURS["quiet"], lw=1.1, ls=":")
    ends = [curve["rate"][-1] for curve in curves.values()]
    for text, curve in curves.items():
        rule, x, y = curve["rule"], curve["tilt"], curve["rate"]
        below.plot(x, y, **line(rule, lw=2.2))
        below.plot(*curve["found"], "o", ms=6, mfc="white", mec=COLOURS["ink"], mew=1.2, ls="none", zorder=5)
        label(below, x[-1], y[-1], f" {text}", rule, ha="left", va="bottom" if y[-1] == max(ends) else "top")
    right = float(np.max([np.max(curve["tilt"]) for curve in curves.values()]))
    top = 1.12 * float(np.max([np.max(curve["rate"]) for curve in curves.values()]))
    label(below, 0.06 * right, 0.78 * top, "goes round", ha="left", va="center")
    label(below, 0.72 * right, 0.22 * top, "locks", ha="left", va="center")
    border = np.asarray(vanishing)
    place = int(np.searchsorted(border[1], 0.84 * top))
    if place < border.shape[1]:
        label(below, border[0, place] - 0.015 * right, 0.985 * top, "no place to rest\nleft of this line", "quiet",
              ha="right", va="top")  # fmt: skip
    below.set(xlabel="tilt $d$", ylabel="rotation rate $q$", xlim=(0, right * 1.16), ylim=(0, top))
    letter((above, below), ("what it costs", "where the learner locks"))
    return figure
