r"""Laws of a scale-invariant block under gradient descent with momentum and weight decay (T25–T33).

Time is t = ηk after k steps, mass m = η(1 + β)/2, friction μ = 1 − β, and the loss f(q) depends on q = r q̂ through q̂.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import exp_mean, exp_moment


def mass(eta: float, beta: float) -> float:
    """Return m = η(1 + β)/2, the inertia that a step of finite length has (T25), unit T.

    Args:
        eta: η > 0, the learning rate, which is the time that one step stands for.
        beta: β in [0, 1), the momentum.

    Raises:
        ValueError: η is not > 0, or β not in [0, 1).

    Example:
        >>> round(mass(0.1, 0.9), 3)
        0.095
    """
    eta, beta = _checks.positive("eta", eta), _checks.weight("beta", beta)
    return eta * (1 + beta) / 2


def friction(beta: float) -> float:
    """Return μ = 1 − β (T25), without a unit.

    Args:
        beta: β in [0, 1), the momentum.

    Raises:
        ValueError: β is not in [0, 1).
    """
    return 1 - _checks.weight("beta", beta)


def limiting_angular_speed(
    *, eta: float, beta: float, decay: float, dampening: float = 0.0, decoupled: bool = False, nesterov: bool = False
) -> float:
    r"""Return the angle per unit of time at which a scale-invariant block ends up turning (T29).

    .. math:: |\dot{\hat q}|_* = \sqrt{k/m} = \sqrt{\tfrac{2k}{\eta(1+\beta)}},\qquad
        \text{per step } \sqrt{\tfrac{2\eta k}{1+\beta}}.

    It needs no property of the loss but its invariance: where |q| rests, as under noise in many dimensions, what
    friction and decay take from it, motion along the sphere gives. The law is the source's for decay in the gradient,
    the three options are ours.

    Args:
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0, added to the gradient.
        dampening: as in ``torch.optim.SGD``, in [0, 1): the gradient enters the memory times 1 − dampening. Slower by
            √(1 − dampening).
        decoupled: whether the decay acts on the weights, θ ← (1 − ηk)θ: slower by √(1 − β), where dampening acts on
            the gradient only and drops out.
        nesterov: whether the step looks ahead. Faster by √(1 + 2β − 2β³), if the gradients of successive steps are
            uncorrelated; no law without such an assumption is known to us.

    Returns:
        The speed, in radians per unit of t; times η it is the angle per step, right up to a relative O(ηk/(1 − β))
        where |q| rests.

    Raises:
        ValueError: an argument is out of range, or options do not go together.

    References:
        Tanaka and Kunin (2021), Eq. 29 of the supplement; exact limits in ``discrete_radius``.
    """
    eta, beta = _checks.positive("eta", eta), _checks.weight("beta", beta)
    decay = _checks.finite("decay", decay, low=0.0)
    _checks.weight("dampening", dampening)
    _checks.flag("decoupled", decoupled)
    if _checks.flag("nesterov", nesterov) and (decoupled or dampening or not beta):
        raise ValueError("nesterov = True, but it needs beta > 0, dampening = 0 and decoupled = False")
    factor = 1 - beta if decoupled else 1 - dampening
    if nesterov:
        factor = 1 + 2 * beta - 2 * beta**3
    return math.sqrt(2 * decay * factor / (eta * (1 + beta)))


def limiting_radius(
    gradient_norm: ArrayLike, *, eta: float, beta: float, decay: float, gradient_noise: str | None = None
) -> Any:
    r"""Return the radius r at which a scale-invariant block comes to rest (T30).

    .. math:: r_*^4 = \frac{m}{k\mu^2}|\nabla f(\hat q)|^2 = \frac{\eta(1+\beta)}{2k(1-\beta)^2}|\nabla f(\hat q)|^2

    holds if the gradient hardly changes in 1/(1 − β) steps. Gradients of minibatches change from step to step; if they
    are white, uncorrelated between steps, momentum adds up less of them:
    :math:`r_*^4 = \frac{\eta}{2k(1-\beta)}\,\mathbb E|\nabla f_B(\hat q)|^2` (ours).

    Args:
        gradient_norm: |∇f| at radius 1, >= 0, any shape; for white gradients its root mean square over batches.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k > 0, added to the gradient.
        gradient_noise: None | "white".

    Returns:
        r, the shape of ``gradient_norm``.

    Raises:
        ValueError: an argument is out of range.

    References:
        Tanaka and Kunin (2021), Eq. 30 of the supplement.
    """
    norm = _checks.nonnegatives("gradient_norm", gradient_norm)
    eta, beta = _checks.positive("eta", eta), _checks.weight("beta", beta)
    decay = _checks.positive("decay", decay)
    gain = _gain(eta * (1 + beta) / 2, 1 - beta, gradient_noise)
    radius = (gain * (1 - beta) / (4 * decay)) ** 0.25 * np.sqrt(norm)
    return float(radius) if norm.ndim == 0 else radius


def radius_squared(
    t: ArrayLike,
    *,
    initial: float,
    gradient_norm_squared: float | ArrayLike | Callable[[float], float],
    mass: float,
    friction: float,
    decay: float,
    gradient_noise: str | None = None,
) -> Any:
    r"""Return r² over time where inertia is neglected: the root of an exponential average of squared gradients (T33).

    .. math:: r^4(t) = e^{-4kt/\mu}r^4(0) + \frac{4m}{\mu^3}\int_0^t e^{-4k(t-\tau)/\mu}|\nabla f(\hat q(\tau))|^2 d\tau

    q̂ moves by steps ∝ 1/r², so that the block is trained like by RMSprop with one accumulator for all its weights.

    Args:
        t: times >= 0, one number or an array (T,) in ascending order.
        initial: r²(0) > 0.
        gradient_norm_squared: |∇f(q̂)|² at radius 1, >= 0: a number, a function of t, or an array (T,) at the times t,
            of which the first is then 0; between them it is taken as linear.
        mass: m > 0.
        friction: μ > 0.
        decay: weight decay k >= 0.
        gradient_noise: None | "white". White gradients put 2η/μ² = 4m/(μ²(2 − μ)) in the place of 4m/μ³, for
            0 < μ <= 1.

    Returns:
        r², the shape of t.

    Raises:
        ValueError: an argument is out of range, or times and gradients do not fit together.

    References:
        Tanaka and Kunin (2021), Eq. 33 of the supplement.
    """
    times = _times(t)
    start, k = _checks.positive("initial", initial), _checks.finite("decay", decay, low=0.0)
    m, mu = _checks.positive("mass", mass), _checks.positive("friction", friction)
    rate, gain = 4 * k / mu, _gain(m, mu, gradient_noise)
    grid = np.atleast_1d(times)
    r2 = np.sqrt(np.exp(-rate * grid) * start**2 + gain * _average(grid, rate, gradient_norm_squared, times.ndim))
    return float(r2[0]) if times.ndim == 0 else r2


def _average(grid: Array, rate: float, source: Any, ndim: int) -> Array:
    """Return ∫₀^t e^{−rate(t−τ)} source(τ) dτ at all times of the grid, from one time to the next."""
    name = "gradient_norm_squared"
    if callable(source):
        parts = [_piece(source, a, b, rate) for a, b in zip(np.r_[0.0, grid[:-1]], grid, strict=True)]
        steps = np.diff(grid, prepend=0.0)
    else:
        values = _checks.nonnegatives(name, source)
        if values.ndim == 0:
            return values * grid * exp_mean(rate * grid)
        if values.shape != grid.shape or ndim == 0 or grid[0] != 0:
            allowed = f"it must be a number, a function of t, or one value at each of t, {grid.shape}, from t = 0 on"
            raise ValueError(f"{name} has shape {values.shape}, but {allowed}")
        steps = np.diff(grid, prepend=0.0)
        before = np.r_[values[0], values[:-1]]
        late = exp_moment(rate * steps, 1)  # ∫₀¹ x e^{−rate·step·(1−x)} dx
        parts = steps * (before * (exp_mean(rate * steps) - late) + values * late)
    integrals, total = np.empty_like(grid), 0.0
    for index, (part, step) in enumerate(zip(parts, steps, strict=True)):
        total = math.exp(-rate * step) * total + part
        integrals[index] = total
    return integrals


def _piece(source: Callable[[float], float], start: float, end: float, rate: float) -> float:
    def integrand(tau: float) -> float:
        value = _checks.finite("gradient_norm_squared(t)", source(tau), low=0.0)
        return math.exp(-rate * (end - tau)) * value

    if end <= start:
        return 0.0
    # What begins fast, and what the decay leaves of the end, may be far shorter than the whole.
    shares = 8.0 ** -np.arange(10, 0, -1)
    cuts = start + (end - start) * np.concatenate([[0.0], shares, 1 - shares[::-1], [1.0]])
    pieces = itertools.pairwise(np.unique(cuts))
    return math.fsum(scipy.integrate.quad(integrand, a, b, limit=200, epsabs=0.0, epsrel=1e-9)[0] for a, b in pieces)


def _gain(m: float, mu: float, gradient_noise: str | None) -> float:
    """Return what multiplies the squared gradient in d(r⁴)/dt: 4m/μ³, or for white gradients 2η/μ²."""
    if gradient_noise is None:
        return 4 * m / mu**3
    _checks.one_of("gradient_noise", gradient_noise, ("white",))
    if mu > 1:
        raise ValueError(f"friction = {mu}, but white gradients need a momentum 1 − friction in [0, 1)")
    return 4 * m / (mu**2 * (2 - mu))


def _times(t: ArrayLike) -> Array:
    times = _checks.nonnegatives("t", t)
    if times.ndim > 1 or times.size == 0 or np.any(np.diff(np.atleast_1d(times)) < 0):
        raise ValueError(f"t = {_checks.shown(t)}, but it must be one time or an array (T,) in ascending order")
    return times
