"""Feeding a list of gradients to an optimizer, or to a rule on arrays: what the tests of single rules share."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch


def noise(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Independent N(0, 1) numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def gradients(count: int, size: int = 4, seed: int = 0) -> np.ndarray:
    """Noise of scales from 1e-3 to 10, shape (count, size)."""
    return np.random.default_rng(seed).normal(size=(count, size)) * np.logspace(-3, 1, size)


def drive(
    optimizer_class: Any, grads: Any, *, start: Any = 1.0, dtype: torch.dtype = torch.float64, **options: Any
) -> np.ndarray:
    """Return the path of one parameter that is given these gradients, shape of ``grads``."""
    parameter = torch.nn.Parameter((torch.ones(grads.shape[1:]) * torch.as_tensor(start)).to(dtype))
    optimizer = optimizer_class([parameter], **options)
    path = []
    for g in grads:
        parameter.grad = torch.as_tensor(g).to(dtype, copy=True)
        optimizer.step()
        path.append(parameter.detach().to(torch.float64, copy=True).numpy())
    return np.array(path)


def walk(rule: Any, grads: np.ndarray, start: np.ndarray, told: Any = None) -> tuple[np.ndarray, Any]:
    """Return the path of a derived rule on arrays, shape of ``grads``, and its last state."""
    theta, state, path = start, rule.init(start), []
    for n, g in enumerate(grads):
        step, state = rule(g, state, theta, curvature=None if told is None else told[n])
        theta = theta + step
        path.append(theta)
    return np.array(path), state


class _Lists:
    """The list operations that a generated text calls, on one numpy array: each rounds once, in its precision."""

    @staticmethod
    def finfo(dtype):
        return SimpleNamespace(tiny=float(np.finfo(dtype).tiny))

    def __getattr__(self, name):
        real, kind = self.real, name.removeprefix("_foreach_")

        def do(target, *parts, alpha=1.0):
            x, *others = (real(p) if isinstance(p, float) else p[0] for p in (target, *parts))
            y, z, w = (*others, None, None, None)[:3]
            result = {
                "copy_": lambda: y, "mul": lambda: x * y, "div": lambda: x / y, "sub": lambda: x - y, "neg": lambda: -x,
                "add": lambda: x + y if alpha == 1 else x + real(alpha) * y, "sqrt": lambda: np.sqrt(x),
                "lerp": lambda: x + z * (y - x), "addcmul": lambda: x + w * y * z, "addcdiv": lambda: x + w * y / z,
                "clamp_min": lambda: np.maximum(x, y),
            }[kind if kind == "copy_" else kind.removesuffix("_")]()  # fmt: skip
            if not kind.endswith("_"):
                return [result]
            target[0] = result
            return target

        return do


def in_numpy(optimizer, theta, grads):
    """Walk by the text of an optimizer's step on numpy's arrays; return the weights."""
    (group,), lists, space = optimizer.param_groups, _Lists(), {"math": math}
    lists.real, space["torch"] = theta.dtype.type, lists
    written = optimizer._step_of(group).written
    exec(written.python, space)
    theta, memory = [theta], [[np.zeros_like(theta)] for _ in written.memory]
    sign = theta[0].dtype.type(-1 if group["maximize"] else 1)
    for n, g in enumerate(grads, start=1):
        space["step"](theta, [sign * g], *memory, float(n), *map(float, optimizer._values(group)))
    return theta[0]
