"""Explorables of lines over one axis: values along it, and points as they are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnav._checks import Array


def _along(axis: dict[str, Any], value: float) -> float:
    return float(np.log10(value)) if axis.get("log") else float(value)


def grid(axis: dict[str, Any], count: int = 240) -> Array:
    """Return ``count`` + 1 values of an axis, evenly spaced as it is drawn; without repeats where they are whole."""
    positions = np.linspace(_along(axis, axis["range"][0]), _along(axis, axis["range"][-1]), count + 1)
    values = 10.0**positions if axis.get("log") else positions
    return np.unique(np.floor(values + 0.5)) if axis.get("whole") else values


def points(axis: dict[str, Any], x: Array, y: Array) -> Array:
    """Return points of a line over an axis, shape (N, 2), for values x of it and heights y as drawn."""
    return np.stack([np.log10(x) if axis.get("log") else x, y], axis=1)


def over(axis: dict[str, Any], x: Array, heights: dict[str, Array]) -> dict[str, Array]:
    """Return the points of several lines over the same values of an axis."""
    return {name: points(axis, x, y) for name, y in heights.items()}
