"""Figures of the chapter "Learning as navigation": paths on a landscape, what they cost, and when to cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.figures.style import COLOURS, LANDSCAPE, halo, label, letter, line, mark
from lossnav.losses import Loss
from lossnav.objective import Objective

Span = tuple[float, float]


class Branch(Protocol):
    """An optimal speed in feedback form, as ``lossnav.trajectory.phase_plane.feedback`` returns it."""

    reach: Any

    def speed(self, theta: ArrayLike) -> Any: ...


def contours(ax: Axes, loss: Loss, x: Span, y: Span, levels: ArrayLike | None = None) -> None:
    """Draw a two-parameter loss as shaded contours: dark valleys, pale heights.

    Args:
        ax: axes to draw in.
        loss: landscape with D = 2.
        x: range of θ₁.
        y: range of θ₂.
        levels: contour values; by default 14 from the lowest value in the window, denser near the bottom.
    """
    grid_x, grid_y, height = _grid(loss, x, y)
    if levels is None:
        low, high = float(height.min()), float(np.quantile(height, 0.97))
        levels = low + (high - low) * np.linspace(0, 1, 15) ** 1.6
    ax.contourf(grid_x, grid_y, height, levels=levels, cmap=LANDSCAPE, extend="max")
    ax.contour(grid_x, grid_y, height, levels=levels, colors="white", linewidths=0.6, linestyles="-")
    ax.set(xlim=x, ylim=y, xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    ax.spines[:].set_visible(False)


def paths(loss: Loss, optimal: Array, descent: Array, x: Span = (-1.45, 1.45), y: Span = (-0.8, 0.8)) -> Figure:
    """Draw the optimal path and the path of gradient descent from one start on the landscape.

    Args:
        loss: landscape with D = 2.
        optimal: points of the optimal path, shape (N, 2).
        descent: points of gradient descent, shape (M, 2).
        x: range of θ₁.
        y: range of θ₂.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.5))
    contours(ax, loss, x, y)
    ax.set_aspect("equal")
    ax.plot(*optimal.T, **line("optimal", lw=3, path_effects=halo(5)))
    ax.plot(*descent.T, **line("gradient descent", lw=2.4, path_effects=halo(4.4)))
    ax.plot(*descent[-1], **mark("gradient descent", ms=9, zorder=5))
    ax.plot(*optimal[-1], **mark("optimal", ms=9, zorder=5))
    ax.plot(*optimal[0], "o", color="white", ms=9, mec=COLOURS["ink"], mew=1.6, zorder=6)
    label(ax, optimal[0, 0], optimal[0, 1] + 0.09, "start", ha="center", va="bottom")
    middle = optimal[np.argmin(np.abs(optimal[:, 0] - 0.25))]
    label(ax, middle[0], middle[1] + 0.07, "optimal path", "optimal", fontsize=10, weight="bold", va="bottom")
    label(ax, descent[-1, 0], descent[-1, 1] - 0.1, "gradient\ndescent", "gradient descent", fontsize=10,
          weight="bold", ha="center", va="top")
    return fig


def surface(loss: Loss, optimal: Array, descent: Array, x: Span = (-1.4, 1.4), y: Span = (-0.7, 0.7)) -> Figure:
    """Draw both paths on the landscape as a surface seen from above the local minimum.

    Args:
        loss: landscape with D = 2.
        optimal: points of the optimal path, shape (N, 2).
        descent: points of gradient descent, shape (M, 2).
        x: range of θ₁.
        y: range of θ₂.

    Returns:
        The figure.
    """
    fig = plt.figure(figsize=(5.8, 3.5), layout="none")
    ax: Any = fig.add_axes((-0.16, -0.36, 1.32, 1.68), projection="3d", computed_zorder=False)
    grid_x, grid_y, height = _grid(loss, x, y, points=161)
    ax.plot_surface(grid_x, grid_y, height, cmap=LANDSCAPE, rcount=161, ccount=161, linewidth=0, alpha=1.0,
                    antialiased=False, vmin=height.min(), vmax=1.25 * height.max(), zorder=1)
    levels = np.linspace(float(height.min()), float(height.max()), 16)[1:-1]
    ax.contour(grid_x, grid_y, height, levels=levels, colors="white", linewidths=0.6,
               linestyles="-", zorder=2)
    lift = 0.02 * (height.max() - height.min())
    for points, rule, width in ((optimal, "optimal", 3.2), (descent, "gradient descent", 2.8)):
        ax.plot(*points.T, loss.value(points) + lift, **line(rule, lw=width, zorder=4, path_effects=halo(5)))
        ax.plot(*points[-1:].T, loss.value(points[-1:]) + lift, **mark(rule, ms=9, zorder=5))
    ax.plot(*optimal[:1].T, loss.value(optimal[:1]) + lift, "o", color="white", ms=8, mec=COLOURS["ink"], mew=1.5,
            zorder=6)
    ax.view_init(elev=46, azim=-72)
    ax.set_box_aspect((2.0, 1.0, 0.75))
    ax.set_axis_off()
    return fig


