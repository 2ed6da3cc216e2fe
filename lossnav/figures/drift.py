"""Figures of the chapter on drift: fields, paths that end off the minimum, costs that diverge, and what is no gradient.

Every function takes what it draws (fields, trajectories, arrays) and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.landscape import ground, known_minimum
from lossnav.figures.style import COLOURS, halo, label, letter, line
from lossnav.problem.losses import Loss
from lossnav.trajectory.result import Trajectory

Field = Callable[[Any], Any]
Span = tuple[float, float, float, float]  # low and high of θ₁, of θ₂

MINIMUM: Mapping[str, Any] = {"marker": "*", "color": COLOURS["ink"], "ms": 13, "mec": "white", "ls": "none"}
END: Mapping[str, Any] = {"marker": "o", "color": COLOURS["optimal"], "ms": 8, "mec": "white", "ls": "none"}
WRONG: Mapping[str, Any] = {"marker": "X", "color": COLOURS["ballistic"], "ms": 9, "mec": "white", "ls": "none"}


@dataclass(frozen=True)
class Sail:
    """A path under a drift: the problem, the path, and what the field does to the start by itself."""

    title: str
    loss: Loss
    drift: Field
    path: Trajectory
    alone: Array  # (T, 2)

    def __post_init__(self) -> None:
        of.settle(
            self,
            title=of.TEXT,
            loss=of.loss(2, marked=True),
            drift=of.FUNCTION,
            path=of.trajectory(2),
            alone=of.reals(None, 2),
        )


@of.takes(
    sail=of.many(of.having("a Sail", Sail), 2),
    times=of.nonnegatives("T"),
    span=of.BOX,
    printed=of.reals(2),
    zoom=of.BOX,
)
def sails(sail: Sequence[Sail], times: ArrayLike, span: Span, printed: ArrayLike, zoom: Span) -> Figure:
    """Draw paths under two drifts, and below them the end of the first, magnified (the paper's Fig. 3c and 3d).

    Args:
        sail: two problems with D = 2.
        times: where to draw, shape (T,), unit T.
        span: range of the upper panels.
        printed: where the source draws the first path's end, shape (2,).
        zoom: range of the lower panel.

    Returns:
        The figure: two panels side by side, and a wide one.
    """
    times = np.asarray(times, dtype=np.float64)
    figure = plt.figure(figsize=(5.8, 5.9))
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 0.82))
    above = [figure.add_subplot(grid[0, i]) for i in range(2)]
    below = figure.add_subplot(grid[1, :])
    for ax, one in zip(above, sail, strict=True):
        ground(ax, one.loss, span)
        arrows(ax, one.drift, span, 9)
        ax.plot(*one.alone.T, color=COLOURS["loss"], ls=":", lw=1.8)
        ax.plot(*one.path(times).T, **line("optimal", lw=2.2), path_effects=halo(3.5))
        first = one.path(0.0)
        ax.plot(*first, "o", color=COLOURS["ink"], ms=6)
        label(ax, first[0] - 0.12, first[1] + 0.2, "start", ha="right")
        ax.plot(*known_minimum(one.loss), **MINIMUM)
        ax.plot(*one.path.asymptote, **END, zorder=5)
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal", xlabel=r"$\theta_1$")
    above[0].set_ylabel(r"$\theta_2$")
    label(above[0], 0.12, known_minimum(sail[0].loss)[1] - 0.05, "minimum of $L$", va="top", ha="left")
    path = sail[0].path
    dense = np.linspace(times[0], times[-1], 8 * len(times))
    below.plot(*path(dense).T, **line("optimal", lw=1.8))
    below.plot(*path.asymptote, **END, zorder=5)
    below.plot(*np.asarray(printed), **WRONG)
    aside = zoom[0] + 0.6 * (zoom[1] - zoom[0])
    for (x, y), text, rule in ((path.asymptote, "end", "optimal"), (np.asarray(printed), "printed", "ballistic")):
        below.plot([x, aside], [y, y], color=COLOURS[rule], lw=0.8, ls=":", zorder=1)
        label(below, aside, y, f" {text}, {y:.6f}".replace("-", "−"), rule, va="center")
    below.set(xlim=zoom[:2], ylim=zoom[2:], xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    letter([*above, below], [*(one.title for one in sail), "the end of a, magnified"])
    return figure


@of.takes(
    times=of.reals("T"),
    curves=of.many(of.row(of.TEXT, of.RULE, of.reals("T"))),
    checks=of.row(of.reals("C"), of.reals("C")),
    rest=of.NUMBER,
)
def signs(
    times: ArrayLike, curves: Sequence[tuple[str, str, ArrayLike]], checks: tuple[ArrayLike, ArrayLike], rest: float
) -> Figure:
    """Draw one coordinate of two claimed optima, with points of a direct minimisation on the right one.

    Args:
        times: shape (T,), unit T.
        curves: sequence of (label, rule, values of shape (T,)).
        checks: times and values of the direct minimisation.
        rest: the minimum of the loss, drawn as a line.

    Returns:
        The figure.
    """
    t = np.asarray(times, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axhline(rest, color=COLOURS["quiet"], lw=0.8, ls=":")
    label(ax, t[-1] * 0.99, rest, "minimum of $L$", "quiet", ha="right", va="bottom")
    for text, rule, values in curves:
        y = np.asarray(values, dtype=np.float64)
        ax.plot(t, y, **line(rule, lw=2.2))
        at, above = int(0.72 * len(t)), y[-1] > rest
        shift = 0.05 * (1 if above else -1) * np.ptp(y)
        label(ax, t[at], y[at] + shift, text, rule, ha="center", va="bottom" if above else "top")
    ax.plot(*checks, "o", ms=5, mfc="white", mec=COLOURS["ink"], mew=1.2, zorder=5)
    low, high = ax.get_ylim()
    ax.set(xlabel="time $t$", ylabel=r"$\theta_2(t)$", xlim=(t[0], t[-1]), ylim=(low, high + 0.06 * (high - low)))
    return figure


def _costs(name: str, value: Any, lengths: of.Lengths) -> Any:
    """Check costs by rule, the optimum's among them."""
    found = of.by_rule(of.row(of.TEXT, of.reals("N")))(name, value, lengths)
    if "optimal" not in found:
        raise ValueError(f"{name} has the rules {list(found)}, but it must have 'optimal'")
    return found


@of.takes(horizons=of.nonnegatives("N"), costs=_costs, rest=of.NUMBER, beyond=of.NUMBER)
def overtaking(horizons: ArrayLike, costs: Mapping[str, tuple[str, ArrayLike]], rest: float, beyond: float) -> Figure:
    """Draw the cost up to T of several paths, and the same less the cost of resting for T.

    Args:
        horizons: T, shape (N,), unit T.
        costs: rule → (label, J_T of shape (N,)).
        rest: cost per unit of time at the end of the optimal path.
        beyond: the limit of J_T − T·rest along the optimal path.

    Returns:
        The figure: two panels over one axis.
    """
    x = np.asarray(horizons, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    below.axhline(beyond, color=COLOURS["quiet"], lw=0.9, ls=":")
    best = np.asarray(costs["optimal"][1], dtype=np.float64)
    for ax, share, top in ((above, 0.0, 1.75 * best[-1]), (below, rest, 1.75 * beyond)):
        for rule, (text, values) in costs.items():
            y = np.asarray(values, dtype=np.float64) - share * x
            ax.plot(x, y, **line(rule))
            place = min(int(np.searchsorted(y, 0.85 * top)), int(0.8 * len(x)))  # on the curve, inside the panel
            steep = y[-1] > top
            at, height = (x[place] + 0.015 * x[-1], y[place]) if steep else (x[place], y[place] + 0.05 * top)
            lower = rule == "optimal"
            label(
                ax,
                at,
                height - 0.1 * top * lower,
                text,
                rule,
                ha="left" if steep else "center",
                va="center" if steep else ("top" if lower else "bottom"),
            )
    above.set(ylabel="$J_T$", xlim=(x[0], x[-1]), ylim=(0, 1.75 * best[-1]))
    below.set(ylabel=r"$J_T - T\cdot$rest", xlabel="up to time $T$", ylim=(0, 1.75 * beyond))
    letter((above, below), ("the cost grows for ever", "less what resting costs"))
    return figure


@of.takes(
    minimum=of.reals(2),
    arcs=of.mapping(of.TEXT, of.row(of.reals(None, 2), of.reals(2), of.reals(2))),
    checks=of.reals(None, 2),
)
def ends(minimum: ArrayLike, arcs: Mapping[str, tuple[Array, Array, ArrayLike]], checks: ArrayLike) -> Figure:
    """Draw where the optimal path ends, for each rotation rate an arc over the discount rate.

    Args:
        minimum: of the loss, shape (2,).
        arcs: label → (ends over γ from 0 upwards, shape (N, 2); the labelled end, shape (2,); the minimum of the
            effective loss, shape (2,)).
        checks: ends by direct minimisation, shape (M, 2).

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 4.2))
    star = np.asarray(minimum, dtype=np.float64)
    ax.plot([0, star[0]], [0, star[1]], color=COLOURS["loss"], ls="--", lw=1.4, zorder=1)
    for text, (path, one, effective) in arcs.items():
        ax.plot(*path.T, **line("optimal", lw=2.2))
        ax.plot(*one, **END, zorder=5)
        ax.plot(*np.asarray(effective), "D", ms=7, mfc="white", mec=COLOURS["ink"], zorder=5)
        label(ax, one[0] + 0.03, one[1], text, "optimal", va="center", ha="left")
    ax.plot(*np.asarray(checks).T, "o", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.1, ls="none", zorder=6)
    ax.plot(*star, **MINIMUM)
    ax.plot(0, 0, "+", color=COLOURS["ink"], ms=10)
    label(ax, star[0] - 0.03, star[1], r"minimum of $L$", ha="right", va="center")
    effective = np.asarray(next(iter(arcs.values()))[2])
    label(ax, effective[0] - 0.03, effective[1], r"minimum of $L_{\rm eff}$", ha="right", va="center")
    label(ax, -0.03, 0.0, r"$\gamma\to\infty$", "optimal", ha="right", va="bottom")
    ax.margins(0.06, 0.08)
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal", xlim=(-0.5, None))
    return figure


@of.takes(
    loss=of.loss(2, marked=True),
    drift=of.FUNCTION,
    paths=of.by_rule(of.row(of.TEXT, of.reals(None, 2))),
    checks=of.reals(None, 2),
    span=of.BOX,
)
def wrong_way(
    loss: Loss, drift: Field, paths: Mapping[str, tuple[str, Array]], checks: ArrayLike, span: Span
) -> Figure:
    """Draw the optimum on a bowl that is not round, and what the formula for round bowls says instead.

    Args:
        loss: with D = 2.
        drift: the field.
        paths: rule → (label, positions of shape (T, 2)).
        checks: points of a direct minimisation, shape (M, 2).
        span: what is shown.

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 4.6))
    ground(ax, loss, span)
    arrows(ax, drift, span, 11)
    for rule, (text, path) in paths.items():
        ax.plot(*path.T, **line(rule, lw=2.4), path_effects=halo(4))
        ax.plot(*path[-1], marker="o", ms=8, color=COLOURS[rule], mec="white", zorder=5)
        at = path[int(np.argmin(path[:, 0]))]
        side = -1 if rule == "optimal" else 1
        label(ax, at[0] + 0.08 * side, at[1], text, rule, ha="right" if side < 0 else "left", va="center")
    ax.plot(*np.asarray(checks).T, "o", ms=5, mfc="white", mec=COLOURS["ink"], mew=1.2, ls="none", zorder=5)
    ax.plot(*known_minimum(loss), **MINIMUM)
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=span[:2], ylim=span[2:], aspect="equal")
    return figure


