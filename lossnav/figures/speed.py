"""Figures of stored benchmark tables: one mark a contender, a bar between the quartiles, the number beside it.

Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LINES, halo, readable
from lossnav.figures.tables import Interval, Table
from lossnav.lab.registry import RULES

_RULES = {rule.optimizer.split(":")[1]: name for name, rule in RULES.items() if rule.optimizer and not rule.like}
_TEXT = 10.0  # points


def _stored(*columns: str) -> of.Kind:
    """Return the kind of stored tables with these columns."""

    def kind(name: str, value: Any, _: of.Lengths) -> Table:
        table = _checks.instance(name, value, Table, "a stored Table")
        for column in columns:
            if column not in table.shown:
                raise ValueError(f"{name} has the columns {table.shown}, but it must have {column!r}")
        return table

    return kind


@dataclass(frozen=True)
class Dot:
    """One number with its quartiles.

    Attributes:
        interval: where it lies.
        rule: its colour and marker, a key of ``LINES``, or "loss".
        filled: whether the marker is.
        text: what is written beside the row.
    """

    interval: Interval
    rule: str = "loss"
    filled: bool = True
    text: str = ""

    def __post_init__(self) -> None:
        of.settle(self, interval=of.having("an Interval", Interval), rule=of.RULE, filled=of.FLAG, text=of.TEXT)


Group = tuple[str, Sequence[tuple[str, Sequence[Dot]]]]
"""A heading ("" for none) and its rows: a label, and one or more marks."""


@of.takes(ax=of.AXES, groups=of.many(of.row(of.TEXT, of.many(of.row(of.TEXT, of.many(of.having("a Dot", Dot)))))))
def dots(ax: Axes, groups: Sequence[Group]) -> None:
    """Draw groups of rows from top to bottom, with headings between them and labels on the left."""
    y, ticks, labels = 0.0, [], []
    for heading, rows in groups:
        if heading:
            ax.text(0.01, y, heading, transform=ax.get_yaxis_transform(), ha="left", va="center", fontsize=_TEXT,
                    weight="bold", color=COLOURS["ink"], path_effects=halo())  # fmt: skip
            y -= 1.0
        for label, marks in rows:
            for dot in marks:
                _draw(ax, y, dot)
            ticks.append(y)
            labels.append(label)
            y -= 1.0
    ax.set_yticks(ticks, labels, fontsize=_TEXT)
    ax.set_ylim(y + 0.4, 0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def _draw(ax: Axes, y: float, dot: Dot) -> None:
    colour, where = COLOURS[dot.rule], dot.interval
    ax.plot([where.low, where.high], [y, y], color=colour, lw=4.0, alpha=0.4, solid_capstyle="butt")
    marker = "o" if dot.rule == "loss" else LINES[dot.rule][1]
    ax.plot(where.median, y, marker, color=colour, mfc=colour if dot.filled else "white", ms=5.5, mew=1.2)
    if dot.text:
        ax.text(1.02, y, dot.text, transform=ax.get_yaxis_transform(), va="center", fontsize=_TEXT,
                color=readable(colour))  # fmt: skip


@of.takes(table=_stored("GB/s"))
def optimizers(table: Table) -> Figure:
    """Draw the time of a step as a multiple of one contender's, and the bandwidth, fastest first.

    Args:
        table: of ``python -m benchmarks optimizers``.

    Returns:
        The figure: two panels, filled marks for fused kernels, dotted lines at 1 and at the bandwidth of an addition.
    """
    against = next((name for name in table.columns if name.startswith("of ")), None)
    addition = next((name for name in table if name.startswith("add")), None)
    if against is None or addition is None:
        raise ValueError(f'table has the columns {table.shown}, but it must be that of "optimizers"')
    names = sorted(table, key=lambda name: table.value(name, against))
    size = 5.8, 0.235 * len(names) + 1.0
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(3, 2))
    rows, speeds = [], []
    for name in names:
        rule, filled = _rule(name), name.endswith("fused") or name.startswith("add")
        rows.append((_short(name), [Dot(table.interval(name, against), rule, filled, table.text(name, against))]))
        speeds.append((_short(name), [Dot(_interval(table, name, "GB/s"), rule, filled)]))
    dots(left, [("", rows)])
    dots(right, [("", speeds)])
    left.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    right.axvline(table.value(addition, "GB/s"), color=COLOURS["quiet"], lw=0.8, ls=":")
    _decades(left)
    right.set_xlim(left=0.0)
    left.set_xlabel(against.replace("of", "time /", 1) + "'s")
    right.set_xlabel("GB/s")
    right.tick_params(axis="y", labelleft=False)
    left.set_title("a", loc="left")
    right.set_title("b", loc="left")
    return figure


@of.takes(table=_stored("ratio", "ratio of vmap"), goal=of.NUMBER)
def seeds(table: Table, goal: float = 3.0) -> Figure:
    """Draw how many times the throughput of one seed after the other the seeds have together.

    Args:
        table: of ``python -m benchmarks seeds``.
        goal: a dotted line.

    Returns:
        The figure: filled marks for batched products, hollow ones for ``vmap``.
    """

    def marks(name: str) -> list[Dot]:
        rule = _rule(name)
        return [
            Dot(_interval(table, name, "ratio of vmap"), rule, False),
            Dot(table.interval(name, "ratio"), rule, True, table.text(name, "ratio")),
        ]

    figure, ax = _one([*_grouped(table, ", ", marks)])
    ax.axvline(goal, color=COLOURS["quiet"], lw=1.2, ls=":")
    ax.set_xlim(left=0.0)
    ax.set_xlabel("times the throughput of one after the other")
    _legend(figure, {"together": True, "by vmap": False})
    return figure


@of.takes(table=_stored("ms"))
def pipelines(table: Table) -> Figure:
    """Draw the time of a batch each way, from ``python -m benchmarks data``; filled marks for this package's way."""

    def marks(name: str) -> list[Dot]:
        ours = name.endswith(": ours")
        return [Dot(table.interval(name, "ms"), "ballistic" if ours else "loss", ours, table.text(name, "ms"))]

    figure, ax = _one([*_grouped(table, ": ", marks)])
    _decades(ax)
    ax.set_xlabel("ms a batch")
    return figure


