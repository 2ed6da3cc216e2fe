"""``TaskSwitch`` in Python: its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import traitlets

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, number_within

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_MOST_SWITCHES: int = _SHARED["switches"]
_LONGEST: float = _SHARED["longest"]  # units of 1/r from a switch to the last time


def _switches(name: str, switches: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    found: list[tuple[float, float, float]] = []
    for entry in _checks.sequence(name, switches, "triples (time, curvature, minimum)"):
        if len(_checks.sequence(f"an entry of {name}", entry, "three numbers")) != 3:
            text = f"{name} has an entry {_checks.shown(entry)}, but each must be (time, curvature, minimum)"
            raise ValueError(text)
        last = found[-1][0] if found else 0.0
        time = _checks.finite(f"{name}[i][0]", entry[0], low=last, high=last + _LONGEST)
        curvature = number_within(f"{name}[i][1]", entry[1], _MARKS["curvature"])
        found.append((time, curvature, number_within(f"{name}[i][2]", entry[2], _MARKS["minimum"])))
    if len(found) > _MOST_SWITCHES:
        raise ValueError(f"{name} has {len(found)} entries, but at most {_MOST_SWITCHES} are allowed")
    return found


class TaskSwitch(Explorable):
    """A weight with mean μ and variance v whose quadratic task switches, as a surprise (Eqs. 15, 16, 149), η = k = 1.

    The learner rests in a first task (H = 1, minimum 0). Drag the next task's minimum, bend its bowl, and press Switch;
    move γ and λ_S. Time is in units of 1/r, r = √(γ²/4+λ_S) − γ/2, the rate at which a plan comes to rest.

    Args:
        gamma: γ, in [0, 10].
        entropy: λ_S, in [0.2, 2].
        curvature: H of the next task, in [0.25, 4].
        minimum: a of the next task, in [−3, 3].
        switches: switches up to now, (time, H, a) in order of time, from time 0 on; at most 8.
        now: running time, from the last switch (or 0) to 13 units later.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    entropy = number_trait(_MARKS["entropy"], 0.8)
    curvature = number_trait(_MARKS["curvature"], 0.5)
    minimum = number_trait(_MARKS["minimum"], 2.0)
    switches = traitlets.List(traitlets.Tuple(*[traitlets.Float() for _ in range(3)])).tag(sync=True, check=_switches)
    now = traitlets.Float(0.0, min=0.0).tag(sync=True, check=partial(_checks.finite, low=0.0))

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        state = super()._checked(given)
        last = state["switches"][-1][0] if state["switches"] else 0.0
        _checks.finite("now", state["now"], low=last, high=last + _LONGEST)
        return state
