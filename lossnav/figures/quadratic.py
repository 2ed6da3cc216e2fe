"""Figures of the quadratic problem: Fig. 2a–d, the preconditioner φ(h) and the map of its regimes.

Every function takes what it draws (trajectories, arrays) and returns a figure; nothing is solved here. A curve
belongs to a learning rule, which gives it colour and line: mappings are keyed by rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures.landscape import ground
from lossnav.figures.style import COLOURS, LANDSCAPE, halo, label, label_end, letter, line, mark
from lossnav.problem.losses import Loss
from lossnav.trajectory.result import Trajectory

_POWER = of.by(_checks.whole, low=-20, high=20)

Curves = Mapping[str, tuple[str, Trajectory]]
Lines = Mapping[str, tuple[str, ArrayLike]]


@of.takes(curves=of.by_rule(of.row(of.TEXT, of.trajectory(1))), times=of.nonnegatives("T"), loss=of.loss(1))
def traces(curves: Curves, times: ArrayLike, loss: Loss) -> Figure:
    """Draw θ(t) above the loss along it, L(θ(t)), for one parameter (the paper's Fig. 2a and 2b).

    Args:
        curves: rule → (label, trajectory with D = 1).
        times: where to draw, shape (T,), unit T.
        loss: the landscape, with D = 1; its minimum is drawn when it is known.

    Returns:
        The figure: two panels over one time axis.
    """
    times = np.asarray(times, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True)
    points = loss.stationary_points()
    if points is not None:
        above.axhline(float(points[0, 0]), color=COLOURS["quiet"], lw=0.8, ls=":")
        label(above, times[-1], float(points[0, 0]), "minimum", "quiet", va="bottom", ha="right")
    above.set(ylabel=r"$\theta(t)$", xlim=(times[0], times[-1]))
    below.set(ylabel=r"$L(\theta(t))$", xlabel="time $t$")
    for at, (rule, (text, path)) in enumerate(curves.items()):
        theta = path(times)
        above.plot(times, theta[:, 0], **line(rule))
        below.plot(times, loss.value(theta), **line(rule))
        place = int((0.12, 0.22, 0.36)[at % 3] * len(times))
        # the first curve is the fastest: its own side is the left, the others' the right
        shift, ha, va = (-0.015, "right", "bottom") if at == 0 else (0.02, "left", "top")
        label(above, times[place] + shift * times[-1], theta[place, 0], text, rule, ha=ha, va=va)
    below.set_ylim(0.0, None)
    letter((above, below), ("the parameter", "the loss"))
    return figure


@of.takes(
    curves=of.by_rule(of.row(of.TEXT, of.trajectory(2))),
    times=of.nonnegatives("T"),
    loss=of.loss(2),
    marks=of.many(of.NONNEGATIVE, least=0),
)
def paths(curves: Curves, times: ArrayLike, loss: Loss, marks: Sequence[float] = ()) -> Figure:
    """Draw paths over the contours of a landscape of two parameters (the paper's Fig. 2c).

    Args:
        curves: rule → (label, trajectory with D = 2).
        times: where to draw, shape (T,), unit T.
        loss: the landscape, with D = 2 and a known minimum.
        marks: times at which each path carries its rule's marker.

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    drawn = {rule: path(np.asarray(times, dtype=np.float64)) for rule, (_, path) in curves.items()}
    everything = np.concatenate(list(drawn.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.16 * (high - low)
    span = (low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1])
    ground(ax, loss, span)
    from_left = sorted(drawn, key=lambda rule: float(np.mean(drawn[rule][:, 0])))
    for rule, (text, path) in curves.items():
        theta = drawn[rule]
        ax.plot(*theta.T, **line(rule, lw=2.4), path_effects=halo(4))
        if len(marks):
            ax.plot(*path(np.asarray(marks, dtype=np.float64)).T, **mark(rule))
        _along(ax, theta, text, rule, from_left.index(rule))
    ax.plot(*everything[0], "o", color=COLOURS["ink"], ms=7)
    label(ax, everything[0, 0] + 0.3 * margin[0], everything[0, 1] - 0.48 * margin[1], "start", "ink")
    points = loss.stationary_points()
    if points is not None:
        ax.plot(*points[0], "*", color=COLOURS["ink"], ms=13, mec="white")
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=span[:2], ylim=span[2:], aspect="equal")
    return figure


def _along(ax: Axes, theta: np.ndarray, text: str, rule: str, place: int) -> None:
    """Label a path beside its own part of the way: the leftmost on its left, the others on their right."""
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(theta, axis=0), axis=1))])
    at = theta[int(np.searchsorted(way, (0.42, 0.47, 0.45)[place % 3] * way[-1]))]
    side = -1 if place == 0 else 1
    label(ax, at[0] + 0.13 * side, at[1] - 0.02, text, rule, va="center", ha="right" if side < 0 else "left")


