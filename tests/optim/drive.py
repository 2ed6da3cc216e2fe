"""Feeding a list of gradients to an optimizer: what the tests of single rules share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def gradients(count: int, size: int = 4, seed: int = 0) -> np.ndarray:
    """Noise of scales from 1e-3 to 10, shape (count, size)."""
    return np.random.default_rng(seed).normal(size=(count, size)) * np.logspace(-3, 1, size)


def drive(optimizer_class: Any, grads: np.ndarray, *, start: Any = 1.0, **options: Any) -> np.ndarray:
    """Return the path of one float64 parameter that is given these gradients, shape of ``grads``."""
    parameter = torch.nn.Parameter(torch.ones(grads.shape[1:], dtype=torch.float64) * torch.as_tensor(start))
    optimizer = optimizer_class([parameter], **options)
    path = []
    for g in grads:
        parameter.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step()
        path.append(parameter.detach().clone().numpy())
    return np.array(path)
