"""Figures of uncertain weights: shortest ways between distributions, plans, switches of the task, forgetting.

Every function takes what it draws (times, arrays) and returns a figure; nothing is solved or trained here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from lossnav.figures.style import COLOURS, label, letter, line, mark

_DASHES: Sequence[Any] = ("-", (0, (6.0, 1.6)), (0, (3.0, 1.4)), (0, (1.2, 1.4)))  # solid for the first, then shorter
_SIDES: Mapping[str, tuple[int, int, str, str]] = {  # shift, and alignment of the text
    "above": (0, 1, "center", "bottom"),
    "below": (0, -1, "center", "top"),
    "left": (-1, 0, "right", "center"),
    "right": (1, 0, "left", "center"),
}


_FRACTION = of.by(_checks.finite, low=0.0, high=1.0)


@dataclass(frozen=True)
class Curve:
    """A labelled curve: its text, the rule whose colour and line it has, values of shape (T,), and where the label is.

    ``at`` is the label's place along the curve as a fraction of its points, ``side`` the side it stands on: "above",
    "below", "left" or "right".
    """

    text: str
    rule: str
    values: Array
    at: float = 0.8
    side: str = "above"

    def __post_init__(self) -> None:
        of.settle(self, text=of.TEXT, rule=of.RULE, values=of.gapped(None), at=_FRACTION, side=of.one_of(*_SIDES))


_CURVE = of.having("a Curve", Curve, values=of.gapped("T"))


@of.takes(
    ways=of.mapping(of.TEXT, of.apart(of.row(of.RULE, of.reals("N"), of.positives("N")))), stops=of.many(_FRACTION)
)
def half_plane(
    ways: Mapping[str, tuple[str, Array, Array]], stops: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)
) -> Figure:
    """Draw ways between two normal distributions: as curves of (mean, spread), and the first as densities.

    Args:
        ways: label → (rule, means of shape (N,), standard deviations of shape (N,)), evenly along the way.
        stops: fractions of the first way at which the densities are drawn.

    Returns:
        The figure: two panels side by side.
    """
    figure, (plane, bells) = plt.subplots(1, 2, figsize=(5.8, 3.1))
    for number, (text, (rule, mean, spread)) in enumerate(ways.items()):
        plane.plot(mean, spread, **line(rule, lw=2.2))
        middle = len(mean) // 2
        above = number == 0
        lift = 0.04 * max(spread) * (1 if above else -1)
        side = "bottom" if above else "top"
        label(plane, mean[middle], spread[middle] + lift, text, rule, ha="center", va=side)
        plane.plot([mean[0], mean[-1]], [spread[0], spread[-1]], "o", color=COLOURS["ink"], ms=6, zorder=5)
    rule, mean, spread = next(iter(ways.values()))
    x = np.linspace(min(mean) - 3.2 * max(spread), max(mean) + 3.2 * max(spread), 400)
    for number, stop in enumerate(stops):
        here = round(stop * (len(mean) - 1))
        density = np.exp(-((x - mean[here]) ** 2) / (2 * spread[here] ** 2)) / (spread[here] * np.sqrt(2 * np.pi))
        end = number in (0, len(stops) - 1)
        colour = COLOURS["ink"] if end else COLOURS[rule]
        bells.plot(x, density, color=colour, lw=2.0 if end else 1.6, ls="-" if end else _DASHES[1])
        plane.plot(mean[here], spread[here], "o", ms=5 if not end else 6, color=colour, mec="white", zorder=6)
    top = max(1.25 * max(spread), 1.15 * max(max(way[2]) for way in ways.values()))
    plane.set(xlabel=r"mean $\mu$", ylabel=r"standard deviation $\sqrt{v}$", ylim=(0, top))
    plane.margins(x=0.12)
    bells.set(xlabel=r"weight $\theta$", ylabel="density", ylim=(0, None), xlim=(x[0], x[-1]))
    letter((plane, bells), ("the shortest way", "as densities"))
    return figure


@of.takes(
    times=of.reals("T"),
    curves=of.many(of.row(of.TEXT, of.many(_CURVE)), "P"),
    columns=of.COUNT,
    xlabel=of.TEXT,
    ylabels=of.many(of.TEXT, least=0),
    logarithmic=of.many(of.FLAG, least=0),
    level=of.optional(of.NUMBER),
    events=of.many(of.NUMBER, least=0),
    checks=of.optional(of.row(of.reals("C"), of.many(of.reals("C"), "P"))),
    height=of.POSITIVE,
    limits=of.optional(of.mapping(of.COUNT_FROM_ZERO, of.SPAN, least=0)),
)
def panels(
    times: ArrayLike,
    curves: Sequence[tuple[str, Sequence[Curve]]],
    *,
    columns: int = 1,
    xlabel: str = "time $t$",
    ylabels: Sequence[str] = (),
    logarithmic: Sequence[bool] = (),
    level: float | None = None,
    events: Sequence[float] = (),
    checks: tuple[Array, Sequence[Array]] | None = None,
    height: float = 2.3,
    limits: Mapping[int, tuple[float, float]] | None = None,
) -> Figure:
    """Draw panels of labelled curves over one time axis.

    Args:
        times: shape (T,).
        curves: sequence of (title, curves of the panel).
        columns: panels side by side.
        xlabel: label of the shared axis.
        ylabels: one a panel, or one for all.
        logarithmic: for each panel, whether its vertical axis is.
        level: height of a dotted line in each panel.
        events: times of dotted vertical lines: switches of the task.
        checks: times, and one array of values a panel, drawn as open circles: another computation of the first curve.
        height: of one row of panels, in inches.
        limits: vertical range by panel number.

    Returns:
        The figure.
    """
    t = np.asarray(times, dtype=np.float64)
    rows = -(-len(curves) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5.8, height * rows + 0.4), sharex=True, squeeze=False)
    flat = list(axes.ravel())
    for spare in flat[len(curves) :]:
        spare.remove()
    flat = flat[: len(curves)]
    for number, (ax, (_, lines)) in enumerate(zip(flat, curves, strict=True)):
        if number < len(logarithmic) and logarithmic[number]:
            ax.set_yscale("log")
        if level is not None:
            ax.axhline(level, color=COLOURS["quiet"], lw=0.8, ls=":")
        for event in events:
            ax.axvline(event, color=COLOURS["quiet"], lw=0.8, ls=":")
        same = [curve.rule for curve in lines]
        for order, curve in enumerate(lines):
            twin = sum(rule == curve.rule for rule in same[:order])
            style = line(curve.rule, lw=2.0) | ({"linestyle": _DASHES[twin]} if twin else {})
            ax.plot(t, curve.values, **style)
        low, high = (limits or {}).get(number, _room(ax))
        ax.set(xlim=(t[0], t[-1]), ylim=(low, high))
        for curve in lines:
            if curve.text:
                _beside(ax, t, curve)
        if ax.get_yscale() == "log":
            _decades(ax)
        if checks is not None:
            ax.plot(checks[0], checks[1][number], "o", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.1, zorder=5)
        text = ylabels[min(number, len(ylabels) - 1)] if ylabels else ""
        if number % columns == 0 or len(ylabels) > 1:
            ax.set_ylabel(text)
        if number >= len(curves) - columns:
            ax.set_xlabel(xlabel)
            ax.tick_params(labelbottom=True)
    if any(title for title, _ in curves):
        letter(flat, [title for title, _ in curves])
    return figure


def _room(ax: Axes) -> tuple[float, float]:
    """Return the panel's range with room for labels above and below the curves."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        stretch = (high / low) ** 0.14
        return low / stretch, high * stretch
    span = high - low
    return low - 0.1 * span, high + 0.16 * span


