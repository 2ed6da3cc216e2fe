from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from chrome import Browser, find_chrome


@pytest.fixture(scope="module")  # the driver's event loop runs as long as it does, and notebooks want one of their own
def browser() -> Iterator[Browser]:
    if find_chrome() is None:
        if os.environ.get("LOSSNAV_REQUIRE_BROWSER"):
            pytest.fail("LOSSNAV_REQUIRE_BROWSER is set and there is no Chrome or Chromium")
        pytest.skip("no Chrome or Chromium on this machine")
    with Browser() as running:
        yield running
