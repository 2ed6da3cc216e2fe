"""Figures of symmetry: charges, radii and angles of layers, the cone, and what optimal navigation does instead.

Every function takes what it draws and returns a figure; nothing is trained or solved here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav.figures import _takes as of
from lossnav.figures.style import COLOURS, LANDSCAPE, halo, label, letter, line
from lossnav.problem.losses import Loss

_DOTS = {"color": COLOURS["ink"], "linestyle": "none", "marker": "o", "ms": 3.2}
_HUES = ("optimal", "gradient descent", "newton", "ballistic", "kinetic", "potential")


@of.takes(
    axis=of.reals("M"),
    planes=of.mapping(of.TEXT, of.row(of.reals("M", "M"), of.reals("M", "M", 2))),
)
def fields(axis: ArrayLike, planes: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Figure:
    """Draw losses of two weights, and the fields along which they do not change.

    Args:
        axis: values of both weights, (M,), evenly spaced.
        planes: title → (loss (M, M), ξ (M, M, 2)) on the grid of the axis, second weight first.

    Returns:
        The figure: a panel each.
    """
    figure, axes = plt.subplots(1, len(planes), figsize=(5.8, 2.6), sharey=True, squeeze=False)
    q = np.asarray(axis, dtype=np.float64)
    every = slice(len(q) // 18, None, max(1, len(q) // 9))
    for ax, (values, arrows) in zip(axes[0], planes.values(), strict=True):
        ax.contour(q, q, np.asarray(values, dtype=np.float64), 9, cmap=LANDSCAPE, linewidths=1.2)
        u, v = np.moveaxis(np.asarray(arrows, dtype=np.float64)[every, every], -1, 0)
        ax.quiver(q[every], q[every], u, v, color=COLOURS["optimal"], angles="xy", width=0.009, zorder=3)
        ax.set(xlabel="$q_1$", aspect="equal")
    axes[0, 0].set_ylabel("$q_2$")
    letter(axes[0], list(planes))
    return figure


@of.takes(
    total=of.row(of.reals("T"), of.reals("T")), pairs=of.row(of.reals("T", "P"), of.reals("T", "P")), every=of.COUNT
)
def charges(total: tuple[ArrayLike, ArrayLike], pairs: tuple[ArrayLike, ArrayLike], every: int = 40) -> Figure:
    """Draw the sum of the last biases and the imbalances of hidden units over the steps, as recorded and as predicted.

    Args:
        total: Σ of the biases, recorded and predicted, each (T,).
        pairs: |w_in|² − |w_out|² of the units, recorded and predicted, each (T, P).
        every: steps between two dots of the record.

    Returns:
        The figure: two panels.
    """
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.0))
    for ax, (found, wanted) in zip(axes, (total, pairs), strict=True):
        # a list of lines, one a column
        recorded, law = (
            np.asarray(part, dtype=np.float64).T.reshape(-1, np.shape(part)[0]).T for part in (found, wanted)
        )
        steps = np.arange(len(law))
        for column in range(law.shape[1]):
            ax.plot(steps, law[:, column], **line(_HUES[column % len(_HUES)], lw=1.6, linestyle="-"))
            ax.plot(steps[::every], recorded[::every, column], **_DOTS)
        ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        ax.set_xlabel("step")
    axes[0].set_ylabel(r"$\sum_i b_i$")
    axes[1].set_ylabel(r"$|w_{\rm in}|^2-|w_{\rm out}|^2$")
    letter(axes, ("translation", "rescaling, six units"))
    return figure


@of.takes(
    radius=of.mapping(of.TEXT, of.row(of.positives("T"), of.positives("T"))),
    angles=of.mapping(of.TEXT, of.positives(None)),
    ratio=of.mapping(of.TEXT, of.positives("N")),
)
def layers(
    radius: Mapping[str, tuple[ArrayLike, ArrayLike]],
    angles: Mapping[str, ArrayLike],
    ratio: Mapping[str, ArrayLike],
) -> Figure:
    """Draw radius, angle per step and the balance of normalised layers against the laws.

    Args:
        radius: name of a layer → (r² recorded, r² by T27), each (T,).
        angles: name → angle per step over that of T29, (W,), averaged over windows of steps.
        ratio: name → late angle per step of each row over that of T29, (N,).

    Returns:
        The figure: three panels.
    """
    figure, panels = plt.subplot_mosaic("ab;cc", figsize=(5.8, 5.0), height_ratios=(1.2, 1.0))
    axes: Any = list(panels.values())
    for hue, (found, wanted) in zip(_HUES, radius.values(), strict=False):
        recorded, law = np.sqrt(np.asarray(found, dtype=np.float64)), np.sqrt(np.asarray(wanted, dtype=np.float64))
        steps = np.arange(len(law))
        axes[0].plot(steps, law, **line(hue, lw=1.8, linestyle="-"))
        axes[0].plot(steps[:: len(law) // 12], recorded[:: len(law) // 12], **_DOTS)
    late = {name: np.sqrt(np.array_split(np.asarray(law), 2)[1]) for name, (_, law) in radius.items()}
    for place, name in enumerate(sorted(late, key=lambda name: -late[name][-1])):  # one above its line, the next below
        end, side = (late[name].max(), "bottom") if place % 2 == 0 else (late[name].min(), "top")
        hue = _HUES[list(radius).index(name) % len(_HUES)]
        label(axes[0], 0.97 * steps[-1], float(end), name, hue, ha="right", va=side)
    axes[0].margins(y=0.12)
    for hue, values in zip(_HUES, angles.values(), strict=False):
        part = np.asarray(values, dtype=np.float64)
        width = len(steps) / len(part)
        axes[1].plot((np.arange(len(part)) + 0.5) * width, part, **line(hue, lw=1.6, linestyle="-"))
    axes[1].axhline(1.0, color=COLOURS["ink"], lw=0.9, ls=":")
    label(axes[1], 0.97 * width * len(part), 1.02, "T29", ha="right", va="bottom")
    bins = np.linspace(0.85, 1.15, 31)
    for hue, values in zip(_HUES, ratio.values(), strict=False):
        axes[2].hist(np.clip(values, 0.85, 1.15), bins=list(bins), color=COLOURS[hue], alpha=0.7)
    axes[2].axvline(1.0, color=COLOURS["ink"], lw=0.9, ls=":")
    axes[0].set(ylabel="radius $r$", xlabel="step")
    axes[1].set(ylabel="angle per step / T29", xlabel="step", ylim=(0.0, None))
    axes[2].set(ylabel="rows of the weights", xlabel="late angle / T29")
    letter(axes, ("radius", "angle per step", "each row alone"))
    return figure


@of.takes(
    steps=of.reals("T"),
    found=of.row(of.positives("T"), of.positives("T")),
    laws=of.row(
        of.table(printed=of.positives("T"), white=of.positives("T")),
        of.table(printed=of.positives("T"), white=of.positives("T")),
    ),
    titles=of.row(of.TEXT, of.TEXT),
)
def averages(
    steps: ArrayLike,
    found: tuple[ArrayLike, ArrayLike],
    laws: tuple[Mapping[str, ArrayLike], Mapping[str, ArrayLike]],
    titles: tuple[str, str],
) -> Figure:
    """Draw r² of a layer and the exponential average of its squared gradients, without and with momentum.

    Args:
        steps: (T,).
        found: r² recorded in two runs, each (T,).
        laws: for each run r² by T33 as "printed", and with the coefficient of "white" gradients.
        titles: of the two panels.

    Returns:
        The figure: two panels.
    """
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.1))
    t = np.asarray(steps, dtype=np.float64)
    for ax, recorded, law in zip(axes, found, laws, strict=True):
        ax.plot(t, law["printed"], **line("gradient descent", lw=1.6, linestyle="--"))
        ax.plot(t, law["white"], **line("optimal", lw=1.6, linestyle="-"))
        sparse = slice(None, None, max(1, len(t) // 16))
        ax.plot(t[sparse], np.asarray(recorded)[sparse], **_DOTS)
        ax.set(xlabel="step")
    axes[0].set_ylabel("$r^2$")
    axes[1].set_yscale("log")
    axes[1].margins(y=0.2)
    last = {name: float(np.max(np.asarray(laws[1][name]))) for name in ("printed", "white")}
    label(
        axes[1], 0.97 * t[-1], 1.06 * last["printed"], "constant gradients", "gradient descent", ha="right", va="bottom"
    )
    label(axes[1], 0.97 * t[-1], 1.06 * last["white"], "white gradients", "optimal", ha="right", va="bottom")
    letter(axes, titles)
    return figure


@of.takes(
    radius=of.mapping(of.TEXT, of.row(of.positives("T"), of.positives("T"))),
    angles=of.mapping(of.TEXT, of.positives("W")),
    expected=of.positives("T"),
)
def drops(
    radius: Mapping[str, tuple[ArrayLike, ArrayLike]], angles: Mapping[str, ArrayLike], expected: ArrayLike
) -> Figure:
    """Draw radius and angle per step of normalised layers while the learning rate is lowered.

    Args:
        radius: name of a layer → (r² recorded, r² by the recursion), each (T,).
        angles: name → angle per step over that of T29, (W,), averaged over windows of steps.
        expected: the same ratio as the law of r⁴ has it, (T,); its jumps are the drops of the rate.

    Returns:
        The figure: two panels.
    """
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.1))
    law = np.asarray(expected, dtype=np.float64)
    steps = np.arange(len(law))
    for hue, (name, (found, wanted)) in zip(_HUES, radius.items(), strict=False):
        recorded, exact = np.sqrt(np.asarray(found, dtype=np.float64)), np.sqrt(np.asarray(wanted, dtype=np.float64))
        axes[0].plot(steps, exact, **line(hue, lw=1.8, linestyle="-"))
        sparse = slice(None, None, max(1, len(law) // 16))
        axes[0].plot(steps[sparse], recorded[sparse], **_DOTS)
        label(axes[0], 0.97 * steps[-1], 1.06 * float(exact[-1]), name, hue, ha="right", va="bottom")
    for hue, values in zip(_HUES, angles.values(), strict=False):
        part = np.asarray(values, dtype=np.float64)
        width = len(law) / len(part)
        axes[1].plot((np.arange(len(part)) + 0.5) * width, part, **{**_DOTS, "color": COLOURS[hue], "ms": 2.6})
    axes[1].plot(steps, law, color=COLOURS["ink"], lw=1.4)
    axes[0].set(ylabel="radius $r$", xlabel="step", ylim=(0.0, None))
    axes[1].set(ylabel="angle per step / T29", xlabel="step", ylim=(0.0, None))
    letter(axes, ("radius", "angle per step"))
    return figure


@of.takes(
    loss=of.loss(2),
    paths=of.mapping(of.TEXT, of.row(of.RULE, of.reals(None, 2))),
    conserved=of.many(of.reals(None, 2)),
    measure=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T"), of.reals("T"))),
)
def imbalance(
    loss: Loss,
    paths: Mapping[str, tuple[str, ArrayLike]],
    conserved: Sequence[ArrayLike],
    measure: Mapping[str, tuple[str, ArrayLike, ArrayLike]],
) -> Figure:
    """Draw paths on (ab − 1)² beside curves of constant a² − b², and that quantity over time.

    Args:
        loss: the landscape.
        paths: name → (rule, points (T, 2)).
        conserved: curves on which a² − b² does not change, each (T, 2).
        measure: name → (rule, times, a² − b² at them).

    Returns:
        The figure: two panels.
    """
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    box = ((1.85, 2.45), (0.0, 0.62))
    x, y = np.meshgrid(np.linspace(*box[0], 160), np.linspace(*box[1], 160))
    plane.contourf(x, y, np.sqrt(loss.value(np.stack([x, y], axis=-1))), levels=12, cmap=LANDSCAPE, zorder=0)
    for curve in conserved:
        plane.plot(*np.asarray(curve).T, color="white", lw=0.9, zorder=1)
    for rule, points in paths.values():
        plane.plot(*np.asarray(points).T, **line(rule, lw=2.4, linestyle="-"), path_effects=halo(4))
    plane.plot(*np.asarray(next(iter(paths.values()))[1])[0], "o", color=COLOURS["ink"], ms=6, zorder=5)
    for place, (name, (rule, points)) in enumerate(paths.items()):
        line_ = np.asarray(points, dtype=np.float64)
        seen = line_[(line_[:, 0] < box[0][1] - 0.1) & (line_[:, 1] < box[1][1])][-1]
        side = {"ha": "right" if place == 0 else "left", "va": "bottom", "fontsize": 10}
        label(plane, float(seen[0]) + (-0.02 if place == 0 else 0.015), float(seen[1]) + 0.012, name, rule, **side)
    plane.set(xlim=box[0], ylim=box[1], xlabel="$a$", ylabel="$b$")
    _over_time(over, measure, "$a^2-b^2$")
    letter((plane, over), ("weights", "imbalance"))
    return figure


@of.takes(
    paths=of.mapping(of.TEXT, of.row(of.RULE, of.reals(None, 2))),
    norms=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T"), of.positives("T"))),
)
def cones(paths: Mapping[str, tuple[str, ArrayLike]], norms: Mapping[str, tuple[str, ArrayLike, ArrayLike]]) -> Figure:
    """Draw paths on a loss of the direction alone, and their norms over time.

    Args:
        paths: name → (rule, points (T, 2)).
        norms: name → (rule, times, |θ| at them).

    Returns:
        The figure: two panels.
    """
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    x, y = np.meshgrid(np.linspace(-0.4, 1.9, 180), np.linspace(-0.4, 1.9, 180))
    plane.contourf(x, y, 1 - x / np.hypot(x, y), levels=14, cmap=LANDSCAPE, zorder=0)
    for rule, points in paths.values():
        plane.plot(*np.asarray(points).T, **line(rule, lw=2.4, linestyle="-"), path_effects=halo(4))
    start = np.asarray(next(iter(paths.values()))[1])[0]
    turn = np.linspace(0, 2 * np.pi, 200)
    plane.plot(*(np.linalg.norm(start) * np.stack([np.cos(turn), np.sin(turn)])), color="white", lw=0.9, zorder=1)
    plane.plot(*start, "o", color=COLOURS["ink"], ms=6, zorder=5)
    plane.plot(0.0, 0.0, "+", color=COLOURS["ink"], ms=8, zorder=5)
    plane.set(xlim=(-0.4, 1.9), ylim=(-0.4, 1.9), xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal")
    _over_time(over, norms, r"$|\theta|$")
    letter((plane, over), ("paths", "norm"))
    return figure


@of.takes(
    paths=of.mapping(of.TEXT, of.row(of.RULE, of.reals(None, 2))),
    speeds=of.mapping(of.TEXT, of.row(of.RULE, of.reals("T"), of.reals("T"))),
)
def ring(paths: Mapping[str, tuple[str, ArrayLike]], speeds: Mapping[str, tuple[str, ArrayLike, ArrayLike]]) -> Figure:
    """Draw optimal paths into a ring-shaped valley, and the angular speed of each over time.

    Args:
        paths: name → (rule, points (T, 2)).
        speeds: name → (rule, times, angular speed at them).

    Returns:
        The figure: two panels.
    """
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    grid = np.linspace(-1.9, 1.9, 160)
    x, y = np.meshgrid(grid, grid)
    plane.contourf(x, y, np.sqrt(np.abs(x**2 + y**2 - 1)), levels=12, cmap=LANDSCAPE, zorder=0)
    for rule, points in paths.values():
        plane.plot(*np.asarray(points).T, **line(rule, lw=2.4, linestyle="-"), path_effects=halo(4))
    plane.plot(*np.asarray(next(iter(paths.values()))[1])[0], "o", color=COLOURS["ink"], ms=6, zorder=5)
    plane.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    _over_time(over, speeds, "angular speed")
    letter((plane, over), ("a round valley", "angular speed"))
    return figure


def _over_time(ax: Axes, lines: Mapping[str, tuple[str, ArrayLike, ArrayLike]], name: str) -> None:
    """Draw lines over time, each with its name at its end."""
    for text, (rule, times, values) in lines.items():
        ax.plot(times, values, **line(rule, lw=2.0, linestyle="-"))
        x, y = 0.98 * float(np.asarray(times)[-1]), float(np.asarray(values)[-1])
        label(ax, x, y, text, rule, ha="right", va="bottom")
    ax.set(xlabel="time", ylabel=name)
