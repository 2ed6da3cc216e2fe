"""Optimal trajectories by direct minimisation of the discretised J, for any loss, drift and constant metric.

Newton's method on a grid, refined by doubling with Richardson extrapolation; one start for each place where a path
can come to rest, the lowest J wins. Linear cost in the number of time points.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lossnav.problem.functions import budget
from lossnav.trajectory import coming_to_rest, deadline, wandering
from lossnav.trajectory.candidates import standstill
from lossnav.trajectory.case import Case, plain
from lossnav.trajectory.refinement import Settings
from lossnav.trajectory.result import Method, Trajectory
from lossnav.trajectory.stationary import MOST_UNSEEN
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription


class Action:
    """Newton's method on the discretised J, refined until it is accurate.

    Without a deadline it only looks for paths that come to rest; so these are checked against paths that never do.
    """

    name: Method = "action"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return plain(case)

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""
        return wandering.checked(case, lambda: solve(case, settings))


def named(name: Method, path: Trajectory) -> Trajectory:
    """Return a path and its candidates with the name of a method."""
    return replace(path, method=name, others=tuple(replace(other, method=name) for other in path.others))


def solve(case: Case, settings: Settings) -> Trajectory:
    """Return the best extremal, with all that were compared as ``candidates``.

    ``span`` without an endpoint is where the numerics hand over to the quadratic model of the end.
    """
    if case.rests:
        attempts = coming_to_rest.to_rests(case.objective, case.loss, case.theta0, case.span, settings)
    else:
        problem = Transcription(case.objective, case.loss, case.deadline, 2, endpoint=case.endpoint)
        attempts = deadline.from_starts(problem, case.theta0, settings)
    found: list[Trajectory] = []
    try:
        for traj in attempts:
            found.append(_inside(traj))
            if budget.spent():
                break
    except budget.OutOfBudget:
        pass
    runaway = [traj for traj in found if traj.status is Status.RUNS_AWAY]
    found = [traj for traj in found if traj.status is not Status.RUNS_AWAY]
    best = _best(found or [standstill(case, Action.name)])
    for away in runaway:
        if best.converged and away.action < best.action - 1e-3 * abs(best.action):
            best = wandering.runs_away(best, f"J <= {away.action:.6g} against {best.action:.6g}")
    if math.isfinite(best.end):
        best = _unbeaten(best)
    if best.converged and best.unseen > MOST_UNSEEN:
        detail = (
            f"{best.unseen:.0%} of more descents would find new ones; start nearer to the minimum that is meant, or "
            "give a horizon"
        )
        best = replace(best, status=Status.SEARCH_INCOMPLETE, detail=detail)
        best = replace(best, others=(best, *best.others[1:]))
    if budget.spent():
        seen = sum(traj.converged for traj in found)
        detail = f"{budget.spent()}, with {seen} candidate{'s' * (seen != 1)} solved and more to compare"
        best = replace(best, status=Status.BUDGET_SPENT, detail=detail)
        best = replace(best, others=(best, *best.others[1:]))
    return best


def _inside(path: Trajectory) -> Trajectory:
    """Return the path, not converged if it leaves the domain of the metric: Newton's method may have passed it."""
    if path.converged and path.objective.curved:
        try:
            path.objective.metric_at(path.position(path.times))
        except ValueError as error:
            return replace(path, status=Status.LEFT_DOMAIN, detail=str(error))
    return path


def _best(found: list[Trajectory]) -> Trajectory:
    def rank(traj: Trajectory) -> tuple[bool, float, float]:
        return (not (traj.converged and traj.is_minimum is not False), traj.action, traj.excess)

    ordered = _distinct(sorted(found, key=rank))  # sorted first: of two equal paths the one that arrived stays
    return replace(ordered[0], others=tuple(ordered))


def _unbeaten(best: Trajectory) -> Trajectory:
    """Return the best path of a finite time; not converged, if one that did not converge, but is a path, is cheaper."""
    paths = [other.action for other in best.candidates if not other.converged and math.isfinite(other.action)]
    least = min(paths, default=math.inf)
    if not best.converged or best.action - least <= 1e-6 * (abs(best.action) + abs(least)):
        return best
    detail = f"it has J = {least:.9g}, the best that did {best.action:.9g}; try more steps"
    others = (replace(best, others=()), *best.candidates[1:])
    return replace(best, status=Status.CHEAPER_UNSOLVED, detail=detail, others=others)


def _distinct(found: list[Trajectory]) -> list[Trajectory]:
    kept: list[Trajectory] = []
    for traj in found:
        probe = traj.times[:: max(1, len(traj.times) // 16)]
        if all(np.max(np.abs(traj(probe) - other(np.minimum(probe, other.times[-1])))) > 1e-5 for other in kept):
            kept.append(traj)
    return kept
