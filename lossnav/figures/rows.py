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
from lossnav._checks import Array
from lossnav.figures.style import COLOURS, LINES, letter
from lossnav.lab import registry

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_BESIDE = 3  # panels that there is room for in a row
_DECADE = 10.0  # a panel whose numbers span more has a logarithmic axis


def compared(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    rules: str | Mapping[str, str] | None = None,
    said: Mapping[str, Mapping[str, float]] = _NOTHING,
    lines: Mapping[str, float] = _NOTHING,
    shared: str = "",
) -> Figure:
    """Draw numbers in rows: a dot for each seed, and a mark at their mean.

    Args:
        panels: quantity → row → values of shape (S,), one a seed. All panels have the rows of the first; up to three
            panels stand beside each other, more in two columns. A rule's key is written as its label, "sgd" as SGD.
        rules: row → rule whose colour and mark it takes, or one for all rows; by default each row is a rule.
        said: quantity → row → a number to hold the mean against, drawn as a bar across the row.
        lines: quantity → a number that matters to all rows, drawn as a line.
        shared: the quantity, where all panels have one: then their keys are titles, and their axes have one range.

    Returns:
        The figure.

    Raises:
        ValueError: a panel has other rows than the first, ``said`` or ``lines`` a quantity or a row that is not drawn,
            ``rules`` not every row, or values are no numbers.
    """
    panels = {
        quantity: _mapping(f"panels[{quantity!r}]", rows) for quantity, rows in _mapping("panels", panels).items()
    }
    if not panels or not all(panels.values()):
        raise ValueError(f"panels = {_checks.shown(panels)}, but it must have panels with rows")
    names = tuple(next(iter(panels.values())))
    said = {name: _mapping(f"said[{name!r}]", rows) for name, rows in _mapping("said", said).items()}
    for word, quantities in (("said", list(said)), ("lines", list(_mapping("lines", lines)))):
        for quantity in quantities:
            _checks.one_of(f"a quantity of {word}", quantity, tuple(panels))
    if rules is None:
        rules = dict(zip(names, names, strict=True))
    marks = dict.fromkeys(names, rules) if isinstance(rules, str) else _mapping("rules", rules)
    looks = [marks[_checks.one_of("a row of rules", name, tuple(marks))] for name in names]
    for rule in looks:
        _checks.one_of("a rule of rules", rule, tuple(LINES))
    numbers = {}
    for quantity, rows in panels.items():
        if len(rows) != len(names):
            raise ValueError(f"panels[{quantity!r}] has {len(rows)} rows, but the first panel has {len(names)}")
        for word, drawn in (("panels", list(rows)), ("said", list(said.get(quantity, {})))):
            for row in drawn:
                _checks.one_of(f"a row of {word}[{quantity!r}]", row, names)
        numbers[quantity] = [_values(f"panels[{quantity!r}][{row!r}]", rows[row]) for row in names]
        for row, value in said.get(quantity, {}).items():
            _checks.finite(f"said[{quantity!r}][{row!r}]", value)
    for quantity, value in lines.items():
        _checks.finite(f"lines[{quantity!r}]", value)
    _checks.instance("shared", shared, str, "a string")
    columns = len(panels) if len(panels) <= _BESIDE else 2
    height, count = 0.34 * len(names) + 0.75, -(-len(panels) // columns)
    figure, axes = plt.subplots(
        count, columns, figsize=(5.8, count * height + 0.1), sharex=bool(shared), sharey=True, squeeze=False
    )
    marked = {quantity: [np.array([value])] for quantity, value in lines.items()}
    every = [each for rows in (*numbers.values(), *marked.values()) for each in rows]
    for ax, (quantity, values) in zip(axes.flat, numbers.items(), strict=False):
        _panel(ax, looks, values, [said.get(quantity, {}).get(name) for name in names])
        _scale(ax, every if shared else [*values, *marked.get(quantity, [])], narrow=columns == _BESIDE)
        if quantity in lines:
            ax.axvline(lines[quantity], color=COLOURS["quiet"], lw=1.0, zorder=0)
        if not shared:
            ax.set_xlabel(quantity)
        ax.set_yticks(range(len(names)), [registry.label(name) for name in names])
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    if shared:
        figure.supxlabel(shared, fontsize="medium")
    if len(panels) > 1:
        letter(list(axes.flat[: len(panels)]), list(panels) if shared else ())
    return figure


def _mapping(name: str, value: Any) -> dict[str, Any]:
    mapping: Mapping[str, Any] = _checks.instance(name, value, (Mapping,), "a mapping")
    return {_checks.instance(f"a key of {name}", key, str, "a string"): entry for key, entry in mapping.items()}


def _values(name: str, value: ArrayLike) -> Array:
    values = _checks.array(name, value, shape=(None,))
    if not values.size:
        raise ValueError(f"{name} = {_checks.shown(value)}, but it must have a number at least")
    return values


def _panel(ax: Axes, rules: list[str], rows: list[Array], references: list[float | None]) -> None:
    """Draw a quantity's rows from above."""
    for place, (rule, values, expected) in enumerate(zip(rules, rows, references, strict=True)):
        ax.axhline(place, color=COLOURS["grid"], lw=0.8, zorder=0)
        if len(values) > 1:
            ax.plot(values, [place] * len(values), ".", color=COLOURS[rule], ms=5, alpha=0.6)
        ax.plot(values.mean(), place, LINES[rule][1], color=COLOURS[rule], ms=7, mec="white", mew=0.6)
        if expected is not None:
            ax.plot(expected, place, "|", color=COLOURS["ink"], ms=13, mew=1.6)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.08)


def _scale(ax: Axes, shown: list[Array], narrow: bool) -> None:
    """Choose an axis for what is shown, and ticks in plain numbers, few where their labels would touch."""
    every = np.concatenate(shown)
    if every.min() > 0 and every.max() > _DECADE * every.min():
        ax.set_xscale("log")
        near = every.max() < _DECADE**2 * every.min()
        between = (1.0, 3.0) if narrow else (1.0, 2.0, 5.0)
        ax.xaxis.set_major_locator(LogLocator(subs=between if near else (1.0,)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        few = {"nbins": 4, "steps": [1, 2.5, 5, 10]} if narrow else {"nbins": 5}
        ax.xaxis.set_major_locator(MaxNLocator(**few, integer=bool(np.all(every == np.rint(every)))))
