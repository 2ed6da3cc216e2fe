"""Figures of acceleration: effort against the condition number, the price of haste, actions that stop being smallest.

Every function takes what it draws and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, halo, label, letter, line, mark

Lines = Mapping[str, tuple[str, ArrayLike]]


@of.takes(kappa=of.positives("N"), counts=of.mapping(of.TEXT, of.row(of.RULE, of.positives("N"))), name=of.TEXT)
def effort(kappa: ArrayLike, counts: Lines, name: str) -> Figure:
    """Draw what each method needs against the condition number.

    Args:
        kappa: κ, shape (N,), ascending.
        counts: label → (rule whose line it takes, what it needs, shape (N,)).
        name: what is counted.

    Returns:
        The figure, log–log, each line labelled at its end.
    """
    x = np.asarray(kappa, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for rule, values in counts.values():
        ax.plot(x, values, **line(rule, marker=len(x) < 12, ms=4.5))
    ax.set(xscale="log", yscale="log", xlabel=r"condition number $\kappa$", ylabel=name)
    ends = {text: (rule, float(np.asarray(values)[-1])) for text, (rule, values) in counts.items()}
    _name_ends(ax, x[-1], ends)
    return figure


def _name_ends(ax: Axes, x: float, ends: Mapping[str, tuple[str, float]], gap: float = 0.07) -> None:
    """Write label → (rule, y) right of x, pushed apart to ``gap`` of the axes' height."""
    place = ax.transData + ax.transAxes.inverted()
    order = sorted(ends, key=lambda text: ends[text][1])
    heights = [float(place.transform((x, ends[text][1]))[1]) for text in order]
    for above in range(1, len(heights)):
        heights[above] = max(heights[above], heights[above - 1] + gap)
    for text, height in zip(order, heights, strict=True):
        label(ax, 1.02, height, text, ends[text][0], transform=ax.transAxes, va="center", clip_on=False)


@of.takes(families=of.mapping(of.TEXT, of.row(of.RULE, of.positives(None, 2), of.FLAG)))
def haste(families: Mapping[str, tuple[str, ArrayLike, bool]]) -> Figure:
    """Draw regret in J against the number of steps, one line a method, along which its step is changed.

    Args:
        families: label → (rule, pairs of steps to arrive and regret over the least cost, shape (N, 2), whether the
            first pair is the textbook's tuning, and gets a ring).

    Returns:
        The figure, log–log.
    """
    figure, ax = plt.subplots(figsize=(5.8, 4.6))
    for rule, pairs, textbook in families.values():
        x, y = np.asarray(pairs, dtype=np.float64).T
        ax.plot(x, y, **line(rule, marker=True, ms=4.5, lw=1.8))
        if textbook:
            ax.plot(x[0], y[0], "o", ms=11, mfc="none", mec=COLOURS["ink"], mew=1.2)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="steps until the loss is $10^{-4}$ of its start",
        ylabel="regret in $J$, over the least cost",
    )
    ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ends = {text: (rule, float(np.asarray(pairs)[-1, 1])) for text, (rule, pairs, _) in families.items()}
    _name_ends(ax, 1.0, ends)
    return figure


@of.takes(
    horizon=of.positives("T"),
    smallest=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T"), of.POSITIVE)),
    times=of.nonnegatives("S"),
    paths=of.mapping(of.TEXT, of.row(of.RULE, of.reals("S"))),
)
def variation(
    horizon: ArrayLike, smallest: Mapping[str, tuple[str, ArrayLike, float]], times: ArrayLike, paths: Lines
) -> Figure:
    """Draw the smallest second variation against the horizon, and paths of one equation with different ends.

    Args:
        horizon: T, shape (T,).
        smallest: label → (rule, lowest second variation at each T, conjugate time).
        times: t, shape (S,).
        paths: label → (rule, θ(t) of shape (S,)).

    Returns:
        The figure: two panels.
    """
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.4))
    x = np.asarray(horizon, dtype=np.float64)
    for place, (text, (rule, values, end)) in enumerate(sorted(smallest.items(), key=lambda item: item[1][2])):
        y = np.asarray(values, dtype=np.float64)
        upper.plot(x, y, **line(rule))
        upper.plot(end, 0.0, **mark(rule, ms=7))
        side, shift = ("right", -0.02) if place == 0 else ("left", 0.02)  # the first zero's name stands before its line
        near = float(x[np.argmin(np.abs(y - 1.1))])
        label(upper, near + shift * x[-1], 1.1, text, rule, ha=side, va="center")
    upper.axhspan(-10.0, 0.0, color=COLOURS["quiet"], alpha=0.15, lw=0)
    label(upper, 0.02 * x[-1], -0.93, "a saddle", "quiet", va="bottom")
    upper.axhline(0.0, color=COLOURS["ink"], lw=0.8)
    upper.set(xlabel="horizon $T$", ylabel="lowest second variation", ylim=(-1.0, 2.0), xlim=(0.0, x[-1]))
    _lines(lower, times, paths)
    letter((upper, lower), ("minimum or saddle?", "a free end"))
    return figure


def _lines(ax: Axes, times: ArrayLike, paths: Lines) -> None:
    t = np.asarray(times, dtype=np.float64)
    middle = len(t) // 2
    lowest = min(float(np.asarray(values)[middle]) for _, values in paths.values())
    for text, (rule, values) in paths.items():
        y = np.asarray(values, dtype=np.float64)
        ax.plot(t, y, **line(rule))
        side = ("right", "top") if y[middle] == lowest else ("right", "bottom") if y[-1] > y[0] else ("left", "bottom")
        label(ax, t[middle], y[middle], f" {text} ", rule, ha=side[0], va=side[1])
    ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    ax.set(xlabel="time $t$", ylabel=r"$\theta(t)$", xlim=(t[0], t[-1]))
    ax.margins(y=0.15)


@of.takes(
    times=of.nonnegatives("T"),
    alone=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T"))),
    plane=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T", 2))),
)
def coincidence(times: ArrayLike, alone: Lines, plane: Lines) -> Figure:
    """Draw two ways of one mode over time, and the same two of two modes in their plane.

    Args:
        times: t, shape (T,).
        alone: label → (rule, θ(t) of shape (T,)); the first as a line, the others as markers.
        plane: label → (rule, path of shape (T, 2)).

    Returns:
        The figure: two panels.
    """
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.4))
    t = np.asarray(times, dtype=np.float64)
    for place, (text, (rule, values)) in enumerate(alone.items()):
        y = np.asarray(values, dtype=np.float64)
        if place == 0:
            upper.plot(t, y, **line(rule, lw=3.0))
        else:
            every = max(1, len(t) // 14)
            upper.plot(t[::every], y[::every], **mark(rule, ms=5.5))
        label(upper, 0.3 * t[-1], 0.75 - 0.14 * place, text, rule)
    upper.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    upper.set(xlabel="time $t$", ylabel=r"$\theta(t)$", xlim=(t[0], t[-1]))
    for place, (text, (rule, path)) in enumerate(plane.items()):
        points: Array = np.asarray(path, dtype=np.float64)
        lower.plot(*points.T, **line(rule, lw=2.2), path_effects=halo())
        label(lower, 0.02, 0.88 - 0.12 * place, text, rule, transform=lower.transAxes)
    lower.plot(0.0, 0.0, "*", color=COLOURS["ink"], ms=11, mec="white", zorder=5)
    lower.set(xlabel=r"$\theta_1$, flat", ylabel=r"$\theta_2$, steep")
    letter((upper, lower), ("one curvature", "two"))
    return figure