@of.takes(ratio=of.positives("N"), curves=of.by_rule(of.row(of.TEXT, of.reals("N"))))
def rates(ratio: ArrayLike, curves: Lines) -> Figure:
    """Draw how much faster the steep direction converges than the shallow one (the paper's Fig. 2d).

    Args:
        ratio: h₂/h₁, shape (N,), rising from 1.
        curves: rule → (label, r₂/r₁ of shape (N,)).

    Returns:
        The figure.
    """
    x = np.asarray(ratio, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.5))
    drawn = {rule: ax.plot(x, np.asarray(values), **line(rule))[0] for rule, (_, values) in curves.items()}
    ax.set(
        xlabel="ratio of curvatures  $h_2/h_1$",
        ylabel="ratio of rates  $r_2/r_1$",
        xlim=(x[0], x[-1]),
        ylim=(0.8, None),
    )
    for rule, (text, _) in curves.items():
        label_end(ax, drawn[rule], text, rule)
    ax.grid(True)
    return figure


@of.takes(
    curvature=of.positives("N"),
    values=of.positives("N"),
    rules=of.by_rule(of.row(of.TEXT, of.positives("N"))),
    breaks=of.many(of.POSITIVE, least=0),
)
def preconditioner(
    curvature: ArrayLike, values: ArrayLike, rules: Mapping[str, tuple[str, ArrayLike]], breaks: Sequence[float]
) -> Figure:
    """Draw one preconditioner φ(h) with the rules that it turns into, from small curvature to large.

    Args:
        curvature: h, shape (N,), ascending, > 0.
        values: φ(h), shape (N,): displacement per unit of gradient.
        rules: rule → (label, the rule's own φ of shape (N,)): straight lines in log–log.
        breaks: the curvatures between which each rule rules, ascending; one fewer than there are rules.

    Returns:
        The figure, log–log.
    """
    h, phi = np.asarray(curvature, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(breaks) != len(rules) - 1:
        raise ValueError(f"breaks has {len(breaks)} entries, but it must have {len(rules) - 1}, one fewer than rules")
    figure, ax = plt.subplots(figsize=(5.8, 4.2))
    edges = [h[0], *breaks, h[-1]]
    for place, (rule, (text, own)) in enumerate(rules.items()):
        left, right = edges[place], edges[place + 1]
        ax.axvspan(left, right, color=to_rgba(COLOURS[rule], 0.10), lw=0)
        ax.plot(h, np.asarray(own), **line(rule, lw=1.6))
        middle = float(np.sqrt(left * right))
        height = float(np.exp(np.interp(np.log(middle), np.log(h), np.log(phi))))
        # below the curve, and above it where it is steep: there no other rule's line runs
        shift, side = ((0.5, "top"), (0.08, "top"), (30.0, "bottom"))[place % 3]
        label(ax, middle, height * shift, text, rule, ha="center", va=side)
    ax.plot(h, phi, color=COLOURS["ink"], lw=3.2, zorder=4, path_effects=halo(5))
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(h[0], h[-1]),
        ylim=(phi.min() * 0.5, phi.max() * 8),
        xlabel="curvature $h$",
        ylabel=r"preconditioner  $\varphi(h)$",
    )
    return figure


