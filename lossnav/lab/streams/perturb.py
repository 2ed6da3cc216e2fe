"""Shrink and perturb: gradient descent with decay and noise. (Decay alone is an option of torch's optimizers.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from lossnav._checks import finite
from lossnav._checks import seed as check_seed
from lossnav._tensors import parameters as check_parameters
from lossnav.lab.streams.noise import Shaking


class ShrinkAndPerturb(Shaking, torch.optim.SGD):
    """Gradient descent whose weights, at every step, shrink a little and are shaken a little::

        θ ← (1 − lr · weight_decay) θ − lr · g + noise · z,   z ~ N(0, 1)

    Decay keeps weights small and noise keeps them apart. The shrinking is the decay of ``torch.optim.SGD``; without
    ``noise`` the two rules are the same.

    Args:
        params: parameters, or dictionaries of parameter groups.
        lr: rate >= 0.
        weight_decay: decay rate >= 0.
        noise: standard deviation >= 0 of what is added to each weight at each step.
        seed: of the noise. torch's global generator is neither read nor moved.

    Example:
        >>> w = torch.nn.Parameter(torch.zeros(10_000))
        >>> w.grad = torch.zeros_like(w)
        >>> ShrinkAndPerturb([w], lr=0.1, noise=0.01, seed=0).step()
        >>> round(w.std().item(), 3)
        0.01

    References:
        Ash, Adams (2020), "On warm-starting neural network training", who do it between data sets; at every step:
        Dohare et al. (2024).
    """

    noise: float

    def __init__(self, params: Any, lr: float, weight_decay: float = 0.0, noise: float = 1e-4, *, seed: int) -> None:
        for name, value in (("lr", lr), ("weight_decay", weight_decay)):
            finite(name, value, low=0.0)
        self.noise = finite("noise", noise, low=0.0)
        seed = check_seed("seed", seed)
        super().__init__(check_parameters("params", params), lr=lr, weight_decay=weight_decay)
        self._seeded(seed)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Step as gradient descent does, then shake every weight that has a gradient."""
        loss = super().step(closure)
        if self.noise > 0:
            moved = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
            torch._foreach_add_(moved, self._draws(moved), alpha=self.noise)
        return loss
