"""One large file over a slow line: resumed where it broke off, verified, and only then visible under its name."""

from __future__ import annotations

import hashlib
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from ._files import TIMEOUT, DataCorrupted, DataUnavailable, reason

_CHUNK = 1 << 16  # bytes; a break loses less than one chunk
_ABANDONED = 120.0  # seconds without a new byte (six times the read timeout) after which a part has no writer


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
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")
    failures: list[str] = []
    for address in addresses:
        try:
            _obtain(address, target, part, sha256)
            return address
        except (OSError, DataCorrupted) as error:  # requests' exceptions are OSErrors
            failures.append(f"{address}: {reason(error)}")
    _give_up(part)
    tried = "\n  ".join(failures) or "no mirror was given"
    raise DataUnavailable(
        f"{target.name} of {name} could not be downloaded; name a folder that has it by root= or LOSSNAV_DATA, or try "
        f"again with a network (what has arrived is kept, and continued):\n  {tried}"
    )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _obtain(address: str, target: Path, part: Path, sha256: str) -> None:
    """Download and verify; what was continued and turns out wrong is downloaded once more from its first byte."""
    _adopt(target, part)
    while True:
        continued = part.exists() and part.stat().st_size > 0
        _continue(address, part)
        found = file_digest(part)
        if found == sha256:
            part.replace(target)
            return
        part.unlink()
        if not continued:
            raise DataCorrupted(f"it has the SHA-256 {found[:16]}…, but the official file has {sha256[:16]}…")


def _adopt(target: Path, part: Path) -> None:
    """Take over the longest part that no process writes to, by an atomic rename: of two adopters one wins."""
    abandoned = []
    for other in target.parent.glob(f"{target.name}.*.part"):
        try:
            status = other.stat()
        except FileNotFoundError:  # another process took it
            continue
        if other != part and time.time() - status.st_mtime > _ABANDONED:
            abandoned.append((status.st_size, other))
    own = part.stat().st_size if part.exists() else 0
    for size, other in sorted(abandoned, reverse=True):
        try:
            if size > own:
                other.replace(part)
                part.touch()
                own = size
            else:
                other.unlink()
        except FileNotFoundError:
            continue


def _continue(address: str, part: Path) -> None:
    """Append to ``part`` what it lacks, or write it anew if the server does not serve ranges."""
    import requests

    begun = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # nothing is left to send: the digest decides whether it is the file
            return
        answer.raise_for_status()
        continued = answer.status_code == 206
        total = int(answer.headers.get("Content-Length", 0)) + (begun if continued else 0)
        bar = tqdm(
            total=total or None, initial=begun if continued else 0, unit="B", unit_scale=True,
            desc=part.name.split(".")[0], disable=not sys.stderr.isatty(),
        )  # fmt: skip
        with bar, part.open("ab" if continued else "wb") as stream:
            for chunk in answer.iter_content(_CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))
    if total and part.stat().st_size < total:
        raise OSError(f"the connection ended after {part.stat().st_size} of {total} bytes")


def _give_up(part: Path) -> None:
    """Leave what has arrived to the next call, at once: this one writes no more."""
    if part.exists() and part.stat().st_size:
        os.utime(part, (0, 0))
    else:
        part.unlink(missing_ok=True)
