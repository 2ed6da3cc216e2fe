"""Figures of the chapter on staying."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter

from lossnav.figures import COLOURS, label, letter, line, mark


def portraits(*, objectives, loss, branches, points, span=(-1.45, 1.3), speeds=(-0.9, 1.75)):
    """Draw one phase portrait per discount rate: the flow, all branches that come to rest, the optimal ones bold."""
    fig, axes = plt.subplots(len(objectives), 1, figsize=(5.8, 2.1 * len(objectives) + 0.3), sharex=True, sharey=True)
    for ax, objective, panel in zip(axes, objectives, branches, strict=True):
        _flow(ax, objective, loss, span, speeds)
        ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
        for text, branch in panel.items():
            _branch(ax, branch["law"], branch["wins"], text, span)
        _rest(ax, points)
        ax.set(xlim=span, ylim=speeds, ylabel=r"$\dot\theta_1$")
    axes[-1].set_xlabel(r"$\theta_1$")
    letter(axes, [rf"$\gamma={objective.gamma:.3g}$" for objective in objectives])
    return fig


def stay_or_cross(*, discounts, indifference, threshold, points, checks=(), span=(-1.25, 0.25)):
    """Draw where it is optimal to stay in the local minimum and where to cross, by discount rate and start."""
    fig, ax = plt.subplots(figsize=(5.8, 3.8))
    low, high = 0.08, float(discounts[-1])
    edge_x = np.concatenate([[threshold], discounts])
    edge_y = np.concatenate([[min(points.values())], indifference])
    ax.fill_between([low, high], span[0], span[1], color=COLOURS["optimal"], alpha=0.16, lw=0)
    ax.fill_between(edge_x, span[0], edge_y, color="white", lw=0)
    ax.fill_between(edge_x, span[0], edge_y, color=COLOURS["loss"], alpha=0.22, lw=0)
    ax.plot(edge_x, edge_y, color=COLOURS["ink"], lw=2)
    ax.plot([threshold, threshold], [span[0], edge_y[0]], color=COLOURS["ink"], lw=2)
    for text, point in points.items():
        if not span[0] < point < span[1]:
            continue
        ax.axhline(point, color=COLOURS["ink"], lw=0.7, ls=(0, (1, 2)))
        label(ax, low * 1.06, point + 0.015, text, va="bottom")
    for check in checks:
        style = (
            mark("optimal", ms=6)
            if check["crosses"]
            else {"marker": "o", "color": COLOURS["loss"], "mec": "white", "ms": 6}
        )
        ax.plot(check["gamma"], check["start"], **{"linestyle": "none", **style})
    label(ax, 0.2, (span[0] + span[1]) / 2 + 0.06, "cross", "optimal", fontsize=13, weight="bold", ha="center")
    label(ax, 1.7, span[0] + 0.36, "stay", "loss", fontsize=13, weight="bold", ha="center")
    label(ax, threshold * 0.94, span[0] + 0.03, rf"$\gamma_\mathrm{{het}}={threshold:.4f}$", ha="right", va="bottom")
    ax.set(xscale="log", xlim=(low, high), ylim=span, xlabel=r"discount rate $\gamma$", ylabel=r"start $\theta_1$")
    ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 4]))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    return fig


def horizons(*, deadlines, staying, crossing, threshold):
    """Draw the cost of the best staying and the best crossing plan against the deadline."""
    fig, ax = plt.subplots(figsize=(5.8, 2.9))
    ax.plot(deadlines, crossing, **line("optimal", lw=2.4))
    ax.plot(deadlines, staying, color=COLOURS["loss"], ls="--", lw=2.4)
    ax.axvline(threshold, color=COLOURS["ink"], lw=0.9, ls=(0, (1, 2)))
    ax.margins(y=0.14)
    label(ax, threshold, ax.get_ylim()[0], f" $T={threshold:.4f}$", ha="left", va="bottom")
    for values, text, rule, shift in ((crossing, "cross", "optimal", 0.03), (staying, "stay", "loss", -0.03)):
        place = deadlines[-1] - 0.12 * (deadlines[-1] - deadlines[0])
        height = np.interp(place, deadlines, values) + shift
        side = "bottom" if shift > 0 else "top"
        label(ax, place, height, text, rule, ha="left", va=side, weight="bold", fontsize=11)
    ax.set(xlabel="deadline $T$", ylabel="$J$")
    return fig


def travelling_front(*, place, snapshots, path, profile, points):
    """Draw a front on its way, and its profile read backwards on the optimal path."""
    fig, (above, below) = plt.subplots(2, 1, figsize=(5.8, 4.9))
    for i, (time, values) in enumerate(snapshots.items()):
        shade = 0.35 + 0.65 * (i + 1) / len(snapshots)
        above.plot(place, values, color=COLOURS["kinetic"], lw=2, alpha=shade)
        middle = (np.max(values) + np.min(values)) / 2
        at = float(place[np.argmin(np.abs(values - middle))])
        label(above, at + 0.35, float(middle) + 0.28, f"$t={time:g}$", "kinetic", ha="left", va="center")
    above.set(xlabel="place $x$", ylabel="$u(x, t)$", xlim=(float(place[0]), float(place[-1])))
    below.plot(*path, **line("optimal", lw=3))
    below.plot(*profile, color=COLOURS["kinetic"], linestyle="none", marker="o", ms=5.5, mfc="none", mew=1.4)
    middle, level = path[0][len(path[0]) // 2], float(np.mean(path[1]))
    for shift, text, rule, side in ((0.5, "optimal path", "optimal", "left"), (-0.5, "front", "kinetic", "right")):
        label(below, middle + shift, level, text, rule, weight="bold", ha=side, va="center")
    below.set(
        xlabel="time $t$ of the path, or $-x$ of the front",
        ylabel=r"$\theta$, $u$",
        xlim=(float(path[0][0]), float(path[0][-1])),
    )
    for ax in (above, below):
        for point in points.values():
            ax.axhline(point, color=COLOURS["ink"], lw=0.7, ls=(0, (1, 2)))
        right = ax.get_xlim()[1]
        for text, point in points.items():  # inside the band of the values, away from the axes
            top = point == max(points.values())
            label(ax, right, point + (-0.06 if top else 0.06), text + " ", ha="right", va="top" if top else "bottom")
    letter([above, below], ["a front on its way", "the same, read backwards"])
    return fig


def thresholds(*, tilts, leaving, dividing, pulled, onset, computed):
    """Draw both thresholds of the tilted double well against its tilt."""
    fig, ax = plt.subplots(figsize=(5.8, 3.8))
    last = float(tilts[-1])
    ax.fill_between(tilts, 0, leaving, color=COLOURS["optimal"], alpha=0.16, lw=0)
    ax.fill_between(tilts, leaving, dividing, color=COLOURS["loss"], alpha=0.14, lw=0)
    ax.plot(tilts, pulled, color=COLOURS["ink"], lw=1.4, ls=(0, (3, 2)))
    pushed = tilts >= onset
    ax.plot(tilts[tilts <= onset], dividing[tilts <= onset], color=COLOURS["ink"], lw=2.2)
    ax.plot(tilts[pushed], dividing[pushed], color=COLOURS["ballistic"], lw=3)
    ax.plot(tilts, leaving, **line("optimal", lw=2.4))
    ax.plot([onset, onset], [0, np.interp(onset, tilts, dividing)], color=COLOURS["ink"], lw=0.8, ls=(0, (1, 2)))
    for point in computed:
        ax.plot(
            [point["tilt"]] * 2,
            [point["leaving"], point["dividing"]],
            linestyle="none",
            marker="o",
            ms=5.5,
            mfc="white",
            mec=COLOURS["ink"],
            zorder=5,
        )

    def height(values, part):
        return float(np.interp(part * last, tilts, values))

    label(ax, 0.06 * last, height(dividing, 0.06) - 0.1, r"$\gamma_\mathrm{bar}$, pulled", va="top")
    place, bold = height(dividing, 0.78) + 0.1, {"weight": "bold", "va": "bottom"}
    label(ax, 0.78 * last, place, r"$\gamma_\mathrm{bar}$, pushed", "ballistic", ha="left", **bold)
    place = 1.09 * float(dividing[0])
    label(ax, 0.62 * last, place, "divide at the barrier, as gradient descent", ha="center", va="center")
    label(ax, 0.93 * last, height(pulled, 0.93) - 0.12, "pulled bound ", ha="right", va="top")
    place = height(leaving, 0.5) + 0.12
    label(ax, 0.5 * last, place, r"$\gamma_\mathrm{het}$ ", "optimal", ha="right", **bold)
    label(ax, 0.8 * last, 0.35, "cross from everywhere", "optimal", ha="center", va="bottom")
    label(ax, 0.22 * last, 2.2, "left of $\\theta_s$ stay,\nright of it cross", ha="center", va="center")
    label(ax, onset, 0.08, "pushed from here ", ha="right", va="bottom")
    ax.set(xlabel="tilt $-d$", ylabel=r"discount rate $\gamma$", xlim=(0, last), ylim=(0, 1.15 * float(dividing[0])))
    return fig


def _branch(ax, branch, wins, text, span):
    low, high = np.clip(branch.reach, *span)
    theta = np.linspace(low, high, 600)
    ax.plot(theta, np.ravel(branch.speed(theta)), color=COLOURS["ink"], lw=1.1, ls=(0, (3, 2)), zorder=3)
    first, last = max(wins[0], low), min(wins[1], high)
    wins_somewhere = last > first
    place = np.linspace(first, last, 600) if wins_somewhere else theta
    if wins_somewhere:
        ax.plot(place, np.ravel(branch.speed(place)), **line("optimal", lw=3, zorder=4))
        for edge in (first, last):
            if low < edge < high:
                ax.axvline(edge, color=COLOURS["ink"], lw=0.8, ls=(0, (1, 2)), zorder=2)
    central = (place > -0.8) & (place < 0.3)
    place = place[central] if central.any() else place[len(place) // 2 :][:1]
    shown = place[np.nanargmax(np.abs(np.ravel(branch.speed(place))))]
    height = float(np.ravel(branch.speed(np.array([shown])))[0])
    rule, weight = ("optimal", "bold") if wins_somewhere else ("ink", "normal")
    label(ax, shown, height + 0.1, text, rule, ha="center", va="bottom", weight=weight)


def _rest(ax, points):
    for text, point in points.items():
        ax.plot(point, 0, "o", color="white", mec=COLOURS["ink"], mew=1.2, ms=5.5, zorder=5)
        label(ax, point, 0.14, text, ha="center", va="bottom")


def _flow(ax, objective, loss, span, speeds):
    theta, speed = np.meshgrid(np.linspace(*span, 60), np.linspace(*speeds, 40))
    force = objective.gamma * speed + objective.eta * objective.k * loss.gradient(theta[..., None])[..., 0]
    ax.streamplot(
        theta, speed, speed, force, color="#D3D9DF", linewidth=0.7, arrowsize=0.6, density=(0.65, 0.35), zorder=1
    )
