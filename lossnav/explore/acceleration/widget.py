"""``Acceleration`` in Python: its state, what each method keeps, and its static twin."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.acceleration import Method, tuned
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_LINES = _SHARED["lines"]


class Acceleration(Explorable):
    """Methods on a quadratic loss with curvatures from 1/κ to 1, each tuned to the range that it believes in.

    Gradient descent, heavy ball and Nesterov's method know the two ends of the range; the ballistic rule and Newton's
    method divide by a power of each curvature. All believe in curvatures that are ``guess`` times the true ones.

    Args:
        kappa: condition number κ, in [1, 1000].
        guess: believed over true curvature, in [0.5, 4].
        curvature: h of the mode that is marked, in [0.001, 1].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(float(Acceleration(kappa=100.0).kept("heavy", 0.5)), 4)
        0.8182
    """

    kappa = number_trait(_MARKS["kappa"], 100.0)
    guess = number_trait(_MARKS["guess"], 1.0)
    curvature = number_trait(_MARKS["curvature"], 0.1)

    def kept(self, rule: str, curvature: ArrayLike) -> Array:
        """Return what a step of a rule leaves of modes in the long run.

        Args:
            rule: "descent", "nesterov", "heavy", "ballistic" or "newton".
            curvature: h > 0, any shape.

        Raises:
            ValueError: there is no such rule, or a curvature is not finite.
        """
        method, h = self._as_method(rule, curvature)
        return method.kept(h)

    def losses(self, rule: str) -> Array:
        """Return the loss over the steps, from 1 with equal parts in all modes, shape (steps + 1,).

        Raises:
            ValueError: there is no such rule.
        """
        method, h = self._as_method(rule, self.kappa ** (np.linspace(0, 1, _SHARED["modes"]) - 1))
        found: Array = np.mean(method.walk(h, np.ones_like(h), _SHARED["steps"]) ** 2, axis=1)
        return found

    def _as_method(self, rule: str, curvature: ArrayLike) -> tuple[Method, Array]:
        """Return a method and the curvatures on which it does what the rule does: a power of them for the last two."""
        _checks.one_of("rule", rule, tuple(_LINES))
        h = _checks.nonnegatives("curvature", curvature)
        low, high = self.guess / self.kappa, self.guess
        if rule == "newton":
            return Method(1 / self.guess), np.ones_like(h)
        if rule == "ballistic":
            return tuned("gradient descent", self.guess / math.sqrt(self.kappa), self.guess), np.sqrt(h)
        name = {"descent": "gradient descent", "heavy": "heavy ball", "nesterov": "nesterov"}[rule]
        return tuned(name, low, high), h

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        said = ", ".join(f"{_LINES[rule]['name']} {float(self.kept(rule, self.curvature)):.3f}" for rule in _LINES)
        return (
            f"The loss over {_SHARED['steps']} steps of five methods on a quadratic loss with condition number "
            f"{self.kappa:.4g} which believe in {self.guess:.2f} times its curvatures, and below it what a step leaves "
            f"of a mode, against its curvature. At h = {self.curvature:.3g}: {said}."
        )

    def picture(self) -> str:
        """Return the losses and what is kept, as an SVG document."""
        image = Picture(720, 520, _SHARED["title"])
        above = Panel((46, 56, 470, 276), (0, _SHARED["steps"]), (_SHARED["least"], 1))
        image.frame(above, "loss, as a power of ten", range(0, 101, 20), (-8, -6, -4, -2, 0), "steps")
        floor = math.log10(_SHARED["edge"])
        below = Panel((46, 346, 706, 476), (floor, 0), (0, _SHARED["top"]))
        title = "what a step leaves of a mode"
        image.frame(below, title, (-3, -2, -1, 0), (0, 0.5, 1), "curvature h, as a power of ten")
        h = np.linspace(-math.log10(self.kappa), 0, 151)
        for row, (rule, line) in enumerate(_LINES.items()):
            tint, dash = colour(line["tint"]), line["dash"]
            loss = np.log10(np.maximum(self.losses(rule), 10.0 ** _SHARED["least"]))
            run = np.stack([np.arange(len(loss)), loss], axis=1)
            image.inside(above, run, tint, 2.2, dash, f"loss {rule}")
            points = np.stack([h, self.kept(rule, 10**h)], axis=1)
            image.inside(below, points, tint, 2.2, dash, f"kept {rule}")
            image.legend(490, 150 + 28 * row, line["name"], tint, dash)
        image.text(490, 80, f"κ = {self.kappa:.4g}", font_weight="bold")
        image.text(490, 104, f"believed/true curvature {self.guess:.2f}")
        return image.svg()
