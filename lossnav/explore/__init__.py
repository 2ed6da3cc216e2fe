"""Explorables: small interactive figures that work in Jupyter and in the published page, where no kernel runs.

Each has a folder: ``model.js`` is its mathematics and ``view.js`` draws it; ``widget.py`` holds its state as traits,
checks it and draws the static twin that stands where no JavaScript runs. What several share lies beside the folders.
Nothing heavy is imported until one is made.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

# A folder with a widget is an explorable, and has its name: MovingNetwork is in moving_network.
_FOLDERS = {
    "".join(map(str.capitalize, file.parent.name.split("_"))): file.parent.name
    for file in Path(__file__).parent.glob("*/widget.py")
}

__all__ = sorted(["Explorable", *_FOLDERS])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lossnav.explore' has no attribute {name!r}")
    module = "base" if name == "Explorable" else f"{_FOLDERS[name]}.widget"
    found = getattr(importlib.import_module(f"lossnav.explore.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
