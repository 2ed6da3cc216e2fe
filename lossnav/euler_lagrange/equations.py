"""The equations of one objective on one loss: formulas, and the numbers compiled from them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike
from sympy.core.function import AppliedUndef

from lossnav import _checks
from lossnav._checks import Array
from lossnav.euler_lagrange.derivation import GENERAL, Derivation, derive, matrix_of, symbols
from lossnav.euler_lagrange.numeric import NumericTerms, path_derivatives, sample_times
from lossnav.problem.losses import Loss
from lossnav.problem.metrics import Metric
from lossnav.problem.metrics.base import check_matrices
from lossnav.problem.objective import Objective, check_problem

_READABLE = 12  # with more parameters nobody reads the formula of L, and to compile ∇L from it takes seconds


class EulerLagrange:
    r"""The Euler–Lagrange equations of one objective on one loss; made by ``lossnav.euler_lagrange``.

    Attributes:
        derivation: the symbolic steps, a ``Derivation`` with the objective's numbers put in.
        equations: list of D sympy equations in θ_i(t). A loss without a formula appears as L(θ_1, …).
        latex: the same, for a page.
    """

    objective: Objective
    loss: Loss

    def __init__(self, objective: Objective, loss: Loss):
        check_problem(objective, loss)
        self.objective, self.loss = objective, loss

    @cached_property
    def derivation(self) -> Derivation:
        """The steps from the Lagrangian to the equations."""
        return self._derive(self.loss.expression(np.array(symbols(self.loss.dim)[0], dtype=object)))

    def _derive(self, formula: Any) -> Derivation:
        objective, dim = self.objective, self.loss.dim
        theta = np.array(symbols(dim)[0], dtype=object)
        metric = None if objective.metric is None else _on_symbols(objective.metric_on(dim), theta)
        drift: Any = objective.drift
        if drift is not None:
            entries = drift.expression(theta)
            drift = GENERAL if entries is None else entries
        return derive(
            dim, metric=metric, drift=drift, loss=formula, eta=objective.eta, k=objective.k, gamma=objective.gamma
        )

    @property
    def equations(self) -> list[Any]:
        """The equations as sympy ``Eq`` in the functions θ_i(t)."""
        return self.derivation.equations

    @property
    def latex(self) -> str:
        """The equations in LaTeX."""
        return self.derivation.latex

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.objective!r}, {self.loss!r})"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"

    @cached_property
    def _compiled(self) -> Any:
        """Numeric ηe^{γt}·(∂²ℒ/∂θ̇∂θ̇, balance at θ̈ = 0), with undefined functions as further arguments."""
        steps = self.derivation if self.loss.dim <= _READABLE else self._derive(formula=None)
        zero_acceleration = dict.fromkeys(steps.acceleration, sympy.S.Zero)
        formulas = [_exact(f) for f in (*steps.metric, *(row.xreplace(zero_acceleration) for row in steps.balance))]
        unknown = sorted(set().union(*(f.atoms(AppliedUndef, sympy.Derivative) for f in formulas)), key=str)
        dummies = {atom: sympy.Dummy() for atom in unknown}
        formulas = [f.xreplace(dummies) for f in formulas]  # from the top: ∂L/∂θ is met before the L(θ) inside it
        arguments = [*steps.theta, *steps.velocity, *(dummies[atom] for atom in unknown)]
        function = sympy.lambdify(arguments, formulas, modules="numpy", cse=True)
        terms = NumericTerms(self.objective, self.loss)
        return function, [terms.source(atom, steps.theta) for atom in unknown]

    def acceleration(self, theta: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return θ̈ on an extremal.

        Args:
            theta: θ, shape (..., D), unit u.
            velocity: θ̇, shape (..., D), unit u/T.
            t: time, shape (...); it sets the batch shape only, for e^{−γt} cancels from the equations.

        Returns:
            θ̈, shape (..., D), unit u/T².

        Raises:
            ValueError: if a shape does not fit, or G(θ) is not positive definite at one of the points.
        """
        dim = self.loss.dim
        points, speeds = _checks.points("theta", theta, dim), _checks.points("velocity", velocity, dim)
        times = _checks.reals("t", t)
        _checks.together(theta=points, velocity=speeds, t=times[..., None])
        shape = np.broadcast_shapes(points.shape[:-1], speeds.shape[:-1], times.shape)
        points, speeds = (np.broadcast_to(x, (*shape, dim)) for x in (points, speeds))
        function, sources = self._compiled
        moving = [*np.moveaxis(points, -1, 0), *np.moveaxis(speeds, -1, 0)]
        values = function(*moving, *(source(points) for source in sources))
        stacked = np.stack([np.broadcast_to(np.asarray(v, dtype=np.float64), shape) for v in values], axis=-1)
        metric = stacked[..., : dim * dim].reshape(*shape, dim, dim)
        if self.objective.curved:
            check_matrices(metric)
        return np.asarray(np.linalg.solve(metric, -stacked[..., dim * dim :, None])[..., 0], dtype=np.float64)

    def residual(self, traj: Any, times: ArrayLike | None = None) -> float:
        """Return max |θ̈ − acceleration(θ, θ̇)| along a path, unit u/T².

        θ̇ and θ̈ come from the positions alone, by central differences of ``traj(t)`` of sixth order; the
        trajectory's own velocity is not used. On a path given by a formula the step is the one at which the
        fourth- and the sixth-order rule agree best; on a computed grid it is the grid's spacing, so that the
        differences see nodes.

        Args:
            traj: a ``Trajectory``, or anything callable with ``times``.
            times: where to evaluate, shape (T,); default: up to 400 interior points of ``traj.times``.

        Raises:
            ValueError: naming the argument; times must lie strictly between 0 and the path's end.
        """
        t, spacing = sample_times(traj, times)
        theta, velocity, acceleration = path_derivatives(traj, t, spacing)
        gap = acceleration - self.acceleration(theta, velocity, t)
        return float(np.max(np.linalg.norm(gap, axis=-1)))


def _on_symbols(metric: Metric, theta: Array) -> Any:
    """Return the metric on symbols, or "general" where it is code that cannot take them."""
    try:
        return matrix_of("metric(theta)", metric.expression(theta, sympy))
    except (TypeError, AttributeError, ValueError, sympy.SympifyError):
        return GENERAL


def _exact(formula: Any) -> Any:
    """Return the formula with its floats as exact fractions: printed code keeps only 15 digits of a float."""
    return formula.xreplace({number: sympy.Rational(float(number)) for number in formula.atoms(sympy.Float)})
