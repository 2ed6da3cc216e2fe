"""``RateDrop`` in Python: its state, its radius, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import noether
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_ETA, _BETA = 0.1, 0.9  # after the drop: only the memory in steps counts


class RateDrop(Curves):
    """Radius and angle per step of a normalised layer after its learning rate has dropped (T29, T33).

    Args:
        drop: F, by which the rate drops, in [1, 16].
        memory: μ/4kη at the new rate, in steps, in [30, 3000].
        n: steps since the drop that are marked, in [0, 2000].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    drop = number_trait(_MARKS["drop"], 4.0)
    memory = number_trait(_MARKS["memory"], 300.0)
    n = number_trait(_AXIS["range"], 200.0)

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
        found: Array = noether.radius_squared(
            _ETA * n,
            initial=np.sqrt(self.drop * rest),
            gradient_norm_squared=1.0,
            mass=mass,
            friction=friction,
            decay=decay,
        )
        return found / np.sqrt(rest)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        squared = float(self._squared(np.array([self.n]))[0])
        return (
            "Radius and angle per step after a drop of the learning rate: the radius shrinks to its new rest, the "
            f"angle falls to {1 / self.drop:.3f} of what it was and comes back to {self.drop**-0.5:.3f}. After "
            f"{self.n:.0f} steps the angle is {1 / (np.sqrt(self.drop) * squared):.3f} and the radius "
            f"{np.sqrt(squared):.3f} times its rest."
        )
