"""Checkpoints: a run's whole state in one file that is replaced atomically and read without executing anything."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from lossnav._checks import shown
from lossnav.lab import archive
from lossnav.lab.training.identity import differences

_FORMAT = 4


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or belongs to another run; it is left as it is."""


def is_there(path: Path | None, resume: bool) -> bool:
    """Return whether there is a file of that name (None for no checkpoint), which the run then goes on from.

    Raises:
        ValueError: there is no file to resume from.
        CheckpointError: it is no regular file, or is there and is not to be resumed.
    """
    if path is None:
        if resume:
            raise ValueError("resume = True, but there is no checkpoint: name its file by checkpoint=")
        return False
    if path.is_dir():
        raise CheckpointError(f"checkpoint = {str(path)!r} is a folder, but it must be a file: name one in it")
    if path.exists() and not path.is_file():
        raise CheckpointError(f"checkpoint = {str(path)!r} is a device or a pipe, but it must be a file: name another")
    if path.exists() and not resume:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} exists: resume=True continues its run; delete it to begin again"
        )
    return path.exists()


def write(path: Path, identity: dict[str, Any], done: int, state: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all: to a temporary file that reaches the disk before it gets the name.

    Args:
        path: of the checkpoint.
        identity: what tells the run from others, by ``identity.describe``.
        done: number of epochs, or of tasks.
        state: what the run goes on from.

    Raises:
        TypeError: the state holds objects that could not be loaded again without executing code.
    """
    try:
        archive.save(path, {"format": _FORMAT, "identity": identity, "done": done, **_plain(state)})
    except pickle.UnpicklingError as error:
        matched = re.search(r"GLOBAL (\S+)", str(error))
        detail = f": {matched[1]}" if matched else ""
        raise TypeError(f"checkpoint: the state of the model or the optimizer has more than tensors{detail}") from None


def _plain(value: Any) -> Any:
    """Return the state with numpy's numbers, which a rate may be, as Python's: those are read without running code."""
    if type(value) is dict:
        return {key: _plain(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def read(path: Path, identity: dict[str, Any], length: int, unit: str) -> dict[str, Any]:
    """Read the checkpoint of a run onto the CPU, every byte of it verified.

    Args:
        path: of the checkpoint.
        identity: of the run that is about to go on: that with which it began, or "reached", if the state has it.
        length: how many epochs, or tasks, it is to have.
        unit: what they are called.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, belongs to another run, or has done more already.
    """
    try:
        content = archive.load(path)
    except archive.Damaged as error:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} is damaged or is no checkpoint ({error}): delete it to begin again"
        ) from None
    except OSError as error:
        raise CheckpointError(f"checkpoint = {str(path)!r} cannot be read ({error.strerror})") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        file_format = shown(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise CheckpointError(
            f"checkpoint = {str(path)!r} has the format {file_format}, and this version reads format {_FORMAT}: "
            "continue it with the version that wrote it, or delete it to begin again"
        )
    differing = [] if identity == content.get("reached") else differences(content["identity"], identity)
    if content["done"] > length:
        differing.append(f"{content['done']} {unit} there, {length} here")
    if differing:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} belongs to another run: {'; '.join(differing[:6])}. Continue that run with "
            "its own settings and a model and an optimizer made anew, name another file, or delete this one"
        )
    return content
