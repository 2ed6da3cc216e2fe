r"""Eigenmodes of the quadratic problem, in the forms that keep every digit (App. E).

With :math:`HX = GX\,\mathrm{diag}(h)`, :math:`X^\top GX = I` the problem falls apart into scalar ones. For a mode of
curvature h, started with gradient g, the optimum is :math:`z(t) = -\varphi(t)\,g` and :math:`\dot z = -\psi(t)\,g`;
:math:`\varphi` is the preconditioner of Eq. 6 and stays finite where :math:`1/h` does not.
Written :math:`S=\sqrt{\gamma^2/4+\eta kh}`, :math:`s_+=S+\gamma/2`, :math:`r=S-\gamma/2=\eta kh/s_+`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.functions.roots import exp_mean, fast_rate, slow_rate

__all__ = [
    "Modes", "decompose", "depths", "displacement", "exp_mean", "fast_rate", "focal_time", "require_minimiser",
    "rounding", "slow_rate", "speed", "tilted", "waves", "whitening",
]  # fmt: skip

_BLUNT = 1e-6  # of the largest curvature: below it half of the digits of g/h are rounding
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True, eq=False)
class Modes:
    """Curvatures h, shape (D,), ascending, and G-orthonormal directions X, shape (D, D), one a column."""

    curvature: Array
    directions: Array


def whitening(metric: Array) -> tuple[Array, Array]:
    """Return L and L⁻¹ with G = LLᵀ: in y = Lᵀθ the metric is the identity."""
    lower = np.linalg.cholesky(metric)
    return lower, scipy.linalg.solve_triangular(lower, np.eye(len(lower)), lower=True)


def rounding(left: Array, matrix: Array, right: Array) -> float:
    """Return a bound on the rounding error of left @ matrix @ right and of its eigenvalues; 0 if all are diagonal.

    Taken entry by entry, so that parameters in wildly different units do not drown each other.
    """
    if all(_diagonal(part) for part in (left, matrix, right)):
        return 0.0
    size = np.abs(left) @ np.abs(matrix) @ np.abs(right)
    return 4 * len(matrix) * float(np.finfo(float).eps) * float(np.max(size, initial=0.0))


def _diagonal(matrix: Array) -> bool:
    return np.count_nonzero(matrix) == np.count_nonzero(np.diagonal(matrix))


def decompose(hessian: Array, metric: Array | None = None) -> Modes:
    """Return the modes of G⁻¹H with one symmetric eigendecomposition; ``metric`` None is the identity.

    A singular Hessian comes back with eigenvalues of ±rounding: what is no larger is 0. A spurious minus sign would
    deny a minimiser, a spurious plus sign would send an undiscounted path to a stationary point that is not there.
    """
    curvature, directions = scipy.linalg.eigh(hessian, metric)
    size, exact = np.abs(curvature), _diagonal(hessian) and (metric is None or _diagonal(metric))
    if not exact and np.min(size) < 1e-8 * np.max(size):  # the bound costs as much as a tenth of the modes
        curvature[size <= rounding(directions.T, hessian, directions)] = 0.0
    return Modes(curvature, directions)


def tilted(gradient: Array) -> NDArray[np.bool_]:
    """Return which modes have a gradient that is no rounding of the others'."""
    return np.abs(gradient) > 1e-12 * np.max(np.abs(gradient), initial=0.0)


def depths(curvature: Array, gradient: Array, timeless: bool) -> tuple[NDArray[np.bool_], Array]:
    """Return which modes are too flat beside the others to know where they could rest, and g²/2h, 0 for these.

    Without a discount or an end (``timeless``) all that curve go there, and must know.
    """
    blunt = np.abs(curvature) <= (0.0 if timeless else _BLUNT * np.max(np.abs(curvature), initial=0.0))
    return blunt, np.where(blunt, 0.0, gradient**2 / np.where(blunt, 1.0, curvature) / 2)


