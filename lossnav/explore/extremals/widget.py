"""``Extremals`` in Python: its state, the paths and what they cost, and its static twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks, rules
from lossnav._checks import Array
from lossnav.explore._picture import CONTOUR, Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)


class Extremals(Explorable):
    """Solutions of the Euler–Lagrange equation of L = θ²/2 with η = k = 1 from θ = 1, and their costs (Eqs. 42–53).

    Args:
        growing: c₊ of the chosen one, in [−0.45, 0.6].
        gamma: γ, in [0, 4].
        horizon: T, up to which costs count, in [0.25, 3].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Extremals(horizon=1.0).cost(0.0) < Extremals(horizon=1.0).cost(0.2)
        True
    """

    growing = number_trait(_SHARED["growing"], 0.2)
    gamma = number_trait(_SHARED["gamma"], 0.5)
    horizon = number_trait(_SHARED["horizon"], 1.0)

    def roots(self) -> tuple[float, float]:
        """Return s₊ and s₋, unit 1/T (Eq. 43)."""
        decay = float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])
        return self.gamma + decay, -decay

    def path(self, growing: float, t: ArrayLike) -> Array:
        """Return θ at times t >= 0 for a coefficient c₊, of the shape of t (Eq. 46).

        Raises:
            ValueError: an argument is not finite, or a time is negative.
        """
        growing, when = _checks.finite("growing", growing), _checks.nonnegatives("t", t)
        plus, minus = self.roots()
        return np.asarray(growing * np.exp(plus * when) + (1 - growing) * np.exp(minus * when))

    def cost(self, growing: float) -> float:
        """Return J up to the horizon for a coefficient c₊ (Eq. 51).

        Raises:
            ValueError: it is not finite.
        """
        growing, (plus, minus) = _checks.finite("growing", growing), self.roots()
        span = (plus - minus) * self.horizon
        return float(plus * growing**2 * np.expm1(span) + minus * (1 - growing) ** 2 * np.expm1(-span)) / 2

    def best(self) -> float:
        """Return the c₊ that costs least up to the horizon."""
        plus, minus = self.roots()
        faded = -minus * np.exp(-(plus - minus) * self.horizon)
        return float(faded / (plus + faded))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        return (
            "Left, solutions of one equation from θ = 1 over time; all but one turn away from zero. Right, the "
            f"parabola of their costs up to T = {self.horizon:.2f}, over the coefficient c₊ of the growing root, for "
            f"γ = {self.gamma:.2f}. The chosen one, c₊ = {signed(self.growing, 3)}, costs "
            f"{self.cost(self.growing):.3g}; the least is {self.cost(self.best()):.3g} at c₊ = {self.best():.3f}."
        )

    def picture(self) -> str:
        """Return the paths and the parabola, as an SVG document."""
        image, span, most = Picture(720, 360, _SHARED["title"]), _SHARED["span"], _SHARED["most"]
        left = Panel((46, 56, 350, 300), (0.0, span), (_SHARED["low"], _SHARED["high"]))
        right = Panel((396, 56, 700, 300), tuple(_SHARED["across"]), (0.0, most))
        image.frame(left, "θ − μ over time", range(span + 1), (-1, 0, 1, 2), "time t")
        image.frame(right, "J up to T, of each c₊", (-0.5, -0.25, 0, 0.25, 0.5), (0, 0.5, 1, 1.5), "c₊")
        t, c = np.linspace(0, span, 121), np.linspace(*right.x, 201)
        for other in _SHARED["others"]:
            image.inside(left, np.stack([t, self.path(other, t)], axis=1), CONTOUR, 1.0)
        image.line(left, [(self.horizon, _SHARED["low"]), (self.horizon, _SHARED["high"])], colour("ink"), 1.4, "5 3")
        for name, value in {"free": 0.0, "best": self.best(), "chosen": self.growing}.items():
            line, points = _SHARED["lines"][name], np.stack([t, self.path(value, t)], axis=1)
            image.inside(left, points, colour(line["tint"]), 2.4, line["dash"], name)
        parabola = [(value, self.cost(value)) for value in c.tolist()]
        image.inside(right, parabola, colour("neutral"), 2.0, name="parabola")
        image.dot(right, self.best(), self.cost(self.best()), colour("optimal"))
        if self.cost(self.growing) <= most:
            image.dot(right, self.growing, self.cost(self.growing), colour("ink"), 8.0)
        image.text(700, 22, f"γ = {self.gamma:.2f}, T = {self.horizon:.2f}", text_anchor="end")
        return image.svg()
