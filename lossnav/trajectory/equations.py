r"""The Euler–Lagrange equations to high order on the nodes of a mesh, by deferred correction.

Newton's method minimises a sum that is of second order. What its path leaves in the equations, with derivatives by
local polynomials (``stencils``), is a defect, and Newton's own factored Hessian turns that into a correction of the
path, again and again. In the end the equations hold at every node, and the error is that of the polynomials: of θ̈,
O(hᵖ⁻¹) of degree p where nodes do not lie symmetrically. The sum's Hessian along the path is still the certificate, and
what polynomials of two degrees less leave there, corrected in the same way, estimates the error.

References:
    Pereyra (1968), iterated deferred corrections; Amodio and Sgura (2005), the order of the equations at the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.trajectory import newton
from lossnav.trajectory.motion import acceleration
from lossnav.trajectory.stencils import Stencils
from lossnav.trajectory.transcription import Transcription

ORDER = 10  # the degree of the polynomials: one-sided differences over more nodes amplify rounding
_LEFT = 0.1  # of what is allowed, or of the polynomials' own error: what corrections may leave
_ENOUGH = 1e-3  # of the first correction: the loss's true gradient then changes more
_LEAST = 1e-12  # a cost that is none
_ROUNDS = 40  # at most: a correction that helps takes a few, one that does not is seen at once


class Equations:
    """The equations of motion, the conditions at joints and end, and J, on the nodes of a problem's mesh."""

    def __init__(self, problem: Transcription, order: int):
        self.problem = problem
        self.stencils = Stencils(problem.times, problem.joints, order)

    def defect(self, path: Array, slope: Array) -> Array:
        """Return what the equations leave, as the gradient of the sum counts it, shape (M, D) of the free nodes.

        Inside it is the force that is missing, times the time for which a node stands; at a joint the jump of momentum;
        at a free end the momentum beyond what the end asks for.
        """
        problem, objective, ends = self.problem, self.problem.objective, self.stencils.ends
        velocity, bend, speed = self.stencils.derivatives(path)
        missing = acceleration(objective, path[:-1], velocity, slope[:-1]) - bend
        found = np.empty_like(path)
        found[:-1] = problem.lengths[:-1] * self._lowered(path[:-1], missing)
        found[ends] = self._momentum(path[ends], speed)
        found[ends[:-1]] -= self._momentum(path[ends[:-1]], velocity[ends[:-1]])
        found[-1] += objective.charge * slope[-1]
        if problem.terminal is not None:
            found[-1] += problem.terminal.gradient(path[-1])
        return found[problem.free]

    def _momentum(self, path: Array, velocity: Array) -> Array:
        """Return G(θ̇ − f)/η."""
        drift = self.problem.objective.drift
        return self._lowered(path, velocity if drift is None else velocity - drift(path))

    def _lowered(self, path: Array, vector: Array) -> Array:
        """Return G·vector/η."""
        objective = self.problem.objective
        if objective.metric is None:
            return vector / objective.eta
        return np.einsum("...ij,...j->...i", objective.metric_on(path.shape[-1]).matrix(path), vector) / objective.eta

    def action(self, path: Array, after: Array, before: Array) -> tuple[float, float]:
        """Return J of a path, counted as ``Transcription.action`` does, and the size of what is summed.

        Args:
            path: θ at the nodes.
            after, before: the losses there, from ``Transcription.heights``.
        """
        problem, objective, ends = self.problem, self.problem.objective, self.stencils.ends
        velocity, _, speed = self.stencils.derivatives(path)
        rates = []
        for place, pace, height in ((path[:-1], velocity, after), (path[ends], speed, before)):
            rate = np.asarray(objective.kinetic(place, pace)) + objective.k * height
            rates.append(np.stack([rate, np.abs(rate)], axis=-1))
        last = 0.0 if problem.terminal is None else problem.terminal.climb(path[-1])
        last = math.exp(-objective.gamma * problem.horizon) * (last + objective.charge * float(before[-1]))
        paid, size = self.stencils.integral(objective.gamma, *rates).tolist()
        return paid + last, size + abs(last)


