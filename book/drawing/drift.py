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
        arrows(ax, problem["drift"], span, 9)
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


def wrong_way(*, loss, drift, paths, checks, span):
    """Draw the optimum on a bowl that is not round, and what the formula for round bowls says instead."""
    figure, ax = plt.subplots(figsize=(5.8, 4.6))
    ground(ax, loss, span)
    arrows(ax, drift, span, 11)
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
        arrows(ax, field, span, points, longest=longest, strong=True)
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


def arrows(ax, field, span, points, longest=None, strong=False):
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
