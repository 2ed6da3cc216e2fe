r"""Does a path that never rests do better? Admissible paths under a drift, as upper bounds.

Where f is a gradient, no closed orbit can pay: the drift has no circulation, but it can carry a learner away for good,
as a current does that is the same everywhere, or to a rest farther out than anybody has looked. Where it is none, an
orbit can cost less than any place to rest (see ``cycles``), and a solver that only looks for such places would return
the second best without a word. What is computed here is an upper bound: the cost of a path that was found with a long
deadline and then, if γ > 0, stands still for ever or lets the drift carry it; if γ = 0, the cost per unit of time of
one of its loops, passed again and again, or of what a later deadline adds; or what it costs to let go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.functions.roots import FADED
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import cycles, late, stationary
from lossnav.trajectory.candidates import runs_away
from lossnav.trajectory.case import Case, Settings
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.status import Status

_TURNS = 6  # how long the deadline is, in turns of the drift: some to get on a loop, some to see it close
_FORGOTTEN = 16.0  # e-folds of a discount after which standing still costs next to nothing
_CLEAR = 1e-6  # of two costs, the share by which one is the lower
_NEAR = 0.1  # a rest at which a learner has arrived, in natural units
_ROUGH = Settings(rtol=1e-4)  # of a path that is an upper bound only


@dataclass(frozen=True, eq=False)
class Bound:
    """The cost of an admissible path.

    Attributes:
        cost: J of the path (γ > 0), or the cost per unit of time of a loop of it (γ = 0; inf if it closes none).
        margin: what discretisation may change in ``cost``.
        path: the path up to the deadline, of status ``NEVER_RESTS``.
    """

    cost: float
    margin: float
    path: Trajectory


def bound(objective: Objective, loss: Loss, theta0: Array) -> Bound | None:
    """Return the cheapest path found from ``theta0``; None where rest is all there is, or nothing was found.

    None without drift, with a drift that neither turns nor carries away at sampled places, with a deadline, and for a
    quadratic loss with an affine drift, where the Riccati equation says all.
    """
    wild = _wildness(objective, loss, theta0)
    # Long enough for some turns, or to get far along, and no longer than the discount leaves anything to pay.
    pace = wild.turn or (wild.along if objective.gamma == 0 else 0.0)
    spans = [_TURNS * 2 * math.pi / pace] if pace > 0 else []
    if objective.gamma > 0:
        spans.append(_FORGOTTEN / objective.gamma)
    if not (wild and spans) or math.isfinite(objective.horizon):
        return None
    horizon = min(spans)

    def dated(span: float) -> Trajectory:
        return late.dated(objective, loss, theta0, span, theta0[None][:0], _ROUGH)

    try:
        path = dated(horizon)
        later = dated(2 * horizon) if objective.gamma == 0 and wild.turn == 0.0 else None
    except NoMinimiser:
        return None
    unresting = replace(path, asymptote=np.full(loss.dim, np.nan), status=Status.NEVER_RESTS, is_minimum=None)
    if later is not None:  # who goes along with the drift closes no loop
        return Bound((later.action - path.action) / horizon, (path.error + later.error) / horizon, unresting)
    if objective.gamma == 0:
        rate = _loop_rate(objective, loss, unresting)
        return Bound(rate, 1e-6 * abs(rate) if math.isfinite(rate) else 0.0, unresting)
    cost = late.held(objective, loss, path)
    if cost > path.action:  # standing still need not be the cheapest way to go on: the drift may go round
        carried = _carried(objective, loss, path([horizon])[0])
        cost = min(cost, path.action + math.exp(-objective.gamma * horizon) * carried)
    return Bound(cost, path.error, replace(unresting, action=cost))


def lowest_rest(objective: Objective, loss: Loss, theta0: Array) -> float:
    """Return the lowest cost per unit of time of standing still, over the places found; inf if there is none."""
    places = stationary.points(objective, loss, theta0)
    return float(np.min(objective.cost_rate(loss, places, np.zeros_like(places)), initial=math.inf))


@dataclass(frozen=True)
class _Wild:
    """How fast a drift turns, how fast it draws apart, and how fast it carries along where it does neither."""

    turn: float = 0.0
    apart: float = 0.0
    along: float = 0.0

    def __bool__(self) -> bool:
        return max(self.turn, self.apart, self.along) > 0.0


def _wildness(objective: Objective, loss: Loss, theta0: Array) -> _Wild:
    """Return what the drift does near ``theta0``; zeros where nobody can profit."""
    drift = objective.drift
    if drift is None or (isinstance(loss, Quadratic) and isinstance(drift, Linear)):
        return _Wild()
    metric, extent = objective.metric_matrix(loss.dim), max(1.0, float(np.max(np.abs(theta0))))
    around = extent * np.random.default_rng(0).uniform(-2, 2, size=(64, loss.dim))
    places = theta0 + np.concatenate([np.zeros((1, loss.dim)), around])
    # The parts of its Jacobian that turn and that stretch, in the metric, at sampled places.
    jacobian = drift.jacobian(places)
    adjoint = np.linalg.solve(metric, np.swapaxes(metric @ jacobian, 1, 2))
    apart = float(np.max(np.linalg.eigvals((jacobian + adjoint) / 2).real))
    turn = float(np.max(np.linalg.norm((jacobian - adjoint) / 2, axis=(1, 2)))) / math.sqrt(2)
    along = float(np.max(np.linalg.norm(drift(places), axis=-1))) / extent
    rounding = 1e-7 * (float(np.max(np.linalg.norm(jacobian, axis=(1, 2)))) + along)
    if turn > rounding or abs(apart) > rounding:
        return _Wild(turn if turn > rounding else 0.0, apart if apart > rounding else 0.0)
    return _Wild(along=along)


def _loop_rate(objective: Objective, loss: Loss, path: Trajectory) -> float:
    """Return the cost per unit of time of a loop that the path closes, or inf."""
    t = np.linspace(0.0, path.end, 64 * _TURNS + 1)
    theta = path(t)
    lowest = math.inf
    for first in (len(t) // 4, len(t) // 3, len(t) // 2):
        away = np.linalg.norm(theta[first:] - theta[first], axis=1)
        left = int(np.argmax(away > 0.5 * np.max(away)))
        # It has been away, and where it comes back closest it closes a loop.
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


def contested(case: Case) -> bool:
    """Return whether a path that never rests comes into question: where the drift turns, or carries away."""
    return bool(_wildness(case.objective, case.loss, case.theta0))


def checked(case: Case, solver: Callable[[Case], Trajectory], settings: Settings | None = None) -> Trajectory:
    """Return what ``solver`` finds among paths that come to rest, or a path that never does where that costs less.

    That one is not converged if γ = 0, where its J is infinite, and without ``settings``, the accuracy that J is to
    have.
    """
    objective, loss, theta0 = case.objective, case.loss, case.theta0
    # Without a rival, what comes to rest is the answer.
    rival = bound(objective, loss, theta0) if case.rests else None
    if rival is None or not math.isfinite(rival.cost):
        return _held(case, solver(case))
    if objective.gamma == 0:
        rest = lowest_rest(objective, loss, theta0)
        if rival.cost < rest - rival.margin - 1e-7 * abs(rest):
            onward = 0.0 if abs(rival.cost) < 1e-12 * abs(rest) else rival.cost  # print no rounding errors
            return _refused(rival, f"resting costs {rest:.6g} per unit of time, going on {onward:.6g}")
        return solver(case)
    # With a discount both have a J: the rival wins where it is below by more than its margin, and is then solved in
    # full.
    compared: tuple[Trajectory, ...] = ()
    most = rival.cost + rival.margin
    try:
        result = solver(case)
    except NoMinimiser:
        why = f"no place to rest was found, and there is a path with J <= {rival.cost:.6g}"
    else:
        compared = result.candidates
        if all(candidate.status is Status.NO_EXTREMAL for candidate in compared):
            why = f"{result.reason}, and there is a path with J <= {rival.cost:.6g}"
        elif result.converged and rival.cost < result.action - rival.margin - _CLEAR * abs(result.action):
            why = f"the best path to a rest has J = {result.action:.6g}, another J <= {rival.cost:.6g}"
        elif result.converged and (gain := _gained_by_leaving(case, result, solver)):
            why = f"the best path to a rest has J = {result.action:.6g}, and to leave there again saves {gain:.2g}"
            most = min(most, result.action - gain / 2)
        else:
            return _held(case, result)
    unresting = None if settings is None else _unresting(case, compared, settings)
    known = Status.CONVERGED, Status.DEADLINE_TOO_EARLY  # the second says how well
    if unresting is not None and unresting.status in known and unresting.action <= most:
        return replace(unresting, others=(unresting, *compared))
    return _refused(rival, why)


def _gained_by_leaving(case: Case, path: Trajectory, solver: Callable[[Case], Trajectory]) -> float:
    """Return what J loses if the learner, where a path rests, goes on to another rest; 0 if it is better to stay.

    Of an optimum each part is optimal (Bellman). Along a current over many wells a search finds the nearest.
    """
    rest, gamma, loss = path.asymptote, case.objective.gamma, case.loss.at(math.inf)
    if not np.all(np.isfinite(rest)):
        return 0.0
    away = np.max(np.abs(path(path.times) - rest), axis=1) > _NEAR
    weight = math.exp(-gamma * float(np.max(path.times[away], initial=0.0)))
    if weight < 0.1 * _CLEAR:  # it arrives when all is paid
        return 0.0
    staying = float(case.objective.cost_rate(loss, rest, np.zeros_like(rest))) / gamma
    solved = Status.CONVERGED, Status.CHEAPER_UNSOLVED
    onward = [other.action for other in solver(replace(case, theta0=rest)).candidates if other.status in solved]
    gain = weight * (staying - min(onward, default=math.inf))
    return gain if gain > _CLEAR * (abs(path.action) + abs(staying)) else 0.0


def _unresting(case: Case, compared: tuple[Trajectory, ...], settings: Settings) -> Trajectory | None:
    """Return the path of a late deadline, which may go by where others rest; None if J falls with each later one."""
    places = [path.asymptote for path in compared if np.all(np.isfinite(path.asymptote))]
    rests = Rests(np.array(places).reshape(-1, case.loss.dim), np.empty((0, case.loss.dim)), 0, True)
    try:
        return late.path(case.objective, case.loss, case.theta0, rests, settings)
    except NoMinimiser:
        return None


def _held(case: Case, path: Trajectory) -> Trajectory:
    """Return a path to a rest; ``converged`` False where a drift that is a gradient carries away more cheaply."""
    objective, loss = case.objective, case.loss
    if not (case.rests and path.converged and math.isinf(path.end) and np.all(np.isfinite(path.asymptote))):
        return path
    free_cost = _carried(objective, loss, case.theta0)
    if not math.isfinite(free_cost):
        return path
    zero_velocity = np.zeros(loss.dim)
    held_cost = path.action if objective.gamma > 0 else float(objective.cost_rate(loss, path.asymptote, zero_velocity))
    if free_cost >= held_cost - _CLEAR * abs(held_cost):
        return path
    unit = "" if objective.gamma > 0 else " per unit of time"
    return runs_away(path, f"{free_cost:.6g}{unit} with the drift against {held_cost:.6g}")


def _carried(objective: Objective, loss: Loss, theta0: Array) -> float:
    """Return what it costs to go with a drift for ever: J for γ > 0, else per unit of time.

    Infinity where the loss neither settles on the way nor is forgotten, so that nothing is known of the rest of time,
    or turns too often for that to be seen; and where the drift carries nobody away.
    """
    drift, gamma = objective.drift, objective.gamma
    wild = _wildness(objective, loss, theta0)
    away = wild.apart or wild.along
    if drift is None or away == 0.0:
        return math.inf

    def rates(t: float, state: Array) -> Array:
        place = state[:-1]
        return np.append(drift(place), math.exp(-gamma * t) * objective.k * float(loss.value(place)))

    # Who is drawn away soon has settled, and would leave the range of numbers; who goes round is forgotten in the end.
    for span in sorted([60 / away] + ([FADED / gamma] if gamma > 0 else [])):
        times = np.linspace(0, span, 4001)
        if wild.turn * times[1] > math.pi:
            return math.inf
        with np.errstate(all="ignore"):
            run = scipy.integrate.solve_ivp(
                rates, times[[0, -1]], np.append(theta0, 0.0), "LSODA", times, rtol=1e-8, atol=1e-10
            )
            rate = objective.k * np.asarray(loss.value(run.y[:-1].T))
        if not (run.success and np.all(np.isfinite(rate))):
            return math.inf
        tail = rate[-1000:]
        settled = np.ptp(tail) <= 1e-3 * (abs(float(tail[-1])) + float(np.ptp(rate)))
        if settled and gamma == 0:
            return float(tail[-1])
        if settled or gamma * span >= FADED:
            return float(run.y[-1, -1] + math.exp(-gamma * span) * float(np.max(tail)) / gamma)
    return math.inf


def _refused(rival: Bound, why: str) -> Trajectory:
    advice = "the optimum need not come to rest; give objective.horizon, or see lossnav.trajectory.cycles"
    return replace(rival.path, detail=f"{why}: {advice}")
