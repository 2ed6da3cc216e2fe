r"""The discretised objective on a graded grid: linear elements, with the discount integrated exactly.

Over an interval of length Δt, with u from 0 to 1 along it,

.. math:: \int_n^{n+1} e^{-\gamma t}\Bigl(\frac{|s_n|_G^2}{2\eta} + k\,[(1-u)L(\theta_n) + uL(\theta_{n+1})]\Bigr)dt,
   \quad s_n = \frac{\theta_{n+1}-\theta_n}{\Delta t} - \overline f,

where :math:`\overline f` is the discounted mean of the linear interpolant of f. The midpoint and trapezoid weights of
``discrete.Problem`` ask for γΔt ≪ 1; these do not, so that the steps of a slow tail may be long: what costs nothing but
a steady rate, such as resting against a drift, is exact, and the error of a mode of rate r is of relative size
γrΔt²/12, not γ²Δt²/24. At γ = 0 both are the same. Symmetric in the interval's ends: with a ``Clock``, errors are a
series in (Δs)².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lossnav._checks import Array
from lossnav.trajectory.clock import Clock
from lossnav.trajectory.discrete import Problem
from lossnav.trajectory.modes import exp_mean


@dataclass(frozen=True, eq=False)
class Graded(Problem):
    """J discretised with ``steps`` intervals that are equal in the time s of ``clock``; see ``Problem``."""

    clock: Clock = field(kw_only=True)

    @cached_property
    def times(self) -> Array:
        """Grid, shape (N+1,)."""
        return self.clock.times(self.horizon, self.steps)

    @cached_property
    def dt(self) -> Array:
        """Lengths of the intervals, shape (N, 1)."""
        return np.diff(self.times)[:, None]

    @cached_property
    def kinetic_factors(self) -> tuple[Array, Array]:
        """The mean discount in an interval relative to that at its left and at its right node, shape (N, 1) each."""
        turn = self.objective.gamma * self.dt
        return exp_mean(turn), exp_mean(-turn)

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        """What an interval's loss counts at its left and at its right node, relative to their discount, (N, 1) each."""
        turn = self.objective.gamma * self.dt
        return self.dt * _ramp(turn), self.dt * _ramp(-turn)

    @cached_property
    def drift_shares(self) -> tuple[Array, Array]:
        """The shares of f at an interval's left and right node in its mean, shape (N, 1) each."""
        left = self.halves[0] / (self.dt * self.kinetic_factors[0])
        return left, 1 - left

    @cached_property
    def share(self) -> Array:
        """What a node's loss counts, before discounting, shape (N+1,)."""
        share = np.zeros(self.steps + 1)
        ahead, behind = self.halves
        share[:-1] += ahead[:, 0]
        share[1:] += behind[:, 0]
        return self.objective.k * share

    @cached_property
    def unit_share(self) -> float:
        """The mean of what the loss of a node counts."""
        return self.objective.k * self.horizon / self.steps

    @cached_property
    def node_sizes(self) -> Array:
        """The time that a free node stands for, relative to the mean, shape (M, 1)."""
        return (self.share[self.free] / self.unit_share)[:, None]

    def residual(self, gradient: Array) -> float:
        """Return the largest residual of θ̈, given ``gradient`` at the free nodes, as they are: unit u/T²."""
        rate = gradient / (self.node_sizes * self.unit_share)
        return float(np.max(np.abs(rate), initial=0.0)) * self.objective.eta * self.objective.k

    def _mean(self, drift: Array) -> Array:
        """Return the mean of f in each interval, shape (..., N, D)."""
        before, after = self.drift_shares
        return before * drift[..., :-1, :] + after * drift[..., 1:, :]

    @cached_property
    def discount_root(self) -> Array:
        """√(w_n/w_1) at the free nodes, shape (M, 1)."""
        times = self.times[self.free]
        return np.exp(-self.objective.gamma / 2 * (times - times[0]))[:, None]

    @cached_property
    def discount_steps(self) -> Array:
        """√(w_n/w_{n+1}) between the free nodes, shape (M−1, 1, 1)."""
        return np.exp(self.objective.gamma / 2 * self.dt[1 : self.free.stop - 1])[:, :, None]


def _ramp(x: Array) -> Array:
    """Return the mean of (1 − u)·e^{−xu} over u in [0, 1]; its series where the formula would cancel."""
    small = np.abs(x) < 0.5
    tame = np.where(small, x, 0.0)
    series = sum((-tame) ** k / math.factorial(k + 2) for k in range(14))
    return np.where(small, series, (1 - exp_mean(x)) / np.where(small, 1.0, x))