@of.takes(curvature=of.positives("N"), panels=of.mapping(of.TEXT, of.many(of.row(of.TEXT, of.positives("N")))))
def preconditioner_families(curvature: ArrayLike, panels: Mapping[str, Sequence[tuple[str, ArrayLike]]]) -> Figure:
    """Draw families of preconditioners, one family a panel, from light to dark.

    Args:
        curvature: h, shape (N,), ascending, > 0.
        panels: title → sequence of (label, φ of shape (N,)).

    Returns:
        The figure, log–log, one panel above the other.
    """
    h = np.asarray(curvature, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 3.1 * len(panels)), sharex=True, squeeze=False)
    dashes: list[Any] = ["-", (0, (6, 1.6)), (0, (3, 1.4)), (0, (1.2, 1.2))]
    for ax, family in zip(axes[:, 0], panels.values(), strict=True):
        for place, (text, values) in enumerate(family):
            shade = LANDSCAPE(0.62 * (1 - (place + 1) / len(family)))
            ax.plot(h, np.asarray(values), color=shade, ls=dashes[place % len(dashes)])
            x = h[0] * 1.6
            label(ax, x, 1.25 * float(np.interp(x, h, np.asarray(values))), text, "ink", va="bottom")
        ax.set(xscale="log", yscale="log", ylabel=r"$\varphi(h)$", xlim=(h[0], h[-1]))
        ax.set_ylim(None, ax.get_ylim()[1] * 4)
    axes[-1, 0].set_xlabel("curvature $h$")
    letter(list(axes[:, 0]), list(panels))
    return figure


@of.takes(
    discounting=of.positives("M"),
    stretch=of.positives("N"),
    errors=of.by_rule(of.row(of.TEXT, of.reals("N", "M"))),
    tolerance=of.POSITIVE,
)
def regime_map(
    discounting: ArrayLike, stretch: ArrayLike, errors: Mapping[str, tuple[str, ArrayLike]], tolerance: float = 0.1
) -> Figure:
    """Draw where each rule lies within ``tolerance`` of the optimal displacement.

    Args:
        discounting: γ²/(4ηkh), shape (M,), ascending, > 0.
        stretch: rΔt, shape (N,), ascending, > 0.
        errors: rule → (label, relative error of its displacement, shape (N, M)).
        tolerance: relative error up to which a rule counts as right.

    Returns:
        The figure, log–log; each rule's region is filled, its 1 % line dotted.
    """
    x, y = np.asarray(discounting, dtype=np.float64), np.asarray(stretch, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    for rule, (text, error) in errors.items():
        error = np.asarray(error, dtype=np.float64)
        ax.contourf(x, y, error, levels=[0.0, tolerance], colors=[to_rgba(COLOURS[rule], 0.22)])
        ax.contour(x, y, error, levels=[tolerance], colors=[COLOURS[rule]], linewidths=1.8)
        ax.contour(x, y, error, levels=[tolerance / 10], colors=[COLOURS[rule]], linewidths=1.0, linestyles=":")
        rows, columns = np.nonzero(error < tolerance)
        across, up = np.exp(np.log(x[columns]).mean()), np.exp(np.log(y[rows]).mean())
        label(ax, float(across), float(up), text, rule, ha="center", va="center")
    ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
        xlabel=r"discounting against curvature  $\gamma^2/(4\eta k h)$",
        ylabel=r"step against relaxation  $r\,\Delta t$",
    )
    return figure


@of.takes(gammas=of.positives("N"), errors=of.many(of.row(of.TEXT, of.RULE, of.positives("N"), _POWER)))
def orders(gammas: ArrayLike, errors: Sequence[tuple[str, str, ArrayLike, int]]) -> Figure:
    """Draw errors of the overdamped expansion against γ, with the slopes they should have.

    Args:
        gammas: γ, shape (N,), ascending.
        errors: sequence of (label, rule, errors of shape (N,), expected power of γ).

    Returns:
        The figure, log–log; grey lines carry the expected slopes.
    """
    x = np.asarray(gammas, dtype=np.float64)
    if len(x) < 2:
        raise ValueError(f"gammas has {len(x)} entry, but it must have 2 or more, for a slope")
    figure, ax = plt.subplots(figsize=(5.8, 3.5))
    for place, (text, rule, values, power) in enumerate(errors):
        y = np.asarray(values, dtype=np.float64)
        guide = y[-1] * (x / x[-1]) ** power
        ax.plot(x, guide, color=COLOURS["quiet"], lw=4.5, alpha=0.35, solid_capstyle="butt")
        ax.plot(x, y, **line(rule, marker=True))
        above = place == 0  # the first, largest error takes the space above, the next the space below
        shift = (1.25, 1.3, "left", "bottom") if above else (1.0, 0.45, "right", "top")
        label(ax, x[1] * shift[0], y[1] * shift[1], f"{text}: slope $-{abs(power)}$", rule, ha=shift[2], va=shift[3])
    ax.set(xscale="log", yscale="log", xlabel=r"discount rate $\gamma$", ylabel=r"error of $\dot\theta$")
    ax.set_xticks(x, [f"{g:g}" for g in x])
    ax.minorticks_off()
    return figure


