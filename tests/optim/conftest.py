"""The fixture that sends every optimizer of the table through a test, and that of the fused kernels."""

from __future__ import annotations

import ctypes

import pytest
import torch
from launches import KERNEL
from optim_table import ROWS, Row

from lossnav.optim import _native


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def rule(request: pytest.FixtureRequest) -> Row:
    return request.param


@pytest.fixture
def kernel() -> ctypes.CDLL:
    """For tests of the kernel itself: a machine without a compiler has none."""
    try:
        return _native.load(torch.float32, KERNEL)
    except _native.NoKernel as reason:
        pytest.skip(f"no kernel on this machine: {reason}")
