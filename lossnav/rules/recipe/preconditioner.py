r"""Preconditioners: how fast a coordinate of believed curvature follows its gradient, θ̇ = −s(V) m."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.objective import Objective, check_objective
from lossnav.trajectory import modes

NEGATIVE = ("absolute", "clip", "signed")
_TINY = 1e-30  # a root of zero: 0/_TINY is 0, where 0/0 would be NaN


@dataclass(frozen=True)
class Plan:
    r"""The rate of a learner who plans ahead on a curvature h = cV (Eqs. 6, 14), with the belief in m fading or not.

    .. math::
        \dot\theta = -s\,m,\qquad
        s = \frac{\eta k}{\sqrt{\gamma^2/4+\eta kh}+\gamma/2+\alpha}
          = \frac{\mathrm{rate}}{\sqrt{V+\varepsilon_{in}+\varepsilon^2}+\varepsilon+\varepsilon_\alpha}

    With rate = √(ηk/c), ``discount`` ε = γ/(2√(ηkc)) and ``fading`` ε_α = α/√(ηkc). Neither of them, and a floor: the
    ballistic rule. A fading: Adam's 1/(√V + ε). A discount: the rule of ``Belief(discount=ε)``; ε = inf is the limit in
    which the rate does not fall with it, s = rate (gradient descent).

    Args:
        rate: √(ηk/c) >= 0; with ``discount=inf`` the learning rate ηk/γ. Both per unit of time.
        floor: ε_in >= 0, added to V: a curvature that is believed in before any datum.
        fading: ε_α >= 0, in the units of √V: the rate α at which the gradient is believed to fade.
        discount: ε in [0, inf], in the units of √V.
        curvature_scale: c >= 0. Where c > 0 a step of finite Δt is the exact one for the curvature h = c(V + floor),
            (1 − e^{−shΔt})/h; 0 makes it Δt·s.
        negative: what V is where it is negative, before the floor is added: "absolute" |V|, "clip" 0, "signed" V but
            not below −ε², where a minimiser stops to exist.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 7, 14, 33; ε_α as a belief that fades is ours, and with c > 0 and
        ε_α > 0 the step is exact for this velocity, not for a plan in which m fades within the step.
    """

    rate: float
    floor: float = 0.0
    fading: float = 0.0
    discount: float = 0.0
    curvature_scale: float = 0.0
    negative: str = "absolute"

    def __post_init__(self) -> None:
        for name in ("rate", "floor", "fading", "curvature_scale"):
            object.__setattr__(self, name, _checks.finite(name, getattr(self, name), low=0.0))
        object.__setattr__(self, "discount", _checks.duration("discount", self.discount, zero=True))
        _checks.one_of("negative", self.negative, NEGATIVE)

    @classmethod
    def of(cls, objective: Objective) -> Plan:
        """Return the plan that is optimal for an objective, to be fed with the curvature h itself (Eq. 6).

        Raises:
            ValueError: it has a metric, a drift or a horizon, which no plan of one coordinate knows.
        """
        check_objective(objective)
        for name in ("metric", "drift"):
            if getattr(objective, name) is not None:
                raise ValueError(f"objective.{name} is set, but it must be None: a Plan knows one coordinate alone")
        if objective.horizon < math.inf:
            raise ValueError(f"objective.horizon = {objective.horizon:g}, but it must be inf: a Plan knows no deadline")
        root = math.sqrt(objective.eta * objective.k)
        return cls(root, discount=objective.gamma / (2 * root), curvature_scale=1.0, negative="signed")

    def _gain(self, variance: Array, dt: float) -> Array:
        """Return the mean of the rate over a step, φ/Δt; at Δt = 0 the rate s itself."""
        believed = self._bounded(variance) + self.floor
        if self.discount == math.inf:
            gain = np.full_like(believed, self.rate)
        else:
            root = modes.fast_rate(believed, 1.0, 2 * self.discount) + self.fading
            gain = self.rate / np.maximum(root, _TINY)
        if self.curvature_scale == 0 or dt == 0:
            return gain
        return gain * modes.exp_mean(dt * gain * (self.curvature_scale * believed))

    def _bounded(self, variance: Array) -> Array:
        if self.negative == "absolute":
            return np.abs(variance)
        lowest = 0.0 if self.negative == "clip" else -self.discount * self.discount
        return np.maximum(variance, lowest)

    def _limited(self, velocity: Array, variance: Array) -> Array:
        return velocity


@dataclass(frozen=True)
class Newton:
    r"""The inverse of a precision, an online Newton step: θ̇ = −rate · m / p with p = V + 1/v_p.

    Args:
        rate: >= 0, per unit of time.
        floor: 1/v_p > 0, the precision of the prior. V is what the data add to it.
        radius: in (0, inf], a trust region: no weight moves by more than ``radius`` standard deviations 1/√p in a unit
            of time.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 16, 148; prior and trust region are ours.
    """

    rate: float
    floor: float
    radius: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _checks.finite("rate", self.rate, low=0.0))
        object.__setattr__(self, "floor", _checks.positive("floor", self.floor))
        object.__setattr__(self, "radius", _checks.duration("radius", self.radius))

    def _gain(self, variance: Array, dt: float) -> Array:
        return self.rate / (variance + self.floor)

    def _limited(self, velocity: Array, variance: Array) -> Array:
        """Return the velocity within the trust region."""
        if self.radius == math.inf:
            return velocity
        widest = self.radius / np.sqrt(variance + self.floor)
        return np.clip(velocity, -widest, widest)
