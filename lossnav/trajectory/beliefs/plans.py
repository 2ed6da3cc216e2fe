"""Plans: a weight and its beliefs moved together (Eqs. 139 and 142), by ``lossnav.solve``.

The problem is that of ``Beliefs.objective`` and ``Beliefs.loss``. With an infinite horizon a plan comes to rest; with a
finite one all three ends are free. The variance is solved for in ln V, which keeps V > 0 whatever the iteration does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.beliefs.loss import resting_places
from lossnav.problem.beliefs.model import Beliefs, Data
from lossnav.problem.beliefs.observation import Exact
from lossnav.problem.task import Phases, Task
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve

__all__ = ["Plan", "plan", "resting_places"]


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned path of (δ, m, V); ``plan(t)`` gives it, shape (3, T).

    Attributes:
        model: the beliefs it was made under.
        trajectory: the optimum that ``lossnav.solve`` found, of θ = (δ, m, V).
    """

    model: Beliefs
    trajectory: Trajectory

    def __call__(self, t: ArrayLike) -> Array:
        """Return (δ, m, V) at times ``t`` >= 0, shape (3, ...)."""
        return _along(self.trajectory, t)

    def velocity(self, t: ArrayLike) -> Array:
        """Return (δ̇, ṁ, V̇) at times ``t`` >= 0, shape (3, ...)."""
        return _along(self.trajectory.velocity, t)

    @property
    def times(self) -> Array:
        """The mesh, shape (N,)."""
        return self.trajectory.times

    @property
    def end(self) -> float:
        """Time at which the numerics stop; with an infinite horizon the plan is continued at its decaying rates."""
        return float(self.times[-1])

    @property
    def rest(self) -> Array:
        """Where the plan comes to rest, shape (3,); NaN with a finite horizon."""
        return self.trajectory.asymptote if math.isinf(self.trajectory.end) else np.full(3, np.nan)

    @property
    def action(self) -> float:
        """J; with an infinite horizon the part of it that resting does not cost."""
        return self.trajectory.excess if math.isinf(self.trajectory.end) else self.trajectory.action

    @property
    def converged(self) -> bool:
        """Whether the search met its tolerance."""
        return self.trajectory.converged

    @property
    def reason(self) -> str:
        """Why not."""
        return self.trajectory.reason

    @property
    def residual(self) -> float:
        """Largest residual of the Euler–Lagrange equations."""
        return self.trajectory.residual

    @property
    def is_minimum(self) -> bool:
        """Whether the second variation along the plan is positive definite, which is a local minimum."""
        return self.trajectory.is_minimum is True

    def __repr__(self) -> str:
        return f"Plan({self.trajectory!r})"


def _along(path: Callable[[Array], Array], t: ArrayLike) -> Array:
    times = _checks.array("t", t)
    return path(times.ravel()).T.reshape(3, *times.shape)


def plan(
    model: Beliefs,
    mean: float,
    variance: float,
    *,
    gradient: float | Data,
    square: float | Data | None = None,
    horizon: float = math.inf,
    tol: float = 1e-6,
    throw: bool = True,
) -> Plan:
    """Return the path of (δ, m, V) that makes J stationary, from δ = 0 and the beliefs held now.

    It is a local minimum: where ``model.optimism`` rises above 1 as V → 0, paths far away cost less, without bound.

    Args:
        model: the assumptions.
        mean: m at the start, unit 1/u.
        variance: V > 0 at the start, unit 1/u².
        gradient: the datum g, a number or, with a finite horizon, a function of an array of times.
        square: the datum q likewise, for the simplified observation model; None for the exact one.
        horizon: deadline T in (0, inf]; the exact model needs a finite one, for with constant data its V has no rest.
        tol: relative tolerance of J and path.
        throw: raise if the search fails; otherwise return what there is with ``converged`` False.

    Raises:
        ValueError: naming the argument that is out of range.
        NoMinimiser: where the evidence about the gradient is too weak for a minimum (``Beliefs.optimism``), or where no
            resting place has V > 0.
        NotConverged: with the residual and what to try.

    Example:
        >>> from lossnav import belief
        >>> slow = belief.Prior(decay=0.0, diffusion=0.01)
        >>> model = Beliefs(eta=100.0, gamma=1.0, mean=slow, variance=slow, observation=belief.Simplified(0.1, 0.1))
        >>> path = plan(model, 1.0, 1.0, gradient=1.0, square=1.0)
        >>> round(float(path.velocity(0.0)[0]) / float(model.step(1.0, 1.0, 1.0)), 2)
        1.0

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 139 and 142; the boundary conditions are those of App. D.
    """
    _checks.instance("model", model, Beliefs, "a belief.Beliefs")
    m0, v0 = _checks.finite("mean", mean), _checks.positive("variance", variance)
    span = _checks.duration("horizon", horizon)
    _checks.positive("tol", tol)
    _checks.flag("throw", throw)
    model.data(*(_datum(name, value) for name, value in (("gradient", gradient), ("square", square))))
    try:
        if math.isinf(span):
            _require_rest(model, v0, gradient, square)
        loss = model.loss(gradient, square)
        task = loss if isinstance(loss, Task) else Phases([(0.0, loss)])
        trajectory = solve(model.objective(span), task, [0.0, m0, v0], method="timed", rtol=tol, throw=False)
    except (ZeroDivisionError, OverflowError):
        raise ValueError(
            f"model = {_checks.shown(model)}: its numbers are so large or small that their squares leave the range of "
            "floating-point numbers; choose other units of time or of the weight"
        ) from None
    path = Plan(model, trajectory)
    if throw and not path.converged:
        raise NotConverged(
            f"the plan did not converge: {path.reason} (residual {path.residual:.3g}). If V is driven to zero, the "
            "data leave no plan with V > 0: raise square, or lower observation.variance_noise; otherwise relax tol or "
            "shorten horizon"
        )
    return path


def _require_rest(model: Beliefs, v0: float, gradient: Any, square: Any) -> None:
    """Raise unless there is a place to rest that is a minimum, which evidence holds the belief to."""
    if isinstance(model.observation, Exact):
        raise ValueError("horizon = inf, but the exact observation model needs a finite one: its V never rests")
    for name, value in (("gradient", gradient), ("square", square)):
        if callable(value):
            raise ValueError(f"{name} is a function of time, but with horizon = inf it must be a number")
    places = [x for x in resting_places(model, gradient, square) if model.is_minimum(x, gradient, square)]
    if not places:
        model.require_evidence(v0)  # the usual reason
        raise NoMinimiser(
            f"gradient = {gradient:g} and square = {square:g}: no resting place has V > 0 and is a minimum; lower "
            "observation.mean_noise or observation.variance_noise, or raise square"
        )
    model.require_evidence(min(v0, places[0][2]))


def _datum(name: str, value: Any) -> Any:
    """Return a datum as a number, or that of time 0, to be checked once."""
    if callable(value):
        return _checks.array(f"{name}(t)", value(np.zeros(1)))[..., 0]
    return None if value is None else _checks.finite(name, value)
