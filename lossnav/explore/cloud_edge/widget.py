"""``CloudEdge`` in Python: its state, its laws, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._curves import Curves, points
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class CloudEdge(Curves):
    """The stationary law of one mode of SGD against that of the differential equation, up to where it ends.

    Args:
        beta: momentum β, in [0, 0.99].
        stretch: ηh that is marked, in [0.01, 4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    beta = number_trait(_MARKS["beta"], 0.5)
    stretch = number_trait(_AXIS["range"], 1.0)

    def lines(self) -> dict[str, Array]:
        """Return the ratio of variances and the correlation, of the steps and of the equation, over ηh."""
        low, high = _AXIS["range"]
        seen, all_ = np.linspace(low, 0.99 * self._edge(), 241), np.linspace(low, high, 241)
        spread, tilt = self._law(seen)
        up = np.linspace(0, 6, 61)
        return {
            "spread": points(_AXIS, seen, spread),
            "smooth": points(_AXIS, all_, np.ones_like(all_)),
            "edge": points(_AXIS, np.full_like(up, self._edge()), up),
            "tilt": points(_AXIS, seen, tilt),
            "none": points(_AXIS, all_, np.zeros_like(all_)),
        }

    def _edge(self) -> float:
        return 2 * (1 + self.beta)

    def _law(self, stretch: Array) -> tuple[Array, Array]:
        """Return the ratio of variances and the correlation, by the library's two laws with η = 1."""
        steps, smooth = (
            sgd.stationary(stretch, eta=1.0, beta=self.beta, batch=1, noise=1.0, form=form)
            for form in ("discrete", "sde")
        )
        tilt = steps[:, 0, 1] / np.sqrt(steps[:, 0, 0] * steps[:, 1, 1])
        return steps[:, 0, 0] / smooth[:, 0, 0], tilt

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        about = (
            f"Variance and correlation of the steps against step times curvature; both grow up to {self._edge():.3f}, "
            "where the steps have no law any more, while those of the equation stay at 1 and 0."
        )
        if self.stretch >= self._edge():
            return f"{about} At {self.stretch:.2f} the steps diverge."
        spread, tilt = (float(value[0]) for value in self._law(np.array([self.stretch])))
        return f"{about} At {self.stretch:.2f} the variance is {spread:.3f} times as large, the correlation {tilt:.3f}."
