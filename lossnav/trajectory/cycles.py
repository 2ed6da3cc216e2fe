r"""Optimal paths that never rest: closed orbits of the Euler–Lagrange equation, and the drift that a loss can hold.

A drift that is no gradient can carry a learner round a closed orbit more cheaply than any rest would be. The orbit
θ(t + T) = θ(t) solves a boundary-value problem whose period T is unknown. Along every extremal

.. math:: \tfrac{d}{dt}\{\tfrac12|\dot\theta|_G^2-\tfrac12|f|_G^2-\eta kL\}=\gamma\,\dot\theta^\top G(\dot\theta-f),

so that on a closed one, if γ > 0, the *balance* :math:`\oint\dot\theta^\top G(\dot\theta-f)\,dt` is zero. At γ = 0
there is a closed extremal for each energy, and the same equation singles out the one of least cost per unit of time: it
says that this cost does not change with T. One problem therefore serves every γ ≥ 0: the balance is imposed besides the
equation of motion, and an unfolding term μθ̇, which comes out as zero, makes the unknowns as many as the equations.
The orbit is a trigonometric polynomial, and the equations hold at its nodes (Fourier collocation).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.losses.function import Formula, as_loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory import fourier
from lossnav.trajectory.motion import acceleration

_FIRST_NODES = 33  # ten modes that are resolved, and as many that show whether more are needed
_MOST_UNKNOWNS = 2500  # a dense Jacobian of 50 MB
_MOST_STEPS = 60  # of Newton's method, which takes ten from a good guess
_TAIL = 1e-8  # of the orbit's size: modes fall off geometrically, so that what is left out is far smaller


@dataclass(frozen=True, eq=False, repr=False)
class Cycle:
    r"""A closed extremal.

    Attributes:
        objective, loss: the problem; its drift is multiplied by ``strength``.
        strength: factor on ``objective.drift`` with which the orbit was found; 1 unless it was the unknown.
        period: T, unit of time.
        nodes: θ at the times nT/N, shape (N, D), N odd.
        rate: mean of |θ̇−f|²_G/2η + kL over a period, the undiscounted cost per unit of time.
        residual: largest residual of the Euler–Lagrange equation at the nodes, and the unfolding term that must be
            zero, relative to the orbit's size and period.
        tail: share of the highest third of the modes, relative to the orbit's size: what the nodes do not resolve.
    """

    objective: Objective
    loss: Loss
    strength: float
    period: float
    nodes: Array
    residual: float = math.nan
    tail: float = math.nan
    rate: float = field(init=False)

    def __post_init__(self) -> None:
        _checks.frozen(self.nodes)
        object.__setattr__(self, "rate", float(np.mean(self.cost_rate(self.times))))

    @property
    def times(self) -> Array:
        """The nodes' times, shape (N,)."""
        return np.arange(len(self.nodes)) * self.period / len(self.nodes)

    def position(self, t: ArrayLike) -> Array:
        """Return θ(t) for any real times, shape (T,) → (T, D)."""
        return fourier.series(self.nodes, _times(t) / self.period, 0)

    def velocity(self, t: ArrayLike) -> Array:
        """Return θ̇(t) for any real times, shape (T,) → (T, D)."""
        return fourier.series(self.nodes, _times(t) / self.period, 1) / self.period

    def cost_rate(self, t: ArrayLike) -> Array:
        """Return |θ̇−f|²_G/2η + kL at given times, shape (T,)."""
        theta, objective = self.position(t), self.objective
        slip = self.velocity(t) - self.strength * _drift(objective, theta)
        metric = objective.metric_matrix(self.loss.dim)
        kinetic = np.einsum("...i,ij,...j->...", slip, metric, slip) / (2 * objective.eta)
        return kinetic + objective.k * np.asarray(self.loss.value(theta))

    @property
    def action(self) -> float:
        """J from ``nodes[0]``, round and round; at γ = 0 it is 0 if the rate is, else ±inf."""
        costs = self.cost_rate(self.times)
        if self.objective.gamma == 0:
            standing = self.objective.kinetic(self.nodes, np.zeros_like(self.nodes)) * self.strength**2
            tiny = 1e-9 * float(np.max(np.abs(costs)) + np.max(standing))
            return 0.0 if abs(self.rate) <= tiny else math.copysign(math.inf, self.rate)
        frequency = 2 * np.pi * fourier.order(len(costs)) / self.period
        return float(np.sum(np.fft.fft(costs) / len(costs) / (self.objective.gamma - 1j * frequency)).real)

    def __repr__(self) -> str:
        return f"Cycle(period={self.period:.9g}, rate={self.rate:.9g}, strength={self.strength:.9g})"


