"""LaTeX of the derivation, as the paper writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef
from sympy.printing.latex import LatexPrinter


def dotted(name: str, order: int) -> str:
    """Return dots over the letter alone: theta_{1} gives dot{theta}_{1}."""
    letter, _, index = name.partition("_")
    return "\\" + "d" * order + "ot{" + letter + "}" + (f"_{index}" if index else "")


def aligned(sides: Sequence[tuple[Any, Any]], rates: Sequence[Sequence[Any]]) -> str:
    """Return equations in LaTeX, one a row of an ``aligned`` environment; ``rates`` are those of a ``Printer``."""
    rows = [" &= ".join(Printer(*rates).doprint(side) for side in pair) for pair in sides]
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


class Printer(LatexPrinter):
    """LaTeX as in the paper: θ̈ first, dots for time derivatives, L rather than L(θ_1, θ_2).

    ``rates`` are the symbols of θ̇, of θ̈, and so on.
    """

    def __init__(self, theta: Sequence[Any], *rates: Sequence[Any]):
        self._theta, self._rates = tuple(theta), [set(row) for row in rates]
        names = [LatexPrinter().doprint(x) for x in theta]
        symbols: dict[Any, str] = {}
        for order, row in enumerate(rates, start=1):
            symbols |= zip(row, (dotted(name, order) for name in names), strict=True)
        super().__init__({"symbol_names": symbols})

    def doprint(self, expr: Any) -> str:
        """Return LaTeX; undefined functions become symbols first, so that factors sort by name."""
        expr = sympy.sympify(expr, strict=True)  # strict: text would be executed
        for kind in (sympy.Derivative, AppliedUndef):  # in this order: L(θ) also stands inside ∂L/∂θ
            for atom in sorted(expr.atoms(kind), key=str):
                expr = expr.xreplace({atom: self._stand_in(atom)})
        return str(super().doprint(expr))

    def _stand_in(self, atom: Any) -> Any:
        partial = isinstance(atom, sympy.Derivative)
        name = (atom.expr if partial else atom).func.__name__
        letter = LatexPrinter().doprint(sympy.Symbol(name))
        if not partial:
            shown = letter
        elif name == "L":
            sign = "d" if len(self._theta) == 1 else r"\partial "
            shown = rf"\frac{{{sign}L}}{{{sign}{LatexPrinter().doprint(atom.variables[0])}}}"
        elif len(self._theta) == 1:
            shown = letter + "'"
        else:
            shown = rf"\partial_{{{self._theta.index(atom.variables[0]) + 1}}}{letter}"
        # Factors sort by name: after eta, gamma, k and before theta.
        stand_in = sympy.Symbol(f"s_{name}" + (f"_by_{atom.variables[0]}" if partial else ""), real=True)
        self._settings["symbol_names"][stand_in] = shown
        return stand_in

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms = super()._as_ordered_terms(expr, order=order)

        def slowness(term: Any) -> list[bool]:
            return [not term.free_symbols & row for row in reversed(self._rates)]

        return sorted(terms, key=slowness)
