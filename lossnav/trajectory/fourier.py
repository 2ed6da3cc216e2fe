"""Closed curves as trigonometric polynomials through equidistant nodes; the phase runs from 0 to 1."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array


def order(count: int) -> Array:
    """Return the modes' numbers as ``np.fft`` orders them; the highest of an even count, which has no slope, is 0."""
    modes = np.fft.fftfreq(count, 1 / count)
    return np.where(2 * np.abs(modes) < count, modes, 0.0)


def series(nodes: Array, phase: Array, derivative: int) -> Array:
    """Return the trigonometric interpolant of equidistant nodes, shape (N, D), at phases of any shape."""
    modes = order(len(nodes))
    waves = np.exp(2j * np.pi * phase[..., None] * modes) * (2j * np.pi * modes) ** derivative
    return (waves @ np.fft.fft(nodes, axis=0) / len(nodes)).real


def differentiation(count: int) -> tuple[Array, Array]:
    """Return the matrices of the first and second derivative by the phase, shape (N, N) each, N odd."""
    turn = 2j * np.pi * order(count)[:, None]
    modes = np.fft.fft(np.eye(count), axis=0)
    return np.fft.ifft(turn * modes, axis=0).real, np.fft.ifft(turn**2 * modes, axis=0).real


def tail(place: Array) -> float:
    """Return the sum of the highest third of the modes of nodes, shape (N, D): what they do not resolve."""
    modes = np.abs(np.fft.fft(place, axis=0)) / len(place)
    high = np.abs(order(len(place))) > len(place) / 3
    return float(np.sum(modes[high]))


def needed(place: Array) -> int:
    """Return how many nodes, of those given, shape (N, D), leave only rounding in the highest third of the modes."""
    modes = np.max(np.abs(np.fft.fft(place, axis=0)), axis=1)
    highest = np.max(np.abs(order(len(place)))[modes > 1e-11 * np.max(modes)])
    return min(len(place), 3 * int(highest) + 1)
