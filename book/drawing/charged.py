"""Figures of the chapter on prices."""

import matplotlib.pyplot as plt

from lossnav.figures import COLOURS, label, letter, line


def matched(*, steps, errors, steep, kept):
    """Draw errors of rates against the step, and what a step keeps of a mode against its curvature."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.0))
    for (text, error), rule, height in zip(errors.items(), ("optimal", "potential"), (2e-3, 0.3), strict=True):
        left.plot(steps, error, **line(rule, marker=True, ms=4.5))
        label(left, steps[0], height, text, rule, ha="right")
    left.set(xscale="log", yscale="log", xlabel="step $s$", ylabel="error of the rates", ylim=(6e-4, 1.2))
    for share, rule in zip(kept.values(), ("optimal", "belief"), strict=True):
        right.plot(steep, share, **line(rule))
    label(right, 0.97, 0.79, "the learner", "optimal", ha="right")
    label(right, 0.72, 0.30, "Nesterov", "belief", ha="right")
    right.set(xlabel="$sh$", ylabel="kept by a step", xlim=(0, 1.02), ylim=(0, 1))
    letter([left, right])
    return figure


def excess(*, mass, panels):
    """Draw the extra cost of simple forms against the mass, a panel for each discount."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3), sharey=True)
    for ax, curves in zip(axes, panels.values(), strict=True):
        for cost, rule in zip(curves.values(), ("optimal", "adam"), strict=True):
            ax.plot(mass, cost[:, 0], **line(rule, linestyle="-"))
            ax.plot(mass, cost[:, 1], **line(rule, linestyle=":", lw=1.6))
        ax.axvline(0.25, color=COLOURS["quiet"], lw=1.0)
        ax.set(xscale="log", yscale="log", xlabel=r"$\mu=mkh/c^2$", ylim=(1e-3, 1e3))
    names = dict(zip(next(iter(panels.values())), ("optimal", "adam"), strict=True))
    for (text, rule), (x, y) in zip(names.items(), ((2.0, 0.8), (0.33, 350.0)), strict=True):
        label(axes[0], x, y, text.replace(" the ", "\nthe "), rule, va="top" if rule == "optimal" else "bottom")
    axes[0].set_ylabel("excess cost, in %")
    letter(axes, [r"$\gamma=\sqrt{\eta kh}$" if gamma else r"$\gamma=0$" for gamma in panels])
    return figure


def sources(*, t, laws):
    """Draw places and velocities of several laws from rest, one above the other."""
    figure, axes = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    drawn = set()
    for text, (rule, motion) in laws.items():
        twice = {"lw": 5.5, "alpha": 0.45} if text == "belief" else {"linestyle": ":"} if rule in drawn else {}
        drawn.add(rule)
        for ax, values in zip(axes, motion, strict=True):
            ax.plot(t, values, label=text, **line(rule, **twice))
            ax.axhline(0.0, color=COLOURS["ink"], lw=0.8)
    axes[0].legend(loc="upper right")
    axes[1].set(xlabel=r"time, in $1/\sqrt{\eta kh}$", xlim=(t[0], t[-1]))
    letter(axes, ["distance from the minimum", "velocity"])
    return figure


def compared(*, rows, panels):
    """Draw how much higher the loss of one rule is than that of another, beside what was expected.

    Args:
        rows: (words, question, lowest, highest) of each comparison.
        panels: title → for each row the seeds' differences in %, and the ends of the mean's interval.
    """
    colours = dict(zip(dict.fromkeys(row[1] for row in rows), ("optimal", "belief", "ballistic"), strict=True))
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 0.9 + 0.36 * len(rows)), sharey=True)
    for ax, comparisons in zip(axes, panels.values(), strict=True):
        ax.axvline(0.0, color=COLOURS["ink"], lw=0.8)
        for place, ((_, question, low, high), (seeds, ends)) in enumerate(zip(rows, comparisons, strict=True)):
            ax.barh(place, high - low, left=low, height=0.7, color=COLOURS["grid"], zorder=0)
            ax.plot(seeds, [place] * len(seeds), ".", color=COLOURS[colours[question]], ms=5, alpha=0.6)
            ax.plot(ends, [place] * 2, "-", color=COLOURS["ink"], lw=1.6)
            ax.plot(sum(ends) / 2, place, "|", color=COLOURS["ink"], ms=11, mew=1.6)
        ax.set(xlabel="higher test loss, in %", ylim=(len(rows) - 0.5, -0.5))
    axes[0].set_yticks(range(len(rows)), [row[0] for row in rows])
    letter(axes, list(panels))
    return figure


def swings(*, t, panels):
    """Draw how far from the minimum networks are under each law, and what the law's equation says (dashed)."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 2.6), sharey=True)
    for ax, lines in zip(axes, panels.values(), strict=True):
        ax.axhline(0.0, color=COLOURS["ink"], lw=0.8)
        for (text, (paths, predicted)), rule in zip(lines.items(), ("optimal", "belief", "adam"), strict=True):
            ax.plot(t, paths.T, **line(rule, linestyle="-", lw=0.9, alpha=0.6))
            ax.plot(t, predicted, color=COLOURS["ink"], ls=(0, (2, 2)), lw=1.1)
            ax.plot([], [], label=text, **line(rule, linestyle="-"))
        ax.set(xlabel="time, in $1/r$", xlim=(t[0], t[-1]))
    axes[0].set_ylabel("part of the way left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    letter(axes, list(panels))
    return figure
