"""Loading: the repository's own data, forged files where errors are wanted, a local mirror for downloads."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import fresh
import numpy as np
import pytest
import torch
from resources import DATA, ROOT

from lossnav import data
from lossnav.lab.data import _files, loading

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def files() -> dict[str, bytes]:
    """A small data set in MNIST's format: the four files, gzipped."""
    rng = np.random.default_rng(0)
    content = {}
    for name in loading._MNIST.sha256:
        count = 50 if name.startswith("train") else 20
        shape = (count, 28, 28) if "images" in name else (count,)
        content[name] = gzip.compress(idx(rng.integers(0, 10 if "labels" in name else 256, shape)))
    return content


@pytest.fixture
def source(files, monkeypatch) -> _files.Source:
    """Make ``load("mnist")`` expect the small files."""
    digests = {name: hashlib.sha256(gzip.decompress(packed)).hexdigest() for name, packed in files.items()}
    small = _files.Source("mnist", digests, mirrors=(), largest=10**6)
    monkeypatch.setattr(loading, "_MNIST", small)
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    return small


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, packed in files.items():
        (folder / f"{name}.gz").write_bytes(packed)
    return folder


class Mirror(http.server.SimpleHTTPRequestHandler):
    """A web folder that counts its requests and can be slow."""

    requests: list[str]
    delay = 0.0

    def do_GET(self):
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    """Return a function that serves a folder and gives (address, list of requested paths)."""
    servers = []

    def start(folder: Path, handler=Mirror):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/", server.seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_real_mnist():
    mnist = data.load("mnist", root=DATA)
    assert mnist.train.x.shape == (60000, 1, 28, 28) and mnist.test.x.shape == (10000, 1, 28, 28)
    assert mnist.train.x.dtype == torch.uint8 and mnist.train.y.dtype == torch.int64
    assert mnist.train.y.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert mnist.test.y[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    # the constants that everybody uses, to their four digits
    assert (round(mnist.train.mean[0], 4), round(mnist.train.std[0], 4)) == (0.1307, 0.3081)
    x, _ = mnist.train.batch(slice(None))
    assert abs(x.mean().item()) < 1e-4 and abs(x.std().item() - 1) < 1e-4
    assert mnist.inputs == 784 and mnist.shape == (1, 28, 28) and mnist.classes == 10
    assert str(DATA) not in str(mnist.provenance) + repr(mnist.provenance) + str(mnist.provenance.record())


def test_real_mnist_by_environment_or_by_its_own_folder_or_raw(monkeypatch, tmp_path):
    expected = data.load("mnist", root=DATA / "mnist")
    monkeypatch.setenv("LOSSNAV_DATA", str(DATA))
    assert torch.equal(data.load("mnist", download=False, cache=tmp_path).test.x, expected.test.x)
    for packed in (DATA / "mnist").glob("*.gz"):
        (tmp_path / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    assert torch.equal(data.load("mnist", root=tmp_path).train.x, expected.train.x)


def test_a_clone_has_its_data_without_a_network_and_a_cache(tmp_path):
    """Nothing beside the repository is read: what git knows of the package and the data, in a folder of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "lossnav", "data", "pyproject.toml"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / "clone" / name)
    code = (
        "import socket\nfrom lossnav import data\nsocket.socket.connect = None\nfor name in ('mnist', 'cifar10'):\n"
        "    found = data.load(name)\n    print(len(found.train), found.provenance)\nprint(data.__file__)"
    )
    usual = {name: value for name, value in os.environ.items() if name != "LOSSNAV_DATA"}
    own = {"PYTHONPATH": str(tmp_path / "clone"), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "clone", env={**usual, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert Path(said[2]).is_relative_to(tmp_path)
    assert said[0].startswith("60000 MNIST (official files), from the repository; 4 files verified by SHA-256")
    assert said[1].startswith("10000 CIFAR-10 (JPEG copy, sample), from the repository; not the official files")


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_who_names_a_cache_or_mirrors_wants_no_sample(name, tmp_path, monkeypatch):
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    assert data.load(name).provenance.origin == "the repository"
    with pytest.raises(data.DataUnavailable, match="not on this machine"):
        data.load(name, download=False, cache=tmp_path)
    with pytest.raises(data.DataUnavailable, match="could not be downloaded"):
        data.load(name, mirrors=[], cache=tmp_path)


def test_digits_are_the_library_s_images_split_by_index():
    from sklearn.datasets import load_digits

    digits = data.load("digits")
    raw = load_digits()
    assert (len(digits.train), len(digits.test)) == (1437, 360)
    np.testing.assert_array_equal(digits.test.x[:, 0].numpy(), raw.images[::5])
    np.testing.assert_array_equal(digits.test.y.numpy(), raw.target[::5])
    assert digits.test.y.bincount().min() >= 25
    x, y = digits.train.batch(torch.tensor([3, 1]))
    pixels = np.delete(raw.images, np.s_[::5], axis=0) / 16
    np.testing.assert_allclose(x[:, 0].numpy(), (pixels[[3, 1]] - pixels.mean()) / pixels.std(), rtol=1e-5, atol=1e-6)
    assert x.dtype == torch.float32 and torch.equal(y, digits.train.y[[3, 1]])


def test_digits_without_scikit_learn_or_its_file_are_named(monkeypatch, tmp_path):
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(data.DataUnavailable, match=r"it has no .*digits\.csv\.gz: install it again"):
        data.load("digits")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(data.DataUnavailable, match=r'missing: pip install "lossnav\[book\]"'):
        data.load("digits")


def test_moving_and_shortening():
    digits = data.load("digits")
    small = digits.head(30, 10).to("cpu")
    assert (len(small.train), len(small.test)) == (30, 10)
    assert torch.equal(small.train.x, digits.train.x[:30])
    assert small.train.mean == digits.train.mean
    with pytest.raises(ValueError, match=r"test = 361.*<= 360"):
        digits.head(30, 361)
    assert digits.to("meta").device.type == "meta"


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"name = 'cifar'.*'mnist', 'digits'"):
        data.load("cifar")


@pytest.mark.parametrize("layout", [".", "mnist", "MNIST/raw"])
def test_root_may_hold_the_files_or_their_folder(source, files, tmp_path, layout):
    write(tmp_path / layout, files)
    small = data.load("mnist", root=tmp_path)
    raw = gzip.decompress(files[IMAGES])
    assert small.train.x.shape == (50, 1, 28, 28)
    np.testing.assert_array_equal(small.train.x.flatten().numpy(), np.frombuffer(raw[16:], np.uint8))
    assert small.provenance.origin == "local folder"


def test_root_is_binding(source, files, tmp_path, serve):
    address, seen = serve(write(tmp_path / "web", files))
    with pytest.raises(data.DataUnavailable, match=r"root = .*empty.* has no mnist files.*train-images-idx3-ubyte"):
        data.load("mnist", root=tmp_path / "empty", mirrors=[address], cache=tmp_path)
    assert seen == []


def test_a_missing_file_is_named(source, files, tmp_path):
    del files[LABELS]
    with pytest.raises(data.DataUnavailable, match=f"neither {LABELS} nor {LABELS}.gz"):
        data.load("mnist", root=write(tmp_path, files))


def truncated(packed: bytes) -> bytes:
    return packed[: len(packed) // 2]


def flipped(packed: bytes) -> bytes:
    middle = len(packed) // 2
    return packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :]


def another(packed: bytes) -> bytes:
    return gzip.compress(idx(np.zeros((50, 28, 28))))


def page(packed: bytes) -> bytes:
    return b"<html>sign in to the network</html>"


def bomb(packed: bytes) -> bytes:
    return gzip.compress(bytes(2 * 10**6))


def empty(packed: bytes) -> bytes:
    return b""


DAMAGE = [truncated, flipped, another, page, bomb, empty]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_local_file_is_named_with_a_remedy(source, files, tmp_path, damage):
    files[IMAGES] = damage(files[IMAGES])
    write(tmp_path, files)
    with pytest.raises(data.DataCorrupted, match=rf"{IMAGES}\.gz is .*: replace it by the official {IMAGES}\.gz"):
        data.load("mnist", root=tmp_path)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_is_never_reused(source, files, tmp_path, damage, serve):
    address, seen = serve(write(tmp_path / "web", files))
    cache = tmp_path / "cache"
    data.load("mnist", mirrors=[address], cache=cache)
    cached = cache / "mnist" / f"{IMAGES}.gz"
    cached.write_bytes(damage(files[IMAGES]))
    with pytest.raises(data.DataCorrupted, match=rf"{IMAGES}\.gz is .*delete it"):
        data.load("mnist", mirrors=[address], cache=cache)
    cached.unlink()  # the remedy works
    data.load("mnist", mirrors=[address], cache=cache)
    assert len(seen) == 5


def test_download_then_cache(source, files, tmp_path, serve):
    address, seen = serve(write(tmp_path / "web", files))
    first = data.load("mnist", mirrors=[address], cache=tmp_path / "cache")
    again = data.load("mnist", download=False, cache=tmp_path / "cache")
    assert len(seen) == 4
    assert first.provenance.origin == address and again.provenance.origin == "cache"
    assert torch.equal(first.train.x, again.train.x)
    assert sorted(p.name for p in (tmp_path / "cache" / "mnist").iterdir()) == sorted(f"{n}.gz" for n in files)


@pytest.mark.parametrize("damage", [*DAMAGE, None])
def test_the_next_mirror_is_tried(source, files, tmp_path, damage, serve):
    bad = dict(files)
    if damage is None:
        del bad[LABELS]  # answers 404
    else:
        bad[LABELS] = damage(files[LABELS])
    first, _ = serve(write(tmp_path / "bad", bad))
    second, _ = serve(write(tmp_path / "good", files))
    loaded = data.load("mnist", mirrors=[first, second], cache=tmp_path / "cache")
    assert loaded.provenance.origin == f"{first}, {second}"
    with pytest.raises(data.DataUnavailable, match=rf"{LABELS}\.gz .*root= or LOSSNAV_DATA.*\n.*{first}"):
        data.load("mnist", mirrors=[first], cache=tmp_path / "other")
    left = {p.name for p in (tmp_path / "other" / "mnist").iterdir()}
    assert f"{LABELS}.gz" not in left and not any(".part" in name for name in left)


def test_without_a_network_it_fails_fast_and_says_what_was_tried(source, tmp_path):
    closed = "http://127.0.0.1:9/"  # the discard port: refuses connections
    with pytest.raises(data.DataUnavailable, match=r"could not be downloaded[\s\S]*127\.0\.0\.1:9"):
        data.load("mnist", mirrors=[closed], cache=tmp_path)
    with pytest.raises(data.DataUnavailable, match=r"download = False"):
        data.load("mnist", download=False, cache=tmp_path)


def test_concurrent_downloads_agree(source, files, tmp_path, serve):
    address, _ = serve(write(tmp_path / "web", files))
    results: list = [None] * 8

    def work(k):
        try:
            results[k] = data.load("mnist", mirrors=[address], cache=tmp_path / "cache").train.x
        except Exception as error:
            results[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.is_tensor(x) and torch.equal(x, results[0]) for x in results), results
    assert not list((tmp_path / "cache").rglob("*.part*"))


class Stalling(Mirror):
    """Sends half of a file, then waits."""

    def do_GET(self):
        content = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.server.seen.append(self.path)
        time.sleep(30)


def test_a_download_killed_half_way_leaves_nothing_to_reuse(source, files, tmp_path, serve):
    web = write(tmp_path / "web", files)
    stalled, seen = serve(web, Stalling)
    code = f"from lossnav import data; data.load('mnist', mirrors=[{stalled!r}], cache={str(tmp_path / 'cache')!r})"
    process = fresh.Running(code, environment={"LOSSNAV_DATA": ""})
    folder = tmp_path / "cache" / "mnist"
    for _ in range(6000):
        parts = list(folder.glob("*.part"))
        if seen and parts and parts[0].stat().st_size:
            break
        time.sleep(0.1)
    process.kill()
    process.wait()
    parts = list(folder.glob("*.part"))
    assert len(parts) == 1 and not (folder / f"{IMAGES}.gz").exists()
    address, _ = serve(web)
    data.load("mnist", mirrors=[address], cache=tmp_path / "cache")
    assert not list(folder.glob("*.part"))


def test_idx_headers_are_checked():
    from lossnav.lab.data.idx import parse_idx

    good = idx(np.arange(6).reshape(2, 3))
    assert parse_idx(good, "x").tolist() == [[0, 1, 2], [3, 4, 5]]
    for bad in (b"", good[:3], b"\0\1" + good[2:], b"\0\0\x0d" + good[3:], good[:7], good[:-1], good + b"\0"):
        with pytest.raises(data.DataCorrupted, match=r"^x "):
            parse_idx(bad, "x")
