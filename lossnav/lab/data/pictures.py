"""A data set kept as picture files, ``train|test/<class>/<name>.png``, in a folder or in a tar archive of one."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from lossnav._writing import replacing
from lossnav.lab.data._files import DataCorrupted, DataUnavailable, watched
from lossnav.lab.data._tar import opened
from lossnav.lab.data.dataset import Dataset, Provenance, from_pixels

_EXACT, _LOSSY = (".png", ".bmp", ".ppm"), (".jpg", ".jpeg", ".webp")
_ARCHIVES = ("images.tar.xz", "images.tar.gz", "images.tar")
_LARGEST = 2**20  # bytes of one picture file
_UNPACKED, _MEMBERS = 2**30, 200_000  # of an archive: bytes, and entries with folders and what systems add of their own
_SPLITS = ("train", "test")
_MEMORY = "planes"  # the decoded arrays (N, 3, H, W) are kept under this name and the digest of the files


def find_pictures(folder: Path) -> Path | None:
    """Return the archive of pictures in ``folder``, or ``folder`` itself if it has train/ and test/."""
    for name in _ARCHIVES:
        if (folder / name).is_file():
            return folder / name
    return folder if (folder / "train").is_dir() and (folder / "test").is_dir() else None


def load_pictures(
    name: str, title: str, source: Path, origin: str, licence: str, cache: Path, size: tuple[int, int], count: int,
    whole: Mapping[str, int],
) -> Dataset:  # fmt: skip
    """Return the data set of pictures of ``size`` (height, width) in ``count`` classes.

    It is labelled by their compression, and as a sample if a split has fewer pictures than ``whole`` says. Classes are
    numbered in alphabetical order. ``Dataset.head`` should give a sample of all, but files come sorted by class: where
    their names number all of a split, that is their order; else it is put into one fixed random order. Decoding 60,000
    pictures takes many seconds, so the arrays are kept in ``cache`` under the SHA-256 of the files; and the classes
    under that of their archive, which is not unpacked again as long as both are there.

    Raises:
        DataCorrupted: a file is no picture or has another size, or the number of classes is another one.
        DataUnavailable: pillow, which decodes, is missing.
    """
    known = _known(cache, source)
    found = _remembered(known, Listing._fields) if known else None
    listing = Listing(**found) if found else None
    arrays = _remembered(_kept(cache, listing), _SPLITS) if listing else None
    if listing is None or arrays is None or any(len(arrays[split]) != len(listing.labels(split)) for split in _SPLITS):
        files = dict(_read(source))
        listing = _listed(source, title, files, count)
        kept = _kept(cache, listing)
        arrays = _remembered(kept, _SPLITS)
        if arrays is None:
            arrays = _decode(source, files, size)
            _remember(kept, arrays)
        if known and known == _known(cache, source):  # the file that was read
            _remember(known, listing._asdict())
    (x_train, y_train), (x_test, y_test) = (
        (torch.from_numpy(arrays[split][order]), torch.from_numpy(listing.labels(split)[order]))
        for split, order in (("train", listing.train_order), ("test", listing.test_order))
    )
    sample = ", sample" if any(len(listing.labels(split)) < whole[split] for split in _SPLITS) else ""
    where = str(source.parent if source.is_file() else source)
    provenance = Provenance(
        f"{title} ({listing.copy}{sample})", origin, licence, {"all pictures": str(listing.digest)}, where,
        verified=False,
    )  # fmt: skip
    pixels = (x_train, y_train, x_test, y_test)
    return from_pixels(name, pixels, scale=255.0, classes=count, provenance=provenance)


class Listing(NamedTuple):
    """What is known of pictures without their pixels: arrays, as they are kept for an archive.

    Attributes:
        digest: SHA-256 of all names and contents.
        copy: what their compression makes of them.
        train, test: classes of the pictures of a split, (N,) int64, in the order of their classes and names.
        train_order, test_order: where the data set's n-th picture stands among these, (N,) int64.
    """

    digest: NDArray[np.str_]
    copy: NDArray[np.str_]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    train_order: NDArray[np.int64]
    test_order: NDArray[np.int64]

    def labels(self, split: str) -> NDArray[np.int64]:
        """Return the classes of a split."""
        return self.train if split == "train" else self.test


def _listed(source: Path, title: str, files: dict[Path, bytes], count: int) -> Listing:
    splits = _split(files)
    classes = sorted({path.parts[1] for path in splits["train"]})
    if not splits["train"] or not splits["test"] or classes != sorted({path.parts[1] for path in splits["test"]}):
        raise DataCorrupted(f"{source} must have the same classes, each with pictures, in train/ and in test/")
    if len(classes) != count:
        raise DataCorrupted(f"{source} has {len(classes)} classes, but {title} has {count}: it is something else")
    kinds = {path.suffix.lower() for path in files}
    copy = "JPEG copy" if kinds <= {".jpg", ".jpeg"} else "lossy copy" if kinds & set(_LOSSY) else "picture files"
    labels = [np.array([classes.index(path.parts[1]) for path in splits[split]], dtype=np.int64) for split in _SPLITS]
    return Listing(np.array(_digest(files)), np.array(copy), *labels, *(_order(splits[split]) for split in _SPLITS))


def _order(paths: list[Path]) -> NDArray[np.int64]:
    names = [path.stem for path in paths]
    if len(set(names)) == len(names) and all(map(str.isdecimal, names)):
        return np.argsort(np.array(names, dtype=np.int64))
    return np.random.default_rng(0).permutation(len(paths))


def _split(files: dict[Path, bytes]) -> dict[str, list[Path]]:
    return {split: sorted(path for path in files if path.parts[0] == split) for split in _SPLITS}


def _kept(cache: Path, listing: Listing) -> Path:
    return cache / f"{_MEMORY}-{str(listing.digest)[:16]}.npz"


def _known(cache: Path, source: Path) -> Path | None:
    """Return where the listing of an archive is kept; None for a folder, and for what cannot be read or is too much."""
    try:
        if source.stat().st_size > _UNPACKED:
            return None
        with source.open("rb") as stream:
            return cache / f"archive-{hashlib.file_digest(stream, 'sha256').hexdigest()[:16]}.npz"
    except OSError:
        return None


def _read(source: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield name, as split/class/file, and content of each picture."""
    if source.is_dir():
        for split in ("train", "test"):
            for path in sorted((source / split).glob("*/*")):
                if path.is_file() and _is_picture(source, name := path.relative_to(source), path.stat().st_size):
                    yield name, path.read_bytes()
        return
    try:
        with opened(source, piece=_LARGEST, largest=_UNPACKED) as archive:
            for count, entry in enumerate(archive, start=1):
                if count > _MEMBERS:
                    raise EOFError(f"it has more than {_MEMBERS} members")
                if entry.isreg() and _is_picture(source, name := Path(entry.name), entry.size):
                    stream = archive.extractfile(entry)
                    assert stream is not None  # it is a regular file
                    yield name, stream.read()
            if source.suffix == ".tar":  # the compressed ones end with a checksum
                _check_end(archive)
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise DataCorrupted(f"{source} is truncated or damaged ({error}): replace it") from None


