r"""Which solution of the Riccati equation is the value function, and when there is none: infinite time, a free end.

Everything in whitened coordinates y = Lᵀx with G = LLᵀ, where :math:`\gamma\Pi = M + J^\top\Pi + \Pi J - \Pi^2` with
M = ηkL⁻¹HL⁻ᵀ. Let N be the largest subspace with HN = 0 and JN ⊂ N: neither a displacement along it nor what the drift
makes of it changes the loss by more than first order. Modulo N the pair (H, J) is observable, and

- if H ⪰ 0 there, J is coercive: one minimiser. V's matrix is the *minimal* positive semidefinite solution, zero along
  N (following the drift is free) and the stabilising solution Π₊ modulo N. Where N grows faster than γ/2 this is not
  the stabilising solution of the whole problem, which would pay to hold what nobody asks to be held.
- if H has a negative eigenvalue there, let Π₋ be the antistabilising solution. If Π₋ ≺ 0, completing the square with it
  bounds J from below, J is coercive again, and V's matrix is Π₊. If Π₋ has a positive eigenvalue, or no real solution
  exists, J falls without bound: a drift faster than γ/2 carries the learner downhill for nothing. Between the two
  (a singular Π₋) nothing is decided here.
- along N the loss is linear, so that its discounted integral must converge: what of N the gradient sees has to grow
  more slowly than γ. Else J falls without bound.

References:
    Willems (1971), Least squares stationary optimal control and the algebraic Riccati equation; Trentelman (1989), The
    regular free-endpoint linear quadratic problem with indefinite cost: for a full input the theorem is the above.
"""

from __future__ import annotations

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser, NotConverged

_BOUNDARY = 1e-9  # of its norm: how far from singular an antistabilising solution must be to decide anything
BAND = 1e3  # times the rounding error: what lies below it may be zero and may not
_EPS = float(np.finfo(float).eps)


def unseen(basis: Array, jacobian: Array, slack: float) -> Array:
    """Return an orthonormal basis, shape (D, n), of the largest subspace of span(basis) that J maps into itself.

    Args:
        basis: orthonormal, shape (D, m).
        jacobian: J, shape (D, D).
        slack: components of J·(a basis vector) outside the subspace up to this size are rounding.
    """
    while basis.size:
        image = jacobian @ basis
        _, sizes, mixes = np.linalg.svd(image - basis @ (basis.T @ image), full_matrices=False)
        if np.all(sizes <= slack):
            break
        basis = basis @ mixes[sizes <= slack].T
    return basis


def across(basis: Array, gradient: Array, floor: float) -> Array:
    """Return an orthonormal basis of the part of span(basis) along which ``gradient`` vanishes, up to ``floor``."""
    along = gradient @ basis
    if not basis.size or np.linalg.norm(along) <= floor:
        return basis
    return np.asarray(basis @ scipy.linalg.null_space(along[None, :]))


def require_clear(near: Array, blind: Array, jacobian: Array, gamma: float) -> None:
    """Raise NotConverged if rounding hides whether the loss sees a mode, and V depends on it.

    V jumps there: following a drift faster than γ/2 is free where the loss sees nothing of it, and costs without bound
    where it sees anything at all.

    Args:
        near: basis of what the curvature sees less clearly than ``BAND`` times the rounding error.
        blind: basis of N.
        jacobian: LᵀJL⁻ᵀ, shape (D, D).
        gamma: γ.
    """
    if near.shape[1] == blind.shape[1]:
        return
    growth = float(np.max(np.linalg.eigvals(near.T @ jacobian @ near).real))
    if growth > gamma / 2:
        raise NotConverged(
            f"rounding hides whether the loss sees a direction in which the drift grows at {growth:.3g} > gamma/2, and "
            "the optimum depends on it; make that curvature of the Hessian exactly 0, or larger"
        )


def rest_of(basis: Array) -> Array:
    """Return an orthonormal basis, shape (D, D − n), of the complement of the one given, shape (D, n)."""
    if not basis.size:
        return np.eye(len(basis))
    return np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]