def costs(times: ArrayLike, kinetic: ArrayLike, potential: ArrayLike) -> Figure:
    """Draw the two running costs of a path over time: the price of speed and the price of loss.

    Args:
        times: t, shape (T,).
        kinetic: |θ̇|²/2η at those times, shape (T,).
        potential: kL at those times, shape (T,).

    Returns:
        The figure.
    """
    times, kinetic, potential = (np.asarray(a, dtype=np.float64) for a in (times, kinetic, potential))
    fig, ax = plt.subplots(figsize=(5.8, 2.9))
    ax.axhline(0, color=COLOURS["grid"], lw=0.8)
    ax.fill_between(times, kinetic, color=COLOURS["kinetic"], alpha=0.12, lw=0)
    ax.plot(times, kinetic, **line("kinetic", lw=2.4))
    ax.plot(times, potential, **line("potential", lw=2.4))
    peak = int(np.argmax(kinetic))
    falling = peak + int(np.argmax(kinetic[peak:] < 0.6 * kinetic[peak]))
    label(ax, times[falling], kinetic[falling], r"   price of speed  $|\dot\theta|^2/2\eta$", "kinetic", va="bottom",
          weight="bold")
    label(ax, times[-1], potential[-1] + 0.08, "price of loss  $kL$", "potential", ha="right", va="bottom",
          weight="bold")
    ax.set(xlabel="time $t$", ylabel="cost per unit time", xlim=(times[0], times[-1]))
    ax.margins(y=0.15)
    return fig


def discrete_limit(
    planned: Mapping[float, Array], myopic: Mapping[float, Array], limit: tuple[Array, Array], steps: Array,
    errors: Array,
) -> Figure:
    """Draw optimal and myopic step sequences beside the continuous optimum, and how fast the steps approach it.

    Args:
        planned: Δt → positions of the optimal sequence, at times 0, Δt, 2Δt …
        myopic: Δt → positions of the one-step learner at the same times.
        limit: (times, positions) of the continuous path.
        steps: values of Δt, shape (M,).
        errors: error of the optimal sequence's rate at each Δt, shape (M,).

    Returns:
        The figure.
    """
    fig, axes = plt.subplots(1, 2, figsize=(5.8, 3.0), width_ratios=(1.3, 1))
    axes[0].plot(*limit, **line("optimal", lw=2.4))
    for sequences, shade in ((planned, COLOURS["ink"]), (myopic, COLOURS["quiet"])):
        for (step, values), symbol in zip(sequences.items(), "os^", strict=False):
            times = step * np.arange(len(values))
            axes[0].plot(times, values, symbol, color=shade, ms=5, mec="white", mew=0.6, clip_on=False)
    for step, values in myopic.items():
        middle = int(0.55 * len(values))
        label(axes[0], step * middle, values[middle] + 0.03, f"one step ahead\n$\\Delta t={step:g}$", "quiet",
              ha="left", va="bottom", fontsize=8)
    label(axes[0], 0.1, 0.03, "all steps ahead", "optimal", weight="bold", fontsize=8)
    axes[0].set(xlabel="time $t$", ylabel="distance to the minimum", ylim=(0, 1.05), xlim=(0, limit[0][-1]))
    axes[1].loglog(steps, errors, "o-", color=COLOURS["ink"], ms=4.5, mec="white", mew=0.5, lw=1.2)
    guide = 1.9 * errors[-1] * steps / steps[-1]
    axes[1].loglog(steps, guide, ":", color=COLOURS["quiet"])
    centre = len(steps) // 2
    label(axes[1], steps[centre] * 0.8, guide[centre] * 1.3, "slope 1", "quiet", ha="right")
    axes[1].set(xlabel=r"step $\Delta t$", ylabel="error of the rate")
    letter(axes, ["steps become a path", "first order"])
    return fig


