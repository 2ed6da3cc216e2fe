"""``fused``: one pass over the memory instead of one for every operation of a step.

True asks for it, and None (with ``foreach=None``) takes it on the CPU if there is a compiler, without a word if not.

Parameters on the CPU are moved by compiled kernels (``_native``). On another device the rule's list operations are
compiled by ``torch.compile``. Where neither is possible the list operations run as they are, after one warning that
says why.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from lossnav.optim import _native, _options
from lossnav.optim._native import NoKernel
from lossnav.optim._shards import PLAIN

_said: set[str] = set()


@dataclass(frozen=True)
class Call:
    """What a kernel needs besides parameters and gradients.

    Attributes:
        kernel: its text in C, which ``kernels.h`` calls.
        memory: keys of the state tensors that it reads and writes.
        option: numbers that hold for all parameters of the call.
        each: for every parameter the numbers that are its own, as many for each.
    """

    kernel: str
    memory: Sequence[str]
    option: Sequence[float]
    each: Sequence[Sequence[float]]


def wanted(rule: Any, group: dict[str, Any]) -> bool:
    """Whether a group is to be moved by the fused form of its rule, if it can be."""
    if group["fused"] is not None or group["foreach"] is not None:
        return bool(group["fused"])
    return bool(rule.has_kernel and group["params"] and group["params"][0].device.type == "cpu")


def step(
    rule: Any, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
) -> bool:
    """Move ``params`` by the fused form of ``rule``, or return False if the list operations must do it.

    ``rule._call(group, states)`` describes the kernel's call; it changes nothing, and raises ``NoKernel`` if there is
    no kernel for the options of the group. The kernel counts the step.
    """
    if torch.compiler.is_compiling():  # the list operations are about to be fused by the compiler
        return False
    try:
        odd = next((type(p).__name__ for p in params if type(p) not in PLAIN), None)
        if odd is not None:
            raise NoKernel(f"a parameter is a {odd}, a subclass of Tensor")
        if params[0].is_meta:
            raise NoKernel("its parameters are on the meta device, where there is no memory to pass over")
        if params[0].device.type == "cpu":
            _launch(rule, group, params, grads, states)
        else:
            _compiled(type(rule)._update, params[0].device.type)(rule, group, params, grads, states)
    except NoKernel as reason:
        if group["fused"]:
            _say_once(f"{type(rule).__name__}(fused=True) runs unfused, as with foreach=True, because {reason}")
        return False
    return True


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def again(rule: Any, group: dict[str, Any]) -> bool:
    """Repeat the last launch of a group with the gradients of now, or return False if anything else has changed.

    Most of a launch of many small tensors is looking at each of them; here each is only asked whether it still lies
    where it lay, as it lay.
    """
    previous = rule.__dict__.get("_launches", {}).get(id(group))
    return previous is not None and previous.again(rule, group)


def _launch(
    rule: Any, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
) -> None:
    call = rule._call(group, states)
    library = _native.load(params[0].dtype, call.kernel)
    counters = [_options.counter(s["step"]).cpu() for s in states]  # the tensor itself, if it is one of the kernel's
    # The loop wants all streams of a weight in one layout: what lies otherwise is copied, and later copied back.
    homes = [p if _is_dense(p) else p.contiguous() for p in params]
    streams = [homes, [_laid_out_like(p, g) for p, g in zip(homes, grads, strict=True)]]
    for key in call.memory:
        for p, state in zip(homes, states, strict=True):
            state[key] = _laid_out_like(p, state[key])
        streams.append([state[key] for state in states])
    launch = _Launch(library, call, streams, counters)
    launch.run(call)
    for state, counter in zip(states, counters, strict=True):
        if counter is not state["step"]:
            state["step"].copy_(counter)
    for p, home in zip(params, homes, strict=True):
        if home is not p:
            p.copy_(home)
    torch.autograd.graph.increment_version(params)  # autograd must know that the values it may have saved are gone
    # If all lay in place, the next step may be launched with the same addresses.
    old, ids = rule.__dict__.get("_launches", {}), (id(peer) for peer in rule.param_groups if peer is not group)
    launches = rule._launches = {place: old[place] for place in ids if place in old}  # a lost group's state goes
    as_they_are = all(a is b for a, b in zip(chain(homes, streams[1]), chain(params, grads), strict=True))
    at_home = _same(counters, [s["step"] for s in states])
    if as_they_are and at_home and _same(params, group["params"]):
        launches[id(group)] = _Again(launch, rule, group, states)


class _Launch:
    """The arguments of a kernel's call: what lies where."""

    def __init__(self, library: ctypes.CDLL, call: Call, streams: list[list[Tensor]], counters: list[Tensor]) -> None:
        self.kernel, self.memory, self.streams, self.count = call.kernel, call.memory, streams, len(streams[0])
        self._function, sizes = library.step, [p.numel() for p in streams[0]]
        self._sizes, self._elements = (ctypes.c_int64 * self.count)(*sizes), sum(sizes)
        pointers = [t.data_ptr() for t in chain.from_iterable(streams)]
        self._pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        self._counters = (ctypes.c_void_p * self.count)(*(n.data_ptr() for n in counters))
        self.fixed = [*streams[0], *chain.from_iterable(streams[2:])]  # all but the gradients
        self.places = pointers[: self.count] + pointers[2 * self.count :]

    def meet(self, grads: list[Tensor]) -> None:
        self._pointers[self.count : 2 * self.count] = [g.data_ptr() for g in grads]

    def run(self, call: Call) -> None:
        width = len(call.each[0])
        self._function(
            ctypes.c_int64(self.count),
            self._sizes,
            ctypes.c_int64(len(self.streams)),
            self._pointers,
            self._counters,
            (ctypes.c_double * len(call.option))(*call.option),
            (ctypes.c_double * (self.count * width))(*chain.from_iterable(call.each)),
            ctypes.c_int64(width),
            ctypes.c_int64(_threads(self._elements)),
        )


