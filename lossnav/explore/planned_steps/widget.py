"""``PlannedSteps`` in Python: its state, the factors and costs, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav import rules
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)


class PlannedSteps(Explorable):
    """Steps on L = θ²/2, η = k = 1, planned together or one at a time, and the path they become (Eqs. 17, 18, 53).

    Args:
        gamma: γ, in [0, 4].
        dt: Δt, in [0.05, 2].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(PlannedSteps(gamma=0.5, dt=1.0).factors()["planned"], 4)
        0.4259
    """

    gamma = number_trait(_SHARED["gamma"], 0.5)
    dt = number_trait(_SHARED["dt"], 1.0)

    def rate(self) -> float:
        """Return r of the path, unit 1/T."""
        return float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])

    def factors(self) -> dict[str, float]:
        """Return by what a step multiplies the distance, "planned" together and "myopic" one at a time."""
        rho = np.exp(-self.gamma * self.dt)
        b = 1 + rho + self.dt**2
        return {"planned": float(2 / (b + np.sqrt(b**2 - 4 * rho))), "myopic": 1 / (1 + self.dt**2)}

    def costs(self) -> dict[str, float]:
        """Return J: of the steps as discounted sums, and of the path they become ("limit")."""
        rho = np.exp(-self.gamma * self.dt)
        sums = {
            name: float((self.dt / 2) * (((1 - m) / self.dt) ** 2 + m**2) / (1 - rho * m**2))
            for name, m in self.factors().items()
        }
        return {**sums, "limit": self.rate() / 2}

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        m, J = self.factors(), self.costs()
        return (
            "Distance from the minimum over time, from 1 at the start. A smooth curve falls at the rate "
            f"{self.rate():.3f} for γ = {self.gamma:.2f} and costs J = {J['limit']:.3f}. Steps of Δt = {self.dt:.2f} "
            f"that are planned together multiply the distance by {m['planned']:.3f} and cost {J['planned']:.3f}; steps "
            f"planned one at a time multiply it by {m['myopic']:.3f} and cost {J['myopic']:.3f}."
        )

    def picture(self) -> str:
        """Return the distances over time, as an SVG document."""
        image, span = Picture(720, 360), _SHARED["span"]
        panel = Panel((56, 56, 480, 310), (0.0, span), (-0.03, 1.05))
        image.text(56, 22, _SHARED["title"], font_size=17, font_weight="bold")
        image.frame(panel, "distance θ − μ, of 1 at the start", range(span + 1), (0, 0.5, 1), "time t")
        t, n = np.linspace(0, span, 201), np.arange(int(span / self.dt) + 2)
        lines = {"limit": (t, np.exp(-self.rate() * t))}
        lines |= {name: (n * self.dt, factor**n) for name, factor in self.factors().items()}
        for row, name in enumerate(("limit", "myopic", "planned")):
            line, width = _SHARED["lines"][name], 4.0 if name == "limit" else 1.6
            hue, dash = colour(line["tint"]), line["dash"]
            image.inside(panel, np.stack(lines[name], axis=1), hue, width, dash, name)
            image.legend(500, 76 + 44 * row, line["name"], hue, dash)
            image.text(536, 94 + 44 * row, f"J = {self.costs()[name]:.3f}")
        image.text(500, 220, f"γ = {self.gamma:.2f}, Δt = {self.dt:.2f}")
        return image.svg()
