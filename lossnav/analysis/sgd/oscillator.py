r"""One mode of SGD in continuous time: a damped oscillator, with every digit in all three regimes of damping.

:math:`\ddot a+2\gamma\dot a+\omega^2a=0` with :math:`\gamma=(1-\beta)/\eta(1+\beta)`,
:math:`\omega^2=2h/\eta(1+\beta)`. All its functions follow from one, the response to a kick,
:math:`s(\tau)=e^{-\gamma\tau}\sinh(\alpha\tau)/\alpha` with :math:`\alpha^2=\gamma^2-\omega^2`, which is analytic in
:math:`\alpha^2`: there is nothing to cancel at :math:`\zeta=\gamma/\omega=1` if :math:`\alpha^2` itself is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnav import _checks
from lossnav._checks import Array
from lossnav.trajectory.modes import exp_mean

Truths = NDArray[np.bool_]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, eq=False)
class Oscillators:
    """Damped oscillators of one γ and many ω.

    Attributes:
        gamma: γ, half the rate of damping, unit 1/T.
        omega2: ω², shape (...).
        alpha2: γ² − ω², shape (...): negative if underdamped.
    """

    gamma: float
    omega2: Array
    alpha2: Array

    @classmethod
    def of(cls, curvature: Array, eta: float, beta: float) -> Oscillators:
        """Return those of curvatures h, shape (...)."""
        mass = eta * (1 + beta)
        gap = (1 - beta) ** 2 - 2 * mass * curvature
        close = np.abs(gap) < 0.1 * (1 - beta) ** 2
        gap[close] = [_exact_gap(h, eta, beta) for h in curvature[close]]  # rounding would be all that is left of it
        return cls((1 - beta) / mass, 2 * curvature / mass, gap / mass**2)

    def kick(self, t: Array) -> Array:
        """Return s(t): the position after a kick of unit velocity."""
        alpha, over = self._alpha()
        with np.errstate(over="ignore", invalid="ignore"):
            return _either(
                over,
                lambda: np.exp(-self._slow() * t) * t * exp_mean(2 * alpha * t),
                lambda: np.exp(-self.gamma * t) * t * _sinc(alpha * t),
            )

    def velocity(self, t: Array) -> Array:
        """Return C(t) = c − γs: what is left of a velocity; the autocorrelation of v in the stationary state."""
        alpha, over = self._alpha()
        s = self.kick(t)
        with np.errstate(over="ignore", invalid="ignore"):
            return _either(
                over,
                lambda: np.exp(-(self.gamma + alpha) * t) - self._slow() * s,
                lambda: np.exp(-self.gamma * t) * np.cos(alpha * t) - self.gamma * s,
            )

    def position(self, t: Array) -> Array:
        """Return R(t) = c + γs: what is left of a displacement; the autocorrelation of θ in the stationary state."""
        alpha, over = self._alpha()
        s = self.kick(t)
        with np.errstate(over="ignore", invalid="ignore"):
            return _either(
                over,
                lambda: np.exp(-self._slow() * t) + self._slow() * s,
                lambda: np.exp(-self.gamma * t) * np.cos(alpha * t) + self.gamma * s,
            )

    def propagator(self, t: Array) -> Array:
        """Return what maps position and velocity to those a time t later, shape (..., 2, 2)."""
        s = self.kick(t)
        rows = [[self.position(t), s], [-self.omega2 * s, self.velocity(t)]]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def area(self, t: Array) -> Array:
        """Return ∫₀ᵗ s = (1 − R(t))/ω², also where that is 0/0: at ω = 0, and at short times.

        Three forms, each where it keeps its digits: quadrature of a positive function before anything has happened;
        a difference of two rates that are far apart; and 1 − R.
        """
        alpha, over = self._alpha()
        fast = self.gamma + np.where(over, alpha, 0.0)
        t, fast, slow = np.broadcast_arrays(t, fast, self._slow())
        early = np.maximum(fast, np.sqrt(self.omega2)) * t <= 1.0
        apart = over & (alpha >= self.gamma / 2)
        nodes = t[..., None] * (_NODES + 1) / 2
        wide = Oscillators(self.gamma, np.asarray(self.omega2)[..., None], np.asarray(self.alpha2)[..., None])
        young = np.sum(_WEIGHTS * wide.kick(nodes), axis=-1) * t / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            split = t * (exp_mean(slow * t) - exp_mean(fast * t)) / (2 * alpha)
            rest = (1 - self.position(t)) / self.omega2
        return np.where(early, young, np.where(apart, split, rest))

    def _alpha(self) -> tuple[Array, Truths]:
        return np.sqrt(np.abs(self.alpha2)), self.alpha2 >= 0

    def _slow(self) -> Array:
        """γ − α without cancellation; γ where there is no such rate."""
        alpha, over = self._alpha()
        return np.where(over, self.omega2 / (self.gamma + alpha), self.gamma)


def _either(over: Truths, damped: Callable[[], Array], turning: Callable[[], Array]) -> Array:
    """Return ``damped()`` where ``over``, elsewhere ``turning()``; what is nowhere wanted is not computed."""
    if np.all(over):
        return damped()
    return np.where(over, damped(), turning()) if np.any(over) else turning()


@dataclass(frozen=True)
class Mode:
    r"""One eigendirection of a quadratic loss under SGD with momentum, in continuous time t = ηk (K7, K45–K47).

    Along an eigenvector q of the Hessian, :math:`a=\langle\theta-\mu,q\rangle` and :math:`b=\langle v,q\rangle` obey
    in the mean :math:`\dot a=b`, :math:`\dot b=-\omega^2a-2\gamma b`, a damped oscillator with

    .. math:: \gamma=\frac{1-\beta}{\eta(1+\beta)},\qquad \omega=\sqrt{\frac{2h}{\eta(1+\beta)}},\qquad
              \zeta=\gamma/\omega .

    Args:
        curvature: h = ρ + λ, eigenvalue of the Hessian plus weight decay, >= 0.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).

    Raises:
        ValueError: an argument is out of its range.

    Note:
        A model of many steps that each do little: it keeps slow rates up to O(η²) and frequencies up to O(ηh), and not
        the velocity's memory of single steps if β is small. ``stable`` says whether SGD itself settles.

    Example:
        >>> mode = Mode(1.0, eta=0.01, beta=0.9)
        >>> mode.regime, round(mode.zeta, 4)
        ('underdamped', 0.513)

    References:
        Kunin et al. (2023), Eqs. 7, 17 and appendix F.
    """

    curvature: float
    _: KW_ONLY
    eta: float
    beta: float

    def __post_init__(self) -> None:
        _checks.check(self, curvature=_checks.nonnegative, eta=_checks.positive, beta=_checks.weight)

    @property
    def gamma(self) -> float:
        """γ = (1 − β)/(η(1 + β)), half the rate of damping, unit 1/T."""
        return (1 - self.beta) / (self.eta * (1 + self.beta))

    @property
    def omega(self) -> float:
        """ω = √(2h/(η(1 + β))), the frequency without damping, unit 1/T."""
        return math.sqrt(2 * self.curvature / (self.eta * (1 + self.beta)))

    @property
    def zeta(self) -> float:
        """ζ = γ/ω = (1 − β)/√(2η(1 + β)h), infinite for a flat direction."""
        return self.gamma / self.omega if self.omega > 0 else math.inf

    @property
    def regime(self) -> str:
        """Return "overdamped", "critical" (ζ = 1 up to rounding of the arguments) or "underdamped"."""
        gap = _exact_gap(self.curvature, self.eta, self.beta)
        if abs(gap) <= 8 * np.finfo(float).eps * (1 - self.beta) ** 2:
            return "critical"
        return "overdamped" if gap > 0 else "underdamped"

    @property
    def stable(self) -> bool:
        """Whether the mean of SGD itself settles, 0 < ηh < 2(1 + β); the oscillator settles for every h > 0."""
        return 0 < self.eta * self.curvature < 2 * (1 + self.beta)

    @property
    def half_period(self) -> float:
        """Time π/√(ω² − γ²) between zeros of an underdamped mode; infinite for the others."""
        gap = _exact_gap(self.curvature, self.eta, self.beta)
        return math.pi * self.eta * (1 + self.beta) / math.sqrt(-gap) if gap < 0 else math.inf

    def mean(self, t: ArrayLike, a0: float, b0: float) -> tuple[Array, Array]:
        """Return the mean position and velocity at times t >= 0, shape (...), from a(0) = a0, b(0) = b0 (K7).

        For SGD that starts at θ₀ with velocity v₀, ``matched_velocity`` gives the best b0.

        Raises:
            ValueError: a time is negative or not finite, or a0 or b0 is not finite.
        """
        time = _checks.nonnegatives("t", t)
        a0, b0 = _checks.finite("a0", a0), _checks.finite("b0", b0)
        moved = self._oscillator().propagator(time)
        return moved[..., 0, 0] * a0 + moved[..., 0, 1] * b0, moved[..., 1, 1] * b0 + moved[..., 1, 0] * a0

    def propagator(self, t: ArrayLike) -> Array:
        """Return e^{−St}, the map from (a, b) at time 0 to (a, b) at t >= 0, shape (..., 2, 2).

        Raises:
            ValueError: a time is negative or not finite.
        """
        return self._oscillator().propagator(_checks.nonnegatives("t", t))

    def autocorrelation(self, t: ArrayLike) -> Array:
        """Return C(t), the correlation of stationary velocities a time t >= 0 apart, shape (...) (K17).

        It integrates to 0 in every regime with h > 0. Underdamped it oscillates at √(ω² − γ²); otherwise it changes
        sign once.

        Raises:
            ValueError: a time is negative or not finite.
        """
        return self._oscillator().velocity(_checks.nonnegatives("t", t))

    def _oscillator(self) -> Oscillators:
        one = Oscillators.of(np.array([self.curvature]), self.eta, self.beta)
        return Oscillators(one.gamma, one.omega2[0], one.alpha2[0])


def matched_velocity(v0: ArrayLike, v1: ArrayLike, *, beta: float) -> Array:
    """Return the initial velocity b₀ = (βv₀ + v₁)/(1 + β) with which the oscillator follows SGD without noise.

    v_k is a backward difference, so neither v₀ nor v₁ belongs to time 0. With this choice a flat direction comes to
    rest at the same place as SGD, and in every direction the first steps leave an error of O(η²) behind, where v₀ and
    (v₀ + v₁)/2 leave one of O(η). During these 1/(1 − β) steps it is of O(η), too, and smaller than theirs.

    Args:
        v0: velocity before the first step, shape (...).
        v1: velocity βv₀ − g(θ₀) − λθ₀ after it, shape (...).
        beta: β in [0, 1).

    Raises:
        ValueError: β is out of its range, or the velocities are not finite or do not fit together.

    References:
        Ours; Kunin et al. start at v₀.
    """
    first, second, weight = _checks.array("v0", v0), _checks.array("v1", v1), _checks.weight("beta", beta)
    _checks.together(v0=first, v1=second)
    return (weight * first + second) / (1 + weight)


def _exact_gap(curvature: Any, eta: float, beta: float) -> float:
    """Return (1 − β)² − 2η(1 + β)h, rounded once."""
    b = Fraction(beta)
    return float((1 - b) ** 2 - 2 * Fraction(eta) * (1 + b) * Fraction(float(curvature)))


def _sinc(x: Array) -> Array:
    """sin(x)/x, with the value 1 at 0."""
    safe = np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(safe) / safe)
