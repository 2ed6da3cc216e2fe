"""CIFAR-10: small batches for the official path, pictures of each kind, and the repository's JPEG copy."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import lzma
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from resources import DATA, real

from lossnav import data
from lossnav.lab.data import pictures

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


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


@pytest.mark.parametrize("layout", [".", "cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"])
def test_official_batches_in_any_usual_folder(batches, tmp_path, layout):
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
    (name, content), *_ = archive.items()
    (tmp_path / name).write_bytes(content)
    same_as(data.load("cifar10", root=tmp_path), batches)
    same_as(data.load("cifar10", root=tmp_path / name), batches)
    monkeypatch.setenv("LOSSNAV_DATA", str(tmp_path))
    same_as(data.load("cifar10", download=False), batches)


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


def archive_of(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w:xz") as archive:
        for split in ("train", "test"):
            archive.add(folder / split, split)


def same(one: data.Dataset, other: data.Dataset) -> bool:
    pairs = [(getattr(one, split), getattr(other, split)) for split in ("train", "test")]
    return one.provenance == other.provenance and all(torch.equal(a.x, b.x) and torch.equal(a.y, b.y) for a, b in pairs)


@pytest.mark.parametrize("kind", ["folder", "tar", "tar.gz", "tar.xz"])
def test_pictures_in_a_folder_or_its_archive_decoded_once(tmp_path, monkeypatch, kind):
    drawn = draw_pictures(tmp_path / "pictures", "png")
    source = tmp_path / "pictures"
    if kind != "folder":
        source = tmp_path / f"images.{kind}"
        with tarfile.open(source, f"w:{kind[4:]}") as packed:
            for split in ("test", "train"):
                packed.add(tmp_path / "pictures" / split, f"./{split}")
        source = tmp_path
    load = functools.partial(data.load, "cifar10", root=source, cache=tmp_path / "cache")
    first = load()
    assert first.provenance.label == "CIFAR-10 (picture files, sample)"
    for split, part in (("train", first.train), ("test", first.test)):
        for k in range(10):
            decoded = {image.permute(1, 2, 0).numpy().tobytes() for image in part.x[part.y == k]}
            assert decoded == drawn[split, k]
    assert first.train.y.tolist() != sorted(first.train.y.tolist())
    monkeypatch.setattr(pictures, "_picture", lambda *_: pytest.fail("decoded twice"))
    assert same(first, load())


def test_a_folder_and_its_archive_are_one_copy_and_a_changed_one_is_another(tmp_path):
    draw_pictures(tmp_path / "pictures", "png")
    folder = data.load("cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    path = tmp_path / "images.tar.xz"
    archive_of(tmp_path / "pictures", path)
    packed = data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")
    assert packed.provenance.sha256 == folder.provenance.sha256 and torch.equal(packed.train.x, folder.train.x)
    (tmp_path / "pictures" / "train" / "cat" / "1.png").unlink()
    archive_of(tmp_path / "pictures", path)
    fewer = data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")
    assert len(fewer.train) == len(folder.train) - 1 and fewer.provenance.sha256 != folder.provenance.sha256


@pytest.mark.parametrize(("kind", "pack"), [("tar", bytes), ("tar.gz", gzip.compress), ("tar.xz", lzma.compress)])
def test_an_archive_that_is_damaged_is_refused_or_means_the_same(tmp_path, kind, pack):
    """In a header, where the reading would end as if there were no more, or where a checksum at the end tells alone."""
    draw_pictures(tmp_path / "pictures", "png")
    source = tmp_path / "images.tar"
    with tarfile.open(source, "w") as packed:
        for split in ("train", "test"):
            packed.add(tmp_path / "pictures" / split, split)
    with tarfile.open(source) as packed:
        headers = [entry.offset + 100 for entry in packed]
    content = pack(source.read_bytes() + bytes(2**18))  # as with a large blocking factor
    source = source.with_name(f"images.{kind}")
    source.write_bytes(content)
    expected = dict(pictures._read(source))
    for place in headers[::5] if kind == "tar" else range(len(content) // 2, len(content), 4999):
        for wrong in (content[:place] + b"\xff" + content[place + 1 :], content[:place], content[: place - 100]):
            source.write_bytes(wrong)
            with contextlib.suppress(data.DataCorrupted):
                assert dict(pictures._read(source)) == expected


def test_what_is_no_copy_is_named(tmp_path):
    draw_pictures(tmp_path / "pictures", "jpg")
    load = functools.partial(data.load, "cifar10", root=tmp_path / "pictures", cache=tmp_path / "cache")
    first, expected = tmp_path / "pictures" / "train" / "cat" / "1.jpg", load().provenance
    assert expected.label == "CIFAR-10 (JPEG copy, sample)"
    (first.parent / "._1.jpg").write_bytes(b"what a Mac adds")
    (first.parent / "notes.txt").write_text("x")
    assert load().provenance == expected
    for content, why in (
        (b"no picture", "is no picture"), (bytes(2**20 + 1), "has 1048577 bytes"), (large(), "has 64 × 64 pixels"),
    ):  # fmt: skip
        first.write_bytes(content)
        with pytest.raises(data.DataCorrupted, match=rf"train/cat/1\.jpg {why}"):
            load()
    first.unlink()
    for path in (tmp_path / "pictures" / "test" / "cat").iterdir():
        path.unlink()
    with pytest.raises(data.DataCorrupted, match="the same classes"):
        load()
    for path in (tmp_path / "pictures" / "train" / "cat").iterdir():
        path.unlink()
    with pytest.raises(data.DataCorrupted, match="has 9 classes, but CIFAR-10 has 10"):
        load()


def large() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (64, 64)).save(buffer, "png")
    return buffer.getvalue()


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
