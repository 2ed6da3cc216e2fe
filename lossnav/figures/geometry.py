"""Figures of the chapter on geometry: bowls under a metric, preconditioners as ellipses, and rules on real data.

Every function takes what it draws (trajectories, arrays) and returns a figure; nothing is solved here. Grey ellipses
are velocities of equal price, so that a long axis is a cheap direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures import _takes as of
from lossnav.figures.landscape import ground, known_minimum
from lossnav.figures.style import COLOURS, LINES, halo, label, letter, line, mark, readable
from lossnav.problem.losses import Loss
from lossnav.trajectory.result import Trajectory

Curves = Mapping[str, tuple[str, Trajectory]]
Runs = Mapping[tuple[str, str], Sequence[tuple[Array, float, Array]]]

_SCORES = {"log": "log score", "brier": "Brier score"}
_SCORE = of.one_of(*_SCORES)
_METRIC = of.by(_checks.symmetric, dim=2, definite=True)
_NAMES = {"newton": "Newton", "ballistic": "ballistic, $G=I$", "ballistic metric": "ballistic with metric"}
_STAR: Mapping[str, Any] = {"marker": "*", "color": COLOURS["ink"], "ms": 13, "mec": "white", "ls": "none", "zorder": 5}


@of.takes(
    loss=of.loss(2, marked=True),
    panels=of.mapping(of.TEXT, of.by_rule(of.row(of.TEXT, of.trajectory(2)))),
    metrics=of.mapping(of.TEXT, _METRIC),
    times=of.nonnegatives(None),
)
def bowls(loss: Loss, panels: Mapping[str, Curves], metrics: Mapping[str, ArrayLike], times: ArrayLike) -> Figure:
    """Draw paths in one bowl under several metrics (the paper's Fig. 3a and 3b).

    Args:
        loss: the landscape, D = 2, with a known minimum.
        panels: title → rule → (label, trajectory).
        metrics: title → G, shape (2, 2).
        times: where to draw, as shares of the time in which a path ends, shape (T,), from 0 to 1.

    Returns:
        The figure, one panel for each metric.
    """
    for title in panels:
        _checks.one_of("a title of panels", title, tuple(metrics))
    share = np.asarray(times, dtype=np.float64)
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 3.9), sharex=True, sharey=True, squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        drawn = {rule: path(share * float(path.times[-1])) for rule, (_, path) in curves.items()}
        start = next(iter(drawn.values()))[0]
        ground(ax, loss, (-0.5, 1.9, -0.9, 1.9))
        _price(ax, np.asarray(metrics[title], dtype=np.float64), (1.35, -0.4), 0.42)
        for rule, theta in drawn.items():
            ax.plot(*theta.T, **line(rule, lw=2.2), path_effects=halo(3.2))
        ax.plot(*start, "o", color=COLOURS["ink"], ms=6, zorder=5)
        ax.plot(*known_minimum(loss), **_STAR)
        ax.set(xlabel=r"$\theta_1$", aspect="equal", xlim=(-0.5, 1.9), ylim=(-0.9, 1.9))
    axes[0, 0].set_ylabel(r"$\theta_2$")
    label(axes[0, 0], start[0] - 0.1, start[1], "start", ha="right")
    _key(figure, [(rule, text) for rule, (text, _) in curves.items()])
    letter(axes, list(panels))
    return figure


@of.takes(curve=of.mapping(of.NUMBER, of.reals(2, 2)), gradient=of.reals(2))
def preconditioners(curve: Mapping[float, Array], gradient: ArrayLike) -> Figure:
    """Draw preconditioners P_t as ellipses P_t·(unit circle), and the directions in which they step.

    Args:
        curve: t → P_t, shape (2, 2); t = 0, ½ and 1 are the natural gradient, the ballistic rule and Newton's method.
        gradient: one g, shape (2,).

    Returns:
        The figure: ellipses, and steps −P_t g drawn with length one.
    """
    rules = {0.0: ("natural gradient", "natural"), 0.5: ("ballistic", "ballistic"), 1.0: ("newton", "Newton")}
    g = np.asarray(gradient, dtype=np.float64)
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.7))
    circle = _circle()
    for t, matrix in curve.items():
        style = line(rules[t][0], lw=2.2) if t in rules else {"color": COLOURS["quiet"], "lw": 1.0}
        left.plot(*(matrix @ circle), **style)
        step = -matrix @ g / np.linalg.norm(matrix @ g)
        right.plot([0, step[0]], [0, step[1]], **style)
        if t in rules:
            right.plot(*step, **mark(rules[t][0], ms=8))
    uphill = g / np.linalg.norm(g)
    right.plot([0, uphill[0]], [0, uphill[1]], color=COLOURS["ink"], lw=1.4, ls=":")
    label(right, 0.5 * uphill[0], 0.5 * uphill[1] + 0.12, "$g$", ha="right")
    left.set(aspect="equal")
    right.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[])
    _key(figure, list(rules.values()))
    letter((left, right), ("$P_t$ of unit gradients", "direction of the step"))
    return figure


@of.takes(angles=of.reals("N"), rates=of.positives("N", 2), turns=of.by_rule(of.row(of.TEXT, of.reals("N"))))
def turning(angles: ArrayLike, rates: ArrayLike, turns: Mapping[str, tuple[str, ArrayLike]]) -> Figure:
    """Draw rates, and how far preconditioners turn a gradient, against the angle between the axes of G and H.

    Args:
        angles: shape (N,), in degrees.
        rates: of the two modes, shape (N, 2).
        turns: rule whose colour is taken → (label, largest angle between Pg and g in degrees, shape (N,)).

    Returns:
        The figure: two panels over one axis; the range in which a step can climb is shaded.
    """
    x, pace = np.asarray(angles, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    at = int(0.6 * len(x))
    for values, text, side in ((pace[:, 1], "fast mode", "bottom"), (pace[:, 0], "slow mode", "top")):
        above.plot(x, values, **line("optimal"))
        shift = 1.15 if side == "bottom" else 0.87
        label(above, x[at], values[at] * shift, text, "optimal", ha="right" if side == "bottom" else "center", va=side)
    above.set(yscale="log", ylabel="rate $r$")
    top = max(float(np.max(turn)) for _, turn in turns.values())
    below.axhspan(90, 1.2 * top, color=COLOURS["grid"], lw=0)
    for rule, (_, turn) in turns.items():
        below.plot(x, np.asarray(turn), **line(rule))
    label(below, 89, 1.17 * top, "uphill", "loss", ha="right", va="top")
    below.legend(
        [Line2D([], [], **line(rule)) for rule in turns],
        [text for text, _ in turns.values()],
        loc="upper left",
        frameon=False,
    )
    below.set(
        xlabel="angle between the axes of $G$ and $H$, degrees",
        ylabel="largest turn, degrees",
        xlim=(x[0], x[-1]),
        ylim=(0, 1.2 * top),
    )
    letter((above, below), ("the rates of the optimal path", "how far a step is turned"))
    return figure


@of.takes(
    loss=of.loss(2, marked=True),
    metric=_METRIC,
    theta=of.reals("T", 2),
    times=of.reals("T"),
    falls=of.mapping(of.one_of("ruler", "metric", "loss"), of.reals("T")),
)
def detour(loss: Loss, metric: ArrayLike, theta: ArrayLike, times: ArrayLike, falls: Mapping[str, ArrayLike]) -> Figure:
    """Draw a path that moves away from the minimum first, and how far off it is by several measures.

    Args:
        loss: the landscape, D = 2, with a known minimum.
        metric: G, shape (2, 2).
        theta: the path, shape (T, 2).
        times: shape (T,), unit T.
        falls: name ("ruler", "metric" or "loss") → values, shape (T,); drawn relative to the first.

    Returns:
        The figure: path, and measures over time.
    """
    path, t = np.asarray(theta, dtype=np.float64), np.asarray(times, dtype=np.float64)
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.5))
    reach = 1.25 * float(np.abs(path).max())
    ground(left, loss, (-reach, reach, -reach, reach))
    _price(left, np.asarray(metric, dtype=np.float64), (0.0, 0.0), 0.6 * reach)
    left.plot(*path.T, **line("optimal", lw=2.4), path_effects=halo(4))
    left.plot(*path[0], "o", color=COLOURS["ink"], ms=6, zorder=5)
    left.plot(*known_minimum(loss), **_STAR)
    left.set(aspect="equal", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=(-reach, reach), ylim=(-reach, reach))
    rules = {"ruler": "ballistic", "metric": "kinetic", "loss": "loss"}
    for name, values in falls.items():
        right.plot(t, np.asarray(values) / np.asarray(values)[0], **line(rules[name]))
    right.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    right.set(xlabel="time $t$", xlim=(t[0], t[-1]), ylim=(0, None))
    _key(figure, [(rules[name], name) for name in falls])
    letter((left, right), ("the path", "relative to the start"))
    return figure


@of.takes(
    loss=of.loss(2, marked=True),
    metric=of.FUNCTION,
    path=of.trajectory(2),
    short=of.trajectory(2),
    plain=of.trajectory(2),
    points=of.reals(None, 2),
)
def half_plane(
    loss: Loss,
    metric: Callable[[Array], ArrayLike],
    path: Trajectory,
    short: Trajectory,
    plain: Trajectory,
    points: ArrayLike,
) -> Figure:
    """Draw paths in the half plane of mean and spread, with ellipses of equal price.

    Args:
        loss: the landscape, D = 2, with a known minimum.
        metric: θ → G, shape (2, 2).
        path: the optimal one.
        short: the one without connection terms.
        plain: the one under G = I.
        points: of a minimised sum, shape (M, 2).

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    span = (-0.45, 2.6, 0.2, 2.2)
    ground(ax, loss, span, np.log)
    for mu in (0.5, 1.2, 1.9):
        for sigma in (0.4, 0.8, 1.2, 1.7):
            _price(ax, np.asarray(metric(np.array([mu, sigma]))), (mu, sigma), None, 0.12)
    named = (("loss", "$G=I$", plain), ("ballistic", "terms dropped", short), ("optimal", "Eq. 90", path))
    for rule, _, one in named:
        style = line(rule, lw=2.4) | ({"linestyle": "--"} if one is short else {})
        ax.plot(*one(np.linspace(0, 1, 600) ** 3 * float(one.times[-1])).T, **style, path_effects=halo(4))
    ax.plot(*np.asarray(points).T, "s", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.0, ls="none", zorder=5)
    ax.plot(*known_minimum(loss), **_STAR)
    ax.plot(*path(0.0), "o", color=COLOURS["ink"], ms=6, zorder=6)
    label(ax, path(0.0)[0] + 0.08, path(0.0)[1], "start", va="center")
    _key(figure, [(rule, text) for rule, text, _ in named])
    ax.set(xlabel=r"mean $\mu$", ylabel=r"spread $\sigma$", xlim=span[:2], ylim=span[2:])
    return figure


@of.takes(values=of.mapping(of.row(_SCORE, of.COUNT_FROM_ZERO), of.reals(None)))
def spectra(values: Mapping[tuple[str, int], ArrayLike]) -> Figure:
    """Draw curvatures per unit of price, h_i, at several stages of learning.

    Args:
        values: (score, step) → h, shape (D,); the score is "log" or "brier".

    Returns:
        The figure, one panel for each score.
    """
    scores = list(dict.fromkeys(score for score, _ in values))
    figure, axes = plt.subplots(1, len(scores), figsize=(5.8, 3.4), sharey=True, squeeze=False)
    for ax, score in zip(axes[0], scores, strict=True):
        steps = [step for own, step in values if own == score]
        for place, step in enumerate(steps):
            h = np.asarray(values[score, step], dtype=np.float64)
            across = place + np.linspace(-0.28, 0.28, len(h))
            ax.plot(across, h, "o", ms=3.2, color=COLOURS["kinetic"], mec="none", alpha=0.75)
        ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        ax.set_xticks(range(len(steps)), [str(step) for step in steps])
        ax.set_xlabel("after step")
    axes[0, 0].set_ylabel("$h_i$")
    letter(axes, [_SCORES[score] for score in scores])
    return figure


@of.takes(
    runs=of.mapping(
        of.row(_SCORE, of.one_of(*LINES, "ballistic metric")),
        of.many(of.row(of.reals("S"), of.POSITIVE, of.reals(None)), "K"),
    )
)
def learning(runs: Runs) -> Figure:
    """Draw losses of several rules against steps and against time, one row for each score.

    Args:
        runs: (score, rule) → for each split, losses of shape (S + 1,), seconds a step, final θ. The rule is a key of
            ``LINES`` or "ballistic metric".

    Returns:
        The figure; lines are medians over splits, bands run from best to worst, above the lowest loss of each split.
    """
    scores = list(dict.fromkeys(score for score, _ in runs))
    rules = list(dict.fromkeys(rule for _, rule in runs))
    if len(runs) != len(scores) * len(rules):
        raise ValueError(f"runs = those of {list(runs)}, but it must have every rule for every score")
    figure, axes = plt.subplots(len(scores), 2, figsize=(5.8, 2.9 * len(scores)), sharey="row", squeeze=False)
    for row, score in zip(axes, scores, strict=True):
        losses = {rule: np.array([run[0] for run in runs[score, rule]]) for rule in rules}
        floor = np.min([values.min(axis=1) for values in losses.values()], axis=0)[:, None]
        for rule, values in losses.items():
            # an excess below a ten-thousandth of the first is not told apart from none
            excess = np.maximum(values - floor, 1e-4 * (values[:, :1] - floor))
            steps = np.arange(excess.shape[1])
            pace = 1e3 * float(np.median([run[1] for run in runs[score, rule]]))
            for ax, x in zip(row, (steps, steps[1:] * pace), strict=True):
                shown = excess[:, -len(x) :]
                ax.plot(x, np.median(shown, axis=0), **_rule(rule))
                ax.fill_between(x, shown.min(axis=0), shown.max(axis=0), color=_rule(rule)["color"], alpha=0.15, lw=0)
        row[0].set(yscale="log", ylabel="excess loss")
        row[1].set(xscale="log")
    axes[-1, 0].set_xlabel("steps")
    axes[-1, 1].set_xlabel("time, ms")
    handles = [Line2D([], [], **_rule(rule)) for rule in rules]
    figure.legend(
        handles,
        [_NAMES.get(rule, rule) for rule in rules],
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )
    letter(axes, [text for score in scores for text in (_SCORES[score], f"{_SCORES[score]}, per time")])
    return figure


def _rule(rule: str) -> dict[str, Any]:
    """Return the line of a rule; the ballistic rule with a metric has the colour of the optimal path."""
    if rule == "ballistic metric":
        return line("optimal", lw=2.6)
    return line(rule)


def _key(figure: Figure, entries: Sequence[tuple[str, str]]) -> None:
    """Write the names of lines below the panels, each with its line and in its colour."""
    handles = [Line2D([], [], **line(rule, lw=2.2)) for rule, _ in entries]
    figure.legend(
        handles,
        [text for _, text in entries],
        loc="outside lower center",
        ncols=len(entries),
        labelcolor=[readable(COLOURS[rule]) for rule, _ in entries],
        frameon=False,
    )


def _circle() -> Array:
    angle = np.linspace(0, 2 * np.pi, 361)
    return np.stack([np.cos(angle), np.sin(angle)])


def _price(ax: Axes, metric: Array, centre: tuple[float, float], size: float | None, unit: float = 1.0) -> None:
    """Draw velocities of equal price about ``centre``; ``size`` fixes the long axis, None draws to scale ``unit``."""
    value, vector = np.linalg.eigh(metric)
    scale = unit if size is None else size * np.sqrt(value.min())
    x, y = scale * vector @ (_circle() / np.sqrt(value)[:, None])
    ax.plot(centre[0] + x, centre[1] + y, color=COLOURS["loss"], lw=1.1, zorder=2)


__all__ = ["bowls", "detour", "half_plane", "learning", "preconditioners", "spectra", "turning"]
