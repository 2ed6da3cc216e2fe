"""The assumptions of Sec. 6: what it costs to move a weight distribution, and what it costs to stay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import exp_moment
from lossnav.problem.losses.base import Loss
from lossnav.problem.metrics import Fisher
from lossnav.problem.objective import Objective
from lossnav.problem.weights.averages import Average, average
from lossnav.problem.weights.potential import Potential


@dataclass(frozen=True)
class Problem:
    r"""The control problem of a learner whose weights are independent Gaussians, θ_i ~ N(μ_i, v_i).

    .. math:: \mathcal L = e^{-\gamma t}\Big\{\tfrac1{2\eta}\sum_i\Big[\frac{\dot\mu_i^2}{v_i}
        + \frac{\dot v_i^2}{2v_i^2}\Big] + k\,\bar L(\mu,v) - \lambda_S\,S(v)\Big\},\qquad
        S = \tfrac12\sum_i\ln v_i

    A finite ``prior_variance`` v_p (ours) replaces −S by KL(N(μ, v)‖N(0, v_p)): then a weight that the loss does not
    need returns to the prior instead of growing uncertain without bound.

    Args:
        eta: η > 0, unit 1/T: how cheap it is to change the distribution; the Fisher metric has no unit, so the unit u
            of a weight does not enter.
        k: loss weight k > 0, unit 1/T for a loss in nats.
        gamma: discount rate γ ≥ 0, unit 1/T.
        entropy: λ_S ≥ 0, unit 1/T; λ_S/k is a temperature.
        prior_variance: v_p in (0, inf], unit u².

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Vastola, Gershman, Rajan (2025), Sec. 6 and App. I.1. The formula of the prefactor is lost in our copy of the
        source; 1/η is chosen so that the kinetic term reads (1/2η)·Fisher metric.
    """

    eta: float = 1.0
    k: float = 1.0
    gamma: float = 0.0
    entropy: float = 0.0
    prior_variance: float = math.inf

    def __post_init__(self) -> None:
        _checks.check(self, eta=_checks.positive, k=_checks.positive, gamma=_checks.nonnegative)
        _checks.check(self, entropy=_checks.nonnegative, prior_variance=_checks.duration)

    @property
    def temperature(self) -> float:
        """T = λ_S/k."""
        return self.entropy / self.k

    @property
    def pull(self) -> float:
        """λ_S/v_p: what the prior adds to k times the curvature."""
        return self.entropy / self.prior_variance

    def objective(self, weights: int = 1, horizon: float = math.inf) -> Objective:
        """Return the control problem in θ = (μ, ln v): the Fisher metric of this many weights, and a deadline.

        Example:
            >>> import lossnav as ln
            >>> setting, bowl = Problem(gamma=0.5, entropy=0.8), ln.losses.Quadratic([[2.0]], minimum=[0.0])
            >>> path = ln.solve(setting.objective(), setting.loss(bowl), [1.0, np.log(0.4)])
            >>> float(np.exp(path(1.0)[1]).round(2))  # a moving mean raises the variance
            0.47
        """
        metric = Fisher(weights, spread="log_variance")
        return Objective(self.eta, self.k, self.gamma, metric=metric, horizon=horizon)

    def loss(self, loss: Average | Loss) -> Potential:
        """Return what it costs to stay in θ = (μ, ln v), for a loss of the weights or an averaged one."""
        return Potential(average(loss), self.temperature, self.prior_variance)

    def kinetic(self, variance: ArrayLike, mean_rate: ArrayLike, variance_rate: ArrayLike) -> Any:
        """Return (1/2η)Σ[μ̇²/v + v̇²/2v²], shape (...), for arguments of shape (..., D)."""
        v, mu_dot, v_dot = check_state(variance=variance, mean_rate=mean_rate, variance_rate=variance_rate)
        return np.sum(mu_dot**2 / v + (v_dot / v) ** 2 / 2, axis=-1) / (2 * self.eta)

    def potential(self, loss: Average, mean: ArrayLike, variance: ArrayLike) -> Any:
        """Return kL̄ − (λ_S/2)Σ ln v, with a prior + (λ_S/2v_p)Σ(μ²+v), shape (...)."""
        check_average(loss)
        mu, v = check_state(loss.dim, mean=mean, variance=variance)
        parsimony = self.pull * (mu**2 + v) - self.entropy * np.log(v)
        return self.k * loss.value(mu, v) + np.sum(parsimony, axis=-1) / 2

    def cost_rate(
        self, loss: Average, mean: ArrayLike, variance: ArrayLike, mean_rate: ArrayLike, variance_rate: ArrayLike
    ) -> Any:
        """Return the undiscounted integrand of J, shape (...)."""
        check_average(loss)
        check_state(loss.dim, mean=mean, variance=variance, mean_rate=mean_rate, variance_rate=variance_rate)
        return self.kinetic(variance, mean_rate, variance_rate) + self.potential(loss, mean, variance)


def kl_divergence(
    mean: ArrayLike, variance: ArrayLike, other_mean: ArrayLike = 0.0, other_variance: ArrayLike = 1.0
) -> Array:
    r"""Return KL(N(μ, v)‖N(μ′, v′)) of one-dimensional Gaussians.

    .. math:: \tfrac12\Big\{\frac{v}{v'} - 1 - \ln\frac v{v'} + \frac{(\mu-\mu')^2}{v'}\Big\}

    It is exact to rounding for neighbours, too.

    Args:
        mean: μ, unit u.
        variance: v > 0, unit u².
        other_mean: μ′.
        other_variance: v′ > 0.

    Returns:
        The divergence in nats, of the shape to which the arguments broadcast.

    Raises:
        ValueError: if a variance is not positive.

    Example:
        >>> float(kl_divergence(1.0, 1.0))
        0.5
    """
    mu, v = _checks.array("mean", mean), _checks.positives("variance", variance)
    other_mu, w = _checks.array("other_mean", other_mean), _checks.positives("other_variance", other_variance)
    _checks.together(mean=mu, variance=v, other_mean=other_mu, other_variance=w)
    with np.errstate(divide="ignore", over="ignore"):  # far apart log1p would see −1; an overflow of the result is inf
        change = (v - w) / w
        log_ratio = np.where(np.abs(change) < 0.5, np.log1p(change), np.log(v) - np.log(w))
        growth = log_ratio**2 * exp_moment(-log_ratio, 1)  # e^x − 1 − x
        return np.asarray(growth + ((mu - other_mu) / np.sqrt(w)) ** 2) / 2


def check_problem(problem: Any) -> None:
    """Raise ValueError unless ``problem`` is one."""
    _checks.instance("problem", problem, Problem, "an uncertainty.Problem")


def check_average(loss: Any) -> None:
    """Raise ValueError unless ``loss`` is an averaged loss."""
    _checks.instance("loss", loss, Average, "an averaged loss: uncertainty.average(loss)")


def check_state(dim: int | None = None, **values: ArrayLike) -> list[Array]:
    """Return means, variances and their rates as finite arrays of shape (..., D) that broadcast; variances are > 0."""
    arrays = {name: _checks.array(name, value) for name, value in values.items()}
    for name, value in arrays.items():
        dim = _checks.points(name, value, dim).shape[-1]  # without a loss the first one says what D is
    if np.any(arrays["variance"] <= 0):
        raise ValueError(f"variance = {_checks.shown(values['variance'])}, but all its entries must be > 0")
    _checks.together(**arrays)
    return list(arrays.values())
