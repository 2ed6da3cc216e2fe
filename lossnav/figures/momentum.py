"""Figures of momentum: future against past gradients, saddle against spiral, forward integration, rules on a valley.

Every function takes what it draws and returns a figure; nothing is solved here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LANDSCAPE, halo, label, label_end, letter, line, mark
from lossnav.problem.losses import Loss
from lossnav.trajectory.result import Trajectory


@of.takes(
    trajectory=of.trajectory(1),
    loss=of.loss(1),
    times=of.nonnegatives("T"),
    momentum=of.reals("T"),
    now=of.NUMBER,
    discount=of.NONNEGATIVE,
)
def future_average(
    trajectory: Trajectory, loss: Loss, times: ArrayLike, momentum: ArrayLike, now: float, discount: float
) -> Figure:
    """Draw the force along a one-parameter path, the window that momentum at time ``now`` averages, and momentum.

    Args:
        trajectory: the optimal path, D = 1.
        loss: its landscape.
        times: where to draw, shape (T,), unit T.
        momentum: p computed from future gradients, at ``times``, shape (T,).
        now: the moment whose window is shaded.
        discount: γ, the rate at which the window fades.

    Returns:
        The figure: two panels over one time axis.
    """
    t = np.asarray(times, dtype=np.float64)
    theta = trajectory(t)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True)
    force = -loss.gradient(theta)[:, 0]
    above.plot(t, force, **line("loss"))
    ahead = t >= now
    window = np.where(ahead, np.exp(-discount * (t - now)), 0.0)
    above.fill_between(t[ahead], 0.0, (force * window)[ahead], color=COLOURS["optimal"], alpha=0.35, lw=0)
    peak = int(np.argmax(force))
    later = peak + int(np.argmax(force[peak:] < 0.7 * force[peak]))
    label(above, t[later] + 0.02 * t[-1], force[later], r"$-\nabla L(\theta_s)$", "loss", va="center")
    label(
        above,
        t[later] + 0.14 * t[-1],
        0.35 * force[peak],
        "shaded: faded by $e^{-\\gamma(s-t)}$,\nwhat $p_t$ adds up",
        "optimal",
        va="center",
    )
    below.plot(t, trajectory.velocity(t)[:, 0], **line("optimal", lw=3.5, alpha=0.55))
    sparse = slice(None, None, max(1, len(t) // 24))
    below.plot(t[sparse], np.asarray(momentum)[sparse], **mark("optimal", ms=5.5))
    label(
        below,
        0.35 * t[-1],
        0.72 * float(np.max(momentum)),
        "line: $\\dot\\theta$ of the path\nmarkers: the integral",
        "optimal",
        va="center",
    )
    for ax in (above, below):
        ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        ax.axvline(now, color=COLOURS["ink"], lw=0.8, ls=":")
        ax.set_xlim(t[0], t[-1])
    above.set_ylabel("force")
    below.set(ylabel=r"momentum $p_t$", xlabel="time")
    letter((above, below), ("force along the path", "momentum"))
    return figure


@of.takes(
    panels=of.mapping(of.TEXT, of.row(of.RULE, of.reals(2, 2)), "P"),
    rate=of.NUMBER,
    paths=of.many(of.reals(None, 2), "P"),
)
def phase_planes(panels: Mapping[str, tuple[str, ArrayLike]], rate: float, paths: Sequence[ArrayLike]) -> Figure:
    """Draw two linear flows in the plane of position and momentum, side by side.

    Args:
        panels: title → (rule, matrix A of shape (2, 2) with d(x, p)/dt = A (x, p)).
        rate: r; the line p = −r x of the optimal policy is drawn in the first panel.
        paths: one path for each panel, shape (T, 2), columns x and p.

    Returns:
        The figure.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 3.3), sharey=True)
    axes = np.atleast_1d(axes)
    grid = np.linspace(-2.0, 2.0, 41)
    x, p = np.meshgrid(grid, grid)
    for ax, (rule, matrix), path in zip(axes, panels.values(), paths, strict=True):
        flow = np.einsum("ij,jab->iab", np.asarray(matrix, dtype=np.float64), np.stack([x, p]))
        ax.streamplot(x, p, *flow, color="#B8C1CA", density=0.38, linewidth=0.8, arrowsize=0.8, zorder=1)
        path = np.asarray(path, dtype=np.float64)
        ax.plot(*path.T, **line(rule, lw=2.6), path_effects=halo(4))
        ax.plot(*path[0], "o", color=COLOURS["ink"], ms=6, zorder=5)
        ax.plot(0.0, 0.0, "*", color=COLOURS["ink"], ms=12, mec="white", zorder=5)
        ax.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xticks=[-2, 0, 2], yticks=[-2, 0, 2])
        ax.set_xlabel(r"$\theta-\theta^*$")
    axes[0].plot(grid, -rate * grid, **line("optimal", lw=1.0))
    label(axes[0], 0.25, -rate * 1.85, "$p=-r(\\theta-\\theta^*)$", "optimal", va="top")
    axes[0].set_ylabel("momentum $p$")
    letter(list(axes), list(panels))
    return figure


