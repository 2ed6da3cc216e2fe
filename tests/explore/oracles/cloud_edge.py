"""What ``CloudEdge`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import points

_AXIS = explore.CloudEdge._shared["axis"]


class CloudEdge(explore.CloudEdge):
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

    def said(self) -> list[str]:
        about = (
            f"Variance and correlation of the steps against step times curvature; both grow up to {self._edge():.3f}, "
            "where the steps have no law any more, while those of the equation stay at 1 and 0."
        )
        if self.stretch >= self._edge():
            return f"{about} At {self.stretch:.2f} the steps diverge."
        spread, tilt = (float(value[0]) for value in self._law(np.array([self.stretch])))
        return [f"{about}", f"{self.stretch:.2f}", f"{spread:.3f}", f"{tilt:.3f}"]
