"""A warning at the first step if the size of the loss decides what a step is, and not its shape.

An ε that is larger than what it is added to makes a rule with a root one of descent; g² in the place of a curvature
makes Newton's step 1/g of it where the loss is large. A loss in other units is all it takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lossnav.optim import _shards

Group = dict[str, Any]
Decides = Callable[[Group, Tensor], dict[str, Tensor]]
"""From options and the squares of gradients to words that name an option, and where in the gradient it decides."""


def look(name: str, groups: list[Group], decides: Decides) -> None:
    """Warn of what decides most weights' first step. Only the CPU's are looked at: of others nothing is read back.

    Args:
        name: of the rule.
        groups: its parameter groups.
        decides: what may decide. In its words ``{typical}`` is the mean square of the gradients that are not zero.
    """
    for group in groups:
        counts: dict[str, int] = {}
        size, total = 0, 0.0
        for p in group["params"]:
            if p.grad is None or p.grad.device.type != "cpu" or p.grad.layout != torch.strided:
                continue
            g = _shards.local(p.grad).detach()
            square = g[g != 0].double().square()
            size, total = size + square.numel(), total + float(square.sum())
            for words, where in decides(group, square).items():
                counts[words] = counts.get(words, 0) + int(where.sum())
        for words, count in counts.items():
            if 2 * count > size:
                typical = f"{total / size:.1e}"
                warnings.warn(f"{name}: {words.format(typical=typical)}", RuntimeWarning, stacklevel=5)
