"""What ``AssumptionPlot`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from lossnav import Objective, explore
from lossnav._checks import Array
from lossnav.analysis.inference.families import FAMILIES
from lossnav.rules import deadline_rate
from oracles.common import compact, fixed

_SHARED = explore.AssumptionPlot._shared
_H, _R = (np.array(_SHARED["learner"][name], dtype=float) for name in ("h", "r"))


class AssumptionPlot(explore.AssumptionPlot):
    def _rates(self) -> dict[str, tuple[str, dict[str, float]]]:
        """Return each assumption's family, and its values there: A = 1/ηk, B = γ/ηk, C = j(j + γ)/ηk (ηk = 1)."""
        return {
            "descent": ("planner", {"A": 0.0, "B": _SHARED["level"], "C": 0.0}),
            "memory": ("memory", {"A": -1 / _SHARED["gain"], "B": self.friction / _SHARED["gain"], "C": 0.0}),
            "impatience": ("hyperbolic", {"alpha": self.impatience, "a": 1.0}),
            "decay": ("+decay", {"A": 1.0, "B": self.gamma, "C": self.decay * (self.decay + self.gamma)}),
            "planner": ("planner", {"A": 1.0, "B": self.gamma, "C": 0.0}),
        }

    def lines(self) -> dict[str, Array]:
        """Return h/r over r, for curvatures of which none is so large that the heavy ball swings."""
        lines = {"learner": np.stack([_R, _H / _R], axis=1)}
        slowest = self.friction**2 / 4 / _SHARED["gain"]
        for name, (family, values) in self._rates().items():
            h = np.linspace(1e-3, np.sqrt(slowest if name == "memory" else 300.0), 4001) ** 2
            r = FAMILIES[family].rates(h, values)
            shown = r <= _SHARED["axis"]["range"][1]
            lines[name] = np.stack([r, h / r], axis=1)[shown]
        return lines

    def said(self) -> list[str]:
        planned = _H * deadline_rate(Objective(gamma=self.gamma), _H, np.inf)
        miss = np.sqrt(np.mean((planned / _R - 1) ** 2))
        words = [fixed(self.gamma, 2), fixed(100 * miss, 1), fixed(self.rate, 2)]
        for name, (family, values) in self._rates().items():
            least = self.decay if name == "decay" else 0.0
            if least < self.rate <= (self.friction / 2 if name == "memory" else np.inf):
                far = self.friction**2 / 4 / _SHARED["gain"] if name == "memory" else 1e4
                excess = lambda h, f=family, v=values: float(FAMILIES[f].rates(np.array([h]), v)[0]) - self.rate
                words.append(compact(brentq(excess, 1e-12, far, xtol=1e-14)))
        return words
