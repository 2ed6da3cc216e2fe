"""What ``DriftField`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import helmholtz
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve
from oracles.common import fixed, inside

_SHARED = explore.DriftField._shared
_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


class DriftField(explore.DriftField):
    def path(self) -> Trajectory:
        """Return the optimal path."""
        objective, loss = self._problem()
        return solve(objective, loss, self.start)

    def end(self) -> Array:
        """Return where the optimal path ends, θ∞, shape (2,)."""
        return self.path().asymptote

    def effective_minimum(self) -> Array:
        """Return the minimum of the effective loss (Eq. 132), shape (2,)."""
        objective, loss = self._problem()
        assert isinstance(objective.drift, Linear)
        effective = helmholtz.effective_loss(objective, loss, helmholtz.split_affine(objective.drift))
        points = effective.stationary_points()
        assert points is not None  # its Hessian is at least that of L
        return points[0]

    def _problem(self) -> tuple[Objective, Quadratic]:
        drift = Linear(self.rate * _TURN - self.decay * np.eye(2))
        loss = Quadratic(_SHARED["stiffness"] * np.eye(2), minimum=self.minimum)
        return Objective(gamma=self.gamma, drift=drift), loss

    def _decay_rate(self, path: Trajectory) -> float:
        """Return λ: how fast the distance to the end shrinks, the same in all directions."""
        aside = path.asymptote + np.array([1.0, 0.0])
        return -float(solve(path.objective, path.loss, aside).velocity(0.0)[0])

    def said(self) -> list[str]:
        places = (self.end(), self.effective_minimum())
        return [f"({fixed(x, 3)}, {fixed(y, 3)})" for x, y in places]

    def shows(self) -> dict[str, list[Array]]:
        path, edge = self.path(), _SHARED["edge"]
        rate = self._decay_rate(path)
        t = np.linspace(0, 7 / rate, int(np.clip(7 / rate * max(abs(self.rate), rate) / 0.1, 200, 900)))
        return {"path": inside(path(t), (-edge, edge), (-edge, edge))}
