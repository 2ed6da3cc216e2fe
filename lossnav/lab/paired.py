"""Two rules on the same seeds: how far apart they are, with Student's interval over the pairs."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import stdtrit

from lossnav._checks import array, finite, positives


def interval(differences: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Return mean and confidence limits of paired differences, by Student's t: (mean, low, high).

    Args:
        differences: (S,), one a seed, S >= 2; of two rules on the same seeds.
        level: of confidence, in (0, 1).

    Example:
        >>> [round(x, 3) for x in interval([0.01, 0.02, 0.03])]
        [0.02, -0.005, 0.045]
    """
    values = array("differences", differences)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"differences has shape {values.shape}, but it must be (S,) with S >= 2")
    finite("level", level, low=0.0, high=1.0, open_low=True, open_high=True)
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    reach = float(stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return float(mean), float(mean - reach), float(mean + reach)


def percent(ours: Any, theirs: Any) -> tuple[float, float, float]:
    """Return how far ``ours`` are above ``theirs`` in %, a ratio for each seed: mean and 95 % limits.

    Args:
        ours, theirs: (S,), > 0, in the same order of seeds.

    Example:
        >>> [round(x, 2) for x in percent([1.1, 2.0, 3.0], [1.0, 2.0, 3.0])]
        [3.33, -11.01, 17.68]
    """
    first, second = positives("ours", ours, shape=("S",)), positives("theirs", theirs, shape=("S",))
    if len(first) != len(second):
        raise ValueError(f"theirs has shape {second.shape}, but it must fit ours {first.shape}")
    return interval(100 * (first / second - 1))


def words(found: tuple[float, float, float]) -> str:
    r"""Return a mean and half of its interval as a reader meets them, on one line.

    Example:
        >>> words((-6.34, -7.64, -5.04))
        '−6.3\xa0±\xa01.3'
    """
    mean, low, high = found
    return f"{mean:+.1f}\xa0±\xa0{(high - low) / 2:.1f}".replace("-", "−")
