"""Checkpoints: a run's whole state in one file that is replaced atomically and read without executing anything."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .._checks import shown
from .._writing import replacing

_FORMAT = 1
_MAY_DIFFER = ("epochs", "device", "arithmetic")  # a run may be prolonged, or moved; the reason's wording is no setting


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or belongs to another run; it is left as it is."""


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all: to a temporary file that reaches the disk before it gets the name.

    Raises:
        TypeError: the state holds objects that could not be loaded again without executing code.
    """
    with replacing(path) as stream:
        try:
            torch.save({"format": _FORMAT, **content}, stream)
        except RuntimeError as error:  # torch's writer of archives hides that the disk is full
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None
        if not path.exists():  # once a run: find out now, not after a crash, that this state cannot be read back
            stream.flush()
            _probe(Path(stream.name))


def _probe(part: Path) -> None:
    try:
        torch.load(part, map_location="meta", weights_only=True)
    except pickle.UnpicklingError as error:
        raise TypeError(f"checkpoint: the state of the model or the optimizer has more than tensors: {error}") from None


def read(path: Path) -> dict[str, Any]:
    """Read a checkpoint onto the CPU.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or has a format that this version does not know.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch, zipfile and pickle raise a dozen kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"checkpoint = {str(path)!r} is damaged or is no checkpoint ({reason}): delete it to begin again"
        ) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        found = shown(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise CheckpointError(
            f"checkpoint = {str(path)!r} has the format {found}, and this version reads format {_FORMAT}: "
            "continue it with the version that wrote it, or delete it to begin again"
        )
    return content


def check_same_run(path: Path, content: dict[str, Any], settings: dict[str, Any], state: dict[str, Any]) -> None:
    """Raise unless a checkpoint belongs to the run that is about to continue it.

    Args:
        path: of the checkpoint, for the message.
        content: what ``read`` returned.
        settings: of the run, ``History.settings``.
        state: ``model`` and ``optimizer``, the state dicts of the objects that are to be filled.
    """
    then = content["history"]["settings"]
    differences = [
        f"{key} = {shown(then.get(key))} there, {shown(settings.get(key))} here"
        for key in {**then, **settings}
        if key not in _MAY_DIFFER and then.get(key) != settings.get(key)
    ]
    differences += _model_differences(content["model"], state["model"])
    differences += _group_differences(content["optimizer"]["param_groups"], state["optimizer"]["param_groups"])
    if len(content["history"]["train_loss"]) > settings["epochs"]:
        differences.append(f"{len(content['history']['train_loss'])} epochs there, {settings['epochs']} here")
    if differences:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} belongs to another run: {'; '.join(differences[:6])}. Continue that run with "
            "its own settings, or name another file"
        )


def _model_differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    shapes = ({k: tuple(v.shape) for k, v in state.items() if isinstance(v, Tensor)} for state in (then, now))
    before, after = shapes
    return [
        f"model: {key} {before.get(key, 'missing')} there, {after.get(key, 'missing')} here"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]


def _group_differences(then: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    if len(then) != len(now):
        return [f"optimizer: {len(then)} parameter groups there, {len(now)} here"]
    return [
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
