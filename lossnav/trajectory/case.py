"""What every solver is given, checked, and what every solver offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.losses.function import as_loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory.result import Method, Trajectory

CURVED = "needs a metric that does not depend on theta"  # why a solver declines a metric that does
TIMED = "needs a loss that does not depend on time"


@dataclass(frozen=True, eq=False)
class Case:
    """One problem with its start and its end, checked.

    Attributes:
        objective, loss: the problem, of D parameters.
        theta0: start, shape (D,).
        endpoint: θ(span), shape (D,), or None.
        span: the time of ``endpoint``; without one, where the numerics cut an infinite time, or None.
        velocity0: θ̇(0), shape (D,), None for rest or "free", where acceleration is charged.
    """

    objective: Objective
    loss: Loss
    theta0: Array
    endpoint: Array | None = None
    span: float | None = None
    velocity0: Array | str | None = None

    @property
    def rests(self) -> bool:
        """Whether time is infinite: there is neither a deadline nor a fixed end."""
        return self.endpoint is None and math.isinf(self.objective.horizon)

    @property
    def deadline(self) -> float:
        """When the end is reached, be it fixed or free: inf if time is infinite."""
        if self.endpoint is None:
            return self.objective.horizon
        assert self.span is not None  # a fixed end has its time
        return self.span


@dataclass(frozen=True)
class Settings:
    """Accuracy: ``steps`` fixes the finest grid, else it is doubled until J and path change by less than ``rtol``.

    Of a path whose problem is itself off by a share ``blur`` of its way, that is what the path may change by.
    """

    steps: int | None = None
    rtol: float = 1e-8
    blur: float = 0.0


def checked(objective: Any, loss: Any, theta0: Any, horizon: Any, endpoint: Any, velocity0: Any = None) -> Case:
    """Return the case of what a user has given, a function as a loss.

    Raises:
        ValueError: naming the argument that does not fit.
    """
    theta = np.atleast_1d(_checks.array("theta0", theta0))
    loss = as_loss(loss, theta.shape[-1])
    check_problem(objective, loss, dim=False, timed=True, priced=True)
    theta = _checks.array("theta0", theta, shape=(loss.dim,))
    with np.errstate(all="ignore"):
        height = loss.value(theta)
    if not math.isfinite(height):
        raise ValueError(f"loss.value(theta0) = {height}, but it must be finite")
    objective.check_dim(loss.dim)
    objective.metric_at(theta)
    velocity = _velocity(objective, velocity0, loss.dim)
    span = None if horizon is None else _checks.positive("horizon", horizon)
    if span is not None and math.isfinite(objective.horizon) and span != objective.horizon:
        raise ValueError(f"horizon = {span:g}, but objective.horizon = {objective.horizon:g} already sets it")
    if endpoint is None:
        return Case(objective, loss, theta, None, span, velocity)
    stop = _checks.array("endpoint", np.atleast_1d(_checks.array("endpoint", endpoint)), shape=(loss.dim,))
    span = objective.horizon if math.isfinite(objective.horizon) else span
    if span is None:
        raise ValueError("endpoint is given, but horizon is not: the time at which it is reached must be fixed too")
    objective.metric_at(stop)
    return Case(objective, loss, theta, stop, span, velocity)


def _velocity(objective: Objective, velocity0: Any, dim: int) -> Array | str | None:
    """Return what θ̇(0) is to be, which only a price of acceleration asks."""
    if velocity0 is None:
        return None
    if objective.price is None or objective.price.order == 1:
        raise ValueError(
            f"velocity0 = {_checks.shown(velocity0)}, but it must be None unless acceleration is charged: a price of "
            "speed leaves the first velocity free"
        )
    if isinstance(velocity0, str):
        return _checks.one_of("velocity0", velocity0, ("free",))
    return _checks.array("velocity0", velocity0, shape=(dim,))


def plain(case: Case) -> str:
    """Return "" for a constant metric and a loss that stands still, else why a solver of these declines."""
    return CURVED if case.objective.curved else TIMED if case.loss.timed else ""


def quadratic(case: Case) -> str:
    """Return "" for a constant metric and a quadratic loss, else why an exact solver declines."""
    if case.objective.curved:
        return CURVED
    return "" if isinstance(case.loss, Quadratic) else f"needs a losses.Quadratic, but loss is {case.loss!r}"


class Solver(Protocol):
    """A way to solve a case; ``registry`` has the list.

    Attributes:
        name: what ``solve(method=…)`` and ``Trajectory.method`` call it.
    """

    @property
    def name(self) -> Method:
        """Its name."""
        ...

    def accepts(self, case: Case) -> str:
        """Return "" for a case that it solves, else why it declines, as it follows on its name in a sentence."""
        ...

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best path that it finds.

        Raises:
            NoMinimiser: if there is none.
        """
        ...