def solution(curvature: Array, jacobian: Array, gamma: float, blind: Array | None, floor: float) -> Array:
    """Return Π of V = yᵀΠy/2η + …, shape (D, D).

    Args:
        curvature: M = ηkL⁻¹HL⁻ᵀ, shape (D, D), unit 1/T².
        jacobian: LᵀJL⁻ᵀ, shape (D, D), unit 1/T.
        gamma: γ.
        blind: basis of N, from ``unseen``; None asks for Π among the paths that come to rest, or grow by less than the
            discount allows.
        floor: eigenvalues of M up to this size are rounding.

    Raises:
        NoMinimiser: where J has no lower bound, or on the boundary where that is not decided.
        NotConverged: if the Riccati equation cannot be solved to rounding.
    """
    seen = rest_of(np.zeros((len(curvature), 0)) if blind is None else blind)
    if not seen.size:
        return np.zeros_like(curvature)
    weight = seen.T @ curvature @ seen
    shifted = seen.T @ jacobian @ seen - gamma / 2 * np.eye(seen.shape[1])
    lowest = float(np.linalg.eigvalsh(weight)[0])
    pi = stabilising(weight, shifted)
    if blind is not None and lowest < -floor:
        _require_bounded(weight, shifted, gamma, lowest)
    if pi is None or (blind is not None and np.max(np.linalg.eigvals(shifted - pi).real) >= 0):
        if blind is None or lowest < -floor:
            raise NoMinimiser(_none(gamma, lowest))
        raise NotConverged(
            "the Riccati equation could not be solved: the loss hardly sees a direction in which the drift grows at "
            "gamma/2; make that curvature of the Hessian exactly 0, or larger"
        )
    return np.asarray(seen @ pi @ seen.T)


def stabilising(weight: Array, shifted: Array) -> Array | None:
    """Return the solution of 0 = M + AᵀΠ + ΠA − Π² with A − Π stable, or None; A = J − γ/2 is ``shifted``."""
    dim = len(weight)
    pace = max(float(np.sqrt(np.max(np.abs(weight)))), float(np.max(np.abs(shifted))))
    if pace == 0:
        return None
    a, m, identity = shifted / pace, weight / pace**2, np.eye(dim)  # in a natural unit of time
    try:
        pi = scipy.linalg.solve_continuous_are(a, identity, m, identity)
        for _ in range(3):  # Newton's method (Kleinman): a solution near the imaginary axis comes with half its digits
            closed = a - pi
            residual = m + a.T @ pi + pi @ a - pi @ pi
            if np.max(np.abs(residual)) <= 8 * dim * _EPS * (1 + np.max(np.abs(pi)) ** 2):
                break
            change = scipy.linalg.solve_continuous_lyapunov(closed.T, -residual)
            if not np.all(np.isfinite(change)):
                return None
            pi = pi + (change + change.T) / 2
    except np.linalg.LinAlgError:
        return None
    residual = m + a.T @ pi + pi @ a - pi @ pi
    good = np.all(np.isfinite(pi)) and np.max(np.abs(residual)) <= 1e-9 * (1 + np.max(np.abs(pi)) ** 2)
    return pace * (pi + pi.T) / 2 if good else None


def _require_bounded(weight: Array, shifted: Array, gamma: float, lowest: float) -> None:
    """Raise NoMinimiser unless the antistabilising solution is negative definite (H not ⪰ 0)."""
    reverse = stabilising(weight, -shifted)
    if reverse is None:
        raise NoMinimiser(_none(gamma, lowest))
    highest, size = -float(np.linalg.eigvalsh(reverse)[0]), float(np.max(np.abs(reverse)))
    if highest > _BOUNDARY * size:
        raise NoMinimiser(
            "no minimiser: along a direction of negative curvature the drift alone carries the learner downhill faster "
            "than gamma/2, for nothing, so that J falls without bound; raise gamma, or set a horizon"
        )
    if highest > -_BOUNDARY * size:
        raise NoMinimiser(
            "no minimiser is certain: with this negative curvature the drift is on the boundary beyond which J falls "
            "without bound; raise gamma, or set a horizon"
        )


def _none(gamma: float, lowest: float) -> str:
    return (
        "no minimiser: the Riccati equation has no stabilising solution (the Hessian is too negative for this "
        f"gamma = {gamma:g}: lowest eta·k·h = {lowest:.6g}); raise gamma, or set a horizon"
    )


def require_slow_tilt(jacobian: Array, blind: Array, flat: Array, gamma: float) -> None:
    """Raise NoMinimiser if what of N the gradient sees grows at γ or faster.

    Args:
        jacobian: LᵀJL⁻ᵀ, shape (D, D).
        blind: basis of N, unseen by the curvature.
        flat: basis of its part that the gradient does not see either.
        gamma: γ.
    """
    tilted = blind @ rest_of(blind.T @ flat)
    if not tilted.size:
        return
    growth = float(np.max(np.linalg.eigvals(tilted.T @ jacobian @ tilted).real))
    if growth >= gamma - 1e-12 * float(np.max(np.abs(jacobian), initial=0.0)):
        raise NoMinimiser(
            "no minimiser: the loss is tilted along a direction without curvature in which the drift grows at "
            f"{growth:.3g}, and gamma = {gamma:.3g} must be larger for J to converge; raise gamma, or set a horizon"
        )
