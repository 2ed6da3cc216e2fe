"""The fixture that sends every optimizer of the table through a test."""

from __future__ import annotations

import pytest
from optim_table import ROWS, Row


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def rule(request: pytest.FixtureRequest) -> Row:
    return request.param
