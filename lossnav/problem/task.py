r"""Tasks: losses that depend on time, known beforehand, :math:`L(\theta,t)` in place of :math:`L(\theta)`.

A task is a ``Loss`` that ``lossnav.solve`` takes. Its own ``value``, ``gradient`` and ``hessian`` are those at time 0;
``at(t)`` is the landscape at any other time. Where the loss jumps (a *switch*), what holds at that time is what comes
after it. A learner who does not foresee a switch has no task, but one loss after the other.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import differences
from lossnav.problem.losses.base import Loss, check_loss, check_times, scalar

__all__ = ["Driven", "Phases", "Task"]
__dir__ = __all__.copy


Timed = Callable[[Array, Array], Any]


class Task(Loss):
    """A loss L(θ, t) over D parameters; one of your own has ``at`` and these attributes.

    Attributes:
        dim: D, the number of parameters.
        switches: times > 0, increasing, at which L or its slopes jump.
        final: the loss that holds from the last switch (from 0, if there is none) for ever; None if L never settles, so
            that only a problem with a deadline or a fixed end is one.
    """

    timed = True
    switches: tuple[float, ...] = ()
    final: Loss | None = None

    @abc.abstractmethod
    def at(self, t: ArrayLike) -> Loss:
        """Return the landscape at times t >= 0: one, or of shape (...), which goes with the leading axes of θ."""

    def rescaled(self, time: float, change: Callable[[Loss], Loss]) -> Task:
        """Return the task whose loss at t is ``change`` of this one's at time·t."""
        return _Rescaled(self, _checks.positive("time", time), _checks.function("change", change))

    @property
    def settled(self) -> float:
        """The time from which ``final`` holds; inf if the loss never settles."""
        if self.final is None:
            return math.inf
        return self.switches[-1] if self.switches else 0.0

    def value(self, theta: ArrayLike) -> Any:
        """Return L(θ, 0), shape (...)."""
        return self.at(0.0).value(theta)

    def gradient(self, theta: ArrayLike) -> Array:
        """Return ∇L(θ, 0), shape (..., D)."""
        return self.at(0.0).gradient(theta)

    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L(θ, 0), shape (..., D, D)."""
        return self.at(0.0).hessian(theta)


class _Rescaled(Task):
    """A task with another unit of time, and another loss."""

    def __init__(self, task: Task, time: float, change: Callable[[Loss], Loss]):
        self.dim, self.positive = task.dim, task.positive
        self.switches = tuple(switch / time for switch in task.switches)
        self.final = None if task.final is None else change(task.final)
        self._task, self._time, self._change = task, time, change

    def at(self, t: ArrayLike) -> Loss:
        return self._change(self._task.at(self._time * check_times(t)))


class Phases(Task):
    """One loss after the other, each from its start to the next one's, the last for ever.

    Args:
        phases: pairs (start, loss), in order of time, the first start 0; all losses have the same D.

    Raises:
        ValueError: if they are not.

    Example:
        >>> import lossnav as ln
        >>> here, there = (ln.losses.Quadratic([[1.0]], minimum=[x]) for x in (0.0, 1.0))
        >>> task = Phases([(0.0, here), (2.0, there)])
        >>> task.switches, task.at([1.0, 2.0]).value([[1.0], [1.0]])
        ((2.0,), array([0.5, 0. ]))
    """

    losses: tuple[Loss, ...]
    switches: tuple[float, ...]
    dim: int
    positive: tuple[int, ...]
    final: Loss

    def __init__(self, phases: Sequence[tuple[float, Loss]]):
        pairs = [_pair(pair) for pair in _checks.sequence("phases", phases, "pairs (start, loss)")]
        starts = [start for start, _ in pairs]
        if not pairs or starts[0] != 0 or any(b <= a for a, b in itertools.pairwise(starts)):
            raise ValueError(f"phases start at {starts}, but the starts must begin with 0 and increase")
        self.losses = tuple(loss for _, loss in pairs)
        dims = [loss.dim for loss in self.losses]
        if len(set(dims)) > 1:
            raise ValueError(f"phases: the losses have {dims} parameters, but all must have as many")
        self.dim, self.switches, self.final = dims[0], tuple(starts[1:]), self.losses[-1]
        self.positive = tuple(sorted({i for loss in self.losses for i in loss.positive}))

    @property
    def calls(self) -> int | None:  # type: ignore[override]
        counts = [loss.calls for loss in {id(loss): loss for loss in self.losses}.values()]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)

    def at(self, t: ArrayLike) -> Loss:
        index = np.searchsorted(self.switches, check_times(t), side="right")
        first = int(np.min(index, initial=len(self.switches)))
        return self.losses[first] if np.all(index == first) else _Mixed(self.losses, index)

    def rescaled(self, time: float, change: Callable[[Loss], Loss]) -> Phases:
        time, change = _checks.positive("time", time), _checks.function("change", change)
        starts = (0.0, *(switch / time for switch in self.switches))
        return Phases([(start, change(loss)) for start, loss in zip(starts, self.losses, strict=True)])

    def __repr__(self) -> str:
        return f"Phases({list(zip((0.0, *self.switches), self.losses, strict=True))})"


class Driven(Task):
    """A loss whose data are functions of time.

    Args:
        value: maps θ, shape (..., D), and t, shape (...), to L(θ, t), shape (...).
        gradient: maps them to ∇L, shape (..., D).
        hessian: maps them to ∇²L, shape (..., D, D); None takes differences of the gradient.
        dim: D, the number of parameters.
        switches: times > 0, increasing, at which the data jump.
        final: the loss that holds for ever from ``settled`` on; None if there is none.
        settled: that time, >= 0 and not before the last switch; needed exactly with ``final``.
        positive: which parameters must stay > 0, by their places on the last axis.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> def height(theta, t):
        ...     return (theta[..., 0] - np.sin(t)) ** 2 / 2
        >>> wave = Driven(height, lambda theta, t: theta - np.sin(t)[..., None], dim=1)
        >>> float(wave.at(np.pi / 2).gradient([1.5])[0])
        0.5
    """

    switches: tuple[float, ...]
    final: Loss | None
    dim: int
    positive: tuple[int, ...]

    def __init__(
        self,
        value: Timed,
        gradient: Timed,
        hessian: Timed | None = None,
        *,
        dim: int,
        switches: Sequence[float] = (),
        final: Loss | None = None,
        settled: float | None = None,
        positive: Sequence[int] = (),
    ):
        self._value, self._gradient = _checks.function("value", value), _checks.function("gradient", gradient)
        self._hessian = None if hessian is None else _checks.function("hessian", hessian)
        self.dim = _checks.whole("dim", dim, low=1)
        places = _checks.sequence("positive", positive, "places")
        self.positive = tuple(_checks.whole("positive", i, low=0, high=dim - 1) for i in places)
        jumps = [_checks.positive("switches", time) for time in _checks.sequence("switches", switches, "times")]
        if (final is None) != (settled is None):
            raise ValueError(
                f"final = {_checks.shown(final)} and settled = {_checks.shown(settled)}, but both or none must be given"
            )
        if final is not None:
            check_loss(final, "final")
            if final.dim != self.dim:
                raise ValueError(f"final has {final.dim} parameters, but dim = {self.dim}")
            last = _checks.finite("settled", settled, low=0.0)
            if jumps and last <= jumps[-1]:
                raise ValueError(f"settled = {last:g}, but it must be later than the last of switches, {jumps[-1]:g}")
            jumps += [last] if last > 0 else []
        if any(b <= a for a, b in itertools.pairwise(jumps)):
            raise ValueError(f"switches = {_checks.shown(list(switches))}, but the times must increase")
        self.switches, self.final = tuple(jumps), final

    def at(self, t: ArrayLike) -> Loss:
        times = check_times(t)
        if self.final is None:
            return _Still(self, times)
        late = times >= self.settled
        if np.all(late):
            return self.final
        now = _Still(self, np.minimum(times, self.settled))
        return _Mixed((now, self.final), late.astype(np.intp)) if np.any(late) else now

    def __repr__(self) -> str:
        end = "" if self.final is None else f", final={self.final!r}, settled={self.settled:g}"
        return f"Driven(dim={self.dim}, switches={self.switches}{end})"


class _Still(Loss):
    """A driven loss at times of shape (...)."""

    def __init__(self, task: Driven, t: Array):
        self.dim, self.positive, self._task, self._t = task.dim, task.positive, task, t

    def value(self, theta: ArrayLike) -> Any:
        return scalar(self._asked("value", self._task._value, self._points(theta), ()))

    def gradient(self, theta: ArrayLike) -> Array:
        return self._asked("gradient", self._task._gradient, self._points(theta), (self.dim,))

    def hessian(self, theta: ArrayLike) -> Array:
        points = self._points(theta)
        if self._task._hessian is None:
            around = _Still(self._task, self._t[..., None, None])
            hessian = differences.first(around.gradient, points)
            return (hessian + np.swapaxes(hessian, -1, -2)) / 2
        return self._asked("hessian", self._task._hessian, points, (self.dim, self.dim))

    def _asked(self, name: str, function: Timed, theta: Array, shape: tuple[int, ...]) -> Array:
        lead = np.broadcast_shapes(theta.shape[:-1], self._t.shape)
        values = function(np.broadcast_to(theta, (*lead, self.dim)), np.broadcast_to(self._t, lead))
        result = np.array(_checks.reals(f"{name}(theta, t)", values))  # a copy: it may fill the same array each time
        if result.shape != (*lead, *shape):
            raise ValueError(f"{name}(theta, t) has shape {result.shape}, but it must have shape {(*lead, *shape)}")
        return result


class _Mixed(Loss):
    """At each point one of several losses."""

    def __init__(self, losses: Sequence[Loss], index: NDArray[np.intp]):
        self.dim, self._losses, self._index = losses[0].dim, losses, index

    def value(self, theta: ArrayLike) -> Any:
        return scalar(self._chosen([np.asarray(loss.value(theta)) for loss in self._losses], 0))

    def gradient(self, theta: ArrayLike) -> Array:
        return self._chosen([loss.gradient(theta) for loss in self._losses], 1)

    def hessian(self, theta: ArrayLike) -> Array:
        return self._chosen([loss.hessian(theta) for loss in self._losses], 2)

    def _chosen(self, each: list[Array], axes: int) -> Array:
        index = self._index.reshape(*self._index.shape, *[1] * axes)
        chosen: Array = np.select([index == i for i in range(len(each))], each)
        return chosen


def _pair(pair: Any) -> tuple[float, Loss]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"phases holds {_checks.shown(pair)}, but each must be a pair (start, loss)")
    check_loss(pair[1], "phases: a loss")
    return _checks.finite("phases: a start", pair[0], low=0.0), pair[1]
