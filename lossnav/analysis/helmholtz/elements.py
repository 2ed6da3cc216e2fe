"""Quadratic finite elements on a box, as products of elements on an interval.

On a product grid the Neumann problem −Δφ = ∇·f separates: with the generalised eigenvectors of stiffness and mass of
each axis it is solved by a few small matrix products per axis, in any number of dimensions. Nothing is iterated, and
the constant, which the problem leaves free, is one known mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy

from lossnav._checks import Array


class Axis:
    """Continuous, piecewise quadratic functions on ``cells`` equal cells of an interval, with Gauss points in each."""

    low: float
    cells: int
    width: float
    points: Array
    weights: Array

    def __init__(self, low: float, high: float, cells: int):
        self.low, self.cells, self.width = low, cells, (high - low) / cells
        nodes, weights = np.polynomial.legendre.leggauss(3)  # exact to degree five; products of slopes have two
        self.points = low + self.width * (np.arange(cells)[:, None] + (nodes + 1) / 2).ravel()
        self.weights = np.tile(weights * self.width / 2, cells)

    @cached_property
    def here(self) -> tuple[Array, Array]:
        """The basis and its slopes at the Gauss points."""
        return self.basis(self.points)

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues of stiffness against mass, ascending from the zero of the constant, and eigenvectors."""
        value, derivative = self.here
        weight = self.weights[:, None]
        rates, modes = scipy.linalg.eigh(derivative.T @ (weight * derivative), value.T @ (weight * value))
        return np.maximum(rates, 0.0), modes

    def basis(self, x: Array) -> tuple[Array, Array]:
        """Return all basis functions and their slopes at x, shape (P,): two arrays of shape (P, 2·cells + 1)."""
        cell = np.clip(((x - self.low) / self.width).astype(int), 0, self.cells - 1)
        s = (x - self.low) / self.width - cell
        rows = np.arange(len(x))
        value = np.zeros((len(x), 2 * self.cells + 1))
        derivative = np.zeros_like(value)
        shapes = ((1 - s) * (1 - 2 * s), 4 * s * (1 - s), s * (2 * s - 1))
        derivatives = (4 * s - 3, 4 - 8 * s, 4 * s - 1)
        for offset in range(3):
            value[rows, 2 * cell + offset] = shapes[offset]
            derivative[rows, 2 * cell + offset] = derivatives[offset] / self.width
        return value, derivative


class Grid:
    """The product of axes over a box, shape (D, 2)."""

    axes: list[Axis]

    def __init__(self, box: Array, cells: int):
        self.axes = [Axis(float(low), float(high), cells) for low, high in box]

    @property
    def points(self) -> Array:
        """All Gauss points, shape (n, …, n, D)."""
        return np.stack(np.meshgrid(*(axis.points for axis in self.axes), indexing="ij"), axis=-1)

    def integral(self, values: Array) -> float:
        """Return the integral over the box of values at the Gauss points, shape (n, …, n)."""
        return float(along([axis.weights[None, :] for axis in self.axes], values).item())

    def project(self, values: Array) -> Array:
        """Return the coefficients of the φ, of mean zero, that minimises ∫|f + ∇φ|², for f at the Gauss points."""
        weights = along([axis.weights[:, None] for axis in self.axes], np.ones((1,) * len(self.axes)))
        load = np.zeros([2 * axis.cells + 1 for axis in self.axes])
        for d in range(len(self.axes)):
            test = [axis.here[int(e == d)].T for e, axis in enumerate(self.axes)]
            load -= along(test, weights * values[..., d])
        modes = [axis.eigen[1] for axis in self.axes]
        rates: Array = np.zeros((1,) * len(self.axes))
        for d, axis in enumerate(self.axes):
            rates = rates + axis.eigen[0].reshape([-1 if e == d else 1 for e in range(len(self.axes))])
        amplitude = along([mode.T for mode in modes], load)
        constant = (0,) * len(self.axes)
        rates[constant], amplitude[constant] = 1.0, 0.0
        return along(modes, amplitude / rates)

    def slope(self, coefficients: Array, places: Sequence[Array]) -> Array:
        """Return ∇φ on the product grid of ``places`` (one array of coordinates per axis), shape (…, D)."""
        bases = [axis.basis(x) for axis, x in zip(self.axes, places, strict=True)]
        parts = [along([b[int(e == d)] for e, b in enumerate(bases)], coefficients) for d in range(len(bases))]
        return np.stack(parts, axis=-1)

    def at(self, coefficients: Array, points: Array, axis: int | None = None) -> Array:
        """Return φ, or with ``axis`` its derivative along that axis, at scattered points, shape (P, D): shape (P,)."""
        result = coefficients[None]
        for d, line in enumerate(self.axes):
            rows = line.basis(points[:, d])[int(d == axis)]
            result = np.einsum("pi,pi...->p...", rows, np.broadcast_to(result, (len(points), *result.shape[1:])))
        return result


def along(matrices: Sequence[Array], tensor: Array) -> Array:
    """Return the tensor with one matrix applied along each of its axes."""
    for axis, matrix in enumerate(matrices):
        tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)
    return tensor
