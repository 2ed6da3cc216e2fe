r"""The coordinates in which AdamW is SGD with momentum.

While the mean square V of the gradients stands still, AdamW's step, with P = √V + ε,

.. math:: \theta\leftarrow(1-\mathrm{lr}\,\lambda)\,\theta-\mathrm{lr}\,P^{-1}m,\qquad m\leftarrow\beta_1m+(1-\beta_1)g,

is in :math:`\varphi=P^{1/2}\theta`, where the gradient is :math:`P^{-1/2}g`, that of SGD with momentum β₁(1−lr λ) at
the rate η = lr(1−β₁): what holds of SGD holds there, of the curvature :math:`P^{-1/2}HP^{-1/2}` and of the noise in φ.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


class _Scaled(nn.Module):
    """θ = φ/scale, which remembers the mean square that the scale is made of."""

    scale: Tensor
    square: Tensor

    def __init__(self, scale: Tensor, square: Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("square", square)

    def forward(self, phi: Tensor) -> Tensor:
        return phi / self.scale

    def right_inverse(self, theta: Tensor) -> Tensor:
        return theta * self.scale


def scaled(model: nn.Module, square: Tensor, eps: float) -> nn.Module:
    """Return a copy of a model whose parameters are φ = (√V + ε)^{1/2}θ.

    Args:
        model: the network.
        square: V > 0, flat, shape (D,), in the order of the parameters that require gradients.
        eps: ε >= 0.

    Raises:
        ValueError: layers share a parameter.
    """
    copied = copy.deepcopy(model)
    trained = [(module, name) for module in copied.modules() for name, p in module.named_parameters(recurse=False)
               if p.requires_grad]  # fmt: skip
    names = [name for name, p in copied.named_parameters() if p.requires_grad]
    if len(trained) != len(names):
        raise ValueError("model has layers that share a parameter, which AdamW's coordinates cannot be given to yet")
    parts = square.split([getattr(module, name).numel() for module, name in trained])
    for (module, name), part in zip(trained, parts, strict=True):
        mean = part.view_as(getattr(module, name))
        parametrize.register_parametrization(module, name, _Scaled((mean.sqrt() + eps).sqrt(), mean.clone()))
    return copied


def scale_of(model: nn.Module) -> tuple[Tensor, Tensor] | None:
    """Return scale and V of a ``scaled`` model, flat, shape (D,) each, in the order of its parameters; else None."""
    owners = [model.get_submodule(name.rpartition(".")[0]) for name, p in model.named_parameters() if p.requires_grad]
    lists = [owner for owner in owners if isinstance(owner, parametrize.ParametrizationList)]
    parts = [part for parametrizations in lists for part in parametrizations if isinstance(part, _Scaled)]
    if len(parts) < len(owners):
        return None
    return torch.cat([part.scale.flatten() for part in parts]), torch.cat([part.square.flatten() for part in parts])


def plainly(name: str) -> str:
    """Return the name that a parameter had before."""
    return name.replace("parametrizations.", "").removesuffix(".original")