def focal_time(curvature: Array, gain: float, gamma: float, charge: float = 0.0) -> Array:
    r"""Return after which time per mode a free end is no minimum any more, in the shape of ``curvature``; inf: never.

    The first zero of :math:`D(s)=\cosh Ss+(\tfrac\gamma2+\eta ch)\sinh(Ss)/S` (Jacobi's condition). ``charge`` is c/k,
    the time for which L at the deadline counts.
    """
    square = gamma * gamma / 4 + gain * curvature
    derivative = gamma / 2 + gain * charge * curvature
    omega, root = np.sqrt(np.maximum(-square, 0.0)), np.sqrt(np.maximum(square, 0.0))
    turning, sinking = square < 0, (square >= 0) & (derivative < -root)
    pole = np.where(sinking, -derivative, 1.0)
    bowed = np.arctanh(np.where(sinking & (root > 0), root / pole, 0.5)) / np.where(root > 0, root, 1.0)
    falls = np.where(root > 0, bowed, 1 / pole)
    turns = (np.pi - np.arctan2(omega, derivative)) / np.where(turning, omega, 1.0)
    return np.where(turning, turns, np.where(sinking, falls, np.inf))


def require_minimiser(
    curvature: Array, gradient: Array, gain: float, gamma: float, horizon: float = math.inf, charge: float = 0.0
) -> None:
    """Raise NoMinimiser unless J has one, for modes of these curvatures and gradients ``gradient``, both shape (D,).

    Infinite horizon: needs γ²/4 + ηkh > 0 in every mode, or (γ = 0) h = 0 with no slope. Finite horizon: needs the
    end before the first focal point (``focal_time``, with its ``charge``).
    """
    square = gamma * gamma / 4 + gain * curvature
    if math.isfinite(horizon):
        focal = focal_time(curvature, gain, gamma, charge)
        if np.any(focal <= horizon):
            worst = int(np.argmin(focal))
            raise NoMinimiser(
                f"no minimiser: the Hessian has the eigenvalue {curvature[worst]:.6g}, so its focal point at "
                f"t = {focal[worst]:.6g} lies before the horizon {horizon:.6g}"
            )
        return
    negative = (square < 0) | ((square == 0) & (curvature < 0))
    if np.any(negative):
        worst = int(np.argmin(curvature))
        needed = 2 * math.sqrt(max(0.0, -gain * curvature[worst]))
        raise NoMinimiser(
            f"no minimiser: the Hessian has the eigenvalue {curvature[worst]:.6g}, and gamma²/4 + eta·k·h = "
            f"{square[worst]:.6g} must be > 0; raise gamma above {needed:.6g}, "
            "set a horizon, or use |h|"
        )
    if gamma == 0 and np.any((square == 0) & tilted(gradient)):
        raise NoMinimiser(
            "no minimiser: gamma = 0 and the gradient has a component along a flat direction of the Hessian, "
            "so J falls without bound; set gamma > 0 or a horizon"
        )


def waves(square: Array, t: Array) -> tuple[Array, Array]:
    """Return e^{−St} sinh(St)/S and e^{−St} cosh(St), shape (..., D); sin(ωt)/ω and cos(ωt) where S² = −ω² < 0.

    Args:
        square: S², shape (D,).
        t: times, shape (..., 1) or (..., D).
    """
    real, imaginary = np.sqrt(np.maximum(square, 0.0)), np.sqrt(np.maximum(-square, 0.0))
    sine = np.where(square < 0, t * np.sinc(imaginary * t / np.pi), t * exp_mean(2 * real * t))
    return sine, np.where(square < 0, np.cos(imaginary * t), (1 + np.exp(-2 * real * t)) / 2)


