"""Extremals of an infinite time: to each place of rest, on a grid that is lengthened until they arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import escaping, newton, relaxing, stationary, valley
from lossnav.trajectory.discrete import Problem
from lossnav.trajectory.grids import double, first_steps
from lossnav.trajectory.nodal import account, nodes_of, trajectory_of
from lossnav.trajectory.refinement import Settings, refine
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.status import Status

_FULL, _ROUGH = 4, 1e-4  # so many candidates are solved to the end; others, if clearly dearer, to this accuracy


def to_rests(
    objective: Objective, loss: Loss, theta0: Array, cut: float | None, settings: Settings
) -> Iterator[Trajectory]:
    """Solve for the extremal to each place of rest, the cheapest first; yield those that do not exist, too.

    Where no stable rest can be reached, the saddles that are blunt enough for γ are tried.
    """
    rests, floor = valley.split(objective, loss, stationary.search(objective, loss, theta0))
    if len(floor):
        budget.stage("paths to a valley")
        yield from valley.paths(objective, loss, theta0, floor, settings)
    try:
        ends = stationary.targets(objective, loss, theta0, rests)
    except NoMinimiser:
        if not len(floor):
            raise
        return
    probes: list[_Probe] = []
    missed = not len(floor)
    for number, end in enumerate(ends, 1):
        budget.stage(f"path to rest {number} of {len(ends)}")
        alone = len(rests.points) == 1 and cut is None and settings.steps is None
        probe = _relaxing(objective, loss, theta0, end) if alone else None
        probe = probe or _towards(objective, loss, theta0, end, cut, [other for other in ends if other is not end])
        missed = missed and probe.status is Status.NO_EXTREMAL
        if probe.status is not Status.CONVERGED or budget.spent():
            yield probe.trajectory()
        else:
            probes.append(probe)
    probes.sort(key=lambda probe: probe.action)
    for rank, probe in enumerate(probes):
        budget.stage(f"path {rank + 1} of {len(probes)} to full accuracy")
        dear = probe.action > probes[0].action + 0.05 * abs(probes[0].action)
        rough = replace(settings, rtol=max(settings.rtol, _ROUGH)) if dear and rank >= _FULL else settings
        path = refine(probe.problem, probe.found, rough)
        yield path if cut is not None or budget.spent() else _still_arriving(path, theta0, probe.problem.horizon)
    if missed:
        for saddle in stationary.saddles(objective, loss, theta0, rests):
            yield _onto_saddle(objective, loss, theta0, saddle, cut, settings)
    if len(rests.lost) and cut is None:
        budget.stage("a path that runs away")
        away = escaping.downhill(
            objective, loss, theta0, rests.lost, min(float(loss.value(end.centre)) for end in ends)
        )
        if away is not None:
            yield away


def _still_arriving(path: Trajectory, theta0: Array, span: float) -> Trajectory:
    """Return the path, as no extremal if on a finer grid Newton's method has left for another place of rest.

    Where e^{−γt} has fallen to nothing the terminal value no longer holds a path: its end must be looked at.
    """
    place = path.asymptote
    size = max(1.0, float(np.max(np.abs(place))), float(np.max(np.abs(theta0 - place))))
    if not np.all(np.isfinite(place)) or float(np.max(np.abs(path(span) - place))) <= 0.05 * size:
        return path
    status, detail = _none_at(place)
    return replace(path, status=status, detail=detail)


def _none_at(place: Array) -> tuple[Status, str]:
    """Return the status of an extremal that does not exist, and where it should come to rest."""
    return Status.NO_EXTREMAL, np.array2string(place, precision=6)


@dataclass(frozen=True, eq=False)
class _Probe:
    """A first solution on a coarse grid; ``status`` and ``detail`` say why it is none."""

    problem: Problem
    found: newton.Minimum
    status: Status = Status.CONVERGED
    detail: str = ""

    @property
    def action(self) -> float:
        """J, to the accuracy of the grid; where that is infinite, its excess over resting."""
        action, excess, _ = account(self.problem, self.found.action, self.found.path)
        return action if math.isfinite(action) else excess

    def trajectory(self) -> Trajectory:
        """Return it as it is: what was found is not refined."""
        traj = trajectory_of(self.problem, self.found, nodes_of(self.problem, self.found))
        if self.status is Status.CONVERGED:
            return replace(traj, status=Status.BUDGET_SPENT, detail=budget.spent())
        return replace(traj, status=self.status, detail=self.detail, is_minimum=False)


def _arrival(theta0: Array, end: LocalValue) -> tuple[float, float]:
    """Return how near to a rest counts as arrived, and how long the linear law takes to get well inside."""
    distance = max(float(np.max(np.abs(theta0 - end.fixed))), 1e-300)
    arrived = 1e-4 * max(1.0, float(np.max(np.abs(end.fixed))), distance)
    return arrived, max(math.log(max(distance / arrived, 1.0)) + 6.0, 6.0) / -end.growth


def _relaxing(objective: Objective, loss: Loss, theta0: Array, end: LocalValue) -> _Probe | None:
    """Look for the extremal to the only rest on a graded grid; None where that is not safe."""
    if end.growth >= 0:
        return None
    arrived, span = _arrival(theta0, end)
    found = relaxing.probe(objective, loss, theta0, end, span, 0.5 * arrived)
    return None if found is None else _Probe(*found)


def _towards(
    objective: Objective, loss: Loss, theta0: Array, end: LocalValue, cut: float | None, others: list[LocalValue]
) -> _Probe:
    """Look for the extremal that comes to rest at ``end``; lengthen the grid until it gets there.

    A path that comes to rest at one of ``others`` first, and leaves it only because the grid ends, is no extremal.
    """
    place = end.fixed if end.growth < 0 else end.centre
    if end.growth < 0:
        arrived, span = _arrival(theta0, end)
    else:  # the model is exact: any handover will do
        arrived, span = math.nan, 10 / max(objective.gamma, 2 * end.growth)
    span = cut if cut is not None else span
    fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
    level, start, lengthened = float(loss.value(place)), None, False
    while True:
        steps = first_steps(objective, len(theta0), span, fastest)
        coarse = Problem(objective, loss, span, steps, terminal=end, level=level)
        if cut is None and end.growth < 0 and objective.gamma * coarse.dt > 1:
            return _unresolved(coarse, theta0)
        probe = newton.minimise(coarse, end.follow(theta0, coarse.times) if start is None else start(coarse.times))
        if budget.spent() or cut is not None or end.growth >= 0:
            return _Probe(coarse, probe)
        near = float(np.max(np.abs(probe.path[-1] - place)))
        given_up = span * -end.growth > 200
        if near <= 500 * arrived and (probe.converged or not lengthened):  # a coarse grid's own error
            if given_up or near <= 0.5 * arrived or _arrives(coarse, probe, place, arrived):
                return _Probe(coarse, probe)
        elif near <= 500 * arrived or given_up or (probe.converged and _rests(coarse, probe, others)):
            # A path that only arrives because the grid ends, however long the grid, follows no extremal.
            return _Probe(coarse, probe, *_none_at(place))
        start = _waiting(coarse, probe, span) if probe.converged and near > 500 * arrived else None
        span, lengthened = 2 * span, True


def _arrives(problem: Problem, probe: newton.Minimum, place: Array, arrived: float) -> bool:
    """Return whether finer grids get as near to the place as is asked."""
    finer = replace(problem, steps=2 * problem.steps)
    fine = newton.minimise(finer, double(probe.path), double(probe.curvature))
    limit = fine.path[-1] + (fine.path[-1] - probe.path[-1]) / 3
    return bool(np.max(np.abs(limit - place)) <= arrived)


def _waiting(problem: Problem, probe: newton.Minimum, wait: float) -> Callable[[Array], Array]:
    """Return the path with a wait where it is slowest: what a longer grid makes of one that has not arrived."""
    slowest = int(np.argmin((np.diff(probe.path, axis=0) ** 2).sum(axis=1)))
    times = np.concatenate([problem.times[: slowest + 1], problem.times[slowest:] + wait])
    path = np.concatenate([probe.path[: slowest + 1], probe.path[slowest:]])
    return lambda t: np.stack([np.interp(t, times, column) for column in path.T], axis=1)


def _rests(problem: Problem, probe: newton.Minimum, others: list[LocalValue]) -> bool:
    """Return whether a path comes to rest at one of some stable rests: near it in position and in velocity."""
    velocity = problem.velocities(probe.path, probe.slope)
    for other in others:
        if other.growth < 0:
            size = 1e-3 * max(1.0, float(np.max(np.abs(other.fixed))))
            away = np.abs(probe.path - other.fixed).max(axis=1) + np.abs(velocity).max(axis=1) / -other.growth
            if np.min(away) < size:
                return True
    return False


def _onto_saddle(
    objective: Objective, loss: Loss, theta0: Array, saddle: LocalValue, cut: float | None, settings: Settings
) -> Trajectory:
    """Solve for the extremal that comes to rest at a saddle: only starts on its stable manifold have one."""
    place = saddle.centre
    rates = np.linalg.eigvals(saddle.closed).real
    distance = float(np.max(np.abs(theta0 - place)))
    arrived = 1e-5 * max(1.0, float(np.max(np.abs(place))))
    slowest = -float(np.max(rates, initial=-objective.gamma, where=rates < 0))
    span = cut if cut is not None else (math.log(max(distance / arrived, 1.0)) + 6.0) / slowest
    steps = first_steps(objective, len(theta0), span, float(np.max(np.abs(rates))))
    coarse = Problem(objective, loss, span, steps, terminal=saddle, level=float(loss.value(place)))
    probe = newton.minimise(coarse, saddle.follow(theta0, coarse.times))
    if not probe.converged or float(np.max(np.abs(probe.path[-1] - place))) > arrived:
        return _Probe(coarse, probe, *_none_at(place)).trajectory()
    return refine(coarse, probe, settings)


def _unresolved(problem: Problem, theta0: Array) -> _Probe:
    """Return no path, and why: the largest grid does not resolve the discount, so it would say nothing."""
    step = problem.objective.gamma * problem.dt
    detail = (
        f"{problem.steps} steps up to t = {problem.horizon:.3g} leave gamma·dt = {step:.3g}, which must be < 1; "
        "give a shorter horizon (the optimum is gradient flow to within about eta·k·|h|/gamma²)"
    )
    small = replace(problem, steps=2)
    still = np.repeat(theta0[None], 3, axis=0)
    slope, bend = problem.loss.gradient(still), problem.loss.hessian(still)
    action = small.action(still)
    nothing = newton.Minimum(still, action, math.nan, math.nan, False, False, 0, slope, bend)
    return _Probe(small, nothing, Status.OVERDAMPED, detail)
