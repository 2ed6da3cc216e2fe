"""Figures of regret: its parts, tuned rules on several landscapes, what a discount does to them, and networks.

Every function takes what it draws and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, label, letter, line, mark

Parts = Mapping[str, tuple[str, float, float]]
Lines = Mapping[str, tuple[str, ArrayLike]]


@of.takes(panels=of.mapping(of.TEXT, of.mapping(of.TEXT, of.row(of.RULE, of.NONNEGATIVE, of.NONNEGATIVE))))
def parts(panels: Mapping[str, Parts]) -> Figure:
    """Draw the regret of each rule as a bar of two parts, the worst at the bottom.

    Args:
        panels: title → label → (rule, the part by speed, the part by direction).

    Returns:
        The figure: one panel under the other; the part by direction is hatched.
    """
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 0.9 + 1.9 * len(panels)), squeeze=False)
    for ax, bars in zip(axes.flat, panels.values(), strict=True):
        order = sorted(bars, key=lambda text: -sum(bars[text][1:]))
        longest = sum(bars[order[0]][1:])
        for place, text in enumerate(order):
            rule, speed, direction = bars[text]
            ax.barh(place, speed, color=COLOURS[rule], height=0.7)
            ax.barh(place, direction, left=speed, color=COLOURS[rule], height=0.7, alpha=0.45, hatch="////", ec="white")
            label(ax, speed + direction + 0.01 * longest, place, f"{speed + direction:.2g}", "ink", va="center")
        ax.set(yticks=range(len(order)), xlim=(0.0, 1.13 * longest))
        ax.set_yticklabels(order)
        ax.grid(visible=False, axis="y")
    axes.flat[-1].set_xlabel("regret over the least cost\n(plain: speed, hatched: direction)")
    letter(axes, tuple(panels))
    return figure


@of.takes(
    found=of.mapping(of.TEXT, of.mapping(of.TEXT, of.row(of.RULE, of.positives("G")))), names=of.many(of.TEXT, "G")
)
def board(found: Mapping[str, Lines], names: Sequence[str]) -> Figure:
    """Draw the regret of tuned rules on several landscapes, one panel each, a mark for every discount rate.

    Args:
        found: landscape → label → (rule, regret over the least cost for each discount rate, shape (G,)).
        names: what the discount rates are called, G of them.

    Returns:
        The figure: panels in two columns, regret on a logarithmic axis, a line through the marks of a rule.
    """
    rows = -(-len(found) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(5.8, 2.2 * rows + 0.9), sharex=True, sharey=True, squeeze=False)
    for ax, lines in zip(axes.flat, found.values(), strict=False):
        for rule, values in lines.values():
            ax.plot(range(len(names)), np.asarray(values, dtype=np.float64), **line(rule, marker=True, ms=5))
        ax.set(yscale="log", xticks=range(len(names)))
        ax.set_xticklabels(names)
    for ax in axes.flat[len(found) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("regret over least cost")
    letter(list(axes.flat[: len(found)]), tuple(found))
    kinds = {text: rule for lines in found.values() for text, (rule, _) in lines.items()}
    handles = [plt.Line2D([], [], **line(rule, marker=True, ms=5)) for rule in kinds.values()]
    figure.legend(handles, list(kinds), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


@of.takes(
    gamma=of.positives("G"),
    panels=of.mapping(of.TEXT, of.mapping(of.TEXT, of.row(of.RULE, of.positives("G")))),
    logarithmic=of.FLAG,
)
def over_discount(gamma: ArrayLike, panels: Mapping[str, Lines], logarithmic: bool = True) -> Figure:
    """Draw what becomes of rules when their paths are judged with other discount rates.

    Args:
        gamma: γ, shape (G,), ascending.
        panels: title → label → (rule, values of shape (G,)).
        logarithmic: whether the values' axis is.

    Returns:
        The figure: one panel under the other, with a legend below.
    """
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 0.8 + 2.7 * len(panels)), sharex=True, squeeze=False)
    x = np.asarray(gamma, dtype=np.float64)
    for ax, lines in zip(axes.flat, panels.values(), strict=True):
        for rule, values in lines.values():
            ax.plot(x, np.asarray(values, dtype=np.float64), **line(rule))
        ax.set(xscale="log", yscale="log" if logarithmic else "linear", xlim=(x[0], x[-1]))
    axes.flat[-1].set_xlabel(r"discount rate $\gamma$")
    letter(axes, tuple(panels))
    kinds = {text: rule for lines in panels.values() for text, (rule, _) in lines.items()}
    handles = [plt.Line2D([], [], **line(rule)) for rule in kinds.values()]
    figure.legend(handles, list(kinds), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


@of.takes(
    timing=of.mapping(of.TEXT, of.row(of.RULE, of.reals("S"), of.reals("S"))),
    gamma=of.many(of.TEXT, "G"),
    cosines=of.mapping(of.TEXT, of.row(of.RULE, of.reals("S", "G"))),
)
def networks(
    timing: Mapping[str, tuple[str, ArrayLike, ArrayLike]],
    gamma: Sequence[str],
    cosines: Mapping[str, tuple[str, ArrayLike]],
) -> Figure:
    """Draw the timing factors of network training, and the cosines with optimal steps over the discount rate.

    Args:
        timing: label → (rule, factors minus 1 with all examples, and with batches, one for each seed).
        gamma: names of the discount rates.
        cosines: label → (rule, C of each seed and discount rate, shape (S, G)).

    Returns:
        The figure: two panels; full marks are all examples, hollow ones batches; bands are one deviation of the seeds.
    """
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.6))
    for place, (rule, full, batches) in enumerate(timing.values()):
        for shift, values, face in ((-0.12, full, None), (0.12, batches, "none")):
            y = np.asarray(values, dtype=np.float64)
            style = mark(rule, ms=6) | ({} if face is None else {"mfc": face, "markeredgecolor": COLOURS[rule]})
            upper.plot(np.full(len(y), place + shift), y, **style)
    upper.set(yscale="log", xticks=range(len(timing)), ylabel="timing factor minus 1")
    upper.set_xticklabels([text.replace(" ", "\n") for text in timing])
    for rule, values in cosines.values():
        y = np.asarray(values, dtype=np.float64)
        middle, spread = y.mean(axis=0), y.std(axis=0)
        lower.plot(range(len(gamma)), middle, **line(rule, marker=True, ms=5))
        lower.fill_between(range(len(gamma)), middle - spread, middle + spread, color=COLOURS[rule], alpha=0.15, lw=0)
    lower.set(xticks=range(len(gamma)), xlabel=r"$\gamma/\sqrt{\eta k}$", ylabel=r"alignment $C$")
    lower.set_xticklabels(gamma)
    letter((upper, lower), ("how well timed", "which discount do the steps look like?"))
    handles = [plt.Line2D([], [], **line(rule, marker=True, ms=5)) for rule, _ in cosines.values()]
    figure.legend(handles, list(cosines), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure
