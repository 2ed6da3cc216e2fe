"""From the Lagrangian to the Euler–Lagrange equations, step by step, in sympy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy

from lossnav import _checks
from lossnav.euler_lagrange.latex import Printer, aligned, dotted

GENERAL = "general"  # an undefined function of θ
CONSTANT = "constant"  # undetermined constants


@dataclass(frozen=True, eq=False)
class Derivation:
    r"""The steps from :math:`\mathcal L=e^{-\gamma t}\{|\dot\theta-f|_G^2/2\eta+kL\}` to equations of motion.

    Attributes:
        theta, velocity, acceleration: plain symbols θ_i, θ̇_i, θ̈_i, each a tuple of length D.
        t, eta, k, gamma: the other symbols, or the numbers they were given.
        metric: G, a (D, D) sympy matrix in the symbols θ.
        drift: f, a (D, 1) sympy matrix in the symbols θ.
        loss: L, an expression in the symbols θ.
    """

    theta: tuple[Any, ...]
    velocity: tuple[Any, ...]
    acceleration: tuple[Any, ...]
    t: Any
    eta: Any
    k: Any
    gamma: Any
    metric: Any
    drift: Any
    loss: Any

    @property
    def dim(self) -> int:
        """D, the number of parameters."""
        return len(self.theta)

    @property
    def _rates(self) -> list[tuple[Any, ...]]:
        return [self.theta, self.velocity, self.acceleration]

    @cached_property
    def lagrangian(self) -> Any:
        """The Lagrangian ℒ(θ, θ̇, t), Eqs. 35, 67, 89, 95."""
        return self._faded * self._charged

    @cached_property
    def momenta(self) -> list[Any]:
        """The derivatives ∂ℒ/∂θ̇_i."""
        return [self._slope(v) * self._faded for v in self.velocity]

    @cached_property
    def forces(self) -> list[Any]:
        """The derivatives ∂ℒ/∂θ_i."""
        return [self._slope(x) * self._faded for x in self.theta]

    @property
    def _faded(self) -> Any:
        return sympy.exp(-self.gamma * self.t)

    @cached_property
    def _charged(self) -> Any:
        """What is charged at each moment, before discounting."""
        slip = sympy.Matrix(self.velocity) - self.drift
        return (slip.T * self.metric * slip)[0] / (2 * self.eta) + self.k * self.loss

    def _slope(self, symbol: Any) -> Any:
        return sympy.expand(sympy.diff(self._charged, symbol))

    @cached_property
    def balance(self) -> list[Any]:
        """ηe^{γt}{d/dt ∂ℒ/∂θ̇_i − ∂ℒ/∂θ_i}, the chain rule written out (Eq. 37); zero on an extremal."""
        rows = []
        for x, v in zip(self.theta, self.velocity, strict=True):
            momentum = self._slope(v)
            change = aged(momentum, self._rates, self.gamma) + sympy.diff(momentum, self.t)
            rows.append(sympy.expand(self.eta * (change - self._slope(x))))
        return rows

    @cached_property
    def sides(self) -> list[tuple[Any, Any]]:
        """Both sides of each equation in plain symbols, motion on the left, what acts at rest on the right.

        A constant metric is divided out (Eqs. 68, 91, 99); one that depends on θ stays with θ̈ (Eq. 90).
        """
        rows = sympy.Matrix(self.balance)
        divide = self.metric != sympy.eye(self.dim) and self.metric.free_symbols.isdisjoint(self.theta)
        if divide:
            rows = (self.metric.inv() * rows).applyfunc(sympy.expand)
        motion = [*self.acceleration, *self.velocity]
        clean = (lambda x: sympy.factor_terms(sympy.cancel(x))) if divide else (lambda x: x)
        pairs = []
        for row in rows:
            left: list[Any] = []
            right: list[Any] = []
            for term in sympy.Add.make_args(row):
                (left if term.free_symbols.intersection(motion) else right).append(term)
            pairs.append((sympy.collect(sympy.Add(*left), motion, clean), clean(-sympy.Add(*right))))
        return pairs

    @cached_property
    def equations(self) -> list[Any]:
        """The equations as sympy ``Eq`` in the functions θ_i(t), ready for ``dsolve``."""
        return [sympy.Eq(self.in_time(a), self.in_time(b), evaluate=False) for a, b in self.sides]

    def in_time(self, expression: Any) -> Any:
        """Return the expression with the plain symbols replaced by θ_i(t) and its derivatives."""
        _expression(expression)
        return expression.xreplace(on_paths(self._rates, self.t))

    @property
    def latex(self) -> str:
        """The equations in LaTeX, one a row of an ``aligned`` environment, dots for time derivatives."""
        return aligned(self.sides, self._rates)

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The derivation as (what, LaTeX) pairs of Lagrangian, momenta, forces and equations."""
        shown = [("Lagrangian", r"\mathcal{L} = " + self.print(self.lagrangian))]
        names = [self.print(x) for x in self.theta]
        for name, momentum in zip(names, self.momenta, strict=True):
            below = rf"\partial {dotted(name, 1)}"
            shown.append(("momentum", rf"\frac{{\partial\mathcal L}}{{{below}}} = {self.print(momentum)}"))
        for name, force in zip(names, self.forces, strict=True):
            shown.append(("force", rf"\frac{{\partial\mathcal L}}{{\partial {name}}} = {self.print(force)}"))
        return [*shown, ("Euler–Lagrange equations", self.latex)]

    def print(self, expression: Any) -> str:
        """Return LaTeX of an expression in these symbols: dots, no arguments on undefined functions."""
        _expression(expression)
        return Printer(*self._rates).doprint(expression)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex}\n$$"


