r"""When to leave a local minimum: the two thresholds of γ, which are speeds of travelling fronts (ours).

One parameter, no drift, κ = ηk/G. An optimal path obeys :math:`\ddot\theta - \gamma\dot\theta = \kappa L'(\theta)`. The
profile of a front u(x − st) of :math:`u_t = u_{xx} - \kappa L'(u)` obeys u″ + su′ = κL′(u): read against its direction
of motion it is the same equation, with γ for the speed s. So the learner leaves the shallow well for γ below the speed
at which the deep phase invades the shallow one, and it divides the line at the barrier, as gradient descent does, from
the largest speed on at which a well's phase invades the unstable state at the barrier.

References: Fisher 1937, Kolmogorov, Petrovsky & Piskunov 1937, Aronson & Weinberger 1978 (fronts); Skiba 1978,
Kiseleva & Wagener 2010 (indifference points).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy.optimize import elementwise

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory import modes, stationary
from lossnav.trajectory.manifold import Orbit, orbit

Span = tuple[float, float]

_SCAN = 2001  # samples of L′ in which sign changes are looked for
_EQUAL = 1e-12  # a difference of depths below this part of the ways up and down counts as none


@dataclass(frozen=True)
class Wells:
    """Two neighbouring minima with one barrier between; of two equally deep ones the right one is called deep.

    Attributes:
        shallow, barrier, deep: their places.
        drop: L(shallow) − L(deep) ≥ 0, exactly 0 for equal depths.
    """

    shallow: float
    barrier: float
    deep: float
    drop: float


@dataclass(frozen=True)
class Discounts:
    """The thresholds of a quartic in closed form: see ``heteroclinic_discount`` and ``barrier_discount``.

    Attributes:
        heteroclinic: γ_het, unit 1/time.
        barrier: γ_bar.
        pushed: whether γ_bar exceeds 2√(κ|h_b|), what the linearisation at the barrier says.
    """

    heteroclinic: float
    barrier: float
    pushed: bool


def heteroclinic_discount(objective: Objective, loss: Loss, *, span: Span | None = None) -> float:
    """Return γ_het: crossing from the shallower of two wells to the deeper is optimal if and only if γ < γ_het.

    It is the speed at which the deep phase invades the shallow one. At γ_het an orbit leaves the shallow minimum and
    comes to rest in the deep one: the unstable manifold of the former meets the stable manifold of the latter, an
    *indifference–attractor bifurcation*. Below it crossing is optimal from every start on the shallow side; above it
    staying is, from the shallow minimum and a neighbourhood of it. The statement needs L′ < 0 left of both minima and
    L′ > 0 right of both, so that nothing draws the path elsewhere. 0 for equal depths: with any discount staying at
    the minimum is then optimal. ``objective.gamma`` is not used.

    Args:
        objective: η, k and the metric; infinite horizon, no drift.
        loss: of dimension 1.
        span: (low, high) within which the wells lie, and within which the statement then holds; None asks the loss for
            its stationary points, or searches for them about 0 in a box of size 10.

    Returns:
        γ_het ≥ 0, unit 1/time, good to about 1e-11 of √(κL″) for a smooth loss with exact derivatives.

    Raises:
        ValueError: unless the loss is one-dimensional with exactly two minima, one maximum between them, and no other
            stationary point.
    """
    gain = one_dimensional(objective, loss)
    well_pair = wells(objective, loss, span)
    if well_pair.drop == 0:
        return 0.0
    unit = _pulled(loss, gain, well_pair.barrier)

    def gap(speed: float) -> float:
        return _meeting(loss, gain, speed * unit, well_pair.shallow, well_pair.deep, well_pair.barrier) / unit

    return unit * _root(gap, 0.0)


def barrier_discount(objective: Objective, loss: Loss, *, span: Span | None = None) -> float:
    """Return γ_bar: from this γ on, for every larger one, the indifference point (Skiba point) is the barrier itself.

    Sufficient and not necessary: the point is the barrier if neither orbit passes the barrier, or if both do and are
    equally fast there (mirror-symmetric wells at any γ, others at single values), and not if one passes alone.
    For γ ≥ γ_bar neither the orbit into the deep minimum nor the one into the shallow minimum, followed back, passes
    the barrier b: the optimal learner then divides the line as gradient descent does. Each fails to pass from the
    speed on at which its well's phase invades the unstable state b; γ_bar is the larger of the two. (For a quartic
    that is always the deep one's.) Always γ_bar ≥ 2√(κ|h_b|), h_b = L″(b), the *pulled* speed; equality holds if, in
    both wells, |L′(θ)/(θ − b)| ≤ |h_b| between b and the minimum (the KPP condition; sufficient, not necessary).
    Above it the front is *pushed*, and its profile leaves b along the fast eigendirection. ``objective.gamma`` is not
    used.

    Args, Raises: as for ``heteroclinic_discount``.
    """
    gain = one_dimensional(objective, loss)
    well_pair = wells(objective, loss, span)
    pulled = _pulled(loss, gain, well_pair.barrier)

    def invades(minimum: float) -> float:  # the least speed at which this phase does, in units of the pulled one
        return _root(lambda speed: _lead(loss, gain, speed * pulled, well_pair.barrier, minimum), 1.0)

    return pulled * max(invades(end) for end in (well_pair.shallow, well_pair.deep))


def quartic_discounts(objective: Objective, loss: Loss, *, span: Span | None = None) -> Discounts:
    """Return both thresholds of a quartic in closed form.

    For L′ = 4A(θ − m)(θ − b)(θ − p), p the deeper minimum, and c = √(2κA) the path θ̇ = −c(θ − x)(θ − y) solves the
    Euler–Lagrange equation for (x, y) = (m, p) at γ_het = c|m + p − 2b|, and for (b, p) at c(|p − b| + 2|b − m|). The
    latter is γ_bar if |p − b| > 2|b − m| (pushed); otherwise γ_bar = 2√(κ|h_b|), with h_b = −4A|p − b||b − m|.

    Args: as for ``heteroclinic_discount``.

    Raises:
        ValueError: as there, and if L′ is not a cubic with these roots.
    """
    gain = one_dimensional(objective, loss)
    well_pair = wells(objective, loss, span)
    m, b, p = well_pair.shallow, well_pair.barrier, well_pair.deep
    rise, fall = abs(b - m), abs(p - b)
    four_a = -float(loss.hessian([b])[0, 0]) / (rise * fall)
    theta = np.linspace(m + (m - b) / 2, p + (p - b) / 2, 15)[:, None]
    cubic = four_a * (theta - m) * (theta - b) * (theta - p)
    if not np.allclose(loss.gradient(theta), cubic, rtol=0, atol=1e-6 * float(np.max(np.abs(cubic)))):
        raise ValueError(f"loss = {_checks.shown(loss)} is not of degree four, but the closed form holds for quartics")
    speed = math.sqrt(gain * four_a / 2)
    pushed = fall > 2 * rise
    linear = 2 * math.sqrt(gain * four_a * rise * fall)
    return Discounts(speed * (fall - rise), speed * (fall + 2 * rise) if pushed else linear, pushed)


def wells(objective: Objective, loss: Loss, span: Span | None = None) -> Wells:
    """Return the two wells of a one-dimensional loss and the barrier between them, or raise ValueError."""
    places = _stationary(objective, loss, span)
    curvature = loss.hessian(places[:, None])[:, 0, 0] if len(places) else places
    if len(places) != 3 or not np.array_equal(np.sign(curvature), [1, -1, 1]):
        where = f" within span = {span}" if span is not None else ""
        raise ValueError(
            f"loss = {_checks.shown(loss)} has minima at {[float(f'{x:.6g}') for x in places[curvature > 0]]} among "
            f"{len(places)} stationary points{where}, but it must have exactly two, one maximum of negative curvature "
            "between them, and no other stationary point (span = (low, high) says where to look)"
        )
    left, barrier, right = (float(x) for x in places)
    up, down = (_height(loss, end, barrier) for end in (left, right))
    drop = down - up if abs(down - up) > _EQUAL * (up + down) else 0.0
    return Wells(left, barrier, right, drop) if drop >= 0 else Wells(right, barrier, left, -drop)


def arrive(loss: Loss, gain: float, gamma: float, minimum: float, edge: float) -> Orbit:
    """Return the orbit that comes to rest in ``minimum`` from the side of ``edge``."""
    rate = -float(modes.slow_rate(loss.hessian([minimum])[0, 0], gain, gamma))
    return orbit(loss, gain, gamma, minimum, edge, rate)


def passes_barrier(loss: Loss, gain: float, gamma: float, barrier: float, minimum: float) -> bool:
    """Say whether the orbit into ``minimum``, followed back, is on the other side of the barrier at some time."""
    pulled = _pulled(loss, gain, barrier)
    return gamma < pulled or _lead(loss, gain, gamma, barrier, minimum) < 0


def one_dimensional(objective: Objective, loss: Loss) -> float:
    """Return κ = ηk/G for a one-dimensional problem without drift and deadline, or raise ValueError."""
    check_problem(objective, loss, dim=False)
    if loss.dim != 1:
        raise ValueError(f"loss = {loss!r} has dim = {loss.dim}, but the phase plane needs 1: see losses.Section")
    if objective.drift is not None or math.isfinite(objective.horizon):
        raise ValueError("objective must have no drift and an infinite horizon here")
    return objective.eta * objective.k / float(objective.metric_matrix(1)[0, 0])


def _lead(loss: Loss, gain: float, gamma: float, barrier: float, minimum: float) -> float:
    """Return by how much, halfway, the fast orbit out of the barrier leads the orbit into the minimum (γ ≥ pulled).

    The lead grows with γ. Followed back, an orbit with less speed than the fast one ends in the barrier along the slow
    eigendirection, one with more passes it. Halfway both are smooth; at the barrier itself the speed of one that
    passes vanishes like a power of its lead, from which no root could be read off.
    """
    halfway = (barrier + minimum) / 2
    return _meeting(loss, gain, gamma, barrier, minimum, halfway) / (gamma * abs(halfway - barrier))


def _meeting(loss: Loss, gain: float, gamma: float, origin: float, end: float, place: float) -> float:
    """Return by how much the fast orbit out of ``origin`` is faster at ``place`` than the one into ``end``."""
    # ``modes.fast_rate`` but at the pulled speed, where rounding may leave less than 0 under the root.
    square = gamma**2 / 4 + gain * float(loss.hessian([origin])[0, 0])
    out = math.sqrt(max(square, 0.0)) + gamma / 2
    return orbit(loss, gain, gamma, origin, place, out).last - arrive(loss, gain, gamma, end, place).last


def _root(increasing: Callable[[float], float], low: float) -> float:
    """Return the root above ``low`` of an increasing function of a dimensionless γ, ``low`` if it is not negative."""
    increasing = functools.cache(increasing)  # brentq asks for both ends again, and each value is two orbits
    if increasing(low) >= 0:
        return low
    high = max(2 * low, 1.0)
    while increasing(high) <= 0:
        low, high = high, 2 * high
        if not math.isfinite(high):
            raise NotConverged("no discount rate was found at which the orbit stalls: the loss is too steep")
    return float(scipy.optimize.brentq(increasing, low, high, xtol=1e-12, rtol=1e-12))


def _height(loss: Loss, minimum: float, barrier: float) -> float:
    """Return L(barrier) − L(minimum) from L′, which an offset of L cannot spoil."""
    way = barrier - minimum
    # With full_output quad reports instead of warning; rounding keeps shallow wells from 1e-13, which does no harm.
    height, error, *_ = scipy.integrate.quad(
        lambda part: way * float(loss.gradient(np.array([minimum + part * way]))[0]), 0.0, 1.0,
        epsabs=0.0, epsrel=1e-13, limit=200, full_output=1,
    )  # fmt: skip
    if not error <= 1e-6 * abs(height):
        raise NotConverged(f"the height of {loss!r} between {minimum:g} and {barrier:g} could not be summed")
    return float(height)


def ends(span: Any) -> tuple[float, float]:
    """Return the two ends of a span, or raise ValueError."""
    if len(_checks.sequence("span", span, "two numbers")) != 2:
        raise ValueError(f"span = {_checks.shown(span)}, but it must be (low, high)")
    low, high = (_checks.finite("span", edge) for edge in span)
    return low, high


def _stationary(objective: Objective, loss: Loss, span: Span | None) -> Array:
    """Return the stationary points in ascending order."""
    if span is None:
        points = np.sort(stationary.points(objective, loss, np.zeros(1)), axis=0)
        for _ in range(3 if len(points) else 0):  # Newton's method, where they were searched for
            curvature = loss.hessian(points)[:, 0]
            points = points - np.divide(loss.gradient(points), curvature, out=0 * points, where=curvature != 0)
        return points[:, 0]
    low, high = ends(span)
    if not low < high:
        raise ValueError(f"span = {span}, but it must be (low, high) with low < high")
    theta = np.linspace(low, high, _SCAN)
    change = np.sign(loss.gradient(theta[:, None])[:, 0])
    left = np.flatnonzero(change[:-1] * change[1:] < 0)
    between = elementwise.find_root(lambda x: loss.gradient(x[:, None])[:, 0], (theta[left], theta[left + 1])).x
    return np.sort(np.concatenate([theta[change == 0], between]))


def _pulled(loss: Loss, gain: float, barrier: float) -> float:
    """Return 2√(κ|h_b|): below it orbits spiral around the barrier."""
    return 2 * math.sqrt(-gain * float(loss.hessian([barrier])[0, 0]))
