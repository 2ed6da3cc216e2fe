"""Gradients that are not finite, refused by the parameter's name before anything is written.

One inf in a gradient makes NaN of a weight for good, and of each average that it enters; a rule for matrices spreads it
over the whole matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

from lossnav.optim import _shards

Groups = list[dict[str, Any]]
_judged: ContextVar[bool] = ContextVar("judged", default=False)


@contextmanager
def judged_elsewhere() -> Iterator[None]:
    """Leave the look out: for a loop that sees by itself when one of its runs diverges."""
    before = _judged.set(True)
    try:
        yield
    finally:
        _judged.reset(before)


def is_judged_elsewhere() -> bool:
    """Whether a loop around the step has said so."""
    return _judged.get()


def check(groups: Groups) -> None:
    """Raise ``ValueError`` if a gradient on the CPU has an entry that is not finite.

    The sum of squares of all gradients tells: one pass over them. It may overflow where they are finite, or underflow,
    which does no harm; so where it is not finite each gradient is looked at.
    """
    gradients = [_shards.local(g) for _, g in _moved(groups)]
    for dtype in {g.dtype for g in gradients}:
        norms = torch._foreach_norm([g for g in gradients if g.dtype is dtype])
        if not torch.stack(norms).sum().isfinite():
            _name(groups)


def _moved(groups: Groups) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the parameters whose gradients are looked at, with these."""
    for group in groups:
        for p in group["params"]:
            if p.grad is not None and p.grad.device.type == "cpu" and p.grad.layout == torch.strided:
                yield p, p.grad


def _name(groups: Groups) -> None:
    """Raise for the first gradient that is not finite, if there is one."""
    broken = {id(p): g for p, g in _moved(groups) if not _shards.local(g).isfinite().all()}
    for number, group in enumerate(groups):
        names = group.get("param_names", [])
        for i, p in enumerate(group["params"]):
            if id(p) in broken:
                which = repr(names[i]) if len(names) > i else f"{i} of group {number}"
                count = int((~_shards.local(broken[id(p)]).isfinite()).sum())
                raise ValueError(
                    f"the gradient of parameter {which}, shape {tuple(p.shape)}, has {count} entries that are inf or "
                    "NaN, but all must be finite: nothing has moved (check_gradients = False leaves this out)"
                )