@of.takes(table=_stored("times the plain speed", "chosen by", "images/s"))
def steps(table: Table) -> Figure:
    """Draw each form's speed as a multiple of the plain form's, from ``python -m benchmarks step``.

    Returns:
        The figure: a group a network; the filled mark is what "auto" takes, and images a second stand on the right.
    """

    def marks(name: str) -> list[Dot]:
        chosen = table.value(name, "chosen by") == "auto"
        rule = "ballistic" if chosen else "loss"
        return [Dot(table.interval(name, "times the plain speed"), rule, chosen, table.text(name, "images/s"))]

    figure, ax = _one([*_grouped(table, ": ", marks)])
    ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set_xlim(left=0.0)
    ax.set_xlabel("times the plain form's speed")
    ax.text(1.02, 0.2, "images/s", transform=ax.get_yaxis_transform(), fontsize=_TEXT, va="center",
            color=COLOURS["ink"])  # fmt: skip
    return figure


@of.takes(table=_stored("ratio"))
def update(table: Table) -> Figure:
    """Draw how many times faster ``update`` is than the printed formula, from ``python -m benchmarks update``."""

    def marks(name: str) -> list[Dot]:
        return [Dot(table.interval(name, "ratio"), "ballistic", True, table.text(name, "ratio"))]

    groups: dict[str, list[tuple[str, list[Dot]]]] = {}
    for name in table:
        size, _, spectrum = name.partition(", ")
        groups.setdefault(spectrum, []).append((size, marks(name)))
    figure, ax = _one([*groups.items()])
    ax.axvline(1.0, color=COLOURS["quiet"], lw=1.2, ls=":")
    _decades(ax)
    ax.set_xlabel("times as fast as the printed formula by scipy")
    return figure


@of.takes(table=_stored("ours is faster"))
def eigenpairs(table: Table) -> Figure:
    """Draw how many times as long the others take as this package, from ``python -m benchmarks eigenpairs``."""
    gain = "ours is faster"

    def marks(name: str) -> list[Dot]:
        return [Dot(_interval(table, name, gain), text=table.text(name, gain))]

    rivals = [name for name in table if table.value(name, gain) is not None]
    figure, ax = _one([*_grouped(rivals, ": ", marks)])
    ax.axvline(1.0, color=COLOURS["quiet"], lw=1.2, ls=":")
    _decades(ax)
    ax.set_xlabel("times as long as ours")
    return figure


def _grouped(names: Iterable[str], mark: str, marks: Callable[[str], Sequence[Dot]]) -> list[Group]:
    """Return rows named "heading<mark>label" under their headings."""
    groups: dict[str, list[tuple[str, Sequence[Dot]]]] = {}
    for name in names:
        heading, _, label = name.partition(mark)
        groups.setdefault(heading, []).append((label, marks(name)))
    return list(groups.items())


def _one(groups: Sequence[Group]) -> tuple[Figure, Axes]:
    """Return a figure with one panel that has room for the rows, and the panel with the rows in it."""
    rows = sum(len(rows) + bool(heading) for heading, rows in groups)
    figure, ax = plt.subplots(figsize=(5.8, 0.25 * rows + 0.9))
    dots(ax, groups)
    return figure, ax


def _interval(table: Table, row: str, column: str) -> Interval:
    """Return a median with its quartiles, or as a point where the table has none."""
    try:
        return table.interval(row, column)
    except ValueError:
        value = table.value(row, column)
        return Interval(value, value, value)


def _rule(name: str) -> str:
    return next((rule for word, rule in _RULES.items() if word in name.replace("AdaBelief", "")), "loss")


def _short(name: str) -> str:
    """Return a contender's name without what the caption says."""
    return name.partition(":")[0].replace("pytorch_optimizer ", "").replace("with momentum", "+ momentum")


def _decades(ax: Axes) -> None:
    """Make the horizontal axis logarithmic, with plain numbers."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    spans = {30: (1.0, 2.0, 5.0), 300: (1.0, 3.0)}
    ax.xaxis.set_major_locator(LogLocator(subs=next((s for span, s in spans.items() if high < span * low), (1.0,))))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.minorticks_off()
    ax.set_xlim(low, high)


def _legend(figure: Figure, kinds: dict[str, bool]) -> None:
    colour = COLOURS["ink"]
    handles = [
        Line2D([], [], marker="o", color=colour, mfc=colour if filled else "white", ls="none", ms=5.5, label=words)
        for words, filled in kinds.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
