"""What every optimizer of the package shares: checks, groups, state, precision. No learning rule lives here."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from .._checks import finite, shown
from . import _fused

Group = dict[str, Any]
State = dict[str, Any]
_HALF = (torch.bfloat16, torch.float16)


class Rule(torch.optim.Optimizer, abc.ABC):
    """A learning rule as a torch optimizer.

    A subclass says which options it has (``defaults``), what they may be (``_check``), what it remembers about a
    parameter (``_start``), how it moves (``_update``) and, if there is a kernel that does the same in one pass over
    the memory, how to call it (``_call``). This class sees to the rest:

    * every option may differ between parameter groups, and is checked in each of them;
    * ``_update`` gets lists of tensors of one device and one dtype, so that it can use torch's ``_foreach`` kernels;
      with ``foreach=False`` the lists have length one;
    * bfloat16 and float16 parameters are updated in float32 and keep their state in float32 — a running average with
      β = 0.999 stands still in 8 bits of mantissa, and ε = 1e-8 is zero in float16;
    * with ``fused=True`` the kernel takes the place of ``_update`` wherever it can;
    * the state follows a parameter whose dtype or device changes after the first step;
    * sparse gradients and complex parameters are refused by name.
    """

    def __init__(self, params: Any, defaults: Group) -> None:
        super().__init__(params, {"maximize": False, "foreach": None, "fused": False, **defaults})

    @abc.abstractmethod
    def _check(self, group: Group) -> None:
        """Raise ``ValueError`` unless the options of ``group`` make sense."""

    @abc.abstractmethod
    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        """Add what is missing to the ``state`` of a parameter; make its tensors with ``zeros``."""

    @abc.abstractmethod
    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """Move ``params`` in place. All tensors share a device and a dtype, float32 or float64."""

    def _call(self, group: Group, states: list[State]) -> _fused.Call:
        """Count the step and describe the fused kernel's call, or raise ``NoKernel`` with the reason."""
        raise _fused.NoKernel(f"{type(self).__name__} has no fused kernel")

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters; options that it does not name take the optimizer's defaults."""
        super().add_param_group(param_group)
        try:
            self._check(self.param_groups[-1])
            for parameter in self.param_groups[-1]["params"]:
                if not parameter.is_floating_point():
                    raise ValueError(
                        f"params holds a tensor of dtype {parameter.dtype}, but {type(self).__name__} needs real "
                        "floating-point parameters (split a complex one with torch.view_as_real)"
                    )
        except ValueError:
            self.param_groups.pop()  # a refused group must not be half added
            raise

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient.

        Args:
            closure: optional; clears the gradients, computes the loss, calls ``backward()`` and returns the loss.

        Returns:
            What ``closure`` returned, or None.

        Raises:
            RuntimeError: a gradient is sparse.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for params in self._batches(group):
                self._move(group, params)
        return loss

    def _batches(self, group: Group) -> Iterable[list[Tensor]]:
        """Split the parameters with a gradient into lists that one foreach call can take."""
        params = [p for p in group["params"] if p.grad is not None]
        for p in params:
            if p.grad.layout != torch.strided:
                raise RuntimeError(
                    f"{type(self).__name__} got a sparse gradient (layout {p.grad.layout}) for a parameter of "
                    f"shape {tuple(p.shape)}, but it needs dense ones: use sparse=False in the embedding"
                )
        foreach = group["foreach"]
        if foreach is None:  # tensor subclasses (DTensor, quantised weights …) may not implement the foreach kernels
            foreach = all(type(p) in (Tensor, torch.nn.Parameter) for p in params)
        if not foreach:
            return [[p] for p in params]
        batches: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        for p in params:
            batches.setdefault((p.device, p.dtype), []).append(p)
        return batches.values()

    def _move(self, group: Group, params: list[Tensor]) -> None:
        states = [self._state_of(p, group) for p in params]
        grads = [p.grad for p in params if p.grad is not None]
        half = params[0].dtype in _HALF
        work = [p.float() for p in params] if half else params
        if half:
            grads = [g.float() for g in grads]
        if not (group["fused"] and _fused.step(self, group, work, grads, states)):
            self._update(group, work, grads, states)
        if half:
            torch._foreach_copy_(params, work)

    def _state_of(self, parameter: Tensor, group: Group) -> State:
        state = self.state[parameter]
        home = (parameter.device, _state_dtype(parameter))
        for key, value in state.items():
            if key != "step" and torch.is_tensor(value) and (value.device, value.dtype) != home:
                state[key] = value.to(*home)
        self._start(parameter, group, state)
        return state

    def __setstate__(self, state: State) -> None:
        """Restore, giving options that an older state does not know their defaults."""
        super().__setstate__(state)
        for group in self.param_groups:
            for key, value in self.defaults.items():
                if key != "differentiable":  # torch's own addition to the defaults, none of our options
                    group.setdefault(key, value)

    def load_state_dict(self, state_dict: State) -> None:
        """Restore a state made by ``state_dict``, bit for bit.

        torch would round the float32 state of a bfloat16 parameter to bfloat16 on the way; here it keeps its bits.
        """
        super().load_state_dict(state_dict)
        saved_ids = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        for saved_id, parameter in zip(saved_ids, self._parameters(), strict=True):
            if parameter.dtype in _HALF:
                for key, value in state_dict["state"].get(saved_id, {}).items():
                    if torch.is_tensor(value) and key != "step":
                        self.state[parameter][key] = value.to(parameter.device, torch.float32, copy=True)

    def _parameters(self) -> Iterator[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)


def zeros(parameter: Tensor) -> Tensor:
    """Return zeros shaped and laid out like the parameter, in the dtype that its state has."""
    return torch.zeros_like(parameter, dtype=_state_dtype(parameter), memory_format=torch.preserve_format)


def _state_dtype(parameter: Tensor) -> torch.dtype:
    return torch.float32 if parameter.dtype in _HALF else parameter.dtype


def check_rate(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number >= 0; a 0-dim tensor is not read (that could stall a GPU)."""
    if torch.is_tensor(value):
        if value.ndim != 0 or not value.is_floating_point():
            found = f"shape {tuple(value.shape)} and dtype {value.dtype}"
            raise ValueError(f"{name} has {found}, but it must be a real number or a 0-dim tensor")
    else:
        finite(name, value, low=0.0)


def check_decay(name: str, value: Any) -> None:
    """Raise unless ``value`` is a number in [0, 1), as the weight of the past in a running average must be."""
    if finite(name, value, low=0.0, high=1.0) == 1.0:
        raise ValueError(f"{name} = {shown(value)}, but it must be a finite number >= 0 and < 1")


def count(step: Tensor) -> Any:
    """Return a step counter as a number; under ``torch.compile`` it stays a tensor, so that no step recompiles."""
    return step.double() if torch.compiler.is_compiling() else step.item()
