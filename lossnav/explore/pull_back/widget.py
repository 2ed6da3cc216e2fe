"""``PullBack`` in Python: its state, its costs, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._picture import signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem import losses
from lossnav.trajectory import weights

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class PullBack(Curves):
    """A weight that knows a first task with a certainty, between its minimum at −1 and that of a second at 1.

    Args:
        certainty: p = 1/v after the first task, in [0.01, 100].
        curvature: H of the second, in [0.25, 4].
        place: θ that is marked, in [−2, 2].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    certainty = number_trait(_MARKS["certainty"], 1.0)
    curvature = number_trait(_MARKS["curvature"], 2.0)
    place = number_trait(_AXIS["range"], 0.0)

    def lines(self) -> dict[str, Array]:
        """Return the loss of the second task, the pull to the first, and both, over θ."""
        theta = grid(_AXIS)
        task, pull = self._costs(theta)
        return over(_AXIS, theta, {"task": task, "pull": pull, "both": task + pull})

    def _costs(self, theta: Array) -> tuple[Array, Array]:
        bowls = (
            losses.Quadratic([[self.curvature]], minimum=[1.0]),
            losses.Quadratic([[self.certainty]], minimum=[-1.0]),
        )
        task, pull = (bowl.value(theta[:, None]) for bowl in bowls)
        return task, pull

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        known = {"eta": 1.0, "k": 1.0, "gamma": 1.0, "entropy": 0.0}
        # A second task that has lasted for 1 has the precision H, and Bayes' rule weighs the two minima by precision.
        kept = weights.overdamped_offset(1.0, initial=1 / self.certainty, curvature=self.curvature, **known)
        task, pull = (float(cost[0]) for cost in self._costs(np.array([self.place])))
        return (
            "Two bowls and their sum: the loss of the second task with its minimum at 1, and the pull to the first "
            f"at −1. The sum is lowest at θ = {signed(1 - 2 * kept, 3)}: {kept:.3f} of the way is left undone. At the "
            f"mark the second task costs {task:.3f} and the pull {pull:.3f}."
        )
