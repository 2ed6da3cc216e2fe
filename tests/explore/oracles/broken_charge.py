"""What ``BrokenCharge`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore, noether
from lossnav._checks import Array
from lossnav.explore._coins import coins
from oracles.common import fixed, inside

_SHARED = explore.BrokenCharge._shared
_STEPS: int = _SHARED["steps"]
_EDGE: float = _SHARED["edge"]


class BrokenCharge(explore.BrokenCharge):
    def walk(self) -> Array:
        """Return a and b before the first step and after each, shape (T + 1, 2); T < 600 if they run away."""
        q, v, walk = np.array(self.start, dtype=float), np.zeros(2), [np.array(self.start, dtype=float)]
        for target in 1 + self.noise * coins(_STEPS):
            v = self.beta * v - 2 * (q[0] * q[1] - target) * q[::-1] - self.decay * q
            q = q + self.eta * v
            if np.sum(np.abs(q)) > 8 * _EDGE:
                break
            walk.append(q)
        return np.array(walk)

    def imbalance(self) -> Array:
        """Return a² − b² along the walk, shape (T + 1,)."""
        return np.asarray(self.walk() ** 2 @ np.array([1.0, -1.0]))

    def decay_alone(self) -> Array:
        """Return a² − b² if steps had no length of their own, shape (601,): known before the first of them."""
        first = self.start[0] ** 2 - self.start[1] ** 2
        return noether.discrete_rescale(
            first, 0.0, np.zeros(_STEPS), eta=self.eta, beta=self.beta, decay=self.decay
        )[0]  # fmt: skip

    def said(self) -> list[str]:
        last, alone = self.imbalance()[-1], self.decay_alone()[-1]
        return [f"to {fixed(last, 2)}", f"leave {fixed(alone, 2)}", f"ab = {fixed(np.prod(self.walk()[-1]), 2)}"]

    def shows(self) -> dict[str, list[Array]]:
        lines = {"imbalance": self.imbalance(), "decay": self.decay_alone()}
        chart = (0.0, _STEPS / 100), (-_SHARED["high"], _SHARED["high"])
        return {"walk": inside(self.walk(), (-_EDGE, _EDGE), (-_EDGE, _EDGE))} | {
            name: inside(np.stack([np.arange(len(values)) / 100, values], axis=1), *chart)
            for name, values in lines.items()
        }
