"""``NoisyOscillator`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_HOLD: float = _SHARED["hold"]


class NoisyOscillator(Explorable):
    """One mode of SGD with momentum in its phase plane: the mean, 300 noisy steps, and the stationary laws.

    Positions to the right, velocities upwards in units of ω, in which the continuous law is a circle. The noise of a
    gradient has the variance 0.2·ρ. Drag the start; move η, β and ρ through the regimes of damping, and beyond.

    Args:
        start: θ − μ and v/ω at the start, two numbers in [−1.8, 1.8].
        eta: learning rate, in [0.001, 1].
        beta: momentum, in [0, 0.99].
        rho: curvature, in [0.1, 10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((1.6, 0.0), _HOLD)
    eta = number_trait(_SHARED["eta"], 0.03)
    beta = number_trait(_SHARED["beta"], 0.95)
    rho = number_trait(_SHARED["rho"], 1.0)
