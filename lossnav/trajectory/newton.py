"""Damped Newton for the discretised objective: O(N·D³) a step, with a certificate at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array
from lossnav.trajectory import blocks
from lossnav.trajectory.discrete import Problem


@dataclass(frozen=True, eq=False)
class Minimum:
    """A stationary path of a discretised problem.

    Attributes:
        path: θ at the nodes, shape (N+1, D).
        action: its J_N (see ``Problem.action``).
        gradient: largest |∂J_N/∂θ_n|/w_n over the free nodes.
        converged: whether Newton's last step fell below the tolerance.
        definite: whether the Hessian there is positive definite: no conjugate point.
        iterations: Newton steps taken.
    """

    path: Array
    action: float
    gradient: float
    converged: bool
    definite: bool
    iterations: int


def minimise(problem: Problem, path: Array, *, tolerance: float = 1e-10, limit: int = 200) -> Minimum:
    """Return the stationary path that damped Newton reaches from ``path``; the first node stays where it is.

    Args:
        problem: the discretised objective.
        path: start, shape (N+1, D).
        tolerance: on the largest component of a Newton step, relative to 1 + |θ|.
        limit: most Newton steps.
    """
    path = np.array(path, dtype=np.float64)
    free = slice(1, problem.steps if problem.fixed else problem.steps + 1)
    if path[free].size == 0:
        return Minimum(path, problem.action(path), 0.0, True, True, 0)
    # Damping is measured against what can make the Hessian indefinite: the loss's own curvature on the path.
    curvature = max(1e-12, float(np.max(np.abs(problem.loss.hessian(path)))))
    far = 1e8 * (1 + float(np.max(np.abs(path))))  # beyond this J is falling without bound
    damping, action = 0.0, problem.action(path)
    converged, definite, count = False, False, 0
    while count < limit:
        count += 1
        gradient = problem.gradient(path)[free]
        diagonal, below = problem.hessian(path)
        diagonal, below = diagonal[free], below[1 : free.stop - 1]
        unit = problem.objective.k * problem.dt * curvature
        while True:
            step = _step(problem, diagonal + damping * unit * np.eye(path.shape[1]), below, gradient)
            if step is None:
                damping = max(4 * damping, 1e-3)
                continue
            trial = path.copy()
            trial[free] += step
            with np.errstate(over="ignore", invalid="ignore"):
                new_action = problem.action(trial)
            length = float(np.max(np.abs(step) / (1 + np.abs(path[free]))))
            slack = 1e-12 * (abs(action) + abs(new_action))
            if math.isfinite(new_action) and new_action <= action + slack:
                break
            if length < tolerance or damping > 1e12:
                trial, new_action = path, action
                break
            damping = max(4 * damping, 1e-3)
        stuck = trial is path or float(np.max(np.abs(trial))) > far
        path, action = trial, new_action
        if (damping == 0.0 and length < tolerance) or stuck:
            converged, definite = damping == 0.0 and length < tolerance, damping == 0.0
            break
        damping = damping / 8 if damping > 1e-3 else 0.0
    residual = float(np.max(np.abs(problem.gradient(path)[free])))
    return Minimum(path, action, residual, converged, definite, count)


def _step(problem: Problem, diagonal: Array, below: Array, gradient: Array) -> Array | None:
    """Return Newton's step, or None if the (scaled) Hessian is not positive definite.

    The Hessian is scaled by √w from both sides, the gradient by 1/w; the step is unscaled. Where √w itself would
    underflow, the factor still decides about definiteness, and LU solves the system with rows scaled by 1/w.
    """
    factored = blocks.factor(blocks.banded(diagonal, below))
    if factored is None:
        return None
    gamma = problem.objective.gamma
    if gamma * problem.horizon < 1200:
        root = np.exp(-gamma / 2 * problem.dt * np.arange(len(gradient)))[:, None]
        return -blocks.solve(factored, root * gradient) / root
    half = math.exp(min(gamma * problem.dt / 2, 300.0))  # beyond, the grid is hopeless; the caller says so
    return -blocks.solve_general(diagonal, half * below, np.swapaxes(below, 1, 2) / half, gradient)