def displacement(
    curvature: Array, gain: float, gamma: float, t: ArrayLike, horizon: float = math.inf, charge: float = 0.0
) -> Array:
    """Return φ(t), shape (..., D), for t of shape (..., 1) or scalar; t = inf gives 1/h where h > 0.

    ``charge`` is c/k, the time for which L at a finite horizon counts.
    """
    t = np.asarray(t, dtype=np.float64)
    if math.isfinite(horizon):
        return _displacement_finite(curvature, gain, gamma, t, horizon, charge)
    fast = fast_rate(curvature, gain, gamma)
    safe_fast = np.where(fast == 0, 1.0, fast)  # γ = h = 0: only reached with zero slope, so that φ is immaterial
    slow = gain * curvature / safe_fast
    with np.errstate(invalid="ignore", over="ignore"):
        finite = gain / safe_fast * np.where(np.isinf(t), 1.0, t) * exp_mean(slow * np.where(np.isinf(t), 1.0, t))
    at_rest = np.where(curvature > 0, 1 / np.where(curvature > 0, curvature, 1.0), np.inf)
    return np.where(fast == 0, 0.0, np.where(np.isinf(t), at_rest, finite))


def speed(
    curvature: Array, gain: float, gamma: float, t: ArrayLike, horizon: ArrayLike = math.inf, charge: float = 0.0
) -> Array:
    """Return ψ(t) = dφ/dt, arguments and shapes as in ``displacement``; ``horizon`` may be an array, too."""
    t, endless = np.asarray(t, dtype=np.float64), np.isinf(horizon)
    fast, slow = fast_rate(curvature, gain, gamma), slow_rate(curvature, gain, gamma)
    steady = np.where(fast == 0, 0.0, gain / np.where(fast == 0, 1.0, fast) * np.exp(-slow * t))
    if np.all(endless):
        return steady
    until = np.where(endless, 1.0, horizon)
    decay, left, denominator = _finite_parts(curvature, gain, gamma, t, until, charge)
    return np.where(endless, steady, gain * decay * left / denominator)


def _finite_parts(
    curvature: Array, gain: float, gamma: float, t: Array, horizon: Any, charge: float
) -> tuple[Array, Array, Array]:
    """Return e^{−rt}-like decay, sinh(S(T−t))/S with the charge's share, and the free end's denominator, rescaled."""
    square = gamma * gamma / 4 + gain * curvature
    real = np.sqrt(np.maximum(square, 0.0))
    decay = np.exp(-np.where(square < 0, -gamma / 2, _slow(curvature, gain, gamma)) * t)
    (left, beside), (full, cosine) = waves(square, horizon - t), waves(square, horizon)
    if charge:
        # cosh − (γ/2)sinh/S = e^{−Ss} + r·sinh/S, which does not cancel
        real_part = np.exp(-2 * real * (horizon - t)) + _slow(curvature, gain, gamma) * left
        left = left + charge * np.where(square < 0, beside - gamma / 2 * left, real_part)
    return decay, left, cosine + (gamma / 2 + gain * charge * curvature) * full


def _slow(curvature: Array, gain: float, gamma: float) -> Array:
    """Return r, and 0 where it is imaginary."""
    return np.nan_to_num(slow_rate(curvature, gain, gamma), nan=0.0)


def _displacement_finite(curvature: Array, gain: float, gamma: float, t: Array, horizon: float, charge: float) -> Array:
    t, square = np.atleast_1d(t), gamma * gamma / 4 + gain * curvature
    smooth = square * horizon**2 < 1e-2  # here the closed form divides by S ≈ 0, and ψ is smooth enough for Gauss
    root = np.sqrt(np.where(smooth, 1.0, square))
    fast, slow = root + gamma / 2, _slow(curvature, gain, gamma)
    *_, denominator = _finite_parts(curvature, gain, gamma, t, horizon, charge)
    safe_fast = np.where(fast == 0, 1.0, fast)
    with np.errstate(over="ignore", invalid="ignore"):
        grown = (np.exp(fast * t - 2 * root * horizon) - np.exp(-2 * root * horizon)) / safe_fast
        share = (1 + charge * _slow(curvature, gain, gamma)) / (2 * root)
        closed = gain * (share * (t * exp_mean(slow * t) - grown) + charge * grown) / denominator
    if not np.any(smooth):
        return closed
    rates = speed(curvature, gain, gamma, np.multiply.outer((1 + _GAUSS_NODES) / 2, t), horizon, charge)
    return np.where(smooth, t / 2 * np.tensordot(_GAUSS_WEIGHTS, rates, axes=1), closed)
