"""Figures of the chapter on optima that never rest."""

import matplotlib.pyplot as plt
import numpy as np

from drawing.drift import END, MINIMUM, arrows
from lossnav.figures import COLOURS, halo, label, letter, line
from lossnav.figures.landscape import ground


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


def plane(*, orbits, span):
    """Draw landscapes with their drift, and for one start on each the path that goes round and the one that rests."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3), sharey=True)
    for ax, orbit in zip(axes, orbits, strict=True):
        ground(ax, orbit["loss"], span)
        arrows(ax, orbit["drift"], span, 9)
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
