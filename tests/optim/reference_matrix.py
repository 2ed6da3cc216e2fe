"""``BallisticMatrix`` again, by the matrix of all weights with all weights: for layers of a few dozen weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lossnav.optim import belief
from lossnav.optim._base import Group, State
from lossnav.optim.matrix import BallisticMatrix
from lossnav.rules.bases import blocks, eigenbasis, followed, largest

_RELATIVE = {"eigenbasis": 1e-8, "likelihood": 1e-3, "kronecker": 1e-3, "bound": 1e-3, "polar": 1e-6}


class BallisticMatrixReference(BallisticMatrix):
    """``BallisticMatrix``, same arguments, same results: C is written out, D × D, and C^{−1/2} made by its eigenvalues.

    Nothing stands in a basis here. That C is diagonal in a basis is done by projection, C ← K diag(diag(KᵀCK)) Kᵀ with
    K = Q_L ⊗ Q_R, after each gradient and after each turn of the bases.
    """

    _memory: tuple[str, ...] = ()

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        for theta, g, state in zip(params, grads, states, strict=True):
            if "v" in state and "ql" not in state and "qr" not in state:
                belief.Believing._update(self, group, [theta], [g], [state])
                continue
            theta.mul_(1 - belief.step_rate(group) * group["weight_decay"])
            state["step"] += 1
            step = _advance(group, g.reshape(len(g), -1), state, state["step"].item())
            if step is not None:
                theta.add_(step.reshape(theta.shape))


def _advance(group: Group, g: Tensor, state: State, n: int) -> Tensor | None:
    """Take one gradient; return the step of the matrix, or None."""
    (beta1, beta2), kind = group["betas"], group["curvature"]
    rows, columns = g.shape
    if kind == "polar" or (group["long"] == "polar" and largest(max(g.shape), group["block"]) > group["max_dim"]):
        group = {**group, "curvature": "polar"}
        state["m"].copy_(beta1 * state["m"] + (1 - beta1) * g)
        m = state["m"] / (1 - beta1**n)
        one_sided = _kron(m @ m.T / columns, _one(columns, m))
        if rows > columns:
            one_sided = _kron(_one(rows, m), m.T @ m / rows)
        weights = [beta1**past * (1 - beta1) / (1 - beta1**n) for past in range(int(n))]
        return _plan(group, one_sided / (sum(w * w for w in weights) if group["noise"] else 1.0), m)
    if n == 1:
        for name in ("L", "R"):  # the averages of ggᵀ and gᵀg; kept out of the state's names of the fast rule
            state[name] = torch.zeros(len(g) if name == "L" else columns, dtype=g.dtype).diag()
        state["A"], state["B"] = torch.zeros_like(state["L"]), torch.zeros_like(state["R"])
        state["C"] = torch.zeros(g.numel(), dtype=g.dtype).diag()
        _watch(group, g, state, 0, 1)
        _set_bases(group, state, eigenbasis)
        return None
    age = n - 1
    state["m"].copy_(beta1 * state["m"] + (1 - beta1) * g)
    left, right, joint = _bases(state, rows, columns, g)
    state["C"] = beta2 * state["C"] + (1 - beta2) * _projected(torch.outer(g.flatten(), g.flatten()), joint)
    over_b, over_a = _divided(group, g, state, age - 1)
    state["A"] = beta2 * state["A"] + (1 - beta2) * _projected(over_b, left)
    state["B"] = beta2 * state["B"] + (1 - beta2) * _projected(over_a, right)
    step = _plan(group, _believed(kind, state, 1 - beta2**age), state["m"] / (1 - beta1**age))
    if _is_watched(n, group):
        _watch(group, g, state, age, _since(n, group))
    if _is_due(n, group):
        _set_bases(group, state, eigenbasis if n <= group["every"] else followed)
        left, right, joint = _bases(state, rows, columns, g)
        for name, basis in (("C", joint), ("A", left), ("B", right)):
            state[name] = _projected(state[name], basis)
    return step


def _is_due(n: int, group: Group) -> bool:
    return n % group["every"] == 0 or (n < group["every"] and n in (1, 2, 4, 8, 16, 32, 64))


def _is_watched(n: int, group: Group) -> bool:
    return n == 1 or n % group["watch"] == 0 or _is_due(n, group)


def _since(n: int, group: Group) -> int:
    return next(k for k in range(1, int(n)) if _is_watched(n - k, group))


def _believed(kind: str, state: State, corrected: float) -> Tensor:
    """Return the curvature C of all weights with all."""
    if kind == "eigenbasis":
        return state["C"] / corrected
    a, b = state["A"] / corrected, state["B"] / corrected
    if kind == "bound":  # A and B are L/n and R/m
        a, b = a * len(b), b * len(a)
    if "ql" not in state or "qr" not in state:
        return _kron(a, _one(len(b), b)) if "ql" in state else _kron(_one(len(a), a), b)
    if kind == "bound":
        return _kron(_root(a), _root(b))
    return _kron(a, b) / (1.0 if kind == "likelihood" else a.trace() / len(a))


def _divided(group: Group, g: Tensor, state: State, age: float) -> tuple[Tensor, Tensor]:
    """Return g B⁻¹ gᵀ/n and gᵀ A⁻¹ g/m, without the inverses where these are not part of the belief."""
    rows, columns = g.shape
    if group["curvature"] != "likelihood" or "ql" not in state or "qr" not in state:
        return g @ g.T / columns, g.T @ g / rows
    if age == 0:
        return g @ g.T / columns, g.T @ g / rows / g.square().mean()
    past = 1 - group["betas"][1] ** age
    return g @ _inverse(state["B"] / past) @ g.T / columns, g.T @ _inverse(state["A"] / past) @ g / rows


def _watch(group: Group, g: Tensor, state: State, age: float, since: float) -> None:
    over_b, over_a = _divided(group, g, state, age)
    decay = group["betas"][1] ** since
    scale_l, scale_r = g.shape[1], g.shape[0]
    state["L"] = decay * state["L"] + (1 - decay) * over_b * scale_l
    state["R"] = decay * state["R"] + (1 - decay) * over_a * scale_r


def _set_bases(group: Group, state: State, make: Any) -> None:
    for factor, basis in (("L", "ql"), ("R", "qr")):
        if basis in state:
            matrices = [state[factor]] if make is eigenbasis else [state[factor], state[basis]]
            cuts = torch.arange(len(matrices[0])).tensor_split(blocks(len(matrices[0]), group["block"]))
            state[basis] = torch.block_diag(*(make(*(x[cut][:, cut] for x in matrices)) for cut in cuts))


def _bases(state: State, rows: int, columns: int, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    left, right = state.get("ql", _one(rows, like)), state.get("qr", _one(columns, like))
    return left, right, _kron(left, right)


def _projected(matrix: Tensor, basis: Tensor) -> Tensor:
    """Return what of a matrix is diagonal in a basis."""
    return basis @ torch.diag(torch.diag(basis.T @ matrix @ basis)) @ basis.T


def _inverse(matrix: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(matrix)
    return vectors @ torch.diag(1 / values.clamp_min(1e-3 * values.mean())) @ vectors.T


def _root(matrix: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(matrix)
    return vectors @ torch.diag(values.clamp_min(0).sqrt()) @ vectors.T


def _one(size: int, like: Tensor) -> Tensor:
    return torch.eye(size, dtype=like.dtype)


def _plan(group: Group, curvature: Tensor, mean: Tensor) -> Tensor:
    """Return −S(C) m, S = lr/(√(C + ε²) + ε)."""
    relative = group["eps_relative"]
    relative = _RELATIVE[group["curvature"]] if relative is None else relative
    curvature = curvature + relative * curvature.trace() / len(curvature) * _one(len(curvature), curvature)
    values, vectors = torch.linalg.eigh(curvature)
    root = values.clamp_min(0).sqrt() + group["eps"] + 1e-30
    epsilon = belief.damping(group)
    if belief.is_overdamped(group):
        root = torch.ones_like(root)
    elif epsilon is not None:
        root = (values.clamp_min(0) + epsilon**2).sqrt() + epsilon
    sign = -1.0 if group["maximize"] else 1.0
    gain = float(belief.step_rate(group)) / root
    return -sign * (vectors @ torch.diag(gain) @ vectors.T @ mean.flatten()).reshape(mean.shape)


def _kron(a: Tensor, b: Tensor) -> Tensor:
    return torch.kron(a.contiguous(), b.contiguous())
