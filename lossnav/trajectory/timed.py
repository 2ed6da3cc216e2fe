"""Optimal paths for a loss that depends on time, under any metric: collocation in stretches, with a certificate.

Between switches the path obeys the Euler–Lagrange equations of the landscape that holds; at a switch position and
momentum go on. After the last one the loss stands still, and near its rest the local value function says what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lossnav.problem.drifts import Linear
from lossnav.problem.task import Task
from lossnav.trajectory import approach, boundary_value, curved, stationary, surprised, variation, wandering
from lossnav.trajectory.approach import Search
from lossnav.trajectory.boundary_value import Equations, Guess
from lossnav.trajectory.candidates import cheapest
from lossnav.trajectory.case import Case
from lossnav.trajectory.connection import Terms
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.stretches import stretches

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings

_FINEST = 1e-12  # what collocation can reach
_LIFETIMES = 12.0  # of the slowest mode, from the last switch until the path is handed over to the local law


class Timed:
    """Collocation for a ``Task``; of the ``settings`` it takes the tolerance."""

    name = "timed"

    def accepts(self, case: Case) -> str:
        """Return why not: a loss that stands still or never settles, a drift that is not affine, or with G(θ) rests."""
        objective, loss = case.objective, case.loss
        if not isinstance(loss, Task):
            return "needs a loss that depends on time, a lossnav.problem.task.Task"
        if case.rests and loss.final is None:
            return "needs a loss that settles, or a finite objective.horizon, or an endpoint"
        if objective.drift is not None and not isinstance(objective.drift, Linear):
            return "needs an affine drift"
        if case.rests and objective.drift is not None and objective.curved:
            return "needs a constant metric where there are a drift and a rest"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the cheapest extremal found.

        Raises:
            ValueError: if ``case.span`` cuts an infinite time before the loss has settled.
            NoMinimiser: if there is no place to rest.
        """
        tol = max(settings.rtol, _FINEST)
        return _against_wandering(case, cheapest(case, (_extremal(case, *end, tol) for end in _ends(case)), self.name))


def _ends(case: Case) -> Iterator[tuple[float, LocalValue | None]]:
    """Yield how long collocation lasts, and the value function of the rest in which it ends."""
    objective, loss = case.objective, case.loss
    assert isinstance(loss, Task)
    if not case.rests:
        yield case.deadline, None
        return
    assert loss.final is not None
    if case.span is not None and case.span <= loss.settled:
        raise ValueError(f"horizon = {case.span:g}, but the loss settles at {loss.settled:g} only: it must be later")
    look = curved.ends if objective.curved else stationary.targets
    for end in look(objective, loss.final, case.theta0):
        if end.growth < 0 and np.all(np.isfinite(end.fixed)):
            yield case.span or loss.settled + _LIFETIMES / -end.growth, end


def _extremal(case: Case, span: float, end: LocalValue | None, tol: float) -> Trajectory:
    objective, loss, theta = case.objective, case.loss, case.theta0

    def law(still: object) -> Equations:
        terms = Terms(objective, still)  # type: ignore[arg-type]
        return Equations(terms.acceleration, terms.cost_rate, terms.tangent)

    search = Search(objective, loss, theta, span, end, case.endpoint, tol, law, case.span is not None)
    path = search.path(_guesses(case, span, end))
    tail, sure = None if end is None else end.matrix, None
    if path.converged:
        parts = stretches(loss, float(path.times[-1]))
        sure = variation.definite(path, parts, tail, case.endpoint is not None)
    return replace(path, method=Timed.name, is_minimum=sure)


def _guesses(case: Case, span: float, end: LocalValue | None) -> Iterator[Guess | None]:
    """Yield the path of who foresees nothing; a wait for the last switch, then the law to the rest or the geodesic."""
    objective, loss, theta = case.objective, case.loss, case.theta0
    guess = surprised.path(objective, loss, theta, span, end, case.endpoint)
    if guess is not None:
        yield guess
    yield None
    if end is not None:
        shortest = approach.straight(objective.metric_on(loss.dim), theta, end, float(stretches(loss, span).begins[-1]))
        if shortest is not None:
            yield shortest


def _against_wandering(case: Case, path: Trajectory) -> Trajectory:
    """Return the path; not converged, if after the last switch one that never rests does better."""
    objective, loss = case.objective, case.loss
    if not case.rests or objective.drift is None or not path.converged:
        return path
    assert isinstance(loss, Task) and loss.final is not None
    final, state = loss.final, path(loss.settled)
    if wandering.bound(objective, final, state) is None:
        return path
    after = Case(objective, final, state)
    rest = wandering.checked(after, lambda: boundary_value.solve(after))
    return path if rest.converged else replace(path, status=rest.status, detail=rest.detail)
