"""Utility-based perturbed gradient descent: noise goes to the weights that the loss would miss least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lossnav._checks import finite, flag, instance, weight
from lossnav._checks import seed as check_seed
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.streams.perturb import Shaking

_TINY = 1e-30  # where no weight is of use, none is spared


class UtilityPerturbed(Shaking):
    """Gradient descent that shakes each weight in proportion to how useless it is.

    The utility of a weight is what the loss would lose without it, to first order, as a running average::

        u ← decay · u − (1 − decay) · g θ,   U = sigmoid(u / max u)
        θ ← θ − lr · g − noise · (1 − U) z            (``protect`` False)
        θ ← θ − (lr · g + noise · z) (1 − U)          (``protect`` True: useful weights also learn more slowly)

    with z ~ N(0, 1) and the maximum over all weights of one member. u is divided by 1 − decay^step before it is used.

    Args:
        ensemble: whose members' weights are stepped; one model is an ensemble too.
        lr: rate >= 0.
        noise: standard deviation >= 0 of what is added to a weight of no utility at each step. The authors' σ is
            noise / lr.
        protect: whether useful weights are held, too.
        decay: of the running average, in [0, 1).
        seed: of the noise. torch's global generator is neither read nor moved.

    Example:
        >>> from lossnav import models
        >>> several = Ensemble([models.mlp(64, (32,), seed=s) for s in range(2)])
        >>> rule = UtilityPerturbed(several, lr=0.1, noise=1e-3, seed=0)
        >>> several.losses(torch.randn(2, 16, 64), torch.randint(10, (2, 16))).sum().backward()
        >>> rule.step()

    References:
        Elsayed, Mahmood (2024), "Addressing loss of plasticity and catastrophic forgetting in continual learning",
        with the first-order utility and the global maximum. No weight decay here.
    """

    def __init__(
        self, ensemble: Ensemble, lr: float, noise: float, *, protect: bool = False, decay: float = 0.999, seed: int
    ) -> None:
        instance("ensemble", ensemble, Ensemble, "an Ensemble")
        finite("lr", lr, low=0.0)
        finite("noise", noise, low=0.0)
        weight("decay", decay)  # at 1 the average would never begin
        flag("protect", protect)
        seed = check_seed("seed", seed)
        super().__init__(ensemble.parameters(), {"lr": lr, "noise": noise, "protect": protect, "decay": decay})
        self._seeded(seed)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Step as gradient descent does, and shake what is of little use."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            if moved:
                self._shake(moved, group)
        return loss

    def _shake(self, moved: list[Tensor], group: dict[str, Any]) -> None:
        gradients = [p.grad for p in moved if p.grad is not None]
        utilities = self._utilities(moved, gradients, group["decay"])
        best = torch.stack([u.flatten(1).amax(1) for u in utilities]).amax(0).clamp_min(_TINY)  # (S,)
        ratios = torch._foreach_div(utilities, [best.view(-1, *[1] * (p.ndim - 1)) for p in moved])
        useless = list(torch._foreach_sigmoid(torch._foreach_neg(ratios)))
        shakes = self._draws(moved)
        if group["protect"]:
            gradients = list(torch._foreach_mul(gradients, useless))
        torch._foreach_add_(moved, gradients, alpha=-group["lr"])
        torch._foreach_addcmul_(moved, shakes, useless, value=-group["noise"])

    def _utilities(self, moved: list[Tensor], gradients: list[Tensor], decay: float) -> list[Tensor]:
        for p in moved:
            if not self.state[p]:
                self.state[p].update(step=0, utility=torch.zeros_like(p))
            self.state[p]["step"] += 1
        averages = [self.state[p]["utility"] for p in moved]
        torch._foreach_mul_(averages, decay)
        torch._foreach_addcmul_(averages, gradients, moved, value=decay - 1)
        return list(torch._foreach_div(averages, [1 - decay ** self.state[p]["step"] for p in moved]))
