"""What a weight matrix believes about its curvature: the variances that a step divides by, the factors behind them.

In bases Q_L and Q_R a gradient is G = Q_Lᵀ g Q_R, and a curvature is a positive number V for each of its entries:

* ``eigenbasis``: V is an average of G²;
* ``kronecker``: row means ⊗ column means of that average, over its mean: the averages L of ggᵀ and R of gᵀg make the
  curvature L ⊗ R / tr L;
* ``bound``: √(nλ ⊗ mμ) of the same means λ, μ: L^½ ⊗ R^½, by which m × n gradients of rank r have C <= r L^½ ⊗ R^½;
* ``likelihood``: λ ⊗ μ, with λ an average of the row means of G²/μ, and μ one of the column means of G²/λ.

Averages have the weight β₂ of their past and are not yet corrected for their beginning, 1 − β₂ⁿ. A side that has no
basis (it is longer than ``max_dim``, or 1) is the identity; one that is cut into blocks has a basis that mixes the
directions of each block alone, and an average L or R of which nothing is kept outside of them. A matrix that is read
off its mean alone keeps none of this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lossnav.optim import _bases
from lossnav.optim._base import Group, State, zeros
from lossnav.optim._bases import by_stacks, eigenbasis, followed, transport, turn

_FLOOR = 1e-3  # of the mean eigenvalue, where a likelihood divides by the other side's: one never seen is zero


def is_matrix(parameter: Tensor, group: Group) -> bool:
    """Whether a parameter is moved as a matrix: it has two axes, and a side that may have a basis."""
    return (
        group["curvature"] != "diagonal"
        and parameter.ndim > 1
        and any(_has_basis(size, group) for size in _sides(parameter))
    )


def start(parameter: Tensor, group: Group, state: State) -> None:
    """Begin without beliefs; the bases are those of the first gradient."""
    blank = zeros(parameter).reshape(len(parameter), -1)
    state["step"] = torch.zeros((), dtype=torch.float32)
    state["m"] = torch.zeros_like(blank)
    if group["curvature"] == "polar" or (group["long"] == "polar" and is_long(max(blank.shape), group)):
        return
    for size, factor, basis, means in zip(
        blank.shape, ("left", "right"), ("ql", "qr"), ("rows", "columns"), strict=True
    ):
        if _has_basis(size, group):
            state[factor], state[basis] = (_bases.blank(blank, size, blocks(size, group)) for _ in range(2))
            if group["curvature"] != "eigenbasis":
                state[means] = blank.new_zeros((size, 1) if factor == "left" else (1, size))
    if group["curvature"] == "eigenbasis":
        state["v"] = torch.zeros_like(blank)


def observe(state: State, turned: Tensor, n: float, group: Group) -> Tensor:
    """Take a gradient, the n-th, that stands in the bases into the variances; return V, to be divided by 1 − β₂ⁿ."""
    beta = group["betas"][1]
    if group["curvature"] == "eigenbasis":
        return state["v"].mul_(beta).addcmul_(turned, turned, value=1 - beta)
    square, rows, columns = turned.square(), state.get("rows"), state.get("columns")
    if group["curvature"] == "likelihood":
        by_column, by_row = _whitened(square, rows, columns, 1 - beta ** (n - 1))
    else:
        by_column = by_row = square
    if rows is not None:
        rows.lerp_(by_column.mean(1, keepdim=True), 1 - beta)
    if columns is not None:
        columns.lerp_(by_row.mean(0, keepdim=True), 1 - beta)
    bound = group["curvature"] == "bound"
    if rows is None or columns is None:
        other = square.shape[0 if rows is None else 1] if bound else 1  # L has n times the means of its rows
        one: Tensor = state["columns" if rows is None else "rows"]
        return (other * one).expand_as(square)
    if bound:
        return (rows * square.shape[1]).sqrt() * (columns * square.shape[0]).sqrt()
    unit = 1 - beta**n if group["curvature"] == "likelihood" else rows.mean().clamp_min(_tiny(rows))
    return rows * (columns / unit)


def watch(state: State, g: Tensor, age: float, since: float, group: Group) -> None:
    """Take a gradient into the factors, of which the eigenvectors are the next bases.

    Args:
        age: how many gradients the variances have seen.
        since: steps since the last one that was taken, whose weights this one has, too.
    """
    weight = 1 - group["betas"][1] ** since
    left, right, ql, qr = (state.get(key) for key in ("left", "right", "ql", "qr"))
    seen_left = seen_right = g
    if group["curvature"] == "likelihood" and age > 0 and ql is not None and qr is not None:
        past = 1 - group["betas"][1] ** age
        seen_left = turn(g, None, qr) / _level(state["columns"], past, 1.0).sqrt()
        seen_right = turn(g, ql, None) / _level(state["rows"], past, 1.0).sqrt()
    if left is not None:
        for stack, part in zip(_bases.stacks(left, len(g)), _bases.rows(seen_left, left), strict=True):
            stack.lerp_(part @ part.mT, weight)
    if right is not None:
        for stack, part in zip(_bases.stacks(right, g.shape[1]), _bases.columns(seen_right, right), strict=True):
            stack.lerp_(part.mT @ part, weight)


def first_bases(state: State) -> None:
    """Read the bases off the factors of one gradient; there is nothing yet to move into them."""
    for factor, basis, size in zip(("left", "right"), ("ql", "qr"), state["m"].shape, strict=True):
        if factor in state:
            state[basis].copy_(by_stacks(eigenbasis, size, state[factor]))


def refresh(state: State, *, afresh: bool) -> None:
    """Turn the bases towards the eigenvectors of the factors, and all that stands in them with them.

    Args:
        afresh: compute the eigenvectors; otherwise one step of orthogonal iteration from the bases that there are.
    """
    turns: dict[str, Tensor | None] = {"left": None, "right": None}
    for factor, basis, size in zip(("left", "right"), ("ql", "qr"), state["m"].shape, strict=True):
        if factor in state:
            old = state[basis]
            new = (
                by_stacks(eigenbasis, size, state[factor]) if afresh else by_stacks(followed, size, state[factor], old)
            )
            turns[factor] = old.mT @ new
            old.copy_(new)
    state["m"].copy_(turn(state["m"], turns["left"], turns["right"]))
    if "v" in state:
        state["v"].copy_(transport(state["v"], turns["left"], turns["right"]))
    if "rows" in state:
        state["rows"].copy_(transport(state["rows"], turns["left"], None))
    if "columns" in state:
        state["columns"].copy_(transport(state["columns"], None, turns["right"]))


def _whitened(square: Tensor, rows: Tensor | None, columns: Tensor | None, past: float) -> tuple[Tensor, Tensor]:
    """Return G²/μ and G²/λ; before anything was seen, of μ the share that has no unit."""
    if rows is None or columns is None:  # the identity on the other side
        return square, square
    return (
        square / _level(columns, past, 1.0),
        square / _level(rows, past, square.mean().clamp_min(_tiny(square))),
    )


def _level(means: Tensor, past: float, otherwise: Any) -> Tensor:
    """Return eigenvalues one may divide by: corrected, with a floor, and ``otherwise`` where nothing was seen yet."""
    mean = means.mean()
    return torch.where(mean > 0, means.clamp_min(_FLOOR * mean) / (past or 1.0), otherwise)


def _tiny(tensor: Tensor) -> float:
    return torch.finfo(tensor.dtype).tiny


def _sides(parameter: Tensor) -> tuple[int, int]:
    return (len(parameter), parameter.numel() // max(len(parameter), 1))


def blocks(size: int, group: Group) -> int:
    """Return into how many blocks a side is cut."""
    return 1 if group["block"] is None else -(-size // group["block"])


def is_long(size: int, group: Group) -> bool:
    """Whether a side is too long for a basis."""
    return bool(_largest(size, group) > group["max_dim"])


def _has_basis(size: int, group: Group) -> bool:
    return _largest(size, group) > 1 and not is_long(size, group)


def _largest(size: int, group: Group) -> int:
    """Return how many directions the largest block of a side has."""
    return -(-size // max(blocks(size, group), 1))
