"""Sphinx extension: the package's wings, drawn from its import graph when the book is built, and a table of its rooms.

``{architecture} picture`` draws the wings in the order that import-linter enforces, with an arc for each wing that
imports another; ``{architecture} rooms`` lists what lies in each. Nothing of it is written by hand.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import grimp
from docutils import nodes
from lossnav_math import inline
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("numpy", "scipy", "sympy", "torch", "matplotlib", "anywidget", "dask")
ROW, TOP, SPINE, WIDTH = 40, 24, 152, 372  # of the picture, in its own units


@dataclass(frozen=True)
class Wing:
    """One wing of the package.

    Attributes:
        name: of its folder.
        purpose: first sentence of its docstring.
        rooms: (name, first sentence) of what lies directly in it; names that begin with _ are left out.
        lines: of Python.
        libraries: that it imports itself.
        imports: wing → number of imports from it.
    """

    name: str
    purpose: str
    rooms: tuple[tuple[str, str], ...]
    lines: int
    libraries: tuple[str, ...]
    imports: dict[str, int]


@cache
def wings() -> tuple[Wing, ...]:
    """Return the wings, along the arrow."""
    graph = grimp.build_graph("lossnav", include_external_packages=True, exclude_type_checking_imports=True)
    imported = {name: Counter[str]() for name in _order()}
    for module in graph.modules:
        wing = _wing(module)
        if wing in imported:
            imported[wing].update(_wing(other) for other in graph.find_modules_directly_imported_by(module))
    return tuple(
        Wing(
            name, _first_sentence(_home(name)), tuple(_rooms(name)), sum(map(_count, _sources(name))),
            tuple(library for library in LIBRARIES if library in counts),
            {other: counts[other] for other in imported if other in counts and other != name},
        )
        for name, counts in imported.items()
    )  # fmt: skip


def _order() -> list[str]:
    """Return the names of the wings in the order of import-linter's layers, the first of the arrow first."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    rows = next(rule["layers"] for rule in rules if rule["name"] == "Rows of the architecture")
    names = [name.strip("() ").removeprefix("lossnav.") for row in reversed(rows) for name in row.split("|")]
    return [name for name in names if not name.startswith("_")]


def _wing(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "lossnav" and len(parts) > 1 else parts[0]


def _home(name: str) -> Path:
    folder = ROOT / "lossnav" / name
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def _sources(name: str) -> list[Path]:
    home = _home(name)
    return sorted(home.parent.rglob("*.py")) if home.name == "__init__.py" else [home]


def _rooms(name: str) -> Iterator[tuple[str, str]]:
    for path in sorted(_home(name).parent.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.is_file() and not path.name.startswith("_"):
            yield path.stem, _first_sentence(source)


def _first_sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    words = text.split("\n\n")[0].replace("\n", " ").replace("``", "")
    return re.split(r"(?<!Sec)(?<!Secs)(?<!Eq)(?<!App)\. ", words)[0].rstrip(".")


def _count(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def picture(found: tuple[Wing, ...]) -> str:
    """Return the picture as SVG: names below each other, an arc from each wing up to each one that it imports."""
    place = {wing.name: TOP + ROW * number for number, wing in enumerate(found)}
    height = 2 * TOP + ROW * (len(found) - 1)
    arcs, names = [], []
    for wing in found:
        for other, count in wing.imports.items():
            low, high = place[wing.name], place[other]
            reach = SPINE - 14 - 118 * math.sqrt(abs(low - high) / height)
            words = f"{wing.name} imports {other}: {count} times"
            arcs.append(
                f'<path class="ln-arc" data-from="{wing.name}" data-to="{other}" '
                f'd="M{SPINE - 8} {low} C{reach:.1f} {low} {reach:.1f} {high} {SPINE - 8} {high}" '
                f'stroke-width="{1 + math.log2(count) / 2:.2f}"><title>{escape(words)}</title></path>'
            )
        y = place[wing.name]
        names.append(
            f'<circle cx="{SPINE}" cy="{y}" r="5"/>'
            f'<text class="ln-wing" x="{SPINE + 14}" y="{y + 1}">{wing.name}</text>'
            f'<text class="ln-library" x="{SPINE + 14}" y="{y + 14}">{", ".join(wing.libraries)}</text>'
        )
    label = "The wings of the package, each below those it may import: " + "; ".join(
        f"{wing.name} imports {', '.join(wing.imports) or 'none of the others'}" for wing in found
    )
    return (
        f'<svg class="ln-architecture" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f'<line class="ln-spine" x1="{SPINE}" y1="{TOP}" x2="{SPINE}" y2="{height - TOP}"/>'
        + "".join(arcs) + "".join(names) + "</svg>"
    )  # fmt: skip


def rooms(wing: Wing) -> str:
    """Return what lies in a wing as HTML, folded away."""
    entries = "".join(f"<li><code>{name}</code>: {_words(sentence)}</li>" for name, sentence in wing.rooms)
    head = f"<summary><strong>{wing.name}</strong>: {_words(wing.purpose)} ({wing.lines:,} lines)</summary>"
    return f'<details class="ln-rooms">{head}<ul>{entries}</ul></details>'


def _words(sentence: str) -> str:
    parts = re.split(r":math:`([^`]*)`", sentence)  # text and formulas in turn
    return "".join(inline(part) if number % 2 else escape(part) for number, part in enumerate(parts))


class Architecture(SphinxDirective):
    """``{architecture} picture`` or ``{architecture} rooms``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture, or the rooms wing by wing."""
        for name in _order():
            for path in _sources(name):
                self.env.note_dependency(str(path))
        self.env.note_dependency(str(ROOT / "pyproject.toml"))
        if self.arguments[0] == "picture":
            return [nodes.raw("", picture(wings()), format="html")]
        if self.arguments[0] == "rooms":
            return [nodes.raw("", "".join(map(rooms, wings())), format="html")]
        raise self.error(f"architecture: {self.arguments[0]!r}, but it must be 'picture' or 'rooms'")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("architecture", Architecture)
    app.add_css_file("lossnav_architecture.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
