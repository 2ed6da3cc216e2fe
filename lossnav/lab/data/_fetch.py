"""One large file over a slow line: resumed where it broke off, verified, and only then visible under its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from lossnav._writing import RENAMES_OPEN_FILES, claim, new_part, parts
from lossnav.lab.data._files import DataCorrupted, DataUnavailable, made, reason
from lossnav.lab.data._http import Patience, download

_LARGEST = 256 * 2**20  # bytes; the archive of CIFAR-10 has 170,052,171
_IDLE = 120.0  # seconds without a new byte (six times the read timeout) that mean "no writer" where files have no locks


def fetch(
    name: str, target: Path, sha256: str, addresses: Sequence[str], *, largest: int = _LARGEST,
    patience: Patience | None = None,
) -> str:  # fmt: skip
    """Download ``target`` from the first address that serves the right bytes; return that address.

    A download that broke off, or whose process was killed, is continued by the next call from the byte where it
    stopped, from any mirror: all serve the same bytes, and the digest is that of the whole file. Processes that
    download at the same time do not disturb each other, since each writes a part file of its own.

    Args:
        name: of the data set, for messages.
        target: path of the finished file.
        sha256: digest of the file as it is served.
        addresses: tried in this order.
        largest: no mirror is listened to for more bytes.
        patience: how long to wait for each; None for the usual limits.

    Raises:
        DataUnavailable: no address served it; says what went wrong with each.
    """
    made(target.parent)
    failures: list[str] = []
    with _own_part(target) as part:
        for address in addresses:
            try:
                _obtain(address, part, sha256, largest, patience)
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


def _obtain(address: str, part: Path, sha256: str, largest: int, patience: Patience | None) -> None:
    """Download and verify; what was continued and turns out wrong is downloaded once more from its first byte."""
    while True:
        begun = part.stat().st_size
        try:
            with part.open("ab", buffering=0) as stream:
                download(
                    address, stream, largest=largest, label=part.name.split(".")[0], begun=begun, patience=patience
                )
            found = file_digest(part)
            if found == sha256:
                return
            wrong = f"it has the SHA-256 {found[:16]}…, but the official file has {sha256[:16]}…"
        except DataCorrupted as error:
            wrong = str(error)
        os.truncate(part, 0)
        if not begun:
            raise DataCorrupted(wrong)


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
