r"""Least squares of a few bounded parameters, and what a likelihood does not exclude.

An interval is that of the profile likelihood: a value is excluded if the best fit that has it is worse by more than χ²
(F, where the noise is not known) allows. At the edge of what is possible the likelihood ratio is
:math:`\tfrac12\chi^2_0+\tfrac12\chi^2_1`, and the cut is 2.71 in place of 3.84.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy

from lossnav._checks import Array

Residual = Callable[[Array], Array]  # from coordinates, shape (..., P), to deviations in units of the noise, (..., n)
Quantity = Callable[[Array], Array]  # from coordinates to places in [0, 1], whose ends are the quantity's edges

_BASINS = 6  # in which a fit may be looked for, if one is not good
RANK = 1e-7  # singular values below this share, of columns of length 1, are rounding of central differences


@dataclass(eq=False)
class Likelihood:
    """Deviations as a function of coordinates in a box, and the best fit.

    Args:
        residual: deviations, shape (..., n), of many coordinates at once; in units of the noise if that is known.
        low, high: the box, shape (P,).
        starts: where to begin, shape (S, P).
        level: of the intervals.
        noisy: whether deviations are in units of a known noise.
        held: what has to be 0 because it is known, shape (..., K).
        jacobian: derivatives of deviations; None takes central differences.
        projected: how many more parameters were fitted on the way, as amplitudes.
    """

    residual: Residual
    low: Array
    high: Array
    starts: Array
    level: float
    noisy: bool
    held: Residual
    jacobian: Callable[[Array], Array] | None = None
    projected: int = 0
    x: Array = field(init=False)
    cost: float = field(init=False)
    count: int = field(init=False)  # of deviations
    near: list[tuple[float, Array]] = field(default_factory=list)  # places of a quantity, and what fits best there
    anew: list[tuple[float, ...]] = field(init=False)  # the best further coordinates to begin from
    tried: tuple[Array, Array] = field(init=False)  # what was found from each start, and the sums of squares there

    def __post_init__(self) -> None:
        self.count = self.residual(self.starts[0]).size
        begin = self._to(self.starts, self.held)
        costs, _ = self._costs(begin)
        ranked = np.argsort(costs, kind="stable")[: np.count_nonzero(np.isfinite(costs))]
        if not len(ranked):
            raise ValueError("known has values at or beyond an edge of the family: no member of it has them")
        basins: dict[tuple[float, ...], int] = {}
        apart = self.starts[:, 2:] if self.starts.shape[1] > 2 else self.starts[:, :1]
        for i in ranked.tolist():
            basins.setdefault(tuple(apart[i]), i)
        self.anew = list(basins)[:_BASINS]
        # The three best starts, and the best of other further coordinates, or if a family has none of other shares.
        tried = list(dict.fromkeys([*ranked[:3].tolist(), *(basins[more] for more in self.anew)]))
        found, costs = self._fits(begin[tried], self.held)
        # The sum of squares may have a valley towards each edge of the share: the best is sought from the other, too.
        other = _best(found, costs)[0].copy()
        other[0] = self.low[0] + self.high[0] - other[0]
        more, others = self._fits(other[None], self.held)
        self.tried = np.concatenate([found, more]), np.concatenate([costs, others])
        self.x, self.cost = _best(*self.tried)

    def fit(self, starts: Array, held: Residual, enough: float = 0.0) -> tuple[Array, float]:
        """Return the best coordinates with ``held`` = 0 found from starts, (S, P), and the sum of squares there."""
        return _best(*self._fits(starts, held, enough))

    def _fits(self, starts: Array, held: Residual, enough: float = 0.0) -> tuple[Array, Array]:
        """Return coordinates with ``held`` = 0 found from each start, (S, P), and the sums of squares there, (S,).

        Levenberg's steps are made in the tangent space of what is held, and led back to it by Newton's method, from all
        starts side by side. One ends when its step hopes to gain less than ``enough``, or rounding.
        """
        x = self._to(starts, held)
        (costs, deviations), damping = self._costs(x), np.full(len(x), 1e-3)
        going = np.isfinite(costs)
        for _ in range(80):
            at = np.flatnonzero(going)
            if not len(at):
                break
            here, jacobian, (_, fixed) = x[at], self.slopes(x[at]), self._linear(held, x[at])
            wall, bound = here, np.zeros(here.shape, dtype=bool)
            pull = -(deviations[at, None, :] @ jacobian)[:, 0]
            while True:
                move, hoped, forced = _step(deviations[at], jacobian, fixed, bound, wall - here, damping[at, None])
                # What would leave the box is led to its wall, and the others take their step anew: first what goes
                # there downhill, since what goes there uphill is taken along by others and may turn back without them.
                ahead = np.clip(here + move, self.low, self.high)
                beyond = (ahead != here + move) & ~bound
                if not np.any(beyond):
                    break
                downhill = beyond & (move * pull > 0)
                beyond = np.where(np.any(downhill, axis=1, keepdims=True), downhill, beyond)
                wall, bound = np.where(beyond, ahead, wall), bound | beyond
            going[at] = ((hoped > np.maximum(1e-14 * costs[at], enough)) | (forced < 0)) & (damping[at] <= 1e12)
            at, still = at[going[at]], going[at]
            if len(at):
                new = self._to(np.where(bound, wall, ahead)[still], held, bound[still])
                tried, missed = self._costs(new)
                better = tried < costs[at]
                x[at[better]], costs[at[better]], deviations[at[better]] = new[better], tried[better], missed[better]
                damping[at] = np.where(better, np.maximum(damping[at] / 30, 1e-14), damping[at] * 10)
        return x, costs

    def _costs(self, x: Array) -> tuple[Array, Array]:
        """Return sums of squares, shape (S,), infinite where coordinates, (S, P), are NaN; and deviations, (S, n)."""
        deviations, finite = np.full((len(x), self.count), np.inf), np.all(np.isfinite(x), axis=-1)
        if np.any(finite):
            deviations[finite] = self.residual(x[finite])
        costs = np.sum(deviations**2, axis=-1)
        return np.where(np.isfinite(costs), costs, np.inf), deviations

    def _to(self, x: Array, held: Residual, bound: Array | bool = False) -> Array:
        """Return coordinates near by in the box at which what is held is 0, shape (S, P); NaN where there are none.

        Those that are ``bound`` stay.
        """
        x, last = np.clip(x, self.low, self.high), np.full(len(x), np.inf)
        for _ in range(30):
            away, derivatives = self._linear(held, x)
            exists = np.all(np.isfinite(derivatives), axis=(-2, -1))  # a quantity may not exist everywhere
            size = np.max(np.abs(away), axis=-1, initial=0.0)
            going, last = exists & (size >= 1e-14) & ((size < last) | (size > 1e-9)), size
            x[~exists] = np.nan
            if not np.any(going):
                return x
            kept = np.broadcast_to(bound, x.shape)[going]
            derivatives, goal, here = np.where(kept[:, None, :], 0.0, derivatives[going]), -away[going], x[going]
            move = _shortest(derivatives, goal)
            # A coordinate at a bound cannot go on: the others have to.
            stuck = ((here <= self.low) & (move < 0)) | ((here >= self.high) & (move > 0))
            if np.any(stuck):
                move = _shortest(np.where(stuck[:, None, :], 0.0, derivatives), goal)
            # In a tail a quantity hardly changes with a logarithm, and Newton's step would lead to the other.
            x[going] = np.clip(here + np.clip(move, -2.0, 2.0), self.low, self.high)
            if np.array_equal(x[going], here):
                break
        x[np.any(np.abs(held(x)) >= 1e-9, axis=-1)] = np.nan
        return x

    def slopes(self, x: Array) -> Array:
        """Return the derivatives of deviations, shape (..., n, P)."""
        return self.jacobian(x) if self.jacobian is not None else self._linear(self.residual, x)[1]

    def _linear(self, function: Residual, x: Array) -> tuple[Array, Array]:
        """Return values, shape (..., n), and central differences that stay in the box, (..., n, P)."""
        step, middle = 1e-5 * np.eye(x.shape[-1]), x[..., None, :]
        up, down = np.minimum(middle + step, self.high), np.maximum(middle - step, self.low)
        found = function(np.concatenate([up, down, middle], axis=-2))
        above, below = found[..., : len(step), :], found[..., len(step) : -1, :]
        return found[..., -1, :], np.swapaxes((above - below) / np.sum(up - down, axis=-1)[..., None], -2, -1)

    def blind(self, x: Array, quantity: Quantity) -> bool:
        """Say whether a quantity changes along a direction in which the record does not: rank before estimate."""
        jacobian, gradient = self._told(x, quantity)
        if not np.any(jacobian):  # no member is near the record
            return True
        size = np.linalg.norm(jacobian, axis=0)
        jacobian[:, size < RANK * np.max(size)] = 0.0
        size = np.maximum(size, RANK * np.max(size))
        _, values, rows = np.linalg.svd(jacobian / size)
        unseen = rows[np.append(values, np.zeros(len(rows) - len(values))) <= RANK] / size
        if not len(unseen):
            return False
        unseen /= np.linalg.norm(unseen, axis=1)[:, None]
        return bool(np.max(np.abs(unseen @ gradient)) > 1e-4 * np.linalg.norm(gradient))

    def _told(self, x: Array, quantity: Quantity) -> tuple[Array, Array]:
        """Return the derivatives of deviations and of a quantity along ways on which what is held does not change."""
        ways = self._ways(x)
        return self.slopes(x) @ ways, self._linear(lambda y: quantity(y)[..., None], x)[1][0] @ ways

    def _ways(self, x: Array, *fixed: Array) -> Array:
        """Return ways, each a column, on which what is held does not change, nor what rows of ``fixed`` are of."""
        ways = _null(np.vstack([self._linear(self.held, x)[1], *fixed, np.zeros((len(x), len(x)))]))
        return ways[:, np.any(ways, axis=0)]

    @functools.cached_property
    def spare(self) -> int:
        """How many more deviations there are than ways in which the fit can follow them.

        A coordinate at its bound follows no noise, and what the record does not tell follows none beside the others.
        """
        fixed = np.eye(len(self.x))[(self.x <= self.low) | (self.x >= self.high)]
        jacobian = self.slopes(self.x) @ self._ways(self.x, fixed)
        rank = np.linalg.matrix_rank(jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300), RANK)
        return max(self.count - self.projected - int(rank), 1)

    @property
    def parameters(self) -> int:
        """How many were fitted."""
        return len(self.x) - len(self.held(self.x)) + self.projected

    @property
    def unit(self) -> float:
        """What a deviation squared comes to by noise: 1 if that is known."""
        return 1.0 if self.noisy else max(self.cost / self.spare, 1e-300)

    def along(self, quantity: Quantity, place: float, enough: float = math.inf) -> tuple[Array, float]:
        """Return the best coordinates with a quantity at a place, and how much worse they fit, in units of the noise.

        It begins from the nearest of the places that were tried, or on the line through the two nearest, whichever fits
        better. Where the loss is more than ``enough``, another basin may hold a better fit: further coordinates begin
        anew. Of all that were tried only the best is remembered: the next place is to begin in its basin.
        """
        (here, x), *others = sorted(
            [(float(quantity(self.x)), self.x), *self.near], key=lambda point: abs(point[0] - place)
        )
        ahead = [x + (place - here) / (there - here) * (y - x) for there, y in others if there != here][:1]
        anew = [np.append(x[:2], more) for more in self.anew if len(x) > 2]
        best, worse = x, math.inf

        def held(x: Array) -> Array:
            return np.concatenate([self.held(x), (quantity(x) - place)[..., None]], axis=-1)

        begin = self._to(np.stack([x, *ahead]), held)
        for starts in (begin[[np.argmin(self._costs(begin)[0])]], np.array(anew).reshape(-1, len(x))):
            found, cost = self.fit(starts, held, 1e-4 * self.unit)
            if (lost := max(cost - self.cost, 0.0) / self.unit) < worse:
                best, worse = found, lost
            if worse <= enough or not anew:
                break
        if math.isfinite(worse):
            self.near.append((place, best))
        return best, worse

    def interval(self, quantity: Quantity) -> tuple[float, float]:
        """Return the places between which a quantity is not excluded; 0 and 1 are its edges.

        Each end is looked for from the nearest of all fits that are not excluded: basins may lie apart.
        """
        if self.noisy:
            cut, half = (float(scipy.special.chdtri(1, 1 - p)) for p in (self.level, 2 * self.level - 1))
        else:
            cut, half = (float(scipy.special.fdtri(1, self.spare, p)) for p in (self.level, 2 * self.level - 1))
        found, costs = self.tried
        fits = found[costs <= self.cost + half * self.unit]  # so that an end is always beyond where it begins
        places = zip(quantity(fits).tolist(), fits, strict=True)
        self.near = [(place, x) for place, x in places if not math.isnan(place)]  # a mode that swings has no rate
        return self._end(quantity, 0.0, cut, half), self._end(quantity, 1.0, cut, half)

    def _end(self, quantity: Quantity, edge: float, cut: float, half: float) -> float:
        """Return the end towards an edge: steps of the size that the curvature says, then a root between the last two.

        √ of what a fit loses is nearly straight.
        """
        near = here = min((place for place, _ in self.near), key=lambda place: abs(place - edge))
        step, goal = self._width(quantity) * math.sqrt(cut), math.sqrt(cut)

        lost: dict[float, float] = {}

        def loses(place: float, enough: float) -> float:
            if place not in lost:
                lost[place] = min(self.along(quantity, place, enough)[1], 1e12)
            return lost[place]

        # Go on in growing steps until the fit has lost enough, or the edge is reached.
        far = here
        while near != edge:
            far = float(np.clip(near + math.copysign(step, edge - here), min(here, edge), max(here, edge)))
            if abs(far - edge) < 1e-3 * abs(edge - here):
                far = edge
            worst = loses(far, half)
            if worst > cut:
                break
            if far == edge:
                if worst <= half:
                    return edge
                near, goal = here, math.sqrt(half)
                break
            near, step = far, 1.6 * step
        if near == edge:
            return edge

        # Between the last two steps there is the place where it has lost just enough.
        def short(place: float) -> float:
            missing = math.sqrt(loses(place, goal**2)) - goal
            return 0.0 if abs(missing) < 1e-4 * goal else missing

        return float(scipy.optimize.brentq(short, near, far, xtol=max(1e-4 * abs(far - here), 1e-15), rtol=1e-14))

    def _width(self, quantity: Quantity) -> float:
        """Return the standard deviation of a quantity's place, as the curvature at the best fit has it."""
        jacobian, gradient = self._told(self.x, quantity)
        size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        inverse = np.linalg.pinv(jacobian / size, rcond=1e-9)
        return float(np.clip(math.sqrt(self.unit) * np.linalg.norm(gradient / size @ inverse), 1e-14, 0.3))


