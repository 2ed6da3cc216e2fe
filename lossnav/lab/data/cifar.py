"""CIFAR-10: the official binary version, or a local copy that is labelled as what it is."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lossnav.lab.data._fetch import fetch, file_digest
from lossnav.lab.data._files import (
    DataCorrupted,
    DataUnavailable,
    addresses,
    cache_folder,
    place,
    read_bounded,
    shelves,
)
from lossnav.lab.data._tar import opened
from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels
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
_LARGEST = 64 * 2**20  # no batch is larger
_UNPACKED, _MEMBERS = 256 * 2**20, 1000  # nor is the whole archive; the official one has 184 MB in nine members
_ARRAYS = 2**30  # the bytes of all arrays of an .npz file
_LICENCE = "A. Krizhevsky, V. Nair, G. Hinton (2009); no licence stated"
_OFFICIAL = "CIFAR-10 (official files)"

_UNREADABLE = (OSError, ValueError, KeyError, EOFError, MemoryError, RuntimeError, zlib.error, zipfile.BadZipFile)

Pixels = tuple[Tensor, Tensor, Tensor, Tensor]


def load_cifar10(
    root: str | os.PathLike[str] | None, download: bool, mirrors: Sequence[str] | None,
    cache: str | os.PathLike[str] | None,
) -> Dataset:  # fmt: skip
    """Return CIFAR-10; see ``load`` for where it is looked for."""
    keep = cache_folder(cache)
    if root is not None:
        loader = _local(place("root", root), "local folder", keep)
        if loader is None:
            raise DataUnavailable(
                f"root = {str(root)!r} has no CIFAR-10: expected {_ARCHIVE}, {_INSIDE}/, cifar10.npz, or pictures as "
                "train|test/<class>/…, in it or in its folder cifar10/. Leave root out to download the official files"
            )
        return loader()
    for shelf, origin in shelves(repository=mirrors is None and cache is None):
        if (loader := _local(shelf, origin, keep)) is not None:
            return loader()
    archive = keep / "cifar10" / _ARCHIVE
    origin = "cache"
    if not archive.is_file():
        if not download:
            raise DataUnavailable(
                f"CIFAR-10 is not on this machine (looked in {archive.parent}) and download = False: "
                "allow the download of 170 MB, or name a folder with the files by root= or LOSSNAV_DATA"
            )
        places = [f"{mirror}{_ARCHIVE}" for mirror in addresses(mirrors, _MIRRORS)]
        origin = fetch("CIFAR-10", archive, _ARCHIVE_SHA256, places)
    return _from_archive(archive, origin, "delete it, and it will be downloaded again")


def _local(root: Path, origin: str, cache: Path) -> Callable[[], Dataset] | None:
    """Return what loads the CIFAR-10 below ``root``: official files before copies, exact copies before lossy ones."""
    if root.is_file():
        if root.name == _ARCHIVE:
            return lambda: _from_archive(root, "local file", f"replace it by the official {_ARCHIVE}")
        return (lambda: _from_npz(root)) if root.suffix == ".npz" else None
    folders = (root, root / "cifar10")
    for folder in (inside for outside in folders for inside in (outside, outside / _INSIDE)):
        if any((folder / name).is_file() for name in _BATCHES):
            return lambda: _from_batches(folder, origin)
    for folder in folders:
        if (folder / _ARCHIVE).is_file():
            return lambda: _from_archive(folder / _ARCHIVE, origin, f"replace it by the official {_ARCHIVE}")
    for folder in folders:
        if (folder / "cifar10.npz").is_file():
            return lambda: _from_npz(folder / "cifar10.npz")
    for folder in (*folders, root / "cifar10-jpeg"):
        if (found := find_pictures(folder)) is not None:
            return lambda: load_pictures(
                "cifar10", "CIFAR-10", found, origin, _LICENCE, cache / "cifar10", (32, 32), 10, _WHOLE
            )
    return None


def _from_batches(folder: Path, origin: str) -> Dataset:
    contents = {}
    for name in _BATCHES:
        if not (folder / name).is_file():
            raise DataUnavailable(f"{folder} has some batches of CIFAR-10 but not {name}; add it")
        try:
            contents[name] = read_bounded(folder / name, _LARGEST)
        except EOFError as error:
            raise DataCorrupted(f"{folder / name} is not a batch of CIFAR-10: {error}; replace it") from None
    return _official(contents, folder, origin, f"replace it by that of the official {_ARCHIVE}")


def _from_archive(archive: Path, origin: str, remedy: str) -> Dataset:
    """Read the batches in memory: nothing is unpacked to the disk, so no name in the archive can lead anywhere."""
    try:
        with opened(archive, piece=_LARGEST, largest=_UNPACKED) as tar:
            _check_count(tar)
            contents = {name: _member(tar, f"{_INSIDE}/{name}") for name in _BATCHES}
    except (tarfile.TarError, EOFError, OSError, KeyError, zlib.error) as error:
        raise DataCorrupted(f"{archive} is truncated or damaged ({error}): {remedy}") from None
    return _official(contents, archive, origin, remedy)


def _check_count(archive: tarfile.TarFile) -> None:
    for count, _ in enumerate(archive, start=1):
        if count > _MEMBERS:
            raise EOFError(f"it has more than {_MEMBERS} members")


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    entry = archive.getmember(name)
    stream = archive.extractfile(entry) if entry.isreg() and entry.size <= _LARGEST else None  # and no link
    if stream is None:
        raise EOFError(f"its {name} is not a file of at most {_LARGEST} bytes")
    return stream.read()


def _official(contents: dict[str, bytes], where: Path, origin: str, remedy: str) -> Dataset:
    for name, digest in _BATCHES.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != digest:
            what = f"the content of {name} has the SHA-256 {found[:16]}…, but the official file has {digest[:16]}…"
            raise DataCorrupted(f"{where} is damaged, or is not the official CIFAR-10: {what}: {remedy}")
    pieces = {name: parse_batch(content, name) for name, content in contents.items()}
    train = [piece for name, piece in pieces.items() if name != "test_batch.bin"]
    test = pieces["test_batch.bin"]
    pixels = (torch.cat([x for x, _ in train]), torch.cat([y for _, y in train]), *test)
    folder = str(where if where.is_dir() else where.parent)
    provenance = Provenance(_OFFICIAL, origin, _LICENCE, _BATCHES, folder)
    return from_pixels("cifar10", pixels, scale=255.0, classes=10, provenance=provenance)


def parse_batch(content: bytes, name: str) -> tuple[Tensor, Tensor]:
    """Return images (N, 3, 32, 32) and labels (N,), uint8, of a batch of records: one label byte, 3,072 pixel bytes.

    Raises:
        DataCorrupted: the length is no multiple of 3,073, or a label is not below 10.
    """
    if not content or len(content) % _RECORD:
        raise DataCorrupted(f"{name} has {len(content)} bytes, but records of {_RECORD} bytes each are wanted")
    records = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(-1, _RECORD)
    if int(records[:, 0].max()) > 9:
        raise DataCorrupted(f"{name} has the label {int(records[:, 0].max())}, but labels are 0 … 9")
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _from_npz(path: Path) -> Dataset:
    """Read arrays x_train (N, 32, 32, 3) or (N, 3, 32, 32), y_train (N,), x_test, y_test, and perhaps ``label``."""
    try:
        with zipfile.ZipFile(path) as packed:
            if (size := sum(entry.file_size for entry in packed.infolist())) > _ARRAYS:
                raise ValueError(f"it unpacks to {size} bytes, but at most {_ARRAYS} are wanted")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("x_train", "y_train", "x_test", "y_test")}
            label = str(file["label"][()]) if "label" in file else f"CIFAR-10 (local copy {path.name})"
    except _UNREADABLE as error:
        raise DataCorrupted(
            f"{path} is not an .npz file of the arrays x_train, y_train, x_test, y_test ({error}): make it again"
        ) from None
    if label == _OFFICIAL or not label or not label.isprintable():
        raise DataCorrupted(f"{path}: label = {label!r}, but it must be a line that says which copy this is")
    train = _checked(path, "train", arrays["x_train"], arrays["y_train"])
    test = _checked(path, "test", arrays["x_test"], arrays["y_test"])
    digest = {path.name: file_digest(path)}
    provenance = Provenance(label, "local file", _LICENCE, digest, str(path.parent), verified=False)
    return from_pixels("cifar10", (*train, *test), scale=255.0, classes=10, provenance=provenance)


def _checked(path: Path, split: str, x: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
    if x.ndim != 4 or x.dtype != np.uint8 or x.shape[1:] not in ((32, 32, 3), (3, 32, 32)):
        wanted = "uint8 of shape (N, 32, 32, 3) or (N, 3, 32, 32)"
        raise DataCorrupted(f"{path}: x_{split} is {x.dtype} of shape {x.shape}, but {wanted} is wanted")
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (len(x),) or y.dtype.kind not in "iu" or len(y) == 0 or y.min() < 0 or y.max() > 9:
        raise DataCorrupted(f"{path}: y_{split} must be {len(x)} labels 0 … 9, one for each image")
    images = torch.from_numpy(x)
    return images.permute(0, 3, 1, 2) if x.shape[1] != 3 else images, torch.from_numpy(y.astype(np.int64))
