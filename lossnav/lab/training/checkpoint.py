"""Checkpoints: a run's whole state in one file that is replaced atomically and read without executing anything."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnav._checks import shown
from lossnav.lab import archive
from lossnav.lab.training.identity import differences

_FORMAT = 2
_MAY_DIFFER = ("epochs", "arithmetic")  # a run may be prolonged; the reason's wording is no setting
_PARTS: dict[str, Any] = {
    "model": dict, "optimizer": dict, "history": dict, "losses": Tensor, "seconds": float, "generator": Tensor,
    "global_generator": Tensor, "data": dict, "loss": (dict, str),
}  # fmt: skip
_ONLINE = {"identity": dict, "seeds": list, "scores": Tensor, "seconds": float, "ensemble": dict, "rule": dict}
_CURVES = ("train_loss", "test_loss", "test_accuracy", "seconds", "step_loss")


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or belongs to another run; it is left as it is."""


class DamagedCheckpoint(CheckpointError):
    """A checkpoint is not as it was written; ``reason`` says how that was found."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"checkpoint = {str(path)!r} is damaged or is no checkpoint ({reason}): delete it to begin again"
        )
        self.reason = reason


def is_there(path: Path) -> bool:
    """Return whether there is a file of that name.

    Raises:
        CheckpointError: it is a folder.
    """
    if path.is_dir():
        raise CheckpointError(f"checkpoint = {str(path)!r} is a folder, but it must be a file: name one in it")
    return path.exists()


def check_resume(path: Any, resume: bool) -> None:
    """Raise unless a run may begin, or go on, with this checkpoint (None for no checkpoint).

    Raises:
        ValueError: there is no file to resume from.
        CheckpointError: it is there, and is not to be resumed.
    """
    if path is None and resume:
        raise ValueError("resume = True, but there is no checkpoint: name its file by checkpoint=")
    if path is not None and not resume and is_there(Path(path)):
        raise CheckpointError(
            f"checkpoint = {str(path)!r} exists: resume=True continues its run; delete it to begin again"
        )


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all: to a temporary file that reaches the disk before it gets the name.

    The checkpoint before it is kept as ``archive.previous(path)``.

    Raises:
        TypeError: the state holds objects that could not be loaded again without executing code.
    """
    try:
        archive.save(path, {"format": _FORMAT, **_plain(content)}, keep=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        what = f": {found[1]}" if found else ""
        raise TypeError(f"checkpoint: the state of the model or the optimizer has more than tensors{what}") from None


def _plain(value: Any) -> Any:
    """Return the state with numpy's numbers, which a rate may be, as Python's: those are read without running code."""
    if type(value) is dict:
        return {key: _plain(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def newest(path: Path, online: bool = False) -> tuple[Path, dict[str, Any]]:
    """Read a checkpoint or, with a warning, the one before it if it is damaged; return which file it was, too.

    Args:
        path: of the checkpoint.
        online: whether it is of a stream of tasks.

    Raises:
        CheckpointError: as ``read`` does.
    """
    try:
        return path, read(path, online)
    except DamagedCheckpoint as error:
        before = archive.previous(path)
        if not before.is_file():
            raise
        try:
            content = read(before, online)
        except CheckpointError as second:
            raise CheckpointError(f"{error}. The one before it is of no use, either: {second}") from None
        if online:
            done = f"{content['scores'].shape[1]} tasks"
        else:
            history = content["history"]
            done = f"{len(history['train_loss'])} whole epochs and {len(history['step_loss'])} steps"
        warnings.warn(
            f"checkpoint = {str(path)!r} is damaged ({error.reason}): the run goes on from the one before it, "
            f"{str(before)!r}, which has {done}",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
        return before, content


def read(path: Path, online: bool = False) -> dict[str, Any]:
    """Read a checkpoint, of epochs or of a stream of tasks, onto the CPU.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or has a format that this version does not know.
    """
    try:
        content = archive.load(path)
    except archive.Damaged as error:
        raise DamagedCheckpoint(path, str(error)) from None
    except OSError as error:
        raise CheckpointError(f"checkpoint = {str(path)!r} cannot be read ({error.strerror})") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        found = shown(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise CheckpointError(
            f"checkpoint = {str(path)!r} has the format {found}, and this version reads format {_FORMAT}: "
            "continue it with the version that wrote it, or delete it to begin again"
        )
    parts = _ONLINE if online else _PARTS
    wrong = [name for name, kind in parts.items() if not isinstance(content.get(name), kind)]
    if not (wrong or online):
        history = content["history"]
        wrong += [f"history.{name}" for name in _CURVES if not _numbers(history.get(name))]
        wrong += [] if isinstance(history.get("settings"), dict) else ["history.settings"]
        wrong += [] if isinstance(content["optimizer"].get("param_groups"), list) else ["optimizer.param_groups"]
    if wrong:
        what = ", ".join(wrong)
        raise CheckpointError(f"checkpoint = {str(path)!r} is no checkpoint of a run (what it lacks: {what})")
    return content


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is float for entry in value)


def check_same_run(
    path: Path, content: dict[str, Any], settings: dict[str, Any], data: dict[str, Any], state: dict[str, Any]
) -> None:
    """Raise unless a checkpoint belongs to the run that is about to continue it.

    Args:
        path: of the checkpoint, for the message.
        content: what ``read`` returned.
        settings: of the run, ``History.settings``.
        data: what tells its data from others of the same label.
        state: ``model`` and ``optimizer``, the state dicts of the objects that are to be filled, and ``loss``, what
            ``identity.describe`` tells of it.
    """
    then = content["history"]["settings"]
    found = _differences(then, settings)
    found += [f"data: {what}" for what in _differences(content["data"], data)]
    found += differences(content["loss"], state["loss"], "loss")
    found += _model_differences(content["model"], state["model"])
    found += _group_differences(content["optimizer"]["param_groups"], state["optimizer"]["param_groups"])
    begun = len(content["history"]["train_loss"]) + (len(content["losses"]) > 0)
    if begun > settings["epochs"]:
        found.append(f"{begun} epochs there, {settings['epochs']} here")
    refuse(path, found)


def refuse(path: Path, found: list[str]) -> None:
    """Raise if there are differences between the run of a checkpoint and the one that is about to continue it."""
    if found:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} belongs to another run: {'; '.join(found[:6])}. Continue that run with "
            "its own settings, name another file, or delete this one"
        )


def _differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{key} = {shown(then.get(key))} there, {shown(now.get(key))} here"
        for key in {**then, **now}
        if key not in _MAY_DIFFER and then.get(key) != now.get(key)
    ]


def _model_differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    differences = []
    for what in ("shape", "dtype"):
        before, after = (
            {key: getattr(value, what) for key, value in state.items() if isinstance(value, Tensor)}
            for state in (then, now)
        )
        differences += [
            f"model: {key} {_word(before.get(key))} there, {_word(after.get(key))} here"
            for key in {**before, **after}
            if before.get(key) != after.get(key)
        ]
    return differences


def _word(value: Any) -> str:
    return "missing" if value is None else str(tuple(value) if isinstance(value, torch.Size) else value)


def _group_differences(then: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    if len(then) != len(now):
        return [f"optimizer: {len(then)} parameter groups there, {len(now)} here"]
    differences = [
        f"optimizer: {len(old['params'])} parameters in a group there, {len(new['params'])} here"
        for old, new in zip(then, now, strict=True)
        if len(old["params"]) != len(new["params"])
    ]
    return differences + [
        f"optimizer: {key} = {shown(old.get(key))} there, {shown(new.get(key))} here"
        for old, new in zip(then, now, strict=True)
        for key in {**old, **new}
        if key != "params" and not _equal(old.get(key), new.get(key))
    ]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):  # a learning rate may be a tensor
        return bool(torch.equal(torch.as_tensor(a).cpu().double(), torch.as_tensor(b).cpu().double()))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return list(a) == list(b)
    return bool(a == b)
