"""``NoisyValley`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_HOLD: float = _SHARED["hold"]


class NoisyValley(Explorable):
    """A valley of the loss, noise with a direction, and what comes of it: another landscape, and a current (K26–K44).

    At a point that can be dragged, the drift −∇Φ is drawn with its two parts: down the modified loss Ψ, whose level set
    the density shows, and round along it. Noise along the valley or across it leaves no current.

    Args:
        start: the point, two numbers in [−1.6, 1.6].
        angle: of the strong axis of the noise, degrees in [−90, 90].
        ratio: of strong to weak diffusion, in [1, 16]; the determinant stays 1.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((0.5, -0.8), _HOLD)
    angle = number_trait(_SHARED["marks"]["angle"], 0.0)
    ratio = number_trait(_SHARED["marks"]["ratio"], 4.0)
