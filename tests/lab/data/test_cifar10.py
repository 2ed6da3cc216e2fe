"""CIFAR-10: a forged small archive for the official path, the real JPEG copy, and a mirror that breaks off."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import http.server
import io
import os
import signal
import tarfile
import threading
import time
from pathlib import Path

import fresh
import numpy as np
import pytest
import torch
from resources import DATA, real

from lossnav import data
from lossnav.lab.data import _fetch, cifar, pictures

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture
def batches() -> dict[str, bytes]:
    """Six small batches in the official format: random labels and pixels."""
    rng = np.random.default_rng(0)
    content = {}
    for name in cifar._BATCHES:
        records = rng.integers(0, 256, (12, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        content[name] = records.tobytes()
    return content


def pack(batches: dict[str, bytes], folder: str = "cifar-10-batches-bin") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in batches.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def archive(batches, monkeypatch) -> bytes:
    """Make ``load("cifar10")`` expect the small batches; return their archive."""
    packed = pack(batches)
    monkeypatch.setattr(cifar, "_BATCHES", {name: hashlib.sha256(c).hexdigest() for name, c in batches.items()})
    monkeypatch.setattr(cifar, "_ARCHIVE_SHA256", hashlib.sha256(packed).hexdigest())
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    return packed


def by_hand(content: bytes) -> tuple[np.ndarray, list[int]]:
    """Read a batch one byte string at a time, with nothing of the library."""
    images, labels = [], []
    stream = io.BytesIO(content)
    while label := stream.read(1):
        labels.append(label[0])
        images.append([np.frombuffer(stream.read(1024), np.uint8).reshape(32, 32) for _ in "rgb"])
    return np.array(images), labels


def same_as(loaded: data.Dataset, batches: dict[str, bytes]) -> None:
    train = [by_hand(batches[f"data_batch_{k}.bin"]) for k in range(1, 6)]
    test = by_hand(batches["test_batch.bin"])
    np.testing.assert_array_equal(loaded.train.x.numpy(), np.concatenate([x for x, _ in train]))
    assert loaded.train.y.tolist() == [label for _, labels in train for label in labels]
    np.testing.assert_array_equal(loaded.test.x.numpy(), test[0])
    assert loaded.test.y.tolist() == test[1]


class Web(http.server.SimpleHTTPRequestHandler):
    """A mirror that understands ranges, and may break off after ``server.limit`` bytes of each answer."""

    def do_GET(self):
        content = Path(self.translate_path(self.path)).read_bytes()
        asked = self.headers.get("Range") if self.server.ranges else None
        self.server.seen.append(self.headers.get("Range"))
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if begin >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        limit = self.server.limit
        self.wfile.write(content[begin:] if limit is None else content[begin : begin + limit])
        self.wfile.flush()
        time.sleep(self.server.stall)

    def log_message(self, *args):
        pass


@pytest.fixture
def mirror(tmp_path, archive):
    """Return a running server of the archive; ``limit``, ``ranges`` and ``stall`` make it a bad one."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "cifar-10-binary.tar.gz").write_bytes(archive)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Web, directory=str(folder)))
    server.seen, server.limit, server.ranges, server.stall = [], None, True, 0
    server.address, server.folder = f"http://127.0.0.1:{server.server_port}/", folder
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("layout", [".", "cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"])
def test_official_batches_in_any_usual_folder(archive, batches, tmp_path, layout):
    folder = tmp_path / layout
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in batches.items():
        (folder / name).write_bytes(content)
    loaded = data.load("cifar10", root=tmp_path)
    same_as(loaded, batches)
    assert loaded.provenance.label == "CIFAR-10 (official files)" and loaded.provenance.verified
    assert "6 files verified" in str(loaded.provenance) and str(tmp_path) not in str(loaded.provenance)
    (folder / "test_batch.bin").unlink()
    with pytest.raises(data.DataUnavailable, match=r"not test_batch\.bin"):
        data.load("cifar10", root=tmp_path)


