"""Loading: the repository's own data, small ones in the official formats, and a local mirror for downloads."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from resources import DATA, ROOT

from lossnav import data
from lossnav.lab.data import cifar, mnist

IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.slow
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
    lines = done.stdout.splitlines()
    assert Path(lines[2]).is_relative_to(tmp_path)
    assert lines[0].startswith("60000 MNIST (official files), from the repository; 4 files verified by SHA-256")
    assert lines[1].startswith("10000 CIFAR-10 (JPEG copy, sample), from the repository; not the official files")


@pytest.fixture
def known(request):
    """The small data set of a name: its files, by name."""
    return lambda name: request.getfixturevalue({"mnist": "files", "cifar10": "archive"}[name])


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
    assert "Split(x: torch.uint8 (60000, 1, 28, 28), y: (60000,), on cpu), " in repr(mnist)
    assert repr(mnist).endswith(f"10 classes; {mnist.provenance})")


@pytest.mark.slow
def test_real_mnist_by_environment_or_by_its_own_folder_or_raw(monkeypatch, tmp_path):
    expected = data.load("mnist", root=DATA / "mnist")
    monkeypatch.setenv("LOSSNAV_DATA", str(DATA))
    assert torch.equal(data.load("mnist", download=False, cache=tmp_path).test.x, expected.test.x)
    for packed in (DATA / "mnist").glob("*.gz"):
        (tmp_path / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    assert torch.equal(data.load("mnist", root=tmp_path).train.x, expected.train.x)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_who_names_a_cache_wants_no_sample(name, tmp_path, monkeypatch):
    """And who names none needs no network: git has the files."""
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    provenance = data.load(name, download=False).provenance
    listed = subprocess.run(
        ["git", "ls-files", provenance.location], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert provenance.origin == "the repository" and len(listed) >= (4 if name == "mnist" else 1)
    with pytest.raises(data.DataUnavailable, match=f"is not in {tmp_path}.*download = False: allow"):
        data.load(name, download=False, cache=tmp_path)


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
def test_root_may_hold_the_files_or_their_folder(files, tmp_path, layout):
    write(tmp_path / layout, files)
    small = data.load("mnist", root=tmp_path)
    raw = gzip.decompress(files[IMAGES])
    assert small.train.x.shape == (50, 1, 28, 28)
    np.testing.assert_array_equal(small.train.x.flatten().numpy(), np.frombuffer(raw[16:], np.uint8))
    assert small.train.y.tolist() == list(gzip.decompress(files[LABELS])[8:])
    assert small.provenance.origin == "local folder"


@pytest.mark.parametrize(("name", "wanted"), [("mnist", IMAGES[:-3]), ("cifar10", r"cifar-10-binary\.tar\.gz")])
def test_root_is_binding(known, tmp_path, serve, name, wanted):
    hits = serve(write(tmp_path / "web", known(name)))
    with pytest.raises(data.DataUnavailable, match=rf"root = .*empty.* has no .*{wanted}"):
        data.load(name, root=tmp_path / "empty", cache=tmp_path)
    assert hits == []


def test_a_missing_file_is_named(files, tmp_path):
    del files[LABELS]
    with pytest.raises(data.DataUnavailable, match=rf"no {LABELS[:-3]}\[\.gz\]"):
        data.load("mnist", root=write(tmp_path, files))


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_download_then_cache_and_what_is_damaged_there_is_fetched_again(known, tmp_path, serve, name):
    files = known(name)
    hits = serve(write(tmp_path / "web", files))
    first = data.load(name, cache=tmp_path / "cache")
    again = data.load(name, download=False, cache=tmp_path / "cache")
    assert sorted(hits) == sorted(f"/{file}" for file in files)
    assert first.provenance.origin.startswith("http://127.0.0.1") and again.provenance.origin == "cache"
    assert torch.equal(first.train.x, again.train.x)
    cached = sorted((tmp_path / "cache" / name).iterdir())
    assert [path.name for path in cached] == sorted(files)
    cached[0].write_bytes(files[cached[0].name][:-9])
    with pytest.raises(data.DataUnavailable, match=f"{cached[0].name} is not in"):
        data.load(name, download=False, cache=tmp_path / "cache")
    assert torch.equal(data.load(name, cache=tmp_path / "cache").train.x, first.train.x) and len(hits) == len(files) + 1


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_next_mirror_is_tried_and_all_are_named(known, tmp_path, serve, name):
    """A page that asks to sign in, and nothing at all, are no data."""
    files = known(name)
    page = dict.fromkeys(files, b"<html>sign in</html>")
    serve(write(tmp_path / "page", page), write(tmp_path / "none", {}), write(tmp_path / "web", files))
    assert data.load(name, cache=tmp_path / "cache").train.x.shape[0] > 0
    (tmp_path / "web" / next(iter(files))).unlink()
    with pytest.raises(
        data.DataUnavailable, match=r"could not be downloaded.*root= or LOSSNAV_DATA.*\n.*127.*hash"
    ) as e:
        data.load(name, cache=tmp_path / "other")
    assert str(e.value).count("404 Client Error") == 2 and len(str(e.value).splitlines()) == 4
    assert next(iter(files)) not in {path.name for path in (tmp_path / "other").rglob("*")}


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_without_a_network_one_error_says_what_was_tried(tmp_path, monkeypatch, name):
    for module in (mnist, cifar):
        monkeypatch.setattr(module, "_MIRRORS", ("http://127.0.0.1:9/",))  # the discard port: refuses connections
    with pytest.raises(data.DataUnavailable, match=r"could not be downloaded[\s\S]*127\.0\.0\.1:9"):
        data.load(name, cache=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(data.DataUnavailable, match=r"could not be downloaded to .*file"):
        data.load(name, cache=tmp_path / "file")


@pytest.mark.parametrize("argument", ["root", "cache", "LOSSNAV_DATA"])
def test_the_home_of_nobody(tmp_path, monkeypatch, argument):
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    options = {} if argument == "LOSSNAV_DATA" else {argument: "~nosuchuser/x"}
    if not options:
        monkeypatch.setenv("LOSSNAV_DATA", "~nosuchuser/x")
    with pytest.raises(data.DataUnavailable, match=f"{argument} = '~nosuchuser/x' names the home of a user that"):
        data.load("mnist", **options)


def test_a_constant_channel_has_no_deviation_to_divide_by():
    from lossnav.lab.data.dataset import from_pixels

    pixels = torch.randint(0, 256, (20, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pixels[:, 1] = 7
    labels = torch.zeros(20, dtype=torch.uint8)
    where = data.Provenance("made", "here", "none")
    dataset = from_pixels("made", (pixels, labels, pixels, labels), scale=255.0, classes=10, provenance=where)
    x, _ = dataset.train.batch(slice(None))
    assert dataset.train.std[1] == 1 and x[:, 1].abs().max() < 1e-6
    assert x[:, 0].std() == pytest.approx(1, abs=0.01)


def test_normalising_leaves_the_pixels_alone_whatever_their_type():
    from dataclasses import replace

    digits = data.load("digits").head(50, 10)
    expected = digits.train.batch(slice(0, 20))[0]
    for dtype in (torch.float32, torch.float64, torch.int64):
        split = replace(digits.train, x=digits.train.x.to(dtype))
        before = split.x.clone()
        assert torch.equal(split.batch(slice(0, 20))[0], expected) and torch.equal(split.x, before)
