"""A text that every Python ships, for studies that must not need a download: the manual's topics, as bytes."""

from __future__ import annotations

import hashlib
import pydoc_data.topics
from typing import Any

import torch
from torch import Tensor


def manual() -> tuple[Tensor, Tensor]:
    """Return the bytes of Python's manual, shape (N,), nine tenths to learn and the rest to judge by."""
    topics = pydoc_data.topics.topics
    text = torch.frombuffer(bytearray("".join(topics[key] for key in sorted(topics)).encode()), dtype=torch.uint8)
    cut = len(text) * 9 // 10
    return text[:cut].long(), text[cut:].long()


def stretches(source: Tensor, generator: torch.Generator, size: int, length: int = 64) -> tuple[Tensor, Tensor]:
    """Return stretches of a text, (size, length), and the bytes that follow each of theirs."""
    starts = torch.randint(len(source) - length - 1, (size, 1), generator=generator)
    windows = source[starts + torch.arange(length + 1)]
    return windows[:, :-1], windows[:, 1:]


def provenance() -> dict[str, Any]:
    """Return how a record tells which text was learned: Pythons differ in it."""
    text = bytes(torch.cat(manual()).tolist())
    return {"text": "pydoc_data.topics", "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