@of.takes(
    parts=of.many(of.row(of.TEXT, of.FUNCTION)),
    heights=of.many(of.row(of.TEXT, of.FUNCTION), least=0),
    span=of.BOX,
    points=of.COUNT,
)
def decomposition(
    parts: Sequence[tuple[str, Field]],
    heights: Sequence[tuple[str, Callable[[Array], Array]]],
    span: Span,
    points: int = 13,
) -> Figure:
    """Draw a field and its two parts, and contours of scalars.

    Args:
        parts: sequence of (title, field): arrows, all to one scale.
        heights: sequence of (title, function of shape (..., 2) → (...)): contours.
        span: what is shown.
        points: arrows along each axis.

    Returns:
        The figure, two panels a row.
    """
    count = len(parts) + len(heights)
    rows = (count + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(5.8, 2.75 * rows), sharex=True, sharey=True)
    panels = list(np.ravel(axes))[:count]
    longest = max(float(np.max(np.linalg.norm(_sample(f, span, points)[1], axis=-1))) for _, f in parts)
    for ax, (_, field) in zip(panels, parts, strict=False):
        arrows(ax, field, span, points, longest=longest, strong=True)
    for ax, (_, height) in zip(panels[len(parts) :], heights, strict=True):
        ground(ax, height, span)
    for ax in panels:
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal")
    letter(panels, [title for title, _ in (*parts, *heights)])
    return figure


