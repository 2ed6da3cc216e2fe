"""The explorables' scripts and styles, and the constants that they share with Python."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

STYLES = [Path(__file__).with_name(name) for name in ("drawing.css", "explorable.css")]


def folder_of(name: str) -> Path:
    """Return the folder of the explorable with a name: ``pull_back`` of ``PullBack``."""
    return Path(__file__).with_name(re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower())


@cache
def constants(place: str | Path) -> dict[str, Any]:
    """Return what ``constants.json`` in a widget's folder, or beside a file of it, holds; its script reads it, too."""
    folder = Path(place) if Path(place).is_dir() else Path(place).parent
    return dict(json.loads((folder / "constants.json").read_text(encoding="utf-8")))


def bundle(folder: Path) -> str:
    """Return a widget's script with all that it imports, as a classic script that defines ``view``.

    Raises:
        FileNotFoundError: it has not been bundled yet; it says what bundles it.
    """
    path = folder / "bundle.js"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there yet: `python book/_tools/pictures.py write` makes it of view.js")
    return path.read_text(encoding="utf-8")


def module(folder: Path) -> str:
    """Return a widget's script as the module that anywidget asks for."""
    return f"{bundle(folder)}export default view.default;\n"


def stylesheet(folder: Path | None = None) -> str:
    """Return the style sheet of the explorables, with what a widget's own ``style.css`` adds to it."""
    return "".join(path.read_text(encoding="utf-8") for path in [*STYLES, *_own_style(folder)])


def drawing_style(folder: Path) -> str:
    """Return the rules for what a widget draws, which are all that its static twin needs."""
    return "".join(path.read_text(encoding="utf-8") for path in [STYLES[0], *_own_style(folder)])


def _own_style(folder: Path | None) -> list[Path]:
    return [] if folder is None else [own for own in [folder / "style.css"] if own.is_file()]
