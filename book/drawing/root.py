"""Figures of the study of the root."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, letter

_HORIZONS = {  # colour, line and mark of lines that differ in what the learner knows or wants
    "no discount": ("ballistic", "-", "o"), "noisy": ("loss", "--", "s"), "γ = 3": ("gradient descent", ":", "^")
}  # fmt: skip
_OTHERS = (("loss", "--", "s"), ("ink", "-", "o"))  # of a panel's other lines in turn
_ASIDE = 0.03  # by which seeds stand beside their mean
_NAMED = {0.0: "0", 0.25: "¼", 0.5: "½", 0.75: "¾", 1.0: "1"}
_ROOM = 0.105  # of a panel's height, for each line of its legend above all that is drawn
_DECADE = 10.0  # a panel whose numbers span more has a logarithmic axis


def compared(*, exponents, panels):
    """Draw what each exponent cost: a line through the means over seeds, and a stroke beside them for each seed."""
    places = np.asarray(exponents, dtype=np.float64)
    rows, columns = -(-len(panels) // 2), min(len(panels), 2)
    figure, axes = plt.subplots(rows, columns, figsize=(5.8, 0.4 + 2.6 * rows), squeeze=False)
    for ax, panel in zip(axes.flat, panels.values(), strict=False):
        _panel(ax, places, panel["lines"])
        ax.set(xlabel="exponent p", ylabel=panel["ylabel"])
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    letter(axes.flat[: len(panels)], list(panels))
    return figure


def _panel(ax, places, lines):
    """Draw the lines of a panel, their seeds a little apart, and scale its axes."""
    room = _ROOM * (len(lines) + 0.5)
    ax.axvline(0.5, ymax=1 - room, color=COLOURS["grid"], lw=5, solid_capstyle="butt", zorder=0)
    for place, (label, costs) in enumerate(lines.items()):
        hue, style, mark = _HORIZONS[label] if label in _HORIZONS else _OTHERS[place]
        colour = COLOURS[hue]
        ax.plot(places, costs.mean(1), color=colour, ls=style, marker=mark, ms=4.5, lw=1.6, label=label)
        ax.plot(places + _ASIDE, costs, color=colour, ls="none", marker="_", ms=5, mew=0.9)
    every = np.concatenate([costs.ravel() for costs in lines.values()])
    if every.max() > _DECADE * every.min():
        ax.set_yscale("log")
    ax.set_xticks(list(_NAMED), list(_NAMED.values()))
    ax.set_xticks([p for p in places if p not in _NAMED], minor=True)
    low, high = ax.transScale.transform([(0.0, limit) for limit in ax.get_ylim()])[:, 1]
    above = low + (high - low) / (1 - room)
    ax.set_ylim(top=ax.transScale.inverted().transform((0.0, above))[1])
    ax.legend(handlelength=2.0, borderaxespad=0.2, loc="upper center")
