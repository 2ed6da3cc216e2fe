"""Rules that shake weights: shrink and perturb. (Decay alone is an option of torch's optimizers.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from lossnav._checks import finite
from lossnav._checks import seed as check_seed
from lossnav._tensors import parameters as check_parameters


class Shaking(torch.optim.Optimizer):
    """An optimizer with a generator of its own, whose state is kept with the rest; torch's is not moved."""

    _generator: torch.Generator

    def _seeded(self, seed: int) -> None:
        self._generator = torch.Generator(self.param_groups[0]["params"][0].device).manual_seed(seed)

    def _draws(self, moved: Sequence[Tensor]) -> list[Tensor]:
        """Return draws from N(0, 1) for each entry of some weights, in one call."""
        noise = torch.randn(sum(p.numel() for p in moved), generator=self._generator, device=moved[0].device)
        parts = noise.to(moved[0].dtype).split([p.numel() for p in moved])
        return [z.view_as(p) for z, p in zip(parts, moved, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state with that of its noise."""
        return {**super().state_dict(), "generator": self._generator.get_state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "generator"})
        self._generator.set_state(state_dict["generator"].cpu())


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
        moved = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        if moved and self.noise > 0:
            torch._foreach_add_(moved, self._draws(moved), alpha=self.noise)
        return loss
