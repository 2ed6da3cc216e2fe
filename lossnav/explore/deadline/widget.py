"""``Deadline`` in Python: its state, the rates, the weight that a drawn schedule asks for, and its static twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate, loss_weight

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_COSINE = tuple(_SHARED["presets"]["cosine"])


def _rates(name: str, value: Sequence[float]) -> tuple[float, ...]:
    rates = _checks.nonnegatives(name, value, shape=(len(_COSINE),))
    if np.any(rates > 1):
        raise ValueError(f"{name} = {_checks.shown(value)}, but its entries must be in [0, 1]")
    return tuple(map(float, rates))


class Deadline(Explorable):
    """The optimal rates of three curvatures up to a deadline, and the loss weight that a drawn schedule asks for.

    Args:
        span: T, the time to the deadline, in [1, 10]; η = k = 1.
        gamma: discount rate γ, in [0, 4].
        charge: c, what the loss at the deadline is charged, in [0, 4].
        drawn: a schedule: 7 rates in [0, 1] at equal distances in time, joined by straight lines.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> [round(float(x), 2) for x in Deadline(gamma=0.0).multiplier([0.0, 1.0, 25.0], 0.6)]
        [0.1, 0.54, 1.0]
    """

    span = number_trait(_MARKS["span"], 6.0)
    gamma = number_trait(_MARKS["gamma"], 0.5)
    charge = number_trait(_MARKS["charge"], 0.0)
    drawn = traitlets.Tuple(*[traitlets.Float(min=0.0, max=1.0)] * len(_COSINE), default_value=_COSINE).tag(
        sync=True, check=_rates
    )

    def multiplier(self, curvature: ArrayLike, remaining: ArrayLike) -> Array:
        """Return the rate over the largest on the way.

        Args:
            curvature: h ≥ 0.
            remaining: s in [0, T], of a shape that broadcasts with ``curvature``.

        Raises:
            ValueError: naming the argument.
        """
        h, left = _checks.nonnegatives("curvature", curvature), _checks.nonnegatives("remaining", remaining)
        objective = Objective(gamma=self.gamma, terminal=self.charge)
        ends = np.maximum(deadline_rate(objective, h, self.span), deadline_rate(objective, h, 0.0))
        found: Array = deadline_rate(objective, h, left) / ends
        return found

    def weight(self) -> tuple[Array, float]:
        """Return k·T of the drawn schedule in 24 equal parts of the time, and the charge at the deadline."""
        fine = np.interp(np.linspace(0, 6, 6 * _SHARED["parts"] + 1), np.arange(7), self.drawn)
        found = loss_weight(fine, self.gamma * self.span)
        return found.weight, float(np.sum(found.charges))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        left = ", ".join(
            f"{line['name']} {float(self.multiplier(line['h'], self.span / 10)):.2f}"
            for line in _SHARED["lines"].values()
        )
        weight, end = self.weight()
        return (
            f"The rates of three curvatures up to a deadline after {self.span:.2f}, for a discount rate of "
            f"{self.gamma:.2f} and a charge of {self.charge:.2f}. When a tenth of the time is left they are at {left} "
            "of their largest. Below, a schedule and the loss weight that it asks for, which is negative for "
            f"{100 * np.mean(weight < -1e-9):.0f} % of the time; its last rate is {end:.2f}."
        )

    def picture(self) -> str:
        """Return the rates, the drawn schedule and its weight, as an SVG document."""
        image = Picture(720, 640, _SHARED["title"])
        above = Panel((46, 56, 530, 246), (0, _SHARED["window"]), (0, 1.05))
        image.frame(above, "rate, as a share of its largest", range(0, 11, 2), (0, 0.5, 1), "time t")
        u = np.linspace(0, 1, 161)
        for row, (name, line) in enumerate(_SHARED["lines"].items()):
            rates = self.multiplier(line["h"], self.span * (1 - u))
            tint, dash = colour(line["tint"]), line["dash"]
            image.line(above, np.stack([self.span * u, rates], axis=1), tint, 2.4, dash, name)
            image.legend(548, 120 + 28 * row, line["name"], tint, dash)
        image.text(548, 80, f"T = {self.span:.2f}, γ = {self.gamma:.2f}")
        image.text(548, 100, f"c = {self.charge:.2f}")
        middle = Panel((46, 318, 706, 438), (-0.02, 1.02), (-0.05, 1.05))
        image.frame(middle, "your schedule", (), (0, 1), "")
        image.line(middle, np.stack([np.linspace(0, 1, 7), self.drawn], axis=1), colour("belief"), 2.6, name="drawn")
        below = Panel((46, 486, 706, 596), (-0.02, 1.02), (-1.1, 1.1))
        image.frame(
            below, "the weight of the loss that it asks for, relative", (0, 1), (-1, 0, 1), "time, in parts of T"
        )
        weight, _ = self.weight()
        relative = weight / max(float(np.max(np.abs(weight))), 1e-9)
        places = (np.arange(len(weight)) + 0.5) / len(weight)
        image.line(below, np.stack([places, relative], axis=1), colour("ink"), 1.6, name="weight")
        return image.svg()
