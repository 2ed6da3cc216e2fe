"""The explorables that their folders declare whole: each class is made when its name is first asked for."""

from __future__ import annotations

from lossnav.explore._scripts import folder_of
from lossnav.explore.base import Explorable, declared


def __getattr__(name: str) -> type[Explorable]:
    constants = folder_of(name) / "constants.json"
    if not constants.is_file():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = declared(constants)
    return made
