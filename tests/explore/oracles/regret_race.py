"""What ``RegretRace`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.regret import Regret, regret
from lossnav.trajectory.solve import solve
from oracles.common import compact, inside

_SHARED = explore.RegretRace._shared
_LINES, _ADAM = _SHARED["lines"], _SHARED["adam"]


class RegretRace(explore.RegretRace):
    def paths(self) -> dict[str, Array]:
        """Return where each rule is after 0, 1, … steps, shapes (N + 1, 2)."""
        return {rule: self._walk(rule) for rule in _LINES}

    def regrets(self) -> dict[str, Regret]:
        """Return the regret of each rule; empty at the minimum, where nothing is to be regretted."""
        if not any(self.start):
            return {}
        return {rule: self._regret(path) for rule, path in self.paths().items()}

    def _regret(self, path: Array) -> Regret:
        objective, loss = Objective(gamma=self.gamma), self._loss()
        try:
            return regret(path, objective, loss)
        except ValueError:  # the longer a step lasts the better, or the shorter: the end of the range that is searched
            guess = regret(path, Objective(), loss).dt
            ends = [regret(path, objective, loss, dt=guess * math.exp(u)) for u in (-_SHARED["far"], _SHARED["far"])]
            return min(ends, key=lambda end: end.total)

    def _loss(self) -> Quadratic:
        return Quadratic(np.diag([1.0, self.kappa]), minimum=(0.0, 0.0))

    def _walk(self, rule: str) -> Array:
        h, root = np.array([1.0, self.kappa]), math.sqrt(self.kappa)
        share = (root - 1) / (root + 1)
        x, m, v = np.array(self.start), np.zeros(2), np.zeros(2)
        places, enough = [x], _SHARED["arrive"] * (h @ x**2)
        (b1, b2), n = _ADAM["decays"], 0
        while len(places) <= _SHARED["steps"] and (h @ x**2 > enough or n < 1):
            n += 1
            if rule == "adam":
                m, v = b1 * m + (1 - b1) * h * x, b2 * v + (1 - b2) * (h * x) ** 2
                x = x - _ADAM["rate"] * m / (1 - b1**n) / (np.sqrt(v / (1 - b2**n)) + _ADAM["tiny"])
            elif rule == "heavy":
                m = share**2 * m - 4 * h * x / (1 + root) ** 2
                x = x + m
            elif rule == "nesterov":
                ahead = x + share * m
                m = share * m - h * ahead / self.kappa
                x = x + m
            else:
                factor = {
                    "descent": h / self.kappa, "newton": np.full(2, _SHARED["newton"]),
                    "ballistic": _SHARED["ballistic"] * np.sqrt(h) / root,
                }[rule]  # fmt: skip
                x = x - factor * x
            places.append(x)
        return np.array(places)

    def said(self) -> list[str]:
        least = min(self.regrets().values(), key=lambda bill: bill.relative)
        return [f"pays {compact(least.relative)} of"]

    def shows(self) -> dict[str, list[Array]]:
        edge = _SHARED["edge"]
        lines = self.paths()
        if any(self.start):
            slow = float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])
            best = solve(Objective(gamma=self.gamma), self._loss(), self.start)
            lines["optimal"] = best(9 / slow * np.linspace(0, 1, 121) ** 3)
        return {name: inside(line, (-edge, edge), (-edge, edge)) for name, line in lines.items()}
