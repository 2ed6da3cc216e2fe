"""Decay: what moves a weight without any gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lossnav import _checks
from lossnav._checks import Array


@dataclass(frozen=True)
class Decoupled:
    """Decoupled weight decay, θ̇ = … − wθ, past the preconditioner.

    Args:
        rate: w >= 0, per unit of time.
        exact: whether a step shrinks by e^{−wΔt}; False is Euler's 1 − wΔt, as AdamW and the optimizers here do.
    """

    rate: float = 0.0
    exact: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _checks.finite("rate", self.rate, low=0.0))
        object.__setattr__(self, "exact", _checks.flag("exact", self.exact))

    def _force(self, theta: Array) -> Array | float:
        return 0.0

    def _velocity(self, theta: Array, dt: float) -> Array:
        """Return the mean velocity over a step; at Δt = 0 the velocity itself."""
        if self.exact and self.rate * dt > 0:
            return math.expm1(-self.rate * dt) / dt * theta
        return -self.rate * theta


@dataclass(frozen=True)
class Prior:
    """The pull of a Gaussian prior, a gradient of its own that passes the preconditioner: m + strength·(θ − mean).

    Args:
        strength: T/v_p >= 0, a curvature: temperature over the prior's variance.
        mean: μ_p, in the units of θ.
    """

    strength: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", _checks.finite("strength", self.strength, low=0.0))
        object.__setattr__(self, "mean", _checks.finite("mean", self.mean))

    def _force(self, theta: Array) -> Array | float:
        return self.strength * (theta - self.mean)

    def _velocity(self, theta: Array, dt: float) -> Array | float:
        return 0.0
