"""Gradients that are not finite, refused by the parameter's name before anything is written.

One inf in a gradient makes NaN of a weight for good, and of each average that it enters; a rule for matrices spreads it
over the whole matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def check(groups: Groups, *, squares: bool, owner: Any) -> None:
    """Raise ``ValueError`` if a gradient on the CPU has an entry that is not finite, or ``squares`` that are not.

    The norms of all gradients tell: one pass over them. Those of half precision may overflow where no entry is inf; so
    where one is not finite each gradient is looked at. Processes that hold parts of one model raise together.

    Args:
        groups: of this process.
        squares: whether the squares must be finite, too.
        owner: the ZeroRedundancyOptimizer around the optimizer, if there is one.

    Raises:
        RuntimeError: a gradient is sparse.
    """
    error: Exception | None = None
    try:
        error = _unsound(groups, squares)
    except RuntimeError as sparse:
        error = sparse
    _refuse_together(error, [p for group in groups for p in group["params"]], "gradient", owner)


def check_estimates(groups: Groups, params: Sequence[Tensor], estimates: Sequence[Tensor | None], owner: Any) -> None:
    """Raise ``ValueError``, as ``check``, unless the estimates of the curvature on the CPU are finite."""
    pairs = zip(params, estimates, strict=True)
    judged = [(p, e) for p, e in pairs if e is not None and e.device.type == "cpu"]
    _refuse_together(_named(groups, judged, "curvature", False), params, "curvature", owner)


def _unsound(groups: Groups, squares: bool) -> ValueError | None:
    """Return the error about the first gradient of this process that is not finite, or has no square."""
    moved = list(_moved(groups))
    gradients = [_shards.local(g) for _, g in moved]
    for dtype in {g.dtype for g in gradients}:
        norms = torch.stack(torch._foreach_norm([g for g in gradients if g.dtype is dtype]))
        if not (norms.float() if dtype.itemsize < 4 else norms).square().sum().isfinite():
            return _named(groups, moved, "gradient", squares)
    return None


def _refuse_together(error: Exception | None, params: Sequence[Tensor], what: str, owner: Any) -> None:
    """Raise the error of this process, or say that another one has its own."""
    if _shards.on_any(error is not None, params, owner):
        raise error or _refusal(f"another process has refused the {what} of its part of the model, and says why")


def _refusal(wrong: str) -> ValueError:
    return ValueError(f"{wrong}: nothing has moved (check_gradients = False leaves this out)")


def check_dense(parameter: Tensor, gradient: Tensor) -> None:
    """Raise ``RuntimeError`` if a parameter's gradient is sparse."""
    if gradient.layout != torch.strided:
        raise RuntimeError(
            f"a sparse gradient (layout {gradient.layout}) came for a parameter of shape {tuple(parameter.shape)}, but "
            "it must be dense: use sparse=False in the embedding"
        )


def _moved(groups: Groups) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the parameters whose gradients are looked at, with these."""
    for group in groups:
        for p in group["params"]:
            gradient = p.grad
            if gradient is not None:
                check_dense(p, gradient)
                if gradient.device.type == "cpu":
                    yield p, gradient


def _named(groups: Groups, judged: Sequence[tuple[Tensor, Tensor]], what: str, squares: bool) -> ValueError | None:
    """Return the error about the first of tensors, each of a parameter, that is not finite, or has no square."""
    tensors = {id(p): _shards.local(tensor) for p, tensor in judged}
    for number, group in enumerate(groups):
        names = group.get("param_names", [])
        for i, p in enumerate(group["params"]):
            if id(p) not in tensors:
                continue
            entries = tensors[id(p)].to(torch.promote_types(tensors[id(p)].dtype, torch.float32))
            finite, wrong = entries.isfinite(), ""
            if not finite.all():
                wrong = f"has {int((~finite).sum())} entries that are inf or NaN, but all must be finite"
            elif squares and not entries.norm().square().isfinite():
                wrong = f"has the norm {float(entries.norm()):.2g}, but its square must be finite in {entries.dtype}"
            if wrong:
                which = repr(names[i]) if len(names) > i else f"{i} of group {number}"
                return _refusal(f"the {what} of parameter {which}, shape {tuple(p.shape)}, {wrong}")
    return None
