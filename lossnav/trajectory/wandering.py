r"""Does a path that never rests do better? Admissible paths under a drift that is no gradient, beside the rests.

Where f is a gradient, no closed orbit can pay: the drift has no circulation (it can carry a learner away for good:
``escaping``). Where it is none, one can cost less than any place to rest (see ``cycles``). With a discount such a path
is found by a late deadline (``endless``), and is the answer; without one J is infinite, and what is compared is the
cost per unit of time of a loop, passed again and again, with that of resting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.problem.task import Task
from lossnav.trajectory import cycles, deadline, endless, escaping, stationary
from lossnav.trajectory.case import Case
from lossnav.trajectory.refinement import Settings, refine
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_TURNS = 6  # how long a path is that may close a loop, in turns of the drift


@dataclass(frozen=True, eq=False)
class Bound:
    """A path, of status ``NEVER_RESTS``, and the cost per unit of time of a loop of it; inf if it closes none."""

    rate: float
    path: Trajectory


def bound(objective: Objective, loss: Loss, theta0: Array, settings: Settings) -> Bound | None:
    """Return the path of some turns of the drift whose loop costs least; None if none was found."""
    problem = Transcription(objective, loss, np.array([0.0, _TURNS * 2 * math.pi / turning(objective, loss, theta0)]))
    with np.errstate(all="ignore"):
        problem, found = deadline.ways(problem, theta0, [])
    found = [one for one in found if math.isfinite(one.action)]
    if not found:
        return None
    best = min(found, key=lambda one: one.action)
    path = replace(
        refine(problem, best, replace(settings, steps=None)), asymptote=np.full(loss.dim, np.nan),
        status=Status.NEVER_RESTS, is_minimum=None,
    )  # fmt: skip
    return Bound(_loop_rate(objective, loss, path), path)


def lowest_rest(objective: Objective, loss: Loss, theta0: Array) -> float:
    """Return the lowest cost per unit of time of standing still, over the places found; inf if there is none."""
    places = stationary.points(objective, loss, theta0)
    return float(np.min(objective.cost_rate(loss, places, np.zeros_like(places)), initial=math.inf))


def turning(objective: Objective, loss: Loss, theta0: Array) -> float:
    """Return the largest turning rate of the drift near ``theta0``; 0 where a learner cannot profit from it."""
    drift = objective.drift
    if drift is None:
        return 0.0
    if isinstance(loss, Quadratic) and isinstance(drift, Linear):
        return 0.0
    metric = objective.metric_matrix(loss.dim)
    jacobian = drift.jacobian(theta0 + np.concatenate([np.zeros((1, loss.dim)), _cloud(theta0)]))
    lowered = metric @ jacobian
    turning = np.linalg.norm(np.linalg.solve(metric, lowered - np.swapaxes(lowered, 1, 2)) / 2, axis=(1, 2))
    size = float(np.max(np.linalg.norm(jacobian, axis=(1, 2))))
    return float(np.max(turning)) / math.sqrt(2) if float(np.max(turning)) > 1e-7 * size else 0.0


def _cloud(theta0: Array) -> Array:
    size = max(1.0, float(np.max(np.abs(theta0))))
    return size * np.random.default_rng(0).uniform(-2, 2, size=(64, len(theta0)))


def _loop_rate(objective: Objective, loss: Loss, path: Trajectory) -> float:
    """Return the cost per unit of time of a loop that the path closes, or inf."""
    t = np.linspace(0.0, path.end, 64 * _TURNS + 1)
    theta = path(t)
    lowest = math.inf
    for first in (len(t) // 4, len(t) // 3, len(t) // 2):
        away = np.linalg.norm(theta[first:] - theta[first], axis=1)
        left = int(np.argmax(away > 0.5 * np.max(away)))
        back = [n for n in range(left + 1, len(away) - 1) if away[n] <= min(away[n - 1], away[n + 1])]
        back = [n for n in back if away[n] < 0.2 * np.max(away) and n >= 8]
        if not back or np.max(away) < 1e-3 * max(1.0, float(np.max(np.abs(theta)))):
            continue
        period = float(t[first + back[0]] - t[first])
        phase = np.arange(129) / 129
        nodes = path(t[first] + phase * period)
        nodes += phase[:, None] * (theta[first] - theta[first + back[0]])  # closes it
        loop = cycles.Cycle(objective, loss, 1.0, period, nodes)
        lowest = min(lowest, loop.rate)  # of an admissible loop, be it an extremal or not
        try:
            lowest = min(lowest, cycles.cycle(objective, loss, loop).rate)
        except NotConverged:
            continue
    return lowest


def checked(case: Case, solver: Callable[[Case], Trajectory], settings: Settings) -> Trajectory:
    """Return the best path that ``solver`` finds, which comes to rest, or one that never does, if that costs less."""
    objective, loss, theta0 = case.objective, case.loss, case.theta0
    if not case.rests or objective.drift is None:
        return solver(case)
    if isinstance(loss, Task):
        return _after(case, solver, settings)
    if turning(objective, loss, theta0) == 0:
        return _held(case, solver(case))
    if objective.gamma == 0:
        other = bound(objective, loss, theta0, settings)
        rest = lowest_rest(objective, loss, theta0)
        if other is None or not other.rate < rest - 1e-6 * (abs(rest) + abs(other.rate)):
            return solver(case)
        rate = 0.0 if abs(other.rate) < 1e-12 * abs(rest) else other.rate  # print no rounding errors
        return refused(other.path, f"resting costs {rest:.6g} per unit of time, going round {rate:.6g}")
    rests = stationary.search(objective, loss, theta0)
    never = endless.path(objective, loss, theta0, rests, settings)
    try:
        result = solver(case)
    except NoMinimiser:
        return never
    none = all(one.status is Status.NO_EXTREMAL for one in result.candidates)
    if none or (result.converged and never.action < result.action - never.error - 1e-6 * abs(result.action)):
        return replace(never, others=(never, *result.candidates))
    return result


def refused(path: Trajectory, why: str) -> Trajectory:
    """Return a path as what the search has to say beside one that never rests."""
    advice = "the optimum need not come to rest; give objective.horizon, or see lossnav.trajectory.cycles"
    return replace(path, status=Status.NEVER_RESTS, detail=f"{why}: {advice}")


def _after(case: Case, solver: Callable[[Case], Trajectory], settings: Settings) -> Trajectory:
    """Return the path to a rest; not converged, if after the last switch of the loss one that never rests is better."""
    assert isinstance(case.loss, Task) and case.loss.final is not None
    path = solver(case)
    if not path.converged:
        return path
    begin = path(case.loss.settled)
    if not np.all(np.isfinite(begin)):
        raise OverflowError("the path leaves the range of floating-point numbers")
    best = checked(Case(case.objective, case.loss.final, begin), solver, settings)
    if best.converged and best.at_infinity == "rests":
        return path
    return refused(path, f"from the last switch of the loss on it has J = {best.action:.6g}")


def _held(case: Case, path: Trajectory) -> Trajectory:
    """Return a path to a rest; ``converged`` False where a drift that is a gradient carries away more cheaply."""
    objective, loss = case.objective, case.loss
    none = all(one.status is Status.NO_EXTREMAL for one in path.candidates)
    if not (none or (path.converged and math.isinf(path.end) and np.all(np.isfinite(path.asymptote)))):
        return path
    free = escaping.carried(objective, loss, case.theta0)
    if not math.isfinite(free):
        return path
    unit = "" if objective.gamma > 0 else " per unit of time"
    if none:
        return escaping.refused(path, f"{free:.6g}{unit} with the drift, and no path comes to rest")
    still = np.zeros(loss.dim)
    held = path.action if objective.gamma > 0 else float(objective.cost_rate(loss, path.asymptote, still))
    if free >= held - 1e-6 * abs(held):
        return path
    return escaping.refused(path, f"{free:.6g}{unit} with the drift against {held:.6g}")
