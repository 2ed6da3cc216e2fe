"""What formulas become when they are evaluated on names in place of numbers: the operations of a program.

Three kinds of things go into the one formula of a coordinate (``coordinate.gains``): arrays, sympy's symbols, and the
ones below. A ``Number`` is known when a step begins (a constant, the rate, a correction), a ``Stream`` is a list of
tensors, and a ``Product`` of them is what a step adds to θ. Numbers gather in front of a stream and beside it, a·x + b,
and cost a pass over the memory only where nothing later can take them along: √(ax) + b is √a(√x + b/√a), and dividing
by it costs one addition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from lossnav.rules.derive.numbers import Number

TINY = Number.named("tiny")  # the smallest normal number: 0/TINY is 0, where 0/0 would be NaN; nothing else changes
LOST = Number.named("lost")  # its root, of a square that is not held: a gradient of less is not divided by less
_LOSABLE = 1e-18  # more than LOST is in any precision


class Operation(NamedTuple):
    """``target ← name(parts)``, elementwise; ``words`` say what it is for.

    Names and parts: mul (x, y or number), add (x, y or number, or x, y, number: x + number·y), div (x, y),
    addcmul (x, y, z, number), addcdiv (x, y, z, number), lerp (x, y, number), sub (x, y), clamp_min (x, number),
    pow (x, number), sqrt, neg, abs and expm1 (x).
    """

    name: str
    target: str
    parts: tuple[Any, ...]
    words: str = ""


@dataclass
class Program:
    """The operations so far, and the names of lists that they made, with what has been added to each.

    ``open`` has the names of numbers that are known only in a step, and may be 0; ``roots`` those of lists of roots,
    and whether they have been kept from 0; ``copies`` those of what a remembered list was before each of its moves.
    """

    open: frozenset[str] = frozenset()
    roots: dict[str, bool] = field(default_factory=dict)
    lines: list[Operation] = field(default_factory=list)
    offsets: dict[str, Number] = field(default_factory=dict)
    copies: dict[str, list[str]] = field(default_factory=dict)

    def do(self, name: str, target: str, *parts: Any, words: str = "") -> str:
        """Write an operation, and return its target."""
        self.lines.append(Operation(name, target, parts, words))
        return target

    def move(self, name: str) -> None:
        """Say that a remembered list moves next; a copy serves who still asks for what it was (``Stream.made``)."""
        copies = self.copies.setdefault(name, [])
        copies.append(self.do("mul", f"{name}_{len(copies) + 1}", name, Number.of(1.0), words="as it was"))

    def reused(self) -> list[Operation]:
        """Return the operations in which a new list takes the place of one that is read for the last time there."""
        read = {part for line in self.lines for part in line.parts if isinstance(part, str)}
        unread = set(chain(*self.copies.values())) - read
        lines = [line for line in self.lines if line.target not in unread]
        last: dict[str, int] = {}
        for i, line in enumerate(lines):
            last |= dict.fromkeys((part for part in line.parts if isinstance(part, str)), i)
        home: dict[str, str] = {}  # where the list of a name lives
        operations: list[Operation] = []
        for i, line in enumerate(lines):
            first = line.parts[0]
            parts = tuple(home.get(part, part) if isinstance(part, str) else part for part in line.parts)
            fresh = line.target in self.offsets and line.target not in home
            if fresh and first in self.offsets and last[first] == i and line.parts.count(first) == 1:
                home[line.target] = home.get(first, first)
            elif fresh:
                home[line.target] = line.target
            operations.append(line._replace(target=home.get(line.target, line.target), parts=parts))
        return operations

    def new(self) -> str:
        """Return the name of a list that does not exist yet."""
        name = f"x{len(self.offsets)}"
        self.offsets[name] = Number.of(0.0)
        return name


class Listed:
    """What stands for a list of tensors; a product of them becomes one where more than factors are asked for."""

    program: Program
    __mul__: Callable[[Any, Any], Any]

    def __add__(self, other: Any) -> Any:
        stream = as_stream(self)
        if isinstance(other, Listed):
            return stream.joined("add", other)
        return replace(stream, offset=stream.offset + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Listed):
            return as_stream(self).joined("sub", other)
        return self + (-Number.of(other))

    def __neg__(self) -> Any:
        return self * -1.0

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __abs__(self) -> Any:
        stream = as_stream(self)
        return Stream(self.program.do("abs", self.program.new(), stream.whole()), self.program)

    def at_least(self, bound: Any) -> Stream:
        """Return the larger of this and a number, a new list."""
        stream = as_stream(self)
        name = self.program.do("clamp_min", self.program.new(), stream.whole(), Number.of(bound))
        return Stream(name, self.program)

    def __pow__(self, power: Any) -> Any:
        stream = as_stream(self)
        if power in (0.5, 2):
            return stream.sqrt() if power == 0.5 else stream * stream
        name = self.program.do("pow", self.program.new(), stream.whole(), Number.of(power))
        return Stream(name, self.program)


@dataclass(frozen=True)
class Stream(Listed):
    """factor · name + offset, elementwise; ``moves`` says after how many moves of a list that is remembered."""

    name: str
    program: Program
    factor: Number = field(default_factory=lambda: Number(1.0))
    offset: Number = field(default_factory=lambda: Number(0.0))
    moves: int = -1  # as many as there have been

    def __post_init__(self) -> None:
        if self.moves < 0:
            object.__setattr__(self, "moves", len(self.program.copies.get(self.name, ())))

    @property
    def _home(self) -> str:
        """The name of its list, or of the copy of one that has moved since."""
        copies = self.program.copies.get(self.name, ())
        return copies[self.moves] if len(copies) > self.moves else self.name

    def joined(self, operation: str, other: Any) -> Stream:
        """Return an operation on this and another one, a new list."""
        beside = other.streams if isinstance(other, Product) else [other]
        if self.is_torn(beside):  # then what a product adds to the list in place comes first
            other = as_stream(other)
        parts = self.whole(beside), as_stream(other).whole([self])
        return Stream(self.program.do(operation, self.program.new(), *parts), self.program)

    def whole(self, beside: Sequence[Stream] = ()) -> str:
        """Return a list that is this, with nothing pending; ``beside`` as in ``made``."""
        name, factor = self.made(beside)
        return name if factor.text == "1.0" else self.program.do("mul", self.program.new(), name, factor)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Listed):
            return Product(Number.of(1.0), [self], [], self.program) * other
        return replace(self, factor=self.factor * other, offset=self.offset * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Listed):
            return Product(Number.of(1.0), [self], [], self.program) / other
        return replace(self, factor=self.factor / other, offset=self.offset / other)

    def __rtruediv__(self, other: Any) -> Any:
        number = Number.of(other)
        return number if number.zero else Product(number, [], [self], self.program)

    def sqrt(self) -> Stream:
        """Return √(a·x + b) as √a·√(x + b/a), a new list."""
        name, inside = self.program.new(), self.offset / self.factor - self._has
        if inside.zero:
            self.program.do("sqrt", name, self._home)
        else:
            self.program.do("add", name, self._home, inside)
            self.program.do("sqrt", name, name)
        self.program.roots[name] = False
        return Stream(name, self.program, self.factor.sqrt())

    @property
    def _has(self) -> Number:
        """What has been added to its list."""
        return self.program.offsets.get(self.name, Number.of(0.0))

    def is_torn(self, beside: Sequence[Stream]) -> bool:
        """Whether another one wants something else added to the list of this."""
        wanted = (self.offset / self.factor).text
        return any(other.name == self.name and (other.offset / other.factor).text != wanted for other in beside)

    def made(self, beside: Sequence[Stream] = (), positive: bool = False) -> tuple[str, Number]:
        """Return a list y and a number a with a·y = this, adding what is pending; never 0 if ``positive``.

        It is added in place, unless one that stands ``beside`` this in an operation wants the list otherwise.
        """
        wanted = self.offset / self.factor
        name, owned = self._home, self.name in self.program.offsets and not self.is_torn(beside)
        if positive and (wanted.constant < _LOSABLE or wanted.names & self.program.open):
            if name not in self.program.roots:
                wanted = wanted + TINY
            elif not self.program.roots[name]:
                self.program.do("clamp_min", name, name, LOST)
                self.program.roots[name] = True
        if wanted.text != self._has.text:
            target = name if owned else self.program.new()
            self.program.do("add", target, name, wanted - self._has)
            self.program.offsets[target] = wanted
            name = target
        return name, self.factor


@dataclass(frozen=True)
class Product(Listed):
    """factor · (product of streams) / (product of streams)."""

    factor: Number
    above: list[Stream]
    below: list[Stream]
    program: Program

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Product):
            return Product(
                self.factor * other.factor, [*self.above, *other.above], [*self.below, *other.below], self.program
            )
        if isinstance(other, Stream):
            return replace(self, above=[*self.above, other])
        return replace(self, factor=self.factor * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Stream):
            return replace(self, below=[*self.below, other])
        if isinstance(other, Product):
            return self * (1.0 / other)
        return replace(self, factor=self.factor / other)

    def __rtruediv__(self, other: Any) -> Any:
        return Product(other / self.factor, self.below, self.above, self.program)

    def sqrt(self) -> Stream:
        """Return its square root, a new list."""
        return self.stream().sqrt()

    @property
    def streams(self) -> list[Stream]:
        """All streams in it."""
        return [*self.above, *self.below]

    def divisor(self) -> tuple[str | None, Number]:
        """Return the streams below as one list and a number."""
        if not self.below:
            return None, Number.of(1.0)
        (name, factor), *remaining = [stream.made(self.streams, positive=True) for stream in self.below]
        if remaining:
            shared = self.program.new()
            for i, (list_name, number) in enumerate(remaining):
                self.program.do("mul", shared, shared if i else name, list_name)
                factor = factor * number
            name = self.program.do("add", shared, shared, TINY)
        return name, factor

    def stream(self) -> Stream:
        """Return the product as a new list."""
        below, under = self.divisor()
        if below is not None and not self.above:
            name = self.program.do("pow", self.program.new(), below, Number.of(-1.0))
            return Stream(name, self.program, self.factor / under)
        (name, factor), *remaining = [stream.made(self.streams) for stream in self.above]
        target = self.program.new()
        total, first = self.factor * factor / under, name
        for list_name, number in remaining:
            first, total = self.program.do("mul", target, first, list_name), total * number
        if below is not None:
            first = self.program.do("div", target, first, below)
        return Stream(first, self.program, total)

    def add_to(self, target: str, time: Number, words: str = "") -> None:
        """Add time · this to a list."""
        above = [stream.made(self.streams) for stream in self.above]
        below, under = self.divisor()
        factor = time * self.factor / under
        for _, number in above:
            factor = factor * number
        names = [name for name, _ in above]
        if names == [target] and below is None:
            self.program.do("mul", target, target, 1.0 + factor, words=words)
        elif len(names) == 1 and below is not None:
            self.program.do("addcdiv", target, target, names[0], below, factor, words=words)
        elif len(names) == 1:
            self.program.do("add", target, target, names[0], factor, words=words)
        else:
            last = names[-1]
            for name in names[1:-1]:
                last = self.program.do("mul", self.program.new(), last, name)
            if below is not None:
                last = self.program.do("div", self.program.new(), last, below)
            self.program.do("addcmul", target, target, names[0], last, factor, words=words)


def as_stream(x: Any) -> Any:
    """Return a product as a stream, and anything else as it is."""
    return x.stream() if isinstance(x, Product) else x


def root(half: Any, pull: Any) -> Any:
    """Return √(half² + pull), for a number and a stream."""
    if isinstance(pull, Number):
        return half if pull.zero else (half * half + pull).sqrt()
    return (as_stream(pull) + half * half).sqrt()


def signed_root(half: Any, pull: Any) -> Any:
    """Return √(half² + pull) where rounding may leave a little less than 0 under it."""
    return (as_stream(pull) + half * half).at_least(0.0).sqrt()


def wide_root(half: Any, pull: Any) -> Any:
    """Return √(half² + pull) for a half whose square may leave float32."""
    scaled = Stream((as_stream(pull) / half / half).whole(), pull.program)
    return (scaled + 1.0).at_least(0.0).sqrt() * half


def flat_root(half: Any, pull: Any) -> Any:
    """Return √half²: a discount beside which no curvature counts."""
    return half


def decayed(x: Any) -> Stream:
    """Return (1 − e^{−x})/x of a stream, 1 at 0."""
    streamed = as_stream(x)
    program = streamed.program
    name, factor = streamed.made()
    at = program.do("mul", program.new(), name, factor)
    program.do("add", at, at, TINY)
    result = program.do("neg", program.new(), at)
    program.do("expm1", result, result)
    program.do("div", result, result, at)
    return Stream(result, program, Number.of(-1.0))
