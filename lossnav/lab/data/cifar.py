"""CIFAR-10: the official binary version, or a local copy that is labelled as what it is."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import torch

from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels
from lossnav.lab.data.files import (
    DataCorrupted,
    DataUnavailable,
    cache_folder,
    downloaded,
    file_digest,
    shelves,
    verified,
)
from lossnav.lab.data.pictures import find_pictures, load_pictures

_ARCHIVE = "cifar-10-binary.tar.gz"
_INSIDE = "cifar-10-batches-bin"
# Published with the checksums of TensorFlow Datasets (archive) and of the Ruby gem torchvision (archive and batches);
# several independent projects state the same value for the archive of 170,052,171 bytes.
_ARCHIVE_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
_BATCHES = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
_MIRRORS = (
    "https://www.cs.toronto.edu/~kriz/",
    "https://mindspore-website.obs.cn-north-4.myhuaweicloud.com/notebook/datasets/",
)
_WHOLE = {"train": 50_000, "test": 10_000}  # images of a split
_RECORD = 1 + 3 * 32 * 32  # a label, then the red, the green and the blue plane
_LICENCE = "A. Krizhevsky, V. Nair, G. Hinton (2009); no licence stated"


def load_cifar10(root: str | os.PathLike[str] | None, download: bool, cache: str | os.PathLike[str] | None) -> Dataset:
    """Return CIFAR-10; see ``load`` for where it is looked for."""
    for shelf, origin in shelves(root, repository=cache is None):
        if (found := _local(shelf, origin, cache)) is not None:
            return found
    if root is not None:
        raise DataUnavailable(
            f"root = {str(root)!r} has no CIFAR-10: expected {_ARCHIVE}, {_INSIDE}/, or pictures as "
            "train|test/<class>/…, in it or in its folder cifar10/. Leave root out to download the official files"
        )
    return _from_archive(*downloaded(_ARCHIVE, cache_folder(cache) / "cifar10", _ARCHIVE_SHA256, _MIRRORS, download))


def _local(root: Path, origin: str, cache: str | os.PathLike[str] | None) -> Dataset | None:
    """Return the CIFAR-10 below ``root``, if there is one: official files before copies."""
    if root.is_file():
        return _from_archive(root, origin) if root.name == _ARCHIVE else None
    folders = (root, root / "cifar10")
    for folder in (inside for outside in folders for inside in (outside, outside / _INSIDE)):
        if any((folder / name).is_file() for name in _BATCHES):
            return _from_batches(folder, origin)
    for folder in folders:
        if (folder / _ARCHIVE).is_file():
            return _from_archive(folder / _ARCHIVE, origin)
    for folder in (*folders, root / "cifar10-jpeg"):
        if (pictures := find_pictures(folder)) is not None:
            return load_pictures(
                "cifar10", "CIFAR-10", pictures, origin, _LICENCE, cache_folder(cache) / "cifar10", (32, 32), 10, _WHOLE
            )
    return None


def _from_batches(folder: Path, origin: str) -> Dataset:
    for name in _BATCHES:
        if not (folder / name).is_file():
            raise DataUnavailable(f"{folder} has some batches of CIFAR-10 but not {name}; add it")
    return _official({name: verified(folder / name, digest) for name, digest in _BATCHES.items()}, folder, origin)


def _from_archive(archive: Path, origin: str) -> Dataset:
    """Read the batches in memory, once the whole archive is known to be the official one."""
    if (digest := file_digest(archive)) != _ARCHIVE_SHA256:
        mismatch = f"it has the SHA-256 {digest[:16]}…, but the official archive has {_ARCHIVE_SHA256[:16]}…"
        raise DataCorrupted(f"{archive} is damaged, or is another file: {mismatch}: replace it by the official one")
    contents = {}
    with tarfile.open(archive) as tar:
        for name in _BATCHES:
            stream = tar.extractfile(f"{_INSIDE}/{name}")
            assert stream is not None  # a regular file of the official archive
            contents[name] = stream.read()
    return _official(contents, archive.parent, origin)


def _official(contents: dict[str, bytes], folder: Path, origin: str) -> Dataset:
    """Return the data set of the verified batches: records of one byte for the label, and 3,072 for the pixels."""
    records = [torch.frombuffer(bytearray(contents[name]), dtype=torch.uint8).view(-1, _RECORD) for name in _BATCHES]
    train, test = torch.cat(records[:-1]), records[-1]
    pixels = (train[:, 1:].reshape(-1, 3, 32, 32), train[:, 0], test[:, 1:].reshape(-1, 3, 32, 32), test[:, 0])
    provenance = Provenance("CIFAR-10 (official files)", origin, _LICENCE, _BATCHES, str(folder))
    return from_pixels("cifar10", pixels, scale=255.0, classes=10, provenance=provenance)
