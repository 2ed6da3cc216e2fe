"""Numbers of a step that are known when it begins: a small tree that is written in Python or in C."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from lossnav._checks import NoMinimiser

PYTHON, C = 0, 1
_FORMS = {  # kind → how it is written in Python and in C; the last two stand alone, or in brackets
    "name": ("{}", "{}"),
    "sum": ("({} + {})", "({} + {})"),
    "exp": ("math.exp({})", "exp({})"),
    "expm1": ("math.expm1({})", "expm1({})"),
    "begun": ("min({} - 1.0, 1.0)", "fmin({} - 1.0, 1.0)"),  # 0 in step 1, then 1
    "power": ("{} ** {}", "pow({}, {})"),
    "fresh": ("1 - {}", "1 - {}"),
    "seen": ("1 - {} ** {}", "1 - pow({}, {})"),
}
_LOOSE = ("fresh", "seen", "power")
_DIGITS = decimal.Context(prec=40)


class Node(NamedTuple):
    """One operation of the tree, on numbers or names."""

    kind: str
    parts: tuple[Any, ...]

    def written(self, language: int) -> str:
        """Return it as text."""
        parts = (part.written(language) if isinstance(part, Number) else part for part in self.parts)
        return _FORMS[self.kind][language].format(*parts)


class Number:
    """A constant times powers of nodes."""

    def __init__(self, constant: float, powers: dict[Node, float] | None = None) -> None:
        if not math.isfinite(constant):
            raise ValueError(f"rule has the number {constant}, but all of its numbers must be finite")
        self.constant = constant + 0.0  # no -0.0
        self.powers = {node: power for node, power in (powers or {}).items() if power and constant}

    @classmethod
    def of(cls, value: Any) -> Number:
        """Return a constant as a Number.

        Raises:
            ValueError: it is not finite.
        """
        return value if isinstance(value, Number) else cls(float(value))

    @classmethod
    def named(cls, name: str) -> Number:
        """Return a number that has a name when a step begins."""
        return cls(1.0, {Node("name", (name,)): 1.0})

    @classmethod
    def made(cls, kind: str, *parts: Any) -> Number:
        """Return what a kind of operation makes of numbers."""
        return cls(1.0, {Node(kind, tuple(Number.of(part) for part in parts)): 1.0})

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.text == other.text

    @property
    def zero(self) -> bool:
        """Whether it is the constant 0."""
        return self.constant == 0

    @property
    def names(self) -> set[str]:
        """The names in it."""
        names: set[str] = set()
        for node in self.powers:
            names |= {node.parts[0]} if node.kind == "name" else set().union(*(part.names for part in node.parts))
        return names

    @property
    def text(self) -> str:
        """The number as Python."""
        return self.written(PYTHON)

    def written(self, language: int) -> str:
        """Return the number in a language."""
        alone = self.constant == 1 and list(self.powers.values()) == [1.0]
        above = [_power(node, power, language, alone) for node, power in self.powers.items() if power > 0]
        below = [_power(node, -power, language, False) for node, power in self.powers.items() if power < 0]
        unit = bool(above) and abs(self.constant) == 1
        joined = ("-" if unit and self.constant < 0 else "") + " * ".join(
            above if unit else [repr(self.constant), *above]
        )
        return joined + "".join(f" / {divisor}" for divisor in below)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int | float | Number):
            return NotImplemented
        b = Number.of(other)
        if self.zero or b.zero:
            return b if self.zero else self
        if self.powers == b.powers:
            return Number(_written(_DIGITS.add, self.constant, b.constant), self.powers)
        return Number.made("sum", self, b)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | float | Number):
            return NotImplemented
        b = Number.of(other)
        nodes = [*self.powers, *(node for node in b.powers if node not in self.powers)]
        powers = {node: self.powers.get(node, 0.0) + b.powers.get(node, 0.0) for node in nodes}
        return Number(_written(_DIGITS.multiply, self.constant, b.constant), powers)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, int | float | Number):
            return NotImplemented
        b = Number.of(other)
        if self.zero:
            return self
        if not self.powers and not b.powers:
            return Number(_written(_DIGITS.divide, self.constant, b.constant))
        return self * Number(1 / b.constant, {node: -power for node, power in b.powers.items()})

    def __rtruediv__(self, other: Any) -> Any:
        return Number.of(other) / self

    def __neg__(self) -> Number:
        return Number(-self.constant, self.powers)

    def __sub__(self, other: Any) -> Any:
        return self + (-Number.of(other)) if isinstance(other, int | float | Number) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return Number.of(other) + (-self)

    def sqrt(self) -> Number:
        """Return its square root.

        Raises:
            NoMinimiser: its constant is negative.
        """
        if self.constant < 0:
            raise NoMinimiser(
                f"no minimiser: {self.text} stands before what is under a root, but it must be >= 0: a generated step "
                "takes no curvature that may be negative"
            )
        return Number(math.sqrt(self.constant), {node: power / 2 for node, power in self.powers.items()})


def _written(operation: Callable[[Any, Any], Any], a: float, b: float) -> float:
    """Return what an operation makes of two numbers as they are written: 0.0006 − 0.0005 is 0.0001."""
    return float(operation(decimal.Decimal(repr(a)), decimal.Decimal(repr(b))))


def _power(node: Node, power: float, language: int, alone: bool) -> str:
    text = node.written(language)
    if node.kind in _LOOSE and not alone:
        text = f"({text})"
    if power == 1:
        return text
    if power == 2:  # a product of large numbers is inf, where Python's power is an error
        return f"({text} * {text})"
    if power == 0.5:
        return ("math.sqrt({})", "sqrt({})")[language].format(text)
    return ("{} ** {!r}", "pow({}, {!r})")[language].format(text, power)
