"""Figures of continual learning: scores over tasks with their spread, rules compared on the same seeds, tuning.

Every function takes scores or a record of ``studies/continual.py`` and returns a figure; nothing is trained here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, letter, readable
from lossnav.figures.style import line as style
from lossnav.lab.records import Record
from lossnav.lab.registry import RULES
from lossnav.lab.streams.contenders import first_tenth, interval, last_tenth

_CONTENDER = of.one_of(*RULES)


def _tuned(name: str, value: Any, lengths: of.Lengths) -> Any:
    """Check the settings that were tried for a rule, of which the best is one."""
    trial = of.table(setting=of.table(), finite=of.FLAG)
    entry = of.table(tuning=of.many(trial), best=of.table())(name, value, lengths)
    chosen = [one for one in entry["tuning"] if one["setting"] == entry["best"]]
    if not chosen:
        raise ValueError(f"{name}['best'] = {_checks.shown(entry['best'])}, but it must be one of the settings tried")
    of.table(mean=of.NUMBER)(f"{name}['tuning']", chosen[0], lengths)
    return entry


@of.takes(
    runs=of.mapping(_CONTENDER, of.apart(of.reals("S", "B"))),
    title=of.TEXT,
    ylabel=of.TEXT,
    block=of.COUNT,
    window=of.COUNT,
    percent=of.FLAG,
    limits=of.optional(of.SPAN),
)
def scores(
    runs: Mapping[str, ArrayLike], *, title: str, ylabel: str = "online accuracy (%)", block: int = 1, window: int = 1,
    percent: bool = True, limits: tuple[float, float] | None = None,
) -> Figure:  # fmt: skip
    """Draw the score in each task: the mean over seeds, and a band from the worst to the best seed.

    Args:
        runs: rule (a key of ``lab.registry.RULES``) → scores (S, blocks).
        title: what was learned, on how many seeds.
        ylabel: what the score is.
        block: tasks that one score is the mean of.
        window: number of neighbouring scores that are averaged before drawing.
        percent: multiply the scores by 100.
        limits: of the vertical axis; by default whatever the scores need.

    Returns:
        The figure: one panel, a legend below.
    """
    _checks.whole("window", window, low=1, high=min(np.shape(values)[1] for values in runs.values()))
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    for rule, values in runs.items():
        table = np.asarray(values, dtype=np.float64) * (100 if percent else 1)
        table = np.apply_along_axis(lambda row: np.convolve(row, np.ones(window) / window, mode="valid"), 1, table)
        where = (np.arange(table.shape[1]) + window / 2) * block
        options = _line(rule)
        ax.plot(where, table.mean(axis=0), label=RULES[rule].label, **options)
        ax.fill_between(where, table.min(axis=0), table.max(axis=0), color=options["color"], alpha=0.15, lw=0)
    ax.set(xlabel="task", ylabel=ylabel)
    ax.set_xlim(left=0)
    if limits is not None:
        ax.set_ylim(*limits)
    ax.grid(axis="y", which="major")
    figure.suptitle(title, x=0.01, ha="left")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@of.takes(
    record=of.record(
        config=of.table(score=of.TEXT, lower_is_better=of.FLAG, tasks=of.COUNT),
        data=of.LABEL,
        seeds=of.SEEDS,
        results=of.mapping(_CONTENDER, of.table(scores=of.reals("S", "B"))),
    ),
    rule=_CONTENDER,
)
def comparison(record: Record, rule: str = "uncertain") -> Figure:
    """Draw what each tuned rule keeps, and how far one rule is from each other on the same seeds.

    Left, mean over seeds of the score in the first tenth of the tasks (hollow) and in the last (filled). Right, the
    difference of the mean scores over all tasks between ``rule`` and each other, paired by seed, with its 95 %
    confidence interval (Student's t); to the right of zero ``rule`` is better.

    Args:
        record: of ``studies/continual.py``.
        rule: the rule to compare with the others.

    Returns:
        The figure: two panels over the same rows, the best rule on top.
    """
    _checks.one_of("rule", rule, tuple(record.results))
    percent = record.config["score"] == "online accuracy"
    scale, unit = (100, " (%)") if percent else (1, "")
    table = {name: scale * np.asarray(entry["scores"]) for name, entry in record.results.items()}
    sign = -1 if record.config["lower_is_better"] else 1
    order = sorted(table, key=lambda name: sign * table[name].mean())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(5.8, 0.75 + 0.4 * len(order)), sharey=True, width_ratios=(1.15, 1)
    )
    for row, name in enumerate(order):
        options = _point(name)
        first, last = first_tenth(table[name]).mean(), last_tenth(table[name]).mean()
        left.plot([first, last], [row, row], color=options["color"], lw=1.2, alpha=0.6)
        left.plot(first, row, **options | {"markerfacecolor": COLOURS["paper"], "markeredgecolor": options["color"]})
        left.plot(last, row, **options)
        if name != rule:
            mean, low, high = interval(sign * (table[rule].mean(1) - table[name].mean(1)))
            right.plot(mean, row, **options | {"markersize": 5})
            right.plot([low, high], [row, row], color=options["color"], lw=1.2, marker="|", ms=11, mew=1.4)
    right.axvline(0.0, color=COLOURS["ink"], lw=0.8)
    left.set_yticks(range(len(order)), [RULES[name].label for name in order])
    for tick, name in zip(left.get_yticklabels(), order, strict=True):
        tick.set_color(readable(_point(name)["color"]))
    left.set(xlabel=f"{record.config['score']}{unit}", ylim=(-0.6, len(order) - 0.4))
    right.set(xlabel=f"{RULES[rule].label} ahead{' (points)' if percent else ''}")
    for ax in (left, right):
        ax.grid(axis="x", which="major")
        ax.tick_params(axis="y", length=0)
    letter((left, right), ("first → last tenth", "difference"))
    figure.suptitle(_title(record), x=0.01, ha="left")
    return figure


@of.takes(
    record=of.record(
        config=of.table(score=of.TEXT, lower_is_better=of.FLAG, settings=of.COUNT, tuning_tasks=of.COUNT),
        data=of.LABEL,
        results=of.mapping(_CONTENDER, _tuned),
    )
)
def tuning(record: Record) -> Figure:
    """Draw the score of every setting that was tried: how much each rule hangs on its tuning.

    Args:
        record: of ``studies/continual.py``.

    Returns:
        The figure: one row a rule, a dot for each setting, the chosen one filled; a cross at the edge of the axis for a
        setting that diverged.
    """
    scale = 100 if record.config["score"] == "online accuracy" else 1
    sign = -1 if record.config["lower_is_better"] else 1
    names = sorted(record.results, key=lambda name: _chosen(record, name)["mean"] * sign)
    figure, ax = plt.subplots(figsize=(5.8, 0.75 + 0.34 * len(names)))
    usable = [scale * t["mean"] for name in names for t in record.results[name]["tuning"] if t["finite"]]
    worst = max(usable) if sign < 0 else min(usable)
    for row, name in enumerate(names):
        options, chosen = _point(name), _chosen(record, name)
        for trial in record.results[name]["tuning"]:
            if not trial["finite"]:
                ax.plot(worst, row, color=options["color"], marker="x", ls="none", ms=6)
            elif trial is not chosen:
                hollow = {"markerfacecolor": "none", "markeredgecolor": options["color"], "alpha": 0.7, "markersize": 5}
                ax.plot(scale * trial["mean"], row, **options | hollow)
        ax.plot(scale * chosen["mean"], row, **options | {"markersize": 8, "zorder": 4})
    ax.set_yticks(range(len(names)), [RULES[name].label for name in names])
    for tick, name in zip(ax.get_yticklabels(), names, strict=True):
        tick.set_color(readable(_point(name)["color"]))
    unit = " (%)" if scale == 100 else ""
    ax.set(xlabel=f"{record.config['score']} while tuning{unit}", ylim=(-0.6, len(names) - 0.4))
    if sign < 0:
        ax.set_xscale("log")
    ax.grid(axis="x", which="major")
    ax.tick_params(axis="y", length=0)
    figure.suptitle(
        f"{record.data['label']}: {record.config['settings']} settings a rule, {record.config['tuning_tasks']} tasks",
        x=0.01, ha="left",
    )  # fmt: skip
    return figure


def _chosen(record: Record, name: str) -> Mapping[str, Any]:
    entry = record.results[name]
    return next(trial for trial in entry["tuning"] if trial["setting"] == entry["best"])


def _title(record: Record) -> str:
    return f"{record.data['label']}, {record.config['tasks']} tasks, {len(record.seeds)} seeds"


def _line(rule: str) -> dict[str, Any]:
    row = RULES[rule]
    return style(row.like or rule, lw=2.4 if rule == "uncertain" else 1.8) | {"linestyle": row.line}


def _point(rule: str) -> dict[str, Any]:
    row = RULES[rule]
    return {
        "color": row.colour, "linestyle": "none", "marker": row.marker, "markersize": 7, "markeredgecolor": "white",
        "markeredgewidth": 0.8,
    }  # fmt: skip
