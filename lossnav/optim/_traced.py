"""The operations of a generated step where numbers may be tensors, as ``torch.compile`` sees them.

A step that is compiled must not be compiled anew when its number or its rate changes, so that both are tensors of no
dimension there; so is a rate that a schedule moves on a device, where reading it would stall. The list
operations whose numbers such a tensor may be, and the functions of ``math``, stand below under the names that the
generated text calls; the other list operations are torch's.
"""

from __future__ import annotations

import math
from typing import Any

import torch

globals().update({name: getattr(torch, name) for name in dir(torch) if name.startswith("_foreach_")})

finfo = torch.finfo

Lists = Any


def _on(function: Any, plain: Any) -> Any:
    """Return a function of numbers that may be tensors."""
    return lambda x: function(x) if torch.is_tensor(x) else plain(x)


exp, expm1, sqrt = _on(torch.exp, math.exp), _on(torch.expm1, math.expm1), _on(torch.sqrt, math.sqrt)


def _each(lists: Lists, number: Any) -> Any:
    """Return what an operation on a list takes for a number: of a tensor, one beside each entry."""
    return [number] * len(lists) if torch.is_tensor(number) else number


def _foreach_mul(x: Lists, y: Any) -> Lists:
    return torch._foreach_mul(x, _each(x, y))


def _foreach_mul_(x: Lists, y: Any) -> None:
    torch._foreach_mul_(x, _each(x, y))


def _foreach_add(x: Lists, y: Any, alpha: Any = 1.0) -> Lists:
    return torch._foreach_add(x, _foreach_mul(y, alpha) if isinstance(y, list) else _each(x, y))


def _foreach_add_(x: Lists, y: Any, alpha: Any = 1.0) -> None:
    torch._foreach_add_(x, _foreach_mul(y, alpha) if isinstance(y, list) else _each(x, y))


def _foreach_addcmul_(x: Lists, y: Lists, z: Lists, value: Any) -> None:
    torch._foreach_addcmul_(x, _foreach_mul(y, value), z)


def _foreach_addcdiv_(x: Lists, y: Lists, z: Lists, value: Any) -> None:
    torch._foreach_addcdiv_(x, _foreach_mul(y, value), z)


def _foreach_lerp(x: Lists, y: Lists, weight: Any) -> Lists:
    return torch._foreach_add(x, _foreach_mul(torch._foreach_sub(y, x), weight))


def _foreach_lerp_(x: Lists, y: Lists, weight: Any) -> None:
    torch._foreach_add_(x, _foreach_mul(torch._foreach_sub(y, x), weight))


def _foreach_clamp_min(x: Lists, bound: Any) -> Lists:
    return [torch.clamp_min(t, bound) for t in x] if torch.is_tensor(bound) else torch._foreach_clamp_min(x, bound)


def smaller(x: Any, y: float) -> Any:
    """Return the smaller of two numbers."""
    return torch.clamp(x, max=y) if torch.is_tensor(x) else min(x, y)