@of.takes(times=of.reals("T"), optimal=of.reals("T"), forward=of.many(of.row(of.TEXT, of.reals("T"))), rate=of.NUMBER)
def blow_up(times: ArrayLike, optimal: ArrayLike, forward: Sequence[tuple[str, ArrayLike]], rate: float) -> Figure:
    """Draw forward integrations of the Euler–Lagrange equation beside the path they should follow, and their error.

    Args:
        times: shape (T,), unit T.
        optimal: θ(t) of the optimal branch, shape (T,).
        forward: sequence of (label, θ(t) of shape (T,)).
        rate: s₊, the rate at which the error should grow.

    Returns:
        The figure: two panels over one time axis, the lower one logarithmic.
    """
    t, best = np.asarray(times, dtype=np.float64), np.asarray(optimal, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.2), sharex=True)
    low, high = best.min(), best.max()
    room = 0.9 * (high - low)
    dashes = ["--", "-.", ":"]
    last = None
    for place, (text, theta) in enumerate(forward):
        theta = np.asarray(theta, dtype=np.float64)
        shown = np.where((theta > low - room) & (theta < high + room), theta, np.nan)
        above.plot(t, shown, color=COLOURS["ink"], ls=dashes[place % 3], lw=1.5)
        error = np.abs(theta - best)
        later = error > 1e-13
        below.plot(t[later], error[later], color=COLOURS["ink"], ls=dashes[place % 3], lw=1.5)
        inside = np.flatnonzero(np.isfinite(shown))[-1]
        up = shown[inside] > best[inside]
        label(above, t[inside] - 0.015 * t[-1], shown[inside], text, "ink", ha="right", va="top" if up else "bottom")
        last = (t[later], error[later])
    above.plot(t, best, **line("optimal", lw=2.8))
    label(above, t[-1], best[-1] - 0.1 * (high - low), "optimal branch", "optimal", ha="right", va="top")
    if last is not None:
        when, error = last
        anchor = int(0.75 * len(when))
        guide = error[anchor] * np.exp(rate * (when - when[anchor])) * 30
        below.plot(when, guide, color=COLOURS["quiet"], lw=4.5, alpha=0.35)
        label(below, when[anchor], guide[anchor] * 12, "grows as $e^{s_+t}$", "quiet", ha="right")
    above.set(ylabel=r"$\theta(t)$", ylim=(low - room, high + room), xlim=(t[0], t[-1]))
    below.set(ylabel="distance from it", xlabel="time $t$", yscale="log")
    letter((above, below), ("integrated forward", "the error"))
    return figure


@of.takes(loss=of.loss(2), paths=of.by_rule(of.row(of.TEXT, of.TEXT, of.reals(None, 2))), extent=of.BOX)
def walks(
    loss: Loss, paths: Mapping[str, tuple[str, str, ArrayLike]], extent: tuple[float, float, float, float]
) -> Figure:
    """Draw walks of learning rules over a curved landscape, one small panel a rule.

    Args:
        loss: the landscape, D = 2.
        paths: rule → (title, note inside the panel, points of shape (N, 2)); markers show the single steps of walks
            of up to 60 points.
        extent: (left, right, bottom, top).

    Returns:
        The figure, two panels a row.
    """
    rows = (len(paths) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(5.8, 2.5 * rows), sharex=True, sharey=True, squeeze=False)
    left, right, bottom, top = extent
    x, y = np.linspace(left, right, 220), np.linspace(bottom, top, 220)
    heights = np.log10(loss.value(np.stack(np.meshgrid(x, y), axis=-1)) + 0.02)
    for ax, (rule, (_, note, points)) in zip(np.ravel(axes), paths.items(), strict=False):
        points = np.asarray(points, dtype=np.float64)
        ax.contourf(x, y, heights, levels=10, cmap=LANDSCAPE)
        ax.plot(*points.T, **line(rule, lw=1.8), path_effects=halo(3.4))
        if len(points) <= 60:
            ax.plot(*points.T, **mark(rule, ms=4.5, markeredgewidth=0.5))
        _ends(ax, points[0], loss)
        label(ax, left + 0.04 * (right - left), bottom + 0.05 * (top - bottom), note, "ink")
        ax.set(xlim=(left, right), ylim=(bottom, top))
    for ax in np.ravel(axes)[len(paths) :]:
        ax.set_visible(False)
    letter(list(np.ravel(axes)[: len(paths)]), [title for title, _, _ in paths.values()])
    for ax in axes[-1]:
        ax.set_xlabel(r"$\theta_1$")
    for ax in axes[:, 0]:
        ax.set_ylabel(r"$\theta_2$")
    return figure