def cycle(objective: Objective, loss: Loss | Callable[[Any], Any] | Formula, guess: ArrayLike | Cycle) -> Cycle:
    r"""Return the closed extremal near a guess: at γ = 0 one whose cost per unit of time is stationary.

    Only stationarity is solved for. Whether the orbit is better than resting, compare: at γ = 0 its ``rate`` with the
    cost per unit of time at the minimum of the effective loss, at γ > 0 its ``action`` with what ``ln.solve`` finds.

    Args:
        objective: with a drift and a constant metric; ``horizon`` is ignored.
        loss: the landscape, or a function or an expression, as for ``ln.solve``.
        guess: points on a loop in the order in which they are passed, shape (M, D), M ≥ 8, the first not repeated; the
            drift must help along it. Or another ``Cycle``, of a problem nearby.

    Raises:
        ValueError: for a problem without drift, a guess of another shape, or one that runs against the drift.
        NotConverged: if no closed extremal is found near the guess, as where a learner locks in place.

    Example:
        >>> import numpy as np, lossnav as ln
        >>> ring = ln.losses.Function(lambda x: ((x**2).sum(-1) - 1) ** 2, dim=2)
        >>> t = np.arange(16) * np.pi / 8
        >>> loop = 0.9 * np.stack([np.cos(t), np.sin(t)], axis=1)
        >>> found = cycle(ln.Objective(drift=ln.drifts.rotation(0.5)), ring, loop)
        >>> round(found.period / np.pi, 6), round(1 + found.rate, 9)
        (4.0, 1.0)
    """
    start = _start(objective, loss, guess)
    try:
        return _resolved(start, True)
    except NotConverged:
        if isinstance(guess, Cycle):
            raise
    return _eased(start)


def slow_cycle(
    objective: Objective, loss: Loss | Callable[[Any], Any] | Formula, guess: ArrayLike | Cycle, *, period: float
) -> Cycle:
    r"""Return the closed extremal with a given period; the strength s of the drift s·f is the unknown.

    As the drift weakens towards the threshold at which the learner locks, T → ∞. If the orbit dies on a resting place
    that still stands (a homoclinic orbit), s(T) tends to the threshold like :math:`e^{-\\lambda T}`, λ the slowest rate
    of that place: a long period gives it to all digits. If the resting place is born on the orbit (a saddle-node on an
    invariant circle), s(T) tends to it from above like 1/T², and the place itself says where it is born.

    Args:
        objective, loss, guess: as ``cycle``; ``guess`` is best a ``Cycle`` whose period is not much shorter.
        period: T > 0.

    Raises:
        ValueError, NotConverged: as ``cycle``.
    """
    start, period = _start(objective, loss, guess), _checks.positive("period", period)
    return _slowed(start if isinstance(guess, Cycle) else _first(start, period), period)


def _first(start: Cycle, period: float) -> Cycle:
    """Return a cycle of that period, or a half, a quarter, … of it: where the drift is strong, orbits are round."""
    for part in 2.0 ** np.arange(10):
        if period / part > 2 * start.period and part < 2**9:
            continue
        try:
            faster = replace(start, period=period / part, strength=start.strength * start.period * part / period)
            return _resolved(faster, False)
        except NotConverged as error:
            last = error
    raise last


def _slowed(start: Cycle, period: float) -> Cycle:
    """Return the cycle of a longer period, in as few steps as work."""
    if period < 2.1 * start.period:
        try:
            return _resolved(_wait(start, period), False)
        except NotConverged:
            if abs(math.log(period / start.period)) < 0.1:
                raise
    return _slowed(_slowed(start, math.sqrt(period * start.period)), period)


def _eased(start: Cycle) -> Cycle:
    """Return the cycle by way of stronger drifts, whose orbits are rounder: come down from there in small steps."""
    for strong in (2.0, 4.0):
        try:
            orbit = _resolved(replace(start, strength=strong, period=start.period / strong), True)
            for strength in np.geomspace(strong, 1.0, 2 + round(6 * math.log2(strong)))[1:]:
                orbit = _resolved(replace(orbit, strength=float(strength)), True)
            return orbit
        except NotConverged as error:
            last = error
    raise last


