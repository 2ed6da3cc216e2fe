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
from lossnav.problem.task import Task
from lossnav.trajectory import approach, late, newton, relaxing, stationary
from lossnav.trajectory.deadline import unlike
from lossnav.trajectory.mesh import double, first_steps
from lossnav.trajectory.nodal import account, nodes_of, trajectory_of
from lossnav.trajectory.refinement import Settings, refine
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_PASSES, _LEAST_PASSES = 64, 4  # places that paths may go by: in all, and to each rest at least
_PLANES, _ASIDE = 2, (0.35, 0.8)  # where to go round an obstacle: in how many planes, how far off in lengths of the way
_FEW, _ITERATIONS, _SAME = 32, 8, 1e-4  # steps and iterations of a first look at other ways; by what it must gain
_FOLLOWED = 40  # rests to which paths are looked for
_FULL, _ROUGH = 4, 1e-4  # so many candidates are solved to the end; others, if clearly dearer, to this accuracy


def to_rests(
    objective: Objective, loss: Loss, theta0: Array, cut: float | None, settings: Settings
) -> Iterator[Trajectory]:
    """Solve for the extremal to each place of rest, the cheapest first; yield those that do not exist, too.

    Where no stable rest can be reached, the saddles that are blunt enough for γ are tried.
    """
    still, settled = loss.at(math.inf), loss.settled if isinstance(loss, Task) else 0.0
    if cut is not None and cut <= settled:
        raise ValueError(f"horizon = {cut:g}, but the loss settles at {settled:g} only: it must be later")
    rests = stationary.search(objective, still, theta0)
    if rests.bottomless is not None and objective.drift is None and not approach.graded(objective, loss):
        place = np.array2string(rests.bottomless, precision=3)
        raise NoMinimiser(
            f"no minimiser: the loss falls so fast towards {place} that J has no lower bound; set a horizon"
        )
    rests, floor = late.split(objective, still, rests)
    may_wander = cut is None and objective.drift is None and not approach.graded(objective, loss)
    if len(floor):
        budget.stage("a path to a valley")
        down = settled + late.descent(objective, still, floor)
        yield late.path(objective, loss, theta0, replace(rests, points=floor, lost=floor[:0]), settings, down)
    try:
        ends = stationary.targets(objective, still, theta0, rests)
    except NoMinimiser:
        if len(floor):
            return
        if not may_wander:
            raise
        budget.stage("a path that never comes to rest")
        yield late.path(objective, loss, theta0, rests, settings)
        return
    ends = _cheapest(objective, still, theta0, _below(objective, loss, theta0, ends))
    probes: list[_Probe] = []
    missed = not len(floor)
    alone = len(rests.points) == 1 and cut is None and settings.steps is None
    alone = alone and not approach.graded(objective, loss)
    for probe in _all(objective, loss, theta0, cut, ends, alone, _passes(objective, still, theta0, rests, len(ends))):
        missed = missed and probe.status is Status.NO_EXTREMAL
        if probe.status is not Status.CONVERGED or budget.spent():
            yield probe.trajectory()
        else:
            probes.append(probe)
    probes.sort(key=lambda probe: probe.action)
    for rank, probe in enumerate(probes):
        if budget.spent():
            yield probe.trajectory()
            return
        budget.stage(f"path {rank + 1} of {len(probes)} to full accuracy")
        dear = probe.action > probes[0].action + 0.05 * abs(probes[0].action)
        rough = replace(settings, rtol=max(settings.rtol, _ROUGH)) if dear and rank >= _FULL else settings
        path = replace(refine(probe.problem, probe.found, rough), unseen=rests.unseen)
        yield path if cut is not None or budget.spent() else _still_arriving(path, theta0, probe.problem.horizon)
    if missed:
        held = stationary.saddles(objective, still, theta0, rests)
        for saddle in held:
            yield _onto_saddle(objective, loss, theta0, saddle, cut, settings)
        if not held and may_wander:
            yield late.path(objective, loss, theta0, rests, settings)
    if len(rests.lost) and cut is None and not approach.graded(objective, loss):
        budget.stage("a path that runs away")
        lowest = min(float(loss.value(end.centre)) for end in ends)
        away = late.escape(objective, loss, theta0, rests, lowest)
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

    problem: Transcription
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


