r"""The optimal step of one coordinate, Eq. 6, for lists of tensors: what the rules with a curvature share.

With a curvature h the step is −φ g, where

.. math:: \varphi = S\,\frac{1-e^{-Sh}}{Sh},\qquad
          S = \frac{\eta k\Delta t}{\sqrt{\gamma^2/4+\eta kh}+\gamma/2}
            = \frac{\sqrt{\eta k}\,\Delta t}{\sqrt{h+\varepsilon^2}+\varepsilon},\qquad
          \varepsilon = \frac{\gamma}{2\sqrt{\eta k}} .

No form below subtracts nearly equal numbers or divides by h.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lossnav.optim._base import Group

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


def root_options(epsilon: float) -> tuple[float, float, float, float]:
    """Return (a, b, c, d) with which (√(a h + b) + c) d is that root, for the kernels."""
    if epsilon > _LARGE:
        return epsilon**-2, 1.0, 1.0, epsilon
    return 1.0, epsilon**2, epsilon + TINY, 1.0


def finite_step_(gain: list[Tensor], h: list[Tensor]) -> None:
    """Turn S into φ = S(1 − e^{−Sh})/(Sh), in place: the step of a time Δt that is not small."""
    x = list(torch._foreach_mul(gain, h))
    torch._foreach_add_(x, TINY)
    mean = list(torch._foreach_neg(x))
    torch._foreach_expm1_(mean)
    torch._foreach_div_(mean, x)
    torch._foreach_mul_(gain, mean)
    torch._foreach_neg_(gain)


def preconditioner(h: list[Tensor], group: Group) -> list[Tensor]:
    """Return φ = (1 − e^{−rΔt})/h for curvatures h >= −γ²/(4ηk)."""
    lr, gamma, stiffness = group["lr"], group["gamma"], group["eta_k"]
    if gamma == math.inf:
        gain = [torch.ones_like(x) for x in h]
        torch._foreach_mul_(gain, lr * stiffness)
    else:
        gain = damped_root(h, damping(group))
        torch._foreach_reciprocal_(gain)
        torch._foreach_mul_(gain, lr * math.sqrt(stiffness))
    finite_step_(gain, h)
    return gain


def bound_(h: list[Tensor], group: Group) -> None:
    """Make h a curvature for which the optimal path exists, in place."""
    if group["negative"] == "absolute":
        torch._foreach_abs_(h)
    elif (lowest := lowest_curvature(group)) > -math.inf:
        torch._foreach_clamp_min_(h, lowest)


def lowest_curvature(group: Group) -> float:
    """Return the least curvature that ``negative`` lets through; −ε² is what the root adds: no root of less than 0."""
    if group["negative"] == "clip":
        return 0.0
    if group["gamma"] == math.inf:
        return -math.inf
    epsilon = damping(group)
    return max(-(epsilon * epsilon), -torch.finfo(torch.float32).max)  # torch refuses a bound that is no float32


def damping(group: Group) -> float:
    """Return ε = γ/(2√(ηk))."""
    return float(group["gamma"] / (2 * math.sqrt(group["eta_k"])))
