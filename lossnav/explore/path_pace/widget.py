"""``PathPace`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import riccati

_SHARED = constants(__file__)
_AXIS = _SHARED["axis"]
_BOWL = Quadratic(np.diag([1.0, _SHARED["kappa"]]), minimum=np.zeros(2))
_NODES = 400


class _Numbers:
    """The regret of the path, in parts."""

    power: float
    bend: float
    pace: float

    def parts(self) -> tuple[float, float]:
        """Return the parts of the regret by speed and by direction at the marked pace, over the least cost."""
        speed, direction = self._parts(np.array([self.pace]))
        return float(speed[0]), float(direction[0])

    def _parts(self, pace: Array) -> tuple[Array, Array]:
        """Return ∫(|v| − |v*|)²dt/2 and ∫(|v||v*| − v·v*)dt over V(θ₀) for paces, of their shape (L22)."""
        x, weights = np.polynomial.legendre.leggauss(_NODES)
        t = (1 + x) / 2
        y = t**3  # powers of L have no derivative at the minimum
        path = np.stack([y, y**self.bend], axis=1)
        tangent = -np.stack([np.ones_like(y), self.bend * y ** (self.bend - 1)], axis=1)
        steps = weights / 2 * 3 * t**2
        law = riccati.local_value(Objective(), _BOWL, np.ones(2))
        best = law.velocity(path)
        ideal, length = np.linalg.norm(best, axis=1), np.linalg.norm(tangent, axis=1)
        high = _BOWL.value(np.ones(2))
        own = np.sqrt(2 * high) * (_BOWL.value(path) / high) ** self.power * pace[..., None]
        least = law.cost_to_go(np.ones(2))
        speed = np.sum(steps * length * (own - ideal) ** 2 / (2 * own), axis=-1) / least
        direction = np.sum(steps * (length * ideal - np.sum(tangent * best, axis=1))) / least
        return speed, np.full_like(speed, direction)

    def lines(self) -> dict[str, Array]:
        """Return the regret over the least cost and its parts, over log₁₀ of the pace."""
        pace = grid(_AXIS)
        speed, direction = self._parts(pace)
        return over(_AXIS, pace, {"total": speed + direction, "speed": speed, "direction": direction})


PathPace: type[Explorable] = declared(__file__, _Numbers)
