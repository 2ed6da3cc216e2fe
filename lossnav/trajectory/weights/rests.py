r"""Where an optimal plan comes to rest, and the law by which it gets there from nearby.

In x = (μ, ℓ) the problem is the standard one with the metric G(x) = diag(e^{−ℓ}, ½), so near a minimum of the potential
U the optimal law is the constant-metric one: ẋ = −R(x − x*), R = (γ²/4 + M)^{1/2} − γ/2 with M = ηG⁻¹∇²U.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.weights.averages import Average, Quadratic
from lossnav.problem.weights.problem import Problem
from lossnav.trajectory.modes import slow_rate
from lossnav.trajectory.weights.equations import push

_STEP = 1e-5  # of the central differences for ∇²U
_SPREADS = (-4.0, 0.0, 4.0)  # ln v of the starts, around that of the plan
_WIDEST = 60.0  # |ln v| beyond which descent has lost the loss from sight


@dataclass(frozen=True, eq=False)
class Rest:
    """A minimum of the potential: the place x* = (μ*, ln v*), shape (2D,), the law R, and the potential there."""

    place: Array
    law: Array
    potential: float

    @property
    def slowest(self) -> float:
        """The smallest rate of return, unit 1/T."""
        return float(np.min(np.linalg.eigvals(self.law).real))

    def follow(self, start: Array, t: Array) -> Array:
        """Return the linear law's states at times t, shape (T, 2D)."""
        rates, vectors = np.linalg.eig(self.law)
        weights = np.linalg.solve(vectors, (start - self.place).astype(complex))
        return self.place + ((vectors * weights) @ np.exp(-np.outer(rates, t))).real.T

    def velocity(self, x: Array) -> Array:
        """Return ẋ there, shape (..., 2D)."""
        return -(x - self.place) @ self.law.T


def gradient(problem: Problem, loss: Average, x: Array) -> Array:
    """Return the gradient of the potential in (μ, ℓ), shape (..., 2D)."""
    mu, v = x[..., : loss.dim], np.exp(x[..., loss.dim :])
    slope, bend = push(problem, loss, mu, v)
    return np.concatenate([slope, v * bend], axis=-1)


def summed(problem: Problem, loss: Average, mu: Array, v: Array) -> float:
    """Return the size of what the potential at a rest is a sum of, unit 1/T: its rounding error is in proportion."""
    parsimony = problem.pull * (mu**2 + v) + problem.entropy * (1 + np.abs(np.log(v)))
    return float(problem.k * np.abs(loss.value(mu, v)) + np.sum(parsimony) / 2)


def rests(problem: Problem, loss: Average, start: Array) -> list[Rest]:
    """Return the places in which a plan from ``start`` = (μ, ℓ), shape (2D,), may end, lowest potential first.

    Raises:
        NoMinimiser: if the potential has no minimum near the start or near a centre of the loss.
    """
    places = [_quadratic(problem, loss)] if isinstance(loss, Quadratic) else _search(problem, loss, start)
    found = [_law(problem, loss, place) for place in places]
    if not found:
        raise NoMinimiser(
            "no minimum of the potential was found near the start or a centre of the loss, in mean and variance, so "
            "that no plan comes to rest: without entropy a variance shrinks, on flat ground it grows for ever; "
            "set entropy, a finite prior_variance, or a finite horizon"
        )
    return sorted(found, key=lambda rest: rest.potential)


