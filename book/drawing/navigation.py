"""Figures of the first chapter."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, LANDSCAPE, halo, label, letter, line, mark
from lossnav.figures.landscape import contours


def paths(*, loss, optimal, descent, dots):
    """Draw the optimal path, with dots on it, and the path of gradient descent from one start on the landscape."""
    fig, ax = plt.subplots(figsize=(5.8, 3.5))
    contours(ax, loss, (-1.45, 1.45), (-0.8, 0.8))
    ax.set_aspect("equal")
    ax.plot(*optimal.T, **line("optimal", lw=3, path_effects=halo(5)))
    ax.plot(*dots.T, **mark("optimal", marker="o", ms=5.5, zorder=4))
    ax.plot(*descent.T, **line("gradient descent", lw=2.4, path_effects=halo(4.4)))
    ax.plot(*descent[-1], **mark("gradient descent", ms=9, zorder=5))
    ax.plot(*optimal[-1], **mark("optimal", ms=9, zorder=5))
    ax.plot(*optimal[0], "o", color="white", ms=9, mec=COLOURS["ink"], mew=1.6, zorder=6)
    label(ax, optimal[0, 0], optimal[0, 1] + 0.09, "start", ha="center", va="bottom")
    middle = optimal[np.argmin(np.abs(optimal[:, 0] - 0.25))]
    label(ax, middle[0], middle[1] + 0.07, "optimal path", "optimal", fontsize=11, weight="bold", va="bottom")
    label(
        ax,
        descent[-1, 0],
        descent[-1, 1] - 0.1,
        "gradient\ndescent",
        "gradient descent",
        fontsize=11,
        weight="bold",
        ha="center",
        va="top",
    )
    return fig


def surface(*, loss, optimal, descent):
    """Draw both paths on the landscape as a surface seen from above the local minimum."""
    fig = plt.figure(figsize=(5.8, 3.6))
    fig.set_layout_engine("none")
    ax = fig.add_axes((-0.155, -0.39, 1.31, 1.7), projection="3d", computed_zorder=False)
    grid_x, grid_y = np.meshgrid(np.linspace(-1.4, 1.4, 161), np.linspace(-0.7, 0.7, 161))
    height = loss.value(np.stack([grid_x, grid_y], axis=-1))
    ax.plot_surface(
        grid_x,
        grid_y,
        height,
        cmap=LANDSCAPE,
        rcount=161,
        ccount=161,
        linewidth=0,
        alpha=1.0,
        antialiased=False,
        vmin=height.min(),
        vmax=1.25 * height.max(),
        zorder=1,
    )
    levels = np.linspace(float(height.min()), float(height.max()), 16)[1:-1]
    ax.contour(grid_x, grid_y, height, levels=levels, colors="white", linewidths=0.6, linestyles="-", zorder=2)
    lift = 0.02 * (height.max() - height.min())
    for points, rule, width in ((optimal, "optimal", 3.2), (descent, "gradient descent", 2.8)):
        ax.plot(*points.T, loss.value(points) + lift, **line(rule, lw=width, zorder=4, path_effects=halo(5)))
        ax.plot(*points[-1:].T, loss.value(points[-1:]) + lift, **mark(rule, ms=9, zorder=5))
    ax.plot(
        *optimal[:1].T, loss.value(optimal[:1]) + lift, "o", color="white", ms=8, mec=COLOURS["ink"], mew=1.5, zorder=6
    )
    ax.view_init(elev=46, azim=-72)
    ax.set_box_aspect((2.0, 1.0, 0.75))
    ax.set_axis_off()
    # 3-D axes are a square with wide empty margins, here beyond the figure; a notebook's tight crop must not follow it.
    ax.get_tightbbox = lambda *_, **__: fig.bbox
    return fig


def costs(*, times, kinetic, potential):
    """Draw the two running costs of a path over time: the price of speed and the price of loss."""
    fig, ax = plt.subplots(figsize=(5.8, 2.9))
    ax.axhline(0, color=COLOURS["grid"], lw=0.8)
    ax.fill_between(times, kinetic, color=COLOURS["kinetic"], alpha=0.12, lw=0)
    ax.plot(times, kinetic, **line("kinetic", lw=2.4))
    ax.plot(times, potential, **line("potential", lw=2.4))
    peak = int(np.argmax(kinetic))
    falling = peak + int(np.argmax(kinetic[peak:] < 0.6 * kinetic[peak]))
    label(
        ax,
        times[falling],
        kinetic[falling],
        r"   price of speed  $|\dot\theta|^2/2\eta$",
        "kinetic",
        va="bottom",
        weight="bold",
    )
    label(
        ax, times[-1], potential[-1] + 0.08, "price of loss  $kL$", "potential", ha="right", va="bottom", weight="bold"
    )
    ax.set(xlabel="time $t$", ylabel="cost per unit time", xlim=(times[0], times[-1]))
    ax.margins(y=0.15)
    return fig


def discrete_limit(*, planned, myopic, limit, steps, errors):
    """Draw optimal and myopic step sequences beside the continuous optimum, and how fast the steps approach it."""
    fig, axes = plt.subplots(2, 1, figsize=(5.8, 5.4), height_ratios=(1.25, 1))
    axes[0].plot(*limit, **line("optimal", lw=2.4))
    for sequences, shade in ((planned, COLOURS["ink"]), (myopic, COLOURS["quiet"])):
        for (step, values), symbol in zip(sequences.items(), "os^", strict=False):
            times = step * np.arange(len(values))
            axes[0].plot(times, values, symbol, color=shade, ms=5, mec="white", mew=0.6, clip_on=False)
    for step, values in myopic.items():
        middle = int(0.55 * len(values))
        label(
            axes[0],
            step * middle,
            values[middle] + 0.03,
            f"one step ahead\n$\\Delta t={step:g}$",
            "quiet",
            ha="left",
            va="bottom",
        )
    label(axes[0], 0.1, 0.03, "all steps ahead", "optimal", weight="bold")
    axes[0].set(xlabel="time $t$", ylabel="distance to the minimum", ylim=(0, 1.05), xlim=(0, limit[0][-1]))
    axes[1].loglog(steps, errors, "o-", color=COLOURS["ink"], ms=4.5, mec="white", mew=0.5, lw=1.2)
    guide = 1.9 * errors[-1] * steps / steps[-1]
    axes[1].loglog(steps, guide, ":", color=COLOURS["quiet"])
    centre = len(steps) // 2
    label(axes[1], steps[centre] * 0.8, guide[centre] * 1.3, "slope 1", "quiet", ha="right")
    axes[1].set(xlabel=r"step $\Delta t$", ylabel="error of the rate")
    letter(axes, ["steps become a path", "first order"])
    return fig


def extremals(*, times, fan, constants, horizon_costs):
    """Draw the solutions of a quadratic's Euler–Lagrange equation and the cost that picks one of them."""
    fig, axes = plt.subplots(2, 1, figsize=(5.8, 5.4), height_ratios=(1.25, 1))
    for constant, values in fan.items():
        chosen = constant == 0
        style = line("optimal", lw=3, zorder=3) if chosen else {"color": COLOURS["quiet"], "lw": 1.0}
        axes[0].plot(times, values, **style)
    axes[0].set(xlabel="time $t$", ylabel=r"$\theta-\mu$", ylim=(-1.1, 1.6), xlim=(times[0], times[-1]))
    label(axes[0], times[-1] * 0.97, 0.13, "$c_+=0$", "optimal", ha="right", weight="bold")
    label(axes[0], times[-1] * 0.60, 1.38, "$c_+>0$", "quiet", ha="right")
    label(axes[0], times[-1] * 0.60, -0.98, "$c_+<0$", "quiet", ha="right")
    shades = plt.get_cmap("Greys")(np.linspace(0.45, 0.95, len(horizon_costs)))
    for (horizon, values), shade in zip(horizon_costs.items(), shades, strict=True):
        axes[1].plot(constants, values, color=shade, lw=1.6)
        best = int(np.argmin(values))
        axes[1].plot(constants[best], values[best], "o", color=shade, ms=5, mec="white", mew=0.6, zorder=4)
        shown = np.flatnonzero(values < 1.4)[-1]
        label(axes[1], constants[shown] + 0.015, values[shown] - 0.05, f"$T={horizon:g}$", va="top")
    axes[1].axvline(0, color=COLOURS["optimal"], lw=1, zorder=0)
    axes[1].set(xlabel="$c_+$", ylabel="$J_T$", ylim=(0, 1.6), xlim=(constants[0], 1.25 * constants[-1]))
    letter(axes, ["one start, many extremals", "the cost picks"])
    return fig


