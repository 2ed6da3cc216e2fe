"""What a derived rule remembers of the gradients that it has seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.rules import recipe


class State(NamedTuple):
    """What a rule remembers; never changed in place.

    Attributes:
        belief: averages of gradient and curvature (``recipe.State``).
        ruler: the average of a metric that is believed.
        slope: ṁ, shaped like θ; moved only where a belief has a trend.
    """

    belief: recipe.State
    ruler: recipe.State
    slope: Array


def checked(state: Any, shape: tuple[int, ...]) -> State:
    """Return a state of parameters of a shape, or raise."""
    given = _checks.instance("state", state, State, "a State, as init and a step return it")
    parts = (given.slope, given.belief.mean, given.belief.curvature, given.ruler.curvature)
    for part in parts:
        if np.shape(part) != shape:
            raise ValueError(
                f"state has arrays of shape {np.shape(part)}, but theta has shape {shape}: the same is needed"
            )
    return given