def _quadratic(problem: Problem, loss: Quadratic) -> Array:
    """Return the rest of a quadratic loss: the ridge solution, and v* of Eq. 149 in each coordinate."""
    stiffness = problem.k * loss.hessian + problem.pull * np.eye(loss.dim)
    lowest = float(np.linalg.eigvalsh(stiffness)[0])
    if problem.entropy == 0 or lowest <= 0:
        raise NoMinimiser(
            f"with entropy = {problem.entropy:g}, prior_variance = {problem.prior_variance:g} and {lowest:.3g} as the "
            "lowest eigenvalue of k·H + entropy/prior_variance no plan comes to rest: both entropy and that eigenvalue "
            "must be > 0, or the horizon finite"
        )
    slope = problem.k * loss.mean_gradient(np.zeros(loss.dim), np.zeros(loss.dim))
    return np.concatenate([-np.linalg.solve(stiffness, slope), np.log(problem.entropy / np.diag(stiffness))])


def _search(problem: Problem, loss: Average, start: Array) -> list[Array]:
    """Return the distinct minima that descent finds from the start and from the centres of the loss."""
    dim = loss.dim
    found: list[Array] = []
    for mean in [start[:dim], *loss.centres()]:
        for shift in _SPREADS:
            guess = np.concatenate([mean, start[dim:] + shift])
            with np.errstate(all="ignore"):  # on flat ground descent runs to infinity
                descent = scipy.optimize.minimize(
                    lambda x: float(problem._potential(loss, x[:dim], np.exp(x[dim:]))),
                    guess,
                    method="BFGS",
                    jac=lambda x: gradient(problem, loss, x),
                    options={"gtol": 1e-9},
                )
            if not np.max(np.abs(descent.x[dim:])) < _WIDEST:
                continue
            place = scipy.optimize.root(lambda x: gradient(problem, loss, x), descent.x, tol=1e-13).x
            still = np.max(np.abs(gradient(problem, loss, place))) < 1e-8 * (problem.k + problem.entropy)
            near = np.max(np.abs(place - descent.x)) < 1e-3
            new = all(np.max(np.abs(place - other)) > 1e-5 for other in found)
            if still and near and new and np.all(np.linalg.eigvalsh(_bend(problem, loss, place)) > 0):
                found.append(place)
    return found


def _bend(problem: Problem, loss: Average, place: Array) -> Array:
    """Return ∇²U in (μ, ℓ), of a quadratic loss exactly, else by central differences of the exact gradient."""
    if isinstance(loss, Quadratic):
        stiffness = problem.k * loss.hessian + problem.pull * np.eye(loss.dim)
        return scipy.linalg.block_diag(stiffness, np.diag(np.exp(place[loss.dim :]) * np.diag(stiffness) / 2))
    steps = _STEP * np.eye(len(place))
    scale = np.concatenate([np.exp(place[loss.dim :] / 2), np.ones(loss.dim)])  # a step in μ is small against √v
    if np.any(_STEP * scale < 1e-11 * np.abs(place)):
        raise NotConverged(
            f"the standard deviation {np.min(scale):.3g} at rest is too small against the mean "
            f"{np.max(np.abs(place)):.3g} to be resolved; shift the origin of the weights towards it"
        )
    rows = [
        (gradient(problem, loss, place + step * scale) - gradient(problem, loss, place - step * scale))
        / (2 * _STEP * size)
        for step, size in zip(steps, scale, strict=True)
    ]
    matrix = np.array(rows)
    return (matrix + matrix.T) / 2


def _law(problem: Problem, loss: Average, place: Array) -> Rest:
    """Return the optimal linear law near a minimum of the potential."""
    dim = loss.dim
    root = np.concatenate([np.exp(place[dim:] / 2), np.full(dim, math.sqrt(2.0))])  # G^{−1/2}
    square = problem.eta * root[:, None] * _bend(problem, loss, place) * root
    stiffness, vectors = np.linalg.eigh(square)
    if np.any(stiffness <= 0):
        raise NoMinimiser(f"the potential is no minimum at rest: curvature {float(stiffness[0]):.3g}")
    rates = slow_rate(stiffness, 1.0, problem.gamma)
    law = root[:, None] * ((vectors * rates) @ vectors.T) / root
    return Rest(place, law, float(problem._potential(loss, place[:dim], np.exp(place[dim:]))))
