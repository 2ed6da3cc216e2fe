r"""What to record before it is recorded: times and their number for a wanted accuracy of γ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import slow_rate

TIMES = 1.278465  # r·t at which one rate is best told, beside t = 0: ueᵘ = 1 + eᵘ


@dataclass(frozen=True, eq=False)
class Design:
    """When to look at a path.

    Attributes:
        times: the moments, shape (M,), unit T.
        shares: which part of all samples each gets, shape (M,).
        samples: how many in all, so that δγ/γ is what was asked.
        error: the standard deviation of γ̂ over γ, times √N over the noise's share of the start.
        cheaper: what would need fewer at four times or a quarter of the stakes, in words; empty if neither does.
    """

    times: Array
    shares: Array
    samples: int
    error: float
    cheaper: str


def design(h: ArrayLike, gamma: float, noise: float, accuracy: float = 0.1, *, a: float = 1.0) -> Design:
    r"""Return when to look, and how often, so that γ comes out to an accuracy.

    Modes are seen at the same times, with amplitudes that are not known and are of one size. Fisher's information of
    (γ, ln a, amplitudes) with :math:`\partial r/\partial\gamma=-r/(2r+\gamma)` and
    :math:`\partial r/\partial\ln a=ah/(2r+\gamma)`; the best of designs with three times.

    Args:
        h: curvatures > 0, at least two that differ, shape (M,).
        gamma: γ > 0, unit 1/T: where one thinks that it is.
        noise: standard deviation of an entry over its first value, > 0.
        accuracy: of γ, as a share, > 0.
        a: ηk > 0.

    Raises:
        ValueError: naming the argument; also for one curvature alone, with what tells γ then.

    Example:
        >>> found = design([1.0, 100.0], 4.0, 0.05)
        >>> found.samples, round(found.error, 1)
        (54, 14.7)
    """
    curvature = _checks.positives("h", h, shape=("M",))
    discount, sigma = _checks.positive("gamma", gamma), _checks.positive("noise", noise)
    wanted, gain = _checks.positive("accuracy", accuracy), _checks.positive("a", a)
    if len(curvature) < 2 or np.ptp(curvature) <= 1e-9 * np.max(curvature):
        raise ValueError(
            f"h = {_checks.shown(h)} is one curvature, at which no path tells gamma: see it at other stakes "
            "(h times 4, say), or announce a change"
        )
    r = slow_rate(curvature, gain, discount)
    error, times, shares = _best(r, discount)
    order = np.argsort(times)
    samples = max(math.ceil((error * sigma / wanted) ** 2), len(times))
    cheaper = []
    for stakes, words in ((4.0, "four times"), (0.25, "a quarter of")):
        both_error, *_ = _best(slow_rate(np.concatenate([curvature, stakes * curvature]), gain, discount), discount)
        fewer = max(math.ceil(2 * (both_error * sigma / wanted) ** 2), 2 * len(times))  # half of the samples at each
        if fewer < samples:
            cheaper.append(f"{fewer} samples, half of them at {words} the stakes")
    return Design(times[order], shares[order], samples, error, "; ".join(cheaper))


def _best(r: Array, gamma: float) -> tuple[float, Array, Array]:
    """Return the least error with three times, one of them 0, and those times and their shares."""
    ends, count = np.array([np.min(r), np.max(r)]), 2

    def spread(x: Array) -> tuple[Array, Array]:
        shares = np.exp(np.append(0.0, x[count:]))
        return np.append(0.0, np.exp(x[:count])), shares / shares.sum()

    def error(x: Array) -> float:
        return math.log(_fisher_error(r, gamma, *spread(x)))

    search = {"maxiter": 4000, "maxfev": 4000, "xatol": 1e-6, "fatol": 1e-9}
    starts = [np.append(np.log(first / ends), np.zeros(count)) for first in (TIMES, 1.0, 1.6)]
    minimum = min((scipy.optimize.minimize(error, x, method="Nelder-Mead", options=search) for x in starts),
                  key=lambda result: result.fun)  # fmt: skip
    return (math.exp(minimum.fun), *spread(minimum.x))


def _fisher_error(r: Array, gamma: float, times: Array, shares: Array) -> float:
    """Return the standard deviation of γ̂ over γ for one sample in all and noise of the size of the start."""
    fall = np.exp(-np.outer(r, times))
    since = times * r[:, None]  # everything is counted in units of each mode's own rate
    mean = (since * fall**2) @ shares / (fall**2 @ shares)
    weight = ((since - mean[:, None]) * fall) ** 2 @ shares  # what each mode tells of ln r
    by_gamma, by_gain = -gamma / (2 * r + gamma), (r + gamma) / (2 * r + gamma)  # of ln r, by ln γ and by ln a
    # The determinant as a sum of squares: alike modes lose no digits in it.
    apart = np.outer(by_gamma, by_gain) - np.outer(by_gain, by_gamma)
    determinant = float(weight @ apart**2 @ weight) / 2
    told = float(weight @ by_gain**2)
    return math.sqrt(told / determinant) if determinant > 1e-300 * told else 1e150
