"""Independent channels for the equation tests: direct minimisation of discretised J, and measured orders.

Nothing here uses lossnav: J is written down as a sum, its normal equations are solved with scipy's sparse or banded
solver, and Richardson extrapolation removes the leading error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg


class Path(NamedTuple):
    """A minimiser of discretised J: times (N+1,), positions (N+1, D) and J."""

    times: np.ndarray
    positions: np.ndarray
    action: float


def quadratic(
    hessian: np.ndarray,
    minimum: np.ndarray,
    theta0: np.ndarray,
    *,
    horizon: float,
    count: int,
    eta: float = 1.0,
    k: float = 1.0,
    gamma: float = 0.0,
    metric: np.ndarray | None = None,
    end: np.ndarray | None = None,
) -> Path:
    """Minimise J with L = ½(θ−θ*)ᵀH(θ−θ*): midpoint velocities, trapezoid loss, one sparse linear solve.

    The end is free unless given; then nothing is imposed on it, and θ̇(T) = 0 must come out by itself.
    """
    dim, dt = len(theta0), horizon / count
    weight = np.eye(dim) if metric is None else metric
    t = dt * np.arange(count + 1)
    between = np.exp(-gamma * (t[:-1] + dt / 2)) / (eta * dt)
    at = k * dt * np.exp(-gamma * t) * np.r_[0.5, np.ones(count - 1), 0.5]
    difference = scipy.sparse.diags_array([-np.ones(count), np.ones(count)], offsets=[0, 1], shape=(count, count + 1))
    stiff = difference.T @ scipy.sparse.diags_array(between) @ difference
    full = (scipy.sparse.kron(stiff, weight) + scipy.sparse.kron(scipy.sparse.diags_array(at), hessian)).tocsc()
    offset = np.asarray(theta0, dtype=float) - minimum
    fixed = {0: offset} if end is None else {0: offset, count: np.asarray(end, dtype=float) - minimum}
    x = np.zeros((count + 1, dim))
    for node, value in fixed.items():
        x[node] = value
    free = np.ones((count + 1, dim), dtype=bool)
    free[list(fixed)] = False
    inner = free.ravel()
    right = -(full @ x.ravel())[inner]
    x[free] = scipy.sparse.linalg.spsolve(full[inner][:, inner], right)
    return Path(t, x + minimum, float(x.ravel() @ (full @ x.ravel())) / 2)


def scalar(
    value: Callable,
    slope: Callable,
    bend: Callable,
    guess: np.ndarray,
    *,
    horizon: float,
    eta: float = 1.0,
    k: float = 1.0,
    gamma: float = 0.0,
    fixed_end: bool = False,
    left_rule: bool = False,
) -> Path:
    """Minimise J of a one-dimensional loss by damped Newton with a banded solver, from ``guess``, shape (N+1,).

    ``left_rule`` is the discretisation of Eq. 29: both terms with e^{−γt_n}, the loss at the left end of each step.
    """
    count = len(guess) - 1
    dt = horizon / count
    t = dt * np.arange(count + 1)
    if left_rule:
        between = np.exp(-gamma * t[:-1]) / (eta * dt)
        at = k * dt * np.exp(-gamma * t) * np.r_[np.ones(count), 0.0]
    else:
        between = np.exp(-gamma * (t[:-1] + dt / 2)) / (eta * dt)
        at = k * dt * np.exp(-gamma * t) * np.r_[0.5, np.ones(count - 1), 0.5]
    last = count if fixed_end else count + 1

    def total(x: np.ndarray) -> float:
        return float(np.sum(between * np.diff(x) ** 2) / 2 + np.sum(at * value(x)))

    x = guess.astype(float)
    for _ in range(200):
        pull = between * np.diff(x)
        gradient = at * slope(x) + np.r_[0.0, pull] - np.r_[pull, 0.0]
        diagonal = at * bend(x) + np.r_[0.0, between] + np.r_[between, 0.0]
        bands = np.zeros((3, last - 1))
        bands[1] = diagonal[1:last]
        bands[0, 1:] = bands[2, :-1] = -between[1 : last - 1]
        slack = 1e-12 * float(np.sum(between * np.diff(x) ** 2) + np.sum(at * np.abs(value(x))))  # rounding of J
        damping = 0.0
        while True:
            try:
                bands[1] = diagonal[1:last] + damping
                scipy.linalg.cholesky_banded(bands[:2])
                step = -scipy.linalg.solve_banded((1, 1), bands, gradient[1:last])
                trial = x.copy()
                trial[1:last] += step
                if total(trial) <= total(x) + slack:
                    break
            except np.linalg.LinAlgError:
                pass
            damping = 2 * damping if damping else 0.1 * float(np.max(at * np.abs(bend(x))))
        x = trial
        if np.max(np.abs(step)) < 1e-8 and damping == 0:  # quadratic convergence: the next error is rounding
            return Path(t, x[:, None], total(x))
    raise AssertionError("the reference minimisation did not converge")


def richardson(coarse: float | np.ndarray, fine: float | np.ndarray, order: int = 2) -> float | np.ndarray:
    """Return the extrapolation of two values whose error falls with the given order, at steps h and h/2."""
    return fine + (fine - coarse) / (2**order - 1)


def measured_order(errors: Sequence[float]) -> float:
    """Return the order p of errors ∝ stepᵖ from the last halving; all errors must be well above rounding."""
    assert all(error > 1e-14 for error in errors), errors
    return math.log2(errors[-2] / errors[-1])


def roots(eta: float, k: float, gamma: float, h: float) -> tuple[float, float]:
    """Return (s₋, s₊) of s² − γs − ηkh = 0, by numpy's companion matrix."""
    low, high = np.sort(np.roots([1.0, -gamma, -eta * k * h]).real)
    return float(low), float(high)


