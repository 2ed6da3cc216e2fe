"""The example that all theory chapters share: one landscape, one start, one path, which each new assumption bends.

``LANDSCAPE``, ``START`` and ``GAMMA`` are those of the paper's Figure 1 (η = k = 1); the first chapter finds its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures.landscape import contours
from lossnav.figures.style import COLOURS, LINES, halo, label, line, mark
from lossnav.problem.losses import DoubleWell

LANDSCAPE = DoubleWell()
START = (-0.6, 0.55)
GAMMA = 0.1
WINDOW = ((-1.4, 1.4), (-0.72, 0.82))

_LENGTH = 0.06  # from a line to its label
_SIDES = {"above": (0, 1), "below": (0, -1), "left": (-1, 0), "right": (1, 0)}


def bent(first: ArrayLike, ways: Mapping[str, Mapping[str, Any]], clouds: ArrayLike | None = None) -> Figure:
    """Draw paths from the common start over the common landscape, beside the path of the first chapter.

    Args:
        first: points of the first chapter's path, shape (N, 2); a thin dotted line.
        ways: label → ``{"rule": whose look it has, "points": shape (M, 2), "at": share of the points at which the label
            stands, "side": of the line, "above", "below", "left" or "right"}``.
        clouds: means and standard deviations along the way, each row (θ₁, θ₂, √v₁, √v₂); drawn as pale ellipses.

    Returns:
        The figure.

    Raises:
        ValueError: a way has other entries, or an entry is none of these.
    """
    dotted = _checks.array("first", first, shape=(None, 2))
    spreads = () if clouds is None else _checks.array("clouds", clouds, shape=(None, 4))
    labelled = _checks.instance("ways", ways, Mapping, "a mapping")
    checked = {
        _checks.instance("a label of ways", text, str, "a string"): _checked(f"ways[{text!r}]", way)
        for text, way in labelled.items()
    }
    figure, ax = plt.subplots(figsize=(5.8, 3.3))
    contours(ax, LANDSCAPE, *WINDOW)
    ax.set_aspect("equal")
    for x, y, wide, high in spreads:
        spread = Ellipse(
            (x, y), 2 * wide, 2 * high, fc=COLOURS["paper"], alpha=0.35, ec=COLOURS["ink"], lw=0.8, zorder=2
        )
        ax.add_patch(spread)
    ax.plot(*dotted.T, ":", color=COLOURS["ink"], lw=1.3, zorder=3)
    for text, way in checked.items():
        _way(ax, text, **way)
    ax.plot(*START, "o", color=COLOURS["paper"], ms=8, mec=COLOURS["ink"], mew=1.5, zorder=7)
    return figure


def _checked(name: str, way: Any) -> dict[str, Any]:
    entries = ("rule", "points", "at", "side")
    if set(_checks.instance(name, way, Mapping, "a mapping")) != set(entries):
        raise ValueError(f"{name} = {_checks.shown(way)}, but it must have the entries {', '.join(entries)}")
    return {
        "rule": _checks.one_of(f"{name}['rule']", way["rule"], tuple(LINES)),
        "points": _checks.array(f"{name}['points']", way["points"], shape=(None, 2)),
        "at": _checks.finite(f"{name}['at']", way["at"], low=0.0, high=1.0),
        "side": _checks.one_of(f"{name}['side']", way["side"], tuple(_SIDES)),
    }


def _way(ax: Axes, text: str, *, rule: str, points: Array, at: float, side: str) -> None:
    """Draw one path with its end and its label."""
    ax.plot(*points.T, **line(rule, lw=2.4, zorder=4, path_effects=halo(4.2)))
    ax.plot(*points[-1], **mark(rule, ms=8, zorder=5))
    x, y = points[round(at * (len(points) - 1))]
    dx, dy = _SIDES[side]
    anchor: dict[str, Any] = {
        "ha": {-1: "right", 0: "center", 1: "left"}[dx],
        "va": {-1: "top", 0: "center", 1: "bottom"}[dy],
    }
    label(ax, x + _LENGTH * dx, y + _LENGTH * dy, text, rule, weight="bold", **anchor)
