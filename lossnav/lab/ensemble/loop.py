"""The one loop in which several networks learn together; epochs and streams of tasks differ by what they feed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from torch import Tensor

from lossnav.lab.ensemble.stacked import Ensemble, Loss, member_losses
from lossnav.lab.training.steps import at_draw
from lossnav.optim.finite import judged_elsewhere


class Stepper(Protocol):
    """What learning together asks of a rule: a torch optimizer has it, and so has ``ContinualBackprop``."""

    def step(self) -> Any:
        """Move the parameters by their gradients."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that the rule remembers."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore it, so that a run can go on another day."""


def learn(
    ensemble: Ensemble, rule: Stepper, batches: Iterable[tuple[Tensor, Tensor]], loss: Loss, clip: float | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Learn from batches in their order, and yield after each what was said before it; the device is never waited for.

    Args:
        ensemble: S members, trained in place.
        rule: steps its parameters.
        batches: inputs and targets, (S, B, …) each.
        loss: mean loss of one member's outputs and targets.
        clip: each member's gradient is scaled down to this 2-norm if it is longer; None for no clipping.

    Yields:
        Outputs (S, B, …) and losses (S,), both before the step; of a rule that learns from draws, those of the draw.

    Raises:
        ValueError: the rule does not treat each weight by itself.
    """
    if getattr(rule, "mixes", False):
        raise ValueError(
            f"rule = {type(rule).__name__} takes the rows and columns of a tensor together, but it must treat each "
            "weight by itself: the tensors of all networks are stacked here"
        )
    parameters = list(ensemble.parameters())
    for x, y in batches:
        for parameter in parameters:  # as zero_grad does, which walks through all modules to find them
            parameter.grad = None
        with at_draw(rule):
            outputs = ensemble(x)
            values = member_losses(outputs, y, loss)
            values.sum().backward()
        if clip is not None:
            ensemble.clip_grad_norm(clip)
        with judged_elsewhere():  # one member may diverge, and hurts no other
            rule.step()
        yield outputs.detach(), values.detach()