def test_official_archive_by_root_and_by_environment(archive, batches, tmp_path, monkeypatch):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(archive)
    same_as(data.load("cifar10", root=tmp_path), batches)
    monkeypatch.setenv("LOSSNAV_DATA", str(tmp_path))
    same_as(data.load("cifar10", download=False), batches)


def test_root_is_binding_and_says_what_it_wants(archive, mirror, tmp_path):
    with pytest.raises(data.DataUnavailable, match=r"root = .*no CIFAR-10: expected cifar-10-binary\.tar\.gz"):
        data.load("cifar10", root=tmp_path / "empty", mirrors=[mirror.address])
    with pytest.raises(data.DataUnavailable, match="download = False"):
        data.load("cifar10", download=False, cache=tmp_path)
    assert mirror.seen == []


def test_download_then_cache(mirror, batches, tmp_path):
    first = data.load("cifar10", mirrors=[mirror.address], cache=tmp_path / "cache")
    same_as(first, batches)
    again = data.load("cifar10", download=False, cache=tmp_path / "cache")
    assert mirror.seen == [None]
    assert first.provenance.origin.startswith(mirror.address) and again.provenance.origin == "cache"
    assert [p.name for p in (tmp_path / "cache" / "cifar10").iterdir()] == ["cifar-10-binary.tar.gz"]


def test_a_download_that_breaks_off_is_continued(mirror, batches, archive, tmp_path):
    mirror.limit = len(archive) // 3
    for _ in range(2):
        with pytest.raises(data.DataUnavailable, match=r"\d+ of \d+ bytes|IncompleteRead"):
            data.load("cifar10", mirrors=[mirror.address], cache=tmp_path)
    mirror.limit = None
    same_as(data.load("cifar10", mirrors=[mirror.address], cache=tmp_path), batches)
    begins = [int(asked[6:-1]) if asked else 0 for asked in mirror.seen]
    third = len(archive) // 3
    assert begins[0] == 0 and third - 1000 < begins[1] <= third and 2 * third - 2000 < begins[2] <= 2 * third
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_damaged_part_is_thrown_away(mirror, batches, archive, tmp_path, ranges):
    """Garbage left by a killed process: appended to, found wrong by the digest, downloaded anew from the first byte."""
    mirror.ranges = ranges
    folder = tmp_path / "cifar10"
    folder.mkdir()
    part = folder / "cifar-10-binary.tar.gz.0.part"
    part.write_bytes(b"x" * 100)
    os.utime(part, (0, 0))
    same_as(data.load("cifar10", mirrors=[mirror.address], cache=tmp_path), batches)
    assert mirror.seen == (["bytes=100-", None] if ranges else ["bytes=100-"])


def test_a_part_longer_than_the_file_is_thrown_away(mirror, batches, archive, tmp_path):
    part = tmp_path / "cifar10" / "cifar-10-binary.tar.gz.0.part"
    part.parent.mkdir()
    part.write_bytes(archive + b"x")
    os.utime(part, (0, 0))
    same_as(data.load("cifar10", mirrors=[mirror.address], cache=tmp_path), batches)


def test_a_part_that_is_being_written_is_left_alone(mirror, tmp_path):
    part = tmp_path / "cifar10" / "cifar-10-binary.tar.gz.0.part"
    part.parent.mkdir()
    part.write_bytes(b"x" * 100)
    with part.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        data.load("cifar10", mirrors=[mirror.address], cache=tmp_path)
    assert mirror.seen == [None] and part.read_bytes() == b"x" * 100


