"""What the tests of fused steps share: the text of a kernel, numbers in float32, and a walk."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from drive import noise

from lossnav.optim import Ballistic

KERNEL = Ballistic([torch.zeros(1)])._step_of({"momentum": None, "bias_correction": True, "weight_decay": 0})[0].kernel
random = partial(noise, dtype=torch.float32)


def walk(parameters: list[torch.nn.Parameter], steps: int = 20, **options: Any) -> Ballistic:
    """Take steps along a fixed stream of gradients; return the optimizer."""
    optimizer, generator = Ballistic(parameters, lr=0.01, beta=0.9, **options), torch.Generator().manual_seed(7)
    for _ in range(steps):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p.dtype)
        optimizer.step()
    return optimizer
