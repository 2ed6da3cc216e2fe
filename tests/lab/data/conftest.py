"""Small data sets in the formats of the official ones, and a web folder that serves them."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import io
import struct
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

from lossnav.lab.data import cifar, mnist


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def files(monkeypatch) -> dict[str, bytes]:
    """Make ``load("mnist")`` expect four small files; return them, gzipped, by name."""
    rng = np.random.default_rng(0)
    content, digests = {}, {}
    for name in mnist._FILES:
        count = 50 if name.startswith("train") else 20
        raw = idx(rng.integers(0, 10 if "labels" in name else 256, (count, 28, 28) if "images" in name else (count,)))
        content[f"{name}.gz"] = gzip.compress(raw)
        digests[name] = (hashlib.sha256(raw).hexdigest(), hashlib.sha256(content[f"{name}.gz"]).hexdigest())
    monkeypatch.setattr(mnist, "_FILES", digests)
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    return content


@pytest.fixture
def batches(monkeypatch) -> dict[str, bytes]:
    """Make ``load("cifar10")`` expect six small batches; return them."""
    rng = np.random.default_rng(0)
    content = {}
    for name in cifar._BATCHES:
        records = rng.integers(0, 256, (12, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        content[name] = records.tobytes()
    monkeypatch.setattr(cifar, "_BATCHES", {name: hashlib.sha256(c).hexdigest() for name, c in content.items()})
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    return content


@pytest.fixture
def archive(batches, monkeypatch) -> dict[str, bytes]:
    """Make ``load("cifar10")`` expect an archive of the small batches; return it by its name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in batches.items():
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    monkeypatch.setattr(cifar, "_ARCHIVE_SHA256", hashlib.sha256(buffer.getvalue()).hexdigest())
    return {"cifar-10-binary.tar.gz": buffer.getvalue()}


class Web(http.server.SimpleHTTPRequestHandler):
    """A web folder that notes what it is asked for."""

    def do_GET(self):
        self.server.seen.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def serve(monkeypatch):
    """Return a function that serves folders as the mirrors of both data sets; gives a list of what is asked for."""
    servers = []

    def start(*folders: Path) -> list[str]:
        hits: list[str] = []
        for folder in folders:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Web, directory=str(folder)))
            server.seen = hits
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            servers.append(server)
        addresses = tuple(f"http://127.0.0.1:{server.server_port}/" for server in servers)
        for module in (mnist, cifar):
            monkeypatch.setattr(module, "_MIRRORS", addresses)
        return hits

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
