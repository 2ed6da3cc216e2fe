r"""Least squares of a few bounded parameters, and what a likelihood does not exclude.

An interval is that of the profile likelihood: a value is excluded if the best fit that has it is worse by more than χ²
(F, where the noise is not known) allows. At the edge of what is possible the likelihood ratio is
:math:`\tfrac12\chi^2_0+\tfrac12\chi^2_1`, and the cut is 2.71 in place of 3.84 (book: I20).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from lossnav._checks import Array

Residual = Callable[[Array], Array]  # from coordinates, shape (P,), to deviations in units of the noise, shape (n,)
Quantity = Callable[[Array], float]  # from coordinates to a place in [0, 1], whose ends are the quantity's edges

_BASINS = 6  # in which a fit may be looked for, if one is not good
RANK = 1e-7  # singular values below this share, of columns of length 1, are rounding of central differences


@dataclass
class Likelihood:
    """Deviations as a function of coordinates in a box, and the best fit.

    Args:
        residual: deviations, shape (n,); in units of the noise if that is known.
        low, high: the box, shape (P,).
        starts: where to begin, each of shape (P,).
        level: of the intervals.
        noisy: whether deviations are in units of a known noise.
        held: what has to be 0 because it is known, shape (K,).
        jacobian: derivatives of deviations; None takes central differences.
        projected: how many more parameters were fitted on the way, as amplitudes.
    """

    residual: Residual
    low: Array
    high: Array
    starts: Sequence[Array]
    level: float
    noisy: bool
    held: Residual
    jacobian: Callable[[Array], Array] | None = None
    projected: int = 0
    x: Array = field(init=False)
    cost: float = field(init=False)
    count: int = field(init=False)  # of deviations
    anew: list[tuple[float, ...]] = field(init=False)  # the best further coordinates to begin from

    def __post_init__(self) -> None:
        begin = [self._to(x, self.held) for x in self.starts]
        ranked = sorted((_square(self.residual(x)), i) for i, x in enumerate(begin) if np.all(np.isfinite(x)))
        if not ranked:
            raise ValueError("known has values at or beyond an edge of the family: no member of it has them")
        fits = [self.fit(begin[i], self.held) for _, i in ranked[:3]]
        self.anew = list(dict.fromkeys(tuple(self.starts[i][2:]) for _, i in ranked))[:_BASINS]
        self.x, self.cost = min(fits, key=lambda pair: pair[1])
        self.count = len(self.residual(self.x))
        self.near = [self.x]

    def fit(self, start: Array, held: Residual, enough: float = 0.0) -> tuple[Array, float]:
        """Return the best coordinates from a start with ``held`` = 0, and the sum of squares there.

        Levenberg's steps are made in the tangent space of what is held, and led back to it by Newton's method. It ends
        when a step hopes to gain less than ``enough``, or rounding.
        """
        x = self._to(start, held)
        if not np.all(np.isfinite(x)):
            return x, math.inf
        deviations = self.residual(x)
        cost, damping = _square(deviations), 1e-3
        for _ in range(80 if math.isfinite(cost) else 0):
            jacobian, ways = self.slopes(x), self._ways(held, x)
            # Coordinates at a bound that the gradient pushes against are held, too.
            gradient = ways @ (ways.T @ (jacobian.T @ deviations))
            bound = ((x <= self.low) & (gradient > 0)) | ((x >= self.high) & (gradient < 0))
            if bound.any():
                ways = self._ways(lambda y, b=bound: np.append(held(y), y[b]), x)  # type: ignore[misc]
            tangent = jacobian @ ways
            # Levenberg's step in columns of length one; a step that does not pay is damped more.
            size = np.linalg.norm(tangent, axis=0)
            if not size.any():
                break
            size = np.maximum(size, 1e-12 * np.max(size))
            while True:
                rows = np.vstack([tangent / size, math.sqrt(damping) * np.eye(len(size))])
                move = np.linalg.lstsq(rows, np.append(-deviations, np.zeros(len(size))), rcond=None)[0] / size
                if not cost - _square(deviations + tangent @ move) > max(1e-14 * cost, enough) or damping > 1e12:
                    return x, cost
                new = self._to(x + ways @ move, held)
                if np.all(np.isfinite(new)):
                    tried = self.residual(new)
                    if _square(tried) < cost:
                        break
                damping *= 10
            x, deviations, cost, damping = new, tried, _square(tried), max(damping / 30, 1e-14)
        return x, cost

    def _to(self, x: Array, held: Residual) -> Array:
        """Return coordinates near by in the box at which what is held is 0."""
        x = np.clip(x, self.low, self.high)
        for _ in range(30):
            away = held(x)
            if not len(away) or np.max(np.abs(away)) < 1e-14:
                return x
            derivatives = self._differences(held, x)
            if not np.all(np.isfinite(derivatives)):  # a quantity may not exist everywhere
                return np.full_like(x, np.nan)
            move = -np.linalg.pinv(derivatives) @ away
            # A coordinate at a bound cannot go on: the others have to.
            derivatives[:, ((x <= self.low) & (move < 0)) | ((x >= self.high) & (move > 0))] = 0.0
            x = np.clip(x - np.linalg.pinv(derivatives) @ away, self.low, self.high)
        return x if np.max(np.abs(away)) < 1e-9 else np.full_like(x, np.nan)

    def _ways(self, held: Residual, x: Array) -> Array:
        """Return directions in which what is held does not change, each a column of length 1."""
        if not len(held(x)):
            return np.eye(len(x))
        return np.asarray(scipy.linalg.null_space(self._differences(held, x), rcond=1e-9))

    def slopes(self, x: Array) -> Array:
        """Return the derivatives of deviations, shape (n, P)."""
        return self.jacobian(x) if self.jacobian is not None else self._differences(self.residual, x)

    def _differences(self, function: Residual, x: Array) -> Array:
        """Return central differences that stay in the box."""
        columns = []
        for i in range(len(x)):
            step = np.zeros(len(x))
            step[i] = 1e-5
            up, down = np.minimum(x + step, self.high), np.maximum(x - step, self.low)
            columns.append((function(up) - function(down)) / (up - down)[i])
        return np.stack(columns, axis=1)

    def blind(self, x: Array, quantity: Quantity) -> bool:
        """Say whether a quantity changes along a direction in which the record does not: rank before estimate."""
        ways = self._ways(self.held, x)
        jacobian = self.slopes(x) @ ways
        size = np.linalg.norm(jacobian, axis=0)
        jacobian[:, size < RANK * np.max(size)] = 0.0
        size = np.maximum(size, RANK * np.max(size))
        _, values, rows = np.linalg.svd(jacobian / size)
        unseen = rows[np.append(values, np.zeros(len(rows) - len(values))) <= RANK] / size
        if not len(unseen):
            return False
        gradient = self._differences(lambda y: np.array([quantity(y)]), x)[0] @ ways
        unseen /= np.linalg.norm(unseen, axis=1)[:, None]
        return bool(np.max(np.abs(unseen @ gradient)) > 1e-4 * np.linalg.norm(gradient))

    @property
    def spare(self) -> int:
        """How many more deviations there are than what was fitted."""
        return max(self.count - self.parameters, 1)

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

        Where that is more than ``enough``, another basin may hold a better fit: further coordinates begin anew. Of all
        that were tried only the best is remembered: the next place is to begin in its basin.
        """
        nearest = min(self.near, key=lambda x: abs(quantity(x) - place))
        anew = [np.append(nearest[:2], more) for more in self.anew if more]
        best, worse = nearest, math.inf
        for start in (nearest, *anew):
            x, cost = self.fit(start, lambda x: np.append(self.held(x), quantity(x) - place), 1e-4 * self.unit)
            if (lost := max(cost - self.cost, 0.0) / self.unit) < worse:
                best, worse = x, lost
            if worse <= enough:
                break
        if math.isfinite(worse):
            self.near.append(best)
        return best, worse

    def interval(self, quantity: Quantity) -> tuple[float, float]:
        """Return the places between which a quantity is not excluded; 0 and 1 are its edges."""
        self.near = [self.x]
        if self.noisy:
            cut, half = (float(scipy.stats.chi2.ppf(p, 1)) for p in (self.level, 2 * self.level - 1))
        else:
            cut, half = (float(scipy.stats.f.ppf(p, 1, self.spare)) for p in (self.level, 2 * self.level - 1))
        return self._end(quantity, 0.0, cut, half), self._end(quantity, 1.0, cut, half)

    def _end(self, quantity: Quantity, edge: float, cut: float, half: float) -> float:
        """Return the end towards an edge: steps of the size that the curvature says, then a root between the last two.

        √ of what a fit loses is nearly straight.
        """
        near = here = quantity(self.x)
        step, goal = self._width(quantity) * math.sqrt(cut), math.sqrt(cut)

        lost: dict[float, float] = {here: 0.0}

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
        width = abs(far - here)
        short = lambda place: math.sqrt(loses(place, goal**2)) - goal  # noqa: E731
        return float(scipy.optimize.brentq(short, near, far, xtol=max(1e-4 * width, 1e-15), rtol=1e-14))

    def _width(self, quantity: Quantity) -> float:
        """Return the standard deviation of a quantity's place, as the curvature at the best fit has it."""
        ways = self._ways(self.held, self.x)
        jacobian = self.slopes(self.x) @ ways
        size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        gradient = self._differences(lambda y: np.array([quantity(y)]), self.x)[0] @ ways / size
        inverse = np.linalg.pinv(jacobian / size, rcond=1e-9)
        return float(np.clip(math.sqrt(self.unit) * np.linalg.norm(gradient @ inverse), 1e-14, 0.3))


def _square(deviations: Array) -> float:
    total = float(deviations @ deviations)
    return total if math.isfinite(total) else math.inf
