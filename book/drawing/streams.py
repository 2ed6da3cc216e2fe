"""Figures of the chapter on streams of tasks."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, letter, readable
from lossnav.figures import line as style
from lossnav.lab.paired import interval
from lossnav.lab.registry import RULES
from lossnav.lab.streams.contenders import first_tenth, last_tenth


def scores(*, runs, title, block=1, window=1):
    """Draw the score in each task: the mean over seeds, and a band from the worst to the best seed."""
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    for rule, values in runs.items():
        table = 100 * np.asarray(values, dtype=np.float64)
        table = np.apply_along_axis(lambda row: np.convolve(row, np.ones(window) / window, mode="valid"), 1, table)
        where = (np.arange(table.shape[1]) + window / 2) * block
        options = _line(rule)
        ax.plot(where, table.mean(axis=0), label=RULES[rule].label, **options)
        ax.fill_between(where, table.min(axis=0), table.max(axis=0), color=options["color"], alpha=0.15, lw=0)
    ax.set(xlabel="task", ylabel="online accuracy (%)")
    ax.set_xlim(left=0)
    ax.grid(axis="y", which="major")
    figure.suptitle(title, x=0.01, ha="left")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def comparison(*, record, rule="uncertain"):
    """Draw what each tuned rule keeps, and how far one rule is from each other on the same seeds."""
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


def tuning(*, record):
    """Draw the score of every setting that was tried: how much each rule hangs on its tuning."""
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
                hollow = {"markerfacecolor": "none", "markeredgecolor": options["color"], "alpha": 0.7}
                hollow |= {"markersize": 5 * _wide(name)}
                ax.plot(scale * trial["mean"], row, **options | hollow)
        ax.plot(scale * chosen["mean"], row, **options | {"markersize": 8 * _wide(name), "zorder": 4})
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


def _chosen(record, name):
    entry = record.results[name]
    return next(trial for trial in entry["tuning"] if trial["setting"] == entry["best"])


def _title(record):
    return f"{record.data['label']}, {record.config['tasks']} tasks, {len(record.seeds)} seeds"


def _line(rule):
    row = RULES[rule]
    return style(row.like or rule, lw=2.4 if rule == "uncertain" else 1.8) | {"linestyle": row.line}


def _wide(rule):
    """Return the scale of a rule's marker: a star fills least of its square."""
    return 1.7 if RULES[rule].marker == "*" else 1.0


def _point(rule):
    row = RULES[rule]
    return {
        "color": row.colour, "linestyle": "none", "marker": row.marker, "markersize": 7 * _wide(rule),
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
    }  # fmt: skip
