r"""The optimal step of one coordinate, Eq. 6, for lists of tensors: what the rules with a curvature share.

With a curvature h the step is −φ g, where

.. math:: \varphi = S\,\frac{1-e^{-Sh}}{Sh},\qquad
          S = \frac{\eta k\Delta t}{\sqrt{\gamma^2/4+\eta kh}+\gamma/2}
            = \frac{\sqrt{\eta k}\,\Delta t}{\sqrt{h+\varepsilon^2}+\varepsilon},\qquad
          \varepsilon = \frac{\gamma}{2\sqrt{\eta k}} .

No form below subtracts nearly equal numbers or divides by h.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

TINY = 1e-30  # a normal number in float32: 0/TINY = 0, where 0/0 would be NaN, and nothing else changes
_LARGE = 1e9  # above it ε² might leave float32


def damped_root(h: list[Tensor], epsilon: Any) -> list[Tensor]:
    """Return √(h + ε²) + ε, new tensors; ε is a number >= 0 or a 0-dim tensor, and h >= −ε²."""
    if not torch.is_tensor(epsilon) and epsilon > _LARGE:
        root = list(torch._foreach_mul(h, epsilon**-2))
        torch._foreach_add_(root, 1.0)
        torch._foreach_clamp_min_(root, 0.0)
        torch._foreach_sqrt_(root)
        torch._foreach_add_(root, 1.0)
        torch._foreach_mul_(root, epsilon)
        return root
    root = list(torch._foreach_add(h, epsilon**2))
    torch._foreach_sqrt_(root)
    torch._foreach_add_(root, epsilon + TINY)
    return root


def finite_step_(gain: list[Tensor], h: list[Tensor]) -> None:
    """Turn S into φ = S(1 − e^{−Sh})/(Sh), in place: the step of a time Δt that is not small."""
    x = list(torch._foreach_mul(gain, h))
    torch._foreach_add_(x, TINY)
    mean = list(torch._foreach_neg(x))
    torch._foreach_expm1_(mean)
    torch._foreach_div_(mean, x)
    torch._foreach_mul_(gain, mean)
    torch._foreach_neg_(gain)
