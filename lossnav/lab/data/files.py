"""Where the files of a data set are: in a folder that is named, beside the package, in the cache, or on the web."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

_LARGEST = 64 * 2**20  # bytes: no file of a data set is larger, unpacked; more of one is not read


class DataUnavailable(RuntimeError):
    """The data are not on this machine and could not be downloaded; the message lists what was tried."""

    __module__ = "lossnav.data"  # where users find it


class DataCorrupted(RuntimeError):
    """A file is truncated, damaged or another file; the message names it and says what to do."""

    __module__ = "lossnav.data"  # where users find it


def shelves(root: str | os.PathLike[str] | None, *, repository: bool) -> Iterator[tuple[Path, str]]:
    """Yield the folders of this machine to look in, and what provenance calls them.

    ``root`` alone, if it is given. Else the one that LOSSNAV_DATA names and then, if it is asked for, that of the
    repository whose checkout this is.
    """
    if root is not None:
        yield place("root", root), "local folder"
        return
    if environment := os.environ.get("LOSSNAV_DATA"):
        yield place("LOSSNAV_DATA", environment), "local folder"
    checkout = Path(__file__).resolve().parents[3]
    if repository and (checkout / "pyproject.toml").is_file():
        yield checkout / "data", "the repository"


def cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    """Return the folder to keep downloads in: the given one, or the user's."""
    if cache is not None:
        return place("cache", cache)
    import pooch

    return Path(pooch.os_cache("lossnav"))


def place(name: str, value: str | os.PathLike[str]) -> Path:
    """Return a path as a shell would read it.

    Raises:
        DataUnavailable: it begins with a user's home that there is not.
    """
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise DataUnavailable(
            f"{name} = {str(value)!r} names the home of a user that this machine does not know"
        ) from None


def downloaded(name: str, folder: Path, sha256: str, addresses: Sequence[str], download: bool) -> tuple[Path, str]:
    """Return a file of the cache whose bytes have this digest, and where it is from; fetched where it is not there.

    Pooch verifies what is there and what arrives. Only the right bytes get the name, and a damaged file is replaced.

    Args:
        name: of the file.
        folder: of the cache.
        sha256: digest of the file as it is served.
        addresses: of folders on the web that serve it, tried in this order.
        download: whether it may be fetched.

    Raises:
        DataUnavailable: it is not there, and nobody served it; says what went wrong with each address.
    """
    target = folder / name
    if target.is_file() and file_digest(target) == sha256:
        return target, "cache"
    remedy = "name a folder that has it by root= or LOSSNAV_DATA"
    if not download:
        raise DataUnavailable(f"{name} is not in {folder}, and download = False: allow the download, or {remedy}")
    import pooch

    failures = []
    for address in addresses:
        loader = pooch.HTTPDownloader(timeout=10, progressbar=sys.stderr is not None and sys.stderr.isatty())
        try:
            pooch.retrieve(address + name, f"sha256:{sha256}", fname=name, path=folder, downloader=loader)
            return target, address
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong digest is a ValueError
            failures.append(f"{address}: {type(error).__name__}: {str(error)[:200]}")
    raise DataUnavailable("\n  ".join([
        f"{name} could not be downloaded to {folder}; {remedy}, or try again with a network:", *failures
    ]))  # fmt: skip


def verified(path: Path, sha256: str) -> bytes:
    """Return the content of a file, unpacked where its name ends in .gz, if it has this digest.

    Raises:
        DataCorrupted: it has another one; names the file.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read(_LARGEST)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupted(f"{path} is truncated or damaged ({error}): replace it by the official file") from None
    if (digest := hashlib.sha256(content).hexdigest()) != sha256:
        mismatch = f"its content has the SHA-256 {digest[:16]}…, but the official file has {sha256[:16]}…"
        raise DataCorrupted(f"{path} is damaged, or is another file: {mismatch}: replace it by the official file")
    return content


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file as it is, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
