"""Optimal paths for a loss that depends on time, under any metric: the one transcription, with nodes at the switches.

At a switch position and momentum go on. After the last one the loss stands still, and near its rest the local value
function says what follows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lossnav.problem.drifts import Linear
from lossnav.problem.task import Task
from lossnav.trajectory import action, wandering
from lossnav.trajectory.case import Case
from lossnav.trajectory.refinement import Settings
from lossnav.trajectory.result import Method, Trajectory


class Timed:
    """Newton's method on the discretised J for a ``Task``; of the ``settings`` it takes the tolerance."""

    name: Method = "timed"

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
        path = action.named(self.name, action.solve(case, replace(settings, steps=None)))
        return _against_wandering(case, path)


def _against_wandering(case: Case, path: Trajectory) -> Trajectory:
    """Return the path; not converged, if after the last switch one that never rests does better."""
    objective, loss = case.objective, case.loss
    if not case.rests or objective.drift is None or not path.converged:
        return path
    assert isinstance(loss, Task) and loss.final is not None
    begin = path(loss.settled)
    if not np.all(np.isfinite(begin)):
        raise OverflowError("the path leaves the range of floating-point numbers")
    after = Case(objective, loss.final, begin)
    rest = wandering.checked(after, lambda: action.solve(after, Settings()))
    return path if rest.converged else replace(path, status=rest.status, detail=rest.detail)
