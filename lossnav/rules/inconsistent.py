r"""Planners whose discount is not exponential: what they plan, what they do, and what they would do if they knew.

With a discount other than :math:`e^{-\gamma t}` the plan of today is not the plan of tomorrow. Who *commits* follows
the first plan; who is *naive* makes a new one all the time and follows none; who is *sophisticated* knows this, and
answers what later selves will do (book: L17, L19).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.objective import Objective, check_objective

_PLANNERS = ("committed", "naive", "sophisticated")
_FAR = 1e120  # squares and their quotients stay numbers


def hyperbolic_rate(
    objective: Objective, curvature: float, alpha: float, power: float, elapsed: ArrayLike = 0.0, *,
    planner: str = "naive",
) -> Array:  # fmt: skip
    r"""Return the rate a(t) of :math:`\dot\theta=-a\nabla L` under the discount :math:`(1+\alpha t)^{-p}`.

    With :math:`\omega^2=\eta kh`, :math:`\nu=(p+1)/2`, :math:`z=(1+\alpha t)\,\omega/\alpha`, the gain K = ah is
    :math:`\omega K_{\nu-1}(z)/K_\nu(z)` for who commits (modified Bessel functions), its first value for ever for who
    is naive, and the root of :math:`K=(K^2+\omega^2)\int_0^\infty(1+\alpha t)^{-p}e^{-2Kt}dt` for who is sophisticated.
    The naive planner looks like an exponential one with :math:`\gamma=\omega^2/K-K`, another one on each curvature.

    Args:
        objective: η and k; without γ, drift, horizon and charge, in whose place the discount stands.
        curvature: h > 0, an eigenvalue of G⁻¹H where the objective has a metric.
        alpha: α > 0, unit 1/T.
        power: p > 0.
        elapsed: t ≥ 0, unit T; any shape.
        planner: "committed" (to the plan made at t = 0), "naive" or "sophisticated".

    Returns:
        a, unit u²/ℓT, of the shape of ``elapsed``.

    Raises:
        ValueError: naming the argument.

    References:
        book: L17.
    """
    check_objective(objective)
    if objective.gamma or objective.terminal or objective.drift is not None or not math.isinf(objective.horizon):
        raise ValueError("objective has gamma, terminal, drift or horizon, but the discount (1 + αt)^−p is for none")
    h, discount_rate, p = (
        _checks.positive(name, value) for name, value in (("curvature", curvature), ("alpha", alpha), ("power", power))
    )
    t = _checks.nonnegatives("elapsed", elapsed)
    _checks.one_of("planner", planner, _PLANNERS)
    omega = math.sqrt(objective.eta * objective.k * h)
    if not (1 / _FAR < omega < _FAR and 1 / _FAR < omega / discount_rate < _FAR and p < _FAR):
        stated = f"curvature = {h:g}, alpha = {discount_rate:g}, power = {p:g} and η, k of the objective"
        raise ValueError(f"{stated} are so far apart that ω or ω/α leaves [{1 / _FAR:g}, {_FAR:g}]; choose other units")
    first = _committed(omega, discount_rate, p, np.zeros(()))
    if planner == "committed":
        gain = _committed(omega, discount_rate, p, t)
    elif planner == "naive":
        gain = np.full(t.shape, first)
    else:
        gain = np.full(t.shape, _sophisticated(omega, discount_rate, p, float(first)))
    return np.asarray(gain / h)


def _committed(omega: float, alpha: float, power: float, t: Array) -> Array:
    order = (power + 1) / 2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = (1 + alpha * t) * omega / alpha
        ratio = scipy.special.kve(order - 1, z) / scipy.special.kve(order, z)
        return np.asarray(omega * np.where(ratio > 0, ratio, _far_ratio(order, z)))


def _far_ratio(order: float, z: Array) -> Array:
    """Return K_{ν−1}(z)/K_ν(z) where scipy has none: z or ν is beyond 2^31, or K_ν(z) beyond the largest number.

    At a lower order it is near 1/(q + √(1 + q²)), q = (ν − 1/2)/z. On the way up, by the recurrence of K, the error
    falls by the square of the ratio with each order.
    """
    steps = min(12, int(order - 0.5))
    start = order - steps
    q = (start - 0.5) / z
    ratio = 1 / (q + np.hypot(1.0, q))
    for n in range(steps):
        ratio = 1 / (ratio + 2 * (start + n) / z)
    return np.asarray(ratio)


def _sophisticated(omega: float, alpha: float, power: float, low: float) -> float:
    """Return the root between the naive gain and ω, where it lies."""

    def excess(gain: float) -> float:
        return (gain / omega + omega / gain) * _memory(2 * gain / alpha, power) / 2 - gain / omega

    below = low * (1 - 1e-9)
    if excess(omega) >= 0 or excess(below) <= 0:  # by rounding: the root is at an end
        return omega if excess(omega) >= 0 else low
    return float(scipy.optimize.brentq(excess, below, omega, xtol=1e-14 * low, rtol=1e-14))


def _memory(x: float, power: float) -> float:
    """Return x·∫₀^∞ (1+s)^{−p}·e^{−xs} ds, in log(1+s): where it falls within a small part of that, in pieces."""
    end = math.log1p(745 / x)
    if power > 1:
        end = min(end, 745 / (power - 1))
    cuts = [end, *itertools.takewhile(lambda cut: cut < end, (4**n / (power + x) for n in itertools.count()))]

    def share(y: float) -> float:
        return x * math.exp((1 - power) * y - x * math.expm1(y))

    return math.fsum(
        scipy.integrate.quad(share, *ends, epsabs=0.0, epsrel=1e-12)[0]
        for ends in itertools.pairwise([0.0, *sorted(cuts)])
    )


def quasi_hyperbolic(curvature: float, delta: float, beta: float, *, eta: float = 1.0, planner: str = "naive") -> float:
    r"""Return which share of a mode a step leaves, for the discounts 1, βδ, βδ², … of later steps.

    A step from θ to mθ costs :math:`\{e(1-m)^2+hm^2\}\,\theta^2/2` with :math:`e=1/\eta`. The committed planner's first
    step is the naive one's; this returns the share of its *later* steps, the smaller root of
    :math:`\delta m^2-(1+\delta+h/e)m+1=0`. The others leave :math:`e/(e+h+\beta\delta P)` each time, P being what is
    still to be paid by a planner who keeps that root (naive), or who keeps the same share (sophisticated),

    .. math:: P=\{e(1-m)^2+hm^2\}/(1-\delta m^2) .

    Args:
        curvature: h > 0.
        delta: δ in (0, 1).
        beta: β in (0, 1]; with 1 all three agree.
        eta: η > 0 of a step.
        planner: "committed", "naive" or "sophisticated".

    Raises:
        ValueError: naming the argument.

    Example:
        >>> [round(quasi_hyperbolic(1.0, 0.9, 0.5, planner=who), 5) for who in ("committed", "sophisticated", "naive")]
        [0.39268, 0.43931, 0.43989]

    References:
        book: L19.
    """
    h, stiff = _checks.positive("curvature", curvature), 1 / _checks.positive("eta", eta)
    patience = _checks.finite("delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    bias = _checks.finite("beta", beta, low=0.0, high=1.0, open_low=True)
    _checks.one_of("planner", planner, _PLANNERS)
    x = h / stiff
    # half² − δ, of which nothing cancels in this form
    swing = math.sqrt((1 - patience) ** 2 + 2 * (1 + patience) * x + x * x) / 2
    root = 1 / ((1 + patience + x) / 2 + swing)

    def reply(m: float) -> float:
        later = (stiff * (1 - m) ** 2 + h * m * m) / (1 - patience * m * m)
        return stiff / (stiff + h + bias * patience * later)

    if planner == "committed":
        return root
    if planner == "naive":
        return reply(root)
    return float(
        scipy.optimize.brentq(
            lambda m: reply(m) - m, root * (1 - 1e-12), stiff / (stiff + h), xtol=1e-16 * root, rtol=1e-14
        )
    )
