"""What ``ValueBounds`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from lossnav import explore
from lossnav._checks import Array
from oracles.common import grid, over

_SHARED = explore.ValueBounds._shared
_AXIS, _RIDGE = _SHARED["axis"], float(_SHARED["ridge"])


class ValueBounds(explore.ValueBounds):
    def bounds(self) -> tuple[float, float, float]:
        """Return the lower bound, the value and the upper bound at the start."""
        theta = np.array([self.start])
        loss = float(_loss(theta)[0])
        lower, upper = (float(loss * _per_loss(self.gamma, h)) for h in (self.smoothness, self.pl))
        return lower, loss * float(_ratio(self.gamma, theta)[0]), upper

    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the value and of its bounds over the loss, and the curvatures, over log₁₀ θ."""
        theta = grid(_AXIS)
        heights = {
            "value": np.log10(_ratio(self.gamma, theta)),
            "lower": np.full_like(theta, np.log10(_per_loss(self.gamma, self.smoothness))),
            "upper": np.full_like(theta, np.log10(_per_loss(self.gamma, self.pl))),
            "bend": _slope(theta) ** 2 / (2 * _loss(theta)),
            "smoothness": np.full_like(theta, self.smoothness),
            "pl": np.full_like(theta, self.pl),
        }
        return over(_AXIS, theta, heights)

    def said(self) -> list[str]:
        lower, value, upper = self.bounds()
        return [f"{self.start:.2f}", f"{value:.3f}", f"{lower:.3f}", f"{upper:.3f}"]


def _loss(theta: Array) -> Array:
    loss: Array = np.logaddexp(theta, -theta) - np.log(2) + _RIDGE / 2 * theta**2
    return loss


def _slope(theta: Array) -> Array:
    gradient: Array = np.tanh(theta) + _RIDGE * theta
    return gradient


def _per_loss(gamma: float, h: float) -> float:
    """Return 1/s₊(h)."""
    return float(1 / (np.sqrt(gamma**2 / 4 + h) + gamma / 2))


def _ratio(gamma: float, theta: Array) -> Array:
    """Return V/L at increasing θ > 0, shape (N,): V′ = √(2(L − γV)) in ln θ, from the bowl at the minimum."""

    def rise(u: float, y: Array) -> Array:
        x = np.array([np.exp(u)])
        loss = _loss(x)
        derivative: Array = x * (np.sqrt(np.maximum(0.0, 2 * (1 - gamma * y)) / loss) - y * _slope(x) / loss)
        return derivative

    u, initial = np.log(theta), [_per_loss(gamma, 1 + _RIDGE)]
    done = solve_ivp(rise, (np.log(1e-3), u[-1]), initial, t_eval=u, rtol=1e-9, atol=1e-12, method="LSODA")
    ratio: Array = done.y[0]
    return ratio
