"""Figures of the chapter on regret."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lossnav.figures import COLOURS, LINES, label, letter, line, mark

_NAMES = {
    "newton": "Newton", "nesterov": "Nesterov", "rmsprop": "RMSprop", "adam": "Adam", "adamw": "AdamW", "muon": "Muon"
}  # fmt: skip


def named(rule):
    """Return the name of a rule, or of what stands beside rules, as the text has it."""
    return _NAMES.get(rule, rule)


def parts(*, panels, rules):
    """Draw the regret of each rule as a bar of two parts, the worst at the bottom."""
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 0.9 + 1.9 * len(panels)), squeeze=False)
    for ax, bars in zip(axes.flat, panels.values(), strict=True):
        order = sorted(bars, key=lambda text: -sum(bars[text].values()))
        longest = sum(bars[order[0]].values())
        for place, text in enumerate(order):
            rule, speed, direction = rules[text], bars[text]["speed"], bars[text]["direction"]
            ax.barh(place, speed, color=COLOURS[rule], height=0.7)
            ax.barh(place, direction, left=speed, color=COLOURS[rule], height=0.7, alpha=0.45, hatch="////", ec="white")
            label(ax, speed + direction + 0.01 * longest, place, f"{speed + direction:.2g}", "ink", va="center")
        ax.set(yticks=range(len(order)), xlim=(0.0, 1.13 * longest))
        ax.set_yticklabels(map(named, order))
        ax.grid(visible=False, axis="y")
    axes.flat[-1].set_xlabel("regret over the least cost\n(plain: speed, hatched: direction)")
    letter(axes, tuple(panels))
    return figure


def board(*, found, names, rules):
    """Draw the regret of tuned rules on several landscapes, one panel each, a mark for every discount rate."""
    rows = -(-len(found) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(5.8, 2.2 * rows + 0.9), sharex=True, sharey=True, squeeze=False)
    for ax, lines in zip(axes.flat, found.values(), strict=False):
        for text, values in lines.items():
            ax.plot(range(len(names)), values, **line(rules[text], marker=True, ms=5))
        ax.set(yscale="log", xticks=range(len(names)))
        ax.set_xticklabels(names)
    for ax in axes.flat[len(found) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("regret over least cost")
    letter(axes.flat[: len(found)], tuple(found))
    _legend(figure, next(iter(found.values())), rules, marker=True, ms=5)
    return figure


def over_discount(*, gamma, panels, rules, logarithmic=True):
    """Draw what becomes of rules when their paths are judged with other discount rates."""
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 0.8 + 2.7 * len(panels)), sharex=True, squeeze=False)
    x = np.asarray(gamma, dtype=np.float64)
    for ax, lines in zip(axes.flat, panels.values(), strict=True):
        for text, values in lines.items():
            ax.plot(x, values, **line(rules[text]))
        ax.set(xscale="log", yscale="log" if logarithmic else "linear", xlim=(x[0], x[-1]))
        low, high = ax.get_ylim()
        if logarithmic and high < 100 * low:  # two powers of ten say too little, and all their multiples are a crowd
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    axes.flat[-1].set_xlabel(r"discount rate $\gamma$")
    letter(axes, tuple(panels))
    _legend(figure, next(iter(panels.values())), rules)
    return figure


def networks(*, timing, gamma, cosines, rules):
    """Draw the timing factors of network training, and the cosines with optimal steps over the discount rate."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.6))
    for place, (text, factors) in enumerate(timing.items()):
        rule = rules[text]
        size = 9 if LINES[rule][1] == "*" else 6
        for shift, values, face in ((-0.12, factors["full"], None), (0.12, factors["batches"], "none")):
            y = np.asarray(values, dtype=np.float64)
            style = mark(rule, ms=size) | ({} if face is None else {"mfc": face, "markeredgecolor": COLOURS[rule]})
            upper.plot(np.full(len(y), place + shift), y, **style)
    upper.set(yscale="log", xticks=range(len(timing)), ylabel="timing factor minus 1")
    upper.set_xticklabels(map(named, timing), rotation=35, ha="right", rotation_mode="anchor")
    for text, values in cosines.items():
        rule, y = rules[text], np.array(values)
        middle, spread = y.mean(axis=0), y.std(axis=0)
        lower.plot(range(len(gamma)), middle, **line(rule, marker=True, ms=5))
        lower.fill_between(range(len(gamma)), middle - spread, middle + spread, color=COLOURS[rule], alpha=0.15, lw=0)
    lower.set(xticks=range(len(gamma)), xlabel=r"$\gamma/\sqrt{\eta k}$", ylabel=r"alignment $C$")
    lower.set_xticklabels(gamma)
    letter((upper, lower), ("how well timed", "which discount do the steps look like?"))
    _legend(figure, cosines, rules, marker=True, ms=5)
    return figure


def _legend(figure, names, rules, **look):
    """Name lines below the panels."""
    handles = [plt.Line2D([], [], **line(rules[name], **look)) for name in names]
    figure.legend(handles, list(map(named, names)), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
