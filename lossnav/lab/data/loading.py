"""``load``: a data set by its name."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lossnav import _extras
from lossnav._checks import flag, one_of, paths, shown
from lossnav.lab.data.cifar import load_cifar10
from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels
from lossnav.lab.data.files import DataUnavailable
from lossnav.lab.data.mnist import load_mnist


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    *,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a data set, verified, as uint8 tensors in memory.

    * ``"mnist"``: 60,000 + 10,000 images of 28×28, from the four official IDX files (gzip or raw). They are looked for
      in ``root``; without it in the folder that the environment variable LOSSNAV_DATA names, then in ``data/`` of the
      repository, if this is a checkout, then in the cache; then they are downloaded (by pooch). Each file is verified
      by the SHA-256 of its decompressed bytes *each time it is read*.
    * ``"cifar10"``: 50,000 + 10,000 colour images of 32×32. Looked for in the same places: the official binary version
      (its archive of 170 MB or its batches, verified by SHA-256), or a copy that ``.provenance`` names as such:
      pictures as ``train|test/<class>/…``, in a folder or in ``images.tar.xz``. Official files come before copies. The
      repository has a sample, 10,000 + 2,000 images of a JPEG copy: ``data/README.md`` says which.
    * ``"digits"``: scikit-learn's 1,797 images of 8×8, every fifth one for testing; needs no network, and has no files
      that a folder could hold.

    Args:
        name: "mnist", "digits" or "cifar10".
        root: folder with the files, or with a folder ``mnist/`` or ``cifar10/`` that has them; for CIFAR-10 also the
            archive itself. Nothing else is looked at then.
        download: whether the files may be downloaded when they are not on this machine.
        cache: folder to keep downloads in, instead of the user's cache. With this the repository is not looked at: the
            official files are wanted.

    Returns:
        The data set on the CPU; ``.to(device)`` moves it. ``.train.x`` (N, C, H, W) uint8, ``.train.y`` (N,) int64,
        ``.train.batch(index)`` normalised float32 images and labels; likewise ``.test``; ``.provenance``.

    Raises:
        ValueError: there is no data set of that name, or a folder is named for "digits".
        DataUnavailable: the files are neither here nor to be had; says what was tried.
        DataCorrupted: a file is truncated, damaged or another one; names it and says what to do.

    Example:
        >>> digits = load("digits")
        >>> images, labels = digits.train.batch(slice(0, 16))
        >>> tuple(images.shape)
        (16, 1, 8, 8)
    """
    flag("download", download)
    paths(root=root, cache=cache)
    makers: dict[str, Callable[[], Dataset]] = {
        "mnist": lambda: load_mnist(root, download, cache),
        "digits": lambda: _digits(root=root, cache=cache),
        "cifar10": lambda: load_cifar10(root, download, cache),
    }
    return makers[one_of("name", name, tuple(makers))]()


def _digits(**places: Any) -> Dataset:
    for name, place in places.items():
        if place is not None:
            raise ValueError(
                f'{name} = {shown(place)}, but it must be None for "digits": these images come with scikit-learn, and '
                "no folder is looked at"
            )
    spec = importlib.util.find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        raise DataUnavailable('"digits" comes with scikit-learn: ' + _extras.advice("sklearn"))
    # the file that sklearn.datasets.load_digits reads: to import that costs a second, in every worker of a sweep
    table = Path(spec.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    if not table.is_file():
        raise DataUnavailable(f'"digits" comes with scikit-learn, but here it has no {table}: install it again')
    rows = torch.from_numpy(_table(table))
    x, y = rows[:, :64].reshape(-1, 1, 8, 8), rows[:, 64].long()
    test = torch.arange(len(y)) % 5 == 0
    licence = "CC BY 4.0, E. Alpaydin, C. Kaynak (UCI Optical Recognition of Handwritten Digits)"
    provenance = Provenance("scikit-learn digits (8×8)", f"scikit-learn {version('scikit-learn')}", licence)
    return from_pixels("digits", (x[~test], y[~test], x[test], y[test]), scale=16.0, classes=10, provenance=provenance)


@functools.cache  # a sweep asks for the same few hundred kilobytes before each run
def _table(file: Path) -> NDArray[np.uint8]:
    """Return the numbers of a file of whole numbers below 256, which nobody must change."""
    return np.loadtxt(file, np.uint8, delimiter=",")
