"""``MuonQuintic`` in Python: its state, the values under both iterations, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_MOST, _LAST = _MARKS["before"][-1], _AXIS["range"][1]
_LOST = 1000.0  # what is larger diverges under both iterations, and is held where it is
_QUINTIC = np.polynomial.Polynomial(np.insert(_SHARED["quintic"], [0, 1, 2], 0.0))  # aσ + bσ³ + cσ⁵
_CUBIC = np.polynomial.Polynomial([0.0, 1.5, 0.0, -0.5])
_EDGE = float(max((_QUINTIC - np.polynomial.Polynomial([0.0, 1.0])).roots().real))


class MuonQuintic(Curves):
    """One singular value under Muon's quintic (Jordan et al., 2024), and under Newton and Schulz's cubic after it.

    Args:
        sigma: the singular value at the start, in [0.001, 1.4]; Muon divides a matrix by its norm, so that it is ≤ 1.
        before: steps of the quintic before the cubic takes over, 0 … 8.
        n: number of steps that is marked, 0 … 24.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    sigma = number_trait(_MARKS["sigma"], 0.02)
    before = whole_trait((0, _MOST), 5)
    n = whole_trait((0, _LAST), 10)

    def _walk(self, before: int) -> Array:
        """Return the values after 0 … 24 steps, of which the first ``before`` are the quintic's, shape (25,)."""
        values = [self.sigma]
        for k in range(_LAST):
            x = values[-1]
            values.append(x if abs(x) > _LOST else float((_QUINTIC if k < before else _CUBIC)(x)))
        return np.array(values)

    def lines(self) -> dict[str, Array]:
        """Return both values and log₁₀ of their distances from 1 (at least 1e-15), over the number of steps."""
        n, alone, then = grid(_AXIS), self._walk(_LAST), self._walk(self.before)
        far, near = (np.log10(np.maximum(np.abs(1 - values), 1e-15)) for values in (alone, then))
        heights = {"edge": np.full_like(n, _EDGE), "quintic": alone, "cubic": then, "far": far, "near": near}
        return over(_AXIS, n, heights)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        alone, then = (self._told(self._walk(before)[self.n]) for before in (_LAST, self.before))
        return (
            "A singular value against the number of steps, and below it the distance from 1, logarithmic. Muon's "
            f"quintic comes near 1 and stays near it from below {_EDGE:.4f}, above which it diverges; the cubic that "
            f"follows it ends at 1 from below √3. From {self.sigma:.3g}, after {self.n} steps, the quintic alone is "
            f"{alone} from 1; with the cubic after {self.before}, it is {then}."
        )

    @staticmethod
    def _told(value: float) -> str:
        gap = abs(1 - value)
        return "more than 1000" if abs(value) > _LOST else f"{gap:.3g}" if gap >= 1e-3 else f"{gap:.1e}"
