"""``DiscountedRoot`` in Python: its state, its steps, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.trajectory import beliefs

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class DiscountedRoot(Curves):
    """The step of a discounting learner for each believed variance, between the root's and gradient descent's.

    Args:
        epsilon: ε = γ/2 with ηk = c = 1, in [0.001, 10].
        size: √V that is marked, in [0.001, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    epsilon = number_trait(_MARKS["epsilon"], 0.1)
    size = number_trait(_AXIS["range"], 0.1)

    def lines(self) -> dict[str, Array]:
        """Return the logarithms of the steps and the ratio to Adam's, over log₁₀ √V."""
        size = grid(_AXIS)
        step, adam = self._planned(size), 1 / (size + self.epsilon)
        heights = {
            "root": -np.log10(size),
            "descent": np.full_like(size, -np.log10(2 * self.epsilon)),
            "adam": np.log10(adam),
            "planned": np.log10(step),
            "ratio": step / adam,
        }
        return over(_AXIS, size, heights)

    def _planned(self, size: Array) -> Array:
        """Return the step for a unit of slope, by the model of beliefs itself."""
        return -beliefs.Beliefs(gamma=2 * self.epsilon).step(np.ones_like(size), size**2, 1.0)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        step = float(self._planned(np.array([self.size]))[0])
        return (
            "The planned step against the size of gradients, both logarithmic: level on the left, where it is "
            "gradient descent, and falling with slope −1 on the right, where the root decides. For ε = "
            f"{self.epsilon:.3f}, at the mark, it is {step * self.size:.3f} of 1/√V, {2 * self.epsilon * step:.3f} of "
            f"gradient descent's and {step * (self.size + self.epsilon):.3f} of Adam's."
        )
