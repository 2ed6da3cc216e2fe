"""``Deadline`` in Python: its state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import traitlets

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_COSINE = tuple(_SHARED["presets"]["cosine"])


def _rates(name: str, value: Sequence[float]) -> tuple[float, ...]:
    rates = _checks.nonnegatives(name, value, shape=(len(_COSINE),))
    if np.any(rates > 1):
        raise ValueError(f"{name} = {_checks.shown(value)}, but its entries must be in [0, 1]")
    return tuple(map(float, rates))


class Deadline(Explorable):
    """The optimal rates of three curvatures up to a deadline, and the loss weight that a drawn schedule asks for.

    Args:
        span: T, the time to the deadline, in [1, 10]; η = k = 1.
        gamma: discount rate γ, in [0, 4].
        charge: c, what the loss at the deadline is charged, in [0, 4].
        drawn: a schedule: 7 rates in [0, 1] at equal distances in time, joined by straight lines.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    span = number_trait(_MARKS["span"], 6.0)
    gamma = number_trait(_MARKS["gamma"], 0.5)
    charge = number_trait(_MARKS["charge"], 0.0)
    drawn = traitlets.Tuple(*[traitlets.Float(min=0.0, max=1.0)] * len(_COSINE), default_value=_COSINE).tag(
        sync=True, check=_rates
    )
