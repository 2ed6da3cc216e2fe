"""``DoubleWell`` in Python: its state, the two optimal laws behind it, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.explore.double_well.plans import Plans, course, landscape, laws
from lossnav.problem.losses import Section

_SHARED = constants(__file__)
_UNTIL: float = _SHARED["until"]


class DoubleWell(Plans, Explorable):
    """Both optimal paths of the tilted double well, their costs and the verdict, live (Fig. 1, theory §7.5).

    L = (θ₁²−1)² − θ₁/2 with η = k = 1; θ₂ separates. Drag the start, move γ. γ = 0 is outside the range: there J is
    infinite from every start, because min L is not 0.

    Args:
        start: θ₁(0), in [−1.5, 1.5].
        gamma: γ, in [0.05, 5].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> DoubleWell(start=-0.6, gamma=0.7).verdict()
        'stay'
    """

    start = number_trait(_SHARED["start"], -0.6)
    gamma = number_trait(_SHARED["gamma"], 0.3)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        actions, best = self.actions(), self.verdict()
        costs = [
            f"{name}ing costs J = {signed(actions[name], 4)}" if np.isfinite(actions[name]) else f"no path can {name}"
            for name in ("cross", "stay")
        ]
        return (
            "A loss with a shallow well on the left and a deep one on the right, and below it the paths from "
            f"θ₁ = {signed(self.start, 2)} against time, for γ = {self.gamma:.2f}: {costs[0]}, {costs[1]}. "
            f"The optimal path {'crosses into the deep well' if best == 'cross' else 'stays in the shallow well'}."
        )

    def picture(self) -> str:
        """Return the landscape with both paths, and θ₁ against time, as an SVG document."""
        loss, paths, actions, best = Section(landscape(), 0), laws(self.gamma), self.actions(), self.verdict()
        image, theta = Picture(720, 470), tuple(_SHARED["panels"]["theta"])
        hill = Panel((56, 50, 700, 232), theta, tuple(_SHARED["panels"]["loss"]))
        time = Panel((56, 272, 700, 420), theta, (_UNTIL, 0.0))
        grey, pink = colour("neutral"), colour("optimal")
        image.text(56, 20, _SHARED["title"], font_size=17, font_weight="bold")
        image.frame(hill, "loss L(θ₁)", (), (0, 1, 2), "")
        image.frame(time, "θ₁ against time t (downwards)", (-1.5, -1, -0.5, 0, 0.5, 1, 1.5), (0, 2, 4), "θ₁")
        terrain = np.linspace(-1.522, 1.6, 161)
        image.line(hill, zip(terrain, loss.value(terrain[:, None]), strict=True), grey, name="loss")
        for name in sorted(paths, key=lambda key: key == best):
            if np.isnan(actions[name]):
                continue
            style = (pink, 3.4, "none") if name == best else (grey, 2.2, "2 4")
            t, x = course(paths[name], self.start)
            image.line(hill, zip(x, loss.value(x[:, None]) + 0.09, strict=True), *style)
            image.line(time, zip(x, t, strict=True), *style, name)
            px, py = time.at(paths[name].target, _UNTIL)
            words = f"{name}: J = {signed(actions[name], 4)}{' (optimal)' if name == best else ''}"
            anchor = "start" if name == "stay" else "end"
            image.text(px + (10 if name == "stay" else -10), py - 10, words, font_weight="bold", text_anchor=anchor)
        image.dot(hill, self.start, float(loss.value([self.start])), colour("ink"), 8.0)
        image.text(700, 20, f"γ = {self.gamma:.2f}", text_anchor="end")
        return image.svg()
