"""What ``LookBill`` is to show: moments of plan and error, summed look by look, and the library's interval."""

from __future__ import annotations

import numpy as np

import lossnav as ln
from lossnav import explore, rules
from lossnav._checks import Array
from oracles.common import fixed, grid, over

_AXIS = explore.LookBill._shared["axis"]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


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
        """Return the bill and its parts, over log₁₀ of the time between two looks."""
        every = grid(_AXIS)
        looks, blind = np.array([self.bill(float(period)) for period in every]).T
        return over(_AXIS, every, {"both": looks + blind, "looks": looks, "blind": blind})

    def said(self) -> list[str]:
        best = ln.looking.interval(self.price, 1.0, 1.0, gamma=self.gamma, eta=self.eta)
        return [fixed(best, 2), *(fixed(part, 3) for part in self.bill(self.every))]
