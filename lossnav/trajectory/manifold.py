r"""Orbits of θ̈ = γθ̇ + κL′(θ) into or out of a rest point, as curves over θ (one parameter, κ = ηk/G).

With q = p²/2, p = θ̇, an orbit solves :math:`dq/d\theta = \gamma p + \kappa L'(\theta)`. It is followed *away* from its
rest point c, where the equation forgets its starting value: q of a stable manifold decays towards the right one as
:math:`e^{-\int\gamma/p}`. Close to c a series in θ − c stands in. Nothing is discretised in time.

Inside, lengths are measured by the distance over which L′ is linear about c and times by the eigenvalue there, so
that every tolerance is relative and no unit of θ, L or t matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss

_ORDER = 8
_HANDOVER = 0.01  # where the series hands over to the integrator: its relative error is of order 1e-16 there
_FITTED = 0.03  # on both sides of the rest point, L′ is fitted up to here
_NODES = np.cos(np.pi * (np.arange(14) + 0.5) / 14)
_HALVINGS = 200
_MOST_CALLS = 300_000
_STALLED = 1e-10  # an orbit slower than this has come to rest, or turns


@dataclass(frozen=True, eq=False)
class Branch:
    """One side of a manifold, from its rest point to ``stop``.

    Attributes:
        rest: the rest point c.
        stop: the edge that was asked for, or the place before it where the orbit turns (p = 0).
        complete: whether it got to the edge.
    """

    rest: float
    stop: float
    complete: bool
    _length: float  # signed, towards the edge
    _rate: float  # signed eigenvalue: p = rate·(θ − c) + …
    _series: Array  # p = Σ series[n]·xⁿ, dimensionless
    _solution: Callable[[Array], Array]

    def speed(self, theta: Array) -> Array:
        """Return p at θ, NaN beyond ``stop``."""
        return self._evaluate(theta, 0)

    def area(self, theta: Array) -> Array:
        """Return −∫p dθ from the rest point to θ, NaN beyond ``stop``: η/G times what the path costs above resting."""
        return self._evaluate(theta, 1)

    @cached_property
    def _summed(self) -> Array:
        return np.polynomial.polynomial.polyint(self._series)

    def _evaluate(self, theta: Array, row: int) -> Array:
        x = (np.asarray(theta, dtype=np.float64) - self.rest) / self._length
        end = (self.stop - self.rest) / self._length
        q, area = self._solution(np.clip(x, _HANDOVER, end))
        close = np.polynomial.polynomial.polyval(x, self._series if row == 0 else self._summed)
        far = np.sqrt(2 * np.maximum(q, 0.0)) if row == 0 else area
        unit = self._rate * self._length * (1.0 if row == 0 else -self._length)
        inside = (x >= -1e-12 * end) & (x <= end * (1 + 1e-12))
        return unit * np.where(inside, np.where(x < _HANDOVER, close, far), np.nan)


def branch(loss: Loss, stiffness: float, gamma: float, rest: float, edge: float, rate: float) -> Branch:
    """Follow the manifold of (rest, 0) with the eigenvalue ``rate`` towards ``edge`` until it turns or gets there.

    Args:
        loss: of dimension 1.
        stiffness: κ = ηk/G.
        gamma: γ.
        rest: a stationary point of L with L″ ≠ 0.
        edge: where to stop, ≠ rest.
        rate: root s ≠ 0 of s² − γs = κL″(rest), negative for the orbits that come to rest there.

    Raises:
        NotConverged: if the integration fails, as where L′ is not finite.
    """
    start = _Start(loss, stiffness, gamma, rest, edge, rate)
    length, polynomial = start.length, np.polynomial.Polynomial(start.series)

    def slope(x: float, state: Array) -> list[float]:
        p = math.sqrt(2 * max(state[0], 0.0))
        return [start.friction * p + start.force(x), p]

    def turned(_: float, state: Array) -> float:
        return state[0]

    turned.terminal = True  # type: ignore[attr-defined]
    first = [float(polynomial(_HANDOVER)) ** 2 / 2, float(polynomial.integ()(_HANDOVER))]
    result = scipy.integrate.solve_ivp(
        slope, (_HANDOVER, start.far), first, method="DOP853", rtol=1e-12, atol=1e-18, events=turned, dense_output=True
    )
    start.check(result)
    complete = result.status == 0
    stop = edge if complete else rest + length * float(result.t[-1])
    return Branch(rest, stop, complete, length, rate, start.series, result.sol)


def edge_speed(loss: Loss, stiffness: float, gamma: float, rest: float, edge: float, rate: float) -> float:
    """Return |θ̇| with which the manifold of ``branch`` passes ``edge``, 0 if it turns or creeps to rest before.

    This follows the orbit in time, in which a turn is an ordinary point and costs nothing.

    Args, Raises: as for ``branch``.
    """
    start = _Start(loss, stiffness, gamma, rest, edge, rate)

    def flow(_: float, state: Array) -> list[float]:
        return [state[1], start.friction * state[1] + start.force(state[0])]

    def there(_: float, state: Array) -> float:
        return state[0] - start.far

    def stalled(_: float, state: Array) -> float:
        return state[1] - _STALLED

    there.terminal = stalled.terminal = True  # type: ignore[attr-defined]
    first = float(np.polynomial.Polynomial(start.series)(_HANDOVER))
    result = scipy.integrate.solve_ivp(
        flow, (0.0, math.inf), [_HANDOVER, first], method="DOP853", rtol=1e-12, atol=1e-15, events=(there, stalled)
    )
    start.check(result)
    passed = result.y_events[0]
    return abs(rate * start.length) * float(passed[0][1]) if len(passed) else 0.0


class _Start:
    """The dimensionless problem of one manifold: x = (θ − rest)/length grows from 0 to ``far``, p = |θ̇|/|rate·length|.

    dp/ds = friction·p + force(x) with dx/ds = p: s is time in units of 1/|rate|, backwards for an orbit that arrives.
    """

    def __init__(self, loss: Loss, stiffness: float, gamma: float, rest: float, edge: float, rate: float):
        curvature = float(loss.hessian([rest])[0, 0])
        self.length = math.copysign(linear_reach(loss, rest, curvature, abs(edge - rest)), edge - rest)
        self.far = (edge - rest) / self.length
        self.friction = math.copysign(gamma / abs(rate), rate)
        self._loss, self._rest, self._unit = loss, rest, stiffness / (rate**2 * self.length)
        self._calls = 0
        near = _FITTED * _NODES
        slope = loss.gradient((rest + self.length * near)[:, None])[:, 0]
        self.series = _series(near, self._unit * slope, self.friction)

    def force(self, x: float) -> float:
        self._calls += 1
        place = self._rest + self.length * x
        if self._calls > _MOST_CALLS:
            raise NotConverged(
                f"the orbit of {self._loss!r} at {self._rest:g} took more than {_MOST_CALLS} evaluations of the "
                f"gradient up to {place:g}: gamma is very large, or the gradient is not smooth"
            )
        return self._unit * float(self._loss.gradient(np.array([place]))[0])

    def check(self, result: Any) -> None:
        if result.status < 0:
            raise NotConverged(
                f"the orbit of {self._loss!r} at {self._rest:g} could not be followed to "
                f"{self._rest + self.length * self.far:g}: {result.message} Is the loss smooth and finite there?"
            )


def _series(near: Array, force: Array, friction: float) -> Array:
    """Return the coefficients of p = x + … that solve p·dp/dx = friction·p + force near x = 0, lowest first."""
    fitted = np.polynomial.Chebyshev.fit(near, force, _ORDER + 1, domain=[-_FITTED, _FITTED])
    taylor = fitted.convert(kind=np.polynomial.Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    series = np.zeros(_ORDER + 1)
    series[1] = 1.0
    for n in range(2, _ORDER + 1):
        below = sum(series[i] * (n + 1 - i) * series[n + 1 - i] for i in range(2, n))
        series[n] = (taylor[n] - below) / (n + 1 - friction)  # friction ≤ 2: an eigenvalue out of c exceeds γ/2
    return series


def linear_reach(loss: Loss, rest: float, curvature: float, most: float) -> float:
    """Return a distance from ``rest``, at most ``most``, over which L′ is linear within a half."""
    distance, here = most, float(loss.gradient(np.array([rest]))[0])
    for _ in range(_HALVINGS):
        both = loss.gradient(np.array([[rest - distance], [rest + distance]]))[:, 0] - here
        line = curvature * distance * np.array([-1.0, 1.0])
        if np.all(np.abs(both - line) <= np.abs(line) / 2):
            return distance
        distance /= 2
    raise ValueError(f"loss = {loss!r} has no linear slope about {rest:g}, but it must be smooth there")
