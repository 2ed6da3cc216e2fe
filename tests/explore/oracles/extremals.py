"""What ``Extremals`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import compact, fixed, inside

_SHARED = explore.Extremals._shared


class Extremals(explore.Extremals):
    def roots(self) -> tuple[float, float]:
        """Return s₊ and s₋, unit 1/T (Eq. 43)."""
        decay = float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])
        return self.gamma + decay, -decay

    def path(self, growing: float, t: ArrayLike) -> Array:
        """Return θ at times t >= 0 for a coefficient c₊, of the shape of t (Eq. 46)."""
        (plus, minus), t = self.roots(), np.asarray(t)
        return np.asarray(growing * np.exp(plus * t) + (1 - growing) * np.exp(minus * t))

    def cost(self, growing: float) -> float:
        """Return J up to the horizon for a coefficient c₊ (Eq. 51)."""
        plus, minus = self.roots()
        span = (plus - minus) * self.horizon
        return float(plus * growing**2 * np.expm1(span) + minus * (1 - growing) ** 2 * np.expm1(-span)) / 2

    def best(self) -> float:
        """Return the c₊ that costs least up to the horizon."""
        plus, minus = self.roots()
        faded = -minus * np.exp(-(plus - minus) * self.horizon)
        return float(faded / (plus + faded))

    def said(self) -> list[str]:
        return [f"J = {compact(self.cost(self.growing))}", f"at c₊ = {fixed(self.best(), 3)}"]

    def shows(self) -> dict[str, list[Array]]:
        t, c = np.linspace(0, _SHARED["span"], 121), np.linspace(*_SHARED["across"], 201)
        left, right = (
            ((0.0, _SHARED["span"]), (_SHARED["low"], _SHARED["high"])),
            (_SHARED["across"], (0.0, _SHARED["most"])),
        )
        chosen = {"free": 0.0, "best": self.best(), "chosen": self.growing}
        lines = {name: inside(np.stack([t, self.path(value, t)], axis=1), *left) for name, value in chosen.items()}
        return lines | {"parabola": inside([(value, self.cost(value)) for value in c.tolist()], *right)}
