"""Figures of the chapter "Learning as navigation": paths on a landscape, what they cost, how steps become a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LANDSCAPE, halo, label, letter, line, mark
from lossnav.problem.losses import Loss

Span = tuple[float, float]
Box = tuple[float, float, float, float]


def _height(name: str, value: Any, lengths: of.Lengths) -> Any:
    """Check a landscape, or a function in the place of one."""
    return (of.loss(2) if isinstance(value, Loss) else of.FUNCTION)(name, value, lengths)


@of.takes(ax=of.AXES, loss=of.loss(2), x=of.SPAN, y=of.SPAN, levels=of.optional(of.reals(None)))
def contours(ax: Axes, loss: Loss, x: Span, y: Span, levels: ArrayLike | None = None) -> None:
    """Draw a two-parameter loss as shaded contours: dark valleys, pale heights.

    Args:
        ax: axes to draw in.
        loss: landscape with D = 2.
        x: range of θ₁.
        y: range of θ₂.
        levels: contour values; by default 14 from the lowest value in the window, denser near the bottom.
    """
    grid_x, grid_y, height = _grid(loss, x, y)
    if levels is None:
        low, high = float(height.min()), float(np.quantile(height, 0.97))
        levels = low + (high - low) * np.linspace(0, 1, 15) ** 1.6
    ax.contourf(grid_x, grid_y, height, levels=levels, cmap=LANDSCAPE, extend="max")
    ax.contour(grid_x, grid_y, height, levels=levels, colors="white", linewidths=0.6, linestyles="-")
    ax.set(xlim=x, ylim=y, xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    ax.spines[:].set_visible(False)


@of.takes(ax=of.AXES, height=_height, span=of.BOX, scale=of.optional(of.FUNCTION))
def ground(
    ax: Axes,
    height: Loss | Callable[[Array], Array],
    span: Box,
    scale: Callable[[Array], Array] | None = None,
) -> None:
    """Shade the ground that paths and fields are drawn over: pale ten-step contours, dense near the bottom.

    Args:
        ax: axes to draw in.
        height: loss with D = 2, or any function of shape (..., 2) → (...).
        span: (x from, x to, y from, y to).
        scale: what to draw instead of the height above the lowest point (plus 0.1), for example ``np.log``; the
            contours are then evenly spaced in it.
    """
    value = height.value if isinstance(height, Loss) else height
    x, y = np.linspace(*span[:2], 140), np.linspace(*span[2:], 140)
    heights = np.asarray(value(np.stack(np.meshgrid(x, y), axis=-1)))
    if scale is not None:
        heights = scale(heights - heights.min() + 0.1)
    levels = heights.min() + np.ptp(heights) * np.linspace(0.0, 1.0, 11) ** (2 if scale is None else 1)
    ax.contourf(x, y, heights, levels=levels, cmap=LANDSCAPE, vmin=2 * levels[0] - levels[-1])
    ax.contour(x, y, heights, levels=levels[1:], colors=[COLOURS["paper"]], linewidths=0.6)


@of.takes(loss=of.loss(2), optimal=of.reals(None, 2), descent=of.reals(None, 2), x=of.SPAN, y=of.SPAN)
def paths(loss: Loss, optimal: Array, descent: Array, x: Span = (-1.45, 1.45), y: Span = (-0.8, 0.8)) -> Figure:
    """Draw the optimal path and the path of gradient descent from one start on the landscape.

    Args:
        loss: landscape with D = 2.
        optimal: points of the optimal path, shape (N, 2).
        descent: points of gradient descent, shape (M, 2).
        x: range of θ₁.
        y: range of θ₂.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.5))
    contours(ax, loss, x, y)
    ax.set_aspect("equal")
    ax.plot(*optimal.T, **line("optimal", lw=3, path_effects=halo(5)))
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


@of.takes(loss=of.loss(2), optimal=of.reals(None, 2), descent=of.reals(None, 2), x=of.SPAN, y=of.SPAN)
def surface(loss: Loss, optimal: Array, descent: Array, x: Span = (-1.4, 1.4), y: Span = (-0.7, 0.7)) -> Figure:
    """Draw both paths on the landscape as a surface seen from above the local minimum.

    Args:
        loss: landscape with D = 2.
        optimal: points of the optimal path, shape (N, 2).
        descent: points of gradient descent, shape (M, 2).
        x: range of θ₁.
        y: range of θ₂.

    Returns:
        The figure.
    """
    fig = plt.figure(figsize=(5.8, 3.6))
    fig.set_layout_engine("none")
    ax: Any = fig.add_axes((-0.155, -0.39, 1.31, 1.7), projection="3d", computed_zorder=False)
    grid_x, grid_y, height = _grid(loss, x, y, points=161)
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


@of.takes(times=of.reals("T"), kinetic=of.reals("T"), potential=of.reals("T"))
def costs(times: ArrayLike, kinetic: ArrayLike, potential: ArrayLike) -> Figure:
    """Draw the two running costs of a path over time: the price of speed and the price of loss.

    Args:
        times: t, shape (T,).
        kinetic: |θ̇|²/2η at those times, shape (T,).
        potential: kL at those times, shape (T,).

    Returns:
        The figure.
    """
    times, kinetic, potential = (np.asarray(a, dtype=np.float64) for a in (times, kinetic, potential))
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


@of.takes(
    planned=of.mapping(of.POSITIVE, of.reals(None)),
    myopic=of.mapping(of.POSITIVE, of.reals(None)),
    limit=of.row(of.reals("T"), of.reals("T")),
    steps=of.positives("M"),
    errors=of.positives("M"),
)
def discrete_limit(
    planned: Mapping[float, Array],
    myopic: Mapping[float, Array],
    limit: tuple[Array, Array],
    steps: Array,
    errors: Array,
) -> Figure:
    """Draw optimal and myopic step sequences beside the continuous optimum, and how fast the steps approach it.

    Args:
        planned: Δt → positions of the optimal sequence, at times 0, Δt, 2Δt …
        myopic: Δt → positions of the one-step learner at the same times.
        limit: (times, positions) of the continuous path.
        steps: values of Δt, shape (M,).
        errors: error of the optimal sequence's rate at each Δt, shape (M,).

    Returns:
        The figure.
    """
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


@of.takes(
    times=of.reals("T"),
    fan=of.mapping(of.NUMBER, of.reals("T")),
    constants=of.reals("M"),
    horizon_costs=of.mapping(of.POSITIVE, of.reals("M")),
)
def extremals(
    times: Array, fan: Mapping[float, Array], constants: Array, horizon_costs: Mapping[float, Array]
) -> Figure:
    """Draw the solutions of a quadratic's Euler–Lagrange equation and the cost that picks one of them.

    Args:
        times: t, shape (T,).
        fan: growing coefficient c₊ → path θ(t), shape (T,).
        constants: values of c₊, shape (M,).
        horizon_costs: horizon T → J_T at each c₊, shape (M,).

    Returns:
        The figure.
    """
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


def _grid(loss: Loss, x: Span, y: Span, points: int = 301) -> tuple[Array, Array, Array]:
    grid_x, grid_y = np.meshgrid(np.linspace(*x, points), np.linspace(*y, points))
    return grid_x, grid_y, loss.value(np.stack([grid_x, grid_y], axis=-1))


@of.takes(loss=of.by(_checks.instance, Loss, "a Loss"))
def known_minimum(loss: Loss) -> Array:
    """Return the stationary point that a figure marks, shape (D,); ValueError if no formula for it is known."""
    points = loss.stationary_points()
    if points is None:
        raise ValueError(f"loss = {loss!r} has no known minimum, but the figure marks it")
    return points[0]
