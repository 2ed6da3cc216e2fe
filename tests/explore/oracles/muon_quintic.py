"""What ``MuonQuintic`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from oracles.common import grid, over

_SHARED = explore.MuonQuintic._shared
_AXIS = _SHARED["axis"]
_MOST, _LAST = _SHARED["traits"]["before"]["range"][-1], _AXIS["range"][1]
_LOST = 1000.0  # what is larger diverges under both iterations, and is held where it is
_QUINTIC = np.polynomial.Polynomial(np.insert(_SHARED["quintic"], [0, 1, 2], 0.0))  # aσ + bσ³ + cσ⁵
_CUBIC = np.polynomial.Polynomial([0.0, 1.5, 0.0, -0.5])
_EDGE = float(max((_QUINTIC - np.polynomial.Polynomial([0.0, 1.0])).roots().real))


class MuonQuintic(explore.MuonQuintic):
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

    @staticmethod
    def _told(value: float) -> str:
        gap = abs(1 - value)
        return "more than 1000" if abs(value) > _LOST else f"{gap:.3g}" if gap >= 1e-3 else f"{gap:.1e}"

    def said(self) -> list[str]:
        alone, then = (self._told(self._walk(before)[self.n]) for before in (_LAST, self.before))
        return [f"{_EDGE:.4f}", f"{self.sigma:.3g}", f"{self.n}", f"{alone}", f"{self.before}", f"{then}"]