def extremals(
    times: Array, fan: Mapping[float, Array], constants: Array, horizon_costs: Mapping[float, Array]
) -> Figure:
    """Draw the solutions of a quadratic's Euler–Lagrange equation and the cost that picks one of them.

    Args:
        times: t, shape (T,).
        fan: growing coefficient c₊ → path θ(t), shape (T,).
        constants: values of c₊, shape (M,).
        horizon_costs: horizon T → J_T at each c₊, shape (M,).

    Returns:
        The figure.
    """
    fig, axes = plt.subplots(1, 2, figsize=(5.8, 3.0), width_ratios=(1.2, 1))
    for constant, values in fan.items():
        chosen = constant == 0
        style = line("optimal", lw=3, zorder=3) if chosen else {"color": COLOURS["quiet"], "lw": 1.0}
        axes[0].plot(times, values, **style)
    axes[0].set(xlabel="time $t$", ylabel=r"$\theta-\mu$", ylim=(-1.1, 1.6), xlim=(times[0], times[-1]))
    label(axes[0], times[-1] * 0.97, 0.13, "$c_+=0$", "optimal", ha="right", weight="bold")
    label(axes[0], times[-1] * 0.60, 1.38, "$c_+>0$", "quiet", ha="right")
    label(axes[0], times[-1] * 0.60, -0.98, "$c_+<0$", "quiet", ha="right")
    shades = plt.get_cmap("Greys")(np.linspace(0.45, 0.95, len(horizon_costs)))
    for (horizon, values), shade in zip(horizon_costs.items(), shades, strict=True):
        axes[1].plot(constants, values, color=shade, lw=1.6)
        best = int(np.argmin(values))
        axes[1].plot(constants[best], values[best], "o", color=shade, ms=5, mec="white", mew=0.6, zorder=4)
        shown = np.flatnonzero(values < 1.4)[-1]
        label(axes[1], constants[shown], values[shown] + 0.05, f" $T={horizon:g}$", ha="center", fontsize=8)
    axes[1].axvline(0, color=COLOURS["optimal"], lw=1, zorder=0)
    axes[1].set(xlabel="$c_+$", ylabel="$J_T$", ylim=(0, 1.6))
    letter(axes, ["one start, many extremals", "the cost picks"])
    return fig


def well(loss: Loss, marks: Mapping[str, float], span: Span = (-1.5, 1.5)) -> Figure:
    """Draw a one-parameter landscape with named points on it.

    Args:
        loss: landscape with D = 1.
        marks: label → θ.
        span: range of θ.
    """
    fig, ax = plt.subplots(figsize=(5.8, 2.5))
    theta = np.linspace(*span, 400)
    ax.plot(theta, loss.value(theta[:, None]), **line("loss", lw=2.4))
    for text, point in marks.items():
        value = loss.value(np.array([point]))
        ax.plot(point, value, "o", color=COLOURS["ink"], ms=6, mec="white", zorder=4)
        label(ax, point, value + 0.12, text, ha="center", va="bottom")
    ax.set(xlabel=r"$\theta_1$", ylabel="$L$", xlim=span, ylim=(None, 2.2))
    return fig


