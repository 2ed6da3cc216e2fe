"""The optimizers again, one tensor at a time and line by line as in the paper: slow, plain, the yardstick."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ._base import Group, Rule, State
from .ballistic import check_options, start_state


def ballistic(theta: Tensor, v: Tensor, g: Tensor, *, lr: float, beta: float, eps: float) -> tuple[Tensor, Tensor]:
    """Return (θ, v) after one step of the ballistic rule, Eq. 33 to the letter.

        v ← β v + (1 − β) g²
        θ ← θ − lr · g / √(v + ε)

    Args:
        theta: parameters θ, any shape.
        v: running second moment of the gradient, the same shape; zero before the first step.
        g: gradient at θ, the same shape.
        lr: learning rate. beta: weight of the past in v. eps: ε, inside the root.

    Returns:
        The new θ and v; the arguments are left alone.

    References:
        Vastola, Gershman, Rajan (2025), Eq. 33.
    """
    v = beta * v + (1 - beta) * g**2
    theta = theta - lr * g / (v + eps).sqrt()
    return theta, v


class BallisticReference(Rule):
    """``Ballistic`` with all its options, spelled out for one tensor at a time; same arguments, same results."""

    def __init__(
        self, params: Any, lr: float = 1e-3, beta: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0, *,
        bias_correction: bool = False, momentum: float | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "beta": beta, "eps": eps, "weight_decay": weight_decay, "bias_correction": bias_correction,
            "momentum": momentum, "maximize": maximize, "foreach": False,
        }  # fmt: skip
        super().__init__(params, options)

    def _check(self, group: Group) -> None:
        check_options(group)

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        start_state(parameter, group, state)

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        lr, beta, beta1 = group["lr"], group["beta"], group["momentum"]
        uphill = -1.0 if group["maximize"] else 1.0
        for theta, g, state in zip(params, grads, states, strict=True):
            state["step"] += 1
            n = state["step"].item()
            v = state["v"] = beta * state["v"] + (1 - beta) * g**2
            m = g
            if beta1 is not None:
                m = state["m"] = beta1 * state["m"] + (1 - beta1) * g
            if group["bias_correction"]:
                v = v / (1 - beta**n)
                m = m if beta1 is None else m / (1 - beta1**n)
            decayed = (1 - lr * group["weight_decay"]) * theta
            theta.copy_(decayed - uphill * lr * m / (v + group["eps"]).sqrt())
