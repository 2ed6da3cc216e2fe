"""What ``Deadline`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import LossWeight, deadline_rate, loss_weight
from oracles.common import compact, fixed

_SHARED = explore.Deadline._shared


class Deadline(explore.Deadline):
    def multiplier(self, curvature: ArrayLike, remaining: ArrayLike) -> Array:
        """Return the rate over the largest on the way.

        Args:
            curvature: h ≥ 0.
            remaining: s in [0, T], of a shape that broadcasts with ``curvature``.
        """
        objective = Objective(gamma=self.gamma, terminal=self.charge)
        ends = np.maximum(deadline_rate(objective, curvature, self.span), deadline_rate(objective, curvature, 0.0))
        multiplier: Array = deadline_rate(objective, curvature, remaining) / ends
        return multiplier

    def weight(self) -> tuple[Array, float]:
        """Return k·T of the drawn schedule in 24 equal parts of the time, and the charge at the deadline."""
        fine = np.interp(np.linspace(0, 6, 6 * _SHARED["parts"] + 1), np.arange(7), self.drawn)
        schedule = loss_weight(fine, self.gamma * self.span)
        return schedule.weight, float(np.sum(schedule.charges))

    def at_many_times(self) -> LossWeight:
        """Return what the drawn schedule asks for, by many times."""
        return loss_weight(np.interp(np.linspace(0, 6, 600_001), np.arange(7), self.drawn), self.gamma * self.span)

    def negative(self) -> float:
        """Return the share of the time in which the weight is negative."""
        return float(np.mean(self.at_many_times().weight < -1e-9))

    def end_share(self) -> float:
        """Return the charge at the deadline over all that is charged."""
        asked = self.at_many_times()
        end = float(np.sum(asked.charges))
        return end / (float(np.mean(np.abs(asked.weight))) + end)

    def said(self) -> list[str]:
        left = [fixed(float(self.multiplier(h, self.span / 10)), 2) for h in (0.0, 1.0, 25.0)]
        return [*left, f"negative for {compact(100 * self.negative()) if self.negative() else 0} %"]

    def shows(self) -> dict[str, list[Array]]:
        u = np.linspace(0, 1, 161)
        weight, _ = self.weight()
        relative = weight / max(float(np.max(np.abs(weight))), 1e-9)
        places = (np.arange(len(weight)) + 0.5) / len(weight)
        return {
            **{
                name: [np.stack([self.span * u, self.multiplier(line["h"], self.span * (1 - u))], axis=1)]
                for name, line in _SHARED["lines"].items()
            },
            "drawn": [np.stack([np.linspace(0, 1, 7), self.drawn], axis=1)],
            "weight": [np.stack([places, relative], axis=1)],
        }
