"""Figures of the chapter on speed."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator

from lossnav.figures import COLOURS, LINES, halo, readable
from lossnav.figures.tables import Interval
from lossnav.lab.registry import RULES

_RULES = {rule.optimizer.split(":")[1]: name for name, rule in RULES.items() if rule.optimizer and not rule.like}
_TEXT = 10.0  # points


def _dots(ax, groups):
    """Draw groups of rows from top to bottom, with headings between them and labels on the left."""
    y, ticks, labels = 0.0, [], []
    for heading, rows in groups.items():
        if heading:
            ax.text(0.01, y, heading, transform=ax.get_yaxis_transform(), ha="left", va="center", fontsize=_TEXT,
                    weight="bold", color=COLOURS["ink"], path_effects=halo())  # fmt: skip
            y -= 1.0
        for label, marks in rows.items():
            for mark in marks:
                _draw(ax, y, **mark)
            ticks.append(y)
            labels.append(label)
            y -= 1.0
    ax.set_yticks(ticks, labels, fontsize=_TEXT)
    ax.set_ylim(y + 0.4, 0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def _draw(ax, y, *, where, rule="loss", filled=True, text=""):
    """Draw a median between its quartiles, and what is written beside the row."""
    colour = COLOURS[rule]
    ax.plot([where.low, where.high], [y, y], color=colour, lw=4.0, alpha=0.4, solid_capstyle="butt")
    marker = "o" if rule == "loss" else LINES[rule][1]
    ax.plot(where.median, y, marker, color=colour, mfc=colour if filled else "white", ms=5.5, mew=1.2)
    if text:
        ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=_TEXT,
                color=readable(colour))  # fmt: skip


def optimizers(*, table):
    """Draw the time of a step as a multiple of one contender's, and the bandwidth, fastest first."""
    against = next(name for name in table.columns if name.startswith("of "))
    addition = next(name for name in table if name.startswith("add"))
    names = sorted(table, key=lambda name: table.value(name, against))
    size = 5.8, 0.235 * len(names) + 1.0
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(3, 2))
    times, speeds = {}, {}
    for name in names:
        look = {"rule": _rule(name), "filled": name.endswith("fused") or name.startswith("add")}
        times[_short(name)] = [look | {"where": table.interval(name, against), "text": table.text(name, against)}]
        speeds[_short(name)] = [look | {"where": _interval(table, name, "GB/s")}]
    _dots(left, {"": times})
    _dots(right, {"": speeds})
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


def seeds(*, table, goal=3.0):
    """Draw how many times the throughput of one seed after the other the seeds have together."""

    def marks(name):
        rule = _rule(name)
        return [
            {"where": _interval(table, name, "ratio of vmap"), "rule": rule, "filled": False},
            {"where": table.interval(name, "ratio"), "rule": rule, "text": table.text(name, "ratio")},
        ]

    figure, ax = _one(_grouped(table, ", ", marks))
    ax.axvline(goal, color=COLOURS["quiet"], lw=1.2, ls=":")
    ax.set_xlim(left=0.0)
    ax.set_xlabel("times the throughput of one after the other")
    _legend(figure, {"together": True, "by vmap": False})
    return figure


def pipelines(*, table):
    """Draw the time of a batch each way, from ``python -m benchmarks data``; filled marks for this package's way."""

    def marks(name):
        ours = name.endswith(": ours")
        return [
            {
                "where": table.interval(name, "ms"),
                "rule": "ballistic" if ours else "loss",
                "filled": ours,
                "text": table.text(name, "ms"),
            }
        ]

    figure, ax = _one(_grouped(table, ": ", marks))
    _decades(ax)
    ax.set_xlabel("ms a batch")
    return figure


def steps(*, table):
    """Draw each form's speed as a multiple of the plain form's, from ``python -m benchmarks step``."""

    def marks(name):
        chosen = table.value(name, "chosen by") == "auto"
        rule = "ballistic" if chosen else "loss"
        return [
            {
                "where": table.interval(name, "times the plain speed"),
                "rule": rule,
                "filled": chosen,
                "text": table.text(name, "images/s"),
            }
        ]

    figure, ax = _one(_grouped(table, ": ", marks))
    ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set_xlim(left=0.0)
    ax.set_xlabel("times the plain form's speed")
    ax.text(1.02, 0.2, "images/s", transform=ax.get_yaxis_transform(), fontsize=_TEXT, va="center",
            color=COLOURS["ink"])  # fmt: skip
    return figure


def update(*, table):
    """Draw how many times faster ``update`` is than the printed formula, from ``python -m benchmarks update``."""

    def marks(name):
        return [{"where": table.interval(name, "ratio"), "rule": "ballistic", "text": table.text(name, "ratio")}]

    groups = {}
    for name in table:
        size, _, spectrum = name.partition(", ")
        groups.setdefault(spectrum, {})[size] = marks(name)
    figure, ax = _one(groups)
    ax.axvline(1.0, color=COLOURS["quiet"], lw=1.2, ls=":")
    _decades(ax)
    ax.set_xlabel("times as fast as the printed formula by scipy")
    return figure


def eigenpairs(*, table):
    """Draw how many times as long the others take as this package, from ``python -m benchmarks eigenpairs``."""
    gain = "ours is faster"

    def marks(name):
        return [{"where": _interval(table, name, gain), "text": table.text(name, gain)}]

    rivals = [name for name in table if table.value(name, gain) is not None]
    figure, ax = _one(_grouped(rivals, ": ", marks))
    ax.axvline(1.0, color=COLOURS["quiet"], lw=1.2, ls=":")
    _decades(ax)
    ax.set_xlabel("times as long as ours")
    return figure


def _grouped(names, mark, marks):
    """Return rows named "heading<mark>label" under their headings."""
    groups = {}
    for name in names:
        heading, _, label = name.partition(mark)
        groups.setdefault(heading, {})[label] = marks(name)
    return groups


def _one(groups):
    """Return a figure with one panel that has room for the rows, and the panel with the rows in it."""
    rows = sum(len(rows) + bool(heading) for heading, rows in groups.items())
    figure, ax = plt.subplots(figsize=(5.8, 0.25 * rows + 0.9))
    _dots(ax, groups)
    return figure, ax


def _interval(table, row, column):
    """Return a median with its quartiles, or as a point where the table has none."""
    try:
        return table.interval(row, column)
    except ValueError:
        value = table.value(row, column)
        return Interval(value, value, value)


def _rule(name):
    return next((rule for word, rule in _RULES.items() if word in name.replace("AdaBelief", "")), "loss")


def _short(name):
    """Return a contender's name without what the caption says."""
    return name.partition(":")[0].replace("pytorch_optimizer ", "").replace("with momentum", "+ momentum")


def _decades(ax):
    """Make the horizontal axis logarithmic, with plain numbers."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    spans = {30: (1.0, 2.0, 5.0), 300: (1.0, 3.0)}
    ax.xaxis.set_major_locator(LogLocator(subs=next((s for span, s in spans.items() if high < span * low), (1.0,))))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.minorticks_off()
    ax.set_xlim(low, high)


def _legend(figure, kinds):
    colour = COLOURS["ink"]
    handles = [
        Line2D([], [], marker="o", color=colour, mfc=colour if filled else "white", ls="none", ms=5.5, label=words)
        for words, filled in kinds.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
