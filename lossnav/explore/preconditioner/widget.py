"""``Preconditioner`` in Python: its state, φ(h) with its limits, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.problem.objective import Objective
from lossnav.rules import ballistic, gradient_descent, newton, update

_SHARED = constants(__file__)
_RULES = {"optimal": update, "descent": gradient_descent, "ballistic": ballistic, "newton": newton}
_LINES = {"optimal": _SHARED["optimal"], **_SHARED["limits"]}


class Preconditioner(Explorable):
    """By what the optimal update multiplies the gradient along a direction of curvature h, and its limits (Eqs. 6, 7).

    Args:
        gamma: γ, in [0.01, 1000].
        dt: Δt, in [0.001, 30].
        curvature: h of the direction that is looked at, in [1e-4, 1e10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> values = Preconditioner(gamma=1.0, dt=0.001, curvature=1e3).values()
        >>> round(values["ballistic"] / values["optimal"], 2)
        1.03
    """

    gamma = number_trait(_SHARED["gamma"], 1.0)
    dt = number_trait(_SHARED["dt"], 0.001)
    curvature = number_trait(_SHARED["curvature"], 1000.0)

    def _phi(self, rule: str, h: Array) -> Array:
        """Return φ of a rule at curvatures h > 0, shape (N,): a step is −φ(h) times the gradient."""
        return -np.asarray(_RULES[rule](Objective(gamma=self.gamma), np.ones_like(h), np.diag(h), self.dt))

    def values(self) -> dict[str, float]:
        """Return φ of each rule at the chosen curvature."""
        return {rule: float(self._phi(rule, np.array([self.curvature]))[0]) for rule in _RULES}

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        phi = self.values()
        return (
            f"φ against curvature h, both axes logarithmic, for γ = {self.gamma:g} and Δt = {self.dt:g}. The optimal "
            f"curve is level at small h, where it is gradient descent, then falls like h to the −1/2, as the ballistic "
            f"rule does, as far as there is room, and at last like 1/h, as Newton's method does. At h = "
            f"{self.curvature:.3g} it is {phi['optimal']:.3g}; gradient descent has {phi['descent']:.3g}, the "
            f"ballistic rule {phi['ballistic']:.3g}, Newton {phi['newton']:.3g}."
        )

    def picture(self) -> str:
        """Return the curves, as an SVG document."""
        image = Picture(720, 400)
        ends = [math.log10(value) for value in _SHARED["curvature"]]
        panel = Panel((56, 56, 480, 350), (ends[0], ends[1]), tuple(_SHARED["phi"]))
        image.text(56, 22, _SHARED["title"], font_size=17, font_weight="bold")
        image.frame(panel, "log₁₀ φ(h)", range(-4, 11, 2), range(-12, 7, 2), "log₁₀ of the curvature h")
        powers = np.linspace(ends[0], ends[1], 141)
        for row, (rule, line) in enumerate(_LINES.items()):
            width = 4.0 if rule == "optimal" else 1.8
            points = np.stack([powers, np.log10(self._phi(rule, 10.0**powers))], axis=1)
            image.inside(panel, points, colour(rule), width, line["dash"], rule)
            image.legend(500, 76 + 44 * row, line["name"], colour(rule), line["dash"])
            image.text(536, 94 + 44 * row, f"φ = {self.values()[rule]:.3g}")
        image.dot(panel, math.log10(self.curvature), math.log10(self.values()["optimal"]), colour("ink"), 8.0)
        image.text(500, 264, f"at h = {self.curvature:.3g}")
        image.text(500, 286, f"γ = {self.gamma:g}, Δt = {self.dt:g}")
        return image.svg()
