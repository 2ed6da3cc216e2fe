r"""Extremals of J that come to rest, for a loss of any shape: :math:`A\ddot\theta=B\dot\theta+\nabla L+C\theta`.

The path is a polynomial through Chebyshev's points on a time that ends late: it begins at a start, and at its end obeys
the linear law of the place where it rests. Newton's method solves for it, and the same matrix gives its derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.analysis.inference.families import Planner, Scale
from lossnav.problem.losses import Loss

_NODES = 64


@dataclass(frozen=True)
class _Laws:
    """An extremal's equation, A, B and C, and its ends: where it starts and rests, and the law of its rates there."""

    a: float
    b: float
    c: float
    start: Array
    rest: Array
    rates: Array


@dataclass
class Extremal:
    """The extremal into one rest, as a function of a family's coordinates and the start.

    Args:
        family, scale: what the first coordinates mean; the last D are the start.
        loss: of D parameters.
        stakes: what multiplies k in this recording.
        rest: a minimum of the loss.
        times, places: the record, whose places begin Newton's method.
        late: how long after the record the polynomial ends.
    """

    family: Planner
    scale: Scale
    loss: Loss
    stakes: float
    rest: Array
    times: Array
    places: Array
    late: float
    _path: Array = field(init=False)

    def __post_init__(self) -> None:
        end = self.times[-1] - self.times[0] + self.late
        angle = np.pi * np.arange(_NODES) / (_NODES - 1)
        nodes = end * (1 - np.cos(angle)) / 2
        weight = (-1.0) ** np.arange(_NODES)
        weight[[0, -1]] /= 2
        gap = nodes[:, None] - nodes + np.eye(_NODES)
        derivative = weight / weight[:, None] / gap
        np.fill_diagonal(derivative, 0.0)
        np.fill_diagonal(derivative, -derivative.sum(axis=1))
        self._slope, self._bend = derivative, derivative @ derivative
        away = (self.times - self.times[0])[:, None] - nodes
        hit = np.abs(away) < 1e-12 * end
        share = weight / np.where(hit, 1.0, away)
        self._to_times = np.where(hit.any(axis=1)[:, None], hit.astype(float), share / share.sum(axis=1)[:, None])
        seen = np.minimum(nodes, nodes[-1] - self.late)
        inner = np.stack([np.interp(seen, self.times - self.times[0], column) for column in self.places.T], axis=1)
        fade = np.exp(-3 * np.maximum(nodes - seen, 0.0) / max(self.late, 1e-300))[:, None]
        self._path = self.rest + (inner - self.rest) * fade
        self._last: tuple[bytes, Array, Array] | None = None

    def solved(self, x: Array) -> tuple[Array, Array]:
        """Return places at the record's times, (N, D), and their derivatives by coordinates, (N, D, P); NaN if none."""
        if self._last is not None and self._last[0] == x.tobytes():
            return self._last[1], self._last[2]
        size, dim = len(x) - self.loss.dim, self.loss.dim
        laws, path, settled = self._laws(x), self._path.copy(), False
        linear = self._linear(laws)
        # Newton's method for the collocation equations, from the path of the last call.
        for _ in range(25):
            factors = scipy.linalg.lu_factor(self._matrix(path, linear), check_finite=False)
            move = scipy.linalg.lu_solve(factors, self._equations(path, laws).ravel(), check_finite=False)
            path = path - move.reshape(path.shape)
            if not np.all(np.isfinite(path)):
                break
            if np.max(np.abs(move)) < 1e-10 * np.max(np.abs(path - self.rest)):
                settled = True
                break
        if not settled:
            return np.full((len(self.times), dim), np.nan), np.full((len(self.times), dim, len(x)), np.nan)
        self._path = path
        # The implicit function: the path moves by −(∂F/∂path)⁻¹∂F/∂x, the assumptions by differences, the start
        # exactly.
        sides = np.zeros((path.size, len(x)))
        low, high = self.family.box(self.scale)
        for i in range(size):
            up, down = x.copy(), x.copy()
            up[i], down[i] = min(x[i] + 1e-6, high[i]), max(x[i] - 1e-6, low[i])
            above, below = (self._equations(path, self._laws(end)) for end in (up, down))
            sides[:, i] = ((above - below) / (up - down)[i]).ravel()
        sides[:dim, size:] = -np.eye(dim)
        # The last step was of 1e-10: its factors are those of the path.
        by = -scipy.linalg.lu_solve(factors, sides, check_finite=False).reshape(_NODES, dim, len(x))
        places, derivatives = self._to_times @ path, np.tensordot(self._to_times, by, 1)
        self._last = (x.tobytes(), places, derivatives)
        return places, derivatives

    def _laws(self, x: Array) -> _Laws:
        """Return what coordinates say: A, B, C, the start, where the path rests, and its law there."""
        size = len(x) - self.loss.dim
        values = self.family.values(x[:size], self.scale)
        a, b, c = (values[name] / self.stakes for name in "ABC")
        return _Laws(a, b, c, x[size:], *self._end(c, a, b))

    def _end(self, c: float, a: float, b: float) -> tuple[Array, Array]:
        """Return where the path rests, and the law R of θ̇ = −R(θ − rest) near it."""
        rest, eye = self.rest, np.eye(self.loss.dim)
        for _ in range(20 if c else 0):
            pull = self.loss.gradient(rest) + c * rest
            move = np.linalg.solve(self.loss.hessian(rest) + c * eye, pull)
            rest = rest - move
            if np.max(np.abs(move)) < 1e-13 * (1 + np.max(np.abs(rest))):
                break
        h, vectors = np.linalg.eigh(self.loss.hessian(rest))
        rates = self.family.rates(h, {"A": a, "B": b, "C": c})
        return rest, (vectors * rates) @ vectors.T

    def _equations(self, path: Array, laws: _Laws) -> Array:
        residual = (laws.a * self._bend - laws.b * self._slope) @ path - self.loss.gradient(path) - laws.c * path
        residual[0] = path[0] - laws.start
        residual[-1] = self._slope[-1] @ path + (path[-1] - laws.rest) @ laws.rates.T
        return np.asarray(residual)

    def _linear(self, laws: _Laws) -> Array:
        """Return the derivatives of the equations by the path without those of the loss, (nodes, D, nodes, D)."""
        eye = np.eye(self.loss.dim)
        jacobian = np.multiply.outer(laws.a * self._bend - laws.b * self._slope, eye).swapaxes(1, 2)
        each = np.arange(_NODES)
        jacobian[each, :, each, :] -= laws.c * eye
        jacobian[0], jacobian[-1] = 0.0, np.multiply.outer(self._slope[-1], eye).swapaxes(0, 1)
        jacobian[0, :, 0, :] = eye
        jacobian[-1, :, -1, :] += laws.rates
        return np.ascontiguousarray(jacobian)

    def _matrix(self, path: Array, linear: Array) -> Array:
        """Return all of them, shape (nodes·D, nodes·D)."""
        jacobian, inner = linear.copy(), np.arange(1, _NODES - 1)
        jacobian[inner, :, inner, :] -= self.loss.hessian(path[1:-1])
        return jacobian.reshape(path.size, path.size)


def lateness(family: Planner, values: dict[str, float], curvature: Array, span: float) -> float:
    """Return how long a path still takes to its rest after a record of length ``span``: three of its slowest times."""
    rates = family.rates(curvature, values)
    slow = float(np.min(rates[rates > 0], initial=math.inf))
    return float(np.clip(3 / slow if slow < math.inf else span, span, 10 * span))
