"""``StayMap`` in Python: its state, the line between staying and crossing, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.explore.double_well.plans import Plans, course, laws

_SHARED = constants(__file__)


class StayMap(Plans, Explorable):
    """The map of staying and crossing in the double well of Fig. 1, and the two plans that belong to a point of it.

    Args:
        gamma: γ, in [0.3, 5].
        start: θ₁(0), in [−1.4, 0.6].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> StayMap(gamma=0.8, start=-0.6).verdict(), StayMap(gamma=0.8, start=-0.4).verdict()
        ('stay', 'cross')
    """

    gamma = number_trait(_SHARED["gamma"], 0.8)
    start = number_trait(_SHARED["start"], -0.55)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        actions = self.actions()
        costs = [
            f"{name}ing costs J = {signed(J, 4)}" if np.isfinite(J) else f"no path {name}s"
            for name, J in actions.items()
        ]
        return (
            "Left, a map of starts against discount rates: from γ = 0.539 on a line rises from the shallow well to the "
            "barrier, and below it staying is optimal. Right, at the same height, the paths that belong to the point "
            f"γ = {self.gamma:.2f}, θ₁ = {signed(self.start, 2)}: {costs[0]}, {costs[1]}, so it is right to "
            f"{self.verdict()}."
        )

    def picture(self) -> str:
        """Return the map and the paths, as an SVG document."""
        image, window, best = Picture(720, 400, _SHARED["title"]), tuple(_SHARED["theta"]), self.verdict()
        ends = np.log10(_SHARED["gamma"])
        area = Panel((46, 56, 360, 350), (float(ends[0]), float(ends[1])), window)
        time = Panel((396, 56, 706, 350), (0.0, _SHARED["until"]), window)
        image.frame(area, "start θ₁(0)", (-0.5, 0, 0.5), (-1, 0, 1), "log₁₀ of the discount rate γ")
        image.frame(time, "θ₁ over time", (0, 2, 4), (-1, 0, 1), "time t")
        image.line(
            area, [(np.log10(gamma), theta) for gamma, theta in _SHARED["border"]], colour("ink"), 2.0, name="edge"
        )
        image.text(350, 340, "stay", text_anchor="end")
        image.text(54, 74, "cross")
        for name, law in laws(self.gamma).items():
            if np.isfinite(self.actions()[name]):
                t, x = course(law, self.start, _SHARED["until"])
                line = _SHARED["lines"]["best" if name == best else "other"]
                image.inside(time, np.stack([t, x], axis=1), colour(line["tint"]), 2.8, line["dash"], name)
        image.dot(area, float(np.log10(self.gamma)), self.start, colour("ink"), 8.0)
        return image.svg()
