"""MNIST: the four official files, gzipped as mirrors serve them, or otherwise, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels
from lossnav.lab.data.files import DataUnavailable, cache_folder, downloaded, shelves, verified

_FILES = {  # the content's SHA-256, and that of the file as it is served
    "train-images-idx3-ubyte": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "train-labels-idx1-ubyte": (
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "t10k-images-idx3-ubyte": (
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "t10k-labels-idx1-ubyte": (
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
}
_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_LICENCE = "CC BY-SA 3.0, Y. LeCun, C. Cortes, C. Burges"


def load_mnist(root: str | os.PathLike[str] | None, download: bool, cache: str | os.PathLike[str] | None) -> Dataset:
    """Return MNIST; see ``load`` for where it is looked for."""
    paths, origin = _found(root, download, cache)
    read = [
        torch.frombuffer(bytearray(verified(path, _FILES[name][0])), dtype=torch.uint8) for name, path in paths.items()
    ]
    # an IDX file is a header of four bytes, and four for each axis, and then the values
    images, labels = ([part[start:] for part in read[kind::2]] for kind, start in ((0, 16), (1, 8)))
    pixels = (images[0].view(-1, 1, 28, 28), labels[0], images[1].view(-1, 1, 28, 28), labels[1])
    digests = {name: content for name, (content, _) in _FILES.items()}
    folder = str(next(iter(paths.values())).parent)
    provenance = Provenance("MNIST (official files)", origin, _LICENCE, digests, folder)
    return from_pixels("mnist", pixels, scale=255.0, classes=10, provenance=provenance)


def _found(
    root: str | os.PathLike[str] | None, download: bool, cache: str | os.PathLike[str] | None
) -> tuple[dict[str, Path], str]:
    """Return where each file is, and what provenance calls the place."""
    for shelf, origin in shelves(root, repository=cache is None):
        for folder in (shelf, shelf / "mnist", shelf / "MNIST" / "raw"):
            paths = {name: _path(folder, name) for name in _FILES}
            if missing := [name for name, path in paths.items() if path is None]:
                if len(missing) < len(_FILES):
                    raise DataUnavailable(f"{folder} has some files of MNIST, but no {missing[0]}[.gz]: add it")
                continue
            return {name: path for name, path in paths.items() if path is not None}, origin
    if root is not None:
        wanted = ", ".join(f"{name}[.gz]" for name in _FILES)
        raise DataUnavailable(
            f"root = {str(root)!r} has no MNIST, neither in it nor in its folder mnist/. Expected: {wanted}. Leave "
            "root out to download them"
        )
    keep = cache_folder(cache) / "mnist"
    fetched = {name: downloaded(f"{name}.gz", keep, served, _MIRRORS, download) for name, (_, served) in _FILES.items()}
    origins = dict.fromkeys(origin for _, origin in fetched.values())
    return {name: path for name, (path, _) in fetched.items()}, ", ".join(origins)


def _path(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
