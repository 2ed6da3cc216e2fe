"""``FilterGains`` in Python: its state, both weights, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait, whole_trait
from lossnav.trajectory import beliefs

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FilterGains(Curves):
    """The weight of the n-th datum: Adam's bias correction beside the exact filter of a random walk.

    Args:
        beta: β, in [0.5, 0.999].
        n: number of data, 1 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(float(FilterGains(beta=0.9).lines()["ratio"][:, 1].max()), 2)
        1.19
    """

    beta = number_trait(_MARKS["beta"], 0.99)
    n = whole_trait(_AXIS["range"], 60)

    def lines(self) -> dict[str, Array]:
        """Return the logarithms of both weights and their ratio, over log₁₀ n."""
        n = grid(_AXIS)
        exact, adam = (gains[n.astype(int) - 1] for gains in self._gains(_AXIS["range"][1]))
        return over(_AXIS, n, {"exact": np.log10(exact), "adam": np.log10(adam), "ratio": adam / exact})

    def _gains(self, count: int) -> tuple[Array, Array]:
        return beliefs.kalman_gains(self.beta, count), beliefs.corrected_gains(self.beta, count)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        exact, adam = (float(gains[-1]) for gains in self._gains(self.n))
        return (
            "The weight of the newest datum against the number of data, falling from 1 to 1 − β = "
            f"{1 - self.beta:.4f}. Datum {self.n} counts {100 * adam:.2f} % for Adam, {100 * exact:.2f} % for the "
            f"exact filter; below, the ratio, which is {adam / exact:.3f} there."
        )
