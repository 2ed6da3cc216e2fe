"""What ``PlannedSteps`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import fixed, inside

_SHARED = explore.PlannedSteps._shared


class PlannedSteps(explore.PlannedSteps):
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

    def said(self) -> list[str]:
        return [*(fixed(J, 3) for J in self.costs().values()), f"m = {fixed(self.factors()['planned'], 4)}"]

    def shows(self) -> dict[str, list[Array]]:
        span = _SHARED["span"]
        t, n = np.linspace(0, span, 201), np.arange(int(span / self.dt) + 2)
        lines = {"limit": (t, np.exp(-self.rate() * t))}
        lines |= {name: (n * self.dt, factor**n) for name, factor in self.factors().items()}
        return {name: inside(np.stack(line, axis=1), (0.0, span), (-0.03, 1.05)) for name, line in lines.items()}
