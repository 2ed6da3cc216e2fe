r"""Natural units of a plan: η = k = 1, the time in which a variance relaxes, the width at which a weight rests.

With :math:`t=\tau t'`, :math:`\mu=\lambda\mu'`, :math:`v=\lambda^2v'` and :math:`J=jJ'`, j = 1/ητ, the problem keeps
its form with γ′ = γτ, :math:`\lambda_S'=\eta\tau^2\lambda_S` and :math:`\bar L'=\eta k\tau^2\bar L`; ln v brings
a constant into the cost rate, :math:`-\tfrac12D\lambda_S\ln\lambda^2`. The metric itself has no unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.problem import losses
from lossnav.problem.weights.averages import Average, Quadratic
from lossnav.problem.weights.problem import Problem
from lossnav.trajectory.result import resting_action
from lossnav.trajectory.weights.rests import summed

if TYPE_CHECKING:
    from lossnav.trajectory.weights.plans import Phase, Plan

_NEAR = 4  # binary orders within which the user's own units are as good


@dataclass(frozen=True)
class Units:
    """Units of time, of a weight and of J, in the user's units; ``height`` is what L̄ is multiplied by."""

    time: float
    length: float
    cost: float
    height: float

    def problem(self, problem: Problem) -> Problem:
        """Return the dimensionless assumptions."""
        return Problem(
            gamma=problem.gamma * self.time,
            entropy=problem.entropy * (self.time / self.cost),
            prior_variance=problem.prior_variance / self.length / self.length,
        )

    def task(self, task: Average) -> Average:
        """Return the dimensionless averaged loss."""
        if isinstance(task, Quadratic):
            origin = np.zeros(task.dim)
            bend, offset = task.hessian * self.height * self.length * self.length, task.loss.offset * self.height
            if task.loss.minimum is not None:
                return Quadratic(losses.Quadratic(bend, minimum=task.loss.minimum / self.length, offset=offset))
            slope = task.loss.gradient(origin) * self.height * self.length
            return Quadratic(losses.Quadratic(bend, gradient=slope, offset=offset))
        return _Scaled(task, self)

    def state(self, x: Array) -> Array:
        """Return (μ, ℓ), shape (2D,), dimensionless."""
        dim = len(x) // 2
        return np.concatenate([x[:dim] / self.length, x[dim:] - 2 * math.log(self.length)])

    def restore(self, plan: Plan, problem: Problem, last: Average) -> Plan:
        """Return the user's plan for a dimensionless one that ends with the task ``last``."""
        dim = plan.dim
        rest = np.stack([plan.rest[0] * self.length, plan.rest[1] * self.length * self.length])
        excess, end = plan.excess * self.cost, plan.end * self.time
        constant = -problem.entropy * dim * math.log(self.length)  # in the cost rate
        if math.isinf(end) and problem.gamma == 0:
            level = float(problem.potential(last, *rest))
            action = excess + resting_action(level, 0.0, summed(problem, last, *rest))
        else:
            action = plan.action * self.cost + resting_action(constant, problem.gamma, 0.0, end)
        return replace(
            plan,
            problem=problem,
            phases=tuple(self._phase(phase, dim) for phase in plan.phases),
            action=action,
            excess=excess,
            rest=rest,
            end=end,
            reason=f"{plan.reason} {self}" if plan.reason else "",
        )

    def _phase(self, phase: Phase, dim: int) -> Phase:
        shift, scale = np.zeros(2 * dim), np.ones(2 * dim)
        shift[dim:], scale[:dim] = 2 * math.log(self.length), self.length
        return replace(
            phase,
            start=phase.start * self.time,
            end=phase.end * self.time,
            state=lambda t: phase.state(t / self.time) * scale + shift,
            rate=lambda t: phase.rate(t / self.time) * scale / self.time,
        )

    def __str__(self) -> str:
        return f"(numbers in natural units: time {self.time:.3g}, weight {self.length:.3g}, J {self.cost:.3g})"


def natural(problem: Problem, tasks: Sequence[Average], start: Array, deadline: float) -> Units | None:
    """Return natural units, or None if the user's own are as good.

    Args:
        problem: the assumptions.
        tasks: the averaged losses, of D weights.
        start: (μ, ℓ), shape (2D,).
        deadline: in (0, inf].

    Raises:
        ValueError: if a unit is out of the range of floating-point numbers.
    """
    dim = len(start) // 2
    widest = float(np.max(start[dim:]))
    bends = [float(np.max(np.abs(2 * task.variance_gradient(start[:dim], np.exp(start[dim:]))))) for task in tasks]
    stiff = problem.k * max(bends) + problem.pull
    square = math.log2(problem.eta)  # of 1/τ²
    if problem.entropy > 0:
        square += math.log2(problem.entropy)
    elif stiff > 0:
        square += math.log2(stiff) + widest / math.log(2)
    else:
        square = 2 * math.log2(problem.gamma) if problem.gamma > 0 else -2 * math.log2(min(deadline, 1e300))
    time = round(-square / 2)
    wide = widest / math.log(2)
    if problem.entropy > 0 and stiff > 0 and math.isinf(deadline):
        wide = math.log2(problem.entropy) - math.log2(stiff)
    length = round(wide / 2)
    cost = -time - math.log2(problem.eta)
    height = math.log2(problem.k) + time - cost
    if max(map(abs, (time, length, cost, math.log2(problem.k)))) <= _NEAR:
        return None
    if max(map(abs, (time, 2 * length, cost, height))) > 1000:
        raise ValueError(
            f"problem = {problem}: its natural unit of time is 2^{time}, of the weights 2^{length} and of J "
            f"2^{cost:.0f}, beyond floating-point numbers; choose other units"
        )
    return Units(2.0**time, 2.0**length, 2.0**cost, 2.0**height)


class _Scaled(Average):
    """L̄′(μ′, v′) = height·L̄(λμ′, λ²v′)."""

    def __init__(self, task: Average, units: Units):
        self.dim, self._task, self._units = task.dim, task, units

    def _own(self, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
        return np.asarray(mean) * self._units.length, np.asarray(variance) * self._units.length**2

    def value(self, mean: ArrayLike, variance: ArrayLike) -> Any:
        return self._units.height * self._task.value(*self._own(mean, variance))

    def mean_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        return self._units.height * self._units.length * self._task.mean_gradient(*self._own(mean, variance))

    def variance_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        return self._units.height * self._units.length**2 * self._task.variance_gradient(*self._own(mean, variance))

    def centres(self) -> Array:
        return self._task.centres() / self._units.length
