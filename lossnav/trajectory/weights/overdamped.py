r"""The overdamped limit in closed form (Eqs. 148, 149): variances as averages of curvature, and where they rest.

In the precision p = 1/v Eq. 148 is linear, :math:`\dot p = (\eta/\gamma)(kH - \lambda_S p)`: an exponential moving
average of the curvature with the memory γ/ηλ_S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.weights.averages import Average, average, checked_switches
from lossnav.problem.weights.problem import Problem, check_problem
from lossnav.trajectory.modes import exp_mean, slow_rate
from lossnav.trajectory.weights.equations import flow

_RUNAWAY = 1e8  # e-folds of a variance in one task, at its present pace, that only a runaway shows
_MOST_CALLS = 200_000  # of the flow in one task: LSODA has no limit of its own


def equilibrium_variance(curvature: ArrayLike, k: float, entropy: float, prior_variance: float = math.inf) -> Any:
    r"""Return the variance at which curvature and entropy balance, :math:`v^*=\lambda_S/(kH+\lambda_S/v_p)` (Eq. 149).

    Args:
        curvature: H_ii, any shape, unit 1/u².
        k: loss weight > 0, unit 1/T.
        entropy: λ_S ≥ 0, unit 1/T; without it the variance goes to 0 where H > 0.
        prior_variance: v_p in (0, inf], unit u².

    Returns:
        v*, shape of ``curvature``, unit u².

    Raises:
        ValueError: naming the argument that is out of range.
        NoMinimiser: where kH + λ_S/v_p ≤ 0: there the variance grows without bound.

    Example:
        >>> equilibrium_variance([2.0, 0.0], k=1.0, entropy=0.8, prior_variance=0.5).round(4)
        array([0.2222, 0.5   ])

    References:
        Vastola, Gershman, Rajan (2025), Eq. 149; the prior is ours.
    """
    h = _checks.array("curvature", curvature)
    weight, strength = _checks.positive("k", k), _checks.finite("entropy", entropy, low=0.0)
    restoring = weight * h + strength / _checks.duration("prior_variance", prior_variance)
    if np.any(restoring <= 0):
        raise NoMinimiser(
            f"curvature = {_checks.shown(curvature)}: where k·H + entropy/prior_variance <= 0 (here "
            f"{float(np.min(restoring)):.3g}) the variance grows without bound; give a finite prior_variance"
        )
    result = strength / restoring
    return result if h.ndim else float(result)


def relaxation_rate(eta: ArrayLike, gamma: ArrayLike, entropy: ArrayLike) -> Any:
    r"""Return :math:`r=\sqrt{\gamma^2/4+\eta\lambda_S}-\gamma/2`, the rate of return to equilibrium.

    Log-variances relax at this rate whatever the curvature is, and so do means under a diagonal Hessian: Newton-like.
    If H couples them, means relax at the rates that diag(H)⁻¹H·ηλ_S has in the place of ηλ_S. For large γ it is ηλ_S/γ.

    Args:
        eta: η > 0.
        gamma: γ ≥ 0, unit 1/T.
        entropy: λ_S ≥ 0, unit 1/T.

    Returns:
        r, unit 1/T, of the shape to which the arguments broadcast.

    Raises:
        ValueError: naming the argument that is out of range.

    Example:
        >>> relaxation_rate(eta=1.0, gamma=3.0, entropy=4.0)
        1.0
    """
    rate, strength, discount = (
        _checks.positives("eta", eta),
        _checks.nonnegatives("entropy", entropy),
        _checks.nonnegatives("gamma", gamma),
    )
    _checks.together(eta=rate, entropy=strength, gamma=discount)
    result = slow_rate(strength, rate, discount)
    return result if result.ndim else float(result)


def overdamped_variance(
    t: ArrayLike,
    *,
    initial: ArrayLike,
    curvature: ArrayLike,
    eta: float,
    k: float,
    gamma: float,
    entropy: float,
    prior_variance: float = math.inf,
) -> Any:
    r"""Return v(t) of Eq. 148 for constant curvature, in closed form; arguments broadcast.

    .. math:: \frac1{v(t)} = \frac{e^{-\rho t}}{v_0} + \frac{\eta kH}{\gamma}\,t\,\varphi(\rho t),\qquad
        \rho=\frac{\eta\lambda_S}\gamma,\quad \varphi(x)=\frac{1-e^{-x}}x

    It neither divides by λ_S nor by H: without entropy it is v₀/(1+ηkHv₀t/γ), on flat ground v₀e^{ρt}.

    Args:
        t: times ≥ 0, unit T.
        initial: v₀ > 0, unit u².
        curvature: H_ii, of any sign.
        eta: η > 0.
        k: loss weight > 0.
        gamma: discount rate > 0.
        entropy: λ_S ≥ 0.
        prior_variance: v_p; adds λ_S/kv_p to the curvature.

    Returns:
        v, broadcast shape; inf from the moment on at which negative curvature has driven the precision to zero.

    Example:
        >>> overdamped_variance([0, 1, 10], initial=1.0, curvature=2.0, eta=1, k=1, gamma=4, entropy=0).round(4)
        array([1.    , 0.6667, 0.1667])

    References:
        Vastola, Gershman, Rajan (2025), Eq. 148.
    """
    parts = _precision_parts(t, initial, curvature, eta, k, gamma, entropy, prior_variance)
    precision = parts[0] / _checks.positives("initial", initial) + parts[1]
    with np.errstate(divide="ignore"):
        result = np.where(precision > 0, 1 / np.maximum(precision, 0), np.inf)
    return result if result.ndim else float(result)


def overdamped_offset(
    t: ArrayLike,
    *,
    initial: ArrayLike,
    curvature: ArrayLike,
    eta: float,
    k: float,
    gamma: float,
    entropy: float,
    prior_variance: float = math.inf,
) -> Any:
    r"""Return (μ(t)−μ*)/(μ(0)−μ*) of Eq. 148 for constant curvature, in closed form; arguments broadcast.

    It is :math:`e^{-\rho t}v(t)/v_0`. Without entropy it is v(t)/v₀: the mean has left its start
    behind as far as the data have sharpened it.

    Args:
        t, initial, curvature, eta, k, gamma, entropy, prior_variance: as in ``overdamped_variance``.

    Returns:
        The share of the offset that is left, broadcast shape: 1 on flat ground; inf from the moment on at which
        negative curvature has driven the precision to zero.

    Raises:
        ValueError: naming the argument that is out of range.

    Example:
        >>> overdamped_offset([0, 1, 10], initial=1.0, curvature=2.0, eta=1, k=1, gamma=4, entropy=0).round(4)
        array([1.    , 0.6667, 0.1667])
    """
    decay, gain = _precision_parts(t, initial, curvature, eta, k, gamma, entropy, prior_variance)
    below = decay + _checks.positives("initial", initial) * gain
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(gain == 0, 1.0, np.inf)  # flat ground: below is decay, also where that is no float
        result = np.where(below > 0, decay / below, lost)
    return result if result.ndim else float(result)


def _precision_parts(
    t: ArrayLike,
    initial: ArrayLike,
    curvature: ArrayLike,
    eta: float,
    k: float,
    gamma: float,
    entropy: float,
    prior_variance: float,
) -> tuple[Array, Array]:
    """Return e^{−ρt} and the precision that data and prior have added by then."""
    times, h = _checks.nonnegatives("t", t), _checks.array("curvature", curvature)
    _checks.together(t=times, initial=_checks.positives("initial", initial), curvature=h)
    pace = _checks.positive("eta", eta) / _checks.positive("gamma", gamma)
    strength = _checks.finite("entropy", entropy, low=0.0)
    restoring = _checks.positive("k", k) * h + strength / _checks.duration("prior_variance", prior_variance)
    x = pace * strength * times
    return np.exp(-x), pace * restoring * times * exp_mean(x)


def overdamped_path(
    problem: Problem,
    loss: Average,
    mean: ArrayLike,
    variance: ArrayLike,
    t: ArrayLike,
    *,
    switches: Sequence[tuple[float, Average]] = (),
    frozen: bool = False,
) -> tuple[Array, Array]:
    """Integrate Eq. 148 for any averaged loss; the loss may switch, which a myopic learner cannot foresee.

    Args:
        problem: the assumptions; γ > 0.
        loss: the averaged loss at the start.
        mean: μ(0), shape (D,).
        variance: v(0) > 0, shape (D,).
        t: increasing times from 0, shape (N,).
        switches: (time, new averaged loss), in order of time.
        frozen: keep the variance where it is: gradient descent with the step ηv/γ.

    Returns:
        Means and variances, shape (N, D) each.

    Raises:
        ValueError: naming the argument that does not fit.
        NotConverged: if the integration fails, for example because a variance grows without bound.
    """
    check_problem(problem)
    loss = average(loss)
    _checks.flag("frozen", frozen)
    times = _checks.nonnegatives("t", t)
    if times.ndim != 1 or np.any(np.diff(times) <= 0):
        raise ValueError(f"t = {_checks.shown(t)}, but it must be a 1-D array of increasing times")
    moments, later = checked_switches(switches, loss.dim)
    mu = _checks.array("mean", mean, shape=(loss.dim,))
    v = _checks.positives("variance", _checks.array("variance", variance, shape=(loss.dim,)))
    _checks.positive("problem.gamma", problem.gamma)
    state = np.concatenate([mu, np.log(v)])
    states = np.empty((len(times), 2 * loss.dim))
    for current, start, end in zip([loss, *later], moments, [*moments[1:], math.inf], strict=True):
        inside = (times >= start) & (times < end)
        stop = min(end, float(np.max(times, initial=0.0)))
        if stop > start:
            states[inside], state = _integrate(problem, current, state, (start, stop), times[inside], frozen)
        else:
            states[inside] = state
    return states[:, : loss.dim], np.exp(states[:, loss.dim :])


def _integrate(
    problem: Problem, loss: Average, state: Array, span: tuple[float, float], times: Array, frozen: bool
) -> tuple[Array, Array]:
    """Integrate one task in (μ, ln v); return the states at ``times``, shape (T, 2D), and the last."""
    dim, calls, length, stay = loss.dim, 0, span[1] - span[0], problem.loss(loss)

    def rates(_: float, y: Array) -> Array:  # by the fraction of the span: a solver's first step knows no units
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS:
            raise NotConverged(
                f"the integration did not get to t = {span[1]:.6g} in {_MOST_CALLS} steps: the variance moves too fast "
                "at first; start nearer to equilibrium, or at a later time"
            )
        rate = length * flow(problem, stay, y)
        return np.concatenate([rate[:dim], 0 * rate[dim:]]) if frozen else rate

    # A variance that grows without bound stops the integration.
    def runaway(_: float, y: Array) -> float:
        return _RUNAWAY - float(np.max(np.abs(rates(0.0, y)[dim:])))

    runaway.terminal = True  # type: ignore[attr-defined]  # scipy's way to ask for a stop
    runaway.direction = -1.0  # type: ignore[attr-defined]  # it may start fast and calm down
    with np.errstate(over="ignore", invalid="ignore"):
        # A mean far from zero or in small units has no absolute accuracy of its own: its standard deviation has.
        spread = np.minimum(np.maximum(np.abs(state[:dim]), np.exp(state[dim:] / 2)), 1e290)
        solution = scipy.integrate.solve_ivp(
            rates, (0.0, 1.0), state, method="LSODA", rtol=1e-9, atol=1e-12 * np.concatenate([spread, np.ones(dim)]),
            dense_output=True, events=runaway,
        )  # fmt: skip
    if solution.status != 0 or not np.all(np.isfinite(solution.y)):
        moves = f"mean or variance move too fast; start nearer to equilibrium. {solution.message}"
        cause = "a variance grows without bound" if solution.status == 1 else moves
        raise NotConverged(f"the integration stopped at t = {span[0] + length * solution.t[-1]:.6g}: {cause}")
    return solution.sol((times - span[0]) / length).T, solution.y[:, -1]
