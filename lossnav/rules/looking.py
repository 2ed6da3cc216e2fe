"""What a look costs: how often, at how many samples, and after how long a step to look again (book: W21–W29).

A look at the loss costs c₀, a sample in it c₁, both in the units of J; between looks a learner follows its plan. These
are formulas for a chapter, and no scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.problem.functions.roots import exp_moment, slow_rate

_TINY, _STEPS = 1e-300, 500  # roots to the last digit, whatever their size
_ALL = 40.0  # in sums with it e⁻ʸ has no digit

__all__ = ["Looks", "batch", "descent_batch", "interval", "step"]


class Looks(NamedTuple):
    """How to look at a target that drifts: a time between looks, unit T, and samples in each."""

    interval: float
    batch: float


def interval(c0: float, kh: float, D: float, gamma: float = 0.0, eta: float = 1.0) -> float:
    r"""Return the time between looks without noise at a minimum that drifts as :math:`d\theta^*=\sqrt D\,dW` (W22).

    An error costs r²/2η per unit of its variance, and so the time T obeys :math:`e^{-y}-1+y=2\eta\gamma^2c_0/(r^2D)`
    with y = γT; for γ → 0 it is 2√(c₀/khD), whatever η.

    Args:
        c0: c₀ > 0, the price of a look, unit ℓ.
        kh: weight of the loss times curvature, > 0, unit ℓ/(u²·T).
        D: D > 0, unit u²/T.
        gamma: γ ≥ 0.
        eta: η > 0; without a discount it does not matter.

    Raises:
        ValueError: naming the argument that is out of range.

    Example:
        >>> round(interval(0.1, 1.0, 1.0, gamma=1.0), 3)
        1.232

    References:
        book: W22, as corrected.
    """
    price, pull, spread = (_checks.positive(name, x) for name, x in (("c0", c0), ("kh", kh), ("D", D)))
    rate, gain = _checks.finite("gamma", gamma, low=0.0), _checks.positive("eta", eta)
    slow = float(slow_rate(pull, gain, rate))
    cost = gain * price / spread
    if rate == 0:
        return 2 * math.sqrt(cost) / slow
    bill = 2 * (rate / slow) * (rate / slow) * cost
    if bill > _ALL:
        return 2 * (rate / slow) * (cost / slow) + 1 / rate
    most = math.sqrt(2 * bill) + bill  # at least the root of e^{−y} − 1 + y, written so that it does not cancel
    y = scipy.optimize.brentq(lambda y: y * y * exp_moment(y, 1) - bill, 0.0, 2 * most, xtol=_TINY, maxiter=_STEPS)
    return float(y) / rate


def batch(c0: float, c1: float, *, kh: float, D: float, sigma: float, h: float) -> Looks:
    r"""Return how often to look at a drifting minimum, and at how many samples, without a discount (W24).

    With :math:`P_\infty^2=D\sigma^2T/(h^2B)`, :math:`B_n=\sigma^2/(h^2P_\infty)` and :math:`y=DT/2P_\infty` the best
    are :math:`B^3=2(c_0/c_1)B_n^2`, :math:`y=B/2B_n`, where B ≥ 1; else B = 1, and the best T to it.

    Args:
        c0: c₀ ≥ 0, the price of a look, unit ℓ.
        c1: c₁ > 0, the price of a sample.
        kh: weight of the loss times curvature, > 0.
        D: D > 0, unit u²/T.
        sigma: σ > 0, the deviation of a sample's gradient.
        h: the curvature, > 0.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        book: W23, W24.
    """
    look, sample = _checks.finite("c0", c0, low=0.0), _checks.positive("c1", c1)
    pull, spread = _checks.positive("kh", kh), _checks.positive("D", D)
    noise = 2 * (math.log(_checks.positive("sigma", sigma)) - math.log(_checks.positive("h", h)))
    if look > 0:  # y⁹/√(1 + y²) = c₀³D/(16c₁²σ⁴kh/h⁴), in logarithms
        wanted = 3 * math.log(look) + math.log(spread) - math.log(16) - math.log(pull) - 2 * (math.log(sample) + noise)
        z = _root(lambda z: 9 * z - np.logaddexp(0.0, 2 * z) / 2 - wanted)
        size = look / (2 * sample) * math.exp(-2 * z)
        if size >= 1:
            return Looks(4 * math.exp(2 * z + noise - math.log(spread)) / size, size)
    drift, bill = 2 * math.log(spread / 2), math.log(look + sample)

    def slope(z: float) -> float:
        """Return how far the slope of khP/2, P² = P∞² + D²T²/4, by z = ln T is above that of (c₀ + c₁)/T, in logs."""
        known, moved = z + math.log(spread) + noise, 2 * z + drift
        rise = np.logaddexp(known, moved + math.log(2)) - np.logaddexp(known, moved) / 2
        return float(rise) + math.log(pull / 4) + z - bill

    return Looks(math.exp(_root(slope)), 1.0)


def _root(rising: Callable[[float], float]) -> float:
    return float(scipy.optimize.brentq(rising, -700.0, 700.0, xtol=_TINY, maxiter=_STEPS))


def descent_batch(c0: float, c1: float, noise: float) -> float:
    r"""Return the batch with which descent by SGD costs least, :math:`\max(1,\sqrt{(c_0/c_1)B_n})` (W29).

    It is that of McCandlish et al.'s trade-off between steps and samples, (S/S_min − 1)(E/E_min − 1) = 1, and the
    critical batch B_n only where c₀/c₁ is B_n, too.

    Args:
        c0: c₀ ≥ 0, the price of a step.
        c1: c₁ > 0, the price of a sample.
        noise: B_n > 0, the critical batch E_min/S_min.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        book: W29; McCandlish et al. (2018).
    """
    look, sample = _checks.finite("c0", c0, low=0.0), _checks.positive("c1", c1)
    return max(1.0, math.sqrt(look / sample * _checks.positive("noise", noise)))


def step(c: float, eta: float, dv: ArrayLike, dt: float = 1.0, *, chord: bool = False) -> float:
    r"""Return how long to hold a velocity until the next look, :math:`(3\eta c/|a|^2)^{1/3}` (W26).

    The acceleration is measured, a = dv/dt; a law of leading order in c, for γT ≪ 1. It is a controller, too: a step
    with |v_{n+1} − v_n|²T = 3ηc is as long as it should be.

    Args:
        c: the price of a look, > 0, unit ℓ.
        eta: η > 0.
        dv: what the optimal velocity has changed by, shape (D,), unit u/T.
        dt: the time in which it has, > 0.
        chord: whether a step is the exact displacement of a known curvature (Eq. 6), at a constant velocity: it may be
            ∛4 as long.

    Returns:
        T; inf where the velocity stands still.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        book: W26.
    """
    longer = 12 if _checks.flag("chord", chord) else 3
    price, gain = _checks.positive("c", c), _checks.positive("eta", eta)
    change = np.atleast_1d(_checks.array("dv", dv))
    if change.ndim > 1 or change.size == 0:
        raise ValueError(f"dv has shape {change.shape}, but it must be a number or have shape (D,)")
    size, time = math.hypot(*change.tolist()), _checks.positive("dt", dt)
    # Of the roots no product leaves the range of numbers before T does.
    pace = math.cbrt(size) / math.cbrt(time)
    return math.inf if size == 0 else math.cbrt(longer) * (math.cbrt(price) * math.cbrt(gain) / pace / pace)