def derive(
    dim: int = 1,
    *,
    metric: Any = None,
    drift: Any = None,
    loss: Any = None,
    eta: Any = None,
    k: Any = None,
    gamma: Any = None,
) -> Derivation:
    """Derive the equations with free symbols, for reading.

    Args:
        dim: D, the number of parameters.
        metric: None (identity), "constant" (symbols G_ij), "general" (functions G_ij(θ)), a (D, D) matrix,
            or a function of the array of symbols θ that returns one.
        drift: None (zero), "general" (functions f_i(θ)), a sequence of D expressions, or a function
            that returns one.
        loss: None (a function L(θ)), an expression, or a function that returns one.
        eta, k, gamma: numbers or symbols; None is the positive symbol of that name.

    Returns:
        A ``Derivation``.

    Raises:
        ValueError: if a size does not fit, the metric is not symmetric, a number is out of range, or a formula is a
            string: sympy would execute it.
    """
    theta, velocity, acceleration = symbols(_checks.whole("dim", dim, low=1))
    points = np.array(theta, dtype=object)
    rate, weight, discount = (
        sympy.Symbol(name, positive=True) if value is None else _constant(name, value)
        for name, value in (("eta", eta), ("k", k), ("gamma", gamma))
    )
    formula = _called(loss, points)
    formula = sympy.Function("L")(*theta) if loss is None else scalar("loss", formula)
    return Derivation(
        theta,
        velocity,
        acceleration,
        sympy.Symbol("t", real=True),
        rate,
        weight,
        discount,
        _metric(metric, points),
        _drift(drift, points),
        _tidy(formula),
    )


def symbols(dim: int, orders: int = 2) -> list[tuple[Any, ...]]:
    """Return the symbols θ_i, θ̇_i, θ̈_i, or as many derivatives as ``orders`` says."""
    names = ["theta"] if dim == 1 else [f"theta_{i}" for i in range(1, dim + 1)]
    dots = ["", *("d" * order + "ot" for order in range(1, orders + 1))]
    return [tuple(sympy.Symbol(name + dot, real=True) for name in names) for dot in dots]


def aged(momentum: Any, rates: Sequence[Sequence[Any]], gamma: Any) -> Any:
    """Return (D − γ)p, D the derivative in time along a path: what integration by parts makes of a derivative."""
    pairs = (pair for low, high in itertools.pairwise(rates) for pair in zip(low, high, strict=True))
    return sum(sympy.diff(momentum, x) * rate for x, rate in pairs) - gamma * momentum


def on_paths(rates: Sequence[Sequence[Any]], t: Any) -> dict[Any, Any]:
    """Return θ_i(t) and its derivatives, by the symbols that stand for them."""
    paths = [sympy.Function(x.name)(t) for x in rates[0]]
    return {s: path.diff(t, order) for order, row in enumerate(rates) for s, path in zip(row, paths, strict=True)}