DOWNLOAD = """
import sys
from lossnav.data import _fetch
_fetch.fetch("CIFAR-10", _fetch.Path(sys.argv[1]), sys.argv[2], [sys.argv[3]])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_download_that_is_killed_is_continued_at_once(mirror, batches, archive, tmp_path, how):
    """The server stalls after half of the file; the next call does not begin again, however soon it comes."""
    mirror.limit, mirror.stall = len(archive) // 2, 60
    target = tmp_path / "cifar10" / "cifar-10-binary.tar.gz"
    process = fresh.Running(DOWNLOAD, target, hashlib.sha256(archive).hexdigest(), mirror.address + target.name)
    for _ in range(6000):
        if sum(part.stat().st_size for part in target.parent.glob("*.part")) > mirror.limit - 1000:
            break
        time.sleep(0.1)
    os.kill(process.pid, how)
    assert process.wait().returncode != 0
    mirror.limit, mirror.stall = None, 0
    same_as(data.load("cifar10", mirrors=[mirror.address], cache=tmp_path), batches)
    assert mirror.seen[0] is None and int(mirror.seen[1].removeprefix("bytes=")[:-1]) > len(archive) // 2 - 1000
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_concurrent_downloads_agree(mirror, tmp_path):
    results: list = [None] * 4

    def work(k):
        try:
            results[k] = data.load("cifar10", mirrors=[mirror.address], cache=tmp_path).test.x
        except Exception as error:
            results[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.is_tensor(x) and torch.equal(x, results[0]) for x in results), results
    assert not list(tmp_path.rglob("*.part"))


def test_the_next_mirror_is_tried_and_all_are_named(mirror, batches, archive, tmp_path):
    closed = "http://127.0.0.1:9/"
    same_as(data.load("cifar10", mirrors=[closed, mirror.address], cache=tmp_path / "a"), batches)
    (mirror.folder / "cifar-10-binary.tar.gz").write_bytes(b"<html>sign in</html>")
    with pytest.raises(data.DataUnavailable, match=r"127\.0\.0\.1:9[\s\S]*official file has"):
        data.load("cifar10", mirrors=[closed, mirror.address], cache=tmp_path / "b")
    assert not any(path.is_file() for path in (tmp_path / "b").rglob("*"))


@pytest.mark.parametrize("damage", ["truncated", "another", "missing", "no archive"])
def test_a_damaged_archive_is_named_with_a_remedy(archive, batches, tmp_path, damage):
    path = tmp_path / "cifar-10-binary.tar.gz"
    if damage == "truncated":
        content = archive[: len(archive) // 2]
    elif damage == "another":
        content = pack({**batches, "data_batch_3.bin": batches["data_batch_2.bin"]})
    elif damage == "missing":
        content = pack({name: c for name, c in batches.items() if name != "data_batch_3.bin"})
    else:
        content = b"<html>sign in</html>"
    path.write_bytes(content)
    with pytest.raises(data.DataCorrupted, match=r"cifar-10-binary\.tar\.gz is .*replace it by the official"):
        data.load("cifar10", root=tmp_path)


def test_batches_are_checked():
    good = bytes(3073)
    images, labels = cifar.parse_batch(good * 2, "b")
    assert images.shape == (2, 3, 32, 32) and labels.tolist() == [0, 0]
    for bad in (b"", good[:-1], good + b"\0"):
        with pytest.raises(data.DataCorrupted, match=r"^b has \d+ bytes"):
            cifar.parse_batch(bad, "b")
    with pytest.raises(data.DataCorrupted, match=r"^b has the label 10"):
        cifar.parse_batch(good + b"\x0a" + good[1:], "b")


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "x_train": rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8), "y_train": rng.integers(0, 10, 20),
        "x_test": rng.integers(0, 256, (8, 32, 32, 3), dtype=np.uint8), "y_test": rng.integers(0, 10, (8, 1)),
    }  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
def test_npz_with_its_own_label(tmp_path, first):
    content = arrays(np.random.default_rng(0))
    path = tmp_path / "copy.npz"
    stored = {k: v.transpose(0, 3, 1, 2) if first and v.ndim == 4 else v for k, v in content.items()}
    np.savez(path, **stored)
    loaded = data.load("cifar10", root=path)
    assert loaded.provenance.label == "CIFAR-10 (local copy copy.npz)"
    assert "not the official files" in str(loaded.provenance)
    assert loaded.provenance.sha256["copy.npz"] == hashlib.sha256(path.read_bytes()).hexdigest()
    np.testing.assert_array_equal(loaded.train.x.permute(0, 2, 3, 1).numpy(), content["x_train"])
    assert loaded.test.y.tolist() == content["y_test"].ravel().tolist()
    (tmp_path / "cifar10").mkdir()
    np.savez(tmp_path / "cifar10" / "cifar10.npz", label="CIFAR-10 (grey)", **stored)
    assert data.load("cifar10", root=tmp_path).provenance.label == "CIFAR-10 (grey)"


@pytest.mark.parametrize("bad", ["float", "shape", "labels", "count", "missing", "pickle", "text"])
def test_a_bad_npz_is_named(tmp_path, bad):
    content = arrays(np.random.default_rng(0))
    path = tmp_path / "copy.npz"
    if bad == "float":
        content["x_train"] = content["x_train"] / 255
    elif bad == "shape":
        content["x_test"] = content["x_test"][:, :28]
    elif bad == "labels":
        content["y_train"] = content["y_train"] + 1
        content["y_train"][0] = 10
    elif bad == "count":
        content["y_train"] = content["y_train"][1:]
    elif bad == "missing":
        del content["y_test"]
    elif bad == "pickle":
        content["x_train"] = np.array([{"a": 1}], dtype=object)
    np.savez(path, **content)
    if bad == "text":
        path.write_text("no archive")
    with pytest.raises(data.DataCorrupted, match=r"copy\.npz"):
        data.load("cifar10", root=path)


def draw_pictures(folder: Path, kind: str) -> dict[tuple[str, int], set[bytes]]:
    """Write two pictures a class and split; return the pixels by split and class."""
    from PIL import Image

    rng = np.random.default_rng(0)
    drawn: dict[tuple[str, int], set[bytes]] = {}
    for split in ("train", "test"):
        for k, name in enumerate(CLASSES):
            (folder / split / name).mkdir(parents=True)
            for n in range(2):
                pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / split / name / f"{n}.{kind}")
                drawn.setdefault((split, k), set()).add(pixels.tobytes())
    return drawn


def test_pictures_in_a_folder_or_its_archive_decoded_once(tmp_path, monkeypatch):
    drawn = draw_pictures(tmp_path / "pictures", "png")
    folder = data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    assert folder.provenance.label == "CIFAR-10 (picture files, sample)"
    for split, part in (("train", folder.train), ("test", folder.test)):
        for k in range(10):
            found = {image.permute(1, 2, 0).numpy().tobytes() for image in part.x[part.y == k]}
            assert found == drawn[split, k]
    assert folder.train.y.tolist() != sorted(folder.train.y.tolist())
    (tmp_path / "packed").mkdir()
    archive_of(tmp_path / "pictures", tmp_path / "packed" / "images.tar.xz")
    from PIL import Image

    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("decoded twice"))
    packed = data.load("cifar10", root=tmp_path / "packed", cache=tmp_path / "cache")
    assert torch.equal(packed.train.x, folder.train.x) and torch.equal(packed.test.y, folder.test.y)
    assert packed.provenance.sha256 == folder.provenance.sha256


def archive_of(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w:xz") as archive:
        for split in ("train", "test"):
            archive.add(folder / split, split)


def same(one: data.Dataset, other: data.Dataset) -> bool:
    pairs = [(getattr(one, split), getattr(other, split)) for split in ("train", "test")]
    return one.provenance == other.provenance and all(torch.equal(a.x, b.x) and torch.equal(a.y, b.y) for a, b in pairs)


def test_an_archive_is_unpacked_once_unless_it_or_what_is_kept_of_it_changes(tmp_path, monkeypatch):
    draw_pictures(tmp_path / "pictures", "png")
    path, unpacked, read = tmp_path / "images.tar.xz", [], pictures._read
    monkeypatch.setattr(pictures, "_read", lambda source: unpacked.append(source) or read(source))
    archive_of(tmp_path / "pictures", path)
    load = functools.partial(data.load, "cifar10", root=tmp_path, cache=tmp_path / "cache")
    first = load()
    assert same(first, load()) and len(unpacked) == 1
    for kept in list((tmp_path / "cache" / "cifar10").iterdir()):  # the pixels, and the classes
        content, count = kept.read_bytes(), len(unpacked)
        for damaged in (content[:100], content[:-300] + bytes(300)):
            kept.write_bytes(damaged)
            assert same(first, load()) and same(first, load())
        assert len(unpacked) == count + 2
    (tmp_path / "pictures" / "train" / "cat" / "1.png").unlink()
    archive_of(tmp_path / "pictures", path)
    assert len(load().train) == len(first.train) - 1


def test_damaged_pictures_and_a_damaged_memory_of_them(tmp_path):
    draw_pictures(tmp_path / "pictures", "jpg")
    first = data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    assert first.provenance.label == "CIFAR-10 (JPEG copy, sample)"
    (kept,) = (tmp_path / "cache" / "cifar10").iterdir()
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 255
    kept.write_bytes(content)
    again = data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    assert torch.equal(first.train.x, again.train.x) and torch.equal(first.test.x, again.test.x)
    (tmp_path / "pictures" / "train" / "cat" / "1.jpg").write_bytes(b"no picture")
    with pytest.raises(data.DataCorrupted, match=r"train/cat/1\.jpg is no picture"):
        data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    for path in (tmp_path / "pictures" / "test" / "cat").iterdir():
        path.unlink()
    with pytest.raises(data.DataCorrupted, match="the same classes"):
        data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")


@pytest.mark.slow
def test_the_repository_s_copy_says_that_it_is_lossy_and_a_sample():
    loaded = data.load("cifar10", root=DATA)
    assert loaded.provenance.label == "CIFAR-10 (JPEG copy, sample)" and not loaded.provenance.verified
    assert loaded.train.x.shape == (10000, 3, 32, 32) and loaded.test.x.shape == (2000, 3, 32, 32)
    assert loaded.train.y.bincount().tolist() == [1000] * 10 and loaded.test.y.bincount().tolist() == [200] * 10
    # the constants that everybody uses for the official pixels; the copy blurs a little, which lowers the spread
    assert loaded.train.mean == pytest.approx((0.4914, 0.4822, 0.4465), abs=1.5e-3)
    assert loaded.train.std == pytest.approx((0.2470, 0.2435, 0.2616), abs=3e-3)
    x, y = loaded.train.batch(slice(0, 5000))
    assert x.mean(dim=(0, 2, 3)).abs().max() < 0.05 and y.bincount().min() > 400
    assert str(DATA) not in repr(loaded.provenance) + str(loaded.provenance)


def test_pictures_whose_names_number_a_split_come_in_that_order(tmp_path):
    draw_pictures(tmp_path, "png")
    for split in ("train", "test"):
        for place, path in enumerate(sorted((tmp_path / split).glob("*/*"), key=lambda path: path.parts[::-1])):
            path.rename(path.with_name(f"{place:05d}.png"))
    loaded = data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")
    assert loaded.train.y.tolist() == loaded.test.y.tolist() == [*range(10), *range(10)]
    assert same(loaded, data.load("cifar10", root=tmp_path, cache=tmp_path / "cache"))


def test_the_repository_s_sample_is_in_the_order_of_the_numbers_in_its_names():
    with tarfile.open(DATA / "cifar10" / "images.tar.xz") as archive:
        names = sorted((path.stem, path.parts[1]) for path in map(Path, archive.getnames()) if path.parts[0] == "train")
    classes = sorted({name for _, name in names})
    assert [classes[label] for label in real("cifar10").train.y.tolist()] == [name for _, name in names]


def test_parts_are_adopted_by_one_process_only(tmp_path):
    for k, size in enumerate((10, 30, 20)):
        (tmp_path / f"big.{k}.part").write_bytes(b"x" * size)
    with _fetch._own_part(tmp_path / "big") as first, _fetch._own_part(tmp_path / "big") as second:
        assert first.name == "big.1.part" and first.stat().st_size == 30
        assert second != first and second.stat().st_size == 0
        assert sorted(tmp_path.iterdir()) == sorted([first, second])
    assert list(tmp_path.iterdir()) == [first]
