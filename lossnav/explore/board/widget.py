"""``Board`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.explore._coins import coins
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared
from lossnav.rules.derive import board
from lossnav.rules.derive.rule import LearningRule

_SHARED = constants(__file__)
_CURVATURES = np.array(_SHARED["curvatures"])


class _Numbers:
    """The rule of the switches, and its path on the bowl."""

    start: tuple[float, float]
    dt: float
    noise: float

    def positions(self) -> dict[str, str]:
        """Return {switch: position}."""
        return {switch: getattr(self, switch) for switch in board.SWITCHES}

    def rule(self) -> LearningRule:
        """Return the rule.

        Raises:
            NoMinimiser: these assumptions have no plan.
        """
        return board.chosen(self.positions(), dt=self.dt)

    def steps(self) -> int:
        """Return the number of steps until time 20."""
        return int(np.floor(_SHARED["until"] / self.dt + 1e-9))

    def kicks(self) -> Array:
        """Return what noise adds to the gradient of each step, shape (N, 2)."""
        return self.noise * coins(2 * self.steps()).reshape(-1, 2)

    def path(self) -> Array:
        """Return where the learner is after 0, 1, … steps, shape (≤ N + 1, 2); the start alone if there is no plan."""
        theta = np.array(self.start)
        places = [theta]
        try:
            rule = self.rule()
            state = rule.init(theta)
            for kick in self.kicks():
                step, state = rule(_CURVATURES * theta + kick, state, theta)
                theta = theta + step
                places.append(theta)
                if np.max(np.abs(theta)) > _SHARED["gone"]:
                    break
        except NoMinimiser:
            pass
        return np.array(places)


Board: type[Explorable] = declared(__file__, _Numbers)
