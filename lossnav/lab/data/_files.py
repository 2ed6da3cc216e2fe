"""Verified bytes of named files: from a local folder, from the cache, or from a mirror. Nothing unverified gets out."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lossnav._writing import replacing


class DataUnavailable(RuntimeError):
    """The data are not on this machine and could not be downloaded; the message lists what was tried."""

    __module__ = "lossnav.data"  # where users find it


class DataCorrupted(RuntimeError):
    """A file is truncated, damaged or another file; the message names it and says what to do."""

    __module__ = "lossnav.data"  # where users find it


@dataclass(frozen=True)
class Source:
    """A set of gzip files that a user can download.

    Attributes:
        name: name of the data set, of its folder in the cache, and of the folder looked for below a root.
        sha256: digest of the *decompressed* bytes by file name (without ``.gz``): mirrors may compress differently.
        mirrors: folders on the web, tried in this order.
        largest: no decompressed file is larger, in bytes; stops a decompression bomb.
    """

    name: str
    sha256: dict[str, str]
    mirrors: tuple[str, ...]
    largest: int


@dataclass(frozen=True)
class Found:
    """Verified contents by file name, and where they came from."""

    contents: dict[str, bytes]
    origin: str
    location: str | None


def obtain(
    source: Source, root: str | os.PathLike[str] | None, download: bool, mirrors: Sequence[str] | None,
    cache: str | os.PathLike[str] | None,
) -> Found:  # fmt: skip
    """Return the verified files of ``source``.

    ``root`` is binding: if the files are not there, that is an error. Then come the ``shelves``, if one of them has
    this data set, the cache, and the mirrors; who names one of the last two wants the official files from there.

    Raises:
        DataCorrupted: a file that is there is not the right one.
        DataUnavailable: there is no such file, and none could be downloaded.
    """
    if root is not None:
        folder = _folder_with(source, place("root", root))
        if folder is None:
            wanted = ", ".join(f"{name}[.gz]" for name in source.sha256)
            raise DataUnavailable(
                f"root = {str(root)!r} has no {source.name} files, neither in it nor in its folder {source.name}/. "
                f"Expected: {wanted}. Leave root out to download them"
            )
        return _read_folder(source, folder, "local folder")
    for shelf, origin in shelves(repository=mirrors is None and cache is None):
        if (folder := _folder_with(source, shelf)) is not None:
            return _read_folder(source, folder, origin)
    return _from_cache(source, cache_folder(cache) / source.name, download, mirrors)


def shelves(*, repository: bool) -> Iterator[tuple[Path, str]]:
    """Yield the folders of this machine that may hold data sets, and what provenance calls them.

    First the one that LOSSNAV_DATA names; then, if it is asked for, that of the repository whose checkout this is.
    """
    if environment := os.environ.get("LOSSNAV_DATA"):
        yield place("LOSSNAV_DATA", environment), "local folder"
    checkout = Path(__file__).resolve().parents[3]
    if repository and (checkout / "pyproject.toml").is_file():
        yield checkout / "data", "the repository"


def cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    """Return the folder to keep downloads in: the given one, or the user's."""
    import pooch

    return place("cache", cache) if cache else Path(pooch.os_cache("lossnav"))


def place(name: str, value: str | os.PathLike[str]) -> Path:
    """Return a path as a shell would read it.

    Raises:
        DataUnavailable: it begins with a user's home that there is not.
        ValueError: it is no path.
    """
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise DataUnavailable(
            f"{name} = {str(value)!r} names the home of a user that this machine does not know"
        ) from None
    except TypeError:
        raise ValueError(f"{name} = {value!r}, but it must be a path") from None


