r"""What an assumption is: what it remembers of gradients, what that means for the plan, and its words.

How to make one is said by ``Curvature`` and ``Metric``. Its two formulas are written once: arrays go through them, and
so do the names of lists, from which the steps in torch and in C are generated.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np


def root(x: Any) -> Any:
    """Return √x, also of a tensor, or of a number that has only a name yet."""
    return x.sqrt() if hasattr(x, "sqrt") else np.sqrt(x)


def absent(x: Any) -> bool:
    """Whether a number is 0, also where it may be one that has only a name yet."""
    return bool(x.zero if hasattr(x, "zero") else x == 0)


class Look(abc.ABC):
    """What there is to see in a step, as arrays or as what a step is generated from.

    Attributes:
        gradient: the gradient g.
        belief: the ``Filter``, whose ``beta`` may be asked for.
        m: the average of gradients with this one; g where there is no memory.
        mean: what the plan is made on, m corrected for its beginning, and a share of the rest.
        bases: those in which the plan is to be made, of rows and columns, beside the ones that the gradient is in.
        foreseen: what ``foresee`` returned, before m moved.
        n: the number of the step, from 1.
    """

    gradient: Any
    belief: Any
    m: Any
    mean: Any
    bases: tuple[Any, Any] = (None, None)
    foreseen: Any = None
    n: Any

    def of(self, *assumptions: Assumption) -> Self:
        """Return the look as that of an assumption, which knows its own names and those of the ones behind it."""
        self._assumptions = assumptions
        return self

    def _check(self, name: str) -> None:
        """Raise ``ValueError`` unless what is remembered has this name; the names of matrices follow from a shape."""
        if not any(one.matrices or name in one.memory for one in self._assumptions):
            raise ValueError(
                f"memory = {self._assumptions[0].memory!r}, but believed() averages {name!r}: it must name it"
            )

    @abc.abstractmethod
    def kept(self, name: str) -> Any:
        """Return what is remembered under a name of ``memory`` as it is now, 0 before the first step."""

    @abc.abstractmethod
    def keep(self, name: str, value: Any, words: str = "") -> Any:
        """Remember a value under a name of ``memory``, and return it."""

    @abc.abstractmethod
    def average(self, name: str, datum: Any, beta: Any, corrected: bool = True, words: str = "") -> Any:
        """Take a datum into an average x ← βx + (1 − β)·datum, from 0; return it, divided by 1 − βⁿ if corrected."""

    def square(self) -> Any:
        """Return g², after which nobody looks at g."""
        return self.gradient * self.gradient

    @abc.abstractmethod
    def told(self, name: str, beta: Any, corrected: bool) -> Any:
        """Return an average of what the step is told, which no gradient says."""

    @abc.abstractmethod
    def blend(self, a: Any, b: Any, weight: Any) -> Any:
        """Return a + weight·(b − a)."""

    @abc.abstractmethod
    def seen(self, beta: Any, n: Any) -> Any:
        """Return 1 − βⁿ, the share of the whole that an average has seen after n data."""

    @abc.abstractmethod
    def begun(self) -> Any:
        """Return 0 in the first step and 1 later."""


class Position(NamedTuple):
    """A place on the board of switches.

    Attributes:
        switch, name: which switch, and its position's name.
        words: what it assumes.
        arguments: of the assumption, from the board's numbers; equal to a default they are left out of its text.
        squared: the letter of what is squared and averaged.
    """

    switch: str
    name: str
    words: str
    arguments: Callable[[Mapping[str, float]], dict[str, Any]]
    squared: str = ""


class Assumption(abc.ABC):
    """What a learner believes of one thing."""

    memory: ClassVar[tuple[str, ...]] = ()
    """Names of what is remembered of each parameter; ``m``, ``w`` and ``u`` are those of belief, trend and metric."""

    matrices: ClassVar[bool] = False
    """Whether it is about rows and columns."""

    needs: ClassVar[str] = ""
    """Why no optimizer can be generated with it, in what it needs beside gradients; empty where it needs nothing."""

    told: ClassVar[bool] = False
    """Whether a step is told its datum, as ``curvature``."""

    @property
    def dim(self) -> int | None:
        """The number of parameters that it fits; None where it fits every number."""
        return None

    def refuse(self, belief: Any) -> None:  # noqa: B027  most go together with every belief
        """Raise ``ValueError`` where it does not go together with a belief in the gradient."""

    def foresee(self, look: Look) -> Any:
        """Return what must be known before the belief in the gradient moves, as ``look.foreseen``."""
        return None

    @abc.abstractmethod
    def believed(self, look: Look) -> Any:
        """Move the averages, and return what is believed after this gradient."""

    @abc.abstractmethod
    def words(self) -> str:
        """Return what a report says of it."""

    @classmethod
    def positions(cls) -> tuple[Position, ...]:
        """Return its places on the board of switches."""
        return ()


class Curvature(Assumption):
    """A belief about the curvature. One of your own, which ``derive`` takes, is a subclass with

    * ``memory``: the names of its averages, a tuple such as ``("v",)``;
    * ``believed(look)``: how they move, ``look.average("v", look.gradient**2, 0.99)``, and what is believed then;
    * ``term(believed)``: the curvature h of a coordinate in which that is believed;
    * ``words()``: what a report says of it.

    An optimizer can be generated where these are written with +, −, ·, /, powers, ``abs``, ``ln.assume.root`` and the
    methods of ``Look``.

    Example:
        >>> import lossnav as ln
        >>> class Magnitude(ln.assume.Curvature):
        ...     memory = ("v",)
        ...     def believed(self, look):
        ...         return look.average("v", abs(look.gradient), 0.9)
        ...     def term(self, believed):
        ...         return believed**2
        ...     def words(self):
        ...         return "the square of the mean size of gradients"
        >>> rule = ln.derive(ln.Objective(), curvature=Magnitude(), dt=0.1)
        >>> rule([2.0, -0.5], rule.init([1.0, 1.0]), [1.0, 1.0])[0].round(9)
        array([-0.1,  0.1])
    """

    h: ClassVar[str] = "known"
    """How formulas write it, "averaged" as cV, "floored" as c(V + floor), "known" as h."""

    constant: ClassVar[bool] = False
    """Whether no gradient changes it."""

    @abc.abstractmethod
    def term(self, believed: Any) -> Any:
        """Return the curvature h of a coordinate, for what is believed."""


class Metric(Assumption):
    """A belief about the price of speed; one of your own is made like a ``Curvature``, and its ``term`` is G."""

    @abc.abstractmethod
    def term(self, believed: Any) -> Any:
        """Return the metric G of a coordinate, for what is believed."""

    def price(self, believed: Any) -> Any:
        """Return G; what is a curvature, too, has another."""
        return self.term(believed)
