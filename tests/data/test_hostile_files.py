"""Files that are not what they say, and places that cannot be written to: each is named, and nothing is made up."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lossnav import data
from lossnav.data import cifar

CLASSES = [f"class{k}" for k in range(10)]
CLOSED = ["http://127.0.0.1:9/"]  # the discard port: refuses connections


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x_train": rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8), "y_train": rng.integers(0, 10, 20),
        "x_test": rng.integers(0, 256, (8, 32, 32, 3), dtype=np.uint8), "y_test": rng.integers(0, 10, 8),
    }  # fmt: skip


def packed(**changes: object) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**arrays(), **changes})
    return buffer.getvalue()


def huge() -> bytes:
    """Declare 3 TB of pixels in a header, and bring three bytes."""
    header, buffer = io.BytesIO(), io.BytesIO()
    facts = {"descr": "|u1", "fortran_order": False, "shape": (10**9, 32, 32, 3)}
    np.lib.format.write_array_header_1_0(header, facts)
    with zipfile.ZipFile(io.BytesIO(packed())) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, header.getvalue() + b"123" if name == "x_train.npy" else old.read(name))
    return buffer.getvalue()


def single() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, arrays()["x_train"])
    return buffer.getvalue()


DAMAGED = {
    "half": packed()[: len(packed()) // 2],
    "without its end": packed()[:-10],
    "flipped": packed()[:2000] + bytes(100) + packed()[2100:],
    "one array": single(),
    "pickle": pickle.dumps({1: 2}),
    "huge": huge(),
    "objects": packed(label=np.array([{}], dtype=object)),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_npz_is_named(tmp_path, kind):
    path = tmp_path / "copy.npz"
    path.write_bytes(DAMAGED[kind])
    with pytest.raises(data.DataCorrupted, match=r"copy\.npz is not an \.npz file of the arrays .* make it again"):
        data.load("cifar10", root=path)


@pytest.mark.parametrize("label", ["CIFAR-10 (official files)", "", "CIFAR-10\nverified", "\x1b[2J"])
def test_a_copy_cannot_pass_for_the_official_files(tmp_path, label):
    path = tmp_path / "copy.npz"
    path.write_bytes(packed(label=label))
    with pytest.raises(data.DataCorrupted, match=r"copy\.npz: label = "):
        data.load("cifar10", root=path)


def test_a_constant_channel_has_no_deviation_to_divide_by(tmp_path):
    pixels = arrays()["x_train"]
    pixels[..., 1] = 7
    (tmp_path / "copy.npz").write_bytes(packed(x_train=pixels))
    loaded = data.load("cifar10", root=tmp_path / "copy.npz")
    x, _ = loaded.train.batch(slice(None))
    assert loaded.train.std[1] == 1 and x[:, 1].abs().max() < 1e-6
    assert x[:, 0].std() == pytest.approx(1, abs=0.01) and torch.isfinite(loaded.test.batch(slice(None))[0]).all()


def test_normalising_leaves_the_pixels_alone_whatever_their_type():
    digits = data.load("digits").head(50, 10)
    expected = digits.train.batch(slice(0, 20))[0]
    for dtype in (torch.float32, torch.float64, torch.int64):
        split = replace(digits.train, x=digits.train.x.to(dtype))
        before = split.x.clone()
        assert torch.equal(split.batch(slice(0, 20))[0], expected) and torch.equal(split.x, before)


@pytest.mark.parametrize("trick", ["link to a bomb", "link in a circle", "folder", "larger than any batch"])
def test_members_that_are_no_plain_small_files(tmp_path, monkeypatch, trick):
    monkeypatch.setattr(cifar, "_LARGEST", 1000)
    path = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ["bomb", *cifar._BATCHES]:
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            content = bytes(5000 if name == "bomb" or trick.startswith("larger") else 10)
            entry.size = len(content)
            if name == "data_batch_2.bin" and not trick.startswith("larger"):
                entry.type, entry.size = tarfile.DIRTYPE if trick == "folder" else tarfile.SYMTYPE, 0
                entry.linkname = "bomb" if "bomb" in trick else name
            archive.addfile(entry, io.BytesIO(content[: entry.size]))
    with pytest.raises(data.DataCorrupted, match=r"its cifar-10-batches-bin/data_batch_\d\.bin is not a file"):
        data.load("cifar10", root=tmp_path)


def test_the_archive_itself_can_be_named(tmp_path):
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(data.DataCorrupted, match=r"cifar-10-binary\.tar\.gz is truncated or damaged"):
        data.load("cifar10", root=path)


def draw(folder: Path, size: int = 32, classes: list[str] = CLASSES) -> Path:
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        for name in classes:
            (folder / split / name).mkdir(parents=True)
            pixels = rng.integers(0, 256, (size, size, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / split / name / "0.png")
    return folder


def test_other_pictures_are_not_taken_for_cifar10(tmp_path):
    draw(tmp_path / "large", size=64)
    with pytest.raises(data.DataCorrupted, match=r"train/class0/0\.png has 64 × 64 pixels, but 32 × 32 are wanted"):
        data.load("cifar10", root=tmp_path / "large", cache=tmp_path)
    draw(tmp_path / "pets", classes=["cat", "dog"])
    with pytest.raises(data.DataCorrupted, match=r"has 2 classes, but CIFAR-10 has 10: it is something else"):
        data.load("cifar10", root=tmp_path / "pets", cache=tmp_path)


def test_what_lies_beside_the_pictures_is_not_read(tmp_path):
    folder = draw(tmp_path / "pictures")
    expected = data.load("cifar10", root=folder, cache=tmp_path).provenance.sha256
    (folder / "train" / "class0" / "._0.png").write_bytes(b"what a Mac adds")
    (folder / "train" / "class0" / "notes.txt").write_text("x")
    (folder / "other" / "class0").mkdir(parents=True)
    (folder / "other" / "class0" / "0.png").write_bytes(b"x")
    assert data.load("cifar10", root=folder, cache=tmp_path).provenance.sha256 == expected


def test_a_picture_that_is_too_large_a_file_is_not_left_out_silently(tmp_path):
    folder = draw(tmp_path / "pictures")
    with (folder / "train" / "class3" / "1.png").open("wb") as stream:
        stream.truncate(2**20 + 1)
    with pytest.raises(data.DataCorrupted, match=r"train/class3/1\.png has 1048577 bytes"):
        data.load("cifar10", root=folder, cache=tmp_path)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.xz"])
@pytest.mark.parametrize("damage", ["in a header", "in a picture", "flipped"])
def test_a_damaged_archive_of_pictures_is_noticed(tmp_path, kind, damage):
    """A plain tar that ends within a header looks, to ``tarfile``, as if it ended there."""
    folder = draw(tmp_path / "pictures")
    path = tmp_path / f"images.{kind}"
    with tarfile.open(path, f"w:{kind[4:]}") as archive:
        for split in ("test", "train"):
            archive.add(folder / split, split)
        second = archive.getmembers()[-1].offset
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        if kind == "tar":
            return  # a plain tar has no checksum of its contents: the pictures' own digest tells it from the others
        middle = len(content) // 2
        content[middle : middle + 64] = bytes(byte ^ 0x5A for byte in content[middle : middle + 64])
    else:
        cut = second + (100 if damage == "in a header" else 700) if kind == "tar" else len(content) // 2
        content = content[:cut]
    path.write_bytes(content)
    with pytest.raises(data.DataCorrupted, match="images"):
        data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")


def test_whole_archives_are_read(tmp_path):
    folder = draw(tmp_path / "pictures")
    expected = data.load("cifar10", root=folder, cache=tmp_path / "cache")
    for kind in ("tar", "tar.gz"):
        path = tmp_path / kind / f"images.{kind}"
        path.parent.mkdir()
        with tarfile.open(path, f"w:{kind[4:]}") as archive:
            for split in ("test", "train"):
                archive.add(folder / split, f"./{split}")
        assert torch.equal(data.load("cifar10", root=path.parent, cache=tmp_path / "new").train.x, expected.train.x)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_a_cache_that_cannot_be_written_to(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(data.DataUnavailable, match=r"nothing can be downloaded to the cache .*by cache="):
        data.load(name, cache=tmp_path / "file", mirrors=CLOSED)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_places_are_spelt_as_in_a_shell_and_mirrors_are_a_list(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(data.DataUnavailable, match=f"looked in {tmp_path}/kept/{name}"):
        data.load(name, cache="~/kept", download=False)
    with pytest.raises(ValueError, match=r"^mirrors = 'http://x/', but it must be a list"):
        data.load(name, cache=tmp_path, mirrors="http://x/")


@pytest.mark.parametrize("place", ["file", "missing", "relative", "npz"])
def test_the_environment_may_name_anything(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "copy.npz").write_bytes(packed())
    (tmp_path / "folder" / "cifar10").mkdir(parents=True)
    (tmp_path / "folder" / "cifar10" / "cifar10.npz").write_bytes(packed())
    names = {"file": tmp_path / "file", "missing": tmp_path / "no", "relative": "folder", "npz": "copy.npz"}
    monkeypatch.setenv("LOSSNAV_DATA", str(names[place]))
    if place in ("relative", "npz"):
        np.testing.assert_array_equal(
            data.load("cifar10", download=False).test.x.permute(0, 2, 3, 1).numpy(), arrays()["x_test"]
        )
    else:
        with pytest.raises(data.DataUnavailable, match="download = False"):
            data.load("cifar10", download=False, cache=tmp_path)


def test_without_a_home(tmp_path):
    """A container may have no HOME and no entry for its user: the cache is then asked for, if it is needed at all."""
    code = "from lossnav import data; print(len(data.load('digits').train)); data.load('mnist', download=False)"
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "LOSSNAV_DATA")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout == "1437\n" and "DataUnavailable: mnist is not on this machine" in done.stderr
