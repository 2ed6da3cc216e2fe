"""Files of tensors that prove themselves: a digest of every byte is kept in the file and checked before it is used.

``torch.load`` does not look at the checksums of an archive, so that a flipped bit becomes another weight. Here a file
of ``torch.save`` (a zip archive) gets a comment, which the format allows at its end: the SHA-256 of all that is before.
"""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import zipfile
from pathlib import Path
from typing import IO, Any

from lossnav._writing import replacing

_WORDS = b"lossnav sha256 "
_COMMENT = len(_WORDS) + 64
_CHUNK = 1 << 20


class Damaged(ValueError):
    """A file is not as it was written; the message is the reason, worded to stand in parentheses."""


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a file, whole or not at all.

    Raises:
        OSError: it cannot be written; the old file stays.
        pickle.UnpicklingError: at the first time, when nothing is overwritten: it could not be read back.
    """
    import torch

    with replacing(path) as stream:
        try:
            torch.save(content, stream)
        except RuntimeError as error:  # torch's writer of archives hides that the disk is full
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None
        stream.flush()
        if not path.exists():  # once a run: find out now, not after a crash, that this state cannot be read back
            torch.load(stream.name, map_location="meta", weights_only=True)
        _seal(stream)


def load(path: Path) -> Any:
    """Return the content of a file on the CPU, after every byte of it has been verified; nothing in it is executed.

    What ``torch.save`` has written has no digest, but a checksum of each of its parts: those are checked.

    Raises:
        Damaged: the file is not as it was written, or is no such file.
        OSError: it cannot be read, or is no regular file.
    """
    import torch

    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe waits for a writer, a device never ends
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    with path.open("rb") as stream:
        _verify(stream)
        try:
            return torch.load(stream, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise Damaged("it holds more than tensors and plain values, and nothing in it is executed") from None
        except Exception as error:  # torch and zipfile raise a dozen kinds
            raise Damaged(str(error).splitlines()[0] if str(error) else type(error).__name__) from None


def _seal(stream: IO[bytes]) -> None:
    """Append the digest, as the comment of the archive, whose length is the last number before it."""
    stream.seek(-2, os.SEEK_END)
    stream.write(_COMMENT.to_bytes(2, "little"))
    stream.flush()
    with Path(stream.name).open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    stream.seek(0, os.SEEK_END)
    stream.write(_WORDS + digest.encode())


def _verify(stream: IO[bytes]) -> None:
    """Raise ``Damaged`` if the digest of an open file is wrong, or, if it has none, a checksum of one of its parts."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _COMMENT))
    end = stream.read()
    stream.seek(0)
    if end.startswith(_WORDS):
        digest, remaining = hashlib.sha256(), size - _COMMENT
        while chunk := stream.read(min(_CHUNK, remaining)):
            digest.update(chunk)
            remaining -= len(chunk)
        if digest.hexdigest().encode() != end[len(_WORDS) :]:
            raise Damaged("its SHA-256 is not the one that was written with it")
        stream.seek(0)
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            wrong = archive.testzip()
    except Exception as error:  # of an archive with damaged tables zipfile raises whatever they lead to
        raise Damaged(str(error) or type(error).__name__) from None
    if wrong is not None:
        raise Damaged(f"its part {wrong!r} has the wrong checksum")
    stream.seek(0)
