"""What ``Preconditioner`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.rules import ballistic, gradient_descent, newton, update
from oracles.common import compact, inside

_RULES = {"optimal": update, "descent": gradient_descent, "ballistic": ballistic, "newton": newton}

_SHARED = explore.Preconditioner._shared


class Preconditioner(explore.Preconditioner):
    def _phi(self, rule: str, h: Array) -> Array:
        """Return φ of a rule at curvatures h > 0, shape (N,): a step is −φ(h) times the gradient."""
        return -np.asarray(_RULES[rule](Objective(gamma=self.gamma), np.ones_like(h), np.diag(h), self.dt))

    def values(self) -> dict[str, float]:
        """Return φ of each rule at the chosen curvature."""
        return {rule: float(self._phi(rule, np.array([self.curvature]))[0]) for rule in _RULES}

    def said(self) -> list[str]:
        gamma, dt = self.gamma, self.dt
        corner = f"γ²/4 = {compact(gamma**2 / 4)}" if gamma * dt < 2 else f"γ/Δt = {compact(gamma / dt)}"
        return [corner, *(compact(value) for value in self.values().values() if value >= 0.01)]

    def shows(self) -> dict[str, list[Array]]:
        ends = np.log10(_SHARED["traits"]["curvature"]["range"])
        powers = np.linspace(ends[0], ends[1], 141)
        return {
            rule: inside(np.stack([powers, np.log10(self._phi(rule, 10.0**powers))], axis=1), ends, _SHARED["phi"])
            for rule in _RULES
        }
