"""Where can an optimal path come to rest? Candidates for the end of an infinite-horizon trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.optimize
from scipy.stats import qmc

from lossnav._checks import Array, NoMinimiser
from lossnav.losses import Loss, Quadratic
from lossnav.objective import Objective
from lossnav.trajectory import riccati

_SCALES = (1.0, 3.0, 10.0)  # boxes around θ₀, in units of max(1, |θ₀|)
_PER_SCALE = 16


def rest_force(objective: Objective, loss: Loss, theta: Array) -> Array:
    """Return θ̈ of a path at rest, shape (..., D): ηkG⁻¹∇L + (G⁻¹JᵀG − γ)f (Eq. 99 with a constant metric)."""
    metric = objective.metric_matrix(loss.dim)
    pull = objective.eta * objective.k * loss.gradient(theta)
    if objective.drift is not None:
        drift = objective.drift(theta) @ metric
        pull = pull + np.einsum("...ji,...j->...i", objective.drift.jacobian(theta), drift) - objective.gamma * drift
    return np.linalg.solve(metric, pull[..., None])[..., 0]


def points(objective: Objective, loss: Loss, theta0: Array, *, seed: int = 0) -> Array:
    """Return the stationary points of the total force that are known or found by multi-start, shape (M, D).

    Without drift these are the stationary points of L: by formula where the loss has one, else by minimisation and
    root search from 48 quasi-random starts around ``theta0`` (so a point far outside may be missed).
    """
    known = loss.stationary_points()
    if objective.drift is None and known is not None:
        return known
    starts = _starts(theta0, seed)
    if known is not None:
        starts = np.concatenate([known, starts])
    found: list[Array] = []
    for start in starts:
        found.extend(_descend(loss, start) if objective.drift is None else [])
        found.extend(_root(objective, loss, start))
        if isinstance(loss, Quadratic) and found:
            break  # the force is affine: one root is all there is
    return _distinct(found, loss.dim)


def targets(objective: Objective, loss: Loss, theta0: Array, *, seed: int = 0) -> list[riccati.LocalValue]:
    """Return the local value function at each point in which an optimal path can end, for the linearised problem.

    At γ = 0 only the places of lowest resting cost count: J diverges unless that cost is zero, and they overtake the
    others. A quadratic loss whose optimum runs away (γ > 0) gives the model about ``theta0``.

    Raises:
        NoMinimiser: if there is none.
    """
    models = []
    for point in points(objective, loss, theta0, seed=seed):
        try:
            models.append(riccati.local_value(objective, loss, point))
        except NoMinimiser:
            continue  # a saddle or maximum too sharp for this γ: nothing optimal ends there
    ends = [model for model in models if model.growth < 0]
    if not ends and isinstance(loss, Quadratic):
        ends = [riccati.local_value(objective, loss, theta0)]
    if not ends:
        raise NoMinimiser(
            "no minimiser was found: the loss has no stationary point in which a path could end near theta0; "
            "set a horizon, or check that the loss is bounded below"
        )
    if objective.gamma == 0:
        lowest = min(end.rest for end in ends)
        ends = [end for end in ends if end.rest <= lowest + 1e-9 * (1 + abs(lowest))]
    return ends


def saddles(objective: Objective, loss: Loss, theta0: Array, *, seed: int = 0) -> list[riccati.LocalValue]:
    """Return the local value function at each saddle or maximum blunt enough for γ that staying there is optimal.

    That needs ω² = γ²/4 + ηkh > 0 in every mode. The law is the linear one with its runaway modes held: the optimum
    that ends there starts on the stable manifold (at a barrier's top, say), where those modes are not excited.
    """
    if objective.gamma == 0 or objective.drift is not None:
        return []
    held = []
    for point in points(objective, loss, theta0, seed=seed):
        try:
            model = riccati.local_value(objective, loss, point)
        except NoMinimiser:
            continue
        if model.growth >= 0:
            rates, vectors = np.linalg.eig(model.closed)  # similar to a symmetric matrix: real
            closed = (vectors * np.minimum(rates.real, 0.0)) @ np.linalg.inv(vectors)
            still = np.zeros_like(point)
            rest = objective.k * float(loss.value(point))
            held.append(replace(model, linear=still, shift=still, closed=closed.real, fixed=point, rest=rest))
    return held


def _starts(theta0: Array, seed: int) -> Array:
    sampler = qmc.Sobol(len(theta0), seed=seed)
    size = max(1.0, float(np.max(np.abs(theta0))))
    boxes = [theta0 + scale * size * (2 * sampler.random(_PER_SCALE) - 1) for scale in _SCALES]
    return np.concatenate([theta0[None, :], *boxes])


def _descend(loss: Loss, start: Array) -> list[Array]:
    limit = 1e6 * max(1.0, float(np.max(np.abs(start))))

    def watch(x: Array) -> None:
        if np.max(np.abs(x)) > limit:  # downhill without end: nothing to find here
            raise StopIteration

    try:
        result = _minimise(loss, start, "trust-exact", watch)
    except ValueError:  # where the curvature is negative, scipy's trust-exact can produce a NaN and choke on it
        result = _minimise(loss, start, "trust-ncg", watch)
    good = np.all(np.isfinite(result.x)) and np.max(np.abs(result.x)) < limit
    return [result.x] if good and _flat(loss.gradient(result.x), loss, result.x) else []


def _minimise(loss: Loss, start: Array, method: str, watch: Callable[[Array], None]) -> scipy.optimize.OptimizeResult:
    options = {"gtol": 1e-9, "maxiter": 500, "max_trust_radius": 1e7}
    with np.errstate(all="ignore"):
        return scipy.optimize.minimize(
            loss.value, start, jac=loss.gradient, hess=loss.hessian, method=method, options=options, callback=watch
        )


def _root(objective: Objective, loss: Loss, start: Array) -> list[Array]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a start in a flat region makes hybr complain; it is dropped
        result = scipy.optimize.root(lambda x: rest_force(objective, loss, x), start, tol=1e-12)
    return [result.x] if result.success and _flat(result.fun, loss, result.x) else []


def _flat(slope: Array, loss: Loss, x: Array) -> bool:
    curvature = float(np.max(np.abs(loss.hessian(x)), initial=0.0))
    return bool(np.max(np.abs(slope)) <= 1e-6 * max(curvature, 1e-12) * max(1.0, float(np.max(np.abs(x)))))


def _distinct(found: list[Array], dim: int) -> Array:
    kept: list[Array] = []
    for x in found:
        if all(np.max(np.abs(x - y)) > 1e-4 * max(1.0, float(np.max(np.abs(x)))) for y in kept):
            kept.append(x)
    return np.array(sorted(kept, key=tuple)).reshape(-1, dim)
