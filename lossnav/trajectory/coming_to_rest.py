"""Extremals of an infinite time: to each place of rest, on a grid that is lengthened until they arrive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.functions import budget
from lossnav.problem.functions.roots import FADED
from lossnav.problem.task import Task
from lossnav.trajectory import approach, itineraries, late, newton, stationary
from lossnav.trajectory.case import Case, Settings
from lossnav.trajectory.itineraries import Stretch
from lossnav.trajectory.mesh import Split, double, first_steps, most_steps
from lossnav.trajectory.nodal import cost, nodes_of, trajectory_of
from lossnav.trajectory.refinement import lowered, refine
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_PASSES, _LEAST_PASSES = 64, 4  # places that paths may go by: in all, and to each rest at least
_PLANES, _ASIDE = 2, (0.35, 0.8)  # where to go round an obstacle: in how many planes, how far off in lengths of the way
_FEW, _ITERATIONS, _SAME = 32, 8, 1e-4  # steps and iterations of a first look at other ways; by what it must gain
_LONGER = 8  # times the time after which nothing else leads anywhere
_FOLLOWED = 40  # rests to which paths are looked for at least; to others only where they may cost less


@dataclass(frozen=True, eq=False)
class _Probe:
    """A first solution on a coarse grid; ``status`` and ``detail`` say why it is none."""

    problem: Transcription
    minimum: newton.Minimum
    status: Status = Status.CONVERGED
    detail: str = ""

    @property
    def action(self) -> float:
        """J, to the accuracy of the grid; where that is infinite, its excess over resting."""
        return cost(self.problem, self.minimum.action, self.minimum.path)

    def trajectory(self) -> Trajectory:
        """Return it as it is: what was found is not refined."""
        traj = trajectory_of(self.problem, self.minimum, nodes_of(self.problem, self.minimum))
        if self.status is Status.CONVERGED:
            return replace(traj, status=Status.BUDGET_SPENT, detail=budget.spent())
        return replace(traj, status=self.status, detail=self.detail, is_minimum=False)


class ToRests:
    """The search for the extremals of a case that has neither a deadline nor a fixed end.

    Attributes:
        case, objective, loss, theta0: the problem.
        cut: where the numerics hand over to the law of the end; None: where it holds.
        settings: the accuracy.
        final_loss: the loss that holds in the end, from ``settled`` on.
        graded: whether meshes follow the paths.
    """

    def __init__(self, case: Case, settings: Settings):
        self.case, self.objective, self.loss, self.theta0 = case, case.objective, case.loss, case.theta0
        self.settings, self.final_loss, self.cut = settings, case.loss.at(math.inf), case.span
        self.settled = case.loss.settled if isinstance(case.loss, Task) else 0.0
        self.graded = approach.graded(self.objective, self.loss)
        self._found: dict[LocalValue, newton.Minimum] = {}  # on the first mesh
        self._relaxed: dict[LocalValue, _Probe | None] = {}  # on a graded one
        if self.cut is not None and self.cut <= self.settled:
            raise ValueError(f"horizon = {self.cut:g}, but the loss settles at {self.settled:g} only: it must be later")

    def paths(self) -> Iterator[Trajectory]:
        """Solve for the extremal to each place of rest, the cheapest first; yield those that do not exist, too.

        Where no stable rest can be reached, the saddles that are blunt enough for γ are tried.
        """
        objective, loss, final = self.objective, self.loss, self.final_loss
        theta0 = self.theta0
        rests = stationary.search(objective, final, theta0)
        if rests.bottomless is not None and objective.drift is None and not objective.curved:
            place = np.array2string(rests.bottomless, precision=3)
            raise NoMinimiser(
                f"no minimiser: the loss falls so fast towards {place} that J has no lower bound; set a horizon"
            )
        may_wander = self.cut is None and objective.drift is None
        # Degenerate places, and those on the floor of a valley, are no rests of their own: one path with a late
        # deadline serves them all.
        places = rests.points
        rests, floor = late.split(objective, final, theta0, rests)
        if len(floor):
            budget.stage("a path to a rest that has no rate of approach")
            earliest = late.descent(objective, final, floor)
            yield self._late(replace(rests, points=places, lost=floor[:0]), earliest)
        try:
            ends = stationary.targets(objective, final, theta0, rests)
        except NoMinimiser:
            if len(floor):
                return
            if not may_wander:
                raise
            budget.stage("a path that never comes to rest")
            yield self._late(rests)
            return
        # Of the rests that are left, those that a path can reach and that may matter.
        ends = self._below(ends)
        forgotten = self._forgotten(ends, rests)
        led = [end for end in ends if end not in forgotten]
        # To each of these an extremal; where none has one, to saddles that are blunt enough for the discount.
        has_extremal, least = bool(forgotten), math.inf
        for path in self._all(led, rests) if led else ():
            has_extremal = has_extremal or path.status is not Status.NO_EXTREMAL
            least = min(least, path.action) if path.converged else least
            yield path
        if forgotten:
            budget.stage("a path that is forgotten on its way")
            path = self._late(replace(rests, points=np.array([end.centre for end in forgotten])))
            if path.action < least - path.error:
                yield replace(path, unseen=rests.unseen)
        if not (has_extremal or len(floor)):
            saddles = stationary.saddles(objective, final, rests)
            yield from map(self._onto_saddle, saddles)
            if not saddles and may_wander:
                yield self._late(rests)
        # Descents have got lost: it may pay to run away.
        if len(rests.lost) and may_wander:
            budget.stage("a path that runs away")
            lowest = min(float(final.value(end.centre)) for end in ends)
            away = late.escape(objective, loss, theta0, rests, lowest, self.settled)
            if away is not None:
                yield away
                if objective.gamma > 0 and away.action < least - _SAME * abs(least):
                    far = late.towards(loss, theta0, rests)
                    yield self._late(replace(rests, points=np.concatenate([rests.points, far])))

    def _late(self, rests: Rests, least: float = 0.0) -> Trajectory:
        """Return the path of a late deadline, at the earliest ``least`` after the loss has settled."""
        return late.path(self.objective, self.loss, self.theta0, rests, self.settings, self.settled + least)

    def _all(self, ends: list[LocalValue], rests: Rests) -> Iterator[Trajectory]:
        """Yield what was found on coarse grids: what is no path as it is, the others refined, the cheapest first."""
        probes: list[_Probe] = []
        for probe in self._probes(ends, rests):
            if probe.status is not Status.CONVERGED or budget.spent():
                yield probe.trajectory()
            else:
                probes.append(probe)
        probes.sort(key=lambda probe: probe.action)
        best = math.inf
        for rank, probe in enumerate(probes):
            if budget.spent():
                yield probe.trajectory()
                return
            budget.stage(f"path {rank + 1} of {len(probes)} to full accuracy")
            path = replace(refine(probe.problem, probe.minimum, self.settings, best), unseen=rests.unseen)
            if self.cut is None and not budget.spent():
                path = self._still_arriving(path, probe.problem.horizon)
            best = lowered(best, path)
            yield path

    def _still_arriving(self, path: Trajectory, span: float) -> Trajectory:
        """Return the path, as no extremal if on a finer grid Newton's method has left for another place of rest.

        Where e^{−γt} has fallen to nothing the terminal value no longer holds a path: its end must be looked at.
        """
        place = path.asymptote
        size = max(1.0, float(np.max(np.abs(path(0.0) - place))))
        if not np.all(np.isfinite(place)) or float(np.max(np.abs(path(span) - place))) <= 0.05 * size:
            return path
        status, detail = _none_at(place)
        return replace(path, status=status, detail=detail)

    def _below(self, ends: list[LocalValue]) -> list[LocalValue]:
        """Return the rests that an extremal can reach: without a drift |θ̇|²_G/2 − ηkL only grows along one, so that
        none comes to rest above its start. Of none below, all stay: that there is no path is then found out.
        """
        if self.objective.drift is not None or self.loss.timed:
            return ends
        heights = np.asarray(self.loss.value(np.array([self.theta0, *(end.centre for end in ends)])))
        below = heights[1:] <= heights[0] + 1e-9 * abs(heights[0])
        return [end for end, low in zip(ends, below, strict=True) if low or end.growth >= 0] or ends

    def _forgotten(self, ends: list[LocalValue], rests: Rests) -> list[LocalValue]:
        """Return of the rests under a drift those that no path gets to before the discount leaves nothing to pay.

        Which of them it would get to has no weight in J then, and Newton's method may not find out: those to which the
        law of the end leads it at once are left to it, and the only one if a graded mesh does.
        """
        if self.objective.drift is None or self.graded or self.cut is not None:
            return []
        late = [end for end in ends if self.objective.gamma * _arrival(self.theta0, end)[1] > FADED]
        if self._alone(rests):
            late = [end for end in late if not (self._too_coarse(self._begun(end)) or self._relaxing(end))]
        return [end for end in late if not self._led(end)]

    def _alone(self, rests: Rests) -> bool:
        """Return whether there is one place of rest, and a graded mesh may lead to it."""
        return len(rests.points) == 1 and self.cut is None and self.settings.steps is None and not self.graded

    def _led(self, end: LocalValue) -> bool:
        """Return whether Newton's method finds an extremal to a rest on the first mesh, from the law of the end."""
        coarse = self._begun(end)
        if self._too_coarse(coarse):
            return False
        found = self._first(end, coarse)
        return found.converged and float(np.max(np.abs(found.path[-1] - end.fixed))) <= _arrival(self.theta0, end)[0]

    def _first(self, end: LocalValue, coarse: Transcription) -> newton.Minimum:
        """Return what is found on the first mesh from the law of the end, which is asked once."""
        if end not in self._found:
            lawful = end.follow(self.theta0, np.maximum(coarse.times - self.settled, 0.0))
            self._found[end] = self._from(lawful, coarse)
        return self._found[end]

    def _estimates(self, ends: list[LocalValue]) -> Array:
        """Return what a path to each rest may cost, shape (N,): a straight line, and no wall in its way.

        Over a line of length ℓ in a time T, with the mean M of L on it, ½ℓ²/ηT + (k/γ)(M(1 − e^{−γT}) + Le^{−γT}).
        What is higher than both its ends is a wall, which other paths go round.
        """
        objective, theta0 = self.objective, self.theta0
        places = np.array([end.centre for end in ends])
        lines = theta0 + np.linspace(0.0, 1.0, _FEW + 1)[:, None, None] * (places - theta0)
        heights = np.asarray(self.final_loss.value(lines))
        heights = np.minimum(heights, np.maximum(heights[0], heights[-1]))
        metric, gamma = self._metric_there(theta0), max(objective.gamma, 1e-3)
        length = np.einsum("ni,ij,nj->n", places - theta0, metric, places - theta0)
        time = np.geomspace(1e-2, 1e2, 81)[:, None]
        paid = objective.k / gamma * (heights[-1] + (heights.mean(axis=0) - heights[-1]) * -np.expm1(-gamma * time))
        return np.asarray(np.min(length / (2 * objective.eta * time) + paid, axis=0))

    def _probes(self, ends: list[LocalValue], rests: Rests) -> Iterator[_Probe]:
        """Yield the extremal to each rest that the law of the rest leads to, and then those by way of its passes.

        Where functions are called point by point, other ways are looked for to the rest of the cheapest path only.
        """
        alone = self._alone(rests)
        direct: list[tuple[_Probe, LocalValue]] = []
        estimates = self._estimates(ends) if len(ends) > _FOLLOWED else np.zeros(len(ends))
        best = math.inf
        for number, which in enumerate(np.argsort(estimates, kind="stable"), 1):
            if number > _FOLLOWED and estimates[which] > best:
                break
            budget.stage(f"path to rest {number} of {len(ends)}")
            end = ends[which]
            probe = (self._relaxing(end) if alone else None) or self._towards(end, ends)
            best = min(best, probe.action) if probe.status is Status.CONVERGED else best
            direct.append((probe, end))
            yield probe
        # Then by way of minima and passes, beginning with the rest of the cheapest path.
        direct.sort(key=lambda pair: (pair[0].status is not Status.CONVERGED, pair[0].action))
        if "one by one" in getattr(self.loss, "batches", {}).values():
            direct = direct[:1]
        best = direct[0][0].action
        points = rests.points
        if len(points):
            lowest = np.linalg.eigvalsh(self.final_loss.hessian(points))
            points = points[(lowest < 0).sum(axis=1) <= 1]
        before = itineraries.stretches(self.objective, self.loss, self.theta0, self.settled) if self.settled else []
        for number, (known, end) in enumerate(direct, 1):
            places = self._passes(end, points, rests.bent, max(_LEAST_PASSES, _PASSES // len(ends)))
            if (places or before) and not budget.spent():
                budget.stage(f"other ways to rest {number} of {len(ends)}")
                for probe in self._other_ways(end, ends, places, before, known, best):
                    best = min(best, probe.action)
                    yield probe

    def _passes(self, end: LocalValue, points: Array, bent: bool, most: int) -> list[Array]:
        """Return places that paths to a rest may go by: of ``points`` those of the least detour, at most so many.

        These are the minima and the saddles with one way down, which are the passes between what a path may have to go
        round; and there are places on either side of the straight line, for round the outermost obstacle of a loss that
        is ``bent`` no pass leads.
        """
        if end.growth >= 0:
            return []
        theta0, metric = self.theta0, self._metric_there(end.fixed)
        first, second = (np.einsum("ni,ij,nj->n", x, metric, x) ** 0.5 for x in (points - theta0, points - end.fixed))
        size = 1e-6 * np.max(first + second, initial=0.0)
        between = np.flatnonzero((first > size) & (second > size))
        near = [points[i] for i in between[np.argsort((first + second)[between])][:most]]
        way, dim = end.fixed - theta0, len(theta0)
        length = float(np.linalg.norm(way))
        if not bent or length == 0 or dim == 1:
            return near
        normals = np.linalg.qr(np.column_stack([way, np.eye(dim)]))[0].T[1 : 1 + _PLANES]
        aside = [share * length * sign * n for n in normals for share in _ASIDE for sign in (-1, 1)]
        return [theta0 + way / 2 + offset for offset in aside] + near

    def _metric_there(self, place: Array) -> Array:
        """Return the metric that says how long a detour is."""
        return self.objective.metric_at(place)

    def _relaxing(self, end: LocalValue) -> _Probe | None:
        """Look, once, for the extremal to the only rest on a graded grid; None where that is not safe."""
        if end.growth >= 0:
            return None
        if end not in self._relaxed:
            arrived, span = _arrival(self.theta0, end)
            relaxed = approach.relaxing(self.objective, self.loss, self.theta0, end, span, 0.5 * arrived)
            self._relaxed[end] = None if relaxed is None else _Probe(*relaxed)
        return self._relaxed[end]

    def _towards(self, end: LocalValue, ends: list[LocalValue]) -> _Probe:
        """Look for the extremal that comes to rest at ``end``, from the law of the end."""
        coarse = self._begun(end)
        if self._too_coarse(coarse):
            return self._unresolved(coarse)
        return self._arriving(coarse, self._first(end, coarse), end, ends)

    def _from(self, start: Array, problem: Transcription) -> newton.Minimum:
        """Look for an extremal from a path; if that leads nowhere under a strong discount, from the gradient flow."""
        found = newton.minimise(problem, start)
        if problem.halfway and not (found.converged or budget.spent()):
            found = newton.minimise(problem, approach.downhill(problem, self.theta0))
        return found

    def _other_ways(
        self, end: LocalValue, ends: list[LocalValue], places: list[Array], before: list[Stretch], known: _Probe,
        best: float,
    ) -> Iterator[_Probe]:  # fmt: skip
        """Yield the extremals to ``end`` by way of some places, or of rests in the stretches ``before`` the loss has
        settled, that may cost less than the best path of all, ``best``.

        They are walked side by side on a few steps, together with the path that is known. What so much is gained on as
        the best is ahead, but for what the few steps change in the known path, goes on by itself.
        """
        coarse = self._begun(end)
        if self._too_coarse(coarse):
            return
        few = replace(coarse, steps=_FEW, mesh=approach.mesh_of(self.loss, coarse.horizon, _FEW))
        times = np.minimum(few.times, known.problem.horizon)
        starts = [self._by_way_of(by, end, few.times) for by in places]
        starts += [self._after(way, end, few.times) for way in itineraries.ways(few, self.theta0, before)]
        starts = [approach.on(known.problem.times, known.minimum.path, times), *starts]
        same, *rough = newton.minimise_all(few, np.array(starts), limit=_ITERATIONS)
        off = abs(_Probe(few, same).action - known.action)
        rough = [m for m in newton.unlike(rough) if m is not same and _Probe(few, m).action <= best + off]
        if not rough or budget.spent():
            return
        paths = np.array([approach.on(few.times, m.path, coarse.times) for m in rough])
        for minimum in newton.unlike(newton.minimise_all(coarse, paths)):
            if minimum.converged and _Probe(coarse, minimum).action < best - _SAME * abs(best):
                probe = self._arriving(coarse, minimum, end, ends)
                if probe.status is Status.CONVERGED:
                    yield probe

    def _by_way_of(self, place: Array, end: LocalValue, times: Array) -> Array:
        """Return a straight line to a place, in a lifetime of the end's slowest mode, and the law of the end after."""
        since = times - self.settled
        left = since + 1 / end.growth
        straight = self.theta0 + np.clip(-since * end.growth, 0.0, 1.0)[:, None] * (place - self.theta0)
        return np.where((left > 0)[:, None], end.follow(place, np.maximum(left, 0.0)), straight)

    def _after(self, way: Array, end: LocalValue, times: Array) -> Array:
        """Return a way with these knots until the loss has settled, and the law of the end after."""
        since = times - self.settled
        lawful = end.follow(way[-1, 1:], np.maximum(since, 0.0))
        return np.where(since[:, None] > 0, lawful, itineraries.walked(way, times))

    def _begun(self, end: LocalValue) -> Transcription:
        """Return J on the first mesh, of the time that the law of the end takes."""
        gamma = self.objective.gamma
        span = _arrival(self.theta0, end)[1] if end.growth < 0 else 10 / max(gamma, 2 * end.growth)
        return self._coarse(self.cut if self.cut is not None else self.settled + span, end)

    def _coarse(self, span: float, end: LocalValue) -> Transcription:
        """Return J on the mesh of a first solution, which resolves the law of the end.

        Where equal steps that do so leave more than γΔt = ¼, meshes follow the path.
        """
        level = float(self.final_loss.value(end.fixed if end.growth < 0 else end.centre))
        fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
        undiscounted = replace(self.objective, gamma=0.0)
        steps, lawful = (first_steps(each, self.loss.dim, span, fastest) for each in (self.objective, undiscounted))
        if self.graded or (end.growth < 0 and 4 * self.objective.gamma * span > lawful):
            return approach.first(self.objective, self.loss, span, terminal=end, level=level)
        return Transcription(self.objective, self.loss, span, steps, terminal=end, level=level)

    def _too_coarse(self, coarse: Transcription) -> bool:
        """Return whether the largest mesh says nothing: of the law of the end, or because its steps are too long.

        So it is where rates are to the discount what has no square among floating-point numbers.
        """
        if self.cut is not None or coarse.terminal is None or coarse.terminal.growth >= 0:
            return False
        if -coarse.terminal.growth < math.sqrt(np.finfo(float).tiny) * self.objective.gamma:
            return True
        most = most_steps(self.loss.dim)
        wanted = approach.wanted(self.objective, self.loss, coarse.horizon, coarse.terminal)
        return coarse.overstretched(most) or wanted > most

    def _arriving(
        self, coarse: Transcription, probe: newton.Minimum, end: LocalValue, ends: list[LocalValue]
    ) -> _Probe:
        """Lengthen the time of a path until it comes to rest at ``end``.

        A path that comes to rest at another of ``ends`` first, and leaves it only as the grid ends, is no extremal.
        """
        place, lengthened = end.fixed, False
        arrived = _arrival(self.theta0, end)[0] if end.growth < 0 else math.nan
        while True:
            if isinstance(coarse.mesh, Split):
                coarse, probe = approach.settle(coarse, probe)
            if budget.spent() or self.cut is not None or end.growth >= 0:
                return _Probe(coarse, probe)
            span = coarse.horizon
            near = float(np.max(np.abs(probe.path[-1] - place)))
            given_up = span * -end.growth > 200
            elsewhere = probe.converged and _rests(coarse, probe, [other for other in ends if other is not end])
            if near <= 500 * arrived and not elsewhere and (probe.converged or not lengthened):
                if (
                    given_up or near <= 0.5 * arrived or _arrives(coarse, probe, place, arrived)
                ):  # a coarse grid's error
                    return _Probe(coarse, probe)
            elif near <= 500 * arrived or given_up or elsewhere or self._faded(coarse, probe):
                # A path that only arrives because the grid ends, however long the grid, follows no extremal.
                flowing = None if elsewhere else self._flowing(span, end)
                return flowing or _Probe(coarse, probe, *_none_at(place))
            # Not there yet: twice the time, from the path with a wait in it, or anew from the law.
            waits = probe.converged and near > 500 * arrived
            coarse, old = self._coarse(2 * span, end), coarse
            if self._too_coarse(coarse):
                return self._unresolved(coarse)
            start = _waiting(old, probe, coarse.times) if waits else end.follow(self.theta0, coarse.times)
            probe = self._from(start, coarse)
            lengthened = True

    def _flowing(self, span: float, end: LocalValue) -> _Probe | None:
        """Return the extremal near the gradient flow, where that gets to a rest in much more time; else None.

        Under a strong discount a path takes about as long as the flow, which may have a flat stretch on its way.
        """
        if self.objective.drift is not None or self.objective.gamma * span < FADED:
            return None
        longer, arrived = self._coarse(_LONGER * span, end), _arrival(self.theta0, end)[0]
        if self._too_coarse(longer):
            return None
        flow = approach.downhill(longer, self.theta0)
        if np.max(np.abs(flow[-1] - end.fixed)) > arrived:
            return None
        longer, probe = approach.settle(longer, newton.minimise(longer, flow))
        came = probe.converged and np.max(np.abs(probe.path[-1] - end.fixed)) <= arrived
        return _Probe(longer, probe) if came else None

    def _faded(self, problem: Transcription, probe: newton.Minimum) -> bool:
        """Return whether a path got lost where the discount leaves nothing to pay: in more time still more of it would.

        The scheme that asks for the loss halfway, too, is made for such discounts, and may succeed on a longer mesh.
        """
        return not (probe.converged or problem.halfway) and self.objective.gamma * problem.horizon > FADED

    def _onto_saddle(self, saddle: LocalValue) -> Trajectory:
        """Solve for the extremal that comes to rest at a saddle: only starts on its stable manifold have one."""
        place = saddle.centre
        rates = np.linalg.eigvals(saddle.closed).real
        distance = float(np.max(np.abs(self.theta0 - place)))
        arrived = 1e-5 * max(1.0, distance)
        slowest = -float(np.max(rates, initial=-self.objective.gamma, where=rates < 0))
        span = self.cut if self.cut is not None else (math.log(max(distance / arrived, 1.0)) + 6.0) / slowest
        coarse = self._coarse(span, saddle)
        probe = newton.minimise(coarse, saddle.follow(self.theta0, coarse.times))
        if not probe.converged or float(np.max(np.abs(probe.path[-1] - place))) > arrived:
            return _Probe(coarse, probe, *_none_at(place)).trajectory()
        return refine(coarse, probe, self.settings)

    def _unresolved(self, problem: Transcription) -> _Probe:
        """Return no path, and why: the largest grid resolves neither discount nor law, so it would say nothing."""
        detail = (
            f"{problem.steps} steps up to t = {problem.horizon:.3g} are too few; give a shorter horizon (where the "
            "discount is strong, the optimum is gradient flow to within about eta·k·|h|/gamma²)"
        )
        small = replace(problem, steps=2)
        nothing = newton.minimise(small, np.repeat(self.theta0[None], 3, axis=0), limit=0)
        return _Probe(small, nothing, Status.OVERDAMPED, detail)


def _none_at(place: Array) -> tuple[Status, str]:
    """Return the status of an extremal that was not found, and where it should come to rest."""
    return Status.NO_EXTREMAL, np.array2string(place, precision=6)


def _arrival(theta0: Array, end: LocalValue) -> tuple[float, float]:
    """Return how near to a rest counts as arrived, and how long the linear law takes to get well inside."""
    distance = max(float(np.max(np.abs(theta0 - end.fixed))), 1e-300)
    arrived = 1e-4 * max(1.0, distance)
    return arrived, max(math.log(max(distance / arrived, 1.0)) + 6.0, 6.0) / -end.growth


def _arrives(problem: Transcription, probe: newton.Minimum, place: Array, arrived: float) -> bool:
    """Return whether finer grids get as near to the place as is asked."""
    finer = replace(problem, steps=2 * problem.steps)
    fine = newton.minimise(finer, double(probe.path), double(probe.curvature))
    limit = fine.path[-1] + (fine.path[-1] - probe.path[-1]) / 3
    return bool(np.max(np.abs(limit - place)) <= arrived)


def _waiting(problem: Transcription, probe: newton.Minimum, times: Array) -> Array:
    """Return the path on a longer grid, with a wait where it is slowest: what becomes of one that has not arrived."""
    slowest = int(np.argmin((np.diff(probe.path, axis=0) ** 2).sum(axis=1))) + 1
    wait = times[-1] - problem.horizon
    begun = np.concatenate([problem.times[:slowest], problem.times[slowest - 1 :] + wait])
    return approach.on(begun, np.concatenate([probe.path[:slowest], probe.path[slowest - 1 :]]), times)


def _rests(problem: Transcription, probe: newton.Minimum, rests: list[LocalValue]) -> bool:
    """Return whether a path comes to rest at one of some stable rests: near it in position and in velocity."""
    velocity = problem.velocities(probe.path, probe.loss_gradient)
    for rest in rests:
        if rest.growth < 0:
            size = 1e-3 * max(1.0, float(np.max(np.abs(rest.fixed - probe.path[0]))))
            distance = np.abs(probe.path - rest.fixed).max(axis=1) + np.abs(velocity).max(axis=1) / -rest.growth
            if np.min(distance) < size:
                return True
    return False
