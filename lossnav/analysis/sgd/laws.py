r"""What SGD does when it has arrived: its stationary law, its speed, its current, and how far it goes, by modes.

A mode is an eigendirection of the Hessian with eigenvalue ρ; weight decay makes its curvature h = ρ + λ. Every function
takes the noise in one of two ways: ``noise`` = σ² for :math:`\Sigma=\sigma^2H` (linear regression near its minimum,
K: Assumption 3), or ``gradient_variance`` for what was measured, :math:`\Sigma_{ll}=q_l^\top\Sigma q_l`. The laws hold
mode by mode for any constant Σ, whether or not it commutes with H; what needs [H, Σ] = 0 is the absence of
correlations *between* modes.

``form="sde"`` is the model in continuous time, ``"discrete"`` the exact law of the recursion with the same noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.sgd._setting import FORMS, Setting, bound, per_batch, recursion, setting
from lossnav.analysis.sgd.oscillator import Oscillators


def stationary(
    rho: ArrayLike,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    form: str = "sde",
    gradient_variance: ArrayLike | None = None,
    curvature_variance: ArrayLike | None = None,
    population: int | None = None,
) -> Array:
    r"""Return the stationary covariance of (θ, v) along each mode (K9, K12; discrete: ours).

    Continuous: :math:`\mathrm{diag}\big(\frac{\eta\,\Sigma_{ll}}{2S(1-\beta)h},\frac{\Sigma_{ll}}{S(1-\beta^2)}\big)`.
    Discrete: Var v = 2s²/((1−β)(2(1+β)−ηh)) with s² = Σ_ll/S, Var θ = η(1+β)/(2h)·Var v, and a covariance η/2·Var v,
    because v_k belongs to a time half a step before θ_k.

    Args:
        rho: eigenvalue ρ >= 0 of the Hessian, or several, shape (L,).
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² >= 0, for Σ = σ²H.
        decay: weight decay λ >= 0, coupled.
        form: "sde" or "discrete".
        gradient_variance: instead of ``noise``, Σ_ll >= 0 per mode, of the shape of ``rho``.
        curvature_variance: with "discrete", the variance over examples of the curvature along each mode, for noise
            that grows with the distance, Σ_ll + Var(h_i)·θ²: exact in one dimension.
        population: N, if a batch holds different examples of N; None draws them independently.

    Returns:
        Shape (2, 2), or (L, 2, 2).

    Raises:
        ValueError: an argument is out of its range; ηh >= 2(1 + β), where SGD diverges; ρ + λ = 0, where no law of the
            position is stationary; or the noise grows so fast with the distance that no variance exists.

    Example:
        >>> stationary(2.0, eta=0.1, beta=0.5, batch=4, noise=1.0).diagonal().round(4).tolist()
        [0.025, 0.6667]

    References:
        Kunin et al. (2023), Eqs. 9 and 12, in which Σ = σ²H.
    """
    _checks.one_of("form", form, FORMS)
    run = setting(rho, eta, beta, batch, noise, decay, gradient_variance, population)
    bound(run)
    if curvature_variance is not None:
        run = _growing(run, form, curvature_variance, batch, population)
    v = _speeds(run, form)
    theta = run.eta * (1 + run.beta) / (2 * run.curvature) * v
    cross = run.eta / 2 * v if form == "discrete" else np.zeros_like(v)
    return np.stack([np.stack([theta, cross], -1), np.stack([cross, v], -1)], -2).reshape(*run.shape, 2, 2)


def speed(
    rho: ArrayLike,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    form: str = "sde",
    gradient_variance: ArrayLike | None = None,
    population: int | None = None,
) -> float:
    r"""Return the mean squared length of a step in the stationary state, E|θ_{k+1} − θ_k|², over all modes (K16).

    Continuous: :math:`\eta^2\,\mathrm{tr}\,\Sigma/(S(1-\beta^2))`. It depends on no curvature, so that the whole trace
    may be given as one mode: ``speed(0.0, gradient_variance=trace, …)``.

    Args:
        rho: eigenvalues ρ >= 0, one or shape (L,).
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² >= 0, for Σ = σ²H.
        decay: weight decay λ >= 0.
        form: "sde" or "discrete".
        gradient_variance: instead of ``noise``, Σ_ll >= 0, of the shape of ``rho``.
        population: N, if a batch holds different examples of N.

    Raises:
        ValueError: an argument is out of its range, or SGD is unstable.

    References:
        Kunin et al. (2023), Eq. 16; that any Σ will do is ours.
    """
    _checks.one_of("form", form, FORMS)
    run = setting(rho, eta, beta, batch, noise, decay, gradient_variance, population)
    return float(run.eta**2 * np.sum(_speeds(run, form)))


def circulation(
    rho: ArrayLike,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    form: str = "sde",
    gradient_variance: ArrayLike | None = None,
    population: int | None = None,
) -> Array:
    """Return how strongly the stationary current turns in each plane of (θ, v): twice the area swept per time.

    Continuous: E[θ j_v − v j_θ] = −2 Var v, with j the velocity of the current. Discrete:
    E[θ_k v_{k+1} − v_k θ_{k+1}]/η = −(1 + β − ηh/2) Var v. Negative is clockwise, with θ to the right and v upwards.

    Args:
        rho: eigenvalues ρ >= 0, one or shape (L,).
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² >= 0, for Σ = σ²H.
        decay: weight decay λ >= 0.
        form: "sde" or "discrete".
        gradient_variance: instead of ``noise``, Σ_ll >= 0, of the shape of ``rho``.
        population: N, if a batch holds different examples of N.

    Returns:
        Of the shape of ``rho``.

    Raises:
        ValueError: an argument is out of its range, SGD is unstable, or a direction is flat.

    References:
        Ours; the current is Eq. 15 of Kunin et al. (2023).
    """
    _checks.one_of("form", form, FORMS)
    run = setting(rho, eta, beta, batch, noise, decay, gradient_variance, population)
    bound(run)
    turns = 2.0 if form == "sde" else 1 + run.beta - run.eta * run.curvature / 2
    return (-turns * _speeds(run, form)).reshape(run.shape)


def displacement(
    rho: ArrayLike,
    n: ArrayLike,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    form: str = "sde",
    gradient_variance: ArrayLike | None = None,
    population: int | None = None,
) -> Array:
    r"""Return the mean squared distance E|θ_{k+n} − θ_k|² after n steps, from a stationary start, over all modes (K17).

    Three forms: "riemann" is the source's sum over continuous correlations, "sde" the displacement of the continuous
    model, "discrete" that of the recursion. In a curved direction the sum keeps a spurious slope for ever; the other
    two saturate. At n = 1 only "discrete" is the mean squared step.

    Flat directions (ρ + λ = 0) are taken: they never saturate.

    Args:
        rho: eigenvalues ρ >= 0, one or shape (L,).
        n: numbers of steps >= 0, shape (...).
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² >= 0, for Σ = σ²H.
        decay: weight decay λ >= 0.
        form: "riemann", "sde" or "discrete".
        gradient_variance: instead of ``noise``, Σ_ll >= 0, of the shape of ``rho``.
        population: N, if a batch holds different examples of N.

    Returns:
        Of the shape of ``n``.

    Raises:
        ValueError: an argument is out of its range, or SGD is unstable.

    References:
        Kunin et al. (2023), Eq. 17 with its time η·k; "sde" and "discrete" are ours.
    """
    _checks.one_of("form", form, ("riemann", *FORMS))
    steps = _steps(n)
    run = setting(rho, eta, beta, batch, noise, decay, gradient_variance, population)
    return {"riemann": _riemann, "sde": _continuous, "discrete": _discrete}[form](run, steps)


def exponent(n: ArrayLike, displacement: ArrayLike) -> float:
    """Return c of the law displacement ∝ n^c by least squares in logarithms: 1 Brownian, above it super-, below sub-.

    Because every curved mode saturates, c is a property of the window of n as much as of the network.

    Args:
        n: numbers of steps > 0, at least two different ones, shape (M,).
        displacement: mean squared displacements > 0, shape (M,).

    Raises:
        ValueError: an entry is not positive, the lengths differ, or all n are the same.

    References:
        Kunin et al. (2023), Eq. 1.
    """
    steps = _checks.positives("n", n, shape=(None,))
    square = _checks.positives("displacement", displacement, shape=steps.shape)
    if np.ptp(steps) == 0 if steps.size else True:
        raise ValueError(f"n = {_checks.shown(n)}, but it must hold at least two different numbers of steps")
    x = np.log(steps) - np.mean(np.log(steps))
    return float(x @ np.log(square) / (x @ x))


def _speeds(run: Setting, form: str) -> Array:
    """Return Var v per mode."""
    if form == "sde":
        return run.variance / (1 - run.beta**2)
    return 2 * run.variance / ((1 - run.beta) * (2 * (1 + run.beta) - run.eta * run.curvature))


def _growing(run: Setting, form: str, curvature_variance: Any, batch: int, population: Any) -> Setting:
    """Return the run with its variance raised by that of the curvature: s² + ν Var θ/S, solved for itself."""
    if form != "discrete":
        raise ValueError(f"curvature_variance is given with form = {form!r}, but it needs form = 'discrete'")
    spread = np.atleast_1d(_checks.nonnegatives("curvature_variance", curvature_variance))
    spread = _checks.array("curvature_variance", spread, shape=run.curvature.shape)
    unit = replace(run, variance=np.ones_like(spread))
    share = run.eta * (1 + run.beta) / (2 * run.curvature) * _speeds(unit, form) * spread
    share = share * per_batch(batch, population)
    if np.any(share >= 1):
        worst = int(np.argmax(share))
        raise ValueError(
            f"eta = {run.eta:g}, beta = {run.beta:g}, rho + decay = {run.curvature[worst]:g} and batch = {batch} have "
            f"no stationary variance: the mean is stable, but the noise of curvature_variance feeds itself back "
            f"{share[worst]:.3g} times, and it must be < 1; take a smaller eta or a larger batch"
        )
    return replace(run, variance=run.variance / (1 - share))


def _steps(n: Any) -> Array:
    steps = _checks.nonnegatives("n", n)
    if np.any(steps != np.floor(steps)) or np.any(steps > 2**53):
        raise ValueError(f"n = {_checks.shown(n)}, but all its entries must be whole numbers")
    return steps


def _riemann(run: Setting, steps: Array) -> Array:
    """η²/(1 − β²)·[n Σ s² + 2 Σ_k (n − k) Σ_l s² C_l(ηk)]: two running sums over the lag."""
    last = int(np.max(steps, initial=0.0))
    _checks.room(6.0 * last, n=last)
    lags = run.eta * np.arange(last + 1)
    together = np.zeros(last + 1)
    modes = Oscillators.of(run.curvature, run.eta, run.beta)
    for omega2, alpha2, variance in zip(modes.omega2, modes.alpha2, run.variance, strict=True):
        together += variance * Oscillators(modes.gamma, omega2, alpha2).velocity(lags)
    pairs = np.concatenate([[0.0], np.cumsum(np.cumsum(together[1:]))])  # pairs[n − 1] = Σ_k (n − k) together[k]
    index = steps.astype(int)
    total = index * np.sum(run.variance) + 2 * np.where(index > 0, pairs[index - 1], 0.0)
    return run.eta**2 / (1 - run.beta**2) * total


def _continuous(run: Setting, steps: Array) -> Array:
    """Σ_l 2s²/(1 − β²)·∫₀^{ηn} s_l(τ)dτ, which is 2 Var θ (1 − R_l) where there is a Var θ."""
    modes = Oscillators.of(run.curvature, run.eta, run.beta)
    areas = modes.area(np.ravel(run.eta * steps)[:, None])
    return (2 / (1 - run.beta**2) * (areas @ run.variance)).reshape(steps.shape)


def _discrete(run: Setting, steps: Array) -> Array:
    """2(P − MⁿP)_θθ = 2[Σ_{k<n} Mᵏ(I − M)P]_θθ, where (I − M)P e_θ = Var v·(η²/2, η) holds no 1/h to cancel.

    The sum over k is doubled: S_{2n} = S_n + MⁿS_n.
    """
    first = np.broadcast_to([[run.eta**2 / 2], [run.eta]], (len(run.curvature), 2, 1))
    step = recursion(run.curvature, run.eta, run.beta)
    weight = 2 * _speeds(run, "discrete")
    squares = [weight @ total[:, 0, 0] for total in _power_sums(step, first, [int(n) for n in np.ravel(steps)])]
    return np.array(squares, dtype=np.float64).reshape(steps.shape)


def _power_sums(matrix: Array, vector: Array, counts: list[int]) -> list[Array]:
    """Return Σ_{k<n} Mᵏx for each n, for matrices, shape (L, 2, 2), and vectors, shape (L, 2, 1).

    Doubled once for all: S_{a+b} = S_b + MᵇS_a, where b runs through the powers of 2 in n.
    """
    doubled = [(vector, matrix)]
    for _ in range(max(counts, default=0).bit_length() - 1):
        total, power = doubled[-1]
        doubled.append((total + power @ total, power @ power))
    sums = []
    for n in counts:
        total = np.zeros_like(vector)
        for bit, (part, power) in enumerate(doubled):
            if n >> bit & 1:
                total = part + power @ total
        sums.append(total)
    return sums