def energy_portrait(
    objective: Objective, loss: Loss, span: Span, speeds: Span, chosen: Mapping[str, Array], points: Mapping[str, float]
) -> Figure:
    """Draw the phase plane without discounting: curves of constant energy, and those that come to rest.

    Args:
        objective: supplies η and k (γ = 0).
        loss: landscape with D = 1 and minimum value 0.
        span: range of θ.
        speeds: range of θ̇.
        chosen: name → (2, M) array of θ and θ̇ on a branch with energy zero.
        points: label → θ of resting points.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    theta, speed = np.meshgrid(np.linspace(*span, 300), np.linspace(*speeds, 300))
    energy = speed**2 / (2 * objective.eta) - objective.k * loss.value(theta[..., None])
    ax.contour(theta, speed, energy, levels=[-1.35, -1.1, -0.7, -0.35, -0.12, 0.2, 0.6, 1.2], linewidths=0.9,
               colors="#B9C1C9", linestyles="-")
    ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
    for text, (place, values) in chosen.items():
        ax.plot(place, values, **line("optimal", lw=3, zorder=4))
        middle = len(place) // 2
        label(ax, place[middle] + 0.07, values[middle] + 0.09, text, "optimal", weight="bold", va="bottom")
    _rest(ax, points)
    ax.set(xlabel=r"$\theta$", ylabel=r"speed $\dot\theta$", xlim=span, ylim=speeds)
    return fig


def portraits(
    objectives: Sequence[Objective], loss: Loss, branches: Sequence[Mapping[str, tuple[Branch, Span]]],
    points: Mapping[str, float], span: Span = (-1.45, 1.3), speeds: Span = (-0.9, 1.75),
) -> Figure:
    """Draw one phase portrait per discount rate: the flow, all branches that come to rest, the optimal ones bold.

    Args:
        objectives: one per panel.
        loss: landscape with D = 1.
        branches: per panel, name → (feedback branch, interval of θ where it is the optimal one); an interval whose
            right end is not right of its left end marks a branch that never wins.
        points: label → θ of the resting points.
        span: range of θ.
        speeds: range of θ̇.

    Returns:
        The figure.
    """
    fig, axes = plt.subplots(len(objectives), 1, figsize=(5.8, 1.95 * len(objectives) + 0.3), sharex=True, sharey=True)
    axes = np.atleast_1d(axes)
    for ax, objective, panel in zip(axes, objectives, branches, strict=True):
        _flow(ax, objective, loss, span, speeds)
        ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
        for text, (branch, wins) in panel.items():
            _branch(ax, branch, wins, text, span)
        _rest(ax, points)
        ax.set(xlim=span, ylim=speeds, ylabel=r"$\dot\theta_1$")
    axes[-1].set_xlabel(r"$\theta_1$")
    letter(list(axes), [rf"$\gamma={objective.gamma:.3g}$" for objective in objectives])
    return fig


def stay_or_cross(
    discounts: Array, indifference: Array, threshold: float, points: Mapping[str, float],
    checks: Sequence[tuple[float, float, bool]] = (), span: Span = (-1.25, 0.25),
) -> Figure:
    """Draw where it is optimal to stay in the local minimum and where to cross, by discount rate and start.

    Args:
        discounts: γ ≥ threshold, ascending, shape (M,).
        indifference: θ_s(γ), the start at which both are equally good, shape (M,).
        threshold: γ_het, below which crossing is optimal from everywhere.
        points: label → θ of resting points to mark on the left.
        checks: (γ, θ, crossed) of independent solutions.
        span: range of the start.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.8))
    low, high = 0.08, float(discounts[-1])
    edge_x = np.concatenate([[threshold], discounts])
    edge_y = np.concatenate([[min(points.values())], indifference])
    ax.fill_between([low, high], span[0], span[1], color=COLOURS["optimal"], alpha=0.16, lw=0)
    ax.fill_between(edge_x, span[0], edge_y, color="white", lw=0)
    ax.fill_between(edge_x, span[0], edge_y, color=COLOURS["loss"], alpha=0.22, lw=0)
    ax.plot(edge_x, edge_y, color=COLOURS["ink"], lw=2)
    ax.plot([threshold, threshold], [span[0], edge_y[0]], color=COLOURS["ink"], lw=2)
    for text, point in points.items():
        ax.axhline(point, color=COLOURS["ink"], lw=0.7, ls=(0, (1, 2)))
        label(ax, low * 1.06, point + 0.015, text, va="bottom", fontsize=8.5)
    for gamma, start, crossed in checks:
        style = mark("optimal", ms=6) if crossed else {"marker": "o", "color": COLOURS["loss"], "mec": "white", "ms": 6}
        ax.plot(gamma, start, **{"linestyle": "none", **style})
    label(ax, 0.2, (span[0] + span[1]) / 2 + 0.06, "cross", "optimal", fontsize=13, weight="bold", ha="center")
    label(ax, 1.7, span[0] + 0.36, "stay", "loss", fontsize=13, weight="bold", ha="center")
    label(ax, threshold * 0.94, span[0] + 0.03, rf"$\gamma_\mathrm{{het}}={threshold:.4f}$", ha="right", va="bottom")
    ax.set(xscale="log", xlim=(low, high), ylim=span, xlabel=r"discount rate $\gamma$", ylabel=r"start $\theta_1$")
    ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 4]))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    return fig


