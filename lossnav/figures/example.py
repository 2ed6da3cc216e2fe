"""The example that all theory chapters share: one landscape, one start, one path, which each new assumption bends.

``LANDSCAPE``, ``START`` and ``GAMMA`` are those of the paper's Figure 1 (η = k = 1); the first chapter finds its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.landscape import contours
from lossnav.figures.style import COLOURS, halo, label, line, mark
from lossnav.problem.losses import DoubleWell

LANDSCAPE = DoubleWell()
START = (-0.6, 0.55)
GAMMA = 0.1
WINDOW = ((-1.4, 1.4), (-0.72, 0.82))

_LENGTH = 0.06  # from a line to its label
_SIDES = {"above": (0, 1), "below": (0, -1), "left": (-1, 0), "right": (1, 0)}
_WAY = of.row(of.RULE, of.reals(None, 2), of.by(_checks.finite, low=0.0, high=1.0), of.one_of(*_SIDES))


@of.takes(first=of.reals(None, 2), ways=of.mapping(of.TEXT, _WAY), clouds=of.optional(of.reals(None, 4)))
def bent(
    first: ArrayLike, ways: Mapping[str, tuple[str, ArrayLike, float, str]], clouds: ArrayLike | None = None
) -> Figure:
    """Draw paths from the common start over the common landscape, beside the path of the first chapter.

    Args:
        first: points of the first chapter's path, shape (N, 2); a thin dotted line.
        ways: label → (rule, points of shape (M, 2), share of the points at which the label stands, side of the line).
        clouds: means and standard deviations along the way, each row (θ₁, θ₂, √v₁, √v₂); drawn as pale ellipses.

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 3.3))
    contours(ax, LANDSCAPE, *WINDOW)
    ax.set_aspect("equal")
    for x, y, wide, high in np.asarray([] if clouds is None else clouds, dtype=np.float64).reshape(-1, 4):
        spread = Ellipse(
            (x, y), 2 * wide, 2 * high, fc=COLOURS["paper"], alpha=0.35, ec=COLOURS["ink"], lw=0.8, zorder=2
        )
        ax.add_patch(spread)
    ax.plot(*np.asarray(first, dtype=np.float64).T, ":", color=COLOURS["ink"], lw=1.3, zorder=3)
    for text, (rule, points, share, side) in ways.items():
        _way(ax, text, rule, np.asarray(points, dtype=np.float64), share, side)
    ax.plot(*START, "o", color=COLOURS["paper"], ms=8, mec=COLOURS["ink"], mew=1.5, zorder=7)
    return figure


def _way(ax: Axes, text: str, rule: str, points: Array, share: float, side: str) -> None:
    """Draw one path with its end and its label."""
    ax.plot(*points.T, **line(rule, lw=2.4, zorder=4, path_effects=halo(4.2)))
    ax.plot(*points[-1], **mark(rule, ms=8, zorder=5))
    x, y = points[round(share * (len(points) - 1))]
    dx, dy = _SIDES[side]
    anchor: dict[str, Any] = {
        "ha": {-1: "right", 0: "center", 1: "left"}[dx],
        "va": {-1: "top", 0: "center", 1: "bottom"}[dy],
    }
    label(ax, x + _LENGTH * dx, y + _LENGTH * dy, text, rule, weight="bold", **anchor)