def _below(objective: Objective, loss: Loss, theta0: Array, ends: list[LocalValue]) -> list[LocalValue]:
    """Return the rests that an extremal can reach: without a drift |θ̇|²_G/2 − ηkL only grows along one, so that none
    comes to rest above its start. Of none below, all stay: that there is no path is then found out.
    """
    if objective.drift is not None or loss.timed:
        return ends
    heights = np.asarray(loss.value(np.array([theta0, *(end.centre for end in ends)])))
    below = heights[1:] <= heights[0] + 1e-9 * abs(heights[0])
    return [end for end, low in zip(ends, below, strict=True) if low or end.growth >= 0] or ends


def _cheapest(objective: Objective, loss: Loss, theta0: Array, ends: list[LocalValue]) -> list[LocalValue]:
    """Return the rests to follow paths to: of very many those to which a straight line, at the best pace, is cheapest.

    Over a line of length ℓ in a time T, with the mean M of the loss on it, ½ℓ²/ηT + (k/γ)(M(1 − e^{−γT}) + Le^{−γT}).
    """
    if len(ends) <= _FOLLOWED:
        return ends
    places = np.array([end.centre for end in ends])
    lines = theta0 + np.linspace(0.0, 1.0, _FEW + 1)[:, None, None] * (places - theta0)
    heights = np.asarray(loss.value(lines))
    metric, gamma = objective.metric_at(theta0), max(objective.gamma, 1e-3)
    length = np.einsum("ni,ij,nj->n", places - theta0, metric, places - theta0)
    time = np.geomspace(1e-2, 1e2, 81)[:, None]
    paid = objective.k / gamma * (heights[-1] + (heights.mean(axis=0) - heights[-1]) * -np.expm1(-gamma * time))
    order = np.argsort(np.min(length / (2 * objective.eta * time) + paid, axis=0))
    return [ends[i] for i in order[:_FOLLOWED]]


def _all(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    cut: float | None,
    ends: list[LocalValue],
    alone: bool,
    passes: Callable[[LocalValue], list[Array]],
) -> Iterator[_Probe]:
    """Yield the extremal to each rest that the law of the rest leads to, and then those by way of its passes.

    Where functions are called point by point, other ways are looked for to the rest of the cheapest path only.
    """
    direct: list[tuple[_Probe, LocalValue]] = []
    for number, end in enumerate(ends, 1):
        budget.stage(f"path to rest {number} of {len(ends)}")
        others = [other for other in ends if other is not end]
        probe = _relaxing(objective, loss, theta0, end) if alone else None
        direct.append((probe or _towards(objective, loss, theta0, end, cut, others), end))
        yield direct[-1][0]
    direct.sort(key=lambda pair: (pair[0].status is not Status.CONVERGED, pair[0].action))
    if "one by one" in getattr(loss, "batches", {}).values():
        direct = direct[:1]
    best = direct[0][0].action
    for number, (known, end) in enumerate(direct, 1):
        places = passes(end)
        if places and not budget.spent():
            budget.stage(f"other ways to rest {number} of {len(ends)}")
            others = [other for other in ends if other is not end]
            for probe in _other_ways(loss, end, cut, others, places, known, best):
                best = min(best, probe.action)
                yield probe


