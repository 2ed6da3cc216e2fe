r"""Orbits of θ̈ = γθ̇ + κL′(θ) into or out of a rest point (one parameter, κ = ηk/G).

An orbit is followed in time *away* from its rest point c, backwards if it arrives there, so that errors of its start
fade. Close to c, where it takes for ever, a series p = θ̇ = s(θ − c) + … stands in, from p·dp/dθ = γp + κL′.

Inside, lengths are measured by the distance over which L′ is linear about c and times by the eigenvalue there, so
that every tolerance is relative and no unit of θ, L or t matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.polynomial import Chebyshev, Polynomial
from scipy.optimize import elementwise

from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss

_ORDER = 8  # of the series about a rest point
_HANDOVER = 0.01  # where the series hands over to the integrator: its relative error is of order 1e-16 there
_FITTED = 0.03  # on both sides of the rest point, L′ is fitted up to here
_HALVINGS = 200  # of the way to the edge, before the loss counts as not smooth: 10^−60 of it
_MOST_CALLS = 300_000  # of the gradient, some seconds; an ordinary orbit takes 600
_STALLED = 1e-10  # an orbit slower than this has come to rest, or turns


@dataclass(frozen=True, eq=False)
class Orbit:
    """One side of a manifold, from its rest point to ``stop``.

    Attributes:
        rest: the rest point c.
        stop: the edge that was asked for, or the place before it where the orbit turns or creeps to rest.
        complete: whether it got to the edge.
        last: |θ̇| at the edge, 0 if it did not get there.
    """

    rest: float
    stop: float
    complete: bool
    last: float
    _length: float  # signed, towards the edge
    _rate: float  # signed eigenvalue: p = rate·(θ − c) + …
    _series: Polynomial  # p of x, dimensionless
    _states: Any  # x, p and ∫p dx of time, dimensionless

    def speed(self, theta: Array) -> Array:
        """Return p at θ, NaN beyond ``stop``."""
        return self._rate * self._length * self._evaluate(theta, 1, self._series)

    def area(self, theta: Array) -> Array:
        """Return −∫p dθ from the rest point to θ, NaN beyond ``stop``: η/G times what the path costs above resting."""
        return -self._rate * self._length**2 * self._evaluate(theta, 2, self._series.integ())

    def _evaluate(self, theta: Array, row: int, near: Polynomial) -> Array:
        x = (np.asarray(theta, dtype=np.float64) - self.rest) / self._length
        if x.size == 0:  # of no place scipy looks for no root
            return x
        end = (self.stop - self.rest) / self._length

        def beyond(t: Array, place: Array) -> Array:
            return self._states(t.ravel())[0].reshape(t.shape) - place

        first, last = self._states.t_min, self._states.t_max
        within = np.clip(x, *self._states(np.array([first, last]))[0])
        when = elementwise.find_root(beyond, (first, last), args=(within,)).x
        far = self._states(when.ravel())[row].reshape(x.shape)
        inside = (x >= -1e-12 * end) & (x <= end * (1 + 1e-12))
        return np.where(inside, np.where(x < _HANDOVER, near(x), far), np.nan)


def orbit(loss: Loss, gain: float, gamma: float, rest: float, edge: float, rate: float) -> Orbit:
    """Follow the manifold of (rest, 0) with the eigenvalue ``rate`` towards ``edge`` until it turns or gets there.

    Args:
        loss: of dimension 1.
        gain: κ = ηk/G.
        gamma: γ.
        rest: a stationary point of L with L″ ≠ 0.
        edge: where to stop, ≠ rest.
        rate: root s ≠ 0 of s² − γs = κL″(rest), negative for the orbits that come to rest there.

    Raises:
        NotConverged: if the integration fails, as where L′ is not finite.
    """
    # All is in units of the distance over which the loss is a parabola, and of the rate.
    curvature = float(loss.hessian([rest])[0, 0])
    length = math.copysign(linear_reach(loss, rest, curvature, abs(edge - rest)), edge - rest)
    far, friction, unit = (edge - rest) / length, math.copysign(gamma / abs(rate), rate), gain / (rate**2 * length)
    calls = 0

    def flow(_: float, state: Array) -> list[float]:
        nonlocal calls
        calls += 1
        x, p, _ = state
        if calls > _MOST_CALLS:
            raise NotConverged(
                f"the orbit of {loss!r} at {rest:g} took more than {_MOST_CALLS} evaluations of the gradient up to "
                f"{rest + length * x:g}: gamma is very large, or the gradient is not smooth"
            )
        return [p, friction * p + unit * float(loss.gradient(np.array([rest + length * x]))[0]), p * p]

    def there(_: float, state: Array) -> float:
        return state[0] - far

    def stalled(_: float, state: Array) -> float:
        return state[1] - _STALLED

    there.terminal = stalled.terminal = True  # type: ignore[attr-defined]
    # Near the rest, where velocities vanish, the orbit is a series; from its edge on it is integrated.
    nodes = _FITTED * np.cos(np.pi * (np.arange(14) + 0.5) / 14)
    series = _series(nodes, unit * loss.gradient((rest + length * nodes)[:, None])[:, 0], friction)
    first = [_HANDOVER, series(_HANDOVER), series.integ()(_HANDOVER)]
    solution = scipy.integrate.solve_ivp(
        flow,
        (0.0, math.inf),
        first,
        method="DOP853",
        rtol=1e-12,
        atol=1e-15,
        events=(there, stalled),
        dense_output=True,
    )
    if solution.status < 0:
        raise NotConverged(
            f"the orbit of {loss!r} at {rest:g} could not be followed to {edge:g}: {solution.message} Is the loss "
            "smooth and finite there?"
        )
    complete = len(solution.t_events[0]) > 0
    stop = edge if complete else rest + length * float(solution.y[0, -1])
    last = abs(rate * length) * float(solution.y[1, -1]) if complete else 0.0
    return Orbit(rest, stop, complete, last, length, rate, series, solution.sol)


def _series(near: Array, force: Array, friction: float) -> Polynomial:
    """Return p = x + … that solves p·dp/dx = friction·p + force near x = 0."""
    fitted = Chebyshev.fit(near, force, _ORDER + 1, domain=[-_FITTED, _FITTED])
    taylor = fitted.convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    series = np.zeros(_ORDER + 1)
    series[1] = 1.0
    for n in range(2, _ORDER + 1):
        below = sum(series[i] * (n + 1 - i) * series[n + 1 - i] for i in range(2, n))
        series[n] = (taylor[n] - below) / (n + 1 - friction)  # friction ≤ 2: an eigenvalue out of c exceeds γ/2
    return Polynomial(series)


def linear_reach(loss: Loss, rest: float, curvature: float, most: float) -> float:
    """Return a distance from ``rest``, at most ``most``, over which L′ is linear within a half."""
    distance, here = most, float(loss.gradient(np.array([rest]))[0])
    for _ in range(_HALVINGS):
        change = loss.gradient(np.array([[rest - distance], [rest + distance]]))[:, 0] - here
        line = curvature * distance * np.array([-1.0, 1.0])
        if np.all(np.abs(change - line) <= np.abs(line) / 2):
            return distance
        distance /= 2
    raise ValueError(f"loss = {loss!r} has no linear slope about {rest:g}, but it must be smooth there")
