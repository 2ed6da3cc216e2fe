"""Files that are not what they say, and places that cannot be written to: each is named, and nothing is made up."""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import fresh
import numpy as np
import pytest
import torch
from PIL import Image

from lossnav import data
from lossnav.lab.data import cifar

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


DAMAGES = [(damage, kind) for damage in ("in a header", "in a picture") for kind in ("tar", "tar.gz", "tar.xz")]


@pytest.mark.parametrize(("damage", "kind"), [*DAMAGES, ("flipped", "tar.gz"), ("flipped", "tar.xz")])
def test_a_damaged_archive_of_pictures_is_noticed(tmp_path, kind, damage):
    """A plain tar that ends within a header looks, to ``tarfile``, as if it ended there."""
    path, last = archive_of(draw(tmp_path / "pictures"), tmp_path / f"images.{kind}")
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        middle = len(content) // 2
        content[middle : middle + 64] = bytes(byte ^ 0x5A for byte in content[middle : middle + 64])
    else:
        cut = last.offset + 100 if damage == "in a header" else last.offset_data + 700
        content = content[: cut if kind == "tar" else len(content) // 2]
    path.write_bytes(content)
    with pytest.raises(data.DataCorrupted, match="images"):
        data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")


def archive_of(folder: Path, path: Path) -> tuple[Path, tarfile.TarInfo]:
    """Pack pictures; return the archive and its last member, which knows its place in the unpacked one."""
    with tarfile.open(path, f"w:{path.name.removeprefix('images.tar').removeprefix('.')}") as archive:
        for split in ("test", "train"):
            archive.add(folder / split, split)
    with tarfile.open(path) as archive:  # one that is being written does not know its members' places
        return path, archive.getmembers()[-1]


def test_a_plain_archive_without_checksums_is_told_from_the_whole_one(tmp_path):
    """Of a picture without a checksum of its own a plain tar notices no change: it is another copy by its digest."""
    folder = draw(tmp_path / "pictures")
    for split in ("train", "test"):
        for path in sorted((folder / split).glob("*/*.png")):
            Image.open(path).save(path.with_suffix(".bmp"))
            path.unlink()
    path, last = archive_of(folder, tmp_path / "images.tar")
    whole = data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")
    content = bytearray(path.read_bytes())
    content[last.offset_data + 1000] ^= 1  # within the pixels of the last picture
    path.write_bytes(content)
    other = data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")
    assert other.provenance.sha256 != whole.provenance.sha256
    assert (other.train.x != whole.train.x).sum() == 1 and torch.equal(other.test.x, whole.test.x)
    assert not other.provenance.verified


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
    code = (
        "import os\nfor name in ('HOME', 'XDG_CACHE_HOME', 'LOSSNAV_DATA'):\n    os.environ.pop(name, None)\n"
        "from lossnav import data\nprint(len(data.load('digits').train))\n"
        "data.load('mnist', download=False, mirrors=[])"
    )
    done = fresh.run(code, cwd=tmp_path)
    assert done.stdout == "1437\n" and "DataUnavailable: mnist is not on this machine" in done.stderr


class Bounded:
    """Run the block with at most so many bytes of memory more than there are now: what asks for more fails."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __enter__(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + self.more, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self.before)


def long_name(kind: bytes, size: int) -> bytes:
    """A tar header that says that the next member's name, or its attributes, have so many bytes."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def packed_zeros(head: bytes, zeros: int) -> bytes:
    """``head`` and so many zeros, as gzip: the same piece again and again, compressed once."""
    return gzip.compress(head, 1) + gzip.compress(bytes(1 << 24), 1) * (zeros >> 24)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells and limits the memory this way")
@pytest.mark.parametrize("kind", ["name of 3 GB", "attributes of 3 GB", "names without end", "a member of 3 TB"])
@pytest.mark.parametrize("place", ["cifar-10-binary.tar.gz", "cifar10/images.tar.gz"])
def test_an_archive_that_would_fill_the_memory(tmp_path, kind, place):
    """Of 400 MB: 3 GB would not fit, and were taken before a single byte had been verified."""
    if kind == "a member of 3 TB":
        entry = tarfile.TarInfo("train/class0/huge.png" if "images" in place else "cifar-10-batches-bin/test_batch.bin")
        entry.size = 3 * 2**40
        content = packed_zeros(entry.tobuf(tarfile.GNU_FORMAT), 1 << 24)
    elif kind == "names without end":
        head = long_name(tarfile.GNUTYPE_LONGNAME, 2**25) + bytes(2**25)
        content = gzip.compress(head, 1) * 20
    else:
        mark = tarfile.GNUTYPE_LONGNAME if "name" in kind else tarfile.XHDTYPE
        content = packed_zeros(long_name(mark, 3 * 2**30), 1 << 29)
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with Bounded(400 << 20), pytest.raises(data.DataCorrupted, match=path.name):
        data.load("cifar10", root=tmp_path, cache=tmp_path / "cache")


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"])
def test_a_sparse_file_of_8_gb_is_not_read(tmp_path, name):
    for other in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (tmp_path / other).write_bytes(b"")
    with (tmp_path / name).open("wb") as stream:
        stream.write(b"\x1f\x8b\x08\x08" if name.endswith("gz") else b"\0\0\x08\x03\0\1\0\0\0\0\2\0\0\0\1\0")
        stream.truncate(8 << 30)
    with pytest.raises(data.DataCorrupted, match=rf"{name} is truncated or damaged \(it has 8589934592 bytes"):
        data.load("mnist", root=tmp_path)


def test_a_sparse_batch_of_8_gb_is_not_read(tmp_path):
    for name in cifar._BATCHES:
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(8 << 30)
    with pytest.raises(
        data.DataCorrupted, match=r"data_batch_1\.bin is not a batch of CIFAR-10: it has 8589934592 bytes"
    ):
        data.load("cifar10", root=tmp_path)


def test_arrays_that_unpack_to_more_than_there_could_be_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "copy.npz").write_bytes(packed(x_train=np.zeros((2000, 32, 32, 3), np.uint8), y_train=[0] * 2000))
    monkeypatch.setattr(cifar, "_ARRAYS", 10**6)
    with pytest.raises(data.DataCorrupted, match=r"copy\.npz .*unpacks to \d+ bytes, but at most 1000000"):
        data.load("cifar10", root=tmp_path / "copy.npz")


