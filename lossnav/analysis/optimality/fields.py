r"""Which assumptions make a velocity field optimal (book: N17–N20): a law of any shape, judged at points.

Without drift the best velocity is :math:`u=-\eta G^{-1}\nabla V`, and the equation of dynamic programming, once
differentiated, is :math:`G(\partial u\,u-\gamma u)=\eta k\nabla L` with :math:`G\,\partial u` symmetric. Both are
linear in G and ηk: each point gives rows of one matrix, whose null space holds all answers for a discount. For γ > 0 a
solution is an optimum if V is bounded below, which the root that runs away from the minimum violates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.analysis.inference.records import discount_bound
from lossnav.analysis.optimality.result import OptimalFor, basis
from lossnav.problem.drifts import Drift
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective

_EXACT = 1e-7  # relative: what differences of a law leave of an equality
_GRID = np.geomspace(1e-4, 1e3, 141)  # discounts that are tried, over the law's rate
_SETTLED, _FLED = 1e-6, 1e6  # over the first speed
_FLAT = 1e-4  # over the largest slope of the loss on the way
_SEEN = "as far as it was followed"
_CALLS, _WITHIN = 10_000, 8  # of the law until it has settled; points of each step of a path


class _Unsettled(Exception):
    """A law has been asked often enough, or says nothing."""


class Seen(NamedTuple):
    """A law, and what it says at the points that it is judged at."""

    law: Drift
    places: Array  # (N, D)
    velocities: Array  # (N, D)
    jacobians: Array  # (N, D, D)


def judge(seen: Seen, loss: Loss | None, metric: Array | str, gamma: float | None) -> OptimalFor:
    """Return the assumptions for which a law is optimal, as far as points tell; metric "place" may depend on it."""
    if isinstance(metric, str) and metric == "place":
        assert loss is not None
        return _anywhere(seen, loss, gamma)
    at = seen.places
    bases = metric[None] if isinstance(metric, np.ndarray) else _eigenbases(seen.jacobians, at)
    if isinstance(bases, str):
        return OptimalFor(False, bases)
    gradients = None if loss is None else loss.gradient(at)
    if gradients is not None and not gradients.any():
        raise ValueError("loss is flat at each of the points at, and does not say what the law is for: give others")
    points = _Points(bases, seen.velocities, seen.jacobians, gradients)
    if loss is None:
        ref, claim = " (N17)" if isinstance(metric, np.ndarray) else "", "Jacobians that are self-adjoint in a metric"
        discount, gammas = (points.rate, (0.0, math.inf)) if gamma is None else (gamma, (gamma, gamma))
    else:
        ref, claim = " (N19)", "G (∂u u − γu) = ηk ∇L"
        discount, gammas = (gamma, (gamma, gamma)) if gamma is not None else points.discounts()
    misfit, weights = points.weights(discount)
    if weights is None:
        how = f"is missed by {misfit:.2g}" if misfit > _EXACT else "holds, but for no positive metric and loss"
        if gamma is None and discount > _GRID[-2] * points.rate:
            signs = "" if points.leans(discount) else ", and for no positive metric and loss"
            how = f"is approached only as gamma grows without bound{signs}"
        return OptimalFor(False, f"{claim} {how}{ref}")
    scale = 1.0 if loss is None else float(weights[-1]) * points.gain
    metric_estimate, eta = np.tensordot(weights[: len(bases)], bases, 1) / scale, 1.0
    if isinstance(metric, np.ndarray):
        metric_estimate, eta = metric, 1.0 if loss is None else scale / float(weights[0])
    objective = Objective(eta=eta, gamma=discount, metric=metric_estimate)
    if _paths(seen, 1e-5) is None:
        return OptimalFor(False, f"{claim}, but the law does not settle from all of them, {_SEEN}{ref}")
    free = (("gamma", 1),) if gammas[0] < gammas[1] else ()
    return OptimalFor(True, f"{claim} at {len(at)} points{ref}", objective, None, gammas, free, residual=misfit)


def _eigenbases(jacobians: Array, at: Array) -> Array | str:
    """Return generators of all metrics in which every Jacobian may be self-adjoint, or say why there are none.

    They are diagonal in a basis of eigenvectors of any sum of the Jacobians, which is self-adjoint as they are.
    """
    for jacobian, place in zip(jacobians, at, strict=True):
        values = np.linalg.eigvals(jacobian)
        worst = values[np.argmax(np.abs(values.imag))]
        if abs(worst.imag) > _EXACT * np.linalg.norm(jacobian):
            where = (
                f"at {place.round(4).tolist()} the Jacobian has eigenvalues {worst.real:.4g} ± {abs(worst.imag):.4g}i"
            )
            return f"{where}: for no constant metric, discount and loss"
    shares = np.modf(math.sqrt(2) * np.arange(1, len(jacobians) + 1))[0] + 0.5  # no symmetry of the points cancels them
    _, vectors = basis(np.tensordot(shares / np.linalg.norm(jacobians, axis=(1, 2)), jacobians, 1))
    if vectors is None:
        return "a sum of Jacobians has no basis of real eigenvectors: for no constant metric, discount and loss"
    rows = np.linalg.inv(vectors)
    return np.asarray(rows[:, :, None] * rows[:, None, :])


class _Points:
    """What points say of generators of the metric, of a discount and of ηk."""

    def __init__(self, bases: Array, u: Array, jacobians: Array, gradients: Array | None):
        self.rate = math.sqrt(float(np.mean(jacobians**2)) * jacobians.shape[1])
        turned = np.einsum("mij,njk->mnik", bases, jacobians) / self.rate
        self.size = np.linalg.norm(turned.reshape(len(bases), -1), axis=1)
        self.skew = (turned - np.swapaxes(turned, 2, 3)).reshape(len(bases), -1)
        speed = float(np.linalg.norm(u))
        u_dot = np.einsum("nij,nj->ni", jacobians, u) / self.rate
        self.push, self.u = (np.einsum("mij,nj->mni", bases, v).reshape(len(bases), -1) / speed for v in (u_dot, u))
        steepest = 1.0 if gradients is None else float(np.abs(gradients).max())
        self.gain = speed / steepest * self.rate  # what a coefficient of 1 says of ηk
        self.pull = None if gradients is None else gradients.ravel() / steepest

    def weights(self, gamma: float) -> tuple[float, Array | None]:
        """Return by how much no coefficients of the generators, and ηk, fit; and positive ones, if they do."""
        spread, right, units = self._spectrum(gamma)
        null = right[spread <= _EXACT]
        coefficients = _positive(null) if len(null) else None
        return float(spread[-1]), None if coefficients is None else coefficients / units

    def leans(self, gamma: float) -> bool:
        """Return whether the coefficients that come nearest are positive."""
        return _positive(self._spectrum(gamma)[1][-1:]) is not None

    def _spectrum(self, gamma: float) -> tuple[Array, Array, Array]:
        """Return singular values and right vectors of the equations for coefficients, which have the units returned."""
        columns, units = self.skew, self.size
        if self.pull is not None:
            over = gamma / self.rate
            balance = np.vstack([self.push - over * self.u, -self.pull])
            columns = np.hstack([np.vstack([self.skew, np.zeros(self.skew.shape[1])]), balance])
            units = np.append(self.size + (1 + over) * np.linalg.norm(self.u, axis=1), np.linalg.norm(balance[-1]))
        _, spread, right = np.linalg.svd((columns / units[:, None]).T)
        return np.append(spread, np.zeros(len(right) - len(spread))), right, units

    def discounts(self) -> tuple[float, tuple[float, float]]:
        """Return a discount that fits, or else fits best, and the range of all."""
        fits = [self.weights(over * self.rate) for over in _GRID]
        good = np.array([coefficients is not None for _, coefficients in fits])
        if good.sum() > 2:  # not a single one
            low, high = (float(over) * self.rate for over in _GRID[good][[0, -1]])
            return max(low, min(self.rate, high)), (0.0 if good[0] else low, math.inf if good[-1] else high)
        best = int(np.argmin([misfit for misfit, _ in fits]))
        ends = _GRID[[max(best - 1, 0), min(best + 1, len(_GRID) - 1)]] * self.rate
        exact = scipy.optimize.minimize_scalar(
            lambda gamma: self.weights(gamma)[0], bounds=ends, method="bounded", options={"xatol": 1e-12 * ends[1]}
        )
        gamma = float(exact.x) if exact.fun < fits[best][0] else float(_GRID[best] * self.rate)
        return gamma, (gamma, gamma)


def _positive(null: Array) -> Array | None:
    """Return a vector of positive entries in the span of rows, the least as large as can be, or None."""
    count = len(null)
    if count == 1:
        vector = null[0] * np.sign(null[0].sum())
        return vector if vector.min() > _EXACT else None
    best = scipy.optimize.linprog(
        np.append(np.zeros(count), -1.0), np.column_stack([-null.T, np.ones(null.shape[1])]), np.zeros(null.shape[1]),
        bounds=[(-1, 1)] * count + [(None, 1)],
    )  # fmt: skip
    return null.T @ best.x[:-1] if best.x[-1] > _EXACT else None


def _anywhere(seen: Seen, loss: Loss, gamma: float | None) -> OptimalFor:
    """Judge a law for metrics that depend on the place: its loss has to exceed its own future average (book: N20)."""
    count, paths = len(seen.places), _paths(seen, 1e-9)
    if paths is None:
        return OptimalFor(False, f"the law does not settle from all of {count} points, {_SEEN}: for no metric (N20)")
    times, places = paths
    gradient_norms = np.linalg.norm(loss.gradient(places), axis=2)
    steep = gradient_norms[:, -1] > _FLAT * gradient_norms.max(axis=1)
    if np.any(steep):
        where = places[int(np.argmax(steep)), -1].round(4).tolist()
        return OptimalFor(False, f"the law settles at {where}, where the loss is not flat: for no metric (N20)")
    bound = discount_bound(times, loss.value(places))
    claim = "the loss exceeds its own future average"
    if bound <= (gamma or 0.0):
        return OptimalFor(False, f"{claim} for gamma < {bound:.6g} only (N20)" if bound else
                          "the loss falls below its last value: for no gamma (N20)")  # fmt: skip
    free, gammas = ((), (gamma, gamma)) if gamma is not None else ((("gamma", 1),), (0.0, bound))
    return OptimalFor(True, f"{claim}, from {count} points (N20)", gamma=gammas, free=free)


def _paths(seen: Seen, rtol: float) -> tuple[Array, Array] | None:
    """Return times and places, shape (N, times, D), of a law's paths until all have settled; None if one does not."""
    law, starts, dim = seen.law, seen.places, seen.places.shape[1]
    speeds, rates = np.linalg.norm(seen.velocities, axis=1), np.linalg.norm(seen.jacobians, axis=(1, 2))
    # The time of the slowest; where a law does not change, that of the way to the origin.
    end = float(np.max(np.where(rates > 0, 1 / np.where(rates > 0, rates, 1.0), np.abs(starts).max() / speeds)))

    calls = 0

    def motion(_: float, theta: Array) -> Array:
        nonlocal calls
        calls += 1
        velocity = law(theta.reshape(-1, dim))
        if calls > _CALLS or not np.all(np.linalg.norm(velocity, axis=1) < _FLED * speeds):  # nor where it is no number
            raise _Unsettled
        return velocity.ravel()

    begin, last, parts = 0.0, starts.ravel(), []
    while True:
        try:
            solution = scipy.integrate.solve_ivp(
                motion, (begin, end), last, "LSODA", rtol=rtol, lband=dim - 1, uband=dim - 1, dense_output=True,
                atol=1e-3 * rtol * np.repeat(speeds, dim) * end,
            )  # fmt: skip
        except _Unsettled:
            return None
        last = solution.y[:, -1]
        if solution.status:
            return None
        settled = np.all(np.linalg.norm(law(last.reshape(-1, dim)), axis=1) < _SETTLED * speeds)
        within = np.linspace(0, 1, _WITHIN, endpoint=False)
        times = (solution.t[:-1, None] + np.diff(solution.t)[:, None] * within).ravel()
        times = np.append(times, end) if settled else times
        parts.append((times, solution.sol(times)))
        if settled:
            times, places = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
            return times, np.moveaxis(places.reshape(-1, dim, len(times)), 1, 2)
        begin, end = end, 2 * end