def horizons(
    deadlines: Array, staying: Array, crossing: Array, threshold: float
) -> Figure:
    """Draw the cost of the best staying and the best crossing plan against the deadline.

    Args:
        deadlines: T, shape (M,).
        staying: J of the staying plan, shape (M,), NaN where there is none.
        crossing: J of the crossing plan, shape (M,), NaN where there is none.
        threshold: the deadline at which both cost the same.
    """
    fig, ax = plt.subplots(figsize=(5.8, 2.9))
    ax.plot(deadlines, crossing, **line("optimal", lw=2.4))
    ax.plot(deadlines, staying, color=COLOURS["loss"], ls="--", lw=2.4)
    ax.axvline(threshold, color=COLOURS["ink"], lw=0.9, ls=(0, (1, 2)))
    label(ax, threshold, ax.get_ylim()[0], f" $T={threshold:.4f}$", ha="left", va="bottom")
    for values, text, rule, side in ((crossing, "cross", "optimal", "top"), (staying, "stay", "loss", "bottom")):
        last = np.flatnonzero(np.isfinite(values))[-1]
        label(ax, deadlines[last], values[last], text, rule, ha="right", va=side, weight="bold", fontsize=10)
    ax.set(xlabel="deadline $T$", ylabel="$J$")
    return fig


def _branch(ax: Axes, branch: Branch, wins: Span, text: str, span: Span) -> None:
    low, high = np.clip(branch.reach, *span)
    theta = np.linspace(low, high, 600)
    ax.plot(theta, np.ravel(branch.speed(theta)), color=COLOURS["ink"], lw=1.1, ls=(0, (3, 2)), zorder=3)
    inside = np.linspace(max(wins[0], low), min(wins[1], high), 600)
    if inside[-1] > inside[0]:
        ax.plot(inside, np.ravel(branch.speed(inside)), **line("optimal", lw=3, zorder=4))
        for edge in inside[[0, -1]]:
            if low < edge < high:
                ax.axvline(edge, color=COLOURS["ink"], lw=0.8, ls=(0, (1, 2)), zorder=2)
    wins_somewhere = inside[-1] > inside[0]
    place = inside if wins_somewhere else theta
    central = (place > -0.8) & (place < 0.3)
    place = place[central] if central.any() else place[len(place) // 2 :][:1]
    shown = place[np.argmax(np.abs(np.ravel(branch.speed(place))))]
    height = float(np.ravel(branch.speed(np.array([shown])))[0])
    rule, weight = ("optimal", "bold") if wins_somewhere else ("ink", "normal")
    label(ax, shown, height + 0.1, text, rule, ha="center", va="bottom", weight=weight)


def _rest(ax: Axes, points: Mapping[str, float]) -> None:
    for text, point in points.items():
        ax.plot(point, 0, "o", color="white", mec=COLOURS["ink"], mew=1.2, ms=5.5, zorder=5)
        label(ax, point, 0.14, text, ha="center", va="bottom", fontsize=8.5)


def _flow(ax: Axes, objective: Objective, loss: Loss, span: Span, speeds: Span) -> None:
    theta, speed = np.meshgrid(np.linspace(*span, 60), np.linspace(*speeds, 40))
    force = objective.gamma * speed + objective.eta * objective.k * loss.gradient(theta[..., None])[..., 0]
    ax.streamplot(theta, speed, speed, force, color="#D3D9DF", linewidth=0.6, arrowsize=0.6, density=(1.1, 0.55),
                  zorder=1)


def _grid(loss: Loss, x: Span, y: Span, points: int = 301) -> tuple[Array, Array, Array]:
    grid_x, grid_y = np.meshgrid(np.linspace(*x, points), np.linspace(*y, points))
    return grid_x, grid_y, loss.value(np.stack([grid_x, grid_y], axis=-1))
