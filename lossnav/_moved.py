"""Paths that modules had before 0.2: ``import lossnav.losses`` gives ``lossnav.problem.losses``, the same module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Moved(MetaPathFinder, Loader):
    """Finds each old path, and all below it, at its new place; there is one module, so there is one class of each name.

    Args:
        places: new path by old path, both as seen from ``lossnav``; of two that fit, the longer one counts.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(sorted(places.items(), key=lambda place: -len(place[0])))
        self._rooms = {old.partition(".")[0] for old in places}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a path that has moved, and None for any other."""
        place = self._place(fullname)
        found = None if place is None else importlib.util.find_spec(place)
        if found is None:
            return None
        return ModuleSpec(fullname, self, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module from its new place; its own spec is kept aside, for the import system replaces it."""
        module = importlib.import_module(self._place(spec.name) or spec.name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: it has run already."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def _place(self, name: str) -> str | None:
        if not name.startswith("lossnav.") or name.split(".")[1] not in self._rooms:
            return None  # every first import of a process comes by here
        path = name.removeprefix("lossnav.") + "."
        for old, new in self._places.items():
            if path.startswith(old + "."):
                return f"lossnav.{new}{path.removeprefix(old)}"[:-1]
        return None


def install(places: Mapping[str, str]) -> None:
    """Let old paths be imported from now on."""
    if not any(isinstance(finder, Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, Moved(places))
