"""A data set kept as picture files, ``train|test/<class>/<name>.png``, in a folder or in a tar archive of one."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from ._files import DataCorrupted, DataUnavailable
from .dataset import Dataset, Provenance, from_pixels

_EXACT, _LOSSY = (".png", ".bmp", ".ppm"), (".jpg", ".jpeg", ".webp")
_ARCHIVES = ("images.tar.xz", "images.tar.gz", "images.tar")
_LARGEST = 2**20  # bytes of one picture file
_MEMORY = "pictures"  # the decoded arrays are kept under this name and the digest of the files


def find_pictures(folder: Path) -> Path | None:
    """Return the archive of pictures in ``folder``, or ``folder`` itself if it has train/ and test/."""
    for name in _ARCHIVES:
        if (folder / name).is_file():
            return folder / name
    return folder if (folder / "train").is_dir() and (folder / "test").is_dir() else None


def load_pictures(name: str, title: str, source: Path, licence: str, cache: Path) -> Dataset:
    """Return the data set of pictures, labelled by how they are compressed.

    Classes are numbered in alphabetical order. Each split is put into one fixed random order: files come sorted by
    class, and ``Dataset.head`` should give a sample of all. Decoding 60,000 pictures takes many seconds, so the arrays
    are kept in ``cache`` under the SHA-256 of the files.

    Raises:
        DataCorrupted: a file is no picture, is named otherwise, or has another size than the first one.
        DataUnavailable: pillow, which decodes, is missing.
    """
    files = {path: content for path, content in _read(source) if path.suffix.lower() in _EXACT + _LOSSY}
    splits = {split: sorted(path for path in files if path.parts[0] == split) for split in ("train", "test")}
    classes = sorted({path.parts[1] for path in splits["train"]})
    if not splits["train"] or not splits["test"] or classes != sorted({path.parts[1] for path in splits["test"]}):
        raise DataCorrupted(f"{source} must have the same classes, each with pictures, in train/ and in test/")
    digest = _digest(files)
    kinds = {path.suffix.lower() for path in files}
    copy = "JPEG copy" if kinds <= {".jpg", ".jpeg"} else "lossy copy" if kinds & set(_LOSSY) else "picture files"
    kept = cache / f"{_MEMORY}-{digest[:16]}.npz"
    arrays = _remembered(kept) or _decode(source, files, splits, kept)
    pixels = [torch.from_numpy(arrays[split]).permute(0, 3, 1, 2) for split in ("train", "test")]
    labels, orders = [], []
    for split in ("train", "test"):
        orders.append(torch.from_numpy(np.random.default_rng(0).permutation(len(splits[split]))))
        labels.append(torch.tensor([classes.index(path.parts[1]) for path in splits[split]])[orders[-1]])
    shuffled = (pixels[0][orders[0]], labels[0], pixels[1][orders[1]], labels[1])
    where = str(source.parent if source.is_file() else source)
    label = f"{title} ({copy})"
    provenance = Provenance(label, "local folder", licence, {"all pictures": digest}, where, verified=False)
    return from_pixels(name, shuffled, scale=255.0, classes=len(classes), provenance=provenance)


def _read(source: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield name, as split/class/file, and content of each file."""
    if source.is_dir():
        for path in sorted(source.glob("*/*/*")):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                yield path.relative_to(source), path.read_bytes()
        return
    try:
        with tarfile.open(source) as archive:
            for entry in archive:
                stream = archive.extractfile(entry) if entry.isfile() and entry.size <= _LARGEST else None
                name = Path(entry.name)
                if stream is not None and len(name.parts) == 3:
                    yield name, stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataCorrupted(f"{source} is truncated or damaged ({error}): replace it") from None


def _digest(files: dict[Path, bytes]) -> str:
    """Return one SHA-256 of names and contents, the same for a folder and for its archive."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.as_posix()}\0{len(files[path])}\0".encode())
        total.update(files[path])
    return total.hexdigest()


def _decode(
    source: Path, files: dict[Path, bytes], splits: dict[str, list[Path]], kept: Path
) -> dict[str, NDArray[np.uint8]]:
    try:
        from PIL import Image
    except ImportError:
        raise DataUnavailable(f"{source} holds pictures, and pillow decodes them: pip install pillow") from None
    arrays: dict[str, NDArray[np.uint8]] = {}
    bar = tqdm(total=len(files), desc="decoding", unit="picture", disable=not sys.stderr.isatty())
    with bar:
        for split, paths in splits.items():
            images = []
            for path in paths:
                try:
                    images.append(np.asarray(Image.open(io.BytesIO(files[path])).convert("RGB")))
                except (OSError, ValueError, SyntaxError) as error:
                    raise DataCorrupted(f"{source}: {path} is no picture ({error}): replace it") from None
                if images[-1].shape != images[0].shape:
                    raise DataCorrupted(f"{source}: {path} is {images[-1].shape}, but the first is {images[0].shape}")
                bar.update()
            arrays[split] = np.stack(images)
    _remember(kept, arrays)
    return arrays


def _remember(kept: Path, arrays: dict[str, NDArray[np.uint8]]) -> None:
    """Keep the decoded arrays, if the cache can be written; whole or not at all."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=kept.stem, suffix=".part", dir=kept.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(stream, **arrays)  # type: ignore[arg-type]
            Path(part).replace(kept)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError:
        return  # a read-only or full disk costs the time of decoding, nothing else


def _remembered(kept: Path) -> dict[str, NDArray[np.uint8]] | None:
    """Return what was decoded before; a damaged file (the format has checksums) is decoded again."""
    try:
        with np.load(kept, allow_pickle=False) as file:
            return {split: file[split] for split in ("train", "test")}
    except Exception:
        return None
