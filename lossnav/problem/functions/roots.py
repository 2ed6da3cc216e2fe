r"""The one decaying root: of :math:`\lambda^2-\gamma\lambda=\eta kh`, in the forms that keep every digit.

A path :math:`\ddot z-\gamma\dot z=\eta khz` comes to rest as :math:`e^{-rt}` with :math:`r=S-\gamma/2`,
:math:`S=\sqrt{\gamma^2/4+\eta kh}`, and blows up as :math:`e^{s_+t}` with :math:`s_+=S+\gamma/2`. Every problem that
has such a mode asks here; ``lossnav.trajectory.modes`` has the same functions.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array

LARGEST = math.log(sys.float_info.max)  # above it e^x is none
_EPSILON = sys.float_info.epsilon
FADED = 40.0  # e-folds of a discount after which nothing is left but rounding


def exp_bounded(x: ArrayLike) -> Array:
    """Return e^x, or the largest float where that is larger."""
    return np.exp(np.minimum(x, LARGEST))


def exp_mean(x: ArrayLike) -> Array:
    """Return (1 − e^{−x})/x, the mean of e^{−xu} over u in [0, 1], with the value 1 at x = 0; real or complex."""
    x = np.asarray(x)
    safe = np.where(x == 0, 1.0, x)
    with np.errstate(over="ignore"):
        return np.where(x == 0, 1.0, -np.expm1(-safe) / safe)


def exp_moment(z: ArrayLike, order: int) -> Array:
    """Return ∫₀¹ (1 − u)ⁿ e^{−zu} du; its series where the formula would cancel."""
    z = np.asarray(z, dtype=np.float64)
    small = np.abs(z) < 1.0 + order
    # Σ n!/(n + i + 1)! (−z)^i, as far as there are digits
    near, following = np.where(small, z, 0.0), order + 1
    series = term = np.full_like(near, 1 / following)
    while np.max(np.abs(term), initial=0.0) > _EPSILON / following:
        following += 1
        term = term * -near / following
        series = series + term
    safe = np.where(small, 1.0, z)
    value = exp_mean(safe)
    for n in range(1, order + 1):  # by parts
        value = (1 - n * value) / safe
    return np.where(small, series, value)


def exp_parabolas(z: ArrayLike) -> tuple[Array, Array, Array]:
    """Return ∫₀¹ of e^{−zu} times (1 − u)², 2u(1 − u) and u², of z ≥ 0; differences of moments would lose digits."""
    z = np.asarray(z, dtype=np.float64)
    early = exp_moment(z, 2)
    near, far = np.minimum(z, 1.0), np.maximum(z, 1.0)
    first, second = exp_moment(near, 1), exp_moment(near, 2)
    left = np.exp(-far)
    middle = np.where(z < 1, first - second, (1 - 2 / far + left * (1 + 2 / far)) / far / far)
    late = np.where(z < 1, exp_mean(near) - 2 * first + second, (2 / far - left * (2 / far + 2 + far)) / far / far)
    return early, 2 * middle, late


def fast_rate(curvature: ArrayLike, control_gain: ArrayLike, gamma: ArrayLike) -> Array:
    """Return s₊ = S + γ/2 per mode (NaN where γ²/4 + ηkh < 0); ``control_gain`` is ηk."""
    gamma = np.asarray(gamma, dtype=np.float64)
    pull, half = np.multiply(control_gain, curvature), gamma / 2
    with np.errstate(over="ignore"):
        square = np.where(pull < 0, half * half + pull, 0.0)
    rising = np.hypot(half, np.sqrt(np.maximum(pull, 0.0)))  # the square of a tiny γ is 0, and of a large one inf
    return np.where(pull < 0, np.sqrt(np.where(square < 0, np.nan, square)), rising) + half


def slow_rate(curvature: ArrayLike, control_gain: ArrayLike, gamma: ArrayLike) -> Array:
    """Return r = S − γ/2 per mode (Eq. 75) without cancellation: ηkh/s₊."""
    fast = fast_rate(curvature, control_gain, gamma)
    return np.where(fast == 0, 0.0, np.multiply(control_gain, curvature) / np.where(fast == 0, 1.0, fast))
