"""Where tests find real data, recorded runs and a browser, how they load a study's script, how a disk becomes full."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from chrome import find_chrome

if TYPE_CHECKING:
    from lossnav.lab.data import Dataset

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "book" / "results"
STUDIES = ROOT / "studies"
DATA = ROOT / "data"


def recorded(name: str) -> ModuleType:
    """Return the script ``studies/<name>.py`` as a module."""
    spec = importlib.util.spec_from_file_location(f"recorded_{name}", STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def draws(count: int) -> int:
    """Return how many random cases a test takes: so many, and more in ``make draws``."""
    return count * int(os.environ.get("LOSSNAV_DRAWS", "1"))


@functools.cache
def real(name: str) -> Dataset:
    """Return the repository's data set of this name, read once by a process: nobody writes into it."""
    from lossnav import data  # and torch, which not all who look here need

    return data.load(name, root=DATA)


def need_a_browser() -> None:
    """Skip the test where no browser is; fail it where one was to be."""
    if find_chrome() is None:
        if os.environ.get("LOSSNAV_REQUIRE_BROWSER"):
            pytest.fail("LOSSNAV_REQUIRE_BROWSER is set and there is no Chrome or Chromium")
        pytest.skip("no Chrome or Chromium on this machine")


def need_torchs_compiler() -> None:
    """Skip the test where ``torch.compile`` cannot build: without a C++ compiler, or in a folder that it misnames."""
    import torch
    from torch._inductor import cpp_builder, exc

    if " " in torch.__file__:
        pytest.skip("torch.compile gives the linker its own folder unquoted, and the path has a space")
    try:
        cpp_builder.get_cpp_compiler()
    except (RuntimeError, exc.InvalidCxxCompiler) as reason:
        pytest.skip(f"no C++ compiler for torch.compile: {reason}")


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: the system refuses the write, as on a full disk."""
    import resource  # there is none on Windows

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
