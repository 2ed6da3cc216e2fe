"""The Euler–Lagrange equations under other prices than |θ̇|²/2η: of second order, of fourth for accelerations (W1)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.euler_lagrange.derivation import aged, on_paths, symbols
from lossnav.euler_lagrange.equations import EulerLagrange
from lossnav.euler_lagrange.latex import aligned
from lossnav.euler_lagrange.numeric import path_derivatives, sample_times
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem


class Charged(EulerLagrange):
    """The equations where ``objective.price`` is set and smooth; what ``euler_lagrange`` returns for it."""

    def __init__(self, objective: Objective, loss: Loss):
        check_problem(objective, loss, priced=True)
        self.objective, self.loss = objective, loss
        price: Any = objective.price
        self.price = price
        self._rates = symbols(loss.dim, 2 * price.order)
        self._motion  # noqa: B018  refuses a price with a kink

    @cached_property
    def _motion(self) -> Any:
        """What motion costs, in symbols."""
        v, a = self._rates[1:3]
        if self.price.order == 1:
            return self.price.formula(v)
        lower = sympy.Matrix(np.linalg.cholesky(self.objective.metric_matrix(self.loss.dim))).T
        speed = sum(component**2 for component in lower * sympy.Matrix(v)) * self.price.speed / 2
        return self.price.formula(list(lower * sympy.Matrix(a))) + speed

    def _aged(self, momentum: Any) -> Any:
        return aged(momentum, self._rates, self.objective.gamma).replace(sympy.DiracDelta, lambda *_: sympy.S.Zero)

    @cached_property
    def _moves(self) -> list[Any]:
        """What k∇L is, in θ̇ and higher derivatives."""
        speeds, accels = self._rates[1:3]
        lhs = [self._aged(sympy.diff(self._motion, v)) for v in speeds]
        if self.price.order == 2:
            lhs = [p - self._aged(self._aged(sympy.diff(self._motion, a))) for p, a in zip(lhs, accels, strict=True)]
        return [sympy.expand(term) for term in lhs]

    @cached_property
    def _sides(self) -> list[tuple[Any, Any]]:
        """Both sides of each equation: what moves, and the force of the loss."""
        formula = self.loss.expression(np.array(self._rates[0], dtype=object))
        height = sympy.Function("L")(*self._rates[0]) if formula is None else formula
        forces = (sympy.expand(self.objective.k * sympy.diff(height, x)) for x in self._rates[0])
        return list(zip(self._moves, forces, strict=True))

    @property
    def equations(self) -> list[Any]:
        """The equations as sympy ``Eq`` in the functions θ_i(t): what moves on the left, the loss on the right."""
        swap = on_paths(self._rates, sympy.Symbol("t", real=True))
        return [sympy.Eq(left.xreplace(swap), right.xreplace(swap), evaluate=False) for left, right in self._sides]

    @property
    def latex(self) -> str:
        """The equations in LaTeX, dots for time derivatives."""
        return aligned(self._sides, self._rates)

    @cached_property
    def _solved(self) -> Any:
        """The factor of the highest derivatives, in which the equations are linear, and what is without them."""
        factor = sympy.Matrix(self._moves).jacobian(self._rates[-1])
        rest = [term.xreplace(dict.fromkeys(self._rates[-1], sympy.S.Zero)) for term in self._moves]
        return sympy.lambdify([x for row in self._rates[1:-1] for x in row], [*factor, *rest], modules="numpy")

    def _highest(self, order: int, **derivatives: ArrayLike) -> Array:
        """Return the derivative of 2·``order`` of θ on an extremal, from θ and those below it."""
        if self.price.order != order:
            other = "snap, for they are of fourth order" if order == 1 else "acceleration, for they are of second order"
            raise ValueError(f"objective.price = {self.price!r}, whose equations must be asked for {other}")
        dim = self.loss.dim
        rates = np.broadcast_arrays(*(_checks.points(name, value, dim) for name, value in derivatives.items()))
        moving = [x for row in rates[1:] for x in np.moveaxis(row, -1, 0)]
        values = np.stack(np.broadcast_arrays(*self._solved(*moving), moving[0])[:-1], axis=-1)
        factor, rest = values[..., : dim * dim].reshape(*values.shape[:-1], dim, dim), values[..., dim * dim :]
        force = self.objective.k * self.loss.gradient(rates[0]) - rest
        return np.asarray(np.linalg.solve(factor, force[..., None])[..., 0])

    def acceleration(self, theta: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return θ̈ on an extremal under a price of speed, shape (..., D): ∂²φ θ̈ = γ∂φ + k∇L."""
        return self._highest(1, theta=theta, velocity=velocity)

    def snap(self, theta: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike) -> Array:
        """Return the fourth derivative of θ on an extremal where acceleration is charged, shape (..., D).

        Args:
            theta, velocity, acceleration, jerk: θ and its first three derivatives, shape (..., D).

        Raises:
            ValueError: a shape does not fit, or acceleration is not what is charged.
        """
        return self._highest(2, theta=theta, velocity=velocity, acceleration=acceleration, jerk=jerk)

    def residual(self, traj: Any, times: ArrayLike | None = None) -> float:
        """Return max |θ̈ − acceleration(θ, θ̇)| along a path; of the fourth derivative where acceleration is charged."""
        if self.price.order == 1:
            return super().residual(traj, times)
        t, spacing = sample_times(traj, times)
        acceleration, jerk, snap = path_derivatives(traj.acceleration, t, spacing)
        gap = snap - self.snap(traj(t), traj.velocity(t), acceleration, jerk)
        return float(np.max(np.linalg.norm(gap, axis=-1)))
