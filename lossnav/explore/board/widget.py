"""``Board`` in Python: its state."""

from __future__ import annotations

from functools import partial

import numpy as np
import traitlets

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.explore._coins import coins
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.rules.derive import board
from lossnav.rules.derive.rule import LearningRule

_SHARED = constants(__file__)
_CURVATURES = np.array(_SHARED["curvatures"])
_HOLD: float = _SHARED["hold"]
_START = (-3.1, 2.7)


def _switch(name: str, default: str) -> traitlets.Enum[str]:
    allowed = list(board.SWITCHES[name])
    return traitlets.Enum(allowed, default).tag(sync=True, check=partial(_checks.one_of, allowed=allowed))


class Board(Explorable):
    """Six switches of assumptions, the equation and the torch code that follow, and the path that the rule takes.

    The path is on the bowl h = (1/9, 1) with η = k = c = 1, γ = 0 or ½, j = ⅛, α = ¼, β = 0.9, and 0.999 for averages
    of g², until time 20 or until it is lost (|θᵢ| > 40).

    Args:
        horizon: ``"far"`` (γ = 0) or ``"discounted"``.
        metric: ``"plain"`` or ``"rms"`` (√V).
        drift: ``"none"`` or ``"decay"``.
        belief: ``"exact"``, ``"average"`` or ``"fading"``.
        curvature: ``"none"``, ``"average"``, ``"instant"`` or ``"signal"``.
        time: ``"first"`` or ``"exact"``.
        start: θ(0), two numbers in [−3.8, 3.8].
        dt: Δt, in [0.02, 2].
        noise: what a coin adds to or takes from each entry of each gradient, in [0, 2].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Board().name(), Board(belief="exact").name()
        ('Adam', 'RMSprop')
        >>> Board().path()[:2].round(3)
        array([[-3.1  ,  2.7  ],
               [-3.042,  2.608]])
    """

    horizon = _switch("horizon", "far")
    metric = _switch("metric", "plain")
    drift = _switch("drift", "none")
    belief = _switch("belief", "fading")
    curvature = _switch("curvature", "average")
    time = _switch("time", "first")
    start = point_trait(_START, _HOLD)
    dt = number_trait(_SHARED["dt"], 0.1)
    noise = number_trait(_SHARED["noise"], 0.0)

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