def _best(x: Array, costs: Array) -> tuple[Array, float]:
    best = int(np.argmin(costs))
    return x[best], float(costs[best])


def _step(deviations: Array, jacobian: Array, fixed: Array, bound: Array, goal: Array, damping: Array
          ) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return Levenberg's step, (S, P), on which rows of ``fixed`` do not change and ``bound`` coordinates reach a goal.

    With it what the sum of squares should fall by, and what of that is the way to the goal; each (S,).
    """
    held, aims = np.concatenate([fixed, np.eye(goal.shape[1]) * bound[:, None, :]], axis=1), np.zeros(fixed.shape[:2])
    begin = _shortest(held, np.concatenate([aims, goal], axis=1)) if np.any(goal) else np.zeros_like(goal)
    ways, change = _null(held), (jacobian @ begin[..., None])[..., 0]
    forced = -np.sum((2 * deviations + change) * change, axis=1)
    # In columns of length one, by their singular values.
    tangent = jacobian @ ways
    size = np.linalg.norm(tangent, axis=1)
    size = np.maximum(size, 1e-12 * np.max(size, axis=1, keepdims=True) + 1e-300)
    basis, values, rows = np.linalg.svd(tangent / size[:, None, :], full_matrices=False)
    pull = -(np.swapaxes(basis, 1, 2) @ (deviations + change)[..., None])[..., 0]
    left = damping / (values**2 + damping)  # what the step leaves of each pull
    step = (np.swapaxes(rows, 1, 2) @ (values * pull / (values**2 + damping))[..., None])[..., 0] / size
    return begin + (ways @ step[..., None])[..., 0], forced + np.sum(pull**2 * (1 - left**2), axis=1), forced


def _null(rows: Array) -> Array:
    """Return directions, each a column, in which rows, shape (..., K, P) with K >= P, do not change.

    Columns have length 1; those of the other directions are 0.
    """
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    free = values <= 1e-9 * np.max(values, axis=-1, keepdims=True)
    return np.asarray(np.swapaxes(directions, -2, -1) * free[..., None, :])


def _shortest(rows: Array, goal: Array) -> Array:
    """Return the shortest moves by which rows change so much, shape (S, P)."""
    return np.asarray((np.linalg.pinv(rows) @ goal[..., None])[..., 0])
