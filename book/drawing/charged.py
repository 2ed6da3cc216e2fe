"""Figures of the chapter on prices."""

import matplotlib.pyplot as plt

from lossnav.figures import COLOURS, label, letter, line


def matched(*, steps, errors, steep, kept):
    """Draw errors of rates against the step, and what a step keeps of a mode against its curvature."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.0))
    for (text, found), rule, height in zip(errors.items(), ("optimal", "potential"), (2e-3, 0.3), strict=True):
        left.plot(steps, found, **line(rule, marker=True, ms=4.5))
        label(left, steps[0], height, text, rule, ha="right")
    left.set(xscale="log", yscale="log", xlabel="step $s$", ylabel="error of the rates", ylim=(6e-4, 1.2))
    for found, rule in zip(kept.values(), ("optimal", "belief"), strict=True):
        right.plot(steep, found, **line(rule))
    label(right, 0.97, 0.79, "the learner", "optimal", ha="right")
    label(right, 0.72, 0.30, "Nesterov", "belief", ha="right")
    right.set(xlabel="$sh$", ylabel="kept by a step", xlim=(0, 1.02), ylim=(0, 1))
    letter([left, right])
    return figure


def excess(*, mass, panels):
    """Draw the extra cost of simple forms against the mass, a panel for each discount."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3), sharey=True)
    for ax, curves in zip(axes, panels.values(), strict=True):
        for found, rule in zip(curves.values(), ("optimal", "adam"), strict=True):
            ax.plot(mass, found[:, 0], **line(rule, linestyle="-"))
            ax.plot(mass, found[:, 1], **line(rule, linestyle=":", lw=1.6))
        ax.axvline(0.25, color=COLOURS["quiet"], lw=1.0)
        ax.set(xscale="log", yscale="log", xlabel=r"$\mu=mkh/c^2$", ylim=(1e-3, 1e3))
    names = dict(zip(next(iter(panels.values())), ("optimal", "adam"), strict=True))
    for (text, rule), (x, y) in zip(names.items(), ((0.2, 2e-3), (0.013, 60.0)), strict=True):
        label(axes[0], x, y, text, rule)
    axes[0].set_ylabel("too dear, in %")
    letter(axes, [r"$\gamma=\sqrt{\eta kh}$" if gamma else r"$\gamma=0$" for gamma in panels])
    return figure


def sources(*, t, laws):
    """Draw places and velocities of several laws from rest, one above the other."""
    figure, axes = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    for text, (rule, moved) in laws.items():
        twice = {"lw": 5.5, "alpha": 0.45} if text == "belief" else {}
        for ax, found in zip(axes, moved, strict=True):
            ax.plot(t, found, label=text, **line(rule, **twice))
            ax.axhline(0.0, color=COLOURS["ink"], lw=0.8)
    axes[0].legend(loc="upper right")
    axes[1].set(xlabel=r"time, in $1/\sqrt{\eta kh}$", xlim=(t[0], t[-1]))
    letter(axes, ["distance from the minimum", "velocity"])
    return figure