def _resolved(start: Cycle, clock: bool) -> Cycle:
    """Solve on ever more nodes until they resolve the orbit."""
    count = max(len(start.nodes), _FIRST_NODES)
    while True:
        nodes = fourier.series(start.nodes, np.arange(count) / count, 0)
        start = _newton(replace(start, nodes=nodes), clock)
        if start.tail <= _TAIL:
            return start
        count = 2 * count - 1
        if count * start.loss.dim > _MOST_UNKNOWNS:
            raise NotConverged(
                f"no closed extremal: {len(start.nodes)} nodes do not resolve it (tail {start.tail:.3g}); "
                "give a better guess, a stronger drift or a shorter period"
            )


def _newton(start: Cycle, clock: bool) -> Cycle:
    """Return the solution near ``start`` on its nodes; the period is unknown if ``clock``, else the strength."""
    equations = _Equations(start, clock)
    unknowns = equations.guess
    gap, length = equations.residual(unknowns), math.inf
    for _ in range(_MOST_STEPS):
        try:
            step = np.linalg.solve(equations.jacobian(unknowns), -gap)
        except np.linalg.LinAlgError:
            break
        # Halve the step until the residual falls.
        share = 1.0
        while True:
            trial = unknowns + share * step
            with np.errstate(all="ignore"):
                after = equations.residual(trial)
            if np.linalg.norm(after) < np.linalg.norm(gap) or share < 1e-4:
                break
            share /= 2
        previous, length = length, share * float(np.max(np.abs(step)))
        if share < 1e-4 or (length < 1e-9 and length >= previous):
            break  # no way down, or rounding is reached
        unknowns, gap = trial, after
        if length < 1e-12:
            break
    return equations.solution(unknowns, gap)


class _Equations:
    """A closed extremal on its nodes: N·D + 2 equations for its places, a factor on period or strength, and μ.

    At each node the equation of motion holds with the unfolding term μθ'; over the orbit the balance is zero; and as an
    orbit may begin anywhere, its first node moves only across the guess. Places are measured by the orbit's size, times
    by its period, and the unknowns are one vector, the factor and μ last.
    """

    def __init__(self, start: Cycle, clock: bool):
        self.start, self.clock = start, clock
        self.count, self.dim = start.nodes.shape
        self.size = float(np.max(np.ptp(start.nodes, axis=0)))
        self.metric = start.objective.metric_matrix(self.dim)
        self.first, self.second = fourier.differentiation(self.count)
        place = start.nodes / self.size
        self.guess: Array = np.append(place, [1.0, 0.0])
        self.anchor = place[0].copy()
        self.along = self.first[0] @ place / np.linalg.norm(self.first[0] @ place)

    def _split(self, unknowns: Array) -> tuple[Array, float, float]:
        return unknowns[:-2].reshape(self.count, self.dim), unknowns[-2], unknowns[-1]

    def _scales(self, factor: float) -> tuple[float, float]:
        """Return period and strength."""
        period, strength = self.start.period, self.start.strength
        return (period * factor, strength) if self.clock else (period, strength * factor)

    def _local(self, place: Array, speed: Array, factor: float) -> Array:
        """Return θ'' and the balance's integrand at each node, shape (N, D+1), in units of size and period."""
        objective, loss, size = self.start.objective, self.start.loss, self.size
        period, strength = self._scales(factor)
        theta, rate = size * place, size / period * speed
        turn = acceleration(objective, theta, rate, loss.gradient(theta), strength) * period**2 / size
        slip = (rate - strength * _drift(objective, theta)) * period / size
        return np.concatenate([turn, np.einsum("ni,ij,nj->n", speed, self.metric, slip)[:, None]], axis=1)

    def residual(self, unknowns: Array) -> Array:
        """Return what is left of each equation; infinity where the factor is nearly none."""
        place, factor, unfold = self._split(unknowns)
        if factor <= 0.05:
            return np.full_like(unknowns, math.inf)
        speed = self.first @ place
        terms = self._local(place, speed, factor)
        gaps = self.second @ place - terms[:, :-1] - unfold * speed
        return np.append(gaps, [np.mean(terms[:, -1]), self.along @ (place[0] - self.anchor)])

    def jacobian(self, unknowns: Array) -> Array:
        """Return ∂residual/∂unknowns: what is local by central differences, the derivatives in time exactly."""
        place, factor, unfold = self._split(unknowns)
        count, dim, total = self.count, self.dim, self.count * self.dim
        speed, at = self.first @ place, np.arange(count)
        matrix = np.zeros((total + 2, total + 2))
        blocks, balance = matrix[:total, :total].reshape(count, dim, count, dim), matrix[total, :total]
        # A node's place acts there, and through the speed everywhere.
        for j in range(dim):
            tilt = 1e-5 * np.eye(dim)[j]
            by_place = (self._local(place + tilt, speed, factor) - self._local(place - tilt, speed, factor)) / 2e-5
            by_speed = (self._local(place, speed + tilt, factor) - self._local(place, speed - tilt, factor)) / 2e-5
            blocks[:, j, :, j] += self.second - unfold * self.first
            blocks[at, :, at, j] -= by_place[:, :dim]
            blocks[:, :, :, j] -= by_speed[:, :dim, None] * self.first[:, None, :]
            balance[j::dim] = (by_place[:, dim] + self.first.T @ by_speed[:, dim]) / count
        # The last two columns are the factor's and μ's, the last row keeps the first node.
        ahead, behind = self._local(place, speed, factor + 1e-6), self._local(place, speed, factor - 1e-6)
        change = (ahead - behind) / 2e-6
        matrix[:total, total], matrix[total, total] = -change[:, :dim].ravel(), np.mean(change[:, dim])
        matrix[:total, total + 1] = -speed.ravel()
        matrix[total + 1, :dim] = self.along
        return matrix

    def solution(self, unknowns: Array, gap: Array) -> Cycle:
        """Return the cycle; NotConverged where a gap or the unfolding term is left."""
        place, factor, unfold = self._split(unknowns)
        period, strength = self._scales(factor)
        scale = float(np.max(np.abs(self.second @ place)))
        missed = max(float(np.max(np.abs(gap))) / scale, abs(unfold))
        if not missed < 1e-7:
            raise NotConverged(
                f"no closed extremal was found near the guess (residual {missed:.3g}); the learner may lock in place "
                "here: come from a stronger drift, with the cycle found there as guess"
            )
        objective, loss = self.start.objective, self.start.loss
        return Cycle(objective, loss, float(strength), float(period), self.size * place, missed, fourier.tail(place))


