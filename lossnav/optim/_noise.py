"""Named draws for parameters that may be spread over processes.

A draw for a DTensor is one for the whole tensor, of which each process keeps its part: how a parameter is spread over
processes does not change what it gets. The whole draw is in memory for a moment, one tensor at a time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lossnav import _random
from lossnav.optim import _shards


def normal(like: Tensor, dtype: torch.dtype, *name: int) -> Tensor:
    """Return independent N(0, 1) numbers for ``like``, shaped as the part of it that lies here."""
    return _shards.part(_random.normal(like, dtype, *name), like)


def uniform(like: Tensor, dtype: torch.dtype, *name: int) -> Tensor:
    """Return independent numbers from [0, 1) for ``like``, shaped as the part of it that lies here."""
    return _shards.part(_random.uniform(like, dtype, *name), like)
