"""Numbers from recorded series: does it drift, how long does it remember, which way does it turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array, array, is_whole, positive, sequence, shown, whole


@dataclass(frozen=True)
class Drift:
    """How far the mean of a series moved from its first half to its second.

    Attributes:
        change: mean of the second half minus that of the first.
        error: standard error of ``change`` in a series without drift, from the scatter of blocks within each half.
        mean: of all of it.
    """

    change: float
    error: float
    mean: float

    def exceeds(self, size: float) -> bool:
        """Whether the change is larger than ``size``, and than four of its errors."""
        return abs(self.change) > size and abs(self.change) > 4 * self.error


def drift(values: ArrayLike, blocks: int = 8) -> Drift:
    """Compare the two halves of a series.

    Neighbours of a series are correlated, so its scatter is that of the means of ``blocks`` blocks in each half, each
    about the line through them: a steady drift within a half does not count as noise. Blocks must be long compared with
    what the series remembers; else the error comes out too small.

    Args:
        values: (K,), K >= 4 · blocks.
        blocks: in each half, >= 3.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> found = drift(np.arange(64.0))
        >>> found.change, found.error < 1e-12
        (32.0, True)
    """
    whole("blocks", blocks, low=3)
    series = array("values", values, shape=(None,))
    if len(series) < 4 * blocks:
        raise ValueError(
            f"values has {len(series)} entries, but it must have at least {4 * blocks} for 2·{blocks} blocks"
        )
    length = len(series) // (2 * blocks)
    means = series[len(series) - 2 * blocks * length :].reshape(2, blocks, length).mean(axis=2)
    offsets = np.arange(blocks) - (blocks - 1) / 2
    slopes = means @ offsets / (offsets @ offsets)
    residues = means - means.mean(axis=1, keepdims=True) - np.outer(slopes, offsets)
    variance = np.sum(residues**2) / (2 * blocks - 4)
    return Drift(float(means[1].mean() - means[0].mean()), float(np.sqrt(2 * variance / blocks)), float(series.mean()))


def autocorrelation(values: ArrayLike, lags: ArrayLike) -> Array:
    """Return the correlation of a series of mean zero with itself some steps later, 1 at lag 0.

    Args:
        values: (K,) or (K, L), L series side by side.
        lags: whole numbers in [0, K), (J,).

    Returns:
        (J,) or (J, L).

    Raises:
        ValueError: a lag is out of range, or a series is zero.

    Example:
        >>> autocorrelation([1.0, -1.0, 1.0, -1.0], [0, 1, 2]).tolist()
        [1.0, -1.0, 1.0]
    """
    series = array("values", values)
    if series.ndim not in (1, 2) or len(series) < 2:
        raise ValueError(f"values has shape {series.shape}, but it must have shape (K,) or (K, L) with K >= 2")
    power = np.mean(series**2, axis=0)
    if not np.all(power > 0):
        raise ValueError("values holds a series that is zero, but each must vary")
    steps = sequence("lags", lags, "whole numbers")
    if not len(steps):
        raise ValueError("lags is empty, but it must have at least one")
    for lag in steps:
        if not is_whole(lag) or not 0 <= lag < len(series):
            raise ValueError(f"lags has {shown(lag)}, but each must be a whole number >= 0 and < {len(series)}")
    return np.stack([np.mean(series[: len(series) - lag] * series[lag:], axis=0) / power for lag in steps])


def circulation(positions: ArrayLike, velocities: ArrayLike, *, eta: float) -> Array:
    """Return twice the area that (θ, v) sweeps in a unit of time η, ⟨θ_k v_{k+1} − v_k θ_{k+1}⟩/η, mode by mode.

    Negative is clockwise, with θ to the right and v upwards. It does not depend on where θ has its origin, up to the
    mean of v.

    Args:
        positions: (K+1, L).
        velocities: (K+1, L), at the same steps.
        eta: η > 0.

    Raises:
        ValueError: the shapes differ, or hold fewer than two steps.

    Example:
        >>> circulation([[1.0], [0.0], [-1.0]], [[0.0], [-1.0], [0.0]], eta=1.0).tolist()
        [-1.0]
    """
    theta, v = array("positions", positions, shape=(None, None)), array("velocities", velocities, shape=(None, None))
    rate = positive("eta", eta)
    if theta.shape != v.shape or len(theta) < 2:
        raise ValueError(
            f"velocities has shape {v.shape}, but it must be that of positions, {theta.shape}, two at least"
        )
    centred = theta - theta.mean(axis=0)
    return np.mean(centred[:-1] * v[1:] - v[:-1] * centred[1:], axis=0) / rate
