r"""The gains of one coordinate in closed form: drift f = −jθ + const, curvature h, metric G, fading α.

With S = √((γ/2+j)² + ηkh/G), s₊ = S + γ/2 and the closed loop's rate r = (ηkh/G + j(j+γ))/s₊ = S − γ/2,

.. math:: v = \frac{\gamma+j}{s_+}f - \frac{\eta k}{G}\Big[\frac{m}{s_++\alpha} + \frac{\dot m}{(s_++\alpha)^2}\Big],

and over a time Δt, beliefs running on as forecast, the exact displacement is a mean of exponentials of r and α.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes


class Case(NamedTuple):
    """One coordinate's numbers: arrays that broadcast against θ, or whatever else a formula is evaluated on."""

    metric: Any
    curvature: Any
    decay: Any
    fading: Any


class Gains(NamedTuple):
    """What multiplies f, m and ṁ in the velocity (m and ṁ with a minus), and the rate s₊."""

    drift: Any
    belief: Any
    trend: Any
    fast: Any


def gains(control_gain: Any, gamma: Any, case: Case, root: Callable[[Any, Any], Any]) -> Gains:
    """Return the gains: the one place of the formula, for arrays, sympy's symbols and the lines of a program.

    Args:
        control_gain: ηk.
        gamma: γ.
        case: the numbers of the coordinate.
        root: (half, pull) → √(half² + pull); ``half`` itself where the curvature, and so pull, is 0.
    """
    fast = root(gamma / 2 + case.decay, control_gain * case.curvature / case.metric) + gamma / 2
    reach = fast + case.fading
    belief = control_gain / case.metric / reach
    return Gains((gamma + case.decay) / fast, belief, belief / reach, fast)


def slow(control_gain: Any, gamma: Any, case: Case, fast: Any) -> Any:
    """Return r, the rate of the closed loop; of anything, as ``gains``."""
    return (control_gain * case.curvature / case.metric + case.decay * (case.decay + gamma)) / fast


def numbers(objective: Objective, case: Case) -> Gains:
    """Return the gains of arrays; inf where a belief has none (no curvature, no discount, no fading)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        array_gains = gains(objective.eta * objective.k, objective.gamma, case, _root)
    return array_gains._replace(drift=np.where(case.curvature == 0, 1.0, array_gains.drift))


def _root(half: Array, pull: Array) -> Array:
    damped = modes.fast_rate(pull, 1.0, 2 * np.abs(half)) - np.abs(half)
    return np.where(pull == 0, half, damped)


def require(objective: Objective, case: Case, moved: Array) -> None:
    """Raise NoMinimiser unless the plan has one in each coordinate; ``moved`` says where a belief is not zero."""
    gamma, control_gain = objective.gamma, objective.eta * objective.k
    half = gamma / 2 + case.decay
    square = half * half + control_gain * case.curvature / case.metric
    negative = (case.curvature < 0) & ((square <= 0) | (half <= 0))
    if np.any(negative):
        worst = float(np.min(np.where(negative, square, np.inf)))
        raise NoMinimiser(
            f"no minimiser: curvature is negative where (gamma/2 + j)² + eta·k·h = {worst:.6g} and gamma/2 + j = "
            f"{float(np.min(np.where(negative, half, np.inf))):.6g} (j is the rate of decay), but both must be > 0"
        )
    falls = np.minimum(gamma + case.fading, gamma + case.decay + case.fading) <= 0
    if np.any((case.curvature == 0) & falls & moved):
        raise NoMinimiser(
            f"no minimiser: curvature = 0 and gamma = {gamma:g}, but an undiscounted plan on a landscape without "
            "curvature has none: give a curvature, gamma > 0 (more than the drift grows), or a belief that fades"
        )


def step(objective: Objective, found: Gains, case: Case, dt: float, drift: Array, mean: Array, slope: Array) -> Array:
    """Return the exact displacement over Δt, beliefs running on as forecast."""
    r, a = _slow(objective, case, found), case.fading
    y = np.abs(r - a) * dt
    mixed = np.exp(-np.minimum(r, a) * dt) * modes.exp_mean(y)  # the mean of e^{−r(Δt−t)−αt} over the step
    free = dt * modes.exp_mean(r * dt) * found.drift * drift
    held = dt * mixed * (found.belief * mean + found.trend * slope)
    if not np.any(slope):
        return free - held
    return free - held - dt * dt * _ramp(r * dt, a * dt) * found.belief * slope


def _slow(objective: Objective, case: Case, array_gains: Gains) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = slow(objective.eta * objective.k, objective.gamma, case, array_gains.fast)
    return np.where(case.curvature == 0, case.decay, rate)


def _ramp(x: Array, y: Array) -> Array:
    """Return the mean over w in [0, 1] of w·e^{−x(1−w) − yw}."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    w = (1 + nodes) / 2
    x, y = np.asarray(x)[..., None], np.asarray(y)[..., None]
    gap = np.abs(x - y)
    near = np.sum(weights / 2 * w * np.exp(-x * (1 - w) - y * w), axis=-1)
    safe = np.where(gap < 1, 1.0, x - y)
    far = (np.exp(-y) - np.exp(-np.minimum(x, y)) * modes.exp_mean(gap)) / safe
    return np.where(gap[..., 0] < 1, near, far[..., 0])


def limits(objective: Objective, case: Case, dt: float | None) -> dict[str, tuple[str, Array, Array]]:
    """Return (assumption, gain of the limit, neglected term) by name; limit/exact − 1 is the neglected term."""
    array_gains = numbers(objective, case)
    control_gain, gamma = objective.eta * objective.k, objective.gamma
    root = np.sqrt(np.maximum(control_gain * case.curvature / case.metric, 0.0))
    reach = array_gains.fast + case.fading
    denominators = {
        "gradient descent": ("(γ/2 + j)² ≫ ηkh/G", gamma + case.decay + case.fading),
        "ballistic": ("ηkh/G ≫ (γ/2)², j², α²", root),
        "Adam": ("ηkh/G ≫ (γ/2)², j²; ε is α", root + case.fading),
    }
    result: dict[str, tuple[str, Array, Array]] = {}
    for name, (words, denominator) in denominators.items():
        if np.all(denominator > 0):
            gain = control_gain / case.metric / denominator
            result[name] = (words, gain, gain * reach * case.metric / control_gain - 1)
    if dt is not None and np.all(case.curvature > 0) and not np.any(case.decay) and not np.any(case.fading):
        left = np.exp(-_slow(objective, case, array_gains) * dt)
        with np.errstate(divide="ignore"):
            result["Newton"] = ("r·dt ≫ 1", 1 / case.curvature, left / (1 - left))
    return result
