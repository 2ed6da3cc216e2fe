"""How fast the numbers are multiplied: precision, memory format, compilation. Nothing here changes what is computed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from lossnav._tensors import bfloat16_units


@dataclass(frozen=True)
class Arithmetic:
    """The choices of one run.

    Attributes:
        precision: "float32", as torch multiplies it: on NVIDIA hardware its own default rounds what goes into a
            convolution to 10 bits, unless ``torch.backends.cudnn.allow_tf32`` is False; or "bfloat16", products in
            bfloat16 with weights, gradients and steps in float32.
        memory_format: "contiguous" or "channels_last", of images and convolutions.
        compile: whether forward and backward pass go through ``torch.compile``.
        reason: why, where something was left to be chosen.
    """

    precision: str = "float32"
    memory_format: str = "contiguous"
    compile: bool = False
    reason: str = "as asked"

    def settings(self) -> dict[str, Any]:
        """Return what a history and a record keep."""
        return {
            "precision": self.precision, "memory_format": self.memory_format, "compile": self.compile,
            "arithmetic": self.reason,
        }  # fmt: skip

    def autocast(self, place: torch.device) -> AbstractContextManager[Any]:
        """Return the context of one forward pass. It must not span a step: it remembers the rounded weights."""
        return torch.autocast(place.type, torch.bfloat16) if self.precision == "bfloat16" else nullcontext()

    def images(self, x: Tensor) -> Tensor:
        """Return a batch in the memory format of the run."""
        if x.ndim != 4:
            return x
        return x.contiguous(memory_format=self._format())

    def prepare(self, model: nn.Module) -> None:
        """Put the weights of the model into the memory format, in place."""
        for tensor in chain(model.parameters(), model.buffers()):
            if tensor.ndim == 4:  # Module.to would take those of three-dimensional convolutions, too, and fail
                tensor.data = tensor.data.to(memory_format=self._format())

    def _format(self) -> torch.memory_format:
        return torch.channels_last if self.memory_format == "channels_last" else torch.contiguous_format

    def compiled(self, model: nn.Module) -> nn.Module:
        """Return the model, or its compiled twin, which shares its weights."""
        return torch.compile(model, dynamic=False) if self.compile else model  # type: ignore[return-value]


def choose(model: nn.Module, place: torch.device, precision: str, memory_format: str, compile: bool) -> Arithmetic:
    """Return the choices for a model on a device.

    "auto" takes bfloat16 where it pays: in convolutions, if the hardware multiplies it directly. Dense layers of the
    size used here gain little, so a model without convolutions stays in float32, and its curves do not depend on the
    machine. Images in channels_last are what convolution kernels want.
    """
    convolutions = any(isinstance(layer, nn.Conv2d) for layer in model.modules())
    units = bfloat16_units(place)
    reasons = []
    if precision == "auto":
        precision = "bfloat16" if convolutions and units else "float32"
        hardware = f"the {place.type} has {units}" if units else f"the {place.type} has no units for bfloat16"
        reasons.append(f"{precision}: {hardware}" if convolutions else f"{precision}: no convolutions")
    if memory_format == "auto":
        memory_format = "channels_last" if convolutions else "contiguous"
        reasons.append(f"{memory_format}: {'convolutions' if convolutions else 'no convolutions'}")
    return Arithmetic(precision, memory_format, compile, "; ".join(reasons) or "as asked")
