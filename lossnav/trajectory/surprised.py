"""A first guess of a path under a loss that depends on time: at each moment the rule of one who foresees nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes
from lossnav.trajectory.connection import Terms
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.stretches import stretches

_MOST_CALLS = 5_000


def path(
    objective: Objective, loss: Loss, theta0: Array, span: float, end: LocalValue | None, endpoint: Array | None
) -> Callable[[Array], tuple[Array, Array]] | None:
    """Return a map from times to θ and θ̇, shape (T, D) each; None where there is none, or it could not be integrated.

    The last stretch before a rest follows its law. A fixed end is beyond this rule.
    """
    parts = stretches(loss, span)
    if endpoint is not None:
        return None
    pieces: list[Callable[[Array], tuple[Array, Array]]] = []
    state = theta0
    for i, (begin, stop) in enumerate(zip(parts.begins, parts.ends, strict=True)):
        if end is not None and i == parts.count - 1:
            pieces.append(_law(end, state, float(begin)))
            break
        flow = _flow(objective, loss, state, (float(begin), float(stop)), parts.latest(i))
        if flow is None:
            return None
        pieces.append(flow)
        state = flow(np.array([stop]))[0][0]
    starts = parts.begins[1:]

    def both(t: Array) -> tuple[Array, Array]:
        which = np.searchsorted(starts, t, side="right")
        found = np.empty((2, len(t), len(theta0)))
        for i in np.unique(which):
            found[:, which == i] = pieces[i](t[which == i])
        return found[0], found[1]

    return both


def _law(end: LocalValue, state: Array, begin: float) -> Callable[[Array], tuple[Array, Array]]:
    def both(t: Array) -> tuple[Array, Array]:
        place = end.follow(state, t - begin)
        return place, end.velocity(place)

    return both


def _flow(
    objective: Objective, loss: Loss, state: Array, between: tuple[float, float], still: float
) -> Callable[[Array], tuple[Array, Array]] | None:
    """Return the rule's path from ``state``; the loss is asked for times up to ``still`` only."""
    calls, size = 0, 1e6 * (1 + float(np.max(np.abs(state))))

    def velocity(t: Array, theta: Array) -> Array:
        return _rule(objective, loss.at(np.minimum(t, still)), theta)

    def right(t: float, theta: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS or not np.all(np.abs(theta) < size):
            raise _Lost
        return velocity(np.array([t]), theta[None, :])[0]

    try:
        with np.errstate(all="ignore"):
            way = scipy.integrate.solve_ivp(right, between, state, "LSODA", rtol=1e-5, atol=1e-8, dense_output=True)
    except (_Lost, np.linalg.LinAlgError, ValueError):
        return None
    if not way.success or len(way.t) < 2:
        return None

    def both(t: Array) -> tuple[Array, Array]:
        place = way.sol(t).T
        return place, velocity(t, place)

    return both


class _Lost(Exception):
    pass


def _rule(objective: Objective, loss: Loss, theta: Array) -> Array:
    """Return the velocity to the rest of the linearised equation θ̈ − γθ̇ = F + K(θ − here), shape (N, D).

    It is −(γ/2 + √(γ²/4 + |K|))⁻¹F, with K made symmetric in the metric: downhill also where the loss is not convex.
    """
    terms, none = Terms(objective, loss), np.zeros_like(theta)
    force, stiffness = terms.acceleration(theta, none), terms.tangent(theta, none)[0]
    lower = np.linalg.cholesky(objective.metric_at(theta))
    upper = np.swapaxes(lower, 1, 2)
    white = upper @ np.swapaxes(np.linalg.solve(lower, np.swapaxes(stiffness, 1, 2)), 1, 2)
    pull, basis = np.linalg.eigh((white + np.swapaxes(white, 1, 2)) / 2)
    rate = modes.fast_rate(np.abs(pull), 1.0, objective.gamma)
    shares = np.einsum("nij,ni->nj", basis, np.einsum("nij,nj->ni", upper, force))
    shares = np.where(rate > 0, shares / np.where(rate > 0, rate, 1.0), 0.0)
    whole = np.einsum("nij,nj->ni", basis, shares)
    return -np.linalg.solve(upper, whole[..., None])[..., 0]
