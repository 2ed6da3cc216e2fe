"""``FollowedBack`` in Python: its state, its energies, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, points
from lossnav.explore._picture import signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.explore.double_well.plans import Plans, landscape, laws
from lossnav.problem.losses import Section
from lossnav.trajectory.phase_plane import Feedback

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FollowedBack(Plans, Curves):
    """Kinetic energy K = θ̇²/2η of the paths that stay in and cross the double well of Fig. 1, and kL above them.

    The gap between kL and a plan's K at the start is γJ, up to a constant that both plans share.

    Args:
        gamma: γ, in [0.05, 5].
        start: θ₁(0) that is marked, in [−1.45, 1.35].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.4)
    start = number_trait(_AXIS["range"], -0.6)

    def lines(self) -> dict[str, Array]:
        """Return kL above the deep valley, and K of both plans as far as they reach, over θ."""
        theta, loss, plans = grid(_AXIS), Section(landscape(), 0), laws(self.gamma)
        floor = float(loss.value([plans["cross"].target]))
        return {
            "loss": points(_AXIS, theta, loss.value(theta[:, None]) - floor),
            **{name: _energies(law) for name, law in plans.items()},
        }

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        plans, costs = laws(self.gamma), self.actions()
        cross, shallow = plans["cross"], plans["stay"].target
        spare = float(cross.speed(shallow)) ** 2 / 2
        end = f"stalls at θ = {signed(cross.reach[0], 3)}" if np.isnan(spare) else f"passes with K = {spare:.3f}"
        told = [f"{name} costs J = {signed(cost, 4)}" for name, cost in costs.items() if np.isfinite(cost)]
        return (
            "The double well, and below it the kinetic energy of the paths into its two minima, each zero at its own. "
            f"For γ = {self.gamma:.2f} the crossing path, followed back to the shallow well, {end}. "
            f"From θ = {signed(self.start, 2)}: {', '.join(told)}."
        )


def _energies(law: Feedback) -> Array:
    """Return K over θ from one end of a law's reach to the other, as far as the axis goes, shape (N, 2)."""
    low, high = np.clip(law.reach, _AXIS["range"][0], _AXIS["range"][-1])
    theta = np.concatenate([np.linspace(low, law.target, 121), np.linspace(high, law.target, 121)[::-1]])
    return points(_AXIS, theta, law.speed(theta) ** 2 / 2)
