"""Figures of the chapter on what a learner assumed."""

import matplotlib.pyplot as plt

from lossnav.figures import COLOURS, label, letter, line


def intervals(*, found, truth, differences):
    """Draw an interval for each record, one above the other, and the median of what differences give."""
    figure, ax = plt.subplots(figsize=(5.8, 3.6))
    for row, (value, low, high) in enumerate(found):
        holds = low <= truth <= high
        shade = COLOURS["optimal"] if holds else COLOURS["ink"]
        ax.plot([low, high], [row, row], color=shade, lw=2.0 if holds else 3.0, solid_capstyle="butt")
        ax.plot(value, row, "o", color=shade, ms=4)
    ax.axvline(truth, color=COLOURS["quiet"], lw=1.0, zorder=0)
    ax.axvline(differences, color=COLOURS["kinetic"], lw=1.4, ls="--")
    label(ax, differences + 0.02, len(found) + 0.4, "by differences", "kinetic", va="bottom")
    label(ax, truth + 0.02, len(found) + 0.4, "the truth", "quiet", va="bottom")
    ax.set(xlabel="discount $\\gamma$", yticks=[], ylim=(-1, len(found) + 3))
    ax.set_ylabel("records")
    return figure


def parted(*, t, panels):
    """Draw the path of each learner in panels one above the other; in the first they lie on each other."""
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 2.3 * len(panels) + 0.6), sharex=True)
    for ax, paths in zip(axes, panels.values(), strict=True):
        for name, (rule, places) in paths.items():
            ax.plot(t, places, **line(rule, lw=2.0), label=name)
        ax.set(ylabel="$\\theta$", xlim=(t[0], t[-1]))
    letter(list(axes), list(panels))
    axes[0].legend(loc="upper right")
    axes[-1].set_xlabel("time $t$")
    return figure