@of.takes(curvature=of.positives("N"), counts=of.many(of.row(of.TEXT, of.RULE, of.reals("N"))))
def digits(curvature: ArrayLike, counts: Sequence[tuple[str, str, ArrayLike]]) -> Figure:
    """Draw how many decimal digits of φ(h) each way of computing it gets right.

    Args:
        curvature: h, shape (N,), ascending, > 0.
        counts: sequence of (label, rule whose colour it takes, digits of shape (N,)).

    Returns:
        The figure, logarithmic in h.
    """
    h = np.asarray(curvature, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    for text, rule, values in counts:
        y = np.asarray(values, dtype=np.float64)
        ax.plot(h, y, **line(rule))
        at = len(h) // 10
        label(ax, h[at], float(np.max(y[at : 4 * at])) + 0.6, text, rule, va="bottom")
    ax.set(xscale="log", xlabel="curvature $h$", ylabel="correct digits", xlim=(h[0], h[-1]), ylim=(-0.5, 18.5))
    ax.set_yticks([0, 4, 8, 12, 16])
    ax.grid(True, axis="y")
    return figure


@of.takes(curvature=of.reals("N"), values=of.reals("N"), newton=of.gapped("N"), edge=of.NUMBER)
def curvature_sign(curvature: ArrayLike, values: ArrayLike, newton: ArrayLike, edge: float) -> Figure:
    """Draw the preconditioner across zero curvature, down to the edge where no minimiser exists.

    Args:
        curvature: h, shape (N,), ascending through 0.
        values: φ(h), shape (N,).
        newton: 1/h, shape (N,); its jump at 0 is not drawn.
        edge: −γ²/4ηk; everything to its left has no minimiser.

    Returns:
        The figure.
    """
    h, phi = np.asarray(curvature, dtype=np.float64), np.asarray(values, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.6))
    top = 1.7 * float(phi.max())
    span = h[-1] - edge
    left = edge - 0.28 * span
    ax.axvspan(left, edge, color=COLOURS["grid"], lw=0)
    label(ax, (left + edge) / 2, 0.55 * top, "no\nminimiser", "loss", ha="center", va="center")
    ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    ax.axvline(0.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    inverse = np.asarray(newton, dtype=np.float64)
    for side in (h < 0, h > 0):
        ax.plot(h[side], inverse[side], **line("newton"))
    ax.plot(h, phi, **line("optimal", lw=2.6))
    ax.plot(0.0, float(np.interp(0.0, h, phi)), **mark("gradient descent", zorder=5))
    ax.annotate(
        "at $h=0$: gradient\ndescent, exactly",
        (0.0, float(np.interp(0.0, h, phi))),
        xytext=(0.16 * span, -0.45 * top),
        color=COLOURS["gradient descent"],
        fontsize=10,
        va="center",
        arrowprops={"arrowstyle": "-", "color": COLOURS["gradient descent"], "lw": 0.8, "shrinkB": 5},
    )
    label(ax, h[-1] * 0.98, float(phi[-1]) - 0.05 * top, "optimal", "optimal", ha="right", va="top")
    label(ax, 0.18 * span, 0.62 * top, "Newton, $1/h$", "newton", ha="left", va="center")
    ax.set(xlim=(left, h[-1]), ylim=(-top, top), xlabel="curvature $h$", ylabel=r"preconditioner  $\varphi(h)$")
    return figure
