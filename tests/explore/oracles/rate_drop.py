"""What ``RateDrop`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import noether
from oracles.common import grid, over

_AXIS = explore.RateDrop._shared["axis"]
_ETA, _BETA = 0.1, 0.9  # after the drop: only the memory in steps counts


class RateDrop(explore.RateDrop):
    def lines(self) -> dict[str, Array]:
        """Return the radius over its new rest, and the angle per step over that before the drop, over steps."""
        n = grid(_AXIS)
        squared = self._squared(n)
        heights = {
            "radius": np.sqrt(squared),
            "angle": 1 / (np.sqrt(self.drop) * squared),
            "law": np.full_like(n, self.drop**-0.5),
            "fixed": np.full_like(n, 1 / self.drop),
        }
        return over(_AXIS, n, heights)

    def _squared(self, n: Array) -> Array:
        """Return r² over its new rest n steps after the drop, by (T33) with gradients of constant size."""
        mass, friction = noether.mass(_ETA, _BETA), noether.friction(_BETA)
        decay = friction / (4 * _ETA * self.memory)
        rest = mass / (decay * friction**2)  # of r⁴: gain over rate in (T33)
        squared: Array = noether.radius_squared(
            _ETA * n,
            initial=np.sqrt(self.drop * rest),
            gradient_norm_squared=1.0,
            mass=mass,
            friction=friction,
            decay=decay,
        )
        return squared / np.sqrt(rest)

    def said(self) -> list[str]:
        squared = float(self._squared(np.array([self.n]))[0])
        return [
            f"{1 / self.drop:.3f}",
            f"{self.drop ** (-0.5):.3f}",
            f"{self.n:.0f}",
            f"{1 / (np.sqrt(self.drop) * squared):.3f}",
            f"{np.sqrt(squared):.3f}",
        ]
