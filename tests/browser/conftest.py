"""The built book in a real browser. LOSSNAV_HTML names the build (default _build/html, what `make book` leaves)."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import BUILD, ROOT, pages

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """A server that logs would fill the report."""


@pytest.fixture(scope="session")
def html() -> Path:
    folder = ROOT / os.environ.get("LOSSNAV_HTML", BUILD / "html")
    missing = [page for page in pages() if not (folder / f"{page}.html").is_file()]
    if missing:
        pytest.fail(f"{folder} lacks {', '.join(missing)}; build the book first: make book (or make test)")
    return folder


@pytest.fixture(scope="session")
def server(html: Path) -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture(scope="session")
def base(request: pytest.FixtureRequest, html: Path, server: str) -> str:
    """Address of the book; parametrize indirectly with "file" or "http"."""
    return html.resolve().as_uri() if request.param == "file" else server
