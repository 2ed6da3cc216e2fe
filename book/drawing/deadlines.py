"""Figures of the chapter on deadlines."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, letter, line


def stacked(*, x, panels, name):
    """Draw panels of lines over one axis, one above the other."""
    places = np.asarray(x, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 1.0 + 2.5 * len(panels)), sharex=True, squeeze=False)
    for ax, lines in zip(axes[:, 0], panels.values(), strict=True):
        for text, curve in lines.items():
            ax.plot(places, curve["y"], **line(curve["rule"]), label=text)
        if ax.get_ylim()[0] < 0:
            ax.axhline(0.0, color=COLOURS["ink"], lw=0.8)
        ax.set_xlim(float(places[0]), float(places[-1]))
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    axes[-1, 0].set_xlabel(name)
    if len(panels) > 1:
        letter(list(axes[:, 0]), list(panels))
    else:
        axes[0, 0].set_ylabel(next(iter(panels)))
    return figure
