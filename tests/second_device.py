"""A second device without a graphics processor: what runs on it says where tensors of two devices meet.

torch lets a program register a device of its own. The tensors of this one have no memory that torch could read: each
storage has a buffer on the CPU in a table here, which only the operations below know. An operation that is given
tensors of both devices raises, as on any device; one that reads a value back to the host is counted. Values are those
of the CPU's kernels, bit for bit.

To register it changes a process for good, so that it is done in processes of their own (the fixture ``second_device``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey, DispatchKeySet
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "second"
_CPU = DispatchKeySet(DispatchKey.CPU)
_READS = (  # what a host waits for: values, or sizes that depend on them
    "_linalg_eigh", "_local_scalar_dense", "bincount", "equal", "is_nonzero", "masked_select", "nonzero",
    "unique_dim", "_unique", "_unique2",
)  # fmt: skip
_buffers: dict[int, Tensor] = {}  # by storage, whose address is used again once it is gone, and then has a new one
_reads: list[str] = []


def is_here(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == NAME


def _seen(value: Any) -> Any:
    """Return a tensor of this device as the CPU sees it, on the same memory; anything else as it is."""
    if not is_here(value):
        return value
    buffer = _buffers[value.untyped_storage()._cdata].view(value.dtype)
    return buffer.as_strided(value.size(), value.stride(), value.storage_offset())


def _taken(value: Any) -> Any:
    """Return a tensor of this device with the values and strides of one of the CPU's; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    tensor = _empty(value.size(), value.stride(), value.dtype)
    _seen(tensor).copy_(value)
    return tensor


def _empty(size: Any, stride: Any, dtype: torch.dtype) -> Tensor:
    extent = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    buffer = torch.empty(extent * dtype.itemsize, dtype=torch.uint8)
    storage = torch._C._construct_storage_from_data_pointer(buffer.data_ptr(), torch.device(NAME, 0), len(buffer))
    _buffers[storage._cdata] = buffer
    tensor = torch._C._acc.create_empty_tensor((0,), dtype)
    torch.ops.aten.set_.source_Storage_storage_offset.redispatch(_CPU, tensor, storage, 0, size, stride)
    return tensor


def _moved(home: Tensor, made: Tensor) -> None:
    """Give a tensor of this device the memory and shape of another."""
    torch.ops.aten.set_.source_Storage_storage_offset.redispatch(
        _CPU, home, made.untyped_storage(), made.storage_offset(), made.size(), made.stride()
    )


def _run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operation on the CPU's kernels."""
    name = op._schema.name.removeprefix("aten::")
    for value in tree_leaves((args, kwargs)):
        if isinstance(value, Tensor) and not is_here(value) and value.ndim:
            raise RuntimeError(f"{name}: a tensor on {value.device}, shape {tuple(value.shape)}, beside {NAME}")
    if name in _READS:
        _reads.append(name)
    arguments = {**dict(zip((a.name for a in op._schema.arguments), args, strict=False)), **kwargs}
    if kwargs.get("device") is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    output = op(*tree_map(_seen, args), **tree_map(_seen, kwargs))
    written = [a.name for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if not written:
        return tree_map(_taken, output)
    results = output if isinstance(output, tuple | list) else (output,)
    for key, result in zip(written, results, strict=False):
        home = arguments.get(key)
        if is_here(home) and isinstance(result, Tensor) and home.shape != result.shape:
            _moved(home, _taken(result))
    returned = [arguments[key] for key in written]
    return None if not op._schema.returns else returned[0] if len(op._schema.returns) == 1 else tuple(returned)


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    if is_here(source) and not is_here(target):
        _reads.append("copy to the host")
    _seen(target).copy_(_seen(source))
    return target


def _resize(tensor: Tensor, size: Any, memory_format: Any = None) -> Tensor:
    if list(size) != list(tensor.shape):
        _moved(tensor, _taken(torch.empty(size).to(tensor.dtype)))
    return tensor


def _read(tensor: Tensor) -> Any:
    _reads.append("a number")
    return _seen(tensor).item()


def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Any:
    return _taken(torch.ops.aten.convolution.default(*map(_seen, (x, weight, bias)), *how))


def _convolution_backward(grad: Tensor, x: Tensor, weight: Tensor, *how: Any) -> Any:
    *shape, wanted = how
    bias = [grad.shape[1]] if wanted[2] else None
    back = torch.ops.aten.convolution_backward.default
    return tuple(map(_taken, back(*map(_seen, (grad, x, weight)), bias, *shape, wanted)))


def _alias(op: Any) -> Any:
    """Return a view as torch's own kernel makes it, which looks at sizes and strides alone."""
    return lambda *args, **kwargs: op.redispatch(_CPU, *args, **kwargs)


def _deepcopy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy as torch does on devices whose storages it cannot copy by itself."""
    if not is_here(tensor):
        return _REAL_DEEPCOPY(tensor, memo)
    if id(tensor) not in memo:
        memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return memo[id(tensor)]


class _Own(torch.Generator):
    """A generator of the device, which draws what the CPU's would."""

    device = property(lambda self: torch.device(NAME, 0))  # type: ignore[assignment]


class _Generator(type):
    """What makes generators."""

    def __call__(cls, device: Any = "cpu") -> torch.Generator:
        return _Own() if torch.device(device).type == NAME else _REAL_GENERATOR(device)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _REAL_GENERATOR)


_REAL_GENERATOR, _REAL_DEEPCOPY = torch.Generator, torch.Tensor.__deepcopy__
_libraries: list[torch.library.Library] = []


def register() -> torch.device:
    """Let torch know the device, in this process for good; return it."""
    _setup_privateuseone_for_python_backend(NAME)
    rest, own = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    rest.fallback(_run, "PrivateUse1")
    aten = torch.ops.aten
    for op in (aten.as_strided.default, aten.view.default, aten._reshape_alias.default, aten.unfold.default):
        own.impl(op, _alias(op), "PrivateUse1")
    own.impl("empty.memory_format", lambda size, dtype=None, memory_format=None, **_: _taken(torch.empty(
        size, dtype=dtype, memory_format=memory_format or torch.contiguous_format)), "PrivateUse1")  # fmt: skip
    own.impl("empty_strided", lambda size, stride, dtype=None, **_: _empty(
        size, stride, dtype or torch.get_default_dtype()), "PrivateUse1")  # fmt: skip
    kernels = {
        "_copy_from": _copy_from, "resize_": _resize, "_local_scalar_dense": _read,
        "convolution_overrideable": _convolution, "convolution_backward_overrideable": _convolution_backward,
    }  # fmt: skip
    for name, kernel in kernels.items():
        own.impl(name, kernel, "PrivateUse1")
    for name in ("set_.source_Storage_storage_offset", "set_.source_Tensor", "set_.source_Storage"):
        op = getattr(aten.set_, name.removeprefix("set_."))
        own.impl(name, _alias(op), "PrivateUse1")
    _libraries.extend([rest, own])
    warnings.filterwarnings("ignore", "An output with one or more elements was resized")  # torch's own, between kernels
    torch.Tensor.__deepcopy__ = _deepcopy  # type: ignore[method-assign]
    torch.Generator = _Generator("Generator", (), {})  # type: ignore[misc, assignment]
    return torch.device(NAME, 0)


@contextmanager
def reads() -> Iterator[list[str]]:
    """Yield a list that has, after the block, what was read back to the host in it."""
    first = len(_reads)
    names: list[str] = []
    yield names
    names.extend(_reads[first:])