def _passes(
    objective: Objective, loss: Loss, theta0: Array, rests: Rests, count: int
) -> Callable[[LocalValue], list[Array]]:
    """Return what gives the places that paths to a rest may go by: of the least detour, so many for each of ``count``.

    They are the minima and the saddles with one way down, which are the passes between what a path may have to go
    round, and places on either side of the straight line, for round the outermost obstacle no pass leads.
    """
    rough = rests.bent
    points = rests.points
    if len(points):
        lowest = np.linalg.eigvalsh(loss.hessian(points))
        points = points[(lowest < 0).sum(axis=1) <= 1]
    most = max(_LEAST_PASSES, _PASSES // max(count, 1))

    def near(end: LocalValue) -> list[Array]:
        if end.growth >= 0:
            return []
        metric = objective.metric_at(end.fixed)
        sides = _aside(theta0, end.fixed) if rough else []
        first, second = (np.einsum("ni,ij,nj->n", x, metric, x) ** 0.5 for x in (points - theta0, points - end.fixed))
        size = 1e-6 * np.max(first + second, initial=0.0)
        between = np.flatnonzero((first > size) & (second > size))
        return sides + [points[i] for i in between[np.argsort((first + second)[between])][:most]]

    return near


def _aside(theta0: Array, place: Array) -> list[Array]:
    """Return places on both sides of the straight line to a place, off by shares of its length, in up to two planes."""
    way = place - theta0
    length = float(np.linalg.norm(way))
    if length == 0 or len(way) == 1:
        return []
    normals = np.linalg.qr(np.column_stack([way, np.eye(len(way))]))[0].T[1 : 1 + _PLANES]
    return [theta0 + way / 2 + share * length * sign * n for n in normals for share in _ASIDE for sign in (-1, 1)]


def _towards(
    objective: Objective, loss: Loss, theta0: Array, end: LocalValue, cut: float | None, others: list[LocalValue]
) -> _Probe:
    """Look for the extremal that comes to rest at ``end``, from the law of the end."""
    coarse = _begun(objective, loss, theta0, end, cut)
    if _too_coarse(coarse, cut):
        return _unresolved(coarse, theta0)
    settled = loss.settled if isinstance(loss, Task) else 0.0
    probe = newton.minimise(coarse, end.follow(theta0, np.maximum(coarse.times - settled, 0.0)))
    return _arriving(coarse, probe, end, cut, others)


def _other_ways(
    loss: Loss,
    end: LocalValue,
    cut: float | None,
    others: list[LocalValue],
    places: list[Array],
    known: _Probe,
    best: float,
) -> Iterator[_Probe]:
    """Yield the extremals to ``end`` by way of some places that may cost less than the best path of all, ``best``.

    They are walked side by side on a few steps, together with the path that is known. What so much is gained on as
    the best is ahead, but for what the few steps change in the known path, goes on by itself.
    """
    objective, theta0 = known.problem.objective, known.found.path[0]
    coarse = _begun(objective, loss, theta0, end, cut)
    if _too_coarse(coarse, cut):
        return
    few = replace(coarse, steps=_FEW, rule="exact", mesh=approach.mesh_of(loss, coarse.horizon, _FEW))
    settled = loss.settled if isinstance(loss, Task) else 0.0
    times = np.minimum(few.times, known.problem.horizon)
    starts = [_by_way_of(theta0, by, end, few.times, settled) for by in places]
    starts = [approach.on(known.problem.times, known.found.path, times), *starts]
    same, *rough = newton.minimise_all(few, np.array(starts), limit=_ITERATIONS)
    off = abs(_Probe(few, same).action - known.action)
    promising = [one for one in unlike(rough) if one is not same and _Probe(few, one).action <= best + off]
    if not promising or budget.spent():
        return
    paths = np.array([approach.on(few.times, one.path, coarse.times) for one in promising])
    for found in unlike(newton.minimise_all(coarse, paths)):
        if found.converged and _Probe(coarse, found).action < best - _SAME * abs(best):
            probe = _arriving(coarse, found, end, cut, others)
            if probe.status is Status.CONVERGED:
                yield probe


def _begun(objective: Objective, loss: Loss, theta0: Array, end: LocalValue, cut: float | None) -> Transcription:
    """Return J on the first mesh, of the time that the law of the end takes."""
    span = _arrival(theta0, end)[1] if end.growth < 0 else 10 / max(objective.gamma, 2 * end.growth)
    settled = loss.settled if isinstance(loss, Task) else 0.0
    return _coarse(objective, loss, cut if cut is not None else settled + span, end)


def _too_coarse(coarse: Transcription, cut: float | None) -> bool:
    """Return whether the largest mesh of a rule that asks for γΔt ≪ 1 says nothing."""
    wide = coarse.rule != "exact" and coarse.objective.gamma * coarse.horizon > coarse.steps
    return wide and cut is None and coarse.terminal is not None and coarse.terminal.growth < 0


def _by_way_of(theta0: Array, by: Array, end: LocalValue, times: Array, begin: float) -> Array:
    """Return a straight line to a place, in a lifetime of the end's slowest mode, and the law of the end from it."""
    late = times - begin + end.growth**-1
    straight = theta0 + np.clip(-(times - begin) * end.growth, 0.0, 1.0)[:, None] * (by - theta0)
    return np.where((late > 0)[:, None], end.follow(by, np.maximum(late, 0.0)), straight)


def _arriving(
    coarse: Transcription, probe: newton.Minimum, end: LocalValue, cut: float | None, others: list[LocalValue]
) -> _Probe:
    """Lengthen the time of a path until it comes to rest at ``end``.

    A path that comes to rest at one of ``others`` first, and leaves it only because the grid ends, is no extremal.
    """
    objective, loss, lengthened = coarse.objective, coarse.loss, False
    place, arrived = end.fixed, _arrival(probe.path[0], end)[0] if end.growth < 0 else math.nan
    while True:
        if approach.graded(objective, loss):
            coarse, probe = approach.settle(coarse, probe)
        if budget.spent() or cut is not None or end.growth >= 0:
            return _Probe(coarse, probe)
        span = coarse.horizon
        near = float(np.max(np.abs(probe.path[-1] - place)))
        given_up = span * -end.growth > 200
        elsewhere = probe.converged and _rests(coarse, probe, others)
        if near <= 500 * arrived and not elsewhere and (probe.converged or not lengthened):  # a coarse grid's own error
            if given_up or near <= 0.5 * arrived or _arrives(coarse, probe, place, arrived):
                return _Probe(coarse, probe)
        elif near <= 500 * arrived or given_up or elsewhere:
            # A path that only arrives because the grid ends, however long the grid, follows no extremal.
            return _Probe(coarse, probe, *_none_at(place))
        waits = probe.converged and near > 500 * arrived
        coarse, old = _coarse(objective, loss, 2 * span, end), coarse
        if _too_coarse(coarse, cut):
            return _unresolved(coarse, probe.path[0])
        law = end.follow(probe.path[0], coarse.times)
        probe = newton.minimise(coarse, _waiting(old, probe, span)(coarse.times) if waits else law)
        lengthened = True


def _coarse(objective: Objective, loss: Loss, span: float, end: LocalValue) -> Transcription:
    """Return J on the mesh of a first solution, which resolves the law of the end."""
    rates = np.linalg.eigvals(end.closed)
    level = float(loss.at(math.inf).value(end.fixed if end.growth < 0 else end.centre))
    if approach.graded(objective, loss):
        return approach.first(objective, loss, span, terminal=end, level=level)
    steps = first_steps(objective, loss.dim, span, float(np.max(np.abs(rates))))
    return Transcription(objective, loss, span, steps, terminal=end, level=level)


def _arrives(problem: Transcription, probe: newton.Minimum, place: Array, arrived: float) -> bool:
    """Return whether finer grids get as near to the place as is asked."""
    finer = replace(problem, steps=2 * problem.steps)
    fine = newton.minimise(finer, double(probe.path), double(probe.curvature))
    limit = fine.path[-1] + (fine.path[-1] - probe.path[-1]) / 3
    return bool(np.max(np.abs(limit - place)) <= arrived)


def _waiting(problem: Transcription, probe: newton.Minimum, wait: float) -> Callable[[Array], Array]:
    """Return the path with a wait where it is slowest: what a longer grid makes of one that has not arrived."""
    slowest = int(np.argmin((np.diff(probe.path, axis=0) ** 2).sum(axis=1)))
    times = np.concatenate([problem.times[: slowest + 1], problem.times[slowest:] + wait])
    path = np.concatenate([probe.path[: slowest + 1], probe.path[slowest:]])
    return lambda t: np.stack([np.interp(t, times, column) for column in path.T], axis=1)


def _rests(problem: Transcription, probe: newton.Minimum, others: list[LocalValue]) -> bool:
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
    coarse = _coarse(objective, loss, span, saddle)
    probe = newton.minimise(coarse, saddle.follow(theta0, coarse.times))
    if not probe.converged or float(np.max(np.abs(probe.path[-1] - place))) > arrived:
        return _Probe(coarse, probe, *_none_at(place)).trajectory()
    return refine(coarse, probe, settings)


def _unresolved(problem: Transcription, theta0: Array) -> _Probe:
    """Return no path, and why: the largest grid does not resolve the discount, so it would say nothing."""
    step = problem.objective.gamma * problem.horizon / problem.steps
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
