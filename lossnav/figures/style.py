"""The look that all figures share: one colour, line and marker per learning rule, labels beside the lines.

Colours follow Okabe and Ito, so that they stay apart for colour-blind readers; lines and markers differ too,
so that nothing rests on colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from types import MappingProxyType
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from lossnav import _checks
from lossnav.lab.registry import RULES

_SCHEDULES: Mapping[str, tuple[str, Any, str]] = {  # of a learning rate: colour, line and marker
    "constant": ("#8A949E", ":", "s"),
    "linear": ("#3F4B57", "-", "o"),
    "cosine": ("#7A2E8E", (0, (6.0, 1.4)), "D"),
    "plateau": ("#8A8F00", "-.", "^"),
    "deadline": ("#0E7C86", (0, (3.0, 1.2)), "v"),
    "warm-up": ("#E5384F", (0, (6.0, 1.2, 1.2, 1.2)), "P"),
}

_PARTS = {  # of the objective, and of a figure
    "loss": "#6B7280",
    "kinetic": "#7B5EA7",
    "acceleration": "#9B1B30",
    "potential": "#4D7C0F",
    "ink": "#1F2933",
    "quiet": "#8A949E",
    "grid": "#E5E8EB",
    "paper": "#FFFFFF",
}

COLOURS: Mapping[str, str] = MappingProxyType(
    {name: rule.colour for name, rule in RULES.items()}
    | {name: colour for name, (colour, _, _) in _SCHEDULES.items()}
    | _PARTS
)
"""One colour per learning rule, or family of relatives, per schedule and per part of the objective, on every page."""

LINES: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {name: (rule.line, rule.marker) for name, rule in RULES.items()}
    | {name: (style, marker) for name, (_, style, marker) in _SCHEDULES.items()}
    | {"loss": ("-", "."), "kinetic": ("-", "d"), "potential": ("--", "h"), "acceleration": ("-.", "D")}
)
"""Line style and marker of each rule or schedule, so that figures can be read without colour."""

STYLE = Path(__file__).with_name("lossnav.mplstyle")
"""The book's look, as matplotlib's style sheet."""

LANDSCAPE = LinearSegmentedColormap.from_list(
    "lossnav_landscape", ["#364458", "#64768C", "#95A4B5", "#BFC9D4", "#DFE4EA", "#F3F5F7"]
)
"""Colour map of loss landscapes: dark valleys, pale heights, no hue of its own, so that paths stand out."""


def use_style() -> None:
    """Set matplotlib's defaults to the book's look; call it once at the top of a notebook."""
    plt.style.use(STYLE)


def line(rule: str, marker: bool = False, **overrides: Any) -> dict[str, Any]:
    """Return the keyword arguments of ``ax.plot`` for one learning rule.

    Args:
        rule: a key of ``LINES``.
        marker: whether to draw the rule's marker too.
        **overrides: keyword arguments that win over the style.

    Raises:
        ValueError: for an unknown rule.

    Example:
        >>> line("newton", lw=1)
        {'color': '#009E73', 'linestyle': '-.', 'lw': 1}
    """
    _checks.one_of("rule", rule, tuple(LINES))
    _checks.flag("marker", marker)
    style, symbol = LINES[rule]
    return {"color": COLOURS[rule], "linestyle": style, **({"marker": symbol} if marker else {}), **overrides}


def mark(rule: str, **overrides: Any) -> dict[str, Any]:
    """Return the keyword arguments of ``ax.plot`` for points of one rule: its marker, no line."""
    _checks.one_of("rule", rule, tuple(LINES))
    return {
        "color": COLOURS[rule],
        "linestyle": "none",
        "marker": LINES[rule][1],
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
        **overrides,
    }


def halo(width: float = 2.5) -> list[patheffects.AbstractPathEffect]:
    """Return path effects that draw a white rim, so that text and lines stay readable on a landscape."""
    _checks.finite("width", width, low=0.0)
    return [patheffects.withStroke(linewidth=width, foreground=COLOURS["paper"])]


def label(ax: Axes, x: float, y: float, text: str, rule: str = "ink", **overrides: Any) -> Text:
    """Write a label in a rule's colour at data coordinates (x, y): direct labels instead of a legend.

    Args:
        ax: axes to write in.
        x: data coordinate of the anchor.
        y: data coordinate of the anchor.
        text: label; ``$…$`` is typeset.
        rule: a key of ``COLOURS``; pale colours are darkened to keep the text readable on white.
        **overrides: keyword arguments of ``ax.text`` that win over the style.

    Returns:
        The text artist.

    Raises:
        ValueError: for an unknown colour name.
    """
    _checks.one_of("rule", rule, tuple(COLOURS))
    _checks.instance("ax", ax, Axes, "a matplotlib Axes")
    _checks.instance("text", text, str, "a string")
    for name, value in (("x", x), ("y", y)):
        _checks.finite(name, value)
    colour = readable(COLOURS[rule])
    style: dict[str, Any] = {"color": colour, "fontsize": 10, "path_effects": halo(), "zorder": 6}
    return ax.text(x, y, text, **(style | overrides))


def label_end(ax: Axes, curve: Line2D, text: str, rule: str = "ink", dx: float = 0.015, dy: float = 0.0) -> Text:
    """Write a label just right of a curve's last point.

    Args:
        ax: axes to write in; leave room on the right.
        curve: the plotted line.
        text: label.
        rule: a key of ``COLOURS``.
        dx: shift to the right, in axes widths.
        dy: shift upwards, in axes heights.
    """
    _checks.instance("ax", ax, Axes, "a matplotlib Axes")
    _checks.instance("curve", curve, Line2D, "a matplotlib line")
    for name, value in (("dx", dx), ("dy", dy)):
        _checks.finite(name, value)
    x, y = np.asarray(curve.get_xdata())[-1], np.asarray(curve.get_ydata())[-1]
    ax_x, ax_y = ax.transAxes.inverted().transform(ax.transData.transform((float(x), float(y))))
    return label(ax, ax_x + dx, ax_y + dy, text, rule, transform=ax.transAxes, va="center", clip_on=False)


def letter(axes: Any, titles: Sequence[str] = ()) -> None:
    """Give panels (an Axes, or an array or sequence of them) titles and, if there are several, letters a, b, c …"""
    panels = [axes] if isinstance(axes, Axes) else list(np.ravel(np.asarray(axes, dtype=object)))
    for index, ax in enumerate(panels):
        _checks.instance(f"axes[{index}]", ax, Axes, "a matplotlib Axes")
    for index, title in enumerate(_checks.sequence("titles", titles, "titles, one a panel")):
        _checks.instance(f"titles[{index}]", title, str, "a string")
    if titles and len(titles) != len(panels):
        raise ValueError(f"titles has {len(titles)} entries, but there are {len(panels)} panels")
    for index, ax in enumerate(panels):
        sign = f"{chr(ord('a') + index)}   " if len(panels) > 1 else ""
        ax.set_title(f"{sign}{titles[index] if titles else ''}".rstrip(), loc="left")


def title(figure: Figure, data: str, seeds: Sized) -> None:
    """Write above a figure what was trained on, and how many seeds there are."""
    _checks.instance("figure", figure, Figure, "a matplotlib Figure")
    _checks.instance("data", data, str, "a string")
    _checks.instance("seeds", seeds, Sized, "a sequence")
    figure.suptitle(f"{data}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}", x=0.01, ha="left")


def readable(colour: str, ratio: float = 4.5) -> str:
    """Return ``colour``, darkened just enough for a contrast of ``ratio``:1 (1 … 21) against white (WCAG AA)."""
    _checks.finite("ratio", ratio, low=1.0, high=21.0)  # black has 21
    if not mpl.colors.is_color_like(colour):
        raise ValueError(f"colour = {_checks.shown(colour)}, but it must be a colour of matplotlib's")
    rgb = mpl.colors.to_rgb(colour)
    while 1.05 / (_luminance(rgb) + 0.05) < ratio:
        # through hex, so that the contrast is that of the colour as it will be drawn
        darker = mpl.colors.to_rgb(mpl.colors.to_hex((rgb[0] * 0.97, rgb[1] * 0.97, rgb[2] * 0.97)))
        if darker == rgb:  # nearly black: rounding has taken the change back
            darker = (max(rgb[0] - 1 / 255, 0.0), max(rgb[1] - 1 / 255, 0.0), max(rgb[2] - 1 / 255, 0.0))
        rgb = darker
    return mpl.colors.to_hex(rgb)


def _luminance(rgb: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
