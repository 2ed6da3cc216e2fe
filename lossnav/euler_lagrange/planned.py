r"""One coordinate of a plan on beliefs: its Euler–Lagrange equation, and the velocity that solves it, as formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any

import sympy

from lossnav.euler_lagrange.derivation import derive


@dataclass(frozen=True, eq=False)
class Planned:
    """Formulas of one coordinate: the equation in θ(t), planned from θ₀ at t = 0, and the velocity there."""

    equations: list[Any]
    velocity: Any

    @cached_property
    def latex(self) -> tuple[str, str]:
        """Return the equation and the velocity in LaTeX, θ with dots."""
        symbols = {sympy.Symbol("mdot", real=True): r"\dot m", sympy.Symbol("floor", positive=True): r"\mathrm{floor}"}
        symbols |= {sympy.Symbol("theta_0", real=True): r"\theta"}
        (equation,) = self.equations
        function = next(iter(equation.atoms(sympy.core.function.AppliedUndef)))
        t = function.args[0]
        names = {function.diff(t, 2): r"\ddot\theta", function.diff(t): r"\dot\theta", function: r"\theta"}
        stand_ins = {term: sympy.Symbol(f"y{i}", real=True) for i, term in enumerate(names)}
        equation = sympy.Eq(equation.lhs, sympy.expand(equation.rhs))
        for term, stand_in in stand_ins.items():
            equation = equation.subs(term, stand_in)
        shown = {stand_ins[term]: text for term, text in names.items()}
        law = sympy.latex(self.velocity, symbol_names=symbols)
        symbols |= shown | {sympy.Symbol("theta_0", real=True): r"\theta_0"}
        return sympy.latex(equation, symbol_names=symbols), law

    @cached_property
    def javascript(self) -> str:
        """Return the velocity in JavaScript, of eta, k, gamma, G, j, b, alpha, h, c, V, floor, m, mdot and theta."""
        return str(sympy.jscode(self.velocity.subs(sympy.Symbol("theta_0", real=True), sympy.Symbol("theta"))))


@cache
def coordinate(
    *, discount: bool, metric: bool, decay: bool, offset: bool, curvature: str, fading: bool, trend: bool,
    gains: Callable[..., Any],
) -> Planned:  # fmt: skip
    r"""Return the formulas under the assumptions that are made.

    The loss is that of the belief, (m + ṁt)e^{−αt}θ + ½h(θ − θ₀)², the drift b − jθ, the metric a number G.

    Args:
        discount: whether there is a γ other than 0.
        metric: whether speed has a price G other than 1.
        decay: whether there is a drift.
        offset: whether its b is other than 0.
        curvature: "none", "known" (h), "averaged" (h = cV) or "floored" (h = c(V + floor)).
        fading: whether the belief fades at a rate α.
        trend: whether it has a slope ṁ.
        gains: the formula (ηk, γ, case, root) → (gain of the drift, of m, of ṁ, …), evaluated on symbols.
    """
    positive = {"positive": True}
    G = sympy.Symbol("G", **positive) if metric else sympy.Integer(1)
    j = sympy.Symbol("j", **positive) if decay else sympy.Integer(0)
    b = sympy.Symbol("b", real=True) if offset else sympy.Integer(0)
    alpha = sympy.Symbol("alpha", **positive) if fading else sympy.Integer(0)
    m, t = sympy.Symbol("m", real=True), sympy.Symbol("t", real=True)
    m_dot = sympy.Symbol("mdot", real=True) if trend else sympy.Integer(0)
    c, V = sympy.Symbol("c", **positive), sympy.Symbol("V", **positive)
    h = {
        "none": sympy.Integer(0),
        "known": sympy.Symbol("h", real=True),
        "averaged": c * V,
        "floored": c * (V + sympy.Symbol("floor", **positive)),
    }[curvature]
    theta, start = sympy.Symbol("theta", real=True), sympy.Symbol("theta_0", real=True)
    derived = derive(
        1, metric=[[G]], drift=[b - j * theta],
        loss=(m + m_dot * t) * sympy.exp(-alpha * t) * theta + h * (theta - start) ** 2 / 2,
    )  # fmt: skip
    eta, k, gamma = derived.eta, derived.k, derived.gamma
    equations = derived.equations
    if not discount:
        equations, gamma = [equation.subs(gamma, 0).doit() for equation in equations], sympy.Integer(0)
    case = SimpleNamespace(metric=G, curvature=h, decay=j, fading=alpha)
    gain_values = gains(eta * k, gamma, case, _root)
    drifting = gain_values[0] * (b - j * start) if decay else 0  # without one its gain may be 0/0
    return Planned(equations, drifting - gain_values[1] * m - gain_values[2] * m_dot)


def _root(half: Any, pull: Any) -> Any:
    return half if pull == 0 else sympy.sqrt(half**2 + pull)
