"""What ``PullBack`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem import losses
from lossnav.trajectory import weights
from oracles.common import grid, over, points, signed

_AXIS = explore.PullBack._shared["axis"]


class PullBack(explore.PullBack):
    def lines(self) -> dict[str, Array]:
        """Return the loss of the second task, the pull to the first, and both, over θ; and where it settles."""
        theta, rest = grid(_AXIS), np.full(2, 1 - 2 * self._kept())
        task, pull = self._costs(theta)
        lines = over(_AXIS, theta, {"task": task, "pull": pull, "both": task + pull})
        return {**lines, "settled": points(_AXIS, rest, np.add(*self._costs(rest)))}

    def _kept(self) -> float:
        known = {"eta": 1.0, "k": 1.0, "gamma": 1.0, "entropy": 0.0}
        return float(weights.overdamped_offset(1.0, initial=1 / self.certainty, curvature=self.curvature, **known))

    def _costs(self, theta: Array) -> tuple[Array, Array]:
        bowls = (
            losses.Quadratic([[self.curvature]], minimum=[1.0]),
            losses.Quadratic([[self.certainty]], minimum=[-1.0]),
        )
        task, pull = (bowl.value(theta[:, None]) for bowl in bowls)
        return task, pull

    def said(self) -> list[str]:
        kept = self._kept()
        task, pull = (float(cost[0]) for cost in self._costs(np.array([self.place])))
        return [f"{signed(1 - 2 * kept, 3)}", f"{kept:.3f}", f"{task:.3f}", f"{pull:.3f}"]
