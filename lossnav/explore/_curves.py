"""Explorables of lines over one axis: their constants say which, and both languages draw them from there."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore.base import Explorable

_TALL, _GAP = 190, 44  # pixels: of a row, and between two


class Curves(Explorable):
    """Lines over one axis, in rows that share it, with a mark along it; the constants say which, as curves.js reads."""

    def lines(self) -> dict[str, Array]:
        """Return each line's points as drawn, shape (N, 2): logarithms to base 10 where an axis is logarithmic."""
        raise TypeError(f"{type(self).__name__} does not define lines()")

    def picture(self) -> str:
        """Return the lines at the present state, as an SVG document."""
        shared = self._shared
        rows, lines, axis = shared["rows"], self.lines(), shared["axis"]
        bottom = 56 + len(rows) * (_TALL + _GAP) - _GAP
        image = Picture(720, bottom + 60 + 24 * -(-len(lines) // 2), shared["title"])
        ends = _along(axis, axis["range"][0]), _along(axis, axis["range"][-1])
        for place, (name, row) in enumerate(rows.items()):
            top = 56 + place * (_TALL + _GAP)
            panel = Panel((46, top, 706, top + _TALL), ends, (row["range"][0], row["range"][-1]))
            last = place == len(rows) - 1
            ticks = [(_along(axis, value), words) for value, words in axis["ticks"]] if last else []
            image.frame(panel, row["title"], ticks, row["ticks"], axis["name"] if last else "")
            mark = _along(axis, getattr(self, axis["trait"]))
            image.line(panel, [(mark, panel.y[0]), (mark, panel.y[1])], colour("neutral"), 1.0)
            for key, line in shared["lines"].items():
                if line["row"] == name:
                    image.inside(panel, lines[key], colour(line["tint"]), 2.4, line["dash"], key)
        for place, (key, line) in enumerate(shared["lines"].items()):
            x, y = 46 + 340 * (place % 2), bottom + 62 + 24 * (place // 2)
            image.legend(x, y, line["name"], colour(shared["lines"][key]["tint"]), line["dash"])
        return image.svg()


def _along(axis: dict[str, Any], value: float) -> float:
    return float(np.log10(value)) if axis.get("log") else float(value)


def grid(axis: dict[str, Any], count: int = 240) -> Array:
    """Return ``count`` + 1 values of an axis, evenly spaced as it is drawn; without repeats where they are whole."""
    found = np.linspace(_along(axis, axis["range"][0]), _along(axis, axis["range"][-1]), count + 1)
    values = 10.0**found if axis.get("log") else found
    return np.unique(np.floor(values + 0.5)) if axis.get("whole") else values


def points(axis: dict[str, Any], x: Array, y: Array) -> Array:
    """Return points of a line over an axis, shape (N, 2), for values x of it and heights y as drawn."""
    return np.stack([np.log10(x) if axis.get("log") else x, y], axis=1)


def over(axis: dict[str, Any], x: Array, heights: dict[str, Array]) -> dict[str, Array]:
    """Return the points of several lines over the same values of an axis."""
    return {name: points(axis, x, y) for name, y in heights.items()}
