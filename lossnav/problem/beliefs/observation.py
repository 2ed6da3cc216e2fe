"""The two halves of a belief model: how quantities are believed to move (Eq. 13), and what is seen of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array


@dataclass(frozen=True)
class Prior:
    """An Ornstein–Uhlenbeck belief, dx = −αx dt + σ dW (Eq. 13).

    Args:
        decay: α >= 0, unit 1/time; 0 is a random walk.
        diffusion: σ > 0, unit of x per √time.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    decay: float = 0.0
    diffusion: float = 1.0

    def __post_init__(self) -> None:
        _checks.check(self, decay=_checks.nonnegative, diffusion=_checks.positive)

    def cost(self, x: Any, speed: Any) -> Array:
        """Return (ẋ+αx)²/2σ², the rate of −log of a path's density (Onsager–Machlup) up to a constant."""
        x, speed = (_checks.reals(name, value) for name, value in (("x", x), ("speed", speed)))
        _checks.together(x=x, speed=speed)
        return (speed + self.decay * x) ** 2 / (2 * self.diffusion**2)

    def stiffness(self, gamma: float) -> float:
        """Return α(α+γ), the pull towards zero in the Euler–Lagrange equation, unit 1/time²."""
        return self.decay * (self.decay + _checks.finite("gamma", gamma, low=0.0))


@dataclass(frozen=True)
class Simplified:
    """Two independent data: g ~ N(m, s_m²) and q ~ N(V, s_V²) (Eq. 141).

    Gaussian data on V do not know that V > 0; a plan that leaves V > 0 is refused.

    Args:
        mean_noise: s_m > 0, unit √time/u.
        variance_noise: s_V > 0, unit √time/u².

    Raises:
        ValueError: naming the argument that is out of range.
    """

    mean_noise: float = 1.0
    variance_noise: float = 1.0

    def __post_init__(self) -> None:
        _checks.check(self, mean_noise=_checks.positive, variance_noise=_checks.positive)

    def cost(self, m: Any, v: Any, g: Any, q: Any) -> Array:
        """Return (g−m)²/2s_m² + (q−V)²/2s_V²."""
        m, v, g, q = _data(m=m, v=v, g=g, q=q)
        return (g - m) ** 2 / (2 * self.mean_noise**2) + (q - v) ** 2 / (2 * self.variance_noise**2)

    def derivative(self, m: Any, v: Any, g: Any, q: Any) -> tuple[Array, Array]:
        """Return its derivatives by m and V."""
        m, v, g, q = _data(m=m, v=v, g=g, q=q)
        return -(g - m) / self.mean_noise**2, -(q - v) / self.variance_noise**2

    def second_derivative(self, m: Any, v: Any, g: Any, q: Any) -> tuple[Any, Any, Any]:
        """Return its second derivatives by mm, mV, VV."""
        _data(m=m, v=v, g=g, q=q)
        return 1 / self.mean_noise**2, 0.0, 1 / self.variance_noise**2

    def noises(self, variance: float | None = None) -> tuple[float, float]:
        """Return (s_m, s_V)."""
        if variance is not None:
            _checks.positive("variance", variance)
        return self.mean_noise, self.variance_noise


@dataclass(frozen=True)
class Exact:
    """One datum g ~ N(m, V) (Eq. 138), believed to tell of both.

    −log p falls without bound as V → 0 with m = g, so a plan that is stationary can only be a local minimum.
    Its methods do not look at q: any number will do.
    """

    def cost(self, m: Any, v: Any, g: Any, q: Any) -> Array:
        """Return (g−m)²/2V + ½ ln V."""
        m, v, g, _ = _spread(_data(m=m, v=v, g=g, q=q))
        return (g - m) ** 2 / (2 * v) + np.log(v) / 2

    def derivative(self, m: Any, v: Any, g: Any, q: Any) -> tuple[Array, Array]:
        """Return its derivatives by m and V; the second is −[(g−m)² − V]/2V² (Eq. 140)."""
        m, v, g, _ = _spread(_data(m=m, v=v, g=g, q=q))
        return -(g - m) / v, -((g - m) ** 2 - v) / (2 * v**2)

    def second_derivative(self, m: Any, v: Any, g: Any, q: Any) -> tuple[Any, Any, Any]:
        """Return its second derivatives by mm, mV, VV."""
        m, v, g, _ = _spread(_data(m=m, v=v, g=g, q=q))
        return 1 / v, (g - m) / v**2, (g - m) ** 2 / v**3 - 1 / (2 * v**2)

    def noises(self, variance: float | None = None) -> tuple[float, float]:
        """Return (√V, √2·V): the noises of a simplified model with the same equations near this V (Eq. 140)."""
        if variance is None:
            raise ValueError("variance = None, but the exact model's noise depends on it: it must be a number > 0")
        v = _checks.positive("variance", variance)
        return float(np.sqrt(v)), float(np.sqrt(2) * v)


def _data(**values: Any) -> tuple[Array, ...]:
    """Return the arguments as arrays that broadcast."""
    arrays = {name: _checks.reals(name, value) for name, value in values.items()}
    _checks.together(**arrays)
    return tuple(arrays.values())


def _spread(data: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the arguments if V > 0: there is no Gaussian otherwise."""
    if (data[1] <= 0).any():
        raise ValueError(f"v = {_checks.shown(data[1])}, but all its entries must be > 0")
    return data


Observation = Simplified | Exact
