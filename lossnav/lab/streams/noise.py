"""Optimizers that shake weights, by draws of their own: torch's global generator is neither read nor moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Shaking(torch.optim.Optimizer):
    """An optimizer with a generator, whose state is kept with its own."""

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
