"""Archives that cannot fill the memory: neither by a long name in a header nor by what they unpack to."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def opened(path: Path, *, piece: int, largest: int) -> Iterator[tarfile.TarFile]:
    """Open a tar archive, plain or compressed, for reading in order.

    Args:
        path: of the archive.
        piece: no header or member is larger, in bytes.
        largest: nor is the whole archive, unpacked.

    Raises:
        EOFError: while it is read: it is larger.
    """
    with path.open("rb") as file:
        start = file.read(6)
        file.seek(0)
        unpacked: Any = file
        if start.startswith(b"\x1f\x8b"):
            unpacked = gzip.GzipFile(fileobj=file)  # none of the three closes the file, nor holds anything else
        elif start.startswith(b"\xfd7zXZ\0"):
            unpacked = lzma.LZMAFile(file)  # noqa: SIM115
        elif start.startswith(b"BZh"):
            unpacked = bz2.BZ2File(file)
        with tarfile.open(fileobj=_Bounded(unpacked, piece, largest), mode="r:") as archive:
            yield archive


class _Bounded(io.RawIOBase):
    """A stream that refuses large requests before it serves them."""

    def __init__(self, stream: IO[bytes], piece: int, largest: int) -> None:
        super().__init__()
        self._stream, self._piece, self._largest = stream, piece, largest

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place in the unpacked archive."""
        return self._stream.tell()

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place counted from the beginning."""
        if whence != io.SEEK_SET or place > self._largest:
            raise EOFError(f"it goes to its byte {place}, but has at most {self._largest}")
        return self._stream.seek(place)

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes, which must be a number."""
        if not 0 <= size <= self._piece + tarfile.BLOCKSIZE:
            raise EOFError(f"it asks for {size} bytes at a time, but its parts have at most {self._piece}")
        if self._stream.tell() + size > self._largest + tarfile.BLOCKSIZE:
            raise EOFError(f"it has more than {self._largest} bytes")
        return self._stream.read(size)
