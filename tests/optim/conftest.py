"""The fixture that sends every optimizer of the table through a test, and those for the fused kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from optim_table import ROWS, Row

from lossnav.optim import _fused, _native


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def rule(request: pytest.FixtureRequest) -> Row:
    return request.param


@pytest.fixture
def kernel() -> ctypes.CDLL:
    """For tests of the kernel itself: a machine without a compiler has none."""
    try:
        return _native.load(torch.float32)
    except _native.NoKernel as reason:
        pytest.skip(f"no kernel on this machine: {reason}")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As in a new process on a machine that has no builds; gives the folder where they will be."""
    monkeypatch.setenv("LOSSNAV_KERNELS", str(tmp_path / "kernels"))
    for memory in (_native._load, _fused._compiled):
        memory.cache_clear()
    _fused._said.clear()
    yield tmp_path / "kernels"
    for memory in (_native._load, _fused._compiled):
        memory.cache_clear()
    _fused._said.clear()
