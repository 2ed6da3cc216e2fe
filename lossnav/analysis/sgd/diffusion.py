r"""Ornstein–Uhlenbeck processes dx = −A(x − μ)dt + √(2D/κ) dW: their split, covariances, currents and exact samples.

The stationary density is e^{−κΨ} with :math:`\Psi=\tfrac12(x-\mu)^\top U(x-\mu)`, and what flows in it is
:math:`j=-QU(x-\mu)`, where A = (D + Q)U with Q skew. D may be singular: in SGD noise enters the velocity only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.sgd._setting import per_batch
from lossnav.problem.functions.roots import LARGEST


def decompose(A: ArrayLike, D: ArrayLike) -> tuple[Array, Array]:
    """Return (Q, U) with A = (D + Q)U, Q skew and U symmetric positive definite (K26–K29).

    U⁻¹ = B solves the Lyapunov equation AB + BAᵀ = 2D, and Q = AB − D. Neither must A be symmetric nor D regular.

    Args:
        A: drift matrix, shape (D, D), all eigenvalues with a positive real part.
        D: diffusion matrix, shape (D, D), symmetric, positive semidefinite.

    Raises:
        ValueError: A is not positive stable, D is not symmetric positive semidefinite, or the noise does not reach
            every direction, so that there is no density and no U.

    Example:
        >>> Q, U = decompose([[2.5, -1.5], [-1.5, 2.5]], [[4.0, 0.0], [0.0, 1.0]])
        >>> Q.round(6).tolist()
        [[0.0, 0.9], [-0.9, 0.0]]

    References:
        Kunin et al. (2023), Eqs. 23, 26–29; without the symmetry of A: ours.
    """
    drift, diffusion = _matrices("A", A, "D", D)
    return _decompose("A", drift, "D", diffusion)


def covariance(A: ArrayLike, D: ArrayLike, kappa: float, t: float, s: float, *, stationary: bool = False) -> Array:
    """Return Cov(x_t, x_s) = E[(x_t − E x_t)(x_s − E x_s)ᵀ] (K8, K21–K25, K32), for either order of t and s.

    By default from a known x_0, for any A; with ``stationary`` from the stationary law. No digits cancel at short
    times: the integral over the noise is doubled from a step on which its series converges.

    Args:
        A: drift matrix, shape (D, D).
        D: diffusion matrix, shape (D, D), symmetric, positive semidefinite.
        kappa: inverse temperature κ > 0.
        t: first time >= 0.
        s: second time >= 0.
        stationary: whether x_0 is drawn from the stationary law.

    Returns:
        Shape (D, D).

    Raises:
        ValueError: an argument is out of its range, with ``stationary`` A is not positive stable, or without it
            fluctuations grow until t + s beyond what floats hold.
    """
    drift, diffusion = _matrices("A", A, "D", D)
    kappa = _checks.positive("kappa", kappa)
    first, second = _checks.finite("t", t, low=0.0), _checks.finite("s", s, low=0.0)
    if _checks.flag("stationary", stationary):
        common = _resting("A", drift, diffusion)
    else:
        growth = -float(np.min(np.linalg.eigvals(drift).real))
        if growth * (first + second) > LARGEST:
            raise ValueError(
                f"t = {first:g} and s = {second:g}, but where A has the eigenvalue {-growth:.3g} their sum must be "
                f"<= {LARGEST / growth:.3g}: fluctuations grow beyond what floats hold"
            )
        common = _transition(drift, diffusion, min(first, second))[1]
    later = _propagator(drift, abs(second - first))
    return (common @ later.T if first <= second else later @ common) / kappa


@dataclass(frozen=True, eq=False)
class OrnsteinUhlenbeck:
    """The process dx = −A(x − μ)dt + √(2D/κ) dW with a stationary density.

    Args:
        drift: A, shape (D, D), all eigenvalues with a positive real part.
        diffusion: D, shape (D, D), symmetric, positive semidefinite; the noise must reach every direction.
        kappa: inverse temperature κ > 0.
        centre: μ, shape (D,); None is the origin.

    Attributes:
        skew: Q, antisymmetric, shape (D, D).
        curvature: U, the Hessian of the modified loss, shape (D, D).

    Raises:
        ValueError: an argument is out of its range, or there is no stationary density.

    References:
        Kunin et al. (2023), Eqs. 5–12 and 18–32.
    """

    drift: Array
    diffusion: Array
    kappa: float
    centre: Array
    skew: Array = field(init=False, repr=False)
    curvature: Array = field(init=False, repr=False)

    def __init__(
        self, drift: ArrayLike, diffusion: ArrayLike, *, kappa: float = 1.0, centre: ArrayLike | None = None
    ) -> None:
        a, d = _matrices("drift", drift, "diffusion", diffusion)
        kappa = _checks.positive("kappa", kappa)
        middle = np.zeros(len(a)) if centre is None else _checks.array("centre", centre, shape=(len(a),))
        skew, curvature = _decompose("drift", a, "diffusion", d)
        _checks.frozen(a, d, middle, skew, curvature)
        fields = {"drift": a, "diffusion": d, "kappa": kappa, "centre": middle, "skew": skew, "curvature": curvature}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @cached_property
    def spread(self) -> Array:
        """The stationary covariance U⁻¹/κ, shape (D, D) (K9, K31)."""
        spread = _resting("drift", self.drift, self.diffusion) / self.kappa
        _checks.frozen(spread)
        return spread

    def mean(self, t: float, start: ArrayLike) -> Array:
        """Return E x_t from x_0 = start, shape (D,), at a time t >= 0 (K20).

        Raises:
            ValueError: t is negative, or start does not fit.
        """
        time, first = _checks.finite("t", t, low=0.0), _checks.array("start", start, shape=self.centre.shape)
        return self.centre + _propagator(self.drift, time) @ (first - self.centre)

    def modified_loss(self, x: ArrayLike) -> Array:
        """Return Ψ(x) at points of shape (..., D): the landscape that the density shows (K11, K43).

        Raises:
            ValueError: x does not fit.
        """
        away = self._away(x)
        return np.einsum("...i,ij,...j->...", away, self.curvature, away) / 2

    def density(self, x: ArrayLike) -> Array:
        """Return the stationary density at points of shape (..., D).

        Raises:
            ValueError: x does not fit.
        """
        _, volume = np.linalg.slogdet(2 * np.pi * self.spread)
        return np.exp(-self.kappa * self.modified_loss(x) - volume / 2)

    def flow(self, x: ArrayLike) -> Array:
        """Return j(x) = −QU(x − μ), the velocity of the stationary current, at points of shape (..., D) (K15, K44).

        It follows the level sets of Ψ. If all coordinates are even under a reversal of time (places, say), it vanishes
        everywhere if and only if detailed balance holds; with velocities among them, as in ``regression``, it turns in
        equilibrium, too.

        Raises:
            ValueError: x does not fit.
        """
        return -self._away(x) @ (self.skew @ self.curvature).T

    def current(self, x: ArrayLike) -> Array:
        """Return the probability current J = j·p at points of shape (..., D) (K11, K36).

        Raises:
            ValueError: x does not fit.
        """
        return self.flow(x) * self.density(x)[..., None]

    @property
    def circulation(self) -> Array:
        """E[x_i j_k − x_k j_i] = 2Q_ik/κ, shape (D, D): counter-clockwise in the plane (i, k) where positive."""
        return 2 * self.skew / self.kappa

    def sample(
        self, dt: float, steps: int, *, start: ArrayLike | None = None, paths: int = 1, seed: int = 0
    ) -> Array:  # fmt: skip
        """Draw paths at times 0, dt, …, exactly: each step is a draw of the transition's own Gaussian law (K30).

        Args:
            dt: time between two points, > 0, of any size.
            steps: number of steps >= 1.
            start: x_0, shape (D,); None draws it from the stationary law.
            paths: number of independent paths >= 1.
            seed: of numpy's generator.

        Returns:
            Shape (paths, steps + 1, D).

        Raises:
            ValueError: an argument is out of its range.
        """
        span = _checks.positive("dt", dt)
        _checks.counts(steps=steps, paths=paths)
        rng = np.random.default_rng(_checks.seed("seed", seed, low=0))
        dim = len(self.centre)
        _checks.room(1.0 * paths * (steps + 1) * dim, steps=steps, paths=paths)
        if start is None:
            first = rng.normal(size=(paths, dim)) @ root(self.spread).T
        else:
            first = _checks.array("start", start, shape=(dim,)) - self.centre
        step, noise = _transition(self.drift, self.diffusion, span)
        spread = root(noise / self.kappa)
        states = np.empty((paths, steps + 1, dim))
        states[:, 0] = first
        for k in range(steps):
            states[:, k + 1] = states[:, k] @ step.T + rng.normal(size=(paths, dim)) @ spread.T
        return states + self.centre

    def _away(self, x: Any) -> Array:
        return _checks.points("x", x, len(self.centre)) - self.centre


def regression(
    hessian: ArrayLike,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    minimum: ArrayLike | None = None,
    gradient_covariance: ArrayLike | None = None,
    population: int | None = None,
) -> OrnsteinUhlenbeck:
    """Return SGD near a minimum as a process of x = (θ, v), shape (2D,), in time t = ηk (K5, K6, K12).

    Args:
        hessian: H of the loss without decay, shape (D, D), symmetric, H + λI positive definite.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² > 0, for Σ = σ²H.
        decay: weight decay λ >= 0.
        minimum: μ of the loss *with* decay (the ridge solution), shape (D,); None is the origin.
        gradient_covariance: instead of ``noise``, Σ, shape (D, D), symmetric, positive semidefinite.
        population: N, if a batch holds different examples of N.

    Returns:
        The process with A = [[0, −I], [2(H + λI)/η(1+β), 2γI]], D = [[0, 0], [0, 2γΣ]] and κ = S(1 − β²).

    Raises:
        ValueError: an argument is out of its range, SGD is unstable, or there is no stationary density.

    References:
        Kunin et al. (2023), Eqs. 5–6 and 45–46.
    """
    eta, beta, decay = _checks.positive("eta", eta), _checks.weight("beta", beta), _checks.nonnegative("decay", decay)
    matrix = _checks.symmetric("hessian", hessian)
    dim = len(matrix)
    factor = per_batch(batch, population)
    if (noise is None) == (gradient_covariance is None):
        arguments = f"noise = {_checks.shown(noise)} and gradient_covariance = {_checks.shown(gradient_covariance)}"
        raise ValueError(f"{arguments}, but exactly one of them must be given")
    if noise is not None:
        sigma = _semidefinite("hessian, of which noise is a multiple,", _checks.positive("noise", noise) * matrix)
    else:
        sigma = _checks.array("gradient_covariance", gradient_covariance)
        sigma = _semidefinite("gradient_covariance", _checks.symmetric("gradient_covariance", sigma, dim=dim))
    stiff = matrix + decay * np.eye(dim)
    curvature = np.linalg.eigvalsh(stiff)
    if curvature[0] <= 0 or eta * curvature[-1] >= 2 * (1 + beta):
        raise ValueError(
            f"eta = {eta:g} and beta = {beta:g} with a hessian + decay·I of eigenvalues {curvature[0]:.6g} … "
            f"{curvature[-1]:.6g} are unstable: eta·curvature must be > 0 and < 2(1 + beta) = {2 * (1 + beta):g}"
        )
    if factor == 0:
        raise ValueError(f"batch = {_checks.shown(batch)} is the whole population: there is no noise, and no density")
    middle = np.zeros(dim) if minimum is None else _checks.array("minimum", minimum, shape=(dim,))
    zero, identity = np.zeros((dim, dim)), np.eye(dim)
    friction = 2 * (1 - beta) / (eta * (1 + beta))
    drift = np.block([[zero, -identity], [2 * stiff / (eta * (1 + beta)), friction * identity]])
    diffusion = np.block([[zero, zero], [zero, friction * sigma]])
    return OrnsteinUhlenbeck(
        drift, diffusion, kappa=(1 - beta**2) / factor, centre=np.concatenate([middle, np.zeros(dim)])
    )


def root(matrix: Array) -> Array:
    """Return F with FFᵀ = matrix, for a symmetric, positive semidefinite one, whatever the units of its coordinates."""
    size = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _matrices(first: str, drift: Any, second: str, diffusion: Any) -> tuple[Array, Array]:
    a = _checks.square(first, drift)
    d = _checks.symmetric(second, diffusion, dim=len(a))
    return a, _semidefinite(second, d)


def _semidefinite(name: str, matrix: Array) -> Array:
    values = np.linalg.eigvalsh(matrix)
    if values[0] < -1e-10 * max(abs(values[-1]), abs(values[0])):
        raise ValueError(f"{name} has the eigenvalue {values[0]:.3g}, but it must be positive semidefinite")
    return matrix


def _resting(name: str, drift: Array, diffusion: Array) -> Array:
    """Return B with AB + BAᵀ = 2D (K23)."""
    slowest = float(np.min(np.linalg.eigvals(drift).real))
    balanced, unit = _balanced(drift)
    rounding = 8 * len(drift) * float(np.finfo(float).eps) * float(np.linalg.norm(balanced, 2))
    if slowest <= rounding:
        raise ValueError(
            f"{name} has an eigenvalue with real part {slowest:.3g}, but all must be > 0 by more than what rounding "
            f"leaves of them, {rounding:.3g}: no law is stationary"
        )
    units = np.outer(unit, unit)
    solution = scipy.linalg.solve_continuous_lyapunov(balanced, 2 * diffusion / units) * units
    return np.asarray((solution + solution.T) / 2)


def _decompose(first: str, drift: Array, second: str, diffusion: Array) -> tuple[Array, Array]:
    spread = _resting(first, drift, diffusion)
    size = np.sqrt(np.maximum(np.diagonal(spread), 0.0))  # units of the coordinates, which may differ wildly
    scale = np.where(size > 0, size, 1.0)
    if np.any(size == 0) or np.linalg.eigvalsh(spread / np.outer(scale, scale))[0] < 1e-12:
        raise ValueError(f"{second} does not reach every direction through {first}: there is no stationary density")
    skew = drift @ spread - diffusion
    inverse = np.linalg.inv(spread / np.outer(scale, scale)) / np.outer(scale, scale)
    return (skew - skew.T) / 2, (inverse + inverse.T) / 2


def _transition(drift: Array, diffusion: Array, t: float) -> tuple[Array, Array]:
    """Return e^{−At} and ∫₀ᵗ e^{−As} 2D e^{−Aᵀs} ds (K22).

    By Van Loan's block exponential on a step h where nothing grows, and then V(2h) = V(h) + e^{−Ah}V(h)e^{−Aᵀh}.
    """
    dim = len(drift)
    balanced, unit = _balanced(drift)
    doublings = max(0, math.frexp(float(np.linalg.norm(balanced, 1)))[1] + math.frexp(t)[1])  # so that |A|h < 1
    h = math.ldexp(t, -doublings)
    source = 2 * diffusion / np.outer(unit, unit)
    size = float(np.max(np.abs(source))) or 1.0  # of noise, in which the integral is linear
    block = scipy.linalg.expm(h * np.block([[-balanced, source / size], [np.zeros((dim, dim)), balanced.T]]))
    step = block[:dim, :dim]
    noise = size * (block[:dim, dim:] @ step.T)
    for _ in range(doublings):
        noise = noise + step @ noise @ step.T
        step = step @ step
    return step * unit[:, None] / unit, (noise + noise.T) / 2 * np.outer(unit, unit)


def _balanced(drift: Array) -> tuple[Array, Array]:
    """Return A in units that balance it, and them, shape (D,): solvers and doublings know no other size than |A|."""
    balanced, (unit, _) = scipy.linalg.matrix_balance(drift, permute=False, separate=True)
    return balanced, unit


def _propagator(drift: Array, t: float) -> Array:
    """Return e^{−At}."""
    return _transition(drift, np.zeros_like(drift), t)[0]