@dataclass(frozen=True, eq=False)
class Extremal:
    """A path that obeys the equations to high order at the nodes of a mesh.

    Attributes:
        path: θ there, shape (N+1, D).
        curvature: ∇²L along it, nearly, shape (N+1, D, D).
        fine, rough: the equations, and those of two degrees less.
        off: what the latter would change in the path, relative to its extent.
        residual: the largest defect, unit u/T².
    """

    path: Array
    curvature: Array
    fine: Equations
    rough: Equations
    off: float
    residual: float

    @cached_property
    def _sums(self) -> tuple[float, float, float]:
        heights = self.fine.problem.heights(self.path, self.fine.stencils.ends)
        return *self.fine.action(self.path, *heights), self.rough.action(self.path, *heights)[0]

    @property
    def action(self) -> float:
        """J, counted as ``Transcription.action`` does."""
        return self._sums[0]

    @property
    def error(self) -> float:
        """What two degrees less change in J."""
        return abs(self._sums[0] - self._sums[2])

    def wrong(self, rtol: float) -> float:
        """Return the estimated error, relative: of the path, or, where that is below ``rtol``, of J if it is larger.

        What rounding of the loss leaves of J is no error that a finer mesh would take away.
        """
        if self.off > rtol:
            return self.off
        return max(self.off, (self.error - self.fine.problem.blur) / max(self._sums[1], _LEAST))


class _Corrections:
    """What turns a defect into a correction: the factored Hessian of the sum along one path.

    Attributes:
        factored: None where it is not positive definite.
    """

    def __init__(self, problem: Transcription, path: Array, slope: Array, curvature: Array, rtol: float):
        self.problem, self.curvature, self.rtol = problem, curvature, rtol
        self._system = newton.System(problem, path[None], slope[None], curvature[None])
        self.factored = self._system.factor(0)

    def step(self, defect: Array) -> Array:
        """Return the correction, shape (N+1, D)."""
        assert self.factored is not None  # whoever asks has seen to it
        found = np.zeros((self.problem.steps + 1, defect.shape[1]))
        found[self.problem.free] = self._system.solve(self.factored, defect)
        return found

    def length(self, moved: Array, path: Array) -> float:
        """Return the largest component, relative to how far the path goes."""
        return float(np.max(np.abs(moved) / newton.sizes(path, self.rtol)))

    def solved(self, equations: Equations, begun: Array, slope: Array) -> tuple[Array, Array]:
        """Return the path without a defect where ∇L is linear about ``begun``, and that ∇L; the loss is not asked."""
        path, bent, lengths = begun, slope, [math.inf]
        while len(lengths) <= _ROUNDS:
            moved = self.step(equations.defect(path, bent))
            path = path + moved
            bent = slope + np.einsum("nij,nj->ni", self.curvature, path - begun)
            lengths.append(self.length(moved, path))
            if not lengths[-2] > lengths[-1] > _ENOUGH * max(lengths[1], self.rtol):
                break
        return path, bent


def corrected(
    problem: Transcription, path: Array, curvature: Array, rtol: float, slope: Array | None = None
) -> Extremal | None:
    """Return the extremal near a path; None if corrections do not lead to one, or the sum's Hessian is not positive.

    Corrections are made with a gradient that is linear about the path; then the loss is asked for the true one. Also
    None if the budget ends on the way.

    Args:
        problem: the sum.
        path: where to begin, shape (N+1, D).
        curvature: ∇²L along it, nearly.
        rtol: how exact path and J are to be.
        slope: ∇L along it, if known.
    """
    fine, rough, last = Equations(problem, ORDER), Equations(problem, ORDER - 2), math.inf
    try:
        given = problem.landscape.gradient(path) if slope is None else slope
        corrections = _Corrections(problem, path, given, curvature, rtol)
        for _ in range(_ROUNDS if corrections.factored is not None else 0):
            begun, (path, bent) = path, corrections.solved(fine, path, given)
            moved = corrections.length(path - begun, path)
            if not moved < last:  # not a number, too
                break
            defect = fine.defect(path, bent)
            off = corrections.length(corrections.step(rough.defect(path, bent) - defect), path)
            left = moved * moved / (min(last, 1.0) - moved) if moved < 1 else math.inf  # as a geometric series goes on
            if left <= _LEFT * max(rtol, off):
                return Extremal(path, curvature, fine, rough, off, problem.residual(defect))
            budget.check()
            last, given = moved, problem.landscape.gradient(path)
    except budget.OutOfBudget:
        pass
    return None
