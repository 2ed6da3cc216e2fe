"""``fused=True``: one pass over the memory instead of one for every operation of a step.

Parameters on the CPU are moved by the kernels in ``kernels.c``. On another device the rule's list operations are
compiled by ``torch.compile``. Where neither is possible the list operations run as they are, after one warning that
says why.
"""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from lossnav.optim import _native
from lossnav.optim._native import NoKernel

_PLAIN = (Tensor, torch.nn.Parameter)
_said: set[str] = set()


@dataclass(frozen=True)
class Call:
    """What a kernel needs besides parameters and gradients.

    Attributes:
        kernel: its name in ``kernels.c``, or in the rule's own text.
        memory: keys of the state tensors that it reads and writes.
        option: numbers that hold for all parameters of the call.
        each: for every parameter the numbers that are its own, as many for each.
    """

    kernel: str
    memory: Sequence[str]
    option: Sequence[float]
    each: Sequence[Sequence[float]]


def step(
    rule: Any, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
) -> bool:
    """Move ``params`` by the fused form of ``rule``, or return False if the list operations must do it.

    ``rule._call(group, states)`` counts the step and describes the kernel's call; it raises ``NoKernel`` before it
    changes anything if there is no kernel for the options of the group.
    """
    if torch.compiler.is_compiling():  # the list operations are about to be fused by the compiler
        return False
    try:
        odd = next((type(p).__name__ for p in params if type(p) not in _PLAIN), None)
        if odd is not None:
            raise NoKernel(f"a parameter is a {odd}, a subclass of Tensor")
        if params[0].is_meta:
            raise NoKernel("its parameters are on the meta device, where there is no memory to pass over")
        if params[0].device.type == "cpu":
            library = _native.load(params[0].dtype, rule._native())
            _launch(library, rule._call(group, states), params, grads, states)
        else:
            _compiled(type(rule)._update, params[0].device.type)(rule, group, params, grads, states)
    except NoKernel as reason:
        _say_once(f"{type(rule).__name__}(fused=True) runs unfused, as with foreach=True, because {reason}")
        return False
    return True


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _launch(
    library: ctypes.CDLL, call: Call, params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
) -> None:
    homes = [p if _is_dense(p) else p.contiguous() for p in params]
    streams = [homes, [_laid_out_like(p, g) for p, g in zip(homes, grads, strict=True)]]
    for key in call.memory:
        for p, state in zip(homes, states, strict=True):
            state[key] = _laid_out_like(p, state[key])
        streams.append([state[key] for state in states])
    sizes = [p.numel() for p in homes]
    count, width = len(homes), len(call.each[0])
    pointers = [t.data_ptr() for t in chain.from_iterable(streams)]
    getattr(library, call.kernel)(
        ctypes.c_int64(count),
        (ctypes.c_int64 * count)(*sizes),
        ctypes.c_int64(len(streams)),
        (ctypes.c_void_p * len(pointers))(*pointers),
        (ctypes.c_double * len(call.option))(*call.option),
        (ctypes.c_double * (count * width))(*chain.from_iterable(call.each)),
        ctypes.c_int64(width),
        ctypes.c_int64(_threads(sum(sizes))),
    )
    for p, home in zip(params, homes, strict=True):
        if home is not p:
            p.copy_(home)
    torch.autograd.graph.increment_version(params)  # autograd must know that the values it may have saved are gone


def _threads(elements: int) -> int:
    """Return torch's number of threads, or one for so few elements that waking the others takes longer."""
    return torch.get_num_threads() if elements >= 32_768 else 1


def _is_dense(tensor: Tensor) -> bool:
    """Return whether the elements fill a stretch of memory, each once, in whatever order of the dimensions."""
    if tensor.is_contiguous():
        return True
    strides = tensor.stride()
    return tensor.permute(sorted(range(tensor.ndim), key=lambda d: -strides[d])).is_contiguous()


def _laid_out_like(home: Tensor, tensor: Tensor) -> Tensor:
    """Return ``tensor``, or a copy of it, with the elements in memory in the same order as those of ``home``."""
    alike = tensor.dtype == home.dtype and tensor.device == home.device and not tensor.is_neg()
    if alike and (tensor.stride() == home.stride() or (tensor.is_contiguous() and home.is_contiguous())):
        return tensor
    return torch.empty_like(home, memory_format=torch.preserve_format).copy_(tensor)


@cache
def _compiled(operations: Callable[..., None], device: str) -> Callable[..., None]:
    """Return the list operations of a rule, compiled for a device; the rate, which schedules move, becomes a tensor."""
    try:
        update = torch.compile(operations, fullgraph=True)
    except RuntimeError as error:  # a Python or a system that torch.compile does not know
        raise NoKernel(f"torch.compile refuses on {device} ({_first_line(error)})") from None

    failure = ""

    def run(self: Any, group: dict[str, Any], params: list[Tensor], *rest: Any) -> None:
        nonlocal failure
        if failure:
            raise NoKernel(failure)
        lr = group["lr"]
        if not torch.is_tensor(lr) and lr < math.inf:
            lr = torch.tensor(lr, dtype=torch.float64)
        try:
            update(self, {**group, "lr": lr}, params, *rest)
        except torch._dynamo.exc.TorchDynamoException as error:  # before the first operation ran: fullgraph
            failure = f"torch.compile failed on {device} ({_first_line(error)})"
            raise NoKernel(failure) from None

    return run


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
