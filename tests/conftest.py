from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import fresh
import pytest
from chrome import Browser
from resources import need_a_browser

# Before its first graph, torch's compiler would build and load three programs, to see that the C++ compiler knows the
# vectors that the processor says it has: seven seconds of a processor.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="of each file the first N tests, of each test the first case")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is loaded here stays: the garbage collector would walk its million objects again and again, to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # of those that -m has left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a few tests of each file, where only a quick look is wanted; the others are said to be deselected."""
    if (few := config.getoption("--few", default=None)) is None:
        return
    kept: list[pytest.Item] = []
    seen: dict[object, set[str]] = {}
    for item in items:
        tests, name = seen.setdefault(item.path, set()), item.nodeid.partition("[")[0]
        if name not in tests and len(tests) < few:
            tests.add(name)
            kept.append(item)
    chosen = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = kept


@pytest.fixture(scope="module")  # the driver's event loop runs as long as it does, and notebooks want one of their own
def browser() -> Iterator[Browser]:
    need_a_browser()
    with Browser() as running:
        yield running


@pytest.fixture
def second_device() -> Callable[..., None]:
    """Run a function of a test's module with a device that is not the CPU, in a process of its own.

    ``second_device(check, *words)`` calls ``check(device, *words)``; ``second_device.py`` says what the device is.
    """

    def run(check: Callable[..., None], *words: str) -> None:
        code = "import sys\nimport second_device\nplace = second_device.register()\n"
        code += f"import {check.__module__} as there\nthere.{check.__name__}(place, *sys.argv[1:])"
        done = fresh.run(code, *words)
        assert done.returncode == 0, done.stderr

    return run
