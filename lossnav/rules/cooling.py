r"""Rates that noise asks for: one noisy mode, and a spectrum of them with a deadline (book: L5, L7).

A step of rate a adds noise, and what comes after it forgets some: :math:`\kappa(u)=\sum_i\sigma_i^2h_ie^{-2h_iu}` is
what is left of it after the rates still to come have added up to u. The optimal schedule takes steps as large as the
noise that they add will be forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array

_DECADES = 12  # of u below the longest way that the grid resolves


def kalman_rates(curvature: float, spread: float, noise: float, steps: int, *, multiplicative: float = 0.0) -> Array:
    r"""Return the optimal rates of one mode, shape (steps,): :math:`a_n=hm_n/((h^2+\nu)m_n+\sigma^2)` (book: L5).

    For θ ← θ − a(hθ + ξ) with :math:`\operatorname{Var}\xi=\sigma^2+\nu\theta^2`, started with
    :math:`\mathrm E\theta^2=m_0`. They minimise every later Eθ² at once: the same for the final loss, the running loss
    and every deadline. Without ν they fall as 1/n.

    Args:
        curvature: h > 0.
        spread: m₀ ≥ 0.
        noise: σ² ≥ 0.
        steps: number of rates, at least 1.
        multiplicative: ν ≥ 0.

    Raises:
        ValueError: naming the argument; also if there is neither spread nor noise, so that any rate is as good.
    """
    h, m = _checks.positive("curvature", curvature), _checks.finite("spread", spread, low=0.0)
    added, grown = _checks.finite("noise", noise, low=0.0), _checks.finite("multiplicative", multiplicative, low=0.0)
    if m == 0 and added == 0:
        raise ValueError("spread = 0 and noise = 0: one of them must be > 0, else any rate is as good")
    rates = np.empty(_checks.whole("steps", steps, low=1))
    for n in range(len(rates)):
        size = (h * h + grown) * m + added
        rates[n] = h * m / size if size > 0 else 0.0
        m *= (grown * m + added) / size if size > 0 else 1.0  # (1 − ah)²m + a²(σ² + νm) at this rate
    return rates


@dataclass(frozen=True, eq=False)
class Cooling:
    """The optimal schedule of a noisy spectrum with a deadline.

    Attributes:
        remaining: time left, shape (N,), rising from 0 to the whole.
        rate: a there, shape (N,); it never rises towards the deadline.
        distance: U, what the rates add up to.
        excess: the expected loss at the deadline, beyond the minimum, for small steps.
    """

    remaining: Array
    rate: Array
    distance: float
    excess: float

    def __post_init__(self) -> None:
        _checks.frozen(self.remaining, self.rate)

    def __call__(self, remaining: ArrayLike) -> Array:
        """Return the rate with a time ``remaining`` left, of its shape; with more than the whole, that of the start."""
        left = _checks.nonnegatives("remaining", remaining)
        return np.interp(left, self.remaining, self.rate)


def cooling(
    curvature: ArrayLike, spread: ArrayLike, noise: ArrayLike, span: float, *, cap: float = math.inf, points: int = 600
) -> Cooling:
    r"""Return the schedule of one rate for all modes that makes the expected loss at the deadline least (book: L7).

    For small steps, a(u) = min(A, √(μ/κ(u))) with ∫du/a = T, and the sum U of all rates minimises

    .. math:: F(U)=\tfrac12\sum_ih_im_ie^{-2h_iU}+\tfrac12\int_0^Ua\kappa\,du .

    F may have several minima; the least on a grid is refined.

    Args:
        curvature: h ≥ 0, shape (D,).
        spread: m, the expected squares at the start, shape (D,), ≥ 0.
        noise: σ² of a step's gradient, shape (D,), ≥ 0; not all 0 where h > 0 (else there is nothing to cool).
        span: T > 0, the number of steps.
        cap: A, the largest admissible rate.
        points: of the grid in u.

    Raises:
        ValueError: naming the argument.
    """
    h = _checks.nonnegatives("curvature", curvature, shape=(None,))
    m, added = (
        _checks.nonnegatives(name, value, shape=(len(h),)) for name, value in (("spread", spread), ("noise", noise))
    )
    time, most = _checks.positive("span", span), _checks.duration("cap", cap)
    count = _checks.whole("points", points, low=16)
    if not np.any(added * h > 0):
        raise ValueError("noise is 0 wherever curvature > 0, but without noise there is nothing to cool down")
    if not np.any(m * h > 0):
        raise ValueError("spread is 0 wherever curvature > 0, but then the best is not to move")
    longest, steepest = min(most * time, 40 / float(np.min(h[h * m > 0]))), float(np.max(h[h * added > 0]))

    def parts(distance: float) -> tuple[Array, Array, Array]:
        # However long the flattest mode takes, the steepest is resolved, too.
        first = min(10.0**-_DECADES * distance, 1e-4 / steepest)
        u = np.concatenate([[0.0], np.geomspace(first, distance, count)])
        kernel = np.exp(-2 * np.multiply.outer(u, h)) @ (added * h)
        root = np.sqrt(np.maximum(kernel, 1e-300))
        return u, root, _capped(u, root, time, most)

    def cost(logarithm: float) -> float:
        distance = min(math.exp(logarithm), longest)
        u, root, rate = parts(distance)
        return float(np.sum(h * m * np.exp(-2 * h * distance))) / 2 + float(np.trapezoid(rate * root**2, u)) / 2

    # The least on a grid in ln U, then the minimum beside it.
    top = math.log(longest)
    bottom = min(top, -math.log(steepest)) - 30
    grid = np.linspace(bottom, top, math.ceil(8 * (top - bottom)) + 1)
    values = [cost(float(x)) for x in grid]
    best = int(np.argmin(values))
    lower, upper = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    minimum = scipy.optimize.minimize_scalar(cost, bounds=(lower, upper), method="bounded", options={"xatol": 1e-10})
    where = float(minimum.x) if minimum.fun <= values[best] else float(grid[best])
    u, _, rate = parts(min(math.exp(where), longest))
    # Back from the sum of rates to time, dt = du/a.
    left = np.concatenate([[0.0], np.cumsum(np.diff(u) * (1 / rate[1:] + 1 / rate[:-1]) / 2)])
    return Cooling(left, rate, float(u[-1]), min(float(minimum.fun), values[best]))


def _capped(u: Array, root: Array, time: float, most: float) -> Array:
    """Return min(A, √(μ/κ)) with ∫du/a = T; ``root`` is √κ."""
    if u[-1] >= most * time * (1 - 1e-9):
        return np.full_like(u, most)

    def spent(scale: float) -> float:
        return float(np.trapezoid(1 / np.minimum(most, scale / root), u))

    free = float(np.trapezoid(root, u)) / time  # √μ without a cap
    if math.isinf(most):
        return free / root
    high = most * float(np.max(root))
    low = min(free, high)
    if spent(low) <= time * (1 + 1e-10):  # the cap does not bind
        return np.minimum(most, low / root)
    scale = scipy.optimize.brentq(lambda x: spent(math.exp(x)) - time, math.log(low), math.log(high), xtol=1e-13)
    return np.minimum(most, math.exp(scale) / root)
