"""Where things lie in the book, and the few questions that every tool asks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
TEXTS = BOOK / "myst"
BUILD = ROOT / "_build"
EXPLORE = ROOT / "lossnav" / "explore"


def config() -> dict[str, Any]:
    """The content of _config.yml."""
    loaded = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return dict(loaded)


@cache  # each link of a notebook asks for it, and to parse YAML takes long
def published() -> str:
    """The address of the published book, with a slash at its end."""
    return str(config()["html"]["baseurl"])


def pages() -> list[str]:
    """Every document of _toc.yml in reading order, without suffix: "book/index", "book/navigation", ..."""
    return list(_pages())


@cache
def _pages() -> tuple[str, ...]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"]]

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "file" in node:
                listed.append(node["file"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk({key: value for key, value in toc.items() if key != "root"})
    return tuple(listed)


def digest(paths: Iterable[Path], *extra: str) -> str:
    """A hash of files, by name and content, and of words that matter beside them."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for word in extra:
        total.update(word.encode() + b"\0")
    return total.hexdigest()[:16]


def sources(folder: Path) -> list[Path]:
    """The files of a folder that make a difference: not caches, not notebooks' checkpoints."""
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".pyc"]


def write_atomically(path: Path, text: str) -> None:
    """Write to a neighbour, then rename: a crash leaves the old file whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
