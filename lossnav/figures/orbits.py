"""Figures of optimal paths that never rest: orbits in the plane, what they cost, and where the learner locks.

Every function takes what it draws and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.drift import END, Field, Span, arrows
from lossnav.figures.landscape import ground
from lossnav.figures.style import COLOURS, halo, label, letter, line
from lossnav.problem.losses import Loss


@dataclass(frozen=True)
class Orbit:
    """One start on one landscape: the path that goes round, and the one that rests."""

    title: str
    loss: Loss
    drift: Field
    going: Array | None  # (T, 2), the optimal path if it never rests
    resting: Array  # (T, 2), the best path that comes to rest, optimal if ``going`` is None

    def __post_init__(self) -> None:
        of.settle(
            self,
            title=of.TEXT,
            loss=of.loss(2),
            drift=of.FUNCTION,
            going=of.optional(of.reals(None, 2)),
            resting=of.reals(None, 2),
        )


@of.takes(orbits=of.many(of.having("an Orbit", Orbit), 2), span=of.BOX)
def plane(orbits: Sequence[Orbit], span: Span) -> Figure:
    """Draw landscapes with their drift, and for one start on each the path that goes round and the one that rests.

    Args:
        orbits: two problems with D = 2.
        span: what is shown.

    Returns:
        The figure: two panels side by side.
    """
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3), sharey=True)
    for ax, one in zip(axes, orbits, strict=True):
        ground(ax, one.loss, span)
        arrows(ax, one.drift, span, 9)
        if one.going is not None:
            ax.plot(*one.going.T, **line("optimal", lw=2.2), path_effects=halo(3.5))
            ax.plot(*one.resting.T, **line("newton", lw=2.0), path_effects=halo(3.2))
            ax.plot(*one.resting[-1], "D", ms=7, color=COLOURS["newton"], mec="white", zorder=5)
        else:
            ax.plot(*one.resting.T, **line("optimal", lw=2.2), path_effects=halo(3.5))
            ax.plot(*one.resting[-1], **END, zorder=5)
        ax.plot(*one.resting[0], "o", color=COLOURS["ink"], ms=6, zorder=6)
        ax.set(xlim=span[:2], ylim=span[2:], aspect="equal", xlabel=r"$\theta_1$")
    axes[0].set_ylabel(r"$\theta_2$")
    letter(axes, [one.title for one in orbits])
    return figure


@of.takes(
    costs=of.row(of.reals("N"), of.reals("N"), of.gapped("N"), of.gapped("N"), of.NUMBER),
    curves=of.mapping(of.TEXT, of.apart(of.row(of.RULE, of.reals("M"), of.reals("M"), of.reals("K"), of.reals("K")))),
    vanishing=of.row(of.reals("V"), of.reals("V")),
)
def locking(
    costs: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, float],
    curves: Mapping[str, tuple[str, ArrayLike, ArrayLike, ArrayLike, ArrayLike]],
    vanishing: tuple[ArrayLike, ArrayLike],
) -> Figure:
    """Draw what resting and going round cost against the tilt, and the drift below which the learner locks.

    Args:
        costs: tilts, shape (N,); cost per unit of time at rest, going round, and going round by the phase theory (NaN
            where there is no orbit), shape (N,) each; and the tilt at which the learner locks by that theory.
        curves: label → (rule, tilts and thresholds by the phase theory, shape (M,) each, tilts and thresholds in the
            plane, shape (K,) each).
        vanishing: tilts and rates at which the place to rest vanishes, shape (M,) each.

    Returns:
        The figure: two panels, one above the other.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 6.0))
    tilt, rest, going, theory, locks = (np.asarray(v, dtype=np.float64) for v in costs)
    above.axvline(float(locks), color=COLOURS["quiet"], lw=0.9, ls=":")
    above.plot(tilt, 1e3 * rest, **line("newton", lw=2.0))
    above.plot(tilt, 1e3 * going, **line("optimal", marker=True, lw=0, ms=6, mec="white"))
    above.plot(tilt, 1e3 * theory, **line("optimal", lw=1.8))
    low, high = 1e3 * float(np.nanmin(rest)), 1e3 * float(np.nanmax(rest))
    at = len(tilt) // 4
    label(above, tilt[at], 1e3 * rest[at] + 0.06 * (high - low), "resting", "newton", ha="left", va="bottom")
    label(above, tilt[at], 1e3 * theory[at] - 0.08 * (high - low), "going round", "optimal", ha="center", va="top")
    across = above.get_xaxis_transform()
    label(above, float(locks), 0.97, "locks ", "quiet", transform=across, ha="right", va="top")
    above.set(xlabel="tilt $d$", ylabel="cost per time, $10^{-3}$", xlim=(0, tilt[-1]))
    below.plot(*(np.asarray(v) for v in vanishing), color=COLOURS["quiet"], lw=1.1, ls=":")
    ends = [float(np.asarray(one[2])[-1]) for one in curves.values()]
    for text, (rule, x, y, places, found) in curves.items():
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        below.plot(x, y, **line(rule, lw=2.2))
        below.plot(places, found, "o", ms=6, mfc="white", mec=COLOURS["ink"], mew=1.2, ls="none", zorder=5)
        label(below, x[-1], y[-1], f" {text}", rule, ha="left", va="bottom" if y[-1] == max(ends) else "top")
    right = float(np.max([np.max(one[1]) for one in curves.values()]))
    top = 1.12 * float(np.max([np.max(one[2]) for one in curves.values()]))
    label(below, 0.06 * right, 0.78 * top, "goes round", ha="left", va="center")
    label(below, 0.72 * right, 0.22 * top, "locks", ha="left", va="center")
    gone = np.asarray(vanishing)
    place = int(np.searchsorted(gone[1], 0.84 * top))
    if place < gone.shape[1]:
        label(below, gone[0, place] - 0.015 * right, 0.985 * top, "no place to rest\nleft of this line", "quiet",
              ha="right", va="top")  # fmt: skip
    below.set(xlabel="tilt $d$", ylabel="rotation rate $q$", xlim=(0, right * 1.16), ylim=(0, top))
    letter((above, below), ("what it costs", "where the learner locks"))
    return figure


__all__ = ["Orbit", "locking", "plane"]