def _start(objective: Objective, loss: Loss | Callable[[Any], Any] | Formula, guess: ArrayLike | Cycle) -> Cycle:
    """Return the guess, with the time that it takes for the drift's work to pay for its speed; or raise ValueError."""
    loop = guess.nodes if isinstance(guess, Cycle) else _checks.array("guess", guess, shape=(None, None))
    surface: Loss = as_loss(loss, loop.shape[-1])
    check_problem(objective, surface)
    if objective.drift is None:
        raise ValueError("objective.drift = None, but without a drift no closed path is optimal")
    metric = objective.metric_matrix(surface.dim)
    if isinstance(guess, Cycle):
        return replace(guess, objective=objective, loss=surface)
    _checks.array("guess", loop, shape=(None, surface.dim))
    if len(loop) < 8:
        raise ValueError(f"guess has {len(loop)} points, but a loop needs at least 8")
    tangent = fourier.series(loop, np.arange(len(loop)) / len(loop), 1)
    drift = _drift(objective, loop)
    length = float(np.mean(np.einsum("ni,ij,nj->n", tangent, metric, tangent)))
    helped = float(np.mean(np.einsum("ni,ij,nj->n", tangent, metric, drift)))
    if not helped > 1e-9 * math.sqrt(length) * float(np.max(np.abs(drift))):
        raise ValueError(f"guess is a loop along which the drift's circulation is {helped:.3g}, but it must be > 0")
    return Cycle(objective, surface, 1.0, length / helped, loop)  # at this pace the balance holds


def _wait(start: Cycle, period: float) -> Cycle:
    """Return an orbit with a longer period: it stays longer where it is slowest."""
    if period <= start.period:
        return replace(start, period=period)
    fine = np.linspace(0.0, start.period, 4 * len(start.nodes) + 1)
    slowest = float(fine[np.argmin(np.linalg.norm(start.velocity(fine), axis=1))])
    count = 2 * math.ceil(fourier.needed(start.nodes) / 2 * period / start.period) + 1  # as dense in time as needed
    t = np.arange(count) * period / count
    moved = np.where(t <= slowest, t, np.maximum(t - (period - start.period), slowest))
    return replace(start, period=period, nodes=start.position(moved))


def _times(t: ArrayLike) -> Array:
    times = _checks.array("t", t)
    if times.ndim > 1:
        raise ValueError(f"t = {_checks.shown(t)}, but it must be a number or a 1-D array of times")
    return times


def _drift(objective: Objective, theta: Array) -> Array:
    assert objective.drift is not None  # asked by _start
    return objective.drift(theta)
