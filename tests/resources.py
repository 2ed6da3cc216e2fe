"""Where tests find real data and recorded runs, and how they load the script of one."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "book" / "results"
STUDIES = ROOT / "studies"
SHARED = Path(os.environ.get("LOSSNAV_DATA") or ROOT.parent / "shared" / "data")


def recorded(name: str) -> ModuleType:
    """Return the script ``studies/<name>.py`` as a module."""
    spec = importlib.util.spec_from_file_location(f"recorded_{name}", STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
