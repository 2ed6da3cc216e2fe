"""A small SVG writer for static twins: panels with axes, lines, dots, arrows and text. Needs no plotting library."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.explore._scripts import stylesheet

Style = dict[str, float | str]
Tick = float | Sequence[Any]

CONTOUR = "#a7acb5"

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def colour(name: str) -> str:
    """Return a colour of the explorables' style sheet in its light theme, e.g. ``colour("optimal")``."""
    found = re.search(rf"--ln-{re.escape(name)}: (#[0-9A-Fa-f]{{6}});", stylesheet())
    if found is None:
        raise ValueError(f"name = {name!r}, but it must be a colour --ln-… of explorable.css")
    return found[1]


class Panel(NamedTuple):
    """A rectangle of the picture, in pixels, and the data range it shows."""

    box: tuple[float, float, float, float]  # left, top, right, bottom
    x: tuple[float, float]
    y: tuple[float, float]  # value at the bottom, value at the top

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a data point."""
        left, top, right, bottom = self.box
        u = (x - self.x[0]) / (self.x[1] - self.x[0])
        v = (y - self.y[0]) / (self.y[1] - self.y[0])
        return left + u * (right - left), bottom + v * (top - bottom)


class Picture:
    """An SVG document under construction, with its title; every method adds to it."""

    def __init__(self, width: int, height: int, title: str = ""):
        self._size = (width, height)
        self._parts: list[str] = []
        self._ink, self._soft, self._rule = colour("ink"), colour("soft"), colour("rule")
        if title:
            self.text(46, 22, title, font_size=17, font_weight="bold")

    def add(self, tag: str, words: str = "", /, **attributes: float | str) -> None:
        """Add an element; underscores in attribute names stand for hyphens, numbers are cut to 0.01 pixel."""
        pairs = "".join(f' {name.replace("_", "-")}="{_plain(value)}"' for name, value in attributes.items())
        self._parts.append(f"<{tag}{pairs}>{html.escape(words)}</{tag}>" if words else f"<{tag}{pairs}/>")

    def text(self, x: float, y: float, words: str, **attributes: float | str) -> None:
        """Write one line of text with its baseline at (x, y)."""
        style: Style = {"x": x, "y": y, "fill": self._ink, "font_size": 13.0, **attributes}
        self.add("text", words, **style)

    def frame(self, panel: Panel, title: str, xticks: Sequence[Tick], yticks: Sequence[Tick], xlabel: str) -> None:
        """Draw a panel's background, title and tick labels; a tick is a value, or (value, label)."""
        left, top, right, bottom = panel.box
        self.add("rect", x=left, y=top, width=right - left, height=bottom - top, fill=colour("panel"))
        self.text(left, top - 8, title, fill=self._soft)
        tick: Style = {"fill": self._soft, "font_size": 12.0}
        for value, label in map(_labelled, yticks):
            y = panel.at(panel.x[0], value)[1]
            self.add("line", x1=left, x2=right, y1=y, y2=y, stroke=self._rule)
            self.text(left - 6, y + 4, label, **tick, text_anchor="end")
        for value, label in map(_labelled, xticks):
            x = panel.at(value, panel.y[0])[0]
            self.add("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, stroke=self._soft)
            self.text(x, bottom + 17, label, **tick, text_anchor="middle")
        self.text((left + right) / 2, bottom + 34, xlabel, text_anchor="middle", fill=self._soft)

    def square(self, size: float, edge: float, ticks: Sequence[Tick], across: str, up: str) -> Panel:
        """Draw the frame of the plane [−edge, edge]² of two weights, ``size`` pixels wide, and return its panel."""
        panel = Panel((46, 56, 46 + size, 56 + size), (-edge, edge), (-edge, edge))
        self.frame(panel, up, ticks, ticks, across)
        return panel

    def line(
        self,
        panel: Panel,
        points: Iterable[Sequence[float]],
        stroke: str,
        width: float = 2.0,
        dash: str = "none",
        name: str = "",
    ) -> None:
        """Draw a line through data points; ``name`` is that of the script's line, which tests compare with it."""
        pixels = (panel.at(float(x), float(y)) for x, y in points)
        path = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(pixels))
        style: Style = {"stroke": stroke, "stroke_width": width, "stroke_dasharray": dash}
        self.add("path", d=path, fill="none", stroke_linejoin="round", **style, **_curve(name, panel))

    def inside(
        self, panel: Panel, points: ArrayLike, stroke: str, width: float = 2.0, dash: str = "none", name: str = ""
    ) -> None:
        """Draw the parts of a line through data points, shape (N, 2), that lie in the panel."""
        line = np.asarray(points, dtype=float)
        low, high = (np.array([pick(panel.x), pick(panel.y)]) for pick in (min, max))
        shown = np.all((line >= low) & (line <= high), axis=-1)
        edges = np.flatnonzero(np.diff(shown.astype(int))) + 1
        for part, seen in zip(np.split(line, edges), np.split(shown, edges), strict=True):
            if seen[0] and len(part) > 1:
                self.line(panel, part, stroke, width, dash, name)

    def legend(self, x: float, y: float, words: str, stroke: str, dash: str = "none") -> None:
        """Write a legend's row: a piece of a line and its name, with the baseline at (x, y)."""
        style: Style = {"stroke": stroke, "stroke_width": 2.6, "stroke_dasharray": dash}
        self.add("line", x1=x, x2=x + 28, y1=y - 4, y2=y - 4, **style)
        self.text(x + 36, y, words)

    def dot(self, panel: Panel, x: float, y: float, fill: str, radius: float = 5.0) -> None:
        """Draw a data point."""
        cx, cy = panel.at(x, y)
        self.add("circle", cx=cx, cy=cy, r=radius, fill=fill, stroke="#ffffff", stroke_width=1.5)

    def contours(self, panel: Panel, curvatures: ArrayLike) -> None:
        """Draw the contours ½Σhᵢθᵢ² = level²/2 of a bowl about the origin."""
        for level in np.arange(0.5, 5.0, 0.5):
            self.inside(panel, level * circle(360) / np.sqrt(curvatures), CONTOUR, 1.0)

    def arrow(
        self, panel: Panel, start: ArrayLike, end: ArrayLike, stroke: str, dash: str = "none", name: str = ""
    ) -> None:
        """Draw an arrow between data points, cut at the panel's edge."""
        (x0, y0), (x1, y1) = (panel.at(*map(float, np.asarray(point))) for point in (start, end))
        left, top, right, bottom = panel.box
        share = 1.0
        for delta, low, high, origin in ((x1 - x0, left, right, x0), (y1 - y0, top, bottom, y0)):
            if delta:
                share = min(share, ((high if delta > 0 else low) - origin) / delta)
        dx, dy = (x1 - x0) * share, (y1 - y0) * share
        length = math.hypot(dx, dy)
        tip = (x0 + dx, y0 + dy)
        if length < 1:
            return
        ux, uy = dx / length, dy / length
        bx, by = tip[0] - 10 * ux, tip[1] - 10 * uy
        style: Style = {"stroke": stroke, "stroke_width": 2.2, "stroke_dasharray": dash}
        self.add("line", x1=x0, y1=y0, x2=bx, y2=by, **style, **_curve(name, panel))
        corners = (tip, (bx - 4.2 * uy, by + 4.2 * ux), (bx + 4.2 * uy, by - 4.2 * ux))
        self.add("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), fill=stroke)

    def svg(self) -> str:
        """Return the document."""
        width, height = self._size
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="{_FONT}">\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
        )


def _curve(name: str, panel: Panel) -> Style:
    """Return what names a line, and says at which pixels the data's origin and (1, 1) lie."""
    if not name:
        return {}
    return {"data_curve": name, "data_units": " ".join(_plain(v) for point in (0, 1) for v in panel.at(point, point))}


def _plain(value: float | str) -> str:
    return html.escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _labelled(tick: Tick) -> tuple[float, str]:
    return (tick, _number(tick)) if isinstance(tick, (int, float)) else (tick[0], tick[1])


def circle(parts: int) -> Array:
    """Return the corners of a regular polygon on the unit circle, closed, shape (parts + 1, 2)."""
    turn = np.linspace(0, 2 * np.pi, parts + 1)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def rotation(angle: float) -> Array:
    """Return the matrix that turns by an angle in degrees, shape (2, 2)."""
    turn = math.radians(angle)
    return np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])


def signed(value: float, digits: int) -> str:
    """Return a number with a true minus sign, as the scripts write it."""
    return f"{value:.{digits}f}".replace("-", "−")
