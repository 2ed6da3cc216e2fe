"""``ValueBounds`` in Python: its state, the value and its bounds, and its static twin."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS, _RIDGE = _SHARED["marks"], _SHARED["axis"], float(_SHARED["ridge"])


class ValueBounds(Curves):
    """The least cost on L = ln cosh θ + θ²/20 with η = k = 1, between the two bounds of (L24).

    Args:
        gamma: discount rate γ, in [0, 2].
        smoothness: M that is claimed, in [0.2, 2]; 1.1 holds everywhere.
        pl: μ that is claimed, in [0.05, 1]; 0.1 holds everywhere.
        start: θ that is marked, in [0.1, 10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> [round(x, 3) for x in ValueBounds().bounds()]  # lower bound, value, upper bound
        [2.631, 3.947, 8.726]
    """

    gamma = number_trait(_MARKS["gamma"], 0.0)
    smoothness = number_trait(_MARKS["smoothness"], 1.1)
    pl = number_trait(_MARKS["pl"], 0.1)
    start = number_trait(_AXIS["range"], 3.0)

    def bounds(self) -> tuple[float, float, float]:
        """Return the lower bound, the value and the upper bound at the start."""
        here = np.array([self.start])
        loss = float(_loss(here)[0])
        lower, upper = (float(loss * _per_loss(self.gamma, h)) for h in (self.smoothness, self.pl))
        return lower, loss * float(_ratio(self.gamma, here)[0]), upper

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        lower, value, upper = self.bounds()
        return (
            "The least cost over the loss against the start, which rises from that of a steep bowl towards that of a "
            "shallow one, with a level for each bound. Below, |∇L|²/2L, which falls, with the levels M and μ. At "
            f"{self.start:.2f} the value is {value:.3f}, the lower bound {lower:.3f} and the upper one {upper:.3f}."
        )


def _loss(theta: Array) -> Array:
    found: Array = np.logaddexp(theta, -theta) - np.log(2) + _RIDGE / 2 * theta**2
    return found


def _slope(theta: Array) -> Array:
    found: Array = np.tanh(theta) + _RIDGE * theta
    return found


def _per_loss(gamma: float, h: float) -> float:
    """Return 1/s₊(h)."""
    return float(1 / (np.sqrt(gamma**2 / 4 + h) + gamma / 2))


def _ratio(gamma: float, theta: Array) -> Array:
    """Return V/L at increasing θ > 0, shape (N,): V′ = √(2(L − γV)) in ln θ, from the bowl at the minimum."""

    def rise(u: float, y: Array) -> Array:
        x = np.array([np.exp(u)])
        loss = _loss(x)
        found: Array = x * (np.sqrt(np.maximum(0.0, 2 * (1 - gamma * y)) / loss) - y * _slope(x) / loss)
        return found

    u, first = np.log(theta), [_per_loss(gamma, 1 + _RIDGE)]
    done = solve_ivp(rise, (np.log(1e-3), u[-1]), first, t_eval=u, rtol=1e-9, atol=1e-12, method="LSODA")
    found: Array = done.y[0]
    return found
