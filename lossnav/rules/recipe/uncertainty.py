"""How a weight that was certain becomes uncertain again: by travelling, or by being drawn afresh (Sec. 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lossnav import _checks
from lossnav._checks import Array
from lossnav.rules.recipe.memory import Filter


@dataclass(frozen=True)
class Blur:
    """A mean that travels is less certain: its variance 1/p grows by χu² a unit of time, at most to the prior's.

    Over a time in which u does not change that is p ← p/(1 + χu²pΔt), exactly.

    Args:
        speed: χ >= 0.
        drift: filter of the velocity, whose value is u: noise alone would blur with the raw one.
    """

    speed: float
    drift: Filter = field(default_factory=Filter)

    def __post_init__(self) -> None:
        object.__setattr__(self, "speed", _checks.finite("speed", self.speed, low=0.0))
        _checks.instance("drift", self.drift, Filter, "a Filter")

    def _blurred(self, curvature: Array, drift: Array, floor: float, dt: float) -> Array:
        """Return V after Δt."""
        precision = curvature + floor
        return np.maximum(precision / (1 + self.speed * drift**2 * precision * dt) - floor, 0.0)

    def _rate(self, curvature: Array, rate: Array, drift: Array, floor: float) -> Array:
        """Return V̇ where learning alone gives ``rate``; at the prior it cannot fall."""
        total = rate - self.speed * drift**2 * (curvature + floor) ** 2
        return np.where(curvature > 0, total, np.maximum(total, 0.0))


@dataclass(frozen=True)
class Renewal:
    """Weights that have learned nothing for long are drawn afresh from the prior: jumps, which no velocity knows.

    A weight is idle if V < threshold · floor and its last renewal is more than ``age`` ago. It is renewed at the rate
    ``intensity``: with the probability 1 − e^{−intensity·Δt} in a step.

    Args:
        intensity: λ in [0, inf], per unit of time; inf renews all that are idle.
        threshold: >= 0, in units of the prior's precision.
        age: >= 0, a time.
    """

    intensity: float
    threshold: float = 0.1
    age: float = 1000.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "intensity", _checks.duration("intensity", self.intensity, zero=True))
        for name in ("threshold", "age"):
            object.__setattr__(self, name, _checks.finite(name, getattr(self, name), low=0.0))

    @classmethod
    def of_probability(cls, probability: float, threshold: float = 0.1, age: float = 1000.0) -> Renewal:
        """Return the renewal that happens with this probability in a unit of time, [0, 1]."""
        chance = _checks.finite("probability", probability, low=0.0, high=1.0)
        return cls(math.inf if chance == 1 else -math.log1p(-chance), threshold, age)

    def _chosen(self, curvature: Array, age: Array, floor: float, uniform: Array, dt: float) -> NDArray[np.bool_]:
        """Return which weights are renewed, truth values shaped like θ."""
        idle = (curvature < self.threshold * floor) & (age > self.age)
        return idle & (uniform < -math.expm1(-self.intensity * dt))
