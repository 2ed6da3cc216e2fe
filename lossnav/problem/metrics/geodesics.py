r"""The straight lines of the Fisher metric: semicircles of the half-plane (μ/√2, √v), one for each weight.

.. math:: \frac{\dot\mu^2}{v} + \frac{\dot v^2}{2v^2} = 2\,\frac{\dot X^2+\dot Y^2}{Y^2},\qquad X=\mu/\sqrt2,\ Y=\sqrt v

Between two distributions the shortest path goes through *wider* ones than both if (μ − μ')² > 2|v − v'|; else it widens
all the way from the narrower to the wider.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import exp_mean

_FAR = 600.0  # along a semicircle: there means have arrived to the last digit, and variances are 0


def geodesic(
    fraction: ArrayLike, mean: ArrayLike, variance: ArrayLike, other_mean: ArrayLike, other_variance: ArrayLike
) -> tuple[Array, Array]:
    """Return the distribution at a fraction of the shortest way from N(μ, v) to N(μ', v').

    Args:
        fraction: of the length, any shape; 0 is the first distribution, 1 the second.
        mean: μ, a number, as are the next three.
        variance: v > 0.
        other_mean: μ'.
        other_variance: v' > 0.

    Returns:
        Means and variances, shape of ``fraction``.

    Example:
        >>> mean, variance = geodesic(0.5, 0.0, 1.0, 2.0, 1.0)  # half-way: wider than both ends
        >>> float(mean.round(6)), float(variance.round(6))
        (1.0, 1.5)
    """
    s = _checks.array("fraction", fraction)
    x0, x1 = _checks.finite("mean", mean) / math.sqrt(2), _checks.finite("other_mean", other_mean) / math.sqrt(2)
    y0 = math.sqrt(_checks.positive("variance", variance))
    y1 = math.sqrt(_checks.positive("other_variance", other_variance))
    if abs(x1 - x0) < 1e-7 * max(y0, y1):
        # Straight up or down: the mean goes with the variance, counted from the wider end.
        wide, way, left = (x0, x1 - x0, s) if y0 >= y1 else (x1, x0 - x1, 1 - s)
        depth = 2 * abs(math.log(y0) - math.log(y1))
        x = wide + way * left * (exp_mean(depth * left) / exp_mean(depth))
        return math.sqrt(2) * x, y0 ** (2 - 2 * s) * y1 ** (2 * s)
    half, bow = (x1 - x0) / 2, (y1 - y0) / (x1 - x0) * ((y1 + y0) / 2)  # the centre is x0 + half + bow
    start, end = math.asinh((-half - bow) / y0), math.asinh((half - bow) / y1)  # arc length along the semicircle
    u = np.clip(start + s * (end - start), -_FAR, _FAR)
    # Counted from the end whose mean is nearer, for a mean that is exact to a small part of a small deviation there.
    with np.errstate(over="ignore"):
        from_start, from_end = y0 * np.sinh(u - start) / np.cosh(u), y1 * np.sinh(u - end) / np.cosh(u)
        x = np.where(np.abs(from_start) <= np.abs(from_end), x0 + from_start, x1 + from_end)
        near = np.abs(u - start) <= np.abs(end - u)
        y = np.where(near, y0 * (np.cosh(start) / np.cosh(u)), y1 * (np.cosh(end) / np.cosh(u)))
        return math.sqrt(2) * x, y**2


def distance(mean: ArrayLike, variance: ArrayLike, other_mean: ArrayLike, other_variance: ArrayLike) -> Array:
    r"""Return the Fisher distance of one-dimensional Gaussians, the length of the geodesic.

    .. math:: \sqrt2\,\mathrm{arcosh}\Big(1+\frac{(\mu-\mu')^2/2+(\sigma-\sigma')^2}{2\sigma\sigma'}\Big)

    Args:
        mean: μ, unit u.
        variance: v = σ² > 0, unit u².
        other_mean: μ′.
        other_variance: v′ > 0.

    Returns:
        The distance, without a unit, of the shape to which the arguments broadcast.

    Raises:
        ValueError: a variance is not positive, or shapes do not broadcast.

    Example:
        >>> float(distance(0.0, 1.0, 0.0, 4.0).round(4))  # √2 ln(σ′/σ)
        0.9803
    """
    mu, other_mu = _checks.array("mean", mean), _checks.array("other_mean", other_mean)
    v, w = _checks.positives("variance", variance), _checks.positives("other_variance", other_variance)
    _checks.together(mean=mu, variance=v, other_mean=other_mu, other_variance=w)
    sd, other_sd = np.sqrt(v), np.sqrt(w)
    # Without cancellation: σ − σ′ = (v − v′)/(σ + σ′), halves are exact, and arcosh(1 + 2h²) = 2 arsinh(h).
    sides = (mu / 2 - other_mu / 2) * math.sqrt(2), (v - w) / (sd + other_sd)
    return 2 * math.sqrt(2) * np.arcsinh(np.hypot(*sides) / (2 * np.sqrt(sd) * np.sqrt(other_sd)))
