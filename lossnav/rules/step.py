r"""Learning rules: the step that the optimal path takes in a time Δt, and the three rules that are its limits.

.. math:: \Delta\theta = -\{I-e^{-R\Delta t}\}H^{-1}g,\qquad R = (\tfrac{\gamma^2}4I+\eta kG^{-1}H)^{1/2}-\tfrac\gamma2I

(Eq. 6, with a metric Eq. 10). Computed as :math:`-X\varphi(h)X^\top g` with one eigendecomposition
HX = GX diag(h) and a form of φ that neither inverts H nor cancels. All functions share one signature.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.problem.objective import Objective, check_objective
from lossnav.rules import charged
from lossnav.trajectory import modes


@overload
def update(
    objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float, *, velocity: None = None,
    limit: str | None = None,
) -> Array: ...  # fmt: skip


@overload
def update(
    objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float, *, velocity: ArrayLike
) -> tuple[Array, Array]: ...


def update(
    objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float, *, velocity: Any = None,
    limit: str | None = None,
) -> Any:  # fmt: skip
    r"""Return the optimal displacement after a time ``dt`` on the local quadratic model (Eqs. 6, 10, 82).

    Args:
        objective: η, k, γ, constant metric G, no drift; a finite horizon is the time still left (Eq. 51), at whose end
            ``terminal`` is charged.
        gradient: g at the current parameters, shape (D,).
        hessian: H there, shape (D, D), symmetric, of any signature that leaves a minimiser.
        dt: time step Δt in [0, inf], at most ``objective.horizon``; inf is Newton's step.
        velocity: θ̇ now, shape (D,), where acceleration is charged, and only there.
        limit: None for the exact step. "overdamped" is Δt·∇φ*(−kg/γ), the rule of a price of speed as γ → ∞: under
            one that does not go with H's axes there is no other.

    Returns:
        Δθ, shape (D,); where acceleration is charged Δθ and the velocity after the step.

    Raises:
        ValueError: naming the argument; also if the objective has a drift (then the step depends on θ: use ``solve``),
            or a price whose exact step on this Hessian is not known.
        NoMinimiser: where γ²/4 + ηkh ≤ 0, or γ = 0 and g has a component along a flat direction; for dt = inf also
            where the path runs away (h ≤ 0) instead of coming to rest.

    Example:
        >>> import lossnav as ln
        >>> ln.update(ln.Objective(gamma=0.0), [4.0], [[4.0]], float("inf"))
        array([-1.])

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 10, 82. Where G and H do not commute Δθ is a function of G⁻¹H.
    """
    check_objective(objective, priced=True)
    step = _checks.duration("dt", dt, zero=True)
    if step > objective.horizon:
        raise ValueError(f"dt = {step:g}, but it must be at most objective.horizon = {objective.horizon:g}")
    if objective.price is not None:
        matrix = _checks.symmetric("hessian", hessian)
        gradient_array = _checks.array("gradient", gradient, shape=(len(matrix),))
        if objective.price.order == 2:
            _unused(objective, limit=limit)
            return charged.pushed(objective, gradient_array, matrix, step, velocity)
        _unused(objective, velocity=velocity)
        return charged.moved(objective, gradient_array, matrix, step, limit)
    _unused(objective, velocity=velocity, limit=limit)
    curvature, directions, modal_gradient = _model(objective, gradient, hessian)
    control_gain, gamma = objective.eta * objective.k, objective.gamma
    horizon, charge = objective.horizon, objective.charge / objective.k
    modes.require_minimiser(curvature, modal_gradient, control_gain, gamma, horizon, charge)
    phi = modes.displacement(curvature, control_gain, gamma, step, horizon, charge)
    if np.any(np.isinf(phi) & modes.tilted(modal_gradient)):
        raise NoMinimiser(
            f"dt = {step:g}: along a direction of curvature <= 0 the optimal path runs away; take dt < inf"
        )
    return -directions @ (np.where(np.isinf(phi), 0.0, phi) * modal_gradient)


def _unused(objective: Objective, **values: Any) -> None:
    """Raise ValueError for an argument that means nothing under this price."""
    for name, value in values.items():
        if value is not None:
            raise ValueError(
                f"{name} = {_checks.shown(value)}, but it must be None where objective.price = {objective.price!r}"
            )


def rates(objective: Objective, hessian: ArrayLike) -> Array:
    """Return r_i = √(γ²/4 + ηkh_i) − γ/2, the rates at which the optimal path comes to rest (Eq. 75).

    Args:
        objective: the assumptions; a metric must be constant, and there is no drift.
        hessian: H, shape (D, D), symmetric, unit ℓ/u². The h_i are the eigenvalues of G⁻¹H.

    Returns:
        Shape (D,), unit 1/T, for h_i ascending; NaN where the root is imaginary.

    Raises:
        ValueError: naming the argument that is wrong.

    Example:
        >>> rates(Objective(gamma=3.0), [[4.0, 0.0], [0.0, 0.0]])
        array([0., 1.])
    """
    check_objective(objective)
    if objective.drift is not None:
        raise ValueError("objective.drift is set, but these are the rates without one: ask lossnav.solve's path")
    matrix = _checks.symmetric("hessian", hessian)
    curvature = modes.decompose(matrix, objective.metric_matrix(len(matrix))).curvature
    return modes.slow_rate(curvature, objective.eta * objective.k, objective.gamma)


def newton(objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float = math.inf) -> Array:
    """Return −H⁻¹g (Eqs. 7, 10, first row): ``update`` for r_i·dt ≫ 1; needs H ≻ 0.

    Args:
        objective, gradient, hessian, dt: as in ``update``.

    Raises:
        ValueError: naming the argument.
        NoMinimiser: a curvature is not > 0.
    """
    curvature, directions, modal_gradient = _model(objective, gradient, hessian)
    _checks.duration("dt", dt, zero=True)
    if np.any(curvature <= 0):
        raise NoMinimiser(f"hessian has the eigenvalue {curvature.min():.6g}, but Newton's step needs all of them > 0")
    return -directions @ (modal_gradient / curvature)


def gradient_descent(objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float) -> Array:
    """Return −(ηk/γ)·dt·G⁻¹g (Eqs. 7, 10, second row), for γ²/4 ≫ ηkh_i and r_i·dt ≪ 1; needs γ > 0.

    Args:
        objective, gradient, hessian, dt: as in ``update``.

    Raises:
        ValueError: naming the argument; also if γ = 0.
    """
    _, directions, modal_gradient = _model(objective, gradient, hessian)
    step = _checks.finite("dt", dt, low=0.0)
    if objective.gamma == 0:
        raise ValueError("objective.gamma = 0, but gradient descent is the limit of large gamma: it must be > 0")
    return -directions @ (objective.eta * objective.k / objective.gamma * step * modal_gradient)


def ballistic(objective: Objective, gradient: ArrayLike, hessian: ArrayLike, dt: float) -> Array:
    """Return −√(ηk)·dt·(G⁻¹H)^{−1/2}G⁻¹g (Eqs. 7, 10, third row), for γ²/4 ≪ ηkh_i and r_i·dt ≪ 1; needs H ≻ 0.

    Args:
        objective, gradient, hessian, dt: as in ``update``.

    Raises:
        ValueError: naming the argument.
        NoMinimiser: a curvature is not > 0.
    """
    curvature, directions, modal_gradient = _model(objective, gradient, hessian)
    step = _checks.finite("dt", dt, low=0.0)
    if np.any(curvature <= 0):
        raise NoMinimiser(f"hessian has the eigenvalue {curvature.min():.6g}, but the ballistic rule needs all > 0")
    return -directions @ (np.sqrt(objective.eta * objective.k / curvature) * step * modal_gradient)


def _model(objective: Objective, gradient: ArrayLike, hessian: ArrayLike) -> tuple[Array, Array, Array]:
    """Return curvatures, directions and the gradient's components along them, for checked arguments."""
    check_objective(objective)
    if objective.drift is not None:
        raise ValueError("objective.drift is set, but with a drift the step depends on theta: use lossnav.solve")
    matrix = _checks.symmetric("hessian", hessian)
    gradient_array = _checks.array("gradient", gradient, shape=(len(matrix),))
    metric = None if objective.metric is None else objective.metric_matrix(len(gradient_array))
    basis = modes.decompose(matrix, metric)
    return basis.curvature, basis.directions, basis.directions.T @ gradient_array
