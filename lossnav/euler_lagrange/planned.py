r"""One coordinate of a plan on beliefs: its Euler–Lagrange equation, and the velocity that solves it, as formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from lossnav.euler_lagrange.derivation import derive


@dataclass(frozen=True, eq=False)
class Planned:
    """Formulas of one coordinate: the equation in θ(t), planned from θ₀ at t = 0, and the velocity there."""

    equations: list[Any]
    velocity: Any


def coordinate(*, metric: bool, decay: bool, curvature: str, fading: bool, trend: bool) -> Planned:
    r"""Return the formulas under the assumptions that are made.

    The loss is that of the belief, (m + ṁt)e^{−αt}θ + ½h(θ − θ₀)², the drift −jθ, the metric a number G.

    Args:
        metric: whether speed has a price G other than 1.
        decay: whether there is a drift.
        curvature: "none", "known" (h) or "averaged" (h = cV).
        fading: whether the belief fades at a rate α.
        trend: whether it has a slope ṁ.
    """
    positive = {"positive": True}
    G = sympy.Symbol("G", **positive) if metric else sympy.Integer(1)
    j = sympy.Symbol("j", **positive) if decay else sympy.Integer(0)
    alpha = sympy.Symbol("alpha", **positive) if fading else sympy.Integer(0)
    m, t = sympy.Symbol("m", real=True), sympy.Symbol("t", real=True)
    slope = sympy.Symbol("mdot", real=True) if trend else sympy.Integer(0)
    h = {
        "none": sympy.Integer(0),
        "known": sympy.Symbol("h", real=True),
        "averaged": sympy.Symbol("c", **positive) * sympy.Symbol("V", **positive),
    }[curvature]
    theta, start = sympy.Symbol("theta", real=True), sympy.Symbol("theta_0", real=True)
    derived = derive(
        1, metric=[[G]], drift=[-j * theta],
        loss=(m + slope * t) * sympy.exp(-alpha * t) * theta + h * (theta - start) ** 2 / 2,
    )  # fmt: skip
    eta, k, gamma = derived.eta, derived.k, derived.gamma
    fast = gamma + j if h == 0 else sympy.sqrt((gamma / 2 + j) ** 2 + eta * k * h / G) + gamma / 2
    held = m / (fast + alpha) + slope / (fast + alpha) ** 2
    return Planned(derived.equations, -j * (gamma + j) / fast * start - eta * k / G * held)
