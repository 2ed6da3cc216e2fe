"""What a data set is here: two splits of tensors, how to normalise them, and where they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lossnav._checks import counts, finite, function, instance, positive, sequence, whole
from lossnav._tensors import device as check_device
from lossnav._tensors import tensor


@dataclass(frozen=True, eq=False)
class Split:
    """Images and labels on one device.

    ``x`` holds raw pixels, uint8 of shape (N, C, H, W): a quarter of the memory and of the traffic of float32.
    Inputs of another kind, (N, C, …), are taken, too. ``batch`` turns the few that a step needs into floats::

        input = (pixel / scale − mean) / std

    with one mean and one standard deviation per channel, those of the training split.

    Raises:
        ValueError: images and labels differ in number or are of other kinds; names the argument.
    """

    x: Tensor
    y: Tensor
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if tensor("x", self.x, "a tensor of images (N, C, H, W)").ndim < 2:
            raise ValueError(f"x has shape {tuple(self.x.shape)}, but it must be (N, C, H, W), or (N, C, …)")
        tensor("y", self.y, "a tensor of labels (N,), whole numbers", ndim=1, floating=False)
        if len(self.x) != len(self.y):
            raise ValueError(f"y has {len(self.y)} labels, but x has {len(self.x)} images: there must be one for each")
        if self.x.device != self.y.device:
            raise ValueError(f"y is on {self.y.device}, but it must be on {self.x.device}, as x")
        positive("scale", self.scale)
        for name in ("mean", "std"):
            if len(sequence(name, getattr(self, name), "numbers, one a channel")) != self.x.shape[1]:
                channels = self.x.shape[1]
                raise ValueError(f"{name} has {len(getattr(self, name))} numbers, but x has {channels} channels")
            for entry in getattr(self, name):
                (finite if name == "mean" else positive)(name, entry)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Split(x: {self.x.dtype} {tuple(self.x.shape)}, y: {tuple(self.y.shape)}, on {self.x.device})"

    def batch(self, index: Tensor | slice, change: Callable[[Tensor], Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return normalised float32 images (B, C, H, W) and int64 labels (B,) for an index tensor or a slice.

        ``change``, if given, is applied to the raw pixels first (an augmentation).
        """
        if not isinstance(index, slice):
            tensor("index", index, "a slice or a tensor of whole numbers or truth values", floating=False)
        if change is not None:
            function("change", change)
        factor, shift = self._affine
        pixels = self.x[index] if change is None else change(self.x[index])
        return pixels.to(torch.float32, copy=True).mul_(factor).sub_(shift), self.y[index]

    @cached_property
    def _affine(self) -> tuple[Tensor, Tensor]:
        """Factor and shift (C, 1, …) of the normalisation, sent to the device once and not with every batch."""
        factor = [1 / (self.scale * s) for s in self.std]
        shift = [m / s for m, s in zip(self.mean, self.std, strict=True)]
        columns = torch.tensor([factor, shift], dtype=torch.float32, device=self.x.device)
        columns = columns.view(2, -1, *(1 for _ in self.x.shape[2:]))
        return columns[0], columns[1]

    def to(self, device: Any) -> Split:
        """Return the split on ``device``."""
        place = check_device("device", device)
        return replace(self, x=self.x.to(place), y=self.y.to(place))

    def head(self, count: int) -> Split:
        """Return the first ``count`` examples."""
        whole("count", count, low=1, high=len(self))
        return replace(self, x=self.x[:count], y=self.y[:count])


@dataclass(frozen=True)
class Provenance:
    """Where data came from. ``str`` names no path, so that a notebook or a record can be shared as it is.

    Attributes:
        label: the name to print in figures and records, e.g. "MNIST (official files)".
        origin: "local folder", "cache", the address of the mirror, or the library that ships the data.
        licence: licence and authors.
        sha256: digest of each (decompressed) file, by name.
        verified: whether the digests are those of the official files; else they only tell which copy it was.
        location: folder the files were read from, if any; never written to a record.
    """

    label: str
    origin: str
    licence: str
    sha256: Mapping[str, str] = field(default_factory=dict)
    location: str | None = field(default=None, repr=False)
    verified: bool = True

    def __str__(self) -> str:
        digests = f"; {len(self.sha256)} files verified by SHA-256" if self.sha256 else ""
        if self.sha256 and not self.verified:
            digests = f"; not the official files; SHA-256 {next(iter(self.sha256.values()))[:16]}…"
        return f"{self.label}, from {self.origin}{digests}; {self.licence}"

    def record(self) -> dict[str, Any]:
        """Return what a record of a run keeps."""
        return {"label": self.label, "licence": self.licence, "sha256": dict(self.sha256)}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification data set.

    Attributes:
        name: the name it was loaded by.
        train, test: the two splits.
        classes: number of classes.
        provenance: where the data came from.
    """

    name: str
    train: Split
    test: Split
    classes: int
    provenance: Provenance

    def __post_init__(self) -> None:
        instance("name", self.name, str, "a string")
        for part in ("train", "test"):
            instance(part, getattr(self, part), Split, "a data.Split")
        counts(classes=self.classes)
        instance("provenance", self.provenance, Provenance, "a data.Provenance")

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.train}, {self.test}, {self.classes} classes; {self.provenance})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image, (C, H, W)."""
        return tuple(self.train.x.shape[1:])

    @property
    def inputs(self) -> int:
        """Number of pixel values of one image."""
        return self.train.x[0].numel()

    @property
    def device(self) -> torch.device:
        """Device that holds the tensors."""
        return self.train.x.device

    def to(self, device: Any) -> Dataset:
        """Return the data set with both splits on ``device``."""
        return replace(self, train=self.train.to(device), test=self.test.to(device))

    def head(self, train: int, test: int) -> Dataset:
        """Return a smaller data set: the first ``train`` and ``test`` examples of the splits."""
        train = whole("train", train, low=1, high=len(self.train))
        test = whole("test", test, low=1, high=len(self.test))
        return replace(self, train=self.train.head(train), test=self.test.head(test))


def from_pixels(
    name: str,
    pixels: tuple[Tensor, Tensor, Tensor, Tensor],
    *,
    scale: float,
    classes: int,
    provenance: Provenance,
) -> Dataset:
    """Return the data set of uint8 images (N, C, H, W) and labels, x_train, y_train, x_test, y_test.

    Mean and standard deviation are computed from all pixels of the training images, exactly (integer sums). A channel
    whose pixels are all equal has no deviation to divide by: it is only shifted to 0.
    """
    x_train, y_train, x_test, y_test = pixels
    x_train, x_test = x_train.contiguous(), x_test.contiguous()  # first: to count bytes apart takes longer
    mean, std = [], []
    for channel in range(x_train.shape[1]):
        counts = torch.bincount(x_train[:, channel].reshape(-1), minlength=256).double()
        values = torch.arange(len(counts), dtype=torch.float64) / scale
        centre = (counts @ values / counts.sum()).item()
        mean.append(centre)
        deviation = (counts @ (values - centre) ** 2 / counts.sum()).sqrt().item()
        std.append(deviation if counts.count_nonzero() > 1 else 1.0)
    normalisation = (scale, tuple(mean), tuple(std))
    train = Split(x_train, y_train.to(torch.int64), *normalisation)
    test = Split(x_test, y_test.to(torch.int64), *normalisation)
    return Dataset(name, train, test, classes, provenance)
