"""``Race`` in Python: its state."""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, number_within, point_trait

_SHARED = constants(__file__)
_MARKS, _RACE, _DUG = _SHARED["marks"], _SHARED["race"], _SHARED["dug"]
_EDGE = _SHARED["starts"]
_UNTIL: float = _RACE["step"] * _RACE["steps"]


def _dent(name: str, value: Sequence[float]) -> tuple[float, float]:
    place, depth = map(float, _checks.array(name, value, shape=(2,)))
    ends = (-_DUG["place"], _DUG["place"])
    return number_within(f"{name}[0]", place, ends), number_within(f"{name}[1]", depth, _DUG["depth"])


class Race(Explorable):
    """Gradient descent, heavy ball, Adam and the planner from one start, and the planner from all sides (Fig. 1).

    L = (θ₁²−1)² + θ₂² + dθ₁ with η = k = 1. One step of a rule, with the rate 0.02, counts as 0.02 units of time.

    Args:
        start: θ(0), in [−1.6, 1.6] × [−1, 1].
        gamma: γ, in [0.05, 10]; it changes the planner alone.
        tilt: d, in [−1.2, 1.2]; the deep well is on the right for d < 0.
        now: time of the race, in [0, 5].
        dug: (u, h): −h·exp(−(θ₁−u)²/2w²), w = 0.25, is added to L: a well for h > 0, a hill for h < 0. u is in
            [−1.4, 1.4], h in [−0.8, 1.5].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((-1.2, 0.8), _EDGE["x"], _EDGE["y"])
    gamma = number_trait(_MARKS["gamma"], 0.3)
    tilt = number_trait(_MARKS["tilt"], -0.5)
    now = number_trait((0.0, _UNTIL), 0.0)
    dug = traitlets.Tuple(
        traitlets.Float(min=-_DUG["place"], max=_DUG["place"]),
        traitlets.Float(min=_DUG["depth"][0], max=_DUG["depth"][1]),
        default_value=(0.0, 0.0),
    ).tag(sync=True, check=_dent)
