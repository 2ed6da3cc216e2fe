"""Packages whose names are loaded on first use (PEP 562), from the stub that type checkers and editors read."""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

Places = dict[str, tuple[str, str]]


class CallableModule(types.ModuleType):
    """What the name of both a module and a function is; it can be sent to another process, as a function can."""

    def __reduce__(self) -> tuple[Callable[[str], types.ModuleType], tuple[str]]:
        return importlib.import_module, (self.__name__,)


def places(package: str, file: str) -> Places:
    """Return for each name that a package offers the module that it is from, and its name there.

    They stand once, in ``__init__.pyi``, whose statements are the three by which a stub offers something:
    ``from module import name as name``; ``name = other`` for what was imported under another name; and ``name: type``
    for what is the package's own.

    Args:
        package: its ``__name__``.
        file: its ``__file__``.
    """
    imported: Places = {}
    offered: Places = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(module), names=aliases):
                imported |= {alias.name: (module, alias.name) for alias in aliases}
                offered |= {alias.name: (module, alias.name) for alias in aliases if alias.asname}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                offered[name] = imported[other]
            case ast.AnnAssign(target=ast.Name(id=name)):
                offered[name] = (package, name)
    return offered


def attach(package: str, offered: Places) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with these ``places``."""

    def load(name: str) -> Any:
        if name not in offered:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, origin = offered[name]
        if module == package:  # to ask the package for its own module would lead here again
            loaded = importlib.import_module(f"{package}.{origin}")
        else:
            loaded = getattr(__import__(module, fromlist=[origin]), origin)
        setattr(sys.modules[package], name, loaded)
        return loaded

    return load, lambda: sorted(offered), sorted(offered)
