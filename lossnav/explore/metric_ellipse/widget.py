"""``MetricEllipse`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_HOLD: float = _SHARED["hold"]  # farthest start


class MetricEllipse(Explorable):
    """A bowl with a metric: the optimal path beside natural gradient, ballistic and Newton's step (Eqs. 8–10).

    L = ½θᵀHθ, H = diag(1/4, 2), η = k = 1. The metric G has det G = 1; its unit ellipse {v: vᵀGv = 1} is drawn at the
    start: velocities of one price. Drag its end, or the start; move its angle and axis ratio, and the discount rate γ.

    Args:
        start: θ(0), two numbers in [−2.6, 2.6].
        angle: from the θ₁ axis to the ellipse's long axis, in degrees, in [−90, 90].
        ratio: of the ellipse's axes, long to short, in [1, 8].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((1.3, 1.8), _HOLD)
    angle = number_trait(_MARKS["angle"], -30.0)
    ratio = number_trait(_MARKS["ratio"], 3.0)
    gamma = number_trait(_MARKS["gamma"], 1.0)
