"""Figures of the chapter on continual learning."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, label, letter, line, mark

_DASHES = ("-", (0, (6.0, 1.6)), (0, (3.0, 1.4)), (0, (1.2, 1.4)))  # solid for the first, then shorter
_SIDES = {  # shift, and alignment of the text
    "above": (0, 1, "center", "bottom"),
    "below": (0, -1, "center", "top"),
    "left": (-1, 0, "right", "center"),
    "right": (1, 0, "left", "center"),
}


def half_plane(*, ways, stops=(0.0, 0.25, 0.5, 0.75, 1.0)):
    """Draw ways between two normal distributions: as curves of (mean, spread), and the first as densities."""
    figure, (plane, bells) = plt.subplots(1, 2, figsize=(5.8, 3.1))
    highest = max(max(way["spread"]) for way in ways.values())
    for number, (text, way) in enumerate(ways.items()):
        rule, mean, spread = way["rule"], way["mean"], way["spread"]
        plane.plot(mean, spread, **line(rule, lw=2.2))
        middle = len(mean) // 2
        above = number == 0
        lift = 0.04 * highest * (1 if above else -1)
        side = "bottom" if above else "top"
        label(plane, mean[middle], spread[middle] + lift, text, rule, ha="center", va=side)
        plane.plot([mean[0], mean[-1]], [spread[0], spread[-1]], "o", color=COLOURS["ink"], ms=6, zorder=5)
    first = next(iter(ways.values()))
    rule, mean, spread = first["rule"], first["mean"], first["spread"]
    x = np.linspace(min(mean) - 3.2 * max(spread), max(mean) + 3.2 * max(spread), 400)
    for number, stop in enumerate(stops):
        here = round(stop * (len(mean) - 1))
        density = np.exp(-((x - mean[here]) ** 2) / (2 * spread[here] ** 2)) / (spread[here] * np.sqrt(2 * np.pi))
        end = number in (0, len(stops) - 1)
        colour = COLOURS["ink"] if end else COLOURS[rule]
        bells.plot(x, density, color=colour, lw=2.0 if end else 1.6, ls="-" if end else _DASHES[1])
        plane.plot(mean[here], spread[here], "o", ms=5 if not end else 6, color=colour, mec="white", zorder=6)
    top = max(1.25 * max(spread), 1.15 * highest)
    plane.set(xlabel=r"mean $\mu$", ylabel=r"standard deviation $\sqrt{v}$", ylim=(0, top))
    plane.margins(x=0.12)
    bells.set(xlabel=r"weight $\theta$", ylabel="density", ylim=(0, None), xlim=(x[0], x[-1]))
    letter((plane, bells), ("the shortest way", "as densities"))
    return figure


def panels(
    *,
    times,
    curves,
    columns=1,
    xlabel="time $t$",
    ylabels=(),
    logarithmic=(),
    level=None,
    events=(),
    checks=None,
    height=2.3,
    limits=None,
):
    """Draw panels of labelled curves over one time axis."""
    t = np.asarray(times, dtype=np.float64)
    rows = -(-len(curves) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5.8, height * rows + 0.4), sharex=True, squeeze=False)
    flat = list(axes.ravel())
    for spare in flat[len(curves) :]:
        spare.remove()
    flat = flat[: len(curves)]
    for number, (ax, lines) in enumerate(zip(flat, curves.values(), strict=True)):
        if number < len(logarithmic) and logarithmic[number]:
            ax.set_yscale("log")
        if level is not None:
            ax.axhline(level, color=COLOURS["quiet"], lw=0.8, ls=":")
        for event in events:
            ax.axvline(event, color=COLOURS["quiet"], lw=0.8, ls=":")
        for order, curve in enumerate(lines):
            twin = sum(other["rule"] == curve["rule"] for other in lines[:order])
            style = line(curve["rule"], lw=2.0) | ({"linestyle": _DASHES[twin]} if twin else {})
            ax.plot(t, curve["values"], **style)
        low, high = (limits or {}).get(number, _room(ax))
        ax.set(xlim=(t[0], t[-1]), ylim=(low, high))
        for curve in lines:
            if curve["text"]:
                _beside(ax, t, **curve)
        if ax.get_yscale() == "log":
            _decades(ax)
        if checks is not None:
            ax.plot(checks[0], checks[1][number], "o", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.1, zorder=5)
        text = ylabels[min(number, len(ylabels) - 1)] if ylabels else ""
        if number % columns == 0 or len(ylabels) > 1:
            ax.set_ylabel(text)
        if number >= len(curves) - columns:
            ax.set_xlabel(xlabel)
            ax.tick_params(labelbottom=True)
    if len(curves) > 1:
        letter(flat, list(curves))
    return figure


def _room(ax):
    """Return the panel's range with room for labels above and below the curves."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        stretch = (high / low) ** 0.14
        return low / stretch, high * stretch
    span = high - low
    return low - 0.1 * span, high + 0.16 * span


def _decades(ax):
    """Mark 1, 3, 10, … where an axis spans less than two decades, powers of ten elsewhere, and nothing between."""
    low, high = ax.get_ylim()
    steps = (1, 3) if high < 200 * low else (1,)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
    ax.set_yticks(ticks, [f"{tick:g}" if 1e-3 <= tick < 1e5 else f"$10^{{{np.log10(tick):.0f}}}$" for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(low, high)


def _beside(ax, t, *, text, rule, values, at=0.8, side="above"):
    """Write a curve's label beside it, at a share of its points."""
    place = round(at * (len(t) - 1))
    x, y = ax.transAxes.inverted().transform(ax.transData.transform((t[place], values[place])))
    right, up, across, along = _SIDES[side]
    label(ax, x + 0.02 * right, y + 0.045 * up, text, rule, transform=ax.transAxes, ha=across, va=along)


def before_after(*, groups):
    """Draw pairs of values, one a seed, as lines from *before* to *after* on logarithmic axes."""
    figure, axes = plt.subplots(1, len(groups), figsize=(5.8, 3.2), squeeze=False)
    rules = ("uncertain", "l2", "belief")
    for ax, group in zip(axes[0], groups.values(), strict=True):
        kinds = group["pairs"]
        for number, ((text, pair), rule) in enumerate(zip(kinds.items(), rules, strict=False)):
            shift, first, second = 1.6 * number, pair["before"], pair["after"]
            for a, b in zip(first, second, strict=True):
                ax.plot([shift, shift + 1], [a, b], **line(rule, lw=1.0), alpha=0.7)
            for x, values in ((shift, first), (shift + 1, second)):
                ax.plot(np.full(len(values), x), values, **mark(rule, ms=6))
            label(ax, shift + 0.5, 0.02, text, rule, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
        ticks = [1.6 * n + side for n in range(len(kinds)) for side in (0, 1)]
        ax.set(yscale="log", ylabel=group["ylabel"], xlim=(-0.35, ticks[-1] + 0.35))
        ax.set_xticks(ticks, ["before", "after"] * len(kinds), rotation=30)
        low, high = ax.get_ylim()
        ax.set_ylim(low / (high / low) ** 0.15, high)
        _decades(ax)
    letter(axes[0], list(groups))
    return figure