def _decades(ax: Axes) -> None:
    """Mark 1, 3, 10, … where an axis spans less than two decades, powers of ten elsewhere, and nothing between."""
    low, high = ax.get_ylim()
    steps = (1, 3) if high < 200 * low else (1,)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
    ax.set_yticks(ticks, [f"{tick:g}" if 1e-3 <= tick < 1e5 else f"$10^{{{np.log10(tick):.0f}}}$" for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(low, high)


def _beside(ax: Axes, t: Array, curve: Curve) -> None:
    """Write a curve's label beside it."""
    place = min(round(curve.at * (len(t) - 1)), len(t) - 1)
    x, y = ax.transAxes.inverted().transform(ax.transData.transform((t[place], curve.values[place])))
    right, up, across, along = _SIDES[curve.side]
    label(
        ax,
        x + 0.02 * right,
        y + 0.045 * up,
        curve.text,
        curve.rule,
        transform=ax.transAxes,
        ha=across,
        va=along,
    )


@of.takes(
    groups=of.many(
        of.row(of.TEXT, of.TEXT, of.mapping(of.TEXT, of.apart(of.row(of.positives("S"), of.positives("S")))))
    )
)
def before_after(groups: Sequence[tuple[str, str, Mapping[str, tuple[ArrayLike, ArrayLike]]]]) -> Figure:
    """Draw pairs of values, one a seed, as lines from *before* to *after* on logarithmic axes.

    Args:
        groups: a panel each, (title, vertical label, label → (values before, values after) of shape (S,)).

    Returns:
        The figure: a panel for each group, side by side.
    """
    figure, axes = plt.subplots(1, len(groups), figsize=(5.8, 3.2), squeeze=False)
    rules = ("uncertain", "l2", "belief")
    for ax, (_, ylabel, kinds) in zip(axes[0], groups, strict=True):
        for number, ((text, (before, after)), rule) in enumerate(zip(kinds.items(), rules, strict=False)):
            shift = 1.6 * number
            first, second = (np.asarray(v, dtype=np.float64) for v in (before, after))
            for a, b in zip(first, second, strict=True):
                ax.plot([shift, shift + 1], [a, b], **line(rule, lw=1.0), alpha=0.7)
            for x, values in ((shift, first), (shift + 1, second)):
                ax.plot(np.full(len(values), x), values, **mark(rule, ms=6))
            label(
                ax,
                shift + 0.5,
                0.02,
                text,
                rule,
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="bottom",
            )
        ticks = [1.6 * n + side for n in range(len(kinds)) for side in (0, 1)]
        ax.set(yscale="log", ylabel=ylabel, xlim=(-0.35, ticks[-1] + 0.35))
        ax.set_xticks(ticks, ["before", "after"] * len(kinds), rotation=30)
        low, high = ax.get_ylim()
        ax.set_ylim(low / (high / low) ** 0.15, high)
        _decades(ax)
    letter(list(axes[0]), [title for title, _, _ in groups])
    return figure


__all__ = ["Curve", "before_after", "half_plane", "panels"]
