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
_KEPT = 8  # of the extremals that were found last, and of those next to the record


@dataclass(frozen=True)
class _Laws:
    """An extremal's equation, A, B and C, and its ends: where it starts and rests, and the law of its rates there."""

    a: Array
    b: Array
    c: Array
    start: Array
    rest: Array
    rates: Array


@dataclass
class _Solved:
    """An extremal that was found: its coordinates, (P,), its path, (nodes, D), and how far it is from the record.

    ``moves`` are the path's derivatives by the coordinates, (nodes, D, P), once they were asked.
    """

    x: Array
    path: Array
    miss: float
    moves: Array | None = None

    def near(self, x: Array) -> Array:
        """Return about where the path of other coordinates is."""
        return self.path if self.moves is None else self.path + self.moves @ (x - self.x)


@dataclass(eq=False)
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
    _last: list[_Solved] = field(default_factory=list, init=False)  # from which Newton's method begins
    _best: list[_Solved] = field(default_factory=list, init=False)

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
        self._drawn = self.rest + (inner - self.rest) * fade

    def solved(self, x: Array) -> Array:
        """Return places at the record's times, (N, D); NaN if no extremal is found."""
        solved = self._solved(x)
        return np.full_like(self.places, np.nan) if solved is None else self._to_times @ solved.path

    def slopes(self, x: Array) -> Array:
        """Return the derivatives of places by coordinates, (N, D, P); NaN if no extremal is found."""
        solved = self._solved(x)
        if solved is None:
            return np.full((*self.places.shape, len(x)), np.nan)
        if solved.moves is None:
            solved.moves = self._moves(solved)
        return np.tensordot(self._to_times, solved.moves, 1)

    def _solved(self, x: Array) -> _Solved | None:
        """Return the extremal, by Newton's method for the collocation equations from what was found near by."""
        nearest = sorted([*self._last, *self._best], key=lambda known: float(np.linalg.norm(known.x - x)))[:1]
        if nearest and np.array_equal(nearest[0].x, x):
            return nearest[0]
        laws = self._laws(x)
        linear = self._linear(laws)
        for path in (*(known.near(x) for known in nearest), self._drawn):
            factors, last = None, math.inf
            for _ in range(40):
                if factors is None:
                    factors = scipy.linalg.lu_factor(self._matrix(path, linear), check_finite=False)
                move = scipy.linalg.lu_solve(factors, self._equations(path, laws).ravel(), check_finite=False)
                path, length = path - move.reshape(path.shape), float(np.max(np.abs(move)))
                if not math.isfinite(length):
                    break
                if length > 0.1 * last:  # the matrix of a path before does no longer
                    factors = None
                last = length
                if length < 1e-10 * np.max(np.abs(path - self.rest)):
                    found = _Solved(x, path, float(np.linalg.norm(self._to_times @ path - self.places)))
                    # Several extremals may lead from one start to one rest: those next to the record are not forgotten.
                    self._last = [found, *self._last][:_KEPT]
                    self._best = sorted([found, *self._best], key=lambda solved: solved.miss)[:_KEPT]
                    return found
        return None

    def _moves(self, solved: _Solved) -> Array:
        """Return how a path moves with its coordinates, (nodes, D, P): by −(∂F/∂path)⁻¹∂F/∂x, the implicit function.

        The assumptions' ∂F/∂x are differences of A, B, C and the end's law, that of the start is exact.
        """
        x, path, size, dim = solved.x, solved.path, len(solved.x) - self.loss.dim, self.loss.dim
        low, high = self.family.box(self.scale)
        step = 1e-6 * np.eye(size)
        ends = np.concatenate([np.minimum(x[:size] + step, high), np.maximum(x[:size] - step, low)])
        laws = self._laws(np.append(ends, np.tile(x[size:], (2 * size, 1)), axis=1))
        terms = np.stack([self._bend @ path, -self._slope @ path, -path])
        moved = np.tensordot(np.stack([laws.a, laws.b, laws.c], axis=1), terms, 1)
        moved[:, 0] = 0.0
        moved[:, -1] = ((path[-1] - laws.rest)[:, None, :] @ laws.rates)[:, 0]
        width = np.sum(ends[:size] - ends[size:], axis=1)
        sides = np.zeros((path.size, len(x)))
        sides[:, :size] = ((moved[:size] - moved[size:]).reshape(size, -1) / width[:, None]).T
        sides[:dim, size:] = -np.eye(dim)
        matrix = self._matrix(path, self._linear(self._laws(x)))
        factors = scipy.linalg.lu_factor(matrix, check_finite=False)
        return -scipy.linalg.lu_solve(factors, sides, check_finite=False).reshape(_NODES, dim, len(x))

    def _laws(self, x: Array) -> _Laws:
        """Return what coordinates of shape (..., P) say; near the rest θ̇ = −R(θ − rest), with the rates R."""
        size, eye = x.shape[-1] - self.loss.dim, np.eye(self.loss.dim)
        values = {name: value / self.stakes for name, value in self.family.values(x[..., :size], self.scale).items()}
        a, b, c = (values[name] for name in "ABC")
        rest, pulled = np.broadcast_to(self.rest, (*x.shape[:-1], self.loss.dim)), np.asarray(c)[..., None]
        for _ in range(20 if np.any(c) else 0):
            pull = self.loss.gradient(rest) + pulled * rest
            move = np.linalg.solve(self.loss.hessian(rest) + pulled[..., None] * eye, pull[..., None])[..., 0]
            rest = rest - move
            if np.max(np.abs(move)) < 1e-13 * (1 + np.max(np.abs(rest))):
                break
        h, vectors = np.linalg.eigh(self.loss.hessian(rest))
        rates = self.family.rates(h, values)
        return _Laws(a, b, c, x[..., size:], rest, (vectors * rates[..., None, :]) @ np.swapaxes(vectors, -2, -1))

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
