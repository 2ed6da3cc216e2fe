"""A copy of a data set as picture files, in folders or in an archive: decoded once, then kept as arrays."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from lossnav.lab import archive
from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels
from lossnav.lab.data.files import DataCorrupted, DataUnavailable, file_digest

_EXACT, _LOSSY = (".png", ".bmp", ".ppm"), (".jpg", ".jpeg", ".webp")
_ARCHIVES = ("images.tar.xz", "images.tar.gz", "images.tar")
_LARGEST = 2**20  # bytes of one picture file
_SPLITS = ("train", "test")


def find_pictures(folder: Path) -> Path | None:
    """Return the archive of pictures in ``folder``, or ``folder`` itself if it has train/ and test/."""
    for name in _ARCHIVES:
        if (folder / name).is_file():
            return folder / name
    return folder if all((folder / split).is_dir() for split in _SPLITS) else None


def load_pictures(
    name: str, title: str, source: Path, origin: str, licence: str, cache: Path, size: tuple[int, int], count: int,
    whole: Mapping[str, int],
) -> Dataset:  # fmt: skip
    """Return the data set of pictures of ``size`` (height, width) in ``count`` classes.

    It is labelled by their compression, and as a sample if a split has fewer pictures than ``whole`` says. Classes are
    numbered in alphabetical order. ``Dataset.head`` should give a sample of all, but files come sorted by class: where
    their names number all of a split, that is their order; else it is put into one fixed random order. Decoding 60,000
    pictures takes many seconds, so what comes of it is kept in ``cache``, under the SHA-256 of the archive or of all
    files.

    Raises:
        DataCorrupted: a file is no picture or has another size, or the number of classes is another one.
        DataUnavailable: pillow, which decodes, is missing.
    """
    files = {} if source.is_file() else dict(_read(source))
    cache_file = cache / f"pictures-{(_digest(files) if files else file_digest(source))[:16]}.pt"
    try:
        arrays = archive.load(cache_file)
    except (archive.Damaged, OSError):
        arrays = _decoded(source, title, files or dict(_read(source)), size, count)
        with suppress(OSError):  # a read-only or full disk costs the time of decoding, nothing else
            archive.save(cache_file, arrays)
    pixels = (arrays["train"], arrays["train_labels"], arrays["test"], arrays["test_labels"])
    sample = ", sample" if any(len(arrays[split]) < whole[split] for split in _SPLITS) else ""
    path = str(source.parent if source.is_file() else source)
    provenance = Provenance(
        f"{title} ({arrays['copy']}{sample})", origin, licence, {"all pictures": arrays["digest"]}, path, verified=False
    )
    return from_pixels(name, pixels, scale=255.0, classes=count, provenance=provenance)


def _decoded(source: Path, title: str, files: dict[Path, bytes], size: tuple[int, int], count: int) -> dict[str, Any]:
    """Return the images (N, 3, H, W) and labels (N,) of each split in their order, and what the files are."""
    splits = {split: sorted(path for path in files if path.parts[0] == split) for split in _SPLITS}
    classes, test_classes = (sorted({path.parts[1] for path in paths}) for paths in splits.values())
    if not classes or classes != test_classes:
        raise DataCorrupted(f"{source} must have the same classes, each with pictures, in train/ and in test/")
    if len(classes) != count:
        raise DataCorrupted(f"{source} has {len(classes)} classes, but {title} has {count}: it is something else")
    kinds = {path.suffix.lower() for path in files}
    copy = "JPEG copy" if kinds <= {".jpg", ".jpeg"} else "lossy copy" if kinds & set(_LOSSY) else "picture files"
    decoded: dict[str, Any] = {"copy": copy, "digest": _digest(files)}
    with tqdm(total=len(files), desc="decoding", unit="picture", disable=None) as bar:
        for split, paths in splits.items():
            ordered = [paths[place] for place in _order(paths)]
            decoded[split] = torch.stack([_picture(source, path, files[path], size, bar) for path in ordered])
            decoded[f"{split}_labels"] = torch.tensor([classes.index(path.parts[1]) for path in ordered])
    return decoded


def _order(paths: list[Path]) -> list[int]:
    names = [path.stem for path in paths]
    if len(set(names)) == len(names) and all(map(str.isdecimal, names)):
        return np.argsort(np.array(names, dtype=np.int64)).tolist()
    return np.random.default_rng(0).permutation(len(paths)).tolist()


def _picture(source: Path, path: Path, content: bytes, size: tuple[int, int], bar: tqdm) -> Tensor:
    """Return the pixels of a picture, (3, H, W)."""
    try:
        from PIL import Image
    except ImportError:
        raise DataUnavailable(f"{source} holds pictures, and pillow decodes them: pip install pillow") from None
    bar.update()
    try:
        with Image.open(io.BytesIO(content)) as picture:
            if (actual_size := (picture.height, picture.width)) == size:  # said by the header, before decoding
                return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataCorrupted(f"{source}: {path} is no picture ({error}): replace it") from None
    mismatch = f"has {actual_size[0]} × {actual_size[1]} pixels, but {size[0]} × {size[1]} are wanted"
    raise DataCorrupted(f"{source}: {path} {mismatch}")


def _read(source: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield name, as split/class/file, and content of each picture."""
    if source.is_dir():
        for path in sorted(path for split in _SPLITS for path in (source / split).glob("*/*")):
            if path.is_file() and _is_picture(source, name := path.relative_to(source), path.stat().st_size):
                yield name, path.read_bytes()
        return
    try:
        with tarfile.open(source) as packed:
            for entry in packed:
                if entry.isreg() and _is_picture(source, name := Path(entry.name), entry.size):
                    stream = packed.extractfile(entry)
                    assert stream is not None  # it is a regular file
                    yield name, stream.read()
            # A damaged header ends the loop as the zeros at the end do, and the last checksum comes after these.
            assert packed.fileobj is not None
            packed.fileobj.seek(packed.offset)
            rest = [any(chunk) for chunk in iter(partial(packed.fileobj.read, _LARGEST), b"")]
            if not rest or any(rest):
                raise tarfile.ReadError("it does not end with zeros")
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise DataCorrupted(f"{source} is truncated or damaged ({error}): replace it") from None


def _is_picture(source: Path, name: Path, size: int) -> bool:
    """Return whether a file is one of the data set's; hidden ones are what some systems add of their own."""
    if len(name.parts) != 3 or name.parts[0] not in _SPLITS or name.suffix.lower() not in _EXACT + _LOSSY:
        return False
    if any(part.startswith(".") for part in name.parts):
        return False
    if size > _LARGEST:
        raise DataCorrupted(f"{source}: {name} has {size} bytes, but a picture has at most {_LARGEST}")
    return True


def _digest(files: dict[Path, bytes]) -> str:
    """Return one SHA-256 of names and contents, the same for a folder and for its archive."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.as_posix()}\0{len(files[path])}\0".encode())
        total.update(files[path])
    return total.hexdigest()
