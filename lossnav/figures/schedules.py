"""Figures of schedules: rates and weights over time.

Every function takes what it draws and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, letter, line

Lines = Mapping[str, tuple[str, ArrayLike]]


@of.takes(
    x=of.reals("N"), panels=of.mapping(of.TEXT, of.mapping(of.TEXT, of.row(of.RULE, of.reals("N")))), name=of.TEXT
)
def stacked(x: ArrayLike, panels: Mapping[str, Lines], name: str) -> Figure:
    """Draw panels of lines over one axis, one above the other.

    Args:
        x: shape (N,).
        panels: title → label → (rule whose line it takes, y of shape (N,)); y = 0 is drawn where a line passes it.
        name: of the axis.

    Returns:
        The figure.
    """
    places = np.asarray(x, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 1.0 + 2.5 * len(panels)), sharex=True, squeeze=False)
    for ax, lines in zip(axes[:, 0], panels.values(), strict=True):
        for text, (rule, y) in lines.items():
            ax.plot(places, y, **line(rule), label=text)
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
