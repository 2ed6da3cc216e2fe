"""One question, for linear laws and for fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.optimality import fields, linear
from lossnav.analysis.optimality.result import OptimalFor
from lossnav.problem import drifts
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.losses.base import check_loss

_SMALLEST = 1e-100  # a size whose square, and that of its inverse, are normal numbers


def optimal_for(
    law: ArrayLike | drifts.Drift | Callable[[Any], Any],
    *,
    loss: Loss | None = None,
    metric: str | ArrayLike = "constant",
    gamma: float | None = None,
    drift: drifts.Linear | str | None = None,
    dt: float | None = None,
    at: ArrayLike | None = None,
) -> OptimalFor:
    r"""Return all assumptions for which a law is optimal, or that there are none, and why.

    Of a law of any shape points tell what speaks against it, and that it settles from them. It is optimal if what holds
    there holds everywhere, and the potential of the law is bounded below.

    Args:
        law: K of :math:`\dot x=-Kx` about the minimum, shape (D, D), unit 1/T; with ``dt`` U of a step Δ = −Ux; with
            ``at`` any velocity :math:`\dot\theta=u(\theta)`, a function of one θ or a ``Drift``.
        loss: of any scale; without ``at`` a ``losses.Quadratic``. None if it is not known.
        metric: "constant" (any), "identity", or G itself, shape (D, D); with ``at`` and a loss "place": any that may
            depend on it. On a barrier that the law leaves at a rate of γ or more, such a metric is infinite.
        gamma: γ ≥ 0, with ``at`` > 0; None if it is not known.
        drift: None is f = 0; a ``drifts.Linear`` that is known; "rotation", any that is one in the metric; or "any"
            linear one, for which loss (with ηk = 1), metric and gamma must be given: else every law that settles is
            optimal for some drift, and nothing is said. Beside the second and the third loss and metric have
            to be free. Of linear laws only.
        dt: time of a step, unit T. Of linear laws only.
        at: points at which a law of any shape is judged, shape (N, D), none of them a rest.

    Returns:
        The assumptions.

    Raises:
        ValueError: naming the argument, or the combination that says nothing.

    Example:
        >>> import numpy as np, lossnav as ln
        >>> curved = ln.losses.Quadratic([[2.0, 1.0], [1.0, 3.0]], minimum=[0.0, 0.0])
        >>> found = ln.optimal_for(np.diag([1.0, 2.0]) @ curved.hessian([0.0, 0.0]), loss=curved, gamma=0.5)
        >>> found.exists, bool(found.residual < 1e-12)
        (True, True)
        >>> print(ln.optimal_for([[1.0, 2.0], [-2.0, 1.0]]).why)
        eigenvalues 1 ± 2i are complex: for no constant metric, discount and loss

    References:
        book: *What did the learner assume?*; N3 (linear laws), N17, N19 and N20 (any law).
    """
    discount = None if gamma is None else _checks.finite("gamma", gamma, low=0.0, open_low=at is not None)
    if isinstance(metric, str):
        _checks.one_of("metric", metric, ("constant", "identity") if at is None else ("constant", "identity", "place"))
    if at is not None:
        return _of_points(law, at, loss, metric, discount, drift, dt)
    matrix = _checks.square("law", law)
    size = len(matrix)
    _squared(matrix)
    hessian = None
    if loss is not None:
        loss = _checks.instance("loss", loss, Quadratic, "None or, without at, a losses.Quadratic")
        _same_size(loss, size)
        hessian = loss.hessian(np.zeros(size))
    return linear.judge(matrix, hessian, _ruler(metric, size), discount, drift, dt)


def _of_points(law: Any, at: ArrayLike, loss: Any, metric: Any, gamma: float | None, *rest: Any) -> OptimalFor:
    if any(argument is not None for argument in rest):
        raise ValueError(
            "at is given, and so drift and dt have to be None: of other laws than linear ones no more is known"
        )
    places = _checks.array("at", at, shape=(None, None))
    _checks.at_least_one("at", places)
    if not isinstance(law, drifts.Drift):
        field, unit = _checks.function("law", law), float(np.abs(places).max()) or 1.0
        scaled = drifts.Function(lambda theta: np.divide(field(theta * unit), unit))  # differences know no other than 1
        law = drifts.Function(field, lambda theta: scaled.jacobian(theta / unit), dim=places.shape[1])
    if loss is not None:
        check_loss(loss)
        _same_size(loss, places.shape[1])
    elif isinstance(metric, str) and metric == "place":
        raise ValueError(
            "metric is 'place', and so loss has to be given: else every law that falls on some loss will do"
        )
    with np.errstate(all="ignore"):
        seen = fields.Seen(law, places, law(places), law.jacobian(places))
    finite = np.isfinite(seen.velocities).all(axis=1) & np.isfinite(seen.jacobians).all(axis=(1, 2))
    lost = np.flatnonzero(~finite)
    if len(lost):
        raise ValueError(f"law and its differences are not finite at {places[lost[0]].tolist()}, one of the points at")
    if not seen.jacobians.any():
        raise ValueError("law is the same around each of the points at, and does not say where it rests: give others")
    _squared(seen.jacobians)
    resting = np.flatnonzero(~seen.velocities.any(axis=1))
    if len(resting):
        raise ValueError(f"at holds {places[resting[0]].tolist()}, where the law rests, but a rest says nothing of it")
    return fields.judge(seen, loss, _ruler(metric, places.shape[1]), gamma)


def _squared(law: Array) -> None:
    extent = float(np.abs(law).max())
    if extent and not _SMALLEST < extent < 1 / _SMALLEST:
        raise ValueError(f"law has the size {extent:.3g}, but its square must be a number: choose another unit of time")


def _same_size(loss: Any, size: int) -> None:
    if loss.dim != size:
        raise ValueError(f"loss has {loss.dim} parameters, but law has {size}")


def _ruler(metric: str | ArrayLike, size: int) -> Array | str:
    if isinstance(metric, str):
        return np.eye(size) if metric == "identity" else metric
    return _checks.symmetric("metric", metric, dim=size, definite=True)
