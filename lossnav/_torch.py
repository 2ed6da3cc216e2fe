"""Imported first by each room that computes with torch, so that a machine without it is told how to get it."""

from __future__ import annotations

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":  # torch is there, and lacks something itself
        raise
    raise ModuleNotFoundError(
        'this part of lossnav needs PyTorch, which is not installed: pip install "lossnav[torch]", or the build for '
        "your device from https://pytorch.org/get-started/locally. (What plans — solve, value, euler_lagrange, rules, "
        "belief, uncertainty … — works without it.)",
        name="torch",
    ) from None

__all__ = ["torch"]
