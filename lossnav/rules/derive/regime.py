"""Whether what a rule believes stands still while it plans: the rates of its averages, its discount and its loss."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from lossnav.problem.objective import Objective
from lossnav.rules.derive import coordinate

_SCALE = 3.0  # what "much smaller" means


class Regime(NamedTuple):
    """Three rates per unit of time, which a plug-in wants far apart, the first the smallest: do they ``hold``?

    Attributes:
        beliefs: how fast the averages change, the fastest of them.
        discount: γ.
        curvature: √(ηkh/G) of the flattest coordinate.
        holds: whether beliefs ≪ γ ≪ √(ηkh/G) in every coordinate.
        quantiles: √(ηkh/G) of the flattest coordinate, of those that a quarter, a half and three quarters are below,
            and of the steepest.
        share: of the coordinates in which the order holds, in [0, 1].
    """

    beliefs: float
    discount: float
    curvature: float
    holds: bool
    quantiles: tuple[float, float, float, float, float]
    share: float


class RegimeWarning(UserWarning):
    """A rule is used outside the regime in which its estimates stand still while it plans."""


def compared(objective: Objective, case: coordinate.Case, beliefs: float) -> Regime:
    """Return the rates of a rule whose averages change at the rate ``beliefs``; warn if the order does not hold."""
    gamma = objective.gamma
    # Root by root: where a move is free, and the metric hardly above 0, their quotient is beyond what floats hold.
    steep = np.sqrt(objective.eta * objective.k) * np.sqrt(np.maximum(case.curvature, 0.0)) / np.sqrt(case.metric)
    inside = (_SCALE * beliefs <= gamma) & (_SCALE * gamma <= steep)
    holds = bool(np.all(inside))
    low, lower, middle, upper, high = (float(x) for x in np.quantile(steep, (0.0, 0.25, 0.5, 0.75, 1.0)))
    if not holds:
        warnings.warn(
            f"beliefs change at the rate {beliefs:.3g}, gamma = {gamma:.3g}, √(η·k·h) = {low:.3g} to "
            f"{high:.3g}, but the regime of the plan is beliefs ≪ gamma ≪ √(η·k·h); "
            f"{100 * np.mean(inside):.3g} % of the coordinates are in it", RegimeWarning, stacklevel=3,
        )  # fmt: skip
    return Regime(beliefs, gamma, low, holds, (low, lower, middle, upper, high), float(np.mean(inside)))