def _ends(ax: Axes, start: np.ndarray, loss: Loss) -> None:
    ax.plot(*start, "o", color=COLOURS["ink"], ms=5.5, zorder=5)
    points = loss.stationary_points()
    if points is not None:
        ax.plot(*points[0], "*", color=COLOURS["ink"], ms=11, mec="white", zorder=5)


@of.takes(steps=of.positives("N"), costs=of.by_rule(of.row(of.TEXT, of.positives("N"))), least=of.POSITIVE)
def rivals(steps: ArrayLike, costs: Mapping[str, tuple[str, ArrayLike]], least: float) -> Figure:
    """Draw the cost J of rules that all stay finite against their step.

    Args:
        steps: Δt, shape (N,), ascending.
        costs: rule → (label, J of shape (N,)), finite.
        least: J of the optimal path.

    Returns:
        The figure, log–log.
    """
    dt = np.asarray(steps, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    curves = {rule: (text, np.asarray(values, dtype=np.float64)) for rule, (text, values) in costs.items()}
    highest = max(float(values.max()) for _, values in curves.values())
    ax.set(xscale="log", yscale="log", xlim=(0.85 * dt[0], 1.18 * dt[-1]), ylim=(0.9 * least, 1.15 * highest))
    ax.set(xlabel=r"step  $\Delta t$", ylabel="cost  $J$")
    ticks = [tick for tick in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50) if 0.9 * least <= tick <= 1.15 * highest]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    for rule, (text, values) in curves.items():
        ax.plot(dt, values, label=text, **line(rule, marker=True, ms=5))
    ax.legend(loc="upper left", handlelength=3.2)  # the lines cross: no place beside one is its own
    ax.axhline(least, color=COLOURS["ink"], lw=1.0)
    label(ax, dt[-1], least * 0.98, "least possible", "ink", va="top", ha="right")
    return figure


@of.takes(steps=of.positives("N"), costs=of.by_rule(of.row(of.TEXT, of.gapped("N"))), least=of.POSITIVE)
def cost_of_steps(steps: ArrayLike, costs: Mapping[str, tuple[str, ArrayLike]], least: float) -> Figure:
    """Draw the cost J of each rule against its step, with the least cost possible.

    Args:
        steps: Δt, shape (N,), ascending.
        costs: rule → (label, J of shape (N,)); infinite where the walk diverged, which ends the line.
        least: J of the optimal path.

    Returns:
        The figure, log–log.
    """
    dt = np.asarray(steps, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    finite = np.concatenate([np.asarray(c, dtype=np.float64)[np.isfinite(c)] for _, c in costs.values()])
    ceiling = min(3.0 * float(finite.max()), 1e3 * least)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(0.85 * dt[0], 1.18 * dt[-1]),
        ylim=(0.5 * least, ceiling),
        xlabel=r"step  $\Delta t$",
        ylabel="cost  $J$",
    )
    for rule, (text, values) in costs.items():
        cost = np.asarray(values, dtype=np.float64)
        alive = np.isfinite(cost)
        drawn = ax.plot(dt[alive], cost[alive], **line(rule, marker=True, ms=5))[0]
        if alive[-1]:
            label_end(ax, drawn, text, rule)
            continue
        end = np.flatnonzero(alive)[-1]
        ax.annotate(
            "",
            (dt[end], 4.0 * cost[end]),
            (dt[end], cost[end]),
            arrowprops={"arrowstyle": "->", "color": COLOURS[rule], "lw": 1.2},
        )
        label(ax, dt[end] * 1.15, 1.35 * cost[end], f"{text}\ndiverges", rule, va="center")
    ax.axhline(least, color=COLOURS["ink"], lw=1.0)
    label(ax, dt[0], least * 0.93, "least possible", "ink", va="top")
    return figure
