"""One large file over a slow line: resumed where it broke off, verified, and only then visible under its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from tqdm import tqdm

from .._writing import RENAMES_OPEN_FILES, claim, new_part, parts
from ._files import TIMEOUT, DataCorrupted, DataUnavailable, made, reason, watched

_CHUNK = 1 << 16  # bytes; a break loses less than one chunk
_IDLE = 120.0  # seconds without a new byte (six times the read timeout) that mean "no writer" where files have no locks


def fetch(name: str, target: Path, sha256: str, addresses: Sequence[str]) -> str:
    """Download ``target`` from the first address that serves the right bytes; return that address.

    A download that broke off, or whose process was killed, is continued by the next call from the byte where it
    stopped, from any mirror: all serve the same bytes, and the digest is that of the whole file. Processes that
    download at the same time do not disturb each other, since each writes a part file of its own.

    Args:
        name: of the data set, for messages.
        target: path of the finished file.
        sha256: digest of the file as it is served.
        addresses: tried in this order.

    Raises:
        DataUnavailable: no address served it; says what went wrong with each.
    """
    made(target.parent)
    failures: list[str] = []
    with _own_part(target) as part:
        for address in addresses:
            try:
                _obtain(address, part, sha256)
            except (OSError, DataCorrupted) as error:  # requests' exceptions are OSErrors
                failures.append(f"{address}: {reason(error)}")
            else:
                part.replace(target)
                return address
    tried = "\n  ".join(failures) or "no mirror was given"
    raise DataUnavailable(
        f"{target.name} of {name} could not be downloaded; name a folder that has it by root= or LOSSNAV_DATA, or try "
        f"again with a network (what has arrived is kept, and continued):\n  {tried}"
    )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _obtain(address: str, part: Path, sha256: str) -> None:
    """Download and verify; what was continued and turns out wrong is downloaded once more from its first byte."""
    while True:
        continued = part.stat().st_size > 0
        _continue(address, part)
        found = file_digest(part)
        if found == sha256:
            return
        os.truncate(part, 0)
        if not continued:
            raise DataCorrupted(f"it has the SHA-256 {found[:16]}…, but the official file has {sha256[:16]}…")


@contextmanager
def _own_part(target: Path) -> Iterator[Path]:
    """Yield the part file that this call alone writes to: the longest that has lost its writer, or else a new one.

    What has arrived is left to the next call, however this one ends; other parts without a writer are removed.
    """
    with ExitStack() as open_files:
        abandoned = []
        for other in parts(target):
            with suppress(OSError):  # another process has finished it, or it is another user's
                stream: IO[bytes] = open_files.enter_context(other.open("r+b"))
                if claim(stream, _IDLE):
                    abandoned.append((os.fstat(stream.fileno()).st_size, other))
        if abandoned:
            _, part = max(abandoned)
        else:
            part, stream = new_part(target)
            open_files.enter_context(stream)
        for _, other in abandoned:
            if other != part:
                other.unlink()
        if not RENAMES_OPEN_FILES:
            open_files.close()
        part.touch()  # from now on it is not idle
        try:
            yield part
        finally:
            if part.exists() and not part.stat().st_size:
                part.unlink()


def _continue(address: str, part: Path) -> None:
    """Append to ``part`` what it lacks, or write it anew if the server does not serve ranges."""
    import requests

    begun = part.stat().st_size
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # nothing is left to send: the digest decides whether it is the file
            return
        answer.raise_for_status()
        continued = answer.status_code == 206
        total = int(answer.headers.get("Content-Length", 0)) + (begun if continued else 0)
        bar = tqdm(
            total=total or None, initial=begun if continued else 0, unit="B", unit_scale=True,
            desc=part.name.split(".")[0], disable=not watched(),
        )  # fmt: skip
        with bar, part.open("ab" if continued else "wb") as stream:
            for chunk in answer.iter_content(_CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))
    if total and part.stat().st_size < total:
        raise OSError(f"the connection ended after {part.stat().st_size} of {total} bytes")