@pytest.mark.parametrize("axes", [(0, 2**32 - 1, 2**32 - 1, 2**32 - 1), (1,) * 70, (0,), (2**32 - 1,) * 3])
def test_idx_headers_that_no_array_can_have(axes):
    from lossnav.lab.data.idx import parse_idx

    header = b"\0\0\x08" + bytes([len(axes)]) + b"".join(axis.to_bytes(4, "big") for axis in axes)
    with pytest.raises(data.DataCorrupted, match=r"^x "):
        parse_idx(header + (b"\1" if axes[0] == 1 else b""), "x")


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_home_of_nobody(tmp_path, monkeypatch, name):
    with pytest.raises(
        data.DataUnavailable, match=r"root = '~nosuchuser/x' names the home of a user that this machine"
    ):
        data.load(name, root="~nosuchuser/x")
    with pytest.raises(data.DataUnavailable, match=r"cache = '~nosuchuser' names the home of a user"):
        data.load(name, cache="~nosuchuser", download=False)
    with pytest.raises(ValueError, match=r"root = 5, but it must be a path"):
        data.load(name, root=5)
    monkeypatch.setenv("LOSSNAV_DATA", "~nosuchuser")
    with pytest.raises(data.DataUnavailable, match=r"LOSSNAV_DATA = '~nosuchuser' names the home of a user"):
        data.load(name, download=False, cache=tmp_path)
    assert len(data.load("digits").train) == 1437
