"""Ways through a loss that changes: from rest to rest of the landscapes that it has on its way.

Which wells a learner waits in, one after the other, Newton's method does not change: it has to be told. A beam search
goes through the stretches between the switches: what is known of the ways so far is their cost if they end there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.problem.task import Phases, Task
from lossnav.trajectory import stationary
from lossnav.trajectory.transcription import Transcription

_KEPT = 8  # ways that are followed from stretch to stretch
_CROSSINGS = (1.0, 4.0)  # how long it takes to a place: in natural units the loss acts within a time of order one
_LOOKS = (0.0, 0.5, 1.0)  # where in a stretch a loss that moves all the time is looked at


class Stretch(NamedTuple):
    """When a stretch begins and ends, its places of rest, shape (M, D), and whether its loss curves downwards there."""

    begin: float
    stop: float
    places: Array
    bent: bool


def stretches(objective: Objective, loss: Loss, theta0: Array, end: float) -> list[Stretch]:
    """Return the stretches of a loss until ``end``: those between the switches of a task, else one.

    Where a learner may wait is looked for without its deadline, and under G(θ) by the loss alone.
    """
    free = replace(objective, horizon=math.inf)
    free = replace(free, metric=None, drift=None) if objective.curved else free
    switches = loss.switches if isinstance(loss, Task) else ()
    found = []
    for begin, stop in itertools.pairwise([0.0, *(switch for switch in switches if switch < end), end]):
        moving = isinstance(loss, Task) and not isinstance(loss, Phases) and begin != loss.settled
        looks = _LOOKS if moving else _LOOKS[:1]
        rests = [stationary.search(free, loss.at(begin + share * (stop - begin)), theta0) for share in looks]
        points, bent = np.concatenate([rest.points for rest in rests]), any(rest.bent for rest in rests)
        found.append(Stretch(begin, stop, points, bent))
    return found


def ways(problem: Transcription, theta0: Array, between: list[Stretch]) -> list[Array]:
    """Return the knots (time, place) of the ways by the rests of some stretches that cost least, (K, 1 + D) each.

    None of a loss that stays as it is, and where none was seen to curve downwards.
    """
    if not (problem.loss.timed and any(stretch.bent for stretch in between)):
        return []
    kept = [np.array([[0.0, *theta0]])]
    for begin, stop, places, _ in between:
        longer = []
        for way in kept:
            stay = np.array([stop, *way[-1, 1:]])
            longer.append([np.vstack([way, stay])])
            leave = np.array([begin, *way[-1, 1:]])
            for place in places:
                arrivals = {begin + min(time, (stop - begin) / 2) for time in _CROSSINGS}
                longer.append([np.vstack([way, leave, [[t, *place], [stop, *place]]]) for t in sorted(arrivals)])
        paid = [costs(problem, np.array([walked(way, problem.times) for way in alike])) for alike in longer]
        order = sorted(range(len(longer)), key=lambda i: float(np.min(paid[i])))
        kept = [longer[i][int(np.argmin(paid[i]))] for i in order[:_KEPT]]
    return kept


def walked(way: Array, times: Array) -> Array:
    """Return where a way with these knots is at some times, shape (T, D): in the end it stays."""
    return np.stack([np.interp(times, way[:, 0], column) for column in way.T[1:]], axis=1)


def costs(problem: Transcription, paths: Array) -> Array:
    """Return J of paths on the nodes of a problem, (K, N+1, D), shape (K,): infinite where it is none."""
    return np.nan_to_num(np.asarray(problem.action(problem.admitted(paths))), nan=math.inf)