class _Again:
    """A launch that has been made, and how to see that it may be made again."""

    def __init__(self, launch: _Launch, rule: Any, group: dict[str, Any], states: list[dict[str, Any]]) -> None:
        self._launch, self._group, self._states = launch, group, states
        self._params, grads = launch.streams[0], launch.streams[1]
        self._dtype = self._params[0].dtype
        self._shapes, self._strides = [p.shape for p in self._params], [p.stride() for p in self._params]
        self._grad_strides = [g.stride() for g in grads]
        self._kept = [state[key] for key in ("step", *launch.memory) for state in states]
        self._all_states = rule.state
        launch.streams[1] = []  # gradients are not kept alive
        self._step_places = [n.data_ptr() for n in self._kept[: launch.count]]

    def again(self, rule: Any, group: dict[str, Any]) -> bool:
        """Make it again, or return False if that would not be the step that is wanted."""
        grads: list[Any] = [p.grad for p in self._params]
        if group is not self._group or not (self._stand(rule) and self._fit(grads)):
            return False
        try:
            call = rule._call(group, self._states)
        except NoKernel:
            return False
        if call.kernel != self._launch.kernel or tuple(call.memory) != tuple(self._launch.memory):
            return False
        self._launch.meet(grads)
        self._launch.run(call)
        torch.autograd.graph.increment_version(self._params)
        return True

    def _stand(self, rule: Any) -> bool:
        """Return whether parameters and state are the tensors that they were, where they were."""
        launch, params = self._launch, self._params
        if rule.state is not self._all_states or not _same(params, self._group["params"]):
            return False
        if not _same(map(rule.state.get, params), self._states):
            return False
        tensors: list[Any] = [state.get(key) for key in ("step", *launch.memory) for state in self._states]
        return (
            _same(tensors, self._kept)
            and [t.data_ptr() for t in launch.fixed] == launch.places
            and [n.data_ptr() for n in tensors[: launch.count]] == self._step_places
            and [p.shape for p in params] == self._shapes
            and [p.stride() for p in params] == self._strides
            and all(p.dtype is self._dtype for p in params)
        )

    def _fit(self, grads: list[Any]) -> bool:
        """Return whether there is a gradient for each parameter, laid out as those before."""
        if any(type(g) is not Tensor or g.dtype is not self._dtype or g.is_neg() for g in grads):
            return False
        with contextlib.suppress(RuntimeError):  # a sparse gradient has no strides
            return [g.stride() for g in grads] == self._grad_strides and [g.shape for g in grads] == self._shapes
        return False


def _same(some: Iterable[Any], others: Sequence[Any]) -> bool:
    return list(map(id, some)) == list(map(id, others))


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
    """Return ``tensor``, or a copy of it, with the elements in memory in the same order as those of ``home``.

    Raises:
        ValueError: it has another shape, so that a kernel would leave its memory.
    """
    if tensor.shape != home.shape:
        raise ValueError(
            f"a parameter of shape {tuple(home.shape)} has a gradient or a state of shape {tuple(tensor.shape)}, but "
            "all must have one shape: after a change of the parameter's, make a new optimizer"
        )
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
