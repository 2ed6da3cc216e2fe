"""Random changes of training images, as tensor operations on the device that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from lossnav._checks import flag, instance, whole
from lossnav._tensors import tensor


class Augmentation(Protocol):
    """What ``training.train(augment=…)`` takes: a draw for all images of an epoch, and what it does to a batch.

    Drawing is apart from applying so that an image's fate depends on the seed and on its place in the epoch alone, not
    on how an epoch is cut into batches, interrupted, or shared between processes.
    """

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return the choices for ``count`` images, one row each, on the generator's device."""

    def __call__(self, pixels: Tensor, choices: Tensor) -> Tensor:
        """Return the uint8 images (B, C, H, W) changed by their rows (B, …) of choices."""


@dataclass(frozen=True)
class CropFlip:
    """Shift each image by up to ``pad`` pixels in each direction, filling with black, and mirror it half of the time.

    The same as padding by ``pad`` on each side and cutting out a random window of the old size: the usual augmentation
    of CIFAR-10. A whole batch is one indexing operation on raw pixels.

    Args:
        pad: largest shift in pixels; 0 for none.
        flip: whether left and right are exchanged with probability 1/2.

    Example:
        >>> augment = CropFlip(pad=1)
        >>> choices = augment.draw(2, torch.Generator().manual_seed(0))
        >>> augment(torch.full((2, 3, 8, 8), 9, dtype=torch.uint8), choices).shape
        torch.Size([2, 3, 8, 8])
    """

    pad: int = 4
    flip: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "pad", whole("pad", self.pad, low=0))
        object.__setattr__(self, "flip", flag("flip", self.flip))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Return (count, 3) whole numbers: rows and columns to shift by, in −pad … pad, and 1 to mirror, else 0."""
        whole("count", count, low=0)
        place = instance("generator", generator, torch.Generator, "a torch.Generator").device
        shifts = torch.randint(-self.pad, self.pad + 1, (count, 2), generator=generator, device=place)
        mirrored = torch.randint(0, 2, (count, 1), generator=generator, device=place)
        return torch.cat([shifts, mirrored if self.flip else torch.zeros_like(mirrored)], dim=1)

    def __call__(self, pixels: Tensor, choices: Tensor) -> Tensor:
        """Return the images (B, C, H, W), pixel (i, j) of each taken from (i + rows, j' + columns); outside is 0.

        j' is j, or W − 1 − j in a mirrored image.
        """
        tensor("pixels", pixels, "a tensor of images (B, C, H, W)", ndim=4)
        tensor("choices", choices, "a tensor of whole numbers (B, 3)", ndim=2, floating=False)
        if choices.shape != (len(pixels), 3):
            raise ValueError(f"choices has shape {tuple(choices.shape)}, but it must be ({len(pixels)}, 3)")
        height, width = pixels.shape[2:]
        padded = torch.nn.functional.pad(pixels, (self.pad,) * 4)
        windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # a view: (B, C, 2 pad + 1, 2 pad + 1, H, W)
        index = torch.arange(len(pixels), device=pixels.device)
        cropped = windows[index, :, choices[:, 0] + self.pad, choices[:, 1] + self.pad]
        return torch.where(choices[:, 2].bool().view(-1, 1, 1, 1), cropped.flip(3), cropped)
