"""How fast the numbers are multiplied: precision, memory format, compilation. Nothing here changes what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from lossnav._checks import instance, one_of

PRECISIONS = ("auto", "float32", "bfloat16", "tf32")
FORMATS = ("auto", "contiguous", "channels_last")


@dataclass(frozen=True)
class Arithmetic:
    """The choices of one run.

    Attributes:
        precision: "float32"; "bfloat16", products in bfloat16 with weights, gradients and steps in float32; "tf32",
            products of float32 numbers rounded to 10 bits, on NVIDIA hardware.
        memory_format: "contiguous" or "channels_last", of images and convolutions.
        compile: whether forward and backward pass go through ``torch.compile``.
        cuda_graphs: whether the compiled passes are recorded once and replayed as CUDA graphs.
        reason: why, where something was left to be chosen.
    """

    precision: str = "float32"
    memory_format: str = "contiguous"
    compile: bool = False
    cuda_graphs: bool = False
    reason: str = "as asked"

    def settings(self) -> dict[str, Any]:
        """Return what a history and a record keep."""
        return {
            "precision": self.precision, "memory_format": self.memory_format, "compile": self.compile,
            "cuda_graphs": self.cuda_graphs, "arithmetic": self.reason,
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
        if not self.compile:
            return model
        mode = "reduce-overhead" if self.cuda_graphs else None  # torch's name for CUDA graphs
        return torch.compile(model, mode=mode, dynamic=False)  # type: ignore[return-value]

    @contextmanager
    def products(self, place: torch.device) -> Iterator[None]:
        """Let float32 products on an NVIDIA device be what ``precision`` says, and restore torch's switches after."""
        if place.type != "cuda":
            yield
            return
        matmul, cudnn = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = self.precision == "tf32"  # torch's own default is True
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(matmul)
            torch.backends.cudnn.allow_tf32 = cudnn


def choose(
    model: nn.Module, place: torch.device, precision: str, memory_format: str, compile: bool, cuda_graphs: bool
) -> Arithmetic:
    """Return the choices for a model on a device.

    "auto" takes bfloat16 where it pays: in convolutions, if the hardware multiplies it directly. Dense layers of the
    size used here gain little, so a model without convolutions stays in float32, and its curves do not depend on the
    machine. Images in channels_last are what convolution kernels want.

    Raises:
        ValueError: a word is unknown, or the device cannot do what was asked.
    """
    one_of("precision", precision, PRECISIONS)
    one_of("memory_format", memory_format, FORMATS)
    if place.type != "cuda" and (precision == "tf32" or cuda_graphs):
        what = "precision = 'tf32'" if precision == "tf32" else "cuda_graphs = True"
        raise ValueError(f"{what}, but the device is {place.type!r}, and only CUDA has that")
    convolutions = any(isinstance(layer, nn.Conv2d) for layer in model.modules())
    units = bfloat16_units(place)
    reasons = []
    if precision == "auto":
        precision = "bfloat16" if convolutions and units else "float32"
        what = f"the {place.type} has {units}" if units else f"the {place.type} has no units for bfloat16"
        reasons.append(f"{precision}: {what}" if convolutions else f"{precision}: no convolutions")
    if memory_format == "auto":
        memory_format = "channels_last" if convolutions else "contiguous"
        reasons.append(f"{memory_format}: {'convolutions' if convolutions else 'no convolutions'}")
    return Arithmetic(precision, memory_format, compile or cuda_graphs, cuda_graphs, "; ".join(reasons) or "as asked")


def bfloat16_units(place: torch.device) -> str | None:
    """Return the name of what multiplies bfloat16 directly on this device, or None if it would be emulated."""
    instance("place", place, torch.device, "a torch.device")
    if place.type == "cuda":
        return "tensor cores" if torch.cuda.get_device_capability(place) >= (8, 0) else None
    if place.type != "cpu":
        return None
    found: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()  # torch before 2.10 does not tell
    names = {"amx_bf16": "AMX", "avx512_bf16": "AVX512-BF16"}
    return next((name for key, name in names.items() if found.get(key)), None)
