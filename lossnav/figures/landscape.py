"""The ground that paths are drawn over: a landscape of two parameters, shaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures.style import COLOURS, LANDSCAPE
from lossnav.problem.losses import Loss

Span = tuple[float, float]
Box = tuple[float, float, float, float]


def contours(ax: Axes, loss: Loss, x: Span, y: Span, levels: ArrayLike | None = None) -> None:
    """Draw a two-parameter loss as shaded contours: dark valleys, pale heights.

    Args:
        ax: axes to draw in.
        loss: landscape with D = 2.
        x: range of θ₁.
        y: range of θ₂.
        levels: contour values; by default 14 from the lowest value in the window, denser near the bottom.

    Raises:
        ValueError: the loss has not two parameters, a range is none, or the loss is not finite, or flat, in it.
    """
    _checks.instance("ax", ax, Axes, "a matplotlib Axes")
    _plane("loss", loss)
    if levels is not None:
        levels = _checks.array("levels", levels, shape=(None,))
        if np.any(np.diff(levels) <= 0):
            raise ValueError(f"levels = {_checks.shown(levels)}, but they must rise")
    grid_x, grid_y = np.meshgrid(np.linspace(*_span("x", x), 301), np.linspace(*_span("y", y), 301))
    height = _heights(loss.value, grid_x, grid_y)
    if levels is None:
        low, high = float(height.min()), float(np.quantile(height, 0.97))
        levels = _levels(low, high, np.linspace(0, 1, 15) ** 1.6)
    ax.contourf(grid_x, grid_y, height, levels=levels, cmap=LANDSCAPE, extend="max")
    ax.contour(grid_x, grid_y, height, levels=levels, colors="white", linewidths=0.6, linestyles="-")
    ax.set(xlim=x, ylim=y, xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    ax.spines[:].set_visible(False)


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

    Raises:
        ValueError: the loss has not two parameters, the span is none, or the height is not finite, or flat, in it.
    """
    _checks.instance("ax", ax, Axes, "a matplotlib Axes")
    if scale is not None:
        _checks.function("scale", scale)
    value = _plane("height", height).value if isinstance(height, Loss) else _checks.function("height", height)
    _checks.array("span", span, shape=(4,))
    x, y = (np.linspace(*_span("span", side), 140) for side in (span[:2], span[2:]))
    heights = _heights(value, *np.meshgrid(x, y))
    if scale is not None:
        heights = scale(heights - heights.min() + 0.1)
    levels = _levels(heights.min(), heights.max(), np.linspace(0.0, 1.0, 11) ** (2 if scale is None else 1))
    ax.contourf(x, y, heights, levels=levels, cmap=LANDSCAPE, vmin=2 * levels[0] - levels[-1])
    ax.contour(x, y, heights, levels=levels[1:], colors=[COLOURS["paper"]], linewidths=0.6)


def known_minimum(loss: Loss) -> Array:
    """Return the stationary point that a figure marks, shape (D,); ValueError if no formula for it is known."""
    points = _checks.instance("loss", loss, Loss, "a Loss").stationary_points()
    if points is None:
        raise ValueError(f"loss = {loss!r} has no known minimum, but the figure marks it")
    return points[0]


def _plane(name: str, loss: Loss) -> Loss:
    if _checks.instance(name, loss, Loss, "a Loss").dim != 2:
        raise ValueError(f"{name} has {loss.dim} parameters, but it must have 2")
    return loss


def _heights(value: Callable[[Array], Array], x: Array, y: Array) -> Array:
    heights = np.asarray(value(np.stack([x, y], axis=-1)))
    if not np.isfinite(heights).all():
        raise ValueError(
            f"the span from ({x.min():g}, {y.min():g}) to ({x.max():g}, {y.max():g}) has places where the height is "
            "not finite, but it must be to be drawn"
        )
    return heights


def _levels(low: float, high: float, parts: Array) -> Array:
    levels = low + (high - low) * parts
    if np.any(np.diff(levels) <= 0):
        raise ValueError(f"the height goes from {low:g} to {high:g} over the span, but contours need a difference")
    return levels


def _span(name: str, value: Sequence[float]) -> Span:
    _checks.array(name, value, shape=(2,))
    low, high = (_checks.finite(name, end) for end in value)
    if not low < high:
        raise ValueError(f"{name} = {_checks.shown(value)}, but it must go from a lower to a higher number")
    return low, high
