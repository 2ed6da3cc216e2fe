"""What the oracles of several explorables share: values along an axis, and the parts of a line that a panel shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.explore._curves import grid, over, points

__all__ = ["circle", "compact", "fixed", "grid", "inside", "over", "points", "rotation", "seen", "shaft", "signed"]


def inside(line: ArrayLike, x: Sequence[float], y: Sequence[float]) -> list[Array]:
    """The parts of a line through points, shape (N, 2), that lie in a panel with these ends."""
    line = np.asarray(line, dtype=float)
    ends = np.sort([[x[0], x[-1]], [y[0], y[-1]]])
    shown = np.all((line >= ends[:, 0]) & (line <= ends[:, 1]), axis=-1)
    edges = np.flatnonzero(np.diff(shown.astype(int))) + 1
    parts = zip(np.split(line, edges), np.split(shown, edges), strict=True)
    return [part for part, held in parts if held[0] and len(part) > 1]


def shaft(start: ArrayLike, way: ArrayLike, edge: float) -> list[Array]:
    """An arrow's shaft in the plane [−edge, edge]², which ends a head's length before its tip or the plane's edge."""
    start, way = np.asarray(start, dtype=float), np.asarray(way, dtype=float)
    room = [(math.copysign(edge, w) - s) / w for s, w in zip(start, way, strict=True) if w]
    way = way * min([1.0, *room])
    length, head = float(np.linalg.norm(way)), edge / 20
    return [np.array([start, start + way * (1 - head / length)])] if length > edge / 200 else []


def seen(widget: Any) -> dict[str, list[Array]]:
    """The lines of an explorable over one axis, as far as their rows show them."""
    shared = widget._shared
    axis, rows = shared["axis"], shared["rows"]
    ends = np.log10(axis["range"]) if axis.get("log") else axis["range"]
    lines = widget.lines()
    return {key: inside(lines[key], ends, rows[line["row"]]["range"]) for key, line in shared["lines"].items()}


def circle(parts: int) -> Array:
    """The corners of a regular polygon on the unit circle, closed, shape (parts + 1, 2)."""
    turn = np.linspace(0, 2 * np.pi, parts + 1)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def rotation(angle: float) -> Array:
    """The matrix that turns by an angle in degrees, shape (2, 2)."""
    turn = math.radians(angle)
    return np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])


def signed(value: float, digits: int) -> str:
    """A number with a true minus sign, as the scripts write it."""
    return f"{value:.{digits}f}".replace("-", "−")


def fixed(value: float, digits: int) -> str:
    return signed(round(float(value), digits) + 0.0, digits)  # + 0.0: no minus before a rounded zero


def compact(value: float) -> str:
    """Three digits, as readouts write them."""
    return fixed(value, 2 - math.floor(math.log10(abs(value))))
