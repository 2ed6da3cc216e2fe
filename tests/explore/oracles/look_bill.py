"""What ``LookBill`` is to show: moments of plan and error, summed look by look, and the library's interval."""

from __future__ import annotations

import numpy as np

import lossnav as ln
from lossnav import explore, rules
from lossnav._checks import Array
from oracles.common import fixed, grid, over, points

_AXIS = explore.LookBill._shared["axis"]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(120)


class LookBill(explore.LookBill):
    def bill(self, every: float) -> tuple[float, float]:
        """Return what looks cost and what not seeing costs, both per unit of time; kh = D = 1."""
        gamma = max(self.gamma, 2e-4)  # without a discount the limit of a small one
        r = float(rules.rates(ln.Objective(eta=self.eta, gamma=gamma), [[1.0]])[0])
        t, part = every * (1 + _NODES) / 2, every * _WEIGHTS / 2
        fades = part * np.exp(-gamma * t)
        held = fades @ np.exp(-2 * r * t) * (r * r / self.eta + 1) / 2  # a plan from 1, until the next look
        error = fades @ t / 2
        count = int(40 / (gamma * every)) + 1
        moved = every * -np.expm1(-2 * r * every * np.arange(count)) / -np.expm1(-2 * r * every)  # variance of the plan
        share = gamma * np.exp(-gamma * every * np.arange(count))
        return float(share.sum() * self.price), float(share @ (held * moved + error) - r / (2 * self.eta))

    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the bill and of its parts, over log₁₀ of the time between looks, and where it is least."""
        every, best = grid(_AXIS), np.full(2, self._best())
        looks, blind = np.array([self.bill(float(period)) for period in every]).T
        costs = {"both": looks + blind, "looks": looks, "blind": blind}
        lines = over(_AXIS, every, {name: np.log10(cost) for name, cost in costs.items()})
        return {**lines, "best": points(_AXIS, best, np.full(2, np.log10(sum(self.bill(best[0])))))}

    def _best(self) -> float:
        return float(ln.looking.interval(self.price, 1.0, 1.0, gamma=self.gamma, eta=self.eta))

    def said(self) -> list[str]:
        return [fixed(self._best(), 2), *(fixed(part, 3) for part in self.bill(self.every))]
