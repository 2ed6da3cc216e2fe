"""``ModeMemory`` in Python: its state, its distances, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._picture import signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ModeMemory(Curves):
    """The mean squared distance of one mode of SGD after n steps, beside that of a flat direction.

    Args:
        bend: ηh, step times curvature, in [0.0001, 1].
        beta: momentum β, in [0, 0.99].
        n: number of steps that is marked, 2 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    bend = number_trait(_MARKS["bend"], 0.01)
    beta = number_trait(_MARKS["beta"], 0.9)
    n = whole_trait(_AXIS["range"], 30)

    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the distances over that of one step, and of what they cannot exceed, over log₁₀ n."""
        n = grid(_AXIS)
        (law,) = sgd.stationary([self.bend], eta=1.0, beta=self.beta, batch=1, gradient_variance=[1.0], form="discrete")
        top = np.log10(2 * law[0, 0] / self._far(self.bend, np.ones(1)))
        heights = {
            "flat": np.log10(self._far(0.0, n) / self._far(0.0, np.ones(1))),
            "mode": np.log10(self._far(self.bend, n) / self._far(self.bend, np.ones(1))),
            "ceiling": np.broadcast_to(top, n.shape),
        }
        return over(_AXIS, n, heights)

    def _far(self, bend: float, n: Array) -> Array:
        return sgd.displacement(
            [bend], n, eta=1.0, beta=self.beta, batch=1, gradient_variance=[1.0], form="discrete"
        )  # fmt: skip

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        ends = self.n + np.array([-1, 1])
        far = float(self._far(self.bend, np.array([self.n]))[0] / self._far(self.bend, np.ones(1))[0])
        c = sgd.exponent(ends, self._far(self.bend, ends))
        return (
            "The squared distance against the number of steps, both logarithmic: this mode leaves the line of a flat "
            f"direction and levels off. After {self.n} steps it is {far:.2f} times that of one, and the exponent "
            f"there is {signed(c, 2)}."
        )
