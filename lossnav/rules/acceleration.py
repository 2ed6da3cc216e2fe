"""Rules of a learner who is charged for acceleration, as pure functions of curvatures (book: W2, W3, W9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.objective import Objective, check_objective
from lossnav.trajectory import accelerated
from lossnav.trajectory.accelerated import Held


def acceleration_gains(objective: Objective, h: ArrayLike) -> tuple[Array, Array]:
    r"""Return K₁/h and K₂ of the law :math:`\ddot\theta=-(K_1/h)g-K_2\dot\theta` (W3).

    K₁/h stays finite at h = 0. The law swings where 4mkh > c², at every γ (W4).

    Args:
        objective: k, γ and ``price=prices.Acceleration(m, speed)``, without a deadline.
        h: curvatures, unit ℓ/u², of any shape; under a metric the eigenvalues of G⁻¹H.

    Returns:
        K₁/h, unit u²/(ℓ·T²), and K₂, unit 1/T, both of the shape of ``h``.

    Raises:
        ValueError: naming the argument, or that acceleration is not what is charged.
        NoMinimiser: where kh ≤ −γ²(c/4 + mγ²/16), or γ = 0 and h ≤ 0.

    Example:
        >>> import lossnav as ln
        >>> objective = ln.Objective(price=ln.prices.Acceleration(m=1.0))
        >>> [float(gain.round(6)) for gain in ln.rules.acceleration_gains(objective, 1.0)]
        [1.0, 1.414214]

    References:
        book: W2, W3.
    """
    curvature = _curvature(objective, h)
    return accelerated.gains(objective, curvature)


def acceleration_step(objective: Objective, h: ArrayLike, dt: float) -> Held:
    r"""Return the exact step :math:`v^+=\beta v-\kappa s\,g,\ \Delta\theta=s\,v-\psi g` on a bowl of curvature h (W9).

    It never overshoots because a step is long: there is no edge of stability where h is right.

    Args:
        objective: as in ``acceleration_gains``.
        h: curvatures, of any shape.
        dt: Δt ≥ 0, finite, unit T.

    Returns:
        β, s, ψ and κ = K₁/h, each of the shape of ``h``.

    Raises:
        ValueError, NoMinimiser: as ``acceleration_gains``.

    References:
        book: W9.
    """
    curvature = _curvature(objective, h)
    return accelerated.held(objective, curvature, _checks.finite("dt", dt, low=0.0))


def patience(q: ArrayLike, gamma: float) -> Array:
    r"""Return :math:`r_\gamma(q)=\tfrac\gamma2(\sqrt{1+4q/\gamma}-1)`: a rate of the rule for γ → ∞ made exact (W2).

    The map takes each rate of gradient flow (q = ηkh/γ), of a heavy ball (:math:`Mq^2-\nu q+h=0`), and of whatever is
    the limit of prices on derivatives, quadratic and of one metric, to that of the optimum at a finite γ.

    Args:
        q: rates, real or complex, of any shape, unit 1/T.
        gamma: γ in [0, inf], unit 1/T; at inf r = q, and at 0 the limit of fixed q, which is 0.

    Returns:
        r, complex if ``q`` is; NaN where a real q < −γ/4 has no real rate.

    Raises:
        ValueError: naming the argument.

    Example:
        >>> float(patience(2.0, 1.0))
        1.0

    References:
        book: W2.
    """
    rate = _checks.duration("gamma", gamma, zero=True)
    q_array: Any = np.asarray(q)
    if q_array.dtype.kind == "c":
        if not np.all(np.isfinite(q_array)):
            raise ValueError(f"q = {_checks.shown(q)}, but all its entries must be finite")
    else:
        q_array = _checks.array("q", q)
    if rate == 0 or math.isinf(rate):
        return q_array * (0.0 if rate == 0 else 1.0)
    with np.errstate(invalid="ignore"):
        return 2 * q_array / (1 + np.sqrt(rate + 4 * q_array) / math.sqrt(rate))


def _curvature(objective: Objective, h: ArrayLike) -> Array:
    check_objective(objective, priced=True)
    accelerated.charged(objective)
    curvature = _checks.array("h", h)
    accelerated.require(objective, curvature)
    return curvature
