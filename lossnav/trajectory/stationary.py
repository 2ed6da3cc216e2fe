"""Where can an optimal path come to rest? Candidates for the end of an infinite-horizon trajectory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import multi_start, riccati
from lossnav.trajectory.motion import acceleration, bent_hessian

_SCALES = (1.0, 3.0, 10.0)  # boxes around θ₀, in units of max(1, |θ₀|)
_FEW = 16  # starts in each, and the start itself; the search goes on while it may have missed much
MOST_UNSEEN = 0.02  # the share of unseen minima with which a search is called complete
_BOXES, _ROUNDS, _MORE = (1.0, 3.0, 0.3, 10.0), 5, 64  # boxes for more starts, how often at most, and how many in each
_HOPELESS = 0.25  # so much unseen after the first round will not fall to little
_ALIKE = 1e-4  # distance of one minimum, found twice
_RAYS, _DECADES = 4, 6  # on which a loss is looked at far out, to both sides, and how far
_CLEAR = 1e-3  # by which a loss must be below a parabola
DEGENERATE = 1e-5  # a curvature of a rest beside others there, or on the way: derived Hessians know no better


@dataclass(frozen=True, eq=False)
class Rests:
    """What is known about where a path may rest.

    Attributes:
        points: stationary points of the total force, shape (M, D).
        lost: points to which the loss was followed downhill without an end, shape (K, D).
        starts: how many searches that took; 0 if a formula gave the points.
        bent: whether the loss is known to curve downwards somewhere: else there is one way to a rest.
        lowest: the lowest place to which the loss was followed downhill, if only slowly, shape (D,); None if unknown.
        unseen: estimated share of descents like these that would end in a minimum, no higher than the start, that none
            of them has found: Good's and Turing's, the share of those that alone have found theirs.
        bottomless: a place far out where the loss is lower than a parabola that no discount forgives, or None.
    """

    points: Array
    lost: Array
    starts: int
    bent: bool
    lowest: Array | None = None
    bottomless: Array | None = None
    unseen: float = 0.0


def points(objective: Objective, loss: Loss, theta0: Array) -> Array:
    """Return the stationary points of the total force that are known or found by ``search``, shape (M, D)."""
    return search(objective, loss, theta0).points


def search(objective: Objective, loss: Loss, theta0: Array) -> Rests:
    """Return the stationary points of the total force that are known or found by multi-start.

    Without drift these are the stationary points of L: by formula where the loss has one, else by minimisation and
    root search from 305 starts, ``theta0`` and quasi-random ones around it (so a point far outside may be missed), or
    from the loss's own ``starts`` and, if these seem to miss some, from more; from 49 if these see nothing but
    convexity, or where the loss is called point by point. Under a drift the flow down the force takes the place of
    minimisation.
    """
    known, dim = loss.stationary_points(), loss.dim
    if objective.drift is None and known is not None:
        return Rests(known, np.empty((0, dim)), 0, len(known) > 1)
    budget.stage("looking for places to rest")
    own_starts = loss.starts(theta0)
    starts = _starts(theta0, 0, getattr(loss, "reach", 1.0)) if own_starts is None else own_starts
    if known is not None:
        starts = np.concatenate([known, starts])
    affine = isinstance(loss, Quadratic) and isinstance(objective.drift, Linear)  # one root is all there is
    starts = starts[:1] if affine else starts

    def force(x: Array) -> Array:
        return acceleration(objective, x, np.zeros_like(x), loss.gradient(x))

    def force_jacobian(x: Array) -> Array:
        return _force_jacobian(objective, loss, x)

    def down(x0: Array) -> multi_start.Found:
        return multi_start.minima(loss, x0) if objective.drift is None else multi_start.sinks(force, force_jacobian, x0)

    # Descend from all starts; go on from more as long as ends that were met once only say that some are unseen.
    low, count = down(starts), len(starts)
    unseen = _unseen(objective, loss, theta0, low.ends)
    # What a few starts say of small basins is little: it is enough where none was seen to part from another, where
    # each point is a call of its own, or where the loss knows where to start.
    alone = "one by one" in getattr(loss, "batches", {}).values()
    least = 1 if low.bent and not alone and own_starts is None else 0
    for number in range(0 if affine else _ROUNDS):
        if number >= least and (unseen <= MOST_UNSEEN or (number > 0 and unseen > _HOPELESS)):
            break
        more = _starts(theta0, 1 + number, getattr(loss, "reach", 1.0), _BOXES, _FEW if alone else _MORE)[1:]
        also, count = down(more), count + len(more)
        low = multi_start.Found(
            np.concatenate([low.ends, also.ends]), np.concatenate([low.lost, also.lost]), low.bent or also.bent
        )
        unseen = _unseen(objective, loss, theta0, low.ends)
    low = _with_strays(objective, loss, theta0, low)
    # Beside the minima the saddles, which are roots of the force, where the loss is not convex.
    ends, deepest = [low.ends], None
    if objective.drift is None and len(low.ends):
        with np.errstate(all="ignore"):
            deepest = low.ends[int(np.argmin(loss.value(low.ends)))]
    if low.bent:  # else the loss is convex as far as it was seen, and has no saddles
        field, jacobian = (loss.gradient, loss.hessian) if objective.drift is None else (force, force_jacobian)
        ends.append(multi_start.roots(field, jacobian, starts).ends)
    found = np.concatenate(ends)
    places = _distinct(theta0, found[_flat(objective, loss, theta0, found)])
    bottomless = _bottomless(objective, loss, theta0, places)
    return Rests(places, low.lost, count, low.bent, deepest, bottomless, unseen)


def _with_strays(objective: Objective, loss: Loss, theta0: Array, low: multi_start.Found) -> multi_start.Found:
    """Return what descents found with those among the lost that got below the start, and nowhere in all their steps."""
    if objective.drift is not None or not len(low.ends):
        return low
    with np.errstate(all="ignore"):
        strays = ~_flat(objective, loss, theta0, low.ends) & (loss.value(low.ends) < loss.value(theta0))
    return replace(low, lost=np.concatenate([low.lost, low.ends[strays]]))


def _unseen(objective: Objective, loss: Loss, theta0: Array, ends: Array) -> float:
    """Return Good's and Turing's estimate of what the descents with these ends, shape (M, D), have not found."""
    ends = ends[_flat(objective, loss, theta0, ends)]
    with np.errstate(all="ignore"):
        places = np.concatenate([theta0[None], ends])
        heights = objective.cost_rate(loss, places, np.zeros_like(places))
    start, low = heights[0], heights[1:] <= heights[0]
    ends, heights = ends[low], heights[1:][low]
    if len(ends) < 2:
        return 0.0
    size = _ALIKE * _sizes(theta0, ends)
    alike = np.abs(ends[:, None, :] - ends[None, :, :]).max(axis=2) <= size[:, None]
    alone = alike.sum(axis=1) == 1
    if not np.any(alone):
        return 0.0
    # No two descents end at one place of a valley: floors at one height, to so much of the way down to them, are one.
    curvature = np.abs(np.linalg.eigvalsh(loss.hessian(ends)))
    flat = curvature.min(axis=1) <= DEGENERATE * curvature.max(axis=1)
    level = np.abs(heights[:, None] - heights) <= _ALIKE * (start - np.minimum(heights[:, None], heights))
    return float(np.mean(alone & ((flat[:, None] & flat & level).sum(axis=1) <= 1)))


def _bottomless(objective: Objective, loss: Loss, theta0: Array, rests: Array) -> Array | None:
    """Return a place far out from which a path need not come back, shape (D,), or None if none was seen.

    Where L falls like −½h|θ|² with ηkh > γ²/4, J has no lower bound: the parabola's own extremals oscillate. L is
    looked at on some rays through the start; what counts is the outermost place of each that has a number, if L falls
    on there: it has at least doubled its fall since a tenth of the way.
    """
    if loss.positive:
        return None
    rays = np.random.default_rng(0).normal(size=(_RAYS, len(theta0)))
    rays = np.concatenate([rays, -rays]) / np.linalg.norm(rays, axis=1).max()
    reach = max(getattr(loss, "reach", 1.0), float(np.max(np.abs(theta0)))) * 10.0 ** np.arange(1, _DECADES + 1)
    offsets = reach[:, None, None] * rays
    with np.errstate(all="ignore"):
        falls = np.asarray(loss.value(theta0 + offsets))
        falls = falls - np.min(loss.value(rests if len(rests) else theta0[None]))
        metric = objective.metric_at(theta0)
        forgiven = -(objective.gamma**2) / 8 * np.einsum("...i,ij,...j->...", offsets, metric, offsets)
        deep = (objective.eta * objective.k * falls < forgiven * (1 + _CLEAR)) & (falls < 0)
        deep[1:] &= (falls[1:] < 2 * falls[:-1]) | np.isneginf(falls[1:])
    for last in reversed(range(1, _DECADES)):
        seen = ~np.isnan(falls[last])
        if np.any(seen & deep[last]):
            return theta0 + offsets[last][int(np.argmax(seen & deep[last]))]
        if np.all(seen):
            break
    return None


def _force_jacobian(objective: Objective, loss: Loss, theta: Array) -> Array:
    """Return ∂θ̈_i/∂θ_j of a path at rest, shape (..., D, D)."""
    drift, metric = objective.drift, objective.metric_matrix(loss.dim)
    assert drift is not None
    jacobian, hessian = drift.jacobian(theta), objective.eta * objective.k * bent_hessian(objective, loss, theta)
    turned = np.swapaxes(jacobian, -1, -2) @ metric @ jacobian - objective.gamma * metric @ jacobian
    return np.linalg.solve(metric, hessian + turned)


def targets(objective: Objective, loss: Loss, theta0: Array, rests: Rests | None = None) -> list[riccati.LocalValue]:
    """Return the local value function at each point in which an optimal path can end, for the linearised problem.

    At γ = 0 only the places of lowest resting cost count: J diverges unless that cost is zero, and they overtake the
    others. A quadratic loss whose optimum runs away (γ > 0) gives the model about ``theta0``.

    Args:
        objective, loss, theta0: the problem.
        rests: what ``search`` found; None searches.

    Raises:
        NoMinimiser: if there is none.
    """
    rests = rests or search(objective, loss, theta0)
    points = rests.points
    if rests.starts and objective.drift is None:
        points = points[~degenerate(loss, theta0, points)]
    models = _models(objective, loss, points)
    ends = [model for model in models if model.growth < 0]
    if not ends and isinstance(loss, Quadratic) and not objective.curved:
        ends = [riccati.local_value(objective, loss, theta0)]
        if objective.gamma == 0:
            raise NotConverged(
                "at gamma = 0 a path that need not come to rest gives this method no end to aim at; use "
                "method='riccati'"
            )
    if not ends:
        raise NoMinimiser(
            "no minimiser was found: the loss has no stationary point in which a path could end near theta0; "
            f"{_downhill(loss, rests)}set a horizon, or check that the loss is bounded below and takes its minimum"
        )
    return lowest(ends) if objective.gamma == 0 else ends


def lowest(ends: list[riccati.LocalValue]) -> list[riccati.LocalValue]:
    """Return those of some ends where resting costs least."""
    least = min(end.rest for end in ends)
    return [end for end in ends if end.rest <= least + 1e-9 * (1 + abs(least))]


def degenerate(loss: Loss, theta0: Array, points: Array) -> NDArray[np.bool_]:
    """Return which rests are degenerate: a minimum of fourth order has no rate at which paths come to it."""
    if not len(points):
        return np.zeros(0, bool)
    values, vectors = np.linalg.eigh(loss.hessian(points))
    aside = np.max(np.abs(points - theta0), axis=1, keepdims=True) / 10 * vectors[..., 0]
    beside = np.einsum("ni,nij,nj->n", vectors[..., 0], loss.hessian(points + aside), vectors[..., 0])
    return np.asarray(np.abs(values[:, 0]) < DEGENERATE * beside)


def _models(objective: Objective, loss: Loss, points: Array) -> list[riccati.LocalValue]:
    """Return the local value function at each of some points, but for saddles and maxima too sharp for this γ.

    Nothing optimal ends at those (and there may be optima that end at some of the others).
    """
    models = []
    for point in points:
        try:
            models.append(riccati.local_value(frozen(objective, point), loss, point))
        except NoMinimiser:
            continue
    return models


def frozen(objective: Objective, point: Array) -> Objective:
    """Return the objective with the metric that holds at a point, shape (D,).

    Near a rest velocities are small and what a change of the metric adds, quadratic in them, vanishes.

    Raises:
        NoMinimiser: if the metric is none there.
    """
    if not objective.curved:
        return objective
    try:
        return replace(objective, metric=objective.metric_at(point))
    except ValueError as error:
        raise NoMinimiser(f"no minimiser: the rest at {point} lies outside of the metric's domain: {error}") from None


def saddles(objective: Objective, loss: Loss, rests: Rests) -> list[riccati.LocalValue]:
    """Return the local value function at each saddle or maximum in which an optimum may end: candidates, no more.

    For an optimum to stay there ω² = γ²/4 + ηkh ≥ 0 is needed in every mode, γ > 0 and no drift (here > 0): below that
    the second variation of staying is negative. It is not enough: where a minimum pulls further down than the
    linearisation shows, leaving is cheaper up to a larger γ (a pushed front in one dimension, see ``fronts``). So
    whoever aims at these compares J with that of the paths to the other ends. The law is the linear one with its
    runaway modes held: a path that ends there starts on the stable manifold (at a barrier's top, say), where those
    modes are not excited.
    """
    if objective.gamma == 0 or objective.drift is not None:
        return []
    held = []
    for model in _models(objective, loss, rests.points):
        if model.growth >= 0:
            rates, vectors = np.linalg.eig(model.closed)  # similar to a symmetric matrix: real
            closed = (vectors * np.minimum(rates.real, 0.0)) @ np.linalg.inv(vectors)
            zeros, rest = np.zeros_like(model.centre), objective.k * float(loss.value(model.centre))
            held.append(replace(model, linear=zeros, shift=zeros, closed=closed.real, fixed=model.centre, rest=rest))
    return held


def _starts(theta0: Array, seed: int, reach: float, scales: tuple[float, ...] = _SCALES, count: int = _FEW) -> Array:
    from scipy.stats import qmc  # here: scipy.stats takes a second to load, and a loss with a formula needs none of it

    sampler = qmc.Sobol(len(theta0), seed=seed)
    size = max(reach, float(np.max(np.abs(theta0))))
    boxes = [theta0 + scale * size * (2 * sampler.random(count) - 1) for scale in scales]
    return np.concatenate([theta0[None, :], *boxes])


def _sizes(theta0: Array, places: Array) -> Array:
    """Return what distances at some places, (M, D), compare with, shape (M,): where the origin is says nothing."""
    sizes: Array = np.maximum(1.0, np.abs(places - theta0).max(axis=1))
    return sizes


def _flat(objective: Objective, loss: Loss, theta0: Array, places: Array) -> NDArray[np.bool_]:
    """Return at which of the points the force vanishes, as far as its own curvature can tell, shape (M,)."""
    if not len(places):
        return np.zeros(0, bool)
    with np.errstate(all="ignore"):
        size = _sizes(theta0, places)
        if objective.drift is not None:
            curvature = np.abs(loss.hessian(places)).max(axis=(1, 2))
            force = np.abs(acceleration(objective, places, np.zeros_like(places), loss.gradient(places))).max(axis=1)
            return np.asarray(force <= 1e-6 * np.maximum(curvature, 1e-12) * size, bool)
        # Direction by direction: a slope along a valley's floor is small beside its walls, but not beside its own bend.
        values, vectors = np.linalg.eigh(loss.hessian(places))
        force = np.abs(np.einsum("bij,bi->bj", vectors, loss.gradient(places)))
        noise = 1e-9 * np.abs(np.asarray(loss.value(places))) / size
        return np.asarray(np.all(force <= 1e-6 * np.abs(values) * size[:, None] + noise[:, None], axis=1))


def _downhill(loss: Loss, rests: Rests) -> str:
    """Return what the descents that found no end say about the loss, in words."""
    if not len(rests.lost):
        return ""
    with np.errstate(all="ignore"):
        heights = np.asarray(loss.value(rests.lost))
    last = int(np.argmin(heights))
    size = float(np.max(np.abs(rests.lost[last])))
    return (
        f"from {len(rests.lost)} of {rests.starts} starts it falls without end (to {heights[last]:.3g} at "
        f"max |theta_i| = {size:.3g}), as on separable data, where a penalty on theta helps; "
    )


def _distinct(theta0: Array, places: Array) -> Array:
    """Return the first of each that lie together, in the order of their coordinates, shape (M, D)."""
    distinct: list[Array] = []
    while len(places):
        distinct.append(places[0])
        alike = _ALIKE * _sizes(theta0, places)
        places = places[np.abs(places - places[0]).max(axis=1) > alike]
    return np.array(sorted(distinct, key=tuple)).reshape(-1, len(theta0))
