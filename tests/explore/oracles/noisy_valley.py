"""What ``NoisyValley`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import circle, fixed, inside, rotation, shaft

_SHARED = explore.NoisyValley._shared
_VALLEY = np.array(_SHARED["valley"])

_EDGE: float = _SHARED["edge"]


class NoisyValley(explore.NoisyValley):
    def process(self) -> sgd.OrnsteinUhlenbeck:
        """Return the process, with κ = 1."""
        axes = rotation(self.angle)
        return sgd.OrnsteinUhlenbeck(_VALLEY, axes @ np.diag([self.ratio**0.5, self.ratio**-0.5]) @ axes.T)

    def arrows(self) -> dict[str, Array]:
        """Return the drift at the point and its two parts, ``"drift"``, ``"down"`` and ``"round"``, shape (2,) each."""
        process, place = self.process(), np.array(self.start)
        drift, around = -_VALLEY @ place, process.flow(place)
        return {"drift": drift, "down": drift - around, "round": around}

    def said(self) -> list[str]:
        return [f"2Q₁₂ = {fixed(2 * self.process().skew[0, 1], 3)}", "A valley at 45.0°"]

    def shows(self) -> dict[str, list[Array]]:
        place, levels = np.array(self.start), {"phi": _VALLEY, "psi": self.process().curvature}
        return {
            **{name: inside(_level(m, place), (-_EDGE, _EDGE), (-_EDGE, _EDGE)) for name, m in levels.items()},
            **{name: shaft(place, _SHARED["reach"] * way, _EDGE) for name, way in self.arrows().items()},
        }


def _level(matrix: Array, place: Array) -> Array:
    """Return the level set of ½xᵀMx through a place, shape (161, 2)."""
    return np.linalg.solve(np.linalg.cholesky(matrix).T, np.sqrt(place @ matrix @ place) * circle(160).T).T
