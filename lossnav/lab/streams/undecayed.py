"""``Uncertain`` without a part of it, to see what the part is good for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from lossnav import optim


class Undecayed(optim.Uncertain):
    """``Uncertain`` whose means are not drawn to the prior: its pull, Tμ/v_p, is taken off the gradient beforehand.

    (The curvature is then taken from that gradient, too; the pull is small beside its noise.)
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Cancel the pull, then step."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            uphill = -1.0 if group["maximize"] else 1.0
            for weight in (p for p in group["params"] if p.grad is not None):
                prior = self._state_of(weight, group)
                pull = uphill * group["temperature"] / prior["prior_variance"]
                weight.grad.sub_(weight - prior["prior_mean"], alpha=pull)
        super().step()
        return loss