def spd(rng: np.random.Generator, dim: int, low: float = 0.3) -> np.ndarray:
    """Return a random symmetric positive definite matrix."""
    a = rng.normal(size=(dim, dim))
    return a @ a.T / dim + low * np.eye(dim)


def priced(
    value: Callable, slope: Callable, bend: Callable, guess: np.ndarray, *, horizon: float, gamma: float, m: float,
    c: float, k: float,
) -> np.ndarray:  # fmt: skip
    """Minimise ∫e^{−γt}{mθ̈²/2 + cθ̇²/2 + kL}dt from rest by Newton on second differences; return the nodes.

    The start's acceleration is 2(θ₁ − θ₀)/Δt², its weight half; the end is free.
    """
    count = len(guess) - 1
    dt = horizon / count
    t = dt * np.arange(count + 1)
    fading = np.exp(-gamma * t)
    ones = np.ones(count)
    first = scipy.sparse.diags_array([-ones, ones], offsets=[0, 1], shape=(count, count + 1)).tocsr() / dt
    rows = scipy.sparse.diags_array([ones, -2 * ones, ones], offsets=[-1, 0, 1], shape=(count, count + 1)).tolil()
    rows[0, :2] = [-2.0, 2.0]
    second = rows.tocsr() / dt**2
    weights = dt * fading[:-1] * np.r_[0.5, np.ones(count - 1)]
    middles = dt * np.exp(-gamma * (t[:-1] + dt / 2))
    at = k * dt * fading * np.r_[0.5, np.ones(count - 1), 0.5]
    form = m * second.T @ scipy.sparse.diags_array(weights) @ second
    form = (form + c * first.T @ scipy.sparse.diags_array(middles) @ first).tocsr()
    scale = scipy.sparse.diags_array(np.exp(gamma * t[1:] / 2))  # rows and columns of one size
    x = guess.astype(float)
    for _ in range(60):
        gradient = (form @ x + at * slope(x))[1:]
        hessian = (form + scipy.sparse.diags_array(at * bend(x)))[1:, 1:]
        step = scale @ scipy.sparse.linalg.spsolve((scale @ hessian @ scale).tocsc(), -(scale @ gradient))
        x[1:] += step
        if np.max(np.abs(step)) < 1e-8:  # quadratic convergence: the next error is rounding
            return x
    raise AssertionError("the reference minimisation did not converge")
