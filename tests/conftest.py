from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from chrome import Browser, find_chrome


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-each", action="store_true", help="of each parametrised test only the first case")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first case of each test, where only a quick look is wanted; the others are said to be deselected."""
    if not config.getoption("--one-each", default=False):
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        first.setdefault(item.nodeid.partition("[")[0], item)
    kept = set(map(id, first.values()))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


@pytest.fixture(scope="module")  # the driver's event loop runs as long as it does, and notebooks want one of their own
def browser() -> Iterator[Browser]:
    if find_chrome() is None:
        if os.environ.get("LOSSNAV_REQUIRE_BROWSER"):
            pytest.fail("LOSSNAV_REQUIRE_BROWSER is set and there is no Chrome or Chromium")
        pytest.skip("no Chrome or Chromium on this machine")
    with Browser() as running:
        yield running
