"""One step of training, its surroundings, and the evaluation after an epoch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lossnav.lab.data import Dataset, Split
from lossnav.lab.training.arithmetic import Arithmetic
from lossnav.lab.training.team import Team
from lossnav.optim.finite import judged_elsewhere

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Step:
    """Forward pass, backward pass, clipping and update.

    A rule that looks at the curvature of the loss (``observe``) is shown it where it is due, and one that learns from
    draws of the weights (``sampled``) gets its gradient at a draw.

    Args:
        model: as it is called: perhaps compiled, perhaps averaging its gradients over processes.
        optimizer: of its parameters.
        loss: mean loss of logits and labels.
        clip: largest 2-norm of the gradient, or None.
        arithmetic: of the forward pass.
        team: processes that share each batch.
    """

    model: nn.Module
    optimizer: Any  # a torch.optim.Optimizer; some have more than that
    loss: Loss
    clip: float | None
    arithmetic: Arithmetic
    team: Team

    def __call__(self, x: Tensor, y: Tensor, share: float = 1.0) -> Tensor:
        """Take a step on this process's images and labels; return their loss.

        ``share`` is this process's part of the batch. Processes average their gradients, but the mean over a batch
        weighs each by its share: mean over batch = Σ_r share_r · mean_r = (1/size) Σ_r (size · share_r) · mean_r.
        """
        self.optimizer.zero_grad(set_to_none=True)  # before the activations need memory
        with at_draw(self.optimizer):
            with self.arithmetic.autocast(x.device):
                value = self.loss(self.model(self.arithmetic.images(x)), y)
            weighed = value if self.team.size == 1 else value * (share * self.team.size)
            if observes(self.optimizer) and self.optimizer.curvature_due():
                self.optimizer.observe(weighed)
            weighed.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters(), self.clip)
        with judged_elsewhere():
            self.optimizer.step()
        return value.detach() if self.team.size == 1 else value.detach() * share

    def parameters(self) -> list[Tensor]:
        """Return all parameters of the optimizer."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]


def check_splits(dataset: Dataset) -> None:
    """Raise unless there is an example to learn from and one to test on."""
    for name, split in (("train", dataset.train), ("test", dataset.test)):
        if not len(split):
            raise ValueError(f"dataset.{name} has no examples, but it must have one at least")


def steps_of(split: Split, batch_size: int) -> int:
    """Return how many steps an epoch has; the last batch may be smaller."""
    return -(-len(split) // batch_size)


def epoch_mean(losses: Tensor, count: int, batch_size: int) -> float:
    """Return the mean over ``count`` examples from the means over their batches, the last of which may be smaller."""
    sizes = torch.full((len(losses),), batch_size, dtype=torch.float64)
    sizes[-1] = count - batch_size * (len(losses) - 1)
    return float(losses.cpu().double() @ sizes / sizes.sum())


def at_draw(rule: Any) -> AbstractContextManager[None]:
    """Return the block in which a network has the weights that its gradient is taken at: its own, or a draw of them."""
    draws = hasattr(rule, "sampled") and any(group.get("sample") for group in rule.param_groups)
    return rule.sampled() if draws else nullcontext()


def observes(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the rule needs to differentiate a gradient: Hutchinson's estimate of the curvature."""
    return getattr(optimizer, "curvature", None) == "hutchinson"


def evaluate(
    model: nn.Module, split: Split, loss: Loss, arithmetic: Arithmetic, team: Team, batch_size: int = 2000
) -> tuple[float, float]:
    """Evaluate in the arithmetic of a run; processes that share it evaluate a part each, and all get the result."""
    was_training = model.training
    model.eval()
    total = torch.zeros((), device=split.x.device)
    correct = torch.zeros((), device=split.x.device, dtype=torch.int64)
    part = team.part(len(split))
    try:
        with torch.no_grad():
            for start in range(part.start, part.stop, batch_size):
                x, y = split.batch(slice(start, min(start + batch_size, part.stop)))
                with arithmetic.autocast(x.device):
                    logits = model(arithmetic.images(x))
                    total += loss(logits, y) * len(y)
                correct += (logits.argmax(1) == y).sum()
    finally:
        model.train(was_training)
    return team.sum(total).item() / len(split), team.sum(correct).item() / len(split)
