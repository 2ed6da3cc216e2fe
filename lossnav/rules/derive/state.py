"""What a derived rule remembers of the gradients that it has seen, and how it looks at another one, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
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
            curvature, ``u`` of the metric. Where the belief knows rows and columns they stand in the bases ``ql`` and
            ``qr``, the eigenvectors of ``left`` and ``right``; ``rows`` and ``columns`` are a column and a row.
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


def checked(state: Any, shapes: Mapping[str, tuple[int, ...]]) -> State:
    """Return a state of averages of these shapes, or raise."""
    verified = _checks.instance("state", state, State, "a State, as init and a step return it")
    average_shapes = {name: np.shape(average) for name, average in verified.averages.items()}
    if average_shapes != dict(shapes):
        raise ValueError(f"state has averages of the shapes {average_shapes}, but theta needs {dict(shapes)}: use init")
    return verified


class ArrayLook(Look):
    """A look at one gradient."""

    def __init__(self, gradient: Any, averages: Mapping[str, Any], n: int, told: Any = None, count: int = 0) -> None:
        self.gradient, self.n, self._told = gradient, n, told
        self.averages, self.count = dict(averages), count

    def kept(self, name: str) -> Any:
        """Return what is remembered, None where the shape of a matrix leaves nothing of that name."""
        self._check(name)
        return self.averages.get(name)

    def keep(self, name: str, value: Any, words: str = "") -> Any:
        self._check(name)
        self.averages[name] = value
        return value

    def average(self, name: str, datum: Any, beta: Any, corrected: bool = True, words: str = "") -> Any:
        value = self.keep(name, datum if beta == 0 else beta * self.kept(name) + (1 - beta) * datum)
        return value / self.seen(beta, self.n) if corrected else value

    def told(self, name: str, beta: Any, corrected: bool) -> Any:
        """Take what was told into an average; what was not told changes nothing."""
        if self._told is not None:
            self.count += 1
            self.keep(name, beta * self.kept(name) + (1 - beta) * self._told)
        if self.count == 0:
            raise ValueError("curvature = None, but it must be an array in the first step: the rule must be told")
        return self.kept(name) / self.seen(beta, self.count) if corrected else self.kept(name)

    def blend(self, a: Any, b: Any, weight: Any) -> Any:
        return a + weight * (b - a)

    def seen(self, beta: Any, n: Any) -> Any:
        return 1 - beta**n

    def begun(self) -> float:
        return min(self.n - 1.0, 1.0)


def look(view: Look, belief: Filter, curvature: Curvature | None, metric: Metric | None) -> Any:
    """Let all assumptions look, in their order; return what they believe: ``Mean``, V and the metric's V."""
    view.belief = belief
    if curvature is not None:
        view.foreseen = curvature.foresee(view.of(curvature, belief))
    mean = belief.believed(view.of(belief))
    view.m, view.mean = mean.m, mean.signal
    variance = None if curvature is None else curvature.believed(view.of(curvature))
    return mean, variance, None if metric is None else metric.believed(view.of(metric))