def _metric(metric: Any, theta: Any) -> Any:
    dim = len(theta)
    if metric is None:
        return sympy.eye(dim)
    if isinstance(metric, str):
        _checks.one_of("metric", metric, (GENERAL, CONSTANT))
        arguments = theta if metric == GENERAL else None
        return sympy.Matrix(dim, dim, lambda i, j: _entry("G", (min(i, j), max(i, j)), dim, arguments))
    matrix = matrix_of("metric", _called(metric, theta))
    if matrix.shape != (dim, dim):
        raise ValueError(f"metric has shape {matrix.shape}, but it must have shape ({dim}, {dim})")
    matrix = matrix.applyfunc(_tidy)
    if not (matrix - matrix.T).applyfunc(sympy.simplify).is_zero_matrix:
        raise ValueError(f"metric = {_checks.shown(matrix.tolist())}, but it must be symmetric")
    return matrix


def _drift(drift: Any, theta: Any) -> Any:
    dim = len(theta)
    if drift is None:
        return sympy.zeros(dim, 1)
    if isinstance(drift, str):
        _checks.one_of("drift", drift, (GENERAL,))
        return sympy.Matrix([_entry("f", (i,), dim, theta) for i in range(dim)])
    values = _called(drift, theta)
    if np.ndim(values) == 0 and not isinstance(values, sympy.MatrixBase):
        raise ValueError(f"drift = {_checks.shown(values)}, but it must have {dim} entries, one for each parameter")
    entries = [_tidy(scalar("drift", entry)) for entry in values]
    if len(entries) != dim:
        raise ValueError(f"drift has {len(entries)} entries, but the problem has {dim} parameters")
    return sympy.Matrix(entries)


def _entry(letter: str, indices: tuple[int, ...], dim: int, arguments: Sequence[Any] | None) -> Any:
    name = letter if dim == 1 else f"{letter}_" + ("" if dim < 10 else "_").join(str(i + 1) for i in indices)
    return sympy.Symbol(name, real=True) if arguments is None else sympy.Function(name, real=True)(*arguments)


def scalar(name: str, formula: Any) -> Any:
    """Return a formula, also out of an array of one entry, as a sympy expression of real numbers.

    Raises:
        ValueError: if it is none. A string is none: sympy reads it by executing it.
    """
    value = formula.item() if isinstance(formula, np.ndarray) and formula.size == 1 else formula
    expression = None
    if isinstance(value, sympy.Basic | int | float | np.number | Fraction | Decimal) and not isinstance(value, bool):
        with suppress(sympy.SympifyError, TypeError, ValueError):
            expression = sympy.sympify(value, strict=True)  # strict: nothing is read as text
    if not isinstance(expression, sympy.Expr) or expression.has(sympy.I, sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        raise ValueError(f"{name} = {_checks.shown(formula)}, but it must be a real number or a formula of sympy")
    return expression


def matrix_of(name: str, rows: Any) -> Any:
    """Return a matrix of formulas, each as ``scalar`` takes it."""
    if isinstance(rows, sympy.MatrixBase):
        rows = rows.tolist()
    try:
        grid = np.array(rows, dtype=object)
    except ValueError:  # rows that differ in shape
        grid = np.empty(0)
    if grid.ndim != 2:
        raise ValueError(f"{name} = {_checks.shown(rows)}, but it must be a (D, D) matrix")
    return sympy.Matrix(*grid.shape, [scalar(name, entry) for entry in grid.flat])


def _expression(value: Any) -> None:
    if not isinstance(value, sympy.Basic | sympy.MatrixBase | int | float) or isinstance(value, bool):
        raise ValueError(f"expression = {_checks.shown(value)}, but it must be a formula of sympy")


def _called(given: Any, theta: Any) -> Any:
    return given(theta) if callable(given) and not isinstance(given, sympy.Basic) else given


def _constant(name: str, value: Any) -> Any:
    """Return a number in the range that the objective allows, or a symbol."""
    formula = _tidy(scalar(name, value))
    if formula.is_number:
        (_checks.positive if name != "gamma" else partial(_checks.finite, low=0.0))(name, float(formula))
    return formula


def _tidy(formula: Any) -> Any:
    """Return the formula with floats that are short fractions (1.0, 0.1, 1/3) written as such."""
    swap = {}
    for number in formula.atoms(sympy.Float):
        fraction = sympy.Rational(str(number)).limit_denominator(10_000)
        if float(fraction) == float(number):
            swap[number] = fraction
    return formula.xreplace(swap)
