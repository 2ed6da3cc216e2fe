r"""Natural units of a plan of beliefs: the weight's own pace, a variance of one, λ_b = 1.

With :math:`t=\tau t'`, :math:`\delta=\lambda\delta'`, :math:`m=m'/\lambda`, :math:`V=V'/\lambda^2` and J = jJ′ the
problem keeps its form with :math:`\eta'=\eta j\tau/\lambda^2`, k′ = kτ/j, γ′ = γτ, α′ = ατ and, for m and V,
:math:`\sigma_m'=\sigma_m\lambda\sqrt\tau`, :math:`\sigma_V'=\sigma_V\lambda^2\sqrt\tau`,
:math:`s_m'=s_m\lambda/\sqrt\tau`, :math:`s_V'=s_V\lambda^2/\sqrt\tau`. The exact observation model has no noise of its
own to carry the unit of time: it is left in the user's units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lossnav._checks import Array
from lossnav.belief.model import Beliefs
from lossnav.belief.observation import Prior, Simplified

_NEAR = 6  # binary orders within which the user's own units are as good


@dataclass(frozen=True)
class Units:
    """Units of time, of the weight and of J, in the user's units; powers of four, so that all digits are kept."""

    time: float
    length: float
    cost: float

    def model(self, model: Beliefs) -> Beliefs:
        """Return the dimensionless assumptions."""
        seen = model.observation
        assert isinstance(seen, Simplified)
        root = math.sqrt(self.time)
        mean, variance = self.length * root, self.length * self.length * root
        return Beliefs(
            eta=model.eta * self.cost * self.time / self.length / self.length,
            k=model.k * self.time / self.cost,
            gamma=model.gamma * self.time,
            curvature_scale=model.curvature_scale,
            mean=Prior(model.mean.decay * self.time, model.mean.diffusion * mean),
            variance=Prior(model.variance.decay * self.time, model.variance.diffusion * variance),
            observation=Simplified(seen.mean_noise * mean / self.time, seen.variance_noise * variance / self.time),
            weight=model.weight / self.cost,
        )

    def datum(self, value: Any, power: int) -> Any:
        """Return g (power 1) or q (power 2), a number or a function of time, dimensionless."""
        if callable(value):
            return lambda t: np.asarray(value(np.asarray(t) * self.time), dtype=np.float64) * self.length**power
        return float(value) * self.length**power

    @property
    def scales(self) -> Array:
        """What δ, m and V are multiplied by, shape (3,)."""
        return np.array([self.length, 1 / self.length, 1 / self.length**2])

    def solution(self, inner: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """Return (δ, m, ln V) and its velocity, shape (6, T), in the user's units."""
        factors = np.array([self.length, 1 / self.length, 1.0])
        factors = np.concatenate([factors, factors / self.time])[:, None]
        shift = np.array([0.0, 0.0, -2 * math.log(self.length), 0.0, 0.0, 0.0])[:, None]
        return lambda t: inner(t / self.time) * factors + shift


def natural(model: Beliefs, variance: float, span: float) -> Units | None:
    """Return natural units for a plan from V = ``variance``, or None if the user's own are as good."""
    if not isinstance(model.observation, Simplified):
        return None
    parts = (model.eta, model.k, model.curvature_scale, variance)
    time = -2 * round(sum(math.log2(part) for part in parts) / 4)  # 1/√(ηkcV), even: its root is a power of two as well
    length, cost = -round(math.log2(variance) / 2), 2 * round(math.log2(model.weight) / 2)
    if max(map(abs, (time, length, cost))) <= _NEAR or max(map(abs, (time, 2 * length, cost))) > 900:
        return None
    return Units(2.0**time, 2.0**length, 2.0**cost)
