"""What a derived rule remembers of the gradients that it has seen, and how it looks at another one, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.rules.assume import Filter
from lossnav.rules.assumption import Curvature, Look, Metric


class State(NamedTuple):
    """What a rule remembers; never changed in place.

    Attributes:
        step: how many gradients it has seen.
        told: how many curvatures it was told (``assume.Hutchinson``).
        averages: arrays shaped like θ by their names: ``m`` of the gradient, ``w`` its slope over a step, ``v`` of the
            curvature, ``u`` of the metric.
    """

    step: int
    told: int
    averages: Mapping[str, Array]


class Believed(NamedTuple):
    """What is believed after a gradient: the mean, its slope in time, and V of curvature and metric."""

    mean: Array
    slope: Array
    variance: Any
    ruler: Any


def blank(shape: tuple[int, ...], names: tuple[str, ...]) -> State:
    """Return the state of a learner who has seen nothing."""
    zero = np.zeros(shape)
    zero.setflags(write=False)  # one array serves all entries
    return State(0, 0, MappingProxyType(dict.fromkeys(names, zero)))


def checked(state: Any, shape: tuple[int, ...]) -> State:
    """Return a state of parameters of a shape, or raise."""
    given = _checks.instance("state", state, State, "a State, as init and a step return it")
    for name, average in given.averages.items():
        if np.shape(average) != shape:
            raise ValueError(
                f"state has {name} of shape {np.shape(average)}, but theta has shape {shape}: the same is needed"
            )
    return given


class ArrayLook(Look):
    """A look at one gradient."""

    def __init__(self, gradient: Array, state: State, told: Array | None) -> None:
        self.gradient, self.n, self._told = gradient, state.step + 1, told
        self._averages, self._count = dict(state.averages), state.told

    @property
    def after(self) -> State:
        """The state after it."""
        return State(self.n, self._count, MappingProxyType(self._averages))

    def kept(self, name: str) -> Any:
        """Return what is remembered."""
        return self._averages[name]

    def keep(self, name: str, value: Any, words: str = "") -> Any:
        """Remember a value."""
        self._averages[name] = value
        return value

    def average(self, name: str, datum: Any, beta: Any, corrected: bool = True, words: str = "") -> Any:
        """Take a datum into an average."""
        value = self.keep(name, datum if beta == 0 else beta * self.kept(name) + (1 - beta) * datum)
        return value / self.seen(beta, self.n) if corrected else value

    def told(self, name: str, beta: Any, corrected: bool) -> Any:
        """Take what was told into an average; what was not told changes nothing."""
        if self._told is not None:
            self._count += 1
            self.keep(name, beta * self.kept(name) + (1 - beta) * self._told)
        if self._count == 0:
            raise ValueError("curvature = None, but it must be an array in the first step: the rule must be told")
        return self.kept(name) / self.seen(beta, self._count) if corrected else self.kept(name)

    def blend(self, a: Any, b: Any, weight: Any) -> Any:
        """Return a + weight·(b − a)."""
        return a + weight * (b - a)

    def seen(self, beta: Any, n: Any) -> Any:
        """Return 1 − βⁿ."""
        return 1 - beta**n

    def begun(self) -> float:
        """Return 0 in the first step and 1 later."""
        return min(self.n - 1.0, 1.0)


def look(view: Look, belief: Filter, curvature: Curvature | None, metric: Metric | None) -> Any:
    """Let all assumptions look, in their order; return what they believe: ``Mean``, V and the metric's V."""
    view.belief = belief
    if curvature is not None:
        view.foreseen = curvature.foresee(view)
    mean = belief.believed(view)
    view.m, view.mean = mean.m, mean.signal
    variance = None if curvature is None else curvature.believed(view)
    return mean, variance, None if metric is None else metric.believed(view)
