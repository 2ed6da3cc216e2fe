r"""How long a belief remembers: from the belief model to the weights of a moving average, and back (Sec. 5).

A believed quantity x with an Ornstein–Uhlenbeck prior, dx = −αx dt + σ dW (Eq. 13), and data y of noise s follows

.. math:: \ddot x-\gamma\dot x = Ax - By,\qquad A=\alpha(\alpha+\gamma)+B,\quad B=\sigma^2/s^2

(Eq. 142 with the plan's displacement at zero). Its decaying branch is a leaky average of rate ρ = √(γ²/4+A) − γ/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import slow_rate


@dataclass(frozen=True)
class Memory:
    """The memory of one belief; see ``memory``. Every attribute below the arguments is computed from them.

    Attributes:
        decay: α >= 0, rate at which the belief fades without data, unit 1/time.
        gamma: γ >= 0, discount rate of the objective, unit 1/time.
        diffusion: σ > 0, unit of x per √time.
        noise: s > 0, noise of the data per √time: s² is a variance times a time.
        dt: Δt > 0, time between two data.
    """

    decay: float
    gamma: float
    diffusion: float
    noise: float
    dt: float

    def __post_init__(self) -> None:
        _checks.check(self, decay=_checks.nonnegative, gamma=_checks.nonnegative)
        _checks.check(self, diffusion=_checks.positive, noise=_checks.positive, dt=_checks.positive)

    @property
    def evidence(self) -> float:
        """B = σ²/s², how strongly the data pull, unit 1/time²."""
        return (self.diffusion / self.noise) ** 2

    @property
    def stiffness(self) -> float:
        """A = α(α+γ) + B, unit 1/time²."""
        return self.decay * (self.decay + self.gamma) + self.evidence

    @property
    def rate(self) -> float:
        """ρ = A/(√(γ²/4+A) + γ/2), the decaying root without cancellation, unit 1/time; A = ρ(ρ+γ)."""
        return float(slow_rate(self.stiffness, 1.0, self.gamma))

    @property
    def beta(self) -> float:
        """β = e^{−ρΔt}, the weight of the past in x ← βx + κ(1−β)y."""
        return math.exp(-self.rate * self.dt)

    @property
    def forgetting(self) -> float:
        """1 − β = 1 − e^{−ρΔt}, with all its digits where β is close to 1."""
        return -math.expm1(-self.rate * self.dt)

    @property
    def gain(self) -> float:
        """κ = B/A in (0, 1]: what a belief settles at, in units of a constant datum; 1 if nothing decays."""
        return self.evidence / self.stiffness

    @property
    def causal_fraction(self) -> float:
        """½(1 + γ/√(γ²+4A)): the share of the smoother's weight that lies on the past; ½ at γ = 0, 1 as γ → ∞."""
        return (self.gamma + self.rate) / (self.gamma + 2 * self.rate)

    def smoother(self, lag: ArrayLike) -> Array:
        """Return the weight of a datum that lies ``lag`` in the past (< 0: in the future), per unit of time.

        The exact solution of x'' − γx' = Ax − By that stays bounded is ∫ w(u) y(t−u) du with
        w(u) = B/(γ+2ρ) · e^{−ρu} for u >= 0 and B/(γ+2ρ) · e^{(γ+ρ)u} for u < 0. Its integral is κ.

        Args:
            lag: u, unit of time, any shape.

        Returns:
            w(u), of the same shape.
        """
        u = _checks.array("lag", lag)
        fast = self.gamma + self.rate
        return self.evidence / (self.gamma + 2 * self.rate) * np.exp(np.where(u < 0, fast * u, -self.rate * u))

    def average(self, lag: ArrayLike) -> Array:
        """Return the weights of the leaky average, κρe^{−ρu} for u >= 0 and nothing for the future; integral κ.

        Args:
            lag: u, unit of time, any shape.

        Returns:
            Weights per unit of time, of the same shape.
        """
        u = _checks.array("lag", lag)
        weight = self.gain * self.rate * np.exp(-self.rate * np.maximum(u, 0.0))
        return np.where(u < 0, 0.0, weight)

    def filter(self, data: ArrayLike, initial: float = 0.0) -> Array:
        """Return x_n = βx_{n−1} + κ(1−β)y_n for data y of shape (N, ...), of the same shape; x_0 is ``initial``."""
        values = _checks.array("data", data)
        if values.ndim == 0:
            raise ValueError("data has shape (), but it must have shape (N, ...)")
        belief, result = np.full(values.shape[1:], _checks.finite("initial", initial)), np.empty_like(values)
        beta, share = self.beta, self.gain * self.forgetting  # each is a root: not once a datum
        for n, value in enumerate(values):
            belief = beta * belief + share * value
            result[n] = belief
        return result


