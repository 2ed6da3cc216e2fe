"""What a test of an equation is a test of: the library's code, or the sources' algebra alone.

A test is about the code if it reaches a name that is imported from lossnav: in its own text, in its parameters, or in
what it uses of its module. It is read, not run.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path


def proves(test: str, root: Path) -> str:
    """Return "code" or "paper" for ``file::function`` seen from ``root``."""
    file, _, name = test.partition("::")
    library, uses = _read(root / file)
    visited: set[str] = set()
    left = {name}
    while left:
        current = left.pop()
        visited.add(current)
        if current in library or "" in uses.get(current, ()):
            return "code"
        left |= uses.get(current, frozenset()) & (uses.keys() | library) - visited
    return "paper"


@functools.cache
def _read(path: Path) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Return the names that are the library's, and for each top-level name those that it uses ("": an inner import)."""
    library: set[str] = set()
    uses: dict[str, frozenset[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        library |= _imported(node)
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
        names |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}  # a parameter may be a fixture
        inner = "" if any(_imported(part) for part in ast.walk(node)) else None
        names |= set() if inner is None else {inner}
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            uses[node.name] = frozenset(names - {node.name})
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (part.id for tree in targets for part in ast.walk(tree) if isinstance(part, ast.Name)):
                uses[target] = uses.get(target, frozenset()) | frozenset(names)
    return frozenset(library), uses


def _imported(node: ast.AST) -> set[str]:
    """Return the names by which an import statement makes the library known."""
    if isinstance(node, ast.Import):
        return {(a.asname or a.name).split(".")[0] for a in node.names if a.name.split(".")[0] == "lossnav"}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "lossnav":
        return {alias.asname or alias.name for alias in node.names}
    return set()
