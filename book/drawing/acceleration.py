"""Figures of the chapter on acceleration."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, halo, label, letter, line, mark


def effort(*, kappa, counts, name):
    """Draw what each method needs against the condition number."""
    x = np.asarray(kappa, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for curve in counts.values():
        ax.plot(x, curve["count"], **line(curve["rule"], marker=len(x) < 12, ms=4.5))
    ax.set(xscale="log", yscale="log", xlabel=r"condition number $\kappa$", ylabel=name)
    _name_ends(ax, x[-1], {text: curve["count"][-1] for text, curve in counts.items()}, counts)
    return figure


def _name_ends(ax, x, ends, looks, gap=0.07):
    """Write the names of heights right of x, pushed apart to ``gap`` of the axes' height."""
    place = ax.transData + ax.transAxes.inverted()
    order = sorted(ends, key=ends.get)
    heights = [float(place.transform((x, ends[text]))[1]) for text in order]
    for above in range(1, len(heights)):
        heights[above] = max(heights[above], heights[above - 1] + gap)
    for text, height in zip(order, heights, strict=True):
        label(ax, 1.02, height, text, looks[text]["rule"], transform=ax.transAxes, va="center", clip_on=False)


def haste(*, families):
    """Draw regret in J against the number of steps, one line a method, along which its step is changed."""
    figure, ax = plt.subplots(figsize=(5.8, 4.6))
    for family in families.values():
        x, y = np.transpose(family["pairs"])
        ax.plot(x, y, **line(family["rule"], marker=True, ms=4.5, lw=1.8))
        if family["textbook"]:
            ax.plot(x[0], y[0], "o", ms=11, mfc="none", mec=COLOURS["ink"], mew=1.2)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="steps until the loss is $10^{-4}$ of its start",
        ylabel="regret in $J$, over the least cost",
    )
    ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    _name_ends(ax, 1.0, {text: family["pairs"][-1][1] for text, family in families.items()}, families)
    return figure


def variation(*, horizon, smallest, times, paths):
    """Draw the smallest second variation against the horizon, and paths of one equation with different ends."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.4))
    x = np.asarray(horizon, dtype=np.float64)
    for place, (text, curve) in enumerate(sorted(smallest.items(), key=lambda item: item[1]["zero"])):
        rule, y = curve["rule"], curve["lowest"]
        upper.plot(x, y, **line(rule))
        upper.plot(curve["zero"], 0.0, **mark(rule, ms=11, zorder=5))  # above the axis
        side, shift = ("right", -0.02) if place == 0 else ("left", 0.02)  # the first zero's name stands before its line
        near = float(x[np.argmin(np.abs(y - 1.1))])
        label(upper, near + shift * x[-1], 1.1, text, rule, ha=side, va="center")
    upper.axhspan(-10.0, 0.0, color=COLOURS["quiet"], alpha=0.15, lw=0)
    label(upper, 0.02 * x[-1], -0.93, "a saddle", "quiet", va="bottom")
    upper.axhline(0.0, color=COLOURS["ink"], lw=0.8)
    upper.set(xlabel="horizon $T$", ylabel="lowest second variation", ylim=(-1.0, 2.0), xlim=(0.0, x[-1]))
    _lines(lower, times, paths)
    letter((upper, lower), ("minimum or saddle?", "a free end"))
    return figure


def _lines(ax, times, paths):
    t = np.asarray(times, dtype=np.float64)
    middle = len(t) // 2
    lowest = min(float(way["theta"][middle]) for way in paths.values())
    for text, way in paths.items():
        rule, y = way["rule"], way["theta"]
        ax.plot(t, y, **line(rule))
        side = ("right", "top") if y[middle] == lowest else ("right", "bottom") if y[-1] > y[0] else ("left", "bottom")
        gap = 0.05 if side[1] == "bottom" else -0.05
        label(ax, t[middle], y[middle] + gap, f" {text} ", rule, ha=side[0], va=side[1])
    ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    ax.set(xlabel="time $t$", ylabel=r"$\theta(t)$", xlim=(t[0], t[-1]))
    ax.margins(y=0.15)


def coincidence(*, times, ways):
    """Draw two ways of one mode over time, and the same two of two modes in their plane."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.8, 6.4))
    t = np.asarray(times, dtype=np.float64)
    for place, (text, way) in enumerate(ways.items()):
        rule, y = way["rule"], way["points"][:, 0]
        if place == 0:
            upper.plot(t, y, **line(rule, lw=3.0))
        else:
            every = max(1, len(t) // 14)
            upper.plot(t[::every], y[::every], **mark(rule, ms=5.5))
        label(upper, 0.3 * t[-1], 0.75 - 0.14 * place, text, rule)
    upper.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    upper.set(xlabel="time $t$", ylabel=r"$\theta(t)$", xlim=(t[0], t[-1]))
    for place, (text, way) in enumerate(ways.items()):
        lower.plot(*way["points"].T, **line(way["rule"], lw=2.2), path_effects=halo())
        label(lower, 0.02, 0.88 - 0.12 * place, text, way["rule"], transform=lower.transAxes)
    lower.plot(0.0, 0.0, "*", color=COLOURS["ink"], ms=11, mec="white", zorder=5)
    lower.set(xlabel=r"$\theta_1$, flat", ylabel=r"$\theta_2$, steep")
    letter((upper, lower), ("one curvature", "two"))
    return figure