def memory(decay: float, gamma: float, diffusion: float, noise: float, dt: float = 1.0) -> Memory:
    r"""Return the memory that a belief model implies.

    .. math:: x_n = \beta x_{n-1}+\kappa(1-\beta)\,y_n,\qquad \beta=e^{-\rho\Delta t},\quad \kappa=B/A

    Args:
        decay: α >= 0, unit 1/time.
        gamma: γ >= 0, unit 1/time.
        diffusion: σ > 0, unit of x per √time.
        noise: s > 0, unit of x times √time: one datum per Δt has the variance s²/Δt, so that the information per time
            does not depend on Δt.
        dt: Δt > 0, unit of time.

    Returns:
        A frozen object with ``stiffness`` A, ``rate`` ρ, ``beta``, ``gain`` κ and ``causal_fraction``.

    Raises:
        ValueError: naming the argument that is out of range.

    Example:
        >>> m = memory(decay=0.0, gamma=1.0, diffusion=0.1, noise=1.0)
        >>> round(m.beta, 4), m.gain, round(m.causal_fraction, 4)
        (0.9901, 1.0, 0.9903)

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 13, 14, 142; the exact rate, the gain and the kernel are ours.
    """
    return Memory(decay, gamma, diffusion, noise, dt)


def from_beta(
    beta: float,
    *,
    gamma: float = 0.0,
    dt: float = 1.0,
    decay: float | None = None,
    gain: float | None = None,
    noise: float = 1.0,
) -> Memory:
    r"""Return the belief model whose average has the memory ``beta``: the inverse of ``memory``.

    From :math:`\rho=-\ln\beta/\Delta t` follows A = ρ(ρ+γ). Of A, the decay takes α(α+γ) = (1−κ)A and the evidence
    the rest, B = κA; only their shares are free. The diffusion is then σ = s√B.

    Args:
        beta: β in (0, 1), such as Adam's β₁ or β₂.
        gamma: γ >= 0, unit 1/time.
        dt: Δt > 0, unit of time.
        decay: α in [0, ρ), unit 1/time; None together with ``gain`` None is 0.
        gain: κ in (0, 1], instead of ``decay``.
        noise: s > 0, the scale that β does not fix.

    Raises:
        ValueError: naming the argument; a decay of ρ or more leaves nothing for the data, so that no model exists.

    Example:
        >>> m = from_beta(0.999, gamma=1.0)
        >>> round(m.beta, 12), m.decay, round(m.diffusion, 5)
        (0.999, 0.0, 0.03165)

    References:
        Ours; the paper stops at "leaky averages".
    """
    number = _forgets(beta)
    gamma, dt = _checks.finite("gamma", gamma, low=0.0), _checks.positive("dt", dt)
    noise = _checks.positive("noise", noise)
    if decay is not None and gain is not None:
        raise ValueError(
            f"decay = {_checks.shown(decay)} and gain = {_checks.shown(gain)}, but at most one of them may be given"
        )
    rate = -math.log(number) / dt
    stiffness = rate * (rate + gamma)
    if gain is not None:
        share = _checks.finite("gain", gain, low=0.0, high=1.0, open_low=True)
        pull = (1 - share) * stiffness
        alpha = float(slow_rate(pull, 1.0, gamma))
        return Memory(alpha, gamma, math.sqrt(share * stiffness) * noise, noise, dt)
    alpha = 0.0 if decay is None else _checks.finite("decay", decay, low=0.0)
    if alpha >= rate:
        raise ValueError(
            f"decay = {alpha:g}, but it must be < {rate:g} = -ln(beta)/dt: a belief that fades faster than its average "
            "forgets has no evidence left, so no model gives this beta"
        )
    evidence = (rate - alpha) * (rate + alpha + gamma)  # A − α(α+γ), without cancellation
    return Memory(alpha, gamma, math.sqrt(evidence) * noise, noise, dt)


def kalman_gains(beta: float, count: int) -> Array:
    r"""Return the exact weights of the newest datum for a random walk that nothing is known of at first.

    .. math:: K_n = (1-\beta)\,\frac{1+\beta^{2n-1}}{1-\beta^{2n}},\qquad n=1,\dots,N

    The filter x_n = (1−K_n)x_{n−1} + K_n y_n is optimal for a walk with steps of variance Q, data of variance R and
    Q/R = (1−β)²/β; K_n → 1−β.

    Args:
        beta: β in (0, 1).
        count: N >= 1.

    Returns:
        K_1 … K_N, shape (N,).

    References:
        Ours, from Kalman (1960); the test runs the Riccati recursion.
    """
    beta, n = _sequence(beta, count)
    return (1 - beta) * (1 + beta ** (2 * n - 1)) / -np.expm1(2 * n * math.log(beta))


def corrected_gains(beta: float, count: int) -> Array:
    """Return (1−β)/(1−βⁿ), the weights of the newest datum under Adam's bias correction, shape (N,).

    Args:
        beta: β in (0, 1).
        count: N >= 1.
    """
    beta, n = _sequence(beta, count)
    return (1 - beta) / -np.expm1(n * math.log(beta))


def _forgets(beta: float) -> float:
    """Return β in (0, 1), or raise: a belief with data forgets, but not at once."""
    return _checks.finite("beta", beta, low=0.0, high=1.0, open_low=True, open_high=True)


def _sequence(beta: float, count: int) -> tuple[float, Array]:
    number = _forgets(beta)
    _checks.room(_checks.whole("count", count, low=1), count=count)
    return number, np.arange(1.0, count + 1.0)
