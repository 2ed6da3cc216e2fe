"""The Euler–Lagrange equations under other prices than |θ̇|²/2η: of second order, of fourth for accelerations (W1)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.euler_lagrange.derivation import symbols
from lossnav.euler_lagrange.equations import EulerLagrange
from lossnav.euler_lagrange.latex import Printer, dotted
from lossnav.euler_lagrange.numeric import path_derivatives, sample_times
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem


class Charged(EulerLagrange):
    """The equations where ``objective.price`` is set and smooth; what ``euler_lagrange`` returns for it."""

    def __init__(self, objective: Objective, loss: Loss):
        check_problem(objective, loss, priced=True)
        self.objective, self.loss = objective, loss
        self.price: Any = objective.price
        self._motion  # noqa: B018  refuses a price with a kink

    @cached_property
    def _rates(self) -> list[list[Any]]:
        """The symbols of θ and its derivatives up to the highest that there is, each a list of length D."""
        names = [one.name for one in symbols(self.loss.dim)[0]]
        dots = ("", "dot", "ddot", "dddot", "ddddot")[: 2 * self.price.order + 1]
        return [[sympy.Symbol(name + dot, real=True) for name in names] for dot in dots]

    @cached_property
    def _motion(self) -> Any:
        """What motion costs, in symbols."""
        v, a = self._rates[1:3]
        if self.price.order == 1:
            return self.price.formula(v)
        lower = sympy.Matrix(np.linalg.cholesky(self.objective.metric_matrix(self.loss.dim))).T
        speed = sum(one**2 for one in lower * sympy.Matrix(v)) * self.price.speed / 2
        return self.price.formula(list(lower * sympy.Matrix(a))) + speed

    def _aged(self, momentum: Any) -> Any:
        """Return (D − γ)p, D the derivative in time: what integration by parts makes of a derivative."""
        pairs = zip(self._rates[:-1], self._rates[1:], strict=True)
        change = sum(sympy.diff(momentum, x) * v for low, high in pairs for x, v in zip(low, high, strict=True))
        return (change - self.objective.gamma * momentum).replace(sympy.DiracDelta, lambda *_: sympy.S.Zero)

    @cached_property
    def _sides(self) -> list[tuple[Any, Any]]:
        """Both sides of each equation: what moves, and the force of the loss."""
        theta, v, a = self._rates[:3]
        formula = self.loss.expression(np.array(theta, dtype=object))
        height = sympy.Function("L")(*theta) if formula is None else formula
        found = []
        for x, speed, bend in zip(theta, v, a, strict=True):
            moves = self._aged(sympy.diff(self._motion, speed))
            if self.price.order == 2:
                moves -= self._aged(self._aged(sympy.diff(self._motion, bend)))
            found.append((sympy.expand(moves), sympy.expand(self.objective.k * sympy.diff(height, x))))
        return found

    @property
    def equations(self) -> list[Any]:
        """The equations as sympy ``Eq`` in the functions θ_i(t): what moves on the left, the loss on the right."""
        t = sympy.Symbol("t", real=True)
        paths = [sympy.Function(x.name)(t) for x in self._rates[0]]
        names = (
            (one, path, order) for order, row in enumerate(self._rates) for one, path in zip(row, paths, strict=True)
        )
        swap = {one: path.diff(t, order) if order else path for one, path, order in names}
        return [sympy.Eq(left.xreplace(swap), right.xreplace(swap), evaluate=False) for left, right in self._sides]

    @property
    def latex(self) -> str:
        """The equations in LaTeX, dots for time derivatives."""
        theta, v, a, *more = self._rates
        rows = []
        for sides in self._sides:
            printer = Printer(theta, v, a)
            for dot, row in zip((r"\dddot{", r"\ddddot{"), more, strict=False):
                plain = (dotted(sympy.latex(x), 1) for x in theta)
                printer._settings["symbol_names"] |= {
                    one: name.replace(r"\dot{", dot) for one, name in zip(row, plain, strict=True)
                }
            rows.append(" &= ".join(printer.doprint(side) for side in sides))
        return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"

    @cached_property
    def _slopes(self) -> Any:
        v = self._rates[1]
        slope = [sympy.diff(self._motion, one) for one in v]
        bend = [sympy.diff(one, other).replace(sympy.DiracDelta, lambda *_: 0) for one in slope for other in v]
        return sympy.lambdify(v, [*slope, *bend], modules="numpy")

    def acceleration(self, theta: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return θ̈ on an extremal: ∂²φ θ̈ = γ∂φ + k∇L, shape (..., D).

        Raises:
            ValueError: a shape does not fit; or acceleration is charged: its equations are of fourth order (``snap``).
        """
        if self.price.order == 2:
            raise ValueError(f"objective.price = {self.price!r}, whose equations say the fourth derivative: ask snap")
        points, speeds = (
            _checks.points(name, x, self.loss.dim) for name, x in (("theta", theta), ("velocity", velocity))
        )
        points, speeds = np.broadcast_arrays(points, speeds)
        found = np.stack(np.broadcast_arrays(*self._slopes(*np.moveaxis(speeds, -1, 0)), speeds[..., 0])[:-1], axis=-1)
        push, bend = found[..., : self.loss.dim], found[..., self.loss.dim :].reshape(*points.shape, self.loss.dim)
        force = self.objective.gamma * push + self.objective.k * self.loss.gradient(points)
        return np.asarray(np.linalg.solve(bend, force[..., None])[..., 0])

    def snap(self, theta: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike) -> Array:
        """Return the fourth derivative of θ on an extremal where acceleration is charged, shape (..., D).

        Args:
            theta, velocity, acceleration, jerk: θ and its first three derivatives, shape (..., D).

        Raises:
            ValueError: a shape does not fit, or acceleration is not what is charged.
        """
        if self.price.order == 1:
            raise ValueError(f"objective.price = {self.price!r}, whose equations are of second order: ask acceleration")
        given = {"theta": theta, "velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        x, v, a, j = (_checks.points(name, value, self.loss.dim) for name, value in given.items())
        gamma, pull = self.objective.gamma, self.objective.k * self.loss.gradient(x)
        force = np.linalg.solve(self.objective.metric_matrix(self.loss.dim), pull[..., None])[..., 0]
        return np.asarray(2 * gamma * j - gamma**2 * a + (self.price.speed * (a - gamma * v) - force) / self.price.m)

    def residual(self, traj: Any, times: ArrayLike | None = None) -> float:
        """Return max |θ̈ − acceleration(θ, θ̇)| along a path; of the fourth derivative where acceleration is charged."""
        if self.price.order == 1:
            return super().residual(traj, times)
        t, spacing = sample_times(traj, times)
        bend, jerk, snap = path_derivatives(traj.acceleration, t, spacing)
        gap = snap - self.snap(traj(t), traj.velocity(t), bend, jerk)
        return float(np.max(np.linalg.norm(gap, axis=-1)))
