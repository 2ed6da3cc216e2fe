"""The setting of a run and what every function of it checks first: rates, batches, curvatures, noise, stability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array

FORMS = ("sde", "discrete")


@dataclass(frozen=True, eq=False)
class Setting:
    """Checked arguments of one run, mode by mode.

    Attributes:
        eta: η.
        beta: β.
        curvature: h = ρ + λ, shape (L,).
        variance: variance of one batch gradient along each mode, shape (L,).
        shape: shape of ``rho`` as it was given, () or (L,).
    """

    eta: float
    beta: float
    curvature: Array
    variance: Array
    shape: tuple[int, ...]


def setting(
    rho: ArrayLike, eta: Any, beta: Any, batch: Any, noise: Any, decay: Any, gradient_variance: Any, population: Any
) -> Setting:
    """Check the arguments that all laws of a run have in common; raise where SGD itself is unstable."""
    eta, beta, decay = _checks.positive("eta", eta), _checks.weight("beta", beta), _checks.nonnegative("decay", decay)
    curvatures = _checks.nonnegatives("rho", rho)
    if curvatures.ndim > 1 or curvatures.size == 0:
        raise ValueError(f"rho has shape {curvatures.shape}, but it must be one curvature or have shape (L,)")
    modes = np.atleast_1d(curvatures)
    factor = per_batch(batch, population)
    if (noise is None) == (gradient_variance is None):
        arguments = f"noise = {_checks.shown(noise)} and gradient_variance = {_checks.shown(gradient_variance)}"
        raise ValueError(f"{arguments}, but exactly one of them must be given")
    if noise is not None:
        variance = _checks.nonnegative("noise", noise) * modes
    else:
        checked = _checks.nonnegatives("gradient_variance", gradient_variance, shape=curvatures.shape)
        variance = np.atleast_1d(checked)
    run = Setting(eta, beta, modes + decay, factor * variance, curvatures.shape)
    # Beyond this the mean of SGD itself grows without bound.
    steep = float(np.max(eta * run.curvature))
    if steep >= 2 * (1 + beta):
        raise ValueError(
            f"eta = {eta:g}, beta = {beta:g} and rho + decay = {steep / eta:g} are unstable: "
            f"eta·(rho + decay) = {steep:g}, but it must be < 2(1 + beta) = {2 * (1 + beta):g}"
        )
    return run


def per_batch(batch: Any, population: Any) -> float:
    """Return the factor from the covariance of one gradient to that of a batch: 1/S, or (N − S)/(S(N − 1)).

    The second holds for S different examples of N: a batch that is drawn without replacement.
    """
    size = _checks.whole("batch", batch, low=1)
    if population is None:
        return 1.0 / size
    count = _checks.whole("population", population, low=2)
    if size > count:
        raise ValueError(f"batch = {size}, but it must be a whole number <= population = {count}")
    return (count - size) / (size * (count - 1))


def recursion(h: Array, eta: float, beta: float) -> Array:
    """Return what a step without noise makes of (θ, v) along modes of these curvatures, shape (L, 2, 2) (K2)."""
    ones = np.ones_like(h)
    return np.stack([np.stack([1 - eta * h, eta * beta * ones], -1), np.stack([-h, beta * ones], -1)], -2)


def bound(run: Setting) -> None:
    """Raise if a mode is flat: its position wanders, and has no stationary law."""
    flat = int(np.sum(run.curvature == 0))
    if flat:
        raise ValueError(
            f"rho + decay is 0 in {flat} of {run.curvature.size} directions, but it must be > 0: "
            "nothing holds the position there, and no law of it is stationary"
        )
