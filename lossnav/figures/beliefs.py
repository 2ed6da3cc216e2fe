"""Figures of the chapter on beliefs: noise against curvature, memories, plans, the root of the variance, gains.

Every function takes what it draws (arrays) and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LINES, label, letter, line, readable

SHADES: tuple[str, ...] = ("gradient descent", "newton", "ballistic", "kinetic")


@of.takes(
    curvature=of.positives("N"),
    windows=of.many(of.row(of.TEXT, of.positives("N"), of.positives("M"))),
    smooth=of.positives("M"),
    flat=of.TEXT,
)
def noise(
    curvature: ArrayLike, windows: Sequence[tuple[str, ArrayLike, ArrayLike]], smooth: ArrayLike, flat: str
) -> Figure:
    """Draw the variance of an observed gradient against curvature, for several lengths of averaging.

    Args:
        curvature: eigenvalues of the Hessian that were simulated, shape (N,).
        windows: (label, simulated variance of shape (N,), formula at ``smooth``), shortest window first.
        smooth: curvatures of the lines, shape (M,).
        flat: words for the longest window.

    Returns:
        The figure.
    """
    h, x = np.asarray(curvature, dtype=np.float64), np.asarray(smooth, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for (text, found, formula), rule in zip(windows, SHADES, strict=False):
        y = np.asarray(formula, dtype=np.float64)
        ax.plot(x, y, **line(rule))
        ax.plot(
            h,
            np.asarray(found),
            marker=LINES[rule][1],
            color=COLOURS[rule],
            ls="none",
            ms=6.5,
            mec="white",
            clip_on=False,
            zorder=5,
        )
        label(ax, x[-1] * 1.3, y[-1], text, rule, va="center", clip_on=False)
    first, last = np.asarray(windows[0][2]), np.asarray(windows[-1][2])
    at = int(0.3 * len(x))
    label(ax, x[at], first[at] * 1.7, "∝ curvature", SHADES[0], ha="right", va="bottom")
    label(
        ax,
        x[int(0.72 * len(x))],
        last[int(0.72 * len(x))] * 0.72,
        flat,
        SHADES[len(windows) - 1],
        ha="center",
        va="top",
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        xlabel="curvature $h$ of the direction",
        ylabel="variance of the gradient",
    )
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.5, high)
    ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


@of.takes(
    lags=of.reals("T"),
    kernels=of.many(of.row(of.TEXT, of.reals("T"))),
    average=of.reals("T"),
    shares=of.row(of.reals("M"), of.reals("M")),
    marks=of.many(of.row(of.NUMBER, of.NUMBER)),
)
def smoother(
    lags: ArrayLike,
    kernels: Sequence[tuple[str, ArrayLike]],
    average: ArrayLike,
    shares: tuple[ArrayLike, ArrayLike],
    marks: Sequence[tuple[float, float]],
) -> Figure:
    """Draw the two-sided weights of a belief beside those of a moving average, and the share that lies on the past.

    Args:
        lags: time since a datum was seen, > 0 for the past, shape (T,), in units of the memory.
        kernels: (label, weights of shape (T,)), in the order of rising γ.
        average: weights of the leaky average, shape (T,).
        shares: γ over the rate, from 0, and the share of the weight on the past, shape (M,) each.
        marks: the same for each kernel.

    Returns:
        The figure: two panels, one above the other.
    """
    t = -np.asarray(lags, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), height_ratios=(1.25, 1.0))
    above.axvspan(0.0, float(np.max(t)), color=COLOURS["grid"], alpha=0.55, lw=0)
    held = np.where(t > 0, np.nan, np.asarray(average, dtype=np.float64))
    above.plot(t, held, color=COLOURS["belief"], ls="--", lw=2.4, zorder=4)
    for (text, weights), rule, height in zip(kernels, SHADES, (0.62, 0.66, 0.8, 0.9), strict=False):
        w = np.asarray(weights, dtype=np.float64)
        above.plot(t, w, color=COLOURS[rule], ls=LINES[rule][0], lw=2.0)
        later = t > 0
        at = int(np.argmax(np.where(later, w, -1.0)))
        place = int(np.argmin(np.where(later, np.abs(w - height * w[at]), np.inf)))
        label(above, t[place] + 0.07, w[place], text, rule, va="bottom")
    at = int(np.argmin(np.abs(t + 1.0)))
    label(above, t[at] - 0.18, float(held[at]), "moving average", "belief", ha="right", va="bottom")
    top = float(np.nanmax(held)) * 1.12
    label(above, 0.06, top * 0.985, "the future", "quiet", va="top")
    label(above, -0.06, top * 0.985, "the past", "quiet", va="top", ha="right")
    above.set(
        xlim=(float(np.min(t)), float(np.max(t))),
        ylim=(0, top),
        ylabel="weight of a datum",
        xlabel="when it is seen, in memories $1/\\rho$ from now",
    )
    x, y = (np.asarray(part, dtype=np.float64) for part in shares)
    below.plot(x, y, color=COLOURS["optimal"], lw=2.2)
    below.axhline(1.0, color=COLOURS["belief"], ls="--", lw=1.6)
    for (place_x, place_y), rule in zip(marks, SHADES, strict=False):
        below.plot(
            place_x, place_y, marker=LINES[rule][1], ms=8, color=COLOURS[rule], mec="white", clip_on=False, zorder=5
        )
    below.set(
        xlim=(x[0], x[-1]),
        ylim=(0.45, 1.03),
        ylabel="share of the past",
        xlabel=r"discount over forgetting, $\gamma/\rho$",
        yticks=[0.5, 0.75, 1.0],
    )
    letter((above, below), ("weights, all with the same memory", "how much of the weight lies on the past"))
    return figure


@of.takes(
    times=of.positives("T"),
    panels=of.many(of.row(of.TEXT, of.table(weight=of.reals("T"), aim=of.reals("T"), rule=of.reals("T")))),
)
def following(times: ArrayLike, panels: Sequence[tuple[str, Mapping[str, Array]]]) -> Figure:
    """Draw a weight and the minimum that it believes in, over time, in plans of slow and of hasty beliefs.

    Args:
        times: shape (T,), > 0, in units of the weight's own time 1/√(ηkcV).
        panels: (title, {"weight": δ, "aim": −m/(cV), "rule": the same with the beliefs held}) each of shape (T,).

    Returns:
        The figure: one panel above the other, over one logarithmic axis.
    """
    t = np.asarray(times, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 2.55 * len(panels)), sharex=True, sharey=True)
    axes = np.atleast_1d(axes)
    for at, (ax, (_, lines)) in enumerate(zip(axes, panels, strict=True)):
        ax.plot(t, lines["aim"], color=COLOURS["belief"], ls="--", lw=2.0)
        ax.plot(t, lines["rule"], color=COLOURS["ballistic"], ls=":", lw=2.0)
        ax.plot(t, lines["weight"], **line("optimal", lw=2.4))
        ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
        if at == 0:
            early, late = int(0.1 * len(t)), int(0.87 * len(t))
            label(ax, t[early], lines["aim"][early] - 0.06, "believed minimum, $-m/cV$", "belief", va="top")
            label(ax, t[late], lines["rule"][late] + 0.05, "beliefs held fixed", "ballistic", ha="right", va="bottom")
            half = int(np.argmin(np.abs(lines["weight"] - 0.5 * lines["rule"][-1])))
            label(ax, t[half] * 0.72, lines["weight"][half], "weight $\\delta$", "optimal", ha="right", va="center")
        ax.set_ylabel(r"$\delta$")
    axes[-1].set(xscale="log", xlim=(t[0], t[-1]), xlabel=r"time, in units of $1/\sqrt{\eta kcV}$")
    letter(axes, [title for title, _ in panels])
    return figure


@of.takes(
    variance=of.positives("M"),
    rules=of.many(of.row(of.TEXT, of.RULE, of.positives("M")), "L"),
    plans=of.row(of.positives("N"), of.many(of.positives("N"), "L")),
)
def root(
    variance: ArrayLike, rules: Sequence[tuple[str, str, ArrayLike]], plans: tuple[ArrayLike, Sequence[ArrayLike]]
) -> Figure:
    """Draw how the speed of the weight falls with the believed variance, for several discount rates.

    Args:
        variance: V of the lines, shape (M,).
        rules: (label, rule that gives the colour, speed by the discounted rule, shape (M,)).
        plans: V of the markers, shape (N,), and for each line the speed at the start of whole plans, shape (N,).

    Returns:
        The figure.
    """
    x = np.asarray(variance, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for (text, rule, speed), found in zip(rules, plans[1], strict=True):
        y = np.asarray(speed, dtype=np.float64)
        ax.plot(x, y, **line(rule))
        style: dict[str, Any] = {"color": COLOURS[rule], "mfc": "white", "mew": 1.5, "ms": 6.5, "ls": "none"}
        ax.plot(np.asarray(plans[0]), np.asarray(found), marker=LINES[rule][1], **style)
        steep = y[0] > 1.5 * y[len(y) // 4]
        at = len(y) // 8 if steep else 1
        label(ax, x[at], y[at] * (1.25 if steep else 0.8), text, rule, va="bottom" if steep else "top")
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        xlabel="believed variance $V$",
        ylabel=r"speed $|\dot\theta|$ at the start, per $|m|$",
    )
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.6, high)
    ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


@of.takes(count=of.positives("N"), curves=of.many(of.row(of.TEXT, of.positives("N"), of.positives("N"))))
def gains(count: ArrayLike, curves: Sequence[tuple[str, ArrayLike, ArrayLike]]) -> Figure:
    """Draw the weight of the newest datum by the exact filter and by Adam's bias correction, and their ratio.

    Args:
        count: n, shape (N,).
        curves: (label, exact gain of shape (N,), gain by bias correction of shape (N,)).

    Returns:
        The figure: two panels over one logarithmic axis.
    """
    n = np.asarray(count, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True, height_ratios=(1.4, 1.0))
    for (text, exact, adam), rule in zip(curves, SHADES, strict=False):
        one, two = np.asarray(exact, dtype=np.float64), np.asarray(adam, dtype=np.float64)
        above.plot(n, one, color=COLOURS[rule], lw=2.0)
        above.plot(n, two, color=COLOURS["adam"], ls=LINES["adam"][0], lw=1.8)
        label(above, n[-1] * 1.12, one[-1], text, rule, va="center", clip_on=False)
        below.plot(n, two / one, color=COLOURS[rule], ls=LINES[rule][0])
    at = int(np.searchsorted(n, 2))
    label(above, n[at] * 1.35, np.asarray(curves[0][1])[at] * 1.25, "solid: exact filter", "ink", va="bottom")
    late = int(np.searchsorted(n, 12))
    above.text(
        n[late] * 1.3,
        np.asarray(curves[0][2])[late] * 1.5,
        "dashed: Adam's correction",
        color=readable(COLOURS["adam"]),
        fontsize=10,
        va="bottom",
    )
    above.set(yscale="log", ylabel="weight of the newest datum")
    below.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    below.set(xscale="log", xlim=(n[0], n[-1]), xlabel="number of data $n$", ylabel="Adam / exact")
    letter((above, below), ("gain", "ratio of the two"))
    return figure


@of.takes(stages=of.many(of.apart(of.row(of.TEXT, of.positives("W"), of.positives("W")))))
def curvature(stages: Sequence[tuple[str, ArrayLike, ArrayLike]]) -> Figure:
    """Draw the curvature of each weight of a network against the variance of its gradient, at stages of training.

    Args:
        stages: (title, variances of shape (W,), curvatures of shape (W,)), all > 0; a line marks h = cV with c the
            median of h/V.

    Returns:
        The figure: one panel a stage, over common axes.
    """
    figure, axes = plt.subplots(1, len(stages), figsize=(5.8, 2.9), sharex=True, sharey=True)
    axes = np.atleast_1d(axes)
    for ax, (_, variance, found), rule in zip(axes, stages, SHADES, strict=False):
        v, h = np.asarray(variance, dtype=np.float64), np.asarray(found, dtype=np.float64)
        ax.plot(v, h, ".", ms=2.2, alpha=0.35, color=COLOURS[rule], mec="none", rasterized=True)
        ends, c = np.array([np.min(v), np.max(v)]), float(np.median(h / v))
        ax.plot(ends, c * ends, color=COLOURS["ink"], lw=1.2)
        label(ax, 0.06, 0.93, f"$c={c:.2g}$", transform=ax.transAxes, va="top")
        ax.set(xscale="log", yscale="log", xlabel="variance $V$")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("curvature $h$")
    letter(axes, [title for title, *_ in stages])
    return figure