def addresses(mirrors: Sequence[str] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the web folders to try, each with a slash at its end."""
    if isinstance(mirrors, str):
        raise ValueError(f"mirrors = {mirrors!r}, but it must be a list of addresses")
    return tuple(f"{mirror.rstrip('/')}/" for mirror in (usual if mirrors is None else mirrors))


def made(folder: Path) -> Path:
    """Return the folder of the cache, which is made if need be.

    Raises:
        DataUnavailable: it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError("it is read-only")
    except OSError as error:
        raise DataUnavailable(
            f"nothing can be downloaded to the cache {folder} ({error.strerror or error}): name another one by cache=, "
            "or a folder with the files by root= or LOSSNAV_DATA"
        ) from None
    return folder


def _folder_with(source: Source, root: Path) -> Path | None:
    for folder in (root, root / source.name, root / source.name.upper() / "raw"):
        if any(_path_of(folder, name) for name in source.sha256):
            return folder
    return None


def _path_of(folder: Path, name: str) -> Path | None:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def _read_folder(source: Source, folder: Path, origin: str) -> Found:
    contents = {}
    for name, digest in source.sha256.items():
        path = _path_of(folder, name)
        if path is None:
            raise DataUnavailable(f"{folder} has some {source.name} files but neither {name} nor {name}.gz; add it")
        contents[name] = _read_verified(path, digest, source.largest, f"replace it by the official {name}.gz")
    return Found(contents, origin, str(folder))


def _from_cache(source: Source, folder: Path, download: bool, mirrors: Sequence[str] | None) -> Found:
    missing = [name for name in source.sha256 if not (folder / f"{name}.gz").is_file()]
    origin = "cache"
    if missing:
        if not download:
            raise DataUnavailable(
                f"{source.name} is not on this machine (looked in {folder}) and download = False: "
                "allow the download, or name a folder with the files by root= or LOSSNAV_DATA"
            )
        origin = _download(source, folder, missing, addresses(mirrors, source.mirrors))
    contents = {}
    for name, digest in source.sha256.items():
        path = folder / f"{name}.gz"
        contents[name] = _read_verified(path, digest, source.largest, "delete it, and it will be downloaded again")
    return Found(contents, origin, str(folder))


def _read_verified(path: Path, digest: str, largest: int, remedy: str, *, packed: bool = False) -> bytes:
    """Return the content; ``packed`` says whether it is gzip, where the name of the file does not."""
    try:
        content = _decompress(path, largest) if packed or path.suffix == ".gz" else read_bounded(path, largest)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupted(f"{path} is truncated or damaged ({error}): {remedy}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        what = f"its content has the SHA-256 {found[:16]}…, but the official file has {digest[:16]}…"
        raise DataCorrupted(f"{path} is not the right file, or is damaged: {what}: {remedy}")
    return content


def read_bounded(path: Path, largest: int) -> bytes:
    """Return the bytes of a file that has at most ``largest``.

    Raises:
        EOFError: it has more; nothing is read then.
    """
    with path.open("rb") as stream:
        if (size := os.fstat(stream.fileno()).st_size) > largest:
            raise EOFError(f"it has {size} bytes, but at most {largest} are wanted")
        return stream.read(largest)


def _decompress(path: Path, largest: int) -> bytes:
    if (size := path.stat().st_size) > largest:  # a header may go on for as long as the file
        raise EOFError(f"it has {size} bytes, but at most {largest} are wanted")
    with gzip.open(path) as stream:
        content = stream.read(largest + 1)
        if len(content) > largest:
            raise EOFError(f"it unpacks to more than {largest} bytes")
    return content


def _download(source: Source, folder: Path, names: list[str], mirrors: tuple[str, ...]) -> str:
    """Fetch ``names`` into ``folder``, each from the first mirror that has the right bytes; return the mirrors used."""
    made(folder)
    used: dict[str, None] = {}
    alive = list(mirrors)
    failures: list[str] = []
    for name in names:
        for mirror in list(alive):
            address = f"{mirror}{name}.gz"
            try:
                _download_one(address, folder / f"{name}.gz", source.sha256[name], source.largest)
            except (OSError, DataCorrupted) as error:  # requests' exceptions are OSErrors
                failures.append(f"{address}: {reason(error)}")
                alive.remove(mirror)
                continue
            used[mirror] = None
            break
        else:
            tried = "\n  ".join(failures) or "no mirror was given"
            raise DataUnavailable(
                f"{name}.gz of {source.name} could not be downloaded; name a folder that has the files by root= or "
                f"LOSSNAV_DATA, or try again with a network:\n  {tried}"
            )
    return ", ".join(used)


def _download_one(address: str, target: Path, digest: str, largest: int) -> None:
    """Download to a file of this call's own, verify, then rename: a reader sees the whole file or none."""
    from lossnav.lab.data._http import download

    with replacing(target) as stream:
        download(address, stream, largest=largest, label=target.name)
        stream.flush()
        _read_verified(Path(stream.name), digest, largest, "the mirror serves something else", packed=True)


def watched() -> bool:
    """Return whether somebody sees what is written to stderr, who may like to see a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def reason(error: Exception) -> str:
    """Return one line on what went wrong with an address."""
    text = str(error)
    if isinstance(error, DataCorrupted):  # the part file's name helps nobody
        text = text.split(".part ", 1)[-1]
    return f"{type(error).__name__}: {text if len(text) <= 200 else text[:197] + '...'}"
