"""Optimal trajectories by direct minimisation of the discretised J: any loss and drift, any metric, loss that moves.

Newton's method on a grid, refined by doubling with Richardson extrapolation; one start for each place where a path
can come to rest, the lowest J wins. Linear cost in the number of time points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from lossnav.problem.drifts import Linear
from lossnav.problem.functions.roots import exp_mean
from lossnav.problem.task import Task
from lossnav.trajectory import deadline, wandering
from lossnav.trajectory.candidates import cheapest, failed
from lossnav.trajectory.case import TIMED, Case, Settings, plain
from lossnav.trajectory.coming_to_rest import ToRests
from lossnav.trajectory.result import Method, Trajectory, final_charge
from lossnav.trajectory.stationary import MOST_UNSEEN
from lossnav.trajectory.status import Status

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_NODES, _WEIGHTS = (1 + _NODES) / 2, _WEIGHTS / 2  # Gauss's rule on [0, 1]


class Action:
    """Newton's method on the discretised J, refined until it is accurate.

    Without a deadline it looks for paths that come to rest first; these are checked against paths that never do.
    """

    name: Method = "action"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return plain(case)

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""
        return wandering.checked(case, partial(solve, settings=settings, name=self.name), settings)


class Curved:
    """The same under a metric that depends on θ, with the connection terms of Eq. 90; ``steps`` do not concern it.

    G is taken at the middles of the intervals of a mesh that follows the path.
    """

    name: Method = "curved"

    def accepts(self, case: Case) -> str:
        """Return why not: a drift without a deadline, a loss that depends on time."""
        if case.loss.timed:
            return TIMED
        if case.rests and case.objective.drift is not None:
            return "needs drift = None where a path comes to rest, or a finite objective.horizon, or an endpoint"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""
        finest = 1e-12  # what rounding leaves of a path
        return solve(case, Settings(rtol=max(settings.rtol, finest)), self.name)


class Timed:
    """The same for a ``Task``, under any metric, with nodes at the switches; ``steps`` do not concern it.

    At a switch position and momentum go on. After the last one the loss stands still, and near its rest the local value
    function says what follows.
    """

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
        """Return the best extremal; not converged, if after the last switch a path that never rests does better.

        Raises:
            ValueError: if ``case.span`` cuts an infinite time before the loss has settled.
            NoMinimiser: if there is no place to rest.
        """
        path = solve(case, Settings(rtol=settings.rtol), self.name)
        if not case.rests or case.objective.drift is None or not path.converged:
            return path
        assert isinstance(case.loss, Task) and case.loss.final is not None  # accepts has said so
        begin = path(case.loss.settled)
        if not np.all(np.isfinite(begin)):
            raise OverflowError("the path leaves the range of floating-point numbers")
        after = Case(case.objective, case.loss.final, begin)
        if not wandering.contested(after):
            return path
        remainder = wandering.checked(after, partial(solve, settings=Settings(), name=self.name))
        return path if remainder.converged else replace(path, status=remainder.status, detail=remainder.detail)


def solve(case: Case, settings: Settings, name: Method) -> Trajectory:
    """Return the best extremal, with all that were compared as ``candidates``, as what the solver ``name`` has found.

    ``span`` without an endpoint is where the numerics hand over to the quadratic model of the end.
    """
    attempts = ToRests(case, settings).paths() if case.rests else deadline.from_case(case, settings)
    return judged(case, attempts, name)


def judged(case: Case, attempts: Iterator[Trajectory], name: Method) -> Trajectory:
    """Return the best of some extremals; not converged where a cheaper one has not, or the search was incomplete."""
    best = cheapest(case, _inside(attempts), name)
    if best.converged:
        paths = [path for path in best.candidates if path.action < best.action]
        least = min(map(_paid, paths), default=math.inf)
        if best.action - least > 1e-6 * (abs(best.action) + abs(least)):
            detail = f"it has J = {least:.9g}, the best that did {best.action:.9g}; try more steps"
            best = failed(best, Status.CHEAPER_UNSOLVED, detail)
    if best.converged and best.unseen > MOST_UNSEEN:
        advice = "start nearer to the minimum that is meant, or give a horizon"
        best = failed(
            best, Status.SEARCH_INCOMPLETE, f"{best.unseen:.0%} of more descents would find new ones; {advice}"
        )
    return best


def _paid(path: Trajectory) -> float:
    """Return what a path costs that has not converged, of which its discretised J says nothing where steps are coarse.

    It is the path between its nodes, by quadrature, and what a deadline charges or standing for ever at the last node:
    no optimum costs more.
    """
    objective, times, gamma = path.objective, path.times, path.objective.gamma
    if not math.isfinite(path.action) or (gamma == 0 and math.isinf(path.end)):
        return path.action if math.isfinite(path.action) else math.inf
    # In the discount that passes, so that steps may be long beside 1/γ.
    begun, dt = times[:-1, None], np.diff(times)[:, None]
    since = -np.log1p(_NODES * np.expm1(-gamma * dt)) / gamma if gamma > 0 else _NODES * dt
    t = (begun + since).ravel()
    weights = (np.exp(-gamma * begun) * dt * exp_mean(gamma * dt) * _WEIGHTS).ravel()
    last, loss_at_end = path.position(times[-1:]), path.loss.at(np.nextafter(times[-1], 0.0))
    rates = path.kinetic(t) + path.potential(t)
    if math.isfinite(path.end):
        after = final_charge(objective, float(loss_at_end.value(last)[0]))
    else:
        after = math.exp(-gamma * times[-1]) / gamma * objective.cost_rate(loss_at_end, last, 0 * last)[0]
    paid = float(weights @ rates + after)
    return paid if math.isfinite(paid) else math.inf


def _inside(paths: Iterator[Trajectory]) -> Iterator[Trajectory]:
    """Yield the paths, not converged where one leaves the domain of the metric: Newton's method may have passed it."""
    for path in paths:
        if path.converged and path.objective.curved:
            try:
                path.objective.metric_at(path.position(path.times))
            except ValueError as error:
                path = replace(path, status=Status.LEFT_DOMAIN, detail=str(error))
        yield path
