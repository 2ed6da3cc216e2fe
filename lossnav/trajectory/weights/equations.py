r"""The Euler–Lagrange equations of Sec. 6 as functions of the state, in the variance v and in ℓ = ln v (Eqs. 144–148).

They are boundary-value problems: a path that comes to rest follows the decaying branch, on which the response to a
force is :math:`\dot v\approx-\text{force}/\gamma`. A *negative* term on the right-hand side *raises* v.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.weights.averages import Average
from lossnav.problem.weights.problem import Problem, check_average, check_problem


def momentum(
    problem: Problem, variance: ArrayLike, mean_rate: ArrayLike, variance_rate: ArrayLike, t: float = 0.0
) -> tuple[Array, Array]:
    r"""Return the momenta :math:`e^{-\gamma t}\dot\mu/\eta v` and :math:`e^{-\gamma t}\dot v/2\eta v^2` of Eq. 144."""
    check_problem(problem)
    v = _checks.positives("variance", variance)
    v, mu_dot, v_dot = _arrays(variance=v, mean_rate=mean_rate, variance_rate=variance_rate)
    scale = math.exp(-problem.gamma * _checks.finite("t", t)) / problem.eta
    return scale * mu_dot / v, scale * v_dot / (2 * v**2)


def force(
    problem: Problem,
    loss: Average,
    mean: ArrayLike,
    variance: ArrayLike,
    mean_rate: ArrayLike,
    variance_rate: ArrayLike,
    t: float = 0.0,
) -> tuple[Array, Array]:
    """Return the right-hand sides of Eq. 144, ∂ℒ/∂μ and ∂ℒ/∂v, shape (..., D) each."""
    mu, v, mu_dot, v_dot = _state(problem, loss, mean, variance, mean_rate, variance_rate)
    slope, bend = push(problem, loss, mu, v)
    scale = math.exp(-problem.gamma * _checks.finite("t", t))
    return scale * slope, scale * (bend - (mu_dot**2 / v**2 + v_dot**2 / v**3) / (2 * problem.eta))


def drive(problem: Problem, loss: Average, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    """Return the derivatives of the potential, k∂L̄/∂μ + λ_Sμ/v_p and k∂L̄/∂v − λ_S/2v + λ_S/2v_p, shape (..., D)."""
    return push(problem, loss, *_place(problem, loss, mean, variance))


def push(problem: Problem, loss: Average, mu: Array, v: Array) -> tuple[Array, Array]:
    """Return what ``drive`` does, unchecked: solvers pass through states that no one would call valid."""
    slope = problem.k * loss.mean_gradient(mu, v) + problem.pull * mu
    bend = problem.k * loss.variance_gradient(mu, v) + (problem.pull - problem.entropy / v) / 2
    return slope, bend


def acceleration(
    problem: Problem,
    loss: Average,
    mean: ArrayLike,
    variance: ArrayLike,
    mean_rate: ArrayLike,
    variance_rate: ArrayLike,
) -> tuple[Array, Array]:
    r"""Return (μ̈, v̈) of the Euler–Lagrange equations, shape (..., D) each.

    .. math::
        \ddot\mu = (\gamma+\dot v/v)\,\dot\mu + \eta k\,v\,\partial_\mu\bar L,\qquad
        \ddot v = \gamma\dot v + 2\eta k\,v^2\,\partial_v\bar L - \eta\lambda_S v + \dot v^2/v - \dot\mu^2

    With a prior, + ηλ_S vμ/v_p and + ηλ_S v²/v_p.

    Args:
        problem: the assumptions.
        loss: an averaged loss, from ``average``.
        mean: μ, shape (..., D), unit u.
        variance: v > 0, shape (..., D), unit u².
        mean_rate: μ̇.
        variance_rate: v̇.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 15, 16, 145, 147.
    """
    mu, v, mu_dot, v_dot = _state(problem, loss, mean, variance, mean_rate, variance_rate)
    mu_up, ell_up = _log_acceleration(problem, loss, mu, v, mu_dot, v_dot / v)
    return mu_up, v * ell_up + v_dot**2 / v


def log_acceleration(
    problem: Problem, loss: Average, mean: ArrayLike, log_variance: ArrayLike, mean_rate: ArrayLike, log_rate: ArrayLike
) -> tuple[Array, Array]:
    r"""Return (μ̈, ℓ̈) for ℓ = ln v: the force v̇²/v is gone, it belongs to the coordinate and not to the problem.

    .. math:: \ddot\mu = (\gamma+\dot\ell)\,\dot\mu + \eta k\,e^\ell\,\partial_\mu\bar L,\qquad
        \ddot\ell = \gamma\dot\ell + 2\eta k\,e^\ell\,\partial_v\bar L - \eta\lambda_S - \dot\mu^2e^{-\ell}
    """
    _check(problem, loss)
    mu, ell, mu_dot, ell_dot = _arrays(
        loss.dim, mean=mean, log_variance=log_variance, mean_rate=mean_rate, log_rate=log_rate
    )
    return _log_acceleration(problem, loss, mu, np.exp(ell), mu_dot, ell_dot)


def _log_acceleration(
    problem: Problem, loss: Average, mu: Array, v: Array, mu_dot: Array, ell_dot: Array
) -> tuple[Array, Array]:
    slope, bend = push(problem, loss, mu, v)
    return (
        (problem.gamma + ell_dot) * mu_dot + problem.eta * v * slope,
        problem.gamma * ell_dot + 2 * problem.eta * v * bend - mu_dot**2 / v,
    )


def overdamped_rate(problem: Problem, loss: Average, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    r"""Return (μ̇, v̇) in the limit of a myopic learner (Eq. 148), shape (..., D) each.

    .. math:: \gamma\dot\mu = -\eta k\,v\,\partial_\mu\bar L,\qquad
        \gamma\dot v = \eta\lambda_S v - 2\eta k\,v^2\,\partial_v\bar L

    Valid for γ² ≫ 4ηλ_S; the relative error falls as 1/γ².

    Raises:
        ValueError: if γ = 0, or a variance is not positive.
    """
    mu, v = _place(problem, loss, mean, variance)
    gamma = _checks.positive("problem.gamma", problem.gamma)
    slope, bend = push(problem, loss, mu, v)
    return -problem.eta * v * slope / gamma, -2 * problem.eta * v**2 * bend / gamma


def _check(problem: Problem, loss: Average) -> None:
    check_problem(problem)
    check_average(loss)


def _place(problem: Problem, loss: Average, mean: ArrayLike, variance: ArrayLike) -> list[Array]:
    _check(problem, loss)
    return _arrays(loss.dim, mean=mean, variance=_checks.positives("variance", variance))


def _state(
    problem: Problem, loss: Average, mean: ArrayLike, variance: ArrayLike, mean_rate: ArrayLike,
    variance_rate: ArrayLike,
) -> list[Array]:  # fmt: skip
    _check(problem, loss)
    return _arrays(
        loss.dim,
        mean=mean,
        variance=_checks.positives("variance", variance),
        mean_rate=mean_rate,
        variance_rate=variance_rate,
    )


def _arrays(dim: int | None = None, **named: ArrayLike) -> list[Array]:
    """Return finite arrays that broadcast, with ``dim`` of shape (..., D)."""
    found = {name: _checks.array(name, value) for name, value in named.items()}
    for name, value in found.items():
        if dim is not None:
            _checks.points(name, value, dim)
    _checks.together(**found)
    return list(found.values())
