"""What ``FollowedBack`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import Section
from lossnav.trajectory.phase_plane import Feedback
from oracles.common import grid, points, signed
from oracles.plans import Plans, landscape, laws

_AXIS = explore.FollowedBack._shared["axis"]


class FollowedBack(Plans, explore.FollowedBack):
    def lines(self) -> dict[str, Array]:
        """Return kL above the deep valley, and K of both plans as far as they reach, over θ."""
        theta, loss, plans = grid(_AXIS), Section(landscape(), 0), laws(self.gamma)
        floor = float(loss.value([plans["cross"].target]))
        return {
            "loss": points(_AXIS, theta, loss.value(theta[:, None]) - floor),
            **{name: _energies(law) for name, law in plans.items()},
        }

    def said(self) -> list[str]:
        plans, costs = laws(self.gamma), self.actions()
        cross, shallow = plans["cross"], plans["stay"].target
        spare = float(cross.speed(shallow)) ** 2 / 2
        end = f"stalls at θ = {signed(cross.reach[0], 3)}" if np.isnan(spare) else f"passes with K = {spare:.3f}"
        phrases = [f"{name} costs J = {signed(cost, 4)}" for name, cost in costs.items() if np.isfinite(cost)]
        return [f"{self.gamma:.2f}", f"{end}", f"{signed(self.start, 2)}", f"{', '.join(phrases)}"]


def _energies(law: Feedback) -> Array:
    """Return K over θ from one end of a law's reach to the other, as far as the axis goes, shape (N, 2)."""
    low, high = np.clip(law.reach, _AXIS["range"][0], _AXIS["range"][-1])
    theta = np.concatenate([np.linspace(low, law.target, 121), np.linspace(high, law.target, 121)[::-1]])
    return points(_AXIS, theta, law.speed(theta) ** 2 / 2)
