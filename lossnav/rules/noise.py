"""What noise adds to a step: the mean that is believed in is shorter than the one that was seen, and how much."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array

POOLS = ("tensor", "coordinate", "positive")
_FAR = 1e120  # of a mean's standard deviations: the square stays a number, and s is 1 to the last digit long before


def prior_shrink(prior: ArrayLike, noise: ArrayLike, count: float) -> Array:
    """Return s = τ²/(τ² + σ²/n): under a prior N(0, τ²) the optimal step is the noiseless one on s times the mean.

    Args:
        prior: τ² >= 0, the variance of gradients before any was seen.
        noise: σ² > 0, the variance of one gradient about its mean.
        count: n > 0 gradients in the mean.

    Raises:
        ValueError: naming the argument that is wrong.
    """
    wide, spread = _checks.nonnegatives("prior", prior), _checks.positives("noise", noise)
    _checks.together(prior=wide, noise=spread)
    share: Array = wide / (wide + spread / _checks.positive("count", count))
    return share


def shrink(mean: ArrayLike, noise: ArrayLike, count: float, *, pool: str = "tensor") -> Array:
    """Return an estimate of s where the prior is read off the same means: a plug-in, which may lose to s = 1.

    Args:
        mean: means of n gradients, any shape.
        noise: σ² > 0, the variance of one gradient, known; a number or shaped like ``mean``.
        count: n > 0.
        pool: "tensor": one factor max(0, 1 − (D−2)/Σ nm²/σ²) for all D >= 3 coordinates (James–Stein), which
            loses to s = 1 nowhere if σ is known and all coordinates have one signal-to-noise ratio. "coordinate":
            m²/(m² + σ²/n) (M-SVAG), which loses to s = 1 from about |μ|√n/σ = 1.45 on; "positive":
            max(0, 1 − σ²/(nm²)), which does from about 1.17 on.

    Raises:
        ValueError: naming the argument that is wrong; also where D < 3 and ``pool`` is "tensor".
    """
    m = _checks.array("mean", mean)
    spread = _checks.positives("noise", noise)
    if spread.shape not in ((), m.shape):
        raise ValueError(f"noise has shape {spread.shape}, but it must be a number or have shape {m.shape}")
    with np.errstate(over="ignore"):
        ratio = np.abs(m) * (math.sqrt(_checks.positive("count", count)) / np.sqrt(spread))
    squares = np.minimum(ratio, _FAR) ** 2
    kind = _checks.one_of("pool", pool, POOLS)
    if kind == "coordinate":
        return np.asarray(squares / (1 + squares))
    if kind == "positive":
        return np.asarray(np.maximum(0.0, 1 - 1 / np.maximum(squares, 1e-300)))
    if m.size < 3:
        raise ValueError(f"mean has {m.size} entries, but it must have at least 3 where pool is 'tensor'")
    total = max(float(np.sum(squares)), 1e-300)
    return np.full(m.shape, max(0.0, 1 - (m.size - 2) / total))
