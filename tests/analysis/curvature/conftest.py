"""The fixture that sends every model through a test."""

from __future__ import annotations

import pytest
from curvature_cases import CASES, Case


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param
