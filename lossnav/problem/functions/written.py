"""A formula that a user wrote in sympy, on arrays: its values, gradients and Hessians, of whole batches.

Only who has given a formula loads this module: the rest of the problem needs no sympy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from lossnav import _checks

# Unknown functions, and what derivatives of them and of kinks leave.
_NO_NUMBERS = (AppliedUndef, sympy.DiracDelta, sympy.Derivative, sympy.Subs)


@dataclass(frozen=True)
class Formula:
    """Entries of one shape, each an expression in symbols; called with arrays, and with other symbols.

    Attributes:
        symbols: those of θ, in its order, shape (D,).
        entries: the expressions, in the order of a flat array.
        shape: of the array: () for a value, (D,) for a gradient, (D, D) for a Hessian.
    """

    symbols: tuple[Any, ...]
    entries: tuple[Any, ...]
    shape: tuple[int, ...] = field(default=())

    def __call__(self, theta: Any) -> Any:
        """Return the entries at points of shape (..., D), or for symbols, an array of objects (D,), the expression."""
        if theta.dtype == object:
            return self.entries[0].xreplace(dict(zip(self.symbols, theta.tolist(), strict=True)))
        values = self._compiled(*np.moveaxis(theta, -1, 0))
        flat = np.stack(np.broadcast_arrays(theta[..., 0], *values)[1:], axis=-1)
        return flat.reshape((*theta.shape[:-1], *self.shape))

    def gradient(self) -> Formula:
        """Return the derivatives by all symbols, on a new last axis."""
        derivatives = tuple(sympy.diff(entry, symbol) for entry in self.entries for symbol in self.symbols)
        return Formula(self.symbols, derivatives, (*self.shape, len(self.symbols)))

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        for entry in self.entries:
            if entry.has(*_NO_NUMBERS):
                name = ("value", "gradient", "hessian")[len(self.shape)]
                raise ValueError(f"{name} has the entry {entry}, but it must be a number: give {name} as a function")
        return sympy.lambdify(self.symbols, self.entries, modules=["scipy", "numpy"], cse=True)

    def __getstate__(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "entries": self.entries, "shape": self.shape}  # what is compiled stays here


def formula(expression: Any, symbols: Sequence[Any] | None = None) -> Formula:
    """Return an expression as a function of θ.

    Args:
        expression: a real number at each point.
        symbols: those of θ, in its order; None takes all that are in the expression, by name, x_2 before x_10.

    Raises:
        ValueError: if the expression has none, two of one name, or one that is not among ``symbols``.
    """
    free = expression.free_symbols
    chosen = tuple(sorted(free, key=_by_name) if symbols is None else symbols)
    if not chosen:
        raise ValueError(f"value = {_checks.shown(expression)} has no symbol, but those of theta must be in it")
    if strangers := sorted(free - set(chosen), key=_by_name):
        raise ValueError(f"value has the symbols {strangers}, but symbols = {_checks.shown(chosen)} has them not")
    for symbol in chosen:
        _checks.instance("an entry of symbols", symbol, sympy.Symbol, "a symbol of sympy")
    # Parameters are real: of a complex symbol |x| would have no derivative.
    real = {symbol: symbol if symbol.is_extended_real else sympy.Symbol(symbol.name, real=True) for symbol in chosen}
    if len({symbol.name for symbol in chosen}) < len(chosen):
        raise ValueError(f"value has the symbols {chosen}, but no two of them may have one name")
    return Formula(tuple(real.values()), (expression.xreplace(real),))


def _by_name(symbol: Any) -> list[Any]:
    parts = re.split(r"(\d+)", symbol.name)
    return [int(part) if part.isdigit() else part for part in parts]
