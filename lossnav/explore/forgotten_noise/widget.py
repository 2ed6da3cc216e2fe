"""``ForgottenNoise`` in Python: its state."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ForgottenNoise(Explorable):
    """The schedule that a noise kernel κ ∝ u^−q asks for (L8), beside that of a deadline, tanh ωs over tanh ωT (L2).

    Both have the same sum of rates, and so forget their start alike; what they differ in is the noise at the end.

    Args:
        power: q, in [0, 1.4]; the best rate is (1 − z)^(q/(2 − q)).
        stiffness: ωT of the deadline, in [0.2, 50].
        share: share of the steps z that is marked, in [0, 0.99].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(ForgottenNoise(power=1.0, stiffness=0.2).noise(), 3)  # tanh is nearly a line
        1.0
    """

    power = number_trait(_MARKS["power"], 1.0)
    stiffness = number_trait(_MARKS["stiffness"], 5.0)
    share = number_trait(_AXIS["range"], 0.5)

    def noise(self) -> float:
        """Return the noise that the deadline's whole schedule leaves, over the least."""
        found, _ = quad(lambda v: 5 * v**4 * float(self._left(np.array(v**5))), 0.0, 1.0)  # finer at the end
        return float(found)
