"""Files that are written whole or not at all, and files that one process at a time may write."""

from __future__ import annotations

import errno
import glob
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_IDLE = 24 * 3600.0  # seconds after which a part file must be of a writer that was killed, where files have no locks


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Yield a stream for the new content of ``target``, which gets the name when the block ends without an error.

    The content reaches the disk before it gets the name, so that a crash leaves the old file or the new one. A reader
    never sees half of either. What writers that were killed have left behind is removed. Of a link, what it leads to is
    replaced.

    Raises:
        OSError: the folder cannot be made, the content does not fit on the disk, or what is there is no regular file;
            names ``target``.
    """
    real, part, stream = _begun(target)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is None:  # elsewhere the claim lasts until the part has its name
                stream.close()
            part.replace(real)
    except OSError as error:
        raise _named(error, target) from None
    finally:
        part.unlink(missing_ok=True)


def check_place(target: Path) -> None:
    """Raise now, and not when the content has been computed, if ``target`` cannot be written.

    Raises:
        OSError: as ``replacing`` would.
    """
    _, part, stream = _begun(target)
    stream.close()
    part.unlink()


def claim(stream: IO[bytes], idle: float) -> bool:
    """Return whether no other process writes to an open file, and be its writer, if so, until the file is closed.

    The system ends a claim with the process that holds it, however that ends. Where files have no locks, one that
    nobody has written to for ``idle`` seconds has no writer.
    """
    locked = _locked(stream)
    if locked is None:
        return time.time() - os.fstat(stream.fileno()).st_mtime > idle
    return locked and os.fstat(stream.fileno()).st_nlink > 0  # else its last writer has just removed it


def new_part(target: Path) -> tuple[Path, IO[bytes]]:
    """Open a part file of this call's own, and claim it; it has the permissions that the user gives to new files."""
    while True:
        part = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}.part")
        stream = part.open("xb")
        if _locked(stream) is not False and os.fstat(stream.fileno()).st_nlink:
            return part, stream
        stream.close()  # another process took it for an orphan before it was claimed


def parts(target: Path) -> list[Path]:
    """Return the part files of ``target``."""
    return list(target.parent.glob(f"{glob.escape(target.name)}.*.part"))


def _begun(target: Path) -> tuple[Path, Path, IO[bytes]]:
    """Return the file that is meant, and open a part of it in its folder, which is made if need be."""
    real = Path(os.path.realpath(target))
    try:
        if real.is_symlink():  # a ring of links leads to no file
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not real.parent.is_dir():
            real.parent.mkdir(parents=True, exist_ok=True)
        if real.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if real.exists() and not real.is_file():
            raise OSError(errno.EINVAL, "Not a regular file")  # a device would be gone for good
        _remove_orphans(real)
        return real, *new_part(real)
    except FileExistsError:  # of the folder's name
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target)) from None
    except OSError as error:
        raise _named(error, target) from None


def _locked(stream: IO[bytes]) -> bool | None:
    """Lock an open file for this process; return whether that went well, None where files have no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a network file system without locks
        return None
    return True


def _remove_orphans(target: Path) -> None:
    for part in parts(target):
        with suppress(OSError), part.open("rb") as stream:  # another process may have removed it first
            if claim(stream, _IDLE):
                part.unlink()


def _named(error: OSError, target: Path) -> OSError:
    """Return the same kind of error, told of the file that was wanted and not of its part."""
    return error if error.errno is None else OSError(error.errno, error.strerror, str(target))
