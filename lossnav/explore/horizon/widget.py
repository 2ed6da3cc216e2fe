"""``Horizon`` in Python: its state."""

from __future__ import annotations

import math
from typing import Any

import traitlets

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_HOLD: float = _SHARED["hold"]  # farthest start
_SHORTEST: float = _SHARED["shortest"]  # Δt


def _to_json(value: float, _: Any) -> float | None:
    return None if math.isinf(value) else value  # JSON has no ∞


def _from_json(value: float | None, _: Any) -> float:
    return math.inf if value is None else float(value)


def _duration(name: str, value: float) -> float:
    if _checks.duration(name, value) < _SHORTEST:
        raise ValueError(f"{name} = {value!r}, but it must be in [{_SHORTEST}, inf]")
    return float(value)


class Horizon(Explorable):
    """The optimal step on a quadratic bowl beside Newton's, gradient descent's and the ballistic one (Eqs. 6, 7).

    h = (1/9, 1), minimum at the origin, η = k = 1 (Fig. 2c, d). Drag the start or the step; move γ and Δt. A map of the
    two groups γ²/(4ηkh) and rΔt shows for each eigendirection which limit holds to 10 %.

    Args:
        start: θ(0), two numbers in [−3.8, 3.8].
        gamma: γ, in [0, 10].
        dt: Δt, in [0.01, inf].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((-3.0, -3.0), _HOLD)
    gamma = number_trait(_SHARED["gamma"], 1.0)
    dt = traitlets.Float(1.0, min=_SHORTEST).tag(sync=True, check=_duration, to_json=_to_json, from_json=_from_json)
