"""Optimizers whose step is generated: lists of tensors in torch, and one pass over the memory in C, from one text."""

from __future__ import annotations

import abc
import hashlib
import linecache
import math
from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav.optim import _traced
from lossnav.optim._base import Found, Group, Rule, State, zeros
from lossnav.optim._fused import Call
from lossnav.optim._native import NoKernel
from lossnav.optim._options import count, counter
from lossnav.problem.objective import Objective
from lossnav.rules.derive import derive
from lossnav.rules.derive.numbers import Number
from lossnav.rules.derive.program import flat_root
from lossnav.rules.derive.source import Statement, Written, write

_MOST = 14  # averages beside weights and gradients: MOST of kernels.h


class Step(NamedTuple):
    """A generated step.

    Attributes:
        written: its text.
        run: the function of the text, for numbers.
        trace: the same where numbers are tensors: under ``torch.compile``, or where a rate lives on a device.
    """

    written: Written
    run: Callable[..., None]
    trace: Callable[..., None]

    @classmethod
    def of(cls, written: Written) -> Step:
        """Return the step of a text."""
        return cls(written, _function(written.python), _function(written.python, traced=True))


@lru_cache(maxsize=256)
def stated(make: Callable[[Any], Statement], form: Hashable) -> Step:
    """Return the step of what a rule states for a form of its options."""
    return Step.of(write(make(form)))


def run(
    step: Step, params: list[Tensor], grads: list[Tensor], memory: list[list[Tensor]], counts: list[tuple[Any, ...]],
    values: tuple[Any, ...],
) -> None:  # fmt: skip
    """Make a step in place.

    Args:
        step: which.
        params, grads, memory: lists of tensors, ``memory`` one list for each average.
        counts: for each parameter the number of its step, and of what it was told, if it is told anything.
        values: the rate, and the numbers that have names.
    """
    lists = [params, grads, *memory]
    if torch.compiler.is_compiling():  # each may stand in a step of its own, which is not known here
        rate = torch.as_tensor(values[0], dtype=torch.float64)
        for i, count in enumerate(counts):
            step.trace(*([some[i]] for some in lists), *count, rate, *values[1:])
        return
    values = tuple(v.item() if torch.is_tensor(v) and v.device.type == "cpu" else v for v in values)
    function = step.trace if any(map(torch.is_tensor, values)) else step.run
    kinds = set(counts)
    if len(kinds) == 1:
        function(*lists, *counts[0], *values)
        return
    for kind in kinds:
        same = [i for i, count in enumerate(counts) if count == kind]
        function(*([some[i] for i in same] for some in lists), *kind, *values)


def read(group: Group, what: Statement, values: tuple[Any, ...], words: str, why: str) -> Found:
    """Return what ``explain`` says of a step: the derived rule is that of the statement, with numbers for its names.

    Args:
        group: the options.
        what: the step.
        values: the rate and the numbers that have names.
        words: under which assumptions it is optimal.
        why: the regime in which they make sense; the reason takes its place where there is no such rule.
    """
    rate, numbers = float(values[0]), dict(zip(what.names, map(float, values[1:]), strict=True))

    def number(x: Any) -> Any:
        return eval(x.text, {"math": math}, numbers) if isinstance(x, Number) else x

    def made(believed: Any) -> Any:
        return type(believed)(**{option.name: number(getattr(believed, option.name)) for option in fields(believed)})

    fades, flat = number(what.fading), what.root is flat_root
    reasons = {
        "A decoupled decay beside a curvature is no drift of that plan: the reading is without it": group[
            "weight_decay"
        ],
        "A step that is not small under a gradient that fades is another one in derive": what.held and fades,
        "The limit of a large discount with a step that is not small has no derived rule": what.held and flat,
        "A curvature that keeps its sign is none of derive's averages": getattr(what.curvature, "bound", None),
    }
    reasons["A step of this rate goes nowhere: there is a rule at a rate > 0"] = rate == 0
    for reason, holds in reasons.items():
        if holds:
            return words, reason, None
    objective = Objective(eta=number(what.control_gain), gamma=number(what.gamma))
    curvature = None if flat else made(what.curvature)
    belief = replace(made(what.belief), fading=fades)
    return words, why, derive(objective, belief=belief, curvature=curvature, dt=rate, exact=what.held)


class Generated(Rule):
    """A rule that states its step and gets both of its forms from that.

    A subclass says what of a group's options the text depends on (``_form``), what the step is (``_stated``), and which
    numbers the names in it have now (``_values``).
    """

    def __init__(self, params: ParamsT, defaults: Group) -> None:
        self._prepare()
        super().__init__(params, defaults)

    def _prepare(self) -> None:
        """Be ready to hold steps, before there are groups."""
        self._steps: dict[Hashable, Step] = {}

    @abc.abstractmethod
    def _form(self, group: Group) -> Hashable:
        """Return what of the options decides the text; it reads no tensor."""

    @staticmethod
    @abc.abstractmethod
    def _stated(form: Any) -> Statement:
        """Return the step for a form of the options."""

    @abc.abstractmethod
    def _values(self, group: Group) -> tuple[Any, ...]:
        """Return the rate and the numbers that have names, in their order; a rate may be a tensor."""

    def _read(self, group: Group, words: str, why: str) -> Found:
        return read(group, self._stated(self._form(group)), self._values(group), words, why)

    def _step_of(self, group: Group) -> Step:
        form = self._form(group)
        if form not in self._steps:
            self._steps[form] = stated(type(self)._stated, form)
        return self._steps[form]

    def __setstate__(self, state: State) -> None:
        """Restore, making the functions of the texts anew."""
        self._prepare()
        super().__setstate__(state)
        for group in self.param_groups:
            self._step_of(group)

    def _check_group(self, group: Group) -> None:
        super()._check_group(group)
        self._step_of(group)

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        if "step" not in state:
            state["step"] = counter()
        for name in self._step_of(group).written.memory:
            if name not in state:
                state[name] = zeros(parameter)

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        step, steps = self._step_of(group), [s["step"] for s in states]
        torch._foreach_add_(steps, 1.0)
        if group["maximize"]:
            grads = list(torch._foreach_neg(grads))
        counts: list[tuple[Any, ...]] = [(count(n),) for n in steps]
        if step.written.told:
            counts = [(*n, s["seen"]) for n, s in zip(counts, states, strict=True)]
        memory = [[s[name] for s in states] for name in step.written.memory]
        values = self._values(group)
        run(step, params, grads, memory, counts, values)

    def _call(self, group: Group, states: list[State]) -> Call:
        written, (rate, *values) = self._step_of(group).written, self._values(group)
        if len(written.memory) > _MOST:
            raise NoKernel(f"it remembers {len(written.memory)} averages, and a kernel has room for {_MOST}")
        each = [(s["seen"],) for s in states] if written.told else [()] * len(states)
        return Call(
            written.kernel, written.memory, (float(rate), -1.0 if group["maximize"] else 1.0, *map(float, values)), each
        )


@lru_cache(maxsize=256)
def _function(text: str, traced: bool = False) -> Callable[..., None]:
    """Return the function of a generated text, whose lines tracebacks and ``inspect.getsource`` show."""
    name = f"<derived step {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"torch": torch, "math": math}
    if traced:
        space = {"torch": _traced, "math": _traced, "min": _traced.smaller}
    exec(compile(text, name, "exec"), space)
    step: Callable[..., None] = space["step"]
    return step
