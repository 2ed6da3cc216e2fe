"""The gains of a problem whose matrices need not commute: Riccati, Sylvester, and one matrix exponential."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser
from lossnav.problem import drifts
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import riccati


class Matrices(NamedTuple):
    """G, H, J and 𝐀, each of shape (D, D)."""

    metric: Array
    hessian: Array
    jacobian: Array
    fading: Array


class Law(NamedTuple):
    """θ̇ = f + closed @ δ − held @ (m, ṁ), with f replaced by ``free`` @ f; ``belief`` is 𝐀 of (m, ṁ)."""

    closed: Array
    free: Array
    held: Array
    belief: Array


def law(objective: Objective, case: Matrices, trend: bool) -> Law:
    """Return the optimal first-order law.

    Raises:
        NoMinimiser: where there is none, or a belief has a component along which J falls without bound.
    """
    dim, gamma, eta = len(case.metric), objective.gamma, objective.eta
    value = _value_matrix(objective, case)
    inverse = np.linalg.inv(case.metric)
    damping = gamma * np.eye(dim) - case.jacobian.T + eta * value @ inverse
    _require(damping, case.fading, gamma, flat=not case.hessian.any())
    first = scipy.linalg.solve_sylvester(damping, case.fading, objective.k * np.eye(dim))
    held, belief = first, case.fading
    if trend:
        held = np.hstack([first, scipy.linalg.solve_sylvester(damping, case.fading, first)])
        belief = np.block([[case.fading, -np.eye(dim)], [np.zeros((dim, dim)), case.fading]])
    free = np.eye(dim)
    if value.any() and objective.drift is not None:
        free = free - eta * inverse @ np.linalg.solve(damping, value)
    return Law(case.jacobian - eta * inverse @ value, free, eta * inverse @ held, belief)


def velocity(found: Law, drift: Array, beliefs: Array) -> Array:
    """Return θ̇ at δ = 0."""
    return found.free @ drift - found.held @ beliefs


def step(found: Law, dt: float, drift: Array, beliefs: Array) -> Array:
    """Return the exact displacement over Δt: one exponential of the flow of (δ, beliefs, 1)."""
    dim, size = len(drift), len(beliefs)
    flow = np.zeros((dim + size + 1,) * 2)
    flow[:dim, :dim], flow[:dim, dim:-1], flow[:dim, -1] = found.closed, -found.held, found.free @ drift
    flow[dim:-1, dim:-1] = -found.belief
    return scipy.linalg.expm(dt * flow)[:dim] @ np.concatenate([np.zeros(dim), beliefs, [1.0]])


def _value_matrix(objective: Objective, case: Matrices) -> Array:
    """Return P; without curvature it is 0, also where the drift grows."""
    dim = len(case.metric)
    if not case.hessian.any():
        return np.zeros((dim, dim))
    drift = drifts.Linear(case.jacobian) if case.jacobian.any() else None
    local = Objective(objective.eta, objective.k, objective.gamma, case.metric, drift)
    loss = Quadratic(case.hessian, minimum=np.zeros(dim))
    return riccati.local_value(local, loss, np.zeros(dim)).matrix


def _require(damping: Array, fading: Array, gamma: float, flat: bool) -> None:
    """Raise unless forecasts are discounted: each sum of an eigenvalue of M and one of 𝐀 has a real part > 0."""
    rates, fades = np.linalg.eigvals(damping), np.linalg.eigvals(fading)
    least = float(rates.real.min() + fades.real.min())
    if flat:
        least = min(least, gamma + float(fades.real.min()))
    if least <= 1e-13 * max(float(np.abs(rates).max()), float(np.abs(fades).max())):
        raise NoMinimiser(
            f"no minimiser: curvature, gamma = {gamma:g} and fading discount a forecast at the rate {least:.3g}, but "
            "it must be > 0: give a curvature, a larger gamma, or a belief that fades faster"
        )
