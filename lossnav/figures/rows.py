"""The figure that stands where a table of numbers would: rows with a name, a panel for each quantity.

Every function takes what it draws and returns a figure; nothing is computed here but means.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LINES, letter

Rows = Mapping[str, tuple[str, ArrayLike]]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_DECADE = 10.0  # a panel whose numbers span more has a logarithmic axis


@of.takes(
    panels=of.mapping(of.TEXT, of.mapping(of.TEXT, of.row(of.RULE, of.reals(None)))),
    said=of.mapping(of.TEXT, of.mapping(of.TEXT, of.NUMBER), least=0),
    lines=of.mapping(of.TEXT, of.NUMBER, least=0),
)
def compared(
    panels: Mapping[str, Rows],
    said: Mapping[str, Mapping[str, float]] = _NOTHING,
    lines: Mapping[str, float] = _NOTHING,
) -> Figure:
    """Draw numbers in rows: a dot for each seed, and a mark at their mean.

    Args:
        panels: quantity → row → (rule whose colour and mark it takes, values of shape (S,), one a seed). All panels
            have the rows of the first; up to two panels beside each other, further ones below.
        said: quantity → row → a number to hold the mean against, drawn as a bar across the row.
        lines: quantity → a number that matters to all rows, drawn as a line.

    Returns:
        The figure.

    Raises:
        ValueError: a panel has other rows than the first, or ``said`` or ``lines`` a quantity or a row that is not
            drawn.
    """
    names = tuple(next(iter(panels.values())))
    for word, given in (("said", said), ("lines", lines)):
        for quantity in given:
            _checks.one_of(f"a quantity of {word}", quantity, tuple(panels))
    for quantity, rows in panels.items():
        if len(rows) != len(names):
            raise ValueError(f"panels[{quantity!r}] has {len(rows)} rows, but the first panel has {len(names)}")
        for row in (*rows, *said.get(quantity, {})):
            _checks.one_of(f"a row of {quantity!r}", row, names)
    columns = min(len(panels), 2)
    height, count = 0.34 * len(names) + 0.75, -(-len(panels) // columns)
    figure, axes = plt.subplots(count, columns, figsize=(5.8, count * height + 0.1), sharey=True, squeeze=False)
    for ax, (quantity, rows) in zip(axes.flat, panels.items(), strict=False):
        _panel(ax, [rows[name] for name in names], [said.get(quantity, {}).get(name) for name in names])
        _scale(ax, [*(rows[name][1] for name in names), *([[lines[quantity]]] if quantity in lines else [])])
        if quantity in lines:
            ax.axvline(lines[quantity], color=COLOURS["quiet"], lw=1.0, zorder=0)
        ax.set_xlabel(quantity)
        ax.set_yticks(range(len(names)), names)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    if len(panels) > 1:
        letter(list(axes.flat[: len(panels)]))
    return figure


def _panel(ax: Axes, rows: list[tuple[str, ArrayLike]], said: list[float | None]) -> None:
    """Draw a quantity's rows from above."""
    for place, ((rule, numbers), expected) in enumerate(zip(rows, said, strict=True)):
        values = np.asarray(numbers, dtype=np.float64)
        ax.axhline(place, color=COLOURS["grid"], lw=0.8, zorder=0)
        if len(values) > 1:
            ax.plot(values, [place] * len(values), ".", color=COLOURS[rule], ms=5, alpha=0.6)
        ax.plot(values.mean(), place, LINES[rule][1], color=COLOURS[rule], ms=7, mec="white", mew=0.6)
        if expected is not None:
            ax.plot(expected, place, "|", color=COLOURS["ink"], ms=13, mew=1.6)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.08)


def _scale(ax: Axes, shown: list[ArrayLike]) -> None:
    """Choose an axis for what is shown, and ticks in plain numbers."""
    every = np.concatenate([np.asarray(values, dtype=np.float64) for values in shown])
    if every.min() > 0 and every.max() > _DECADE * every.min():
        ax.set_xscale("log")
        near = every.max() < _DECADE**2 * every.min()
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=bool(np.all(every == np.rint(every)))))
