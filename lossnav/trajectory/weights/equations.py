r"""The Euler–Lagrange equations of Sec. 6 as functions of the state, in the variance v and in ℓ = ln v (Eqs. 145–148).

They are those of ``Problem.objective`` and ``Problem.loss``, which are stated in ℓ. As boundary-value problems: a path
that comes to rest follows the decaying branch, on which the response to a force is
:math:`\dot v\approx-\text{force}/\gamma`. A *negative* term on the right-hand side *raises* v.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.weights.averages import Average
from lossnav.problem.weights.potential import Potential
from lossnav.problem.weights.problem import Problem, check_average, check_problem, check_state
from lossnav.trajectory import motion

_FARTHEST = -math.log(sys.float_info.min)  # of ln v from 0: both v and 1/v, which the Fisher metric has, are floats


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

    Raises:
        ValueError: naming the argument that is wrong.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 15, 16, 145, 147.
    """
    _check(problem, loss)
    mu, v, mu_dot, v_dot = check_state(
        loss.dim, mean=mean, variance=variance, mean_rate=mean_rate, variance_rate=variance_rate
    )
    ell = _invertible("variance", variance, np.log(v))
    mu_up, ell_up = log_acceleration(problem, loss, mu, ell, mu_dot, v_dot / v)
    return mu_up, v * ell_up + v_dot**2 / v


def log_acceleration(
    problem: Problem, loss: Average, mean: ArrayLike, log_variance: ArrayLike, mean_rate: ArrayLike, log_rate: ArrayLike
) -> tuple[Array, Array]:
    r"""Return (μ̈, ℓ̈) for ℓ = ln v: the force v̇²/v is gone, it belongs to the coordinate and not to the problem.

    .. math:: \ddot\mu = (\gamma+\dot\ell)\,\dot\mu + \eta k\,e^\ell\,\partial_\mu\bar L,\qquad
        \ddot\ell = \gamma\dot\ell + 2\eta k\,e^\ell\,\partial_v\bar L - \eta\lambda_S - \dot\mu^2e^{-\ell}

    Args:
        problem, loss, mean: as in ``acceleration``.
        log_variance: ℓ, shape (..., D), of v in u²; v and 1/v must be floats: |ℓ| <= 708.396.
        mean_rate: μ̇, unit u/T.
        log_rate: ℓ̇, unit 1/T.

    Returns:
        Two arrays, shape (..., D) each.

    Raises:
        ValueError: naming the argument that is wrong.
    """
    _check(problem, loss)
    arguments = {"mean": mean, "log_variance": log_variance, "mean_rate": mean_rate, "log_rate": log_rate}
    parts = [_checks.points(name, _checks.array(name, value), loss.dim) for name, value in arguments.items()]
    _checks.together(**dict(zip(arguments, parts, strict=True)))
    mu, ell, mu_dot, ell_dot = np.broadcast_arrays(*parts)
    _invertible("log_variance", log_variance, ell)
    theta, velocity = np.concatenate([mu, ell], axis=-1), np.concatenate([mu_dot, ell_dot], axis=-1)
    gradient = problem.loss(loss).gradient(theta)
    mu_up, ell_up = np.split(motion.acceleration(problem.objective(loss.dim), theta, velocity, gradient), 2, axis=-1)
    return mu_up, ell_up


def overdamped_rate(problem: Problem, loss: Average, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    r"""Return (μ̇, v̇) in the limit of a myopic learner (Eq. 148).

    .. math:: \gamma\dot\mu = -\eta k\,v\,\partial_\mu\bar L,\qquad
        \gamma\dot v = \eta\lambda_S v - 2\eta k\,v^2\,\partial_v\bar L

    Valid for γ² ≫ 4ηλ_S; the relative error falls as 1/γ².

    Args:
        problem, loss, mean, variance: as in ``acceleration``.

    Returns:
        Two arrays, shape (..., D) each.

    Raises:
        ValueError: if γ = 0, or a variance is not positive.
    """
    _check(problem, loss)
    mu, v = np.broadcast_arrays(*check_state(loss.dim, mean=mean, variance=variance))
    _checks.positive("problem.gamma", problem.gamma)
    mean_rate, log_rate = np.split(flow(problem, problem.loss(loss), np.concatenate([mu, np.log(v)], -1)), 2, -1)
    return mean_rate, v * log_rate


def flow(problem: Problem, stay: Potential, theta: Array) -> Array:
    """Return θ̇ = −(ηk/γ)G⁻¹∇L of a myopic learner at θ = (μ, ℓ), shape (..., 2D) both."""
    by_mean, by_spread = np.split(stay.gradient(theta), 2, axis=-1)
    variance = np.exp(theta[..., by_mean.shape[-1] :])
    return -problem.eta * problem.k / problem.gamma * np.concatenate([variance * by_mean, 2 * by_spread], axis=-1)


def _invertible(name: str, argument: ArrayLike, ell: Array) -> Array:
    if np.any(np.abs(ell) > _FARTHEST):
        raise ValueError(
            f"{name} = {_checks.shown(argument)}, but variances must be within "
            f"[{sys.float_info.min:.3g}, {1 / sys.float_info.min:.3g}], so that their inverses are floats"
        )
    return ell


def _check(problem: Problem, loss: Average) -> None:
    check_problem(problem)
    check_average(loss)
