"""From a path at the nodes of a mesh to a Trajectory: the curve between them, and what J is."""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Any

import scipy

from lossnav._checks import Array
from lossnav.trajectory import newton
from lossnav.trajectory.result import Trajectory, final_charge, resting_action
from lossnav.trajectory.riccati import continued
from lossnav.trajectory.status import Status
from lossnav.trajectory.stencils import Stencils
from lossnav.trajectory.transcription import Transcription


def trajectory_of(
    problem: Transcription, found: newton.Minimum, *, stencils: Stencils | None = None, action: float | None = None,
    error: float = math.nan, status: Status = Status.CONVERGED, detail: str = "",
) -> Trajectory:  # fmt: skip
    """Make a Trajectory of a path at the nodes: polynomials between them, the linear law of the end beyond them.

    Args:
        problem: the sum.
        found: the path, and what is known of it.
        stencils: the polynomials; None: cubics.
        action: J, counted as the sum is; None: the sum itself.
        error: its estimated error.
        status, detail: how the search ended, if ``found`` has converged.
    """
    objective, end, horizon, path = problem.objective, problem.terminal, problem.horizon, found.path
    between = _Between(problem, stencils, path)
    if not found.converged:
        status = Status.OVERDAMPED if problem.overdamped else Status.NEWTON_STOPPED
        detail = (
            f"{found.iterations} steps left the residual {found.gradient:.3g}; "
            "try another horizon, more steps, or method='bvp'"
        )
    paid, excess, asymptote = account(problem, found.action if action is None else action, path)
    growth = math.nan
    if end is not None:
        growth, asymptote = end.ending(path[0])
    return Trajectory(
        objective, problem.loss, problem.times, paid, excess, asymptote, "action",
        *continued(end, horizon, path[-1], between.position, between.rate),
        end=horizon if end is None else math.inf, status=status, detail=detail, residual=found.residual,
        is_minimum=found.definite, error=error, growth=growth,
    )  # fmt: skip


class _Between:
    """The curve between nodes, made when it is first asked for: many candidates never are."""

    def __init__(self, problem: Transcription, stencils: Stencils | None, path: Array):
        self._make = partial(problem.curve if stencils is None else stencils.curve, path)

    @cached_property
    def _place(self) -> scipy.interpolate.PPoly:
        return self._make()

    @cached_property
    def _pace(self) -> scipy.interpolate.PPoly:
        return self._place.derivative()

    def position(self, t: Array) -> Array:
        return self._place(t)

    def rate(self, t: Array) -> Array:
        return self._pace(t)

    def __getstate__(self) -> dict[str, Any]:
        return {"_place": self._place}


def account(problem: Transcription, climb: float, path: Array) -> tuple[float, float, Array]:
    """Return J, its excess over resting, and where the path ends, from the discretised sum ``climb``.

    The sum was taken with L − level up to the horizon; the terminal value counts from the resting cost.
    """
    objective, end = problem.objective, problem.terminal
    if end is None:
        level = resting_action(objective.k * problem.level, objective.gamma, 1.0, problem.horizon)
        return climb + level + final_charge(objective, problem.level), math.nan, path[-1].copy()
    scale = 0.0
    if objective.gamma == 0:  # only there it matters what is rounding
        final = problem.loss.at(math.inf)
        scale = objective.k * (abs(float(problem.loss.value(path[0]))) + final.summed(end.fixed))
    return *end.total(objective, climb, problem.level, problem.horizon, scale), end.fixed
