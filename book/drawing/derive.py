"""Figures of the chapter on deriving an optimizer."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, label, letter, line

_HORIZONS = ("ballistic", "optimal", "gradient descent")  # looks of a small, a middling and a large discount
_LEVELS = (0.6, 1.2, 1.8, 2.4, 3.0)


def bends(*, baseline, paths):
    """Draw the path of each change of an assumption beside the path without it, on a bowl of curvatures 1/9 and 1."""
    figure, axes = plt.subplots(2, 3, figsize=(5.8, 4.5), sharex=True, sharey=True)
    angle = np.linspace(0, 2 * np.pi, 200)
    for ax, path in zip(axes.flat, paths.values(), strict=True):
        for level in _LEVELS:
            ax.plot(3 * level * np.cos(angle), level * np.sin(angle), color=COLOURS["grid"], lw=0.9)
        ax.plot(*baseline.T, color=COLOURS["quiet"], ls="--", lw=1.2)
        ax.plot(*path.T, **line("optimal", lw=1.3), marker=".", ms=4.5)
        ax.set(xlim=(-3.6, 1.6), ylim=(-1.6, 3.1), xticks=(-2, 0), yticks=(0, 2))
    for ax in axes[1]:
        ax.set_xlabel(r"$\theta_1$")
    for ax in axes[:, 0]:
        ax.set_ylabel(r"$\theta_2$")
    letter(axes, list(paths))
    return figure


def decay(*, squares, gains):
    """Draw the decay that pays and the coefficient of the gradient's mean, for a few discounts from small to large.

    Args:
        squares: V.
        gains: discount → the decay that pays over j, and the coefficients under G = 1 and under G = √V.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.1))
    for place, ((gamma, (kept, flat, scaled)), rule) in enumerate(zip(gains.items(), _HORIZONS, strict=True)):
        colour = COLOURS[rule]
        left.plot(squares, kept, color=colour)
        right.plot(squares, flat, color=colour)
        right.plot(squares, scaled, color=colour, ls="--", lw=1.6)
        height = (0.3, 0.5, 0.7)[place]
        at = np.interp(-height, -np.asarray(kept), np.log10(squares))
        name = f"$\\gamma={gamma:g}$" if place == 0 else f"${gamma:g}$"
        label(left, 10 ** (at - 0.25), height, name, rule, ha="right", va="center")
    left.axhline(1, ls="--", color=COLOURS["quiet"], lw=1.6)
    left.set(xscale="log", xlabel="$V$", ylabel="$w/j$", ylim=(0, 1.1))
    right.set(xscale="log", yscale="log", xlabel="$V$", ylabel="coefficient of $m$", ylim=(1e-3, 1e3))
    letter((left, right), ("the decay", "the step"))
    return figure


def regime(*, bars, room):
    """Draw how fast beliefs change beside the rate of the root, and where a discount fits between the two.

    Args:
        bars: name of an optimizer → the rate of its belief, the lowest and the highest rate of its root, and the
            h/√V from which on there is room.
        room: how many times the root's rate must be that of the beliefs.
    """
    figure, ax = plt.subplots(figsize=(5.8, 3.6))
    rates = np.logspace(-4, 0, 50)
    ax.fill_between(rates, room * rates, 1e4, color=COLOURS["grid"], lw=0)
    ax.plot(rates, room * rates, color=COLOURS["quiet"], lw=1)
    for name, (rate, low, high, least) in bars.items():
        rule, _, variant = name.partition(",")
        look = {"lw": 5, "solid_capstyle": "butt", "alpha": 0.5 if variant else 1.0}
        ax.plot([rate, rate], [low, high], color=COLOURS[rule.lower()], **look)
        label(ax, rate, 1.6 * high, f"{name}\nfrom {least:.0f}", rule.lower(), ha="center", va="bottom")
    ax.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-6, 1e2))
    ax.set(xlabel=r"beliefs, $-\log\beta$ in a step", ylabel=r"root, $\mathrm{lr}\,h/\sqrt{V}$ in a step")
    return figure


def risk(*, strength, known, plugins):
    """Draw what a shrunk mean risks against the strength of the signal: with the known prior, and with plug-ins."""
    looks = (("ink", (0, (6.0, 1.4))), ("ink", ":"), ("belief", "-"))
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axhline(1, color=COLOURS["quiet"], lw=1, label="no shrinking")
    for (name, risks), (colour, style) in zip(plugins.items(), looks, strict=True):
        ax.plot(strength, risks, color=COLOURS[colour], ls=style, lw=1.8, label=name)
    ax.plot(strength, known, **line("optimal", linestyle="-."), label=r"known $\tau$")
    ax.set(xlabel=r"$|\mu|\sqrt{n}/\sigma$", ylabel="risk", ylim=(0, 1.6), xlim=(strength[0], strength[-1]))
    ax.legend(loc="lower right")
    return figure
