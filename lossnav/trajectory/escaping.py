"""Does a path that runs away for ever do better? Costs of paths that follow the loss, or a drift, without an end.

A loss may sink towards a low value at infinity, and a drift that is a gradient may carry a learner away for good. The
solvers aim at places of rest; where one of the paths below costs less than the best of those, they say so.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import newton
from lossnav.trajectory.nodal import nodes_of, trajectory_of
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_ADVICE = "the optimum need not come to rest; give objective.horizon, or a loss that grows far out"


def downhill(objective: Objective, loss: Loss, theta0: Array, lost: Array, lowest: float) -> Trajectory | None:
    """Return the path to the lowest of the points from which the loss only falls farther, of status ``RUNS_AWAY``.

    Its ``action`` is a bound from above for γ > 0: it stands still where it has got by a late deadline. For γ = 0 it is
    one if the loss there is ``lowest``, that of the rests, up to rounding; else there is no path, for J is infinite.
    """
    heights = np.asarray(loss.value(lost))
    far, least = lost[int(np.argmin(heights))], float(np.min(heights))
    slack = least - lowest
    if objective.gamma == 0 and slack > 1e-9 * max(abs(lowest), float(loss.value(theta0)) - lowest):
        return None
    line = theta0 + np.linspace(0, 1, 401)[:, None] * (far - theta0)
    excess = np.maximum(np.asarray(loss.value(line)) - min(lowest, least), 0.0)
    price = math.sqrt(float((far - theta0) @ objective.metric_matrix(loss.dim) @ (far - theta0)))
    length = math.sqrt(2 * objective.k / objective.eta) * price * float(np.trapezoid(np.sqrt(excess), dx=1 / 400))
    pace = np.sqrt(2 * objective.eta * objective.k * np.maximum(excess, 1e-6 * float(np.max(excess)))) / price
    arrival = np.concatenate([[0.0], np.cumsum(1 / pace[:-1] / 400)])
    horizon = 12 / objective.gamma if objective.gamma > 0 else float(arrival[-1])
    problem = Transcription(objective, loss, horizon, 1024, level=lowest if objective.gamma == 0 else 0.0)
    guess = np.stack([np.interp(problem.times, arrival, column) for column in line.T], axis=1)
    with np.errstate(all="ignore"):
        found = newton.minimise(problem, guess, limit=40)
    path = trajectory_of(problem, found, nodes_of(problem, found))
    rest = float(loss.value(found.path[-1]))
    cost = length
    if objective.gamma > 0:
        cost = path.action + math.exp(-objective.gamma * horizon) * objective.k * rest / objective.gamma
    nowhere = np.full(loss.dim, np.nan)
    return replace(path, action=cost, asymptote=nowhere, status=Status.RUNS_AWAY, is_minimum=None)


def carried(objective: Objective, loss: Loss, theta0: Array) -> float:
    """Return what it costs to go with a drift that is a gradient: J for γ > 0, else per unit of time.

    Infinity where the loss does not settle on the way, so that nothing is known of the rest of time. Only a drift that
    grows somewhere near θ₀ is asked, and none that is affine on a quadratic loss.
    """
    drift, gamma = objective.drift, objective.gamma
    if drift is None or (isinstance(loss, Quadratic) and isinstance(drift, Linear)):
        return math.inf
    here = drift.jacobian(theta0)
    fastest = float(np.max(np.linalg.eigvalsh((here + here.T) / 2)))
    if fastest <= 0:
        return math.inf
    horizon = min(40 / gamma if gamma > 0 else math.inf, 60 / fastest)
    with np.errstate(all="ignore"):
        times = np.linspace(0, horizon, 4001)
        run = scipy.integrate.solve_ivp(
            lambda _, x: drift(x), (0.0, horizon), theta0, "LSODA", times, rtol=1e-8, atol=1e-10
        )
        if not run.success or not np.all(np.isfinite(run.y)):
            return math.inf
        rate = objective.k * np.asarray(loss.value(run.y.T))
    if not np.all(np.isfinite(rate)):
        return math.inf
    late = rate[-1000:]
    still_changing = np.ptp(late) > 1e-3 * (abs(float(late[-1])) + float(np.ptp(rate)))
    if still_changing:  # nothing is known of the rest
        return math.inf
    if gamma == 0:
        return float(late[-1])
    paid = float(np.trapezoid(np.exp(-gamma * times) * rate, times))
    return paid + math.exp(-gamma * horizon) * float(np.max(late)) / gamma


def refused(path: Trajectory, why: str) -> Trajectory:
    """Return a path to a rest as what it is beside a cheaper one: not converged, with the reason."""
    best = replace(path, status=Status.RUNS_AWAY, detail=f"{why}: {_ADVICE}", others=())
    return replace(best, others=(best, *path.candidates[1:]))