def _is_picture(source: Path, name: Path, size: int) -> bool:
    """Return whether a file is one of the data set's; hidden ones are what some systems add of their own."""
    if len(name.parts) != 3 or name.parts[0] not in ("train", "test") or name.suffix.lower() not in _EXACT + _LOSSY:
        return False
    if any(part.startswith(".") for part in name.parts):
        return False
    if size > _LARGEST:
        raise DataCorrupted(f"{source}: {name} has {size} bytes, but a picture has at most {_LARGEST}")
    return True


def _check_end(archive: tarfile.TarFile) -> None:
    """Raise unless the archive ends by a block of zeros: ``tarfile`` takes half a header for the end, too."""
    assert archive.fileobj is not None  # it is open
    archive.fileobj.seek(archive.offset)
    if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise EOFError("it has no end")


def _digest(files: dict[Path, bytes]) -> str:
    """Return one SHA-256 of names and contents, the same for a folder and for its archive."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.as_posix()}\0{len(files[path])}\0".encode())
        total.update(files[path])
    return total.hexdigest()


def _decode(source: Path, files: dict[Path, bytes], size: tuple[int, int]) -> dict[str, NDArray[np.uint8]]:
    try:
        from PIL import Image
    except ImportError:
        raise DataUnavailable(f"{source} holds pictures, and pillow decodes them: pip install pillow") from None
    arrays: dict[str, NDArray[np.uint8]] = {}
    bar = tqdm(total=len(files), desc="decoding", unit="picture", disable=not watched())
    with bar:
        for split, paths in _split(files).items():
            images = []
            for path in paths:
                try:
                    with Image.open(io.BytesIO(files[path])) as picture:
                        if (found := (picture.height, picture.width)) == size:  # said by the header, before decoding
                            images.append(np.asarray(picture.convert("RGB")))
                except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
                    raise DataCorrupted(f"{source}: {path} is no picture ({error}): replace it") from None
                if found != size:
                    what = f"has {found[0]} × {found[1]} pixels, but {size[0]} × {size[1]} are wanted"
                    raise DataCorrupted(f"{source}: {path} {what}")
                bar.update()
            arrays[split] = np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2))
    return arrays


def _remember(kept: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Keep arrays, if the cache can be written; whole or not at all."""
    try:
        with replacing(kept) as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
    except OSError:
        return  # a read-only or full disk costs the time of decoding, nothing else


def _remembered(kept: Path, names: Sequence[str]) -> dict[str, NDArray[Any]] | None:
    """Return the arrays that were kept; a damaged file (the format has checksums) does not count."""
    try:
        with np.load(kept, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except Exception:
        return None
