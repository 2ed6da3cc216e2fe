"""Random numbers that a checkpoint need not carry: each draw has a name, and the name decides its value."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def stream(device: torch.device, *name: int) -> torch.Generator:
    """Return a generator whose numbers depend on the integers of ``name`` (and the kind of device) alone.

    A rule names its draws (seed, parameter, step). Runs that resume, repeat or skip steps then agree without a
    generator's state in the checkpoint, and torch's global generator is neither read nor moved.
    """
    digest = hashlib.blake2b(repr(name).encode(), digest_size=8).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest, "little") >> 1)


def normal(like: Tensor, dtype: torch.dtype, *name: int) -> Tensor:
    """Return independent N(0, 1) numbers of the whole shape of ``like``, as a plain tensor."""
    return torch.randn(like.shape, dtype=dtype, device=like.device, generator=stream(like.device, *name))


def uniform(like: Tensor, dtype: torch.dtype, *name: int) -> Tensor:
    """Return independent numbers from [0, 1) of the whole shape of ``like``, as a plain tensor."""
    return torch.rand(like.shape, dtype=dtype, device=like.device, generator=stream(like.device, *name))


def signs(like: Tensor, *name: int) -> Tensor:
    """Return independent fair signs ±1 (Rademacher numbers), shaped and typed like ``like``, a plain tensor."""
    bits = torch.randint(0, 2, like.shape, device=like.device, generator=stream(like.device, *name))
    return (2 * bits - 1).to(like.dtype)
