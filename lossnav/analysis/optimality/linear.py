r"""Which assumptions make a linear law optimal: all of them, or none and why.

A law :math:`\dot x=-Kx` about a minimum is optimal for a constant metric G, a quadratic loss of curvature H, a discount
γ and a linear drift f = Ax if :math:`P=G(A+K)/\eta` is symmetric and positive definite and
:math:`kH=\gamma P-A^\top P+PK`. What is found is not trusted: a Riccati solver is given the assumptions and asked for
the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.optimality.result import OptimalFor, basis
from lossnav.problem import drifts
from lossnav.problem.functions.roots import slow_rate
from lossnav.problem.objective import Objective

_SLOWEST = 1e-12
_EXACT = 1e-9  # relative: below it a law is as asked for


def judge(
    law: Array, hessian: Array | None, metric: Array | str, gamma: float | None, drift: drifts.Linear | str | None,
    dt: float | None,
) -> OptimalFor:  # fmt: skip
    """Return the assumptions for which a law is optimal; of a step, by the flow through its points."""
    if dt is not None:
        step = _checks.positive("dt", dt)
        if drift is not None:
            raise ValueError("dt and drift are given, but of steps only those without drift are judged")
        # The flow e^{−KΔt} that goes through the points of the step.
        values, vectors = basis(law)
        refused = _overshoots(1 - values)
        if refused or vectors is None:
            return OptimalFor(False, refused or "a step has no basis of eigenvectors")
        law = vectors * (-np.log1p(-values) / step) @ np.linalg.inv(vectors)
    if drift is None:
        return _still(law, hessian, metric, gamma)
    if isinstance(drift, str):
        _checks.one_of("drift", drift, ("any", "rotation"))
    else:
        _checks.instance("drift", drift, drifts.Linear, "None, a drifts.Linear, 'rotation' or 'any'")
    if drift == "any":
        return _any(law, hessian, metric, gamma)
    if hessian is not None or not isinstance(metric, str):
        raise ValueError("drift is given, and so loss and metric have to be free: no theorem judges another case")
    if isinstance(drift, str):
        return _turned(law, gamma)
    return _drifting(law, drift.matrix(len(law)), gamma, drift)


# ------------------------------------------------------------------------------------------------------- without drift


def _still(law: Array, hessian: Array | None, metric: Array | str, gamma: float | None) -> OptimalFor:
    if hessian is not None:
        return _given_loss(law, hessian, metric, gamma)
    discount, count = gamma or 0.0, int(gamma is None)
    if isinstance(metric, np.ndarray):
        # A given metric asks for a symmetric GK > 0, and any γ then has a loss.
        inner = metric @ law
        lowest = float(np.linalg.eigvalsh((inner + inner.T) / 2)[0])
        if not _symmetric(inner) or lowest <= 0:
            reason = f"GK is not symmetric, by {_skew(inner):.2g}" if lowest > 0 else "GK is not positive definite"
            return OptimalFor(False, reason, nearest=np.linalg.solve(metric, _definite(inner)))
        g, dims = metric, 0
    else:
        values, vectors = basis(law)
        if np.iscomplexobj(values):
            worst = values[np.argmax(np.abs(values.imag))]
            why = f"eigenvalues {worst.real:.4g} ± {abs(worst.imag):.4g}i are complex"
            return OptimalFor(False, f"{why}: for no constant metric, discount and loss", nearest=_real_part(law))
        if vectors is None:
            return OptimalFor(False, "no basis of eigenvectors: for no constant metric, discount and loss")
        if values[0] <= 0:
            why = f"the eigenvalue {values[0]:.4g} is not positive: for no loss with a strict minimum"
            return OptimalFor(False, why, nearest=_real_part(law))
        # Of the metrics that make the eigenvectors orthogonal the one in which they have length one.
        inverse = np.linalg.inv(vectors)
        g = inverse.T @ inverse
        dims = int(_together(values).sum())
    why = "real positive eigenvalues: for every gamma >= 0" if count else "real positive eigenvalues"
    return _witness(law, g, None, discount, None, _range(gamma, 0.0), why, (("metric", dims), ("gamma", count)))


def _given_loss(law: Array, hessian: Array, metric: Array | str, gamma: float | None) -> OptimalFor:
    if np.linalg.cond(hessian) > 1e12:
        raise ValueError("loss has a flat direction, along which no metric is told: give the loss without it")
    inverse = None if isinstance(metric, str) else np.linalg.inv(metric)
    # On a given loss the law is K = SH, and the preconditioner S has to be symmetric and positive.
    pre = np.linalg.solve(hessian, law.T).T  # S of K = SH
    lowest = float(np.linalg.eigvalsh((pre + pre.T) / 2)[0])
    if not _symmetric(pre) or lowest <= 0:
        reason = (
            f"K = SH with S not symmetric, by {_skew(pre):.2g}" if lowest > 0 else "K = SH with S not positive definite"
        )
        near = _definite(pre) @ hessian if inverse is None else _on_the_line(law, hessian, inverse)
        return OptimalFor(False, f"{reason}: no preconditioned descent on this loss (N3)", nearest=near)
    pre = (pre + pre.T) / 2
    least = max(0.0, -2 * float(np.linalg.eigvals(law).real.min()))  # a law that leaves a saddle needs a discount
    curved = pre @ hessian @ pre
    if inverse is None:
        if gamma is not None and gamma <= least and least > 0:
            return OptimalFor(
                False, f"gamma = {gamma:g}, but a law that leaves a saddle needs more than {least:.4g} (N3)"
            )
        discount = gamma if gamma is not None else 2 * least
        why = "K = SH with S > 0: for every gamma one metric, ηk/G = SHS + γS (N3)"
        g = np.linalg.inv(curved + discount * pre)
        return _witness(law, g, hessian, discount, None, _range(gamma, least), why, (("gamma", int(gamma is None)),))
    # SHS + γS = aG⁻¹ is linear in γ and a; a single curvature leaves γ open
    rate = float(np.linalg.norm(law))
    columns, goal = np.stack([-pre.ravel(), inverse.ravel()], 1), curved.ravel()
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns / sizes
    single = bool(np.linalg.matrix_rank(columns, tol=_EXACT) < 2)
    discount = least + rate if gamma is None else gamma
    if gamma is not None or single:
        columns, sizes, goal = columns[:, 1:], sizes[1:], goal + discount * pre.ravel()
    # Least squares for γ and a: where it misses, no pair of them does.
    solved = np.linalg.lstsq(columns, goal, rcond=None)[0]
    found = (solved / sizes).tolist()
    discount, gain = (discount, found[0]) if len(found) == 1 else found
    missed = float(np.linalg.norm(goal - columns @ solved) / np.linalg.norm(curved))
    if missed > _EXACT or discount < -_EXACT * rate or gain <= 0 or (least > 0 and discount <= least):
        reason = f"misses by {missed:.2g}" if missed > _EXACT else f"asks for γ = {discount:.4g}, ηk = {gain:.4g}"
        near = _on_the_line(law, hessian, inverse)
        return OptimalFor(False, f"r (r + γ) = ηkh for the given metric {reason}", nearest=near)
    discount, free = max(discount, 0.0), int(single and gamma is None)
    gammas = (least, math.inf) if free else (discount, discount)
    return _witness(law, np.asarray(metric), hessian, discount, None, gammas, "r (r + γ) = ηkh in every mode",
                    (("gamma", free),), gain)  # fmt: skip


def _on_the_line(law: Array, hessian: Array, inverse: Array) -> Array | None:
    """Return K = R(a, γ) of the least squares of ln r, over γ."""
    lower = np.linalg.cholesky(inverse)
    h, vectors = np.linalg.eigh(lower.T @ hessian @ lower)
    if h[0] <= 0:
        return None
    turn = lower @ vectors
    own = np.diag(np.linalg.solve(turn, law @ turn))
    if np.any(own <= 0):
        return None

    def rates(x: Array) -> Array:
        gamma, rate = math.exp(x[0]), math.exp(x[1])  # the rate is that of the middle curvature
        return slow_rate(h, rate * (rate + gamma) / np.median(h), gamma)

    middle = math.log(float(np.median(own)))
    start = [middle, middle]
    solution = scipy.optimize.least_squares(lambda x: np.log(rates(x) / own), start, bounds=(middle - 10, middle + 10))
    return np.asarray(turn * rates(solution.x) @ np.linalg.inv(turn))


def _overshoots(values: Array) -> str:
    """Say why multipliers are those of no planned step, whose lie in (0, 1)."""
    if np.iscomplexobj(values):
        return "a step turns: multipliers are complex, for no constant metric and loss"
    low, high = float(values.min()), float(values.max())
    if low <= 0:
        goes = "overshoots" if low < 0 else "is there at once"
        return f"a step {goes}, by the multiplier {low:.4g}: for no loss that is charged at the points"
    return f"a step does not settle, by the multiplier {high:.4g}" if high >= 1 else ""


# ---------------------------------------------------------------------------------------------------------- with drift


def _drifting(law: Array, matrix: Array, gamma: float | None, drift: drifts.Linear) -> OptimalFor:
    """Judge θ̇ = −Kx under a known drift Ax: A + K needs real positive eigenvalues."""
    pull = matrix + law
    values, vectors = basis(pull)
    if np.iscomplexobj(values) or np.any(values <= 0):
        return OptimalFor(False, f"A + K has the eigenvalue {values[np.argmin(values.real)]:.4g}: it must be real and "
                          "positive", nearest=_real_part(pull) - matrix)  # fmt: skip
    if vectors is None:
        return OptimalFor(False, "A + K has no basis of eigenvectors")
    # In these metrics eigenvectors are orthogonal but where they share an eigenvalue: each space of its own has a
    # Cholesky factor.
    inverse = np.linalg.inv(vectors)
    rows, columns = np.nonzero(_together(values))
    own = rows == columns

    def member(weights: Array) -> Array:
        factor = np.zeros_like(law)
        factor[rows, columns] = np.where(own, np.exp(weights / 2), weights)
        return np.asarray(inverse.T @ factor @ factor.T @ inverse)

    def least(weights: Array) -> float:
        """Return the γ above which the loss of a member has a minimum."""
        p = member(weights) @ pull
        rest = p @ law - matrix.T @ p
        return float(-scipy.linalg.eigh((rest + rest.T) / 2, (p + p.T) / 2, eigvals_only=True)[0])

    found = least(_lowest(least, np.zeros(len(rows))))
    low = max(found, 0.0)
    if gamma is not None and gamma <= found:
        return OptimalFor(False, f"gamma = {gamma:g}, but no metric was found for less than {low:.4g} (by search)")
    discount = gamma if gamma is not None else low + (float(np.linalg.norm(pull)) if low else 0.0)
    # The least may be a limit, of ever worse conditioned metrics: a search that asks for no more than is needed stops.
    enough = (discount + max(found, discount - float(np.linalg.norm(pull)))) / 2
    weights = _lowest(lambda x: max(least(x), enough), np.zeros(len(rows)))
    metric = member(weights) / np.exp(weights[own].mean())
    free = (("metric", len(rows)), ("gamma", int(gamma is None)))
    why = "A + K has real positive eigenvalues"
    return _witness(law, metric, None, discount, drift, _range(gamma, low), why, free)


def _lowest(function: Callable[[Array], float], x: Array) -> Array:
    """Return where a simplex gets that begins anew as long as it gains: its minimum may have a kink."""
    best = function(x)
    while True:
        options = {"maxiter": 400 * len(x), "xatol": 1e-7, "fatol": 1e-9 * abs(best)}
        minimum = scipy.optimize.minimize(function, x, method="Nelder-Mead", options=options)
        if not minimum.fun < best - 1e-6 * abs(best):
            return np.asarray(minimum.x if minimum.fun < best else x)
        x, best = minimum.x, float(minimum.fun)


def _turned(law: Array, gamma: float | None) -> OptimalFor:
    """Judge a law under any drift that is a rotation in the metric: it has to settle."""
    values, left = np.linalg.eig(-law.T)
    if values.real.max() >= 0:
        return OptimalFor(False, f"the law does not settle: growth rate {values.real.max():.4g}")
    if np.linalg.cond(left) > 1e7:
        raise ValueError("law has no basis of eigenvectors, for which no witness is made")
    metric = np.real(left @ left.conj().T)
    turn = np.linalg.solve(metric, law.T @ metric - metric @ law) / 2
    free = (("metric", len(law)), ("gamma", int(gamma is None)))
    why = "every law that settles"
    return _witness(law, metric, None, gamma or 0.0, drifts.Linear(turn), _range(gamma, 0.0), why, free)


def _any(law: Array, hessian: Array | None, metric: Array | str, gamma: float | None) -> OptimalFor:
    """Judge a law under any linear drift at given loss, metric and γ: no drift excuses sluggishness."""
    if hessian is None or isinstance(metric, str) or gamma is None:
        raise ValueError("drift = 'any' needs loss, metric and gamma: else every law that settles is optimal for some "
                         "drift, so that nothing is said; name one")  # fmt: skip
    # In units of the way's own time, and where the metric is one: the solver knows no other scale than 1.
    root = np.linalg.cholesky(metric).T
    inner, curved = root @ (-law - gamma / 2 * np.eye(len(law))) @ np.linalg.inv(root), _over(root, hessian)
    rate = float(np.linalg.norm(inner)) or 1.0
    inner, curved = inner / rate, curved / rate / rate
    growth = float(np.linalg.eigvals(inner).real.max())
    if growth >= 0:
        return OptimalFor(False, f"it grows faster than the discount forgives, by {rate * growth:.4g}")

    # What the loss gains by a disturbance of the velocity, at a frequency; its peak has to be at most one.
    def gain(omega: float) -> float:
        moved = np.linalg.inv(1j * omega * np.eye(len(law)) - inner)
        return float(np.linalg.eigvalsh(moved.conj().T @ curved @ moved)[-1])

    # A resonance is as narrow as its mode is slow.
    top, modes = 10 * float(np.linalg.norm(inner)), np.linalg.eigvals(inner)
    near = np.abs(modes.imag)[:, None] + np.abs(modes.real)[:, None] * np.linspace(-4, 4, 33)
    grid = np.unique(np.append(np.linspace(0, top, 2001), near[near > 0]))
    start = int(np.clip(np.argmax([gain(w) for w in grid]), 1, len(grid) - 2))
    peak = scipy.optimize.minimize_scalar(
        lambda w: -gain(w), bounds=(grid[start - 1], grid[start + 1]), method="bounded", options={"xatol": 1e-12 * top}
    )
    worst, omega = max((-float(peak.fun), float(peak.x)), (gain(0.0), 0.0))
    if abs(worst - 1) <= _EXACT:
        raise ValueError(
            f"law has the gain 1 at ω = {rate * omega:.3g} to rounding, beyond which no drift excuses it, and no "
            "witness is made there: give the drift, or take a law that is a little faster"
        )
    if worst > 1:
        return OptimalFor(False, f"gain {worst:.4g} > 1 at ω = {rate * omega:.3g}: too sluggish for any drift")
    # The witness: of the Riccati equation that the gain bounds, the solution from the stable subspace.
    hamilton = np.block([[inner, np.eye(len(law))], [-curved, -inner.T]])
    _, stable, _ = scipy.linalg.schur(hamilton, output="real", sort="lhp")
    size = len(law)
    p = stable[size:, :size] @ np.linalg.inv(stable[:size, :size])
    matrix = rate * np.linalg.solve(root, (p + p.T) / 2 @ root) - law
    return _witness(law, metric, hessian, gamma, drifts.Linear(matrix), (gamma, gamma),
                    f"gain {worst:.4g} <= 1", ())  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- small


def _witness(law: Array, metric: Array, hessian: Array | None, gamma: float, drift: drifts.Linear | None,
             gammas: tuple[float, float], why: str, free: tuple[tuple[str, int], ...],
             eta: float = 1.0) -> OptimalFor:  # fmt: skip
    """Return the assumptions if a Riccati solver returns the law for them, and not another root.

    A curvature that is not given is that for which the law is a root: H = γP − AᵀP + PK with P = G(A + K)/η.
    """
    size = len(law)
    flow = np.zeros((size, size)) if drift is None else drift.matrix(size)
    if hessian is None:
        p = metric @ (flow + law) / eta
        hessian = gamma * p - flow.T @ p + p @ law
    metric, hessian = (metric + metric.T) / 2, (hessian + hessian.T) / 2
    # In units of the law's own time, and where the metric is one: the solver knows no other scale than 1.
    root = np.linalg.cholesky(metric / eta).T
    turned, carried = (root @ matrix @ np.linalg.inv(root) for matrix in (law, flow))
    rate = float(np.linalg.norm(turned) + np.linalg.norm(carried))
    slowest = float(np.min(np.abs(np.linalg.eigvals(turned))))
    if slowest <= _SLOWEST * rate:
        raise ValueError(
            f"law has rates from {slowest:.3g} to {rate:.3g}, but their ratio must be >= {_SLOWEST:g}, so that a "
            "Riccati solver tells the slowest"
        )
    inner, one = (carried - gamma / 2 * np.eye(size)) / rate, np.eye(size)
    p = scipy.linalg.solve_continuous_are(inner, one, _over(root, hessian) / rate / rate, one)
    residual = float(np.linalg.norm(rate * p - carried - turned) / np.linalg.norm(turned))
    if residual > 1e-6:
        return OptimalFor(
            False, f"the law is another root of its Riccati equation, and no optimum ({residual:.2g} off)"
        )
    degrees = tuple((name, count) for name, count in free if count)
    return OptimalFor(True, why, Objective(eta=eta, gamma=gamma, metric=metric, drift=drift), hessian, gammas, degrees,
                      residual=residual)  # fmt: skip


def _together(values: Array) -> Array:
    """Return which pairs i ≥ j of eigenvalues are equal: Σm(m + 1)/2 of them, of multiplicities m."""
    return np.asarray(np.tril(values[:, None] == values))


def _over(root: Array, form: Array) -> Array:
    """Return a form where the metric, rootᵀ·root, is one."""
    inverse = np.linalg.inv(root)
    there = inverse.T @ form @ inverse
    return np.asarray(there + there.T) / 2


def _range(gamma: float | None, low: float) -> tuple[float, float]:
    return (low, math.inf) if gamma is None else (gamma, gamma)


def _skew(matrix: Array) -> float:
    return float(np.linalg.norm(matrix - matrix.T)) / max(float(np.linalg.norm(matrix + matrix.T)), 1e-300)


def _symmetric(matrix: Array) -> bool:
    return _skew(matrix) <= _EXACT


def _definite(matrix: Array) -> Array:
    """Return the nearest positive definite matrix in Frobenius' norm."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * np.maximum(values, 1e-3 * np.abs(values).max()) @ vectors.T)


def _real_part(law: Array) -> Array:
    """Return the law of the same real parts in the same basis, those below 0 lifted."""
    values, vectors = np.linalg.eig(law)
    parts = np.maximum(values.real, 1e-3 * np.abs(values).max())
    return np.real(vectors * parts @ np.linalg.inv(vectors))
