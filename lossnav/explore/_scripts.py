"""The explorables' scripts and styles: modules joined to one, and the constants that they share with Python."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

STYLES = [Path(__file__).with_name(name) for name in ("drawing.css", "explorable.css")]

_COMMENT = re.compile(r"^[ ]*//[^\n]*\n|^[ ]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(r"/\*\* @\w+ .*?\*/ ?")
_INDENT = re.compile(r"^ +", re.MULTILINE)  # no literal of a script goes over lines
_MODULE = re.compile(r'^import \{[^}]*\} from "(?P<file>\.[\w./]+\.js)";\n', re.MULTILINE)
_CONSTANTS = re.compile(r'^import SHARED from "\./constants\.json" with \{ type: "json" \};\n', re.MULTILINE)


def constants(place: str | Path) -> dict[str, Any]:
    """Return what ``constants.json`` in a widget's folder, or beside a file of it, holds; its script reads it, too."""
    return _constants_in(Path(place) if Path(place).is_dir() else Path(place).parent)


@cache
def _constants_in(folder: Path) -> dict[str, Any]:
    """Read a folder's constants once: a widget's module asks for them, and its class, when it is made."""
    return dict(json.loads((folder / "constants.json").read_text(encoding="utf-8")))


def bundle(folder: Path) -> str:
    """Return a widget's ``view.js`` and all that it imports as one module: a page carries no other files.

    Each module stands once, after those that it imports. Modules take the widget's constants as SHARED, and share one
    scope: no two may give one name to different things. Indents stay behind, lines that are all comment, and types,
    because each widget of a page brings its own copy.

    Args:
        folder: of the widget; ``constants.json`` lies there, too.

    Raises:
        ValueError: if a module imports in another way, or imports one that imports it.
    """
    parts: dict[Path, str] = {}
    _add(parts, (folder / "view.js").resolve(), ())
    shared = json.dumps(constants(folder), ensure_ascii=False, separators=(",", ":"))
    return f"const SHARED = {shared};\n" + "\n".join(parts.values())


def _add(parts: dict[Path, str], path: Path, above: tuple[Path, ...]) -> None:
    """Add what ``path`` imports to ``parts``, then itself; ``above`` are the modules that wait for it."""
    if path in above:
        raise ValueError(f"{above[-1].name} imports {path.name}, which waits for it: modules must not go in circles")
    if path in parts:
        return
    text = path.read_text(encoding="utf-8")
    for wanted in _MODULE.finditer(text):
        _add(parts, (path.parent / wanted["file"]).resolve(), (*above, path))
    for left_behind in (_MODULE, _CONSTANTS, _COMMENT, _TYPE, _INDENT):
        text = left_behind.sub("", text)
    if left := re.search(r"^import .*", text, re.MULTILINE):
        raise ValueError(f'{path.name} says {left[0]!r}, but it must name what it imports and end in from "./….js"')
    parts[path] = text


def stylesheet(folder: Path | None = None) -> str:
    """Return the style sheet of the explorables, with what a widget's own ``style.css`` adds to it."""
    return "".join(path.read_text(encoding="utf-8") for path in [*STYLES, *_own_style(folder)])


def drawing_style(folder: Path) -> str:
    """Return the rules for what a widget draws, which are all that its static twin needs."""
    return "".join(path.read_text(encoding="utf-8") for path in [STYLES[0], *_own_style(folder)])


def _own_style(folder: Path | None) -> list[Path]:
    return [] if folder is None else [own for own in [folder / "style.css"] if own.is_file()]