def energy_portrait(*, objective, loss, span, speeds, chosen, points):
    """Draw the phase plane without discounting: curves of constant energy, and those that come to rest."""
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    theta, speed = np.meshgrid(np.linspace(*span, 300), np.linspace(*speeds, 300))
    energy = speed**2 / (2 * objective.eta) - objective.k * loss.value(theta[..., None])
    ax.contour(
        theta,
        speed,
        energy,
        levels=[-1.35, -1.1, -0.7, -0.35, -0.12, 0.2, 0.6, 1.2],
        linewidths=0.9,
        colors="#B9C1C9",
        linestyles="-",
    )
    ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
    for text, (place, values) in chosen.items():
        ax.plot(place, values, **line("optimal", lw=3, zorder=4))
        middle = len(place) // 2
        right = values[middle] > 0  # a label goes outside the curve
        label(
            ax,
            place[middle] + (0.07 if right else -0.07),
            values[middle] + (0.09 if right else -0.05),
            text,
            "optimal",
            weight="bold",
            ha="left" if right else "right",
            va="bottom" if right else "top",
        )
    _rest(ax, points)
    ax.set(xlabel=r"$\theta$", ylabel=r"speed $\dot\theta$", xlim=span, ylim=speeds)
    return fig


def _rest(ax, points):
    for text, point in points.items():
        ax.plot(point, 0, "o", color="white", mec=COLOURS["ink"], mew=1.2, ms=5.5, zorder=5)
        label(ax, point, 0.14, text, ha="center", va="bottom")
