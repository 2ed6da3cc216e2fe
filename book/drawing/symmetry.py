"""Figures of the chapter on symmetry."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, LANDSCAPE, halo, label, letter, line

_DOTS = {"color": COLOURS["ink"], "linestyle": "none", "marker": "o", "ms": 3.2}
_HUES = ("optimal", "gradient descent", "newton", "ballistic", "kinetic", "potential")


def fields(*, axis, planes):
    """Draw losses of two weights, and the fields along which they do not change."""
    figure, axes = plt.subplots(1, len(planes), figsize=(5.8, 2.6), sharey=True, squeeze=False)
    q = np.asarray(axis, dtype=np.float64)
    every = slice(len(q) // 18, None, max(1, len(q) // 9))
    for ax, plane in zip(axes[0], planes.values(), strict=True):
        ax.contour(q, q, plane["loss"], 9, cmap=LANDSCAPE, linewidths=1.2)
        u, v = np.moveaxis(plane["field"][every, every], -1, 0)
        ax.quiver(q[every], q[every], u, v, color=COLOURS["optimal"], angles="xy", width=0.009, zorder=3)
        ax.set(xlabel="$q_1$", aspect="equal")
    axes[0, 0].set_ylabel("$q_2$")
    letter(axes[0], list(planes))
    return figure


def charges(*, total, pairs, every=40):
    """Draw the sum of the last biases and the imbalances of hidden units over the steps, recorded and predicted."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.0))
    for ax, charge in zip(axes, (total, pairs), strict=True):
        # lines, one a column
        recorded, law = (np.transpose(charge[key]).reshape(-1, len(charge[key])).T for key in ("recorded", "predicted"))
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


def layers(*, radius, angles, ratio):
    """Draw radius, angle per step and the balance of normalised layers against the laws."""
    figure, panels = plt.subplot_mosaic("ab;cc", figsize=(5.8, 5.0), height_ratios=(1.2, 1.0))
    axes = list(panels.values())
    for hue, layer in zip(_HUES, radius.values(), strict=False):
        recorded, law = np.sqrt(layer["recorded"]), np.sqrt(layer["predicted"])
        steps = np.arange(len(law))
        axes[0].plot(steps, law, **line(hue, lw=1.8, linestyle="-"))
        axes[0].plot(steps[:: len(law) // 12], recorded[:: len(law) // 12], **_DOTS)
    late = {name: np.sqrt(np.array_split(layer["predicted"], 2)[1]) for name, layer in radius.items()}
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


def averages(*, steps, found, laws, titles):
    """Draw r² of a layer and the exponential average of its squared gradients, without and with momentum."""
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


def drops(*, radius, angles, expected):
    """Draw radius and angle per step of normalised layers while the learning rate is lowered."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.1))
    law = np.asarray(expected, dtype=np.float64)
    steps = np.arange(len(law))
    for hue, (name, layer) in zip(_HUES, radius.items(), strict=False):
        recorded, exact = np.sqrt(layer["recorded"]), np.sqrt(layer["predicted"])
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


def imbalance(*, loss, paths, conserved, times, measure, rules):
    """Draw paths on (ab − 1)² beside curves of constant a² − b², and that quantity over time."""
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    box = ((1.85, 2.45), (0.0, 0.62))
    x, y = np.meshgrid(np.linspace(*box[0], 160), np.linspace(*box[1], 160))
    plane.contourf(x, y, np.sqrt(loss.value(np.stack([x, y], axis=-1))), levels=12, cmap=LANDSCAPE, zorder=0)
    for curve in conserved:
        plane.plot(*np.asarray(curve).T, color="white", lw=0.9, zorder=1)
    _paths(plane, paths, rules)
    for place, (name, points) in enumerate(paths.items()):
        last = points[(points[:, 0] < box[0][1] - 0.1) & (points[:, 1] < box[1][1])][-1]
        side = {"ha": "right" if place == 0 else "left", "va": "bottom", "fontsize": 10}
        words = name.replace(" ", "\n") if place == 0 else name  # in one line it would cover the axis
        label(
            plane, float(last[0]) + (-0.02 if place == 0 else 0.015), float(last[1]) + 0.012, words, rules[name], **side
        )
    plane.set(xlim=box[0], ylim=box[1], xlabel="$a$", ylabel="$b$")
    _over_time(over, times, measure, rules, "$a^2-b^2$")
    letter((plane, over), ("weights", "imbalance"))
    return figure


def cones(*, paths, times, norms, rules):
    """Draw paths on a loss of the direction alone, and their norms over time."""
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    x, y = np.meshgrid(np.linspace(-0.4, 1.9, 180), np.linspace(-0.4, 1.9, 180))
    plane.contourf(x, y, 1 - x / np.hypot(x, y), levels=14, cmap=LANDSCAPE, zorder=0)
    start = _paths(plane, paths, rules)
    turn = np.linspace(0, 2 * np.pi, 200)
    plane.plot(*(np.linalg.norm(start) * np.stack([np.cos(turn), np.sin(turn)])), color="white", lw=0.9, zorder=1)
    plane.plot(0.0, 0.0, "+", color=COLOURS["ink"], ms=8, zorder=5)
    plane.set(xlim=(-0.4, 1.9), ylim=(-0.4, 1.9), xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal")
    _over_time(over, times, norms, rules, r"$|\theta|$")
    letter((plane, over), ("paths", "norm"))
    return figure


def ring(*, paths, times, speeds, rules):
    """Draw optimal paths into a ring-shaped valley, and the angular speed of each over time."""
    figure, (plane, over) = plt.subplots(1, 2, figsize=(5.8, 3.4))
    grid = np.linspace(-1.9, 1.9, 160)
    x, y = np.meshgrid(grid, grid)
    plane.contourf(x, y, np.sqrt(np.abs(x**2 + y**2 - 1)), levels=12, cmap=LANDSCAPE, zorder=0)
    _paths(plane, paths, rules)
    plane.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    _over_time(over, times, speeds, rules, "angular speed")
    letter((plane, over), ("a round valley", "angular speed"))
    return figure


def _paths(ax, paths, rules):
    """Draw paths and the start that they share; return it."""
    for name, points in paths.items():
        ax.plot(*points.T, **line(rules[name], lw=2.4, linestyle="-"), path_effects=halo(4))
    start = next(iter(paths.values()))[0]
    ax.plot(*start, "o", color=COLOURS["ink"], ms=6, zorder=5)
    return start


def _over_time(ax, times, lines, rules, name):
    """Draw lines over time, each with its name above its end."""
    late = np.asarray(times) >= 0.6 * times[-1]
    lift = 0.02 * np.ptp([*lines.values()])
    for text, values in lines.items():
        ax.plot(times, values, **line(rules[text], lw=2.0, linestyle="-"))
        label(ax, 0.98 * times[-1], np.max(values[late]) + lift, text, rules[text], ha="right", va="bottom")
    ax.margins(y=0.1)
    ax.set(xlabel="time", ylabel=name)