@of.takes(
    measured=of.row(of.positives("N"), of.reals("N")),
    smooth=of.row(of.positives("M"), of.reals("M")),
    level=of.row(of.NUMBER, of.TEXT),
)
def shares(
    measured: tuple[ArrayLike, ArrayLike], smooth: tuple[ArrayLike, ArrayLike], level: tuple[float, str]
) -> Figure:
    """Draw the non-gradient fraction of a rotation against the shape of the region it is measured on.

    Args:
        measured: ratios of sides of rectangles and the fractions there, shape (N,) each.
        smooth: the same for ellipses.
        level: height and label of a horizontal line.

    Returns:
        The figure, logarithmic in the ratio.
    """
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axhline(level[0], color=COLOURS["quiet"], lw=0.9, ls=":")
    across = ax.get_yaxis_transform()
    label(ax, 0.985, level[0], level[1], "quiet", transform=across, ha="right", va="bottom")
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


@of.takes(ax=of.AXES, field=of.FUNCTION, span=of.BOX, points=of.COUNT, longest=of.optional(of.POSITIVE), strong=of.FLAG)
def arrows(ax: Axes, field: Field, span: Span, points: int, longest: float | None = None, strong: bool = False) -> None:
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


def _sample(field: Field, span: Span, points: int) -> tuple[Array, Array]:
    half = (span[1] - span[0]) / points / 2
    x = np.linspace(span[0] + half, span[1] - half, points)
    y = np.linspace(span[2] + half, span[3] - half, points)
    places = np.stack(np.meshgrid(x, y), axis=-1)
    flat = np.array([_checks.array("field(theta)", field(place), shape=(2,)) for place in places.reshape(-1, 2)])
    return places, flat.reshape(places.shape)


__all__ = ["Sail", "arrows", "decomposition", "ends", "overtaking", "sails", "shares", "signs", "wrong_way"]
