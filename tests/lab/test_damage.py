"""Files whose bits have changed, of each format: what is read is what was written, or the file is refused by its name.

And what becomes of a refusal: pictures are decoded again, a run of a sweep is made again, and a checkpoint is left as
it is, for whoever can use it.
"""

from __future__ import annotations

import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from resources import RESULTS

from lossnav import data, experiment, models, records, sweep, training
from lossnav.lab import archive
from lossnav.lab.data import mnist
from lossnav.lab.moving import setting
from lossnav.lab.sweep import drive

SMALL = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 100, "test_size": 50, "epochs": 2}
STREAM = {"data": "digits", "stream": "permuted", "stream_options": {"examples": 64}, "tasks": 2, "batch_size": 16,
          "optimizer": "adam", "lr": 0.01, "model_options": {"hidden": [8]}}  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A file that was written, how it is read, and how it is refused: by an error, or by going on without it."""

    path: Path
    read: Callable[[], Any]
    error: type[Exception] | None
    times: int = 200


def run(settings: dict[str, Any], path: Path) -> Any:
    """Run an experiment, or go on with it."""
    results = experiment.run(experiment.Experiment.of(settings), checkpoint=path, resume=True).results
    return [{key: value for key, value in result.items() if key != "seconds"} for result in results]


def epochs(folder: Path) -> Format:
    run(SMALL, folder / "run.ckpt")
    return Format(folder / "run.ckpt", lambda: run(SMALL, folder / "run.ckpt"), training.CheckpointError, 40)


def stream(folder: Path) -> Format:
    run(STREAM, folder / "run.ckpt")
    return Format(folder / "run.ckpt", lambda: run(STREAM, folder / "run.ckpt"), training.CheckpointError, 40)


def weights(folder: Path) -> Format:
    """What ``torch.save`` writes has no digest, but a checksum of each part."""
    torch.save(models.mlp(64, (8,), seed=0).state_dict(), folder / "mine.pt")
    return Format(folder / "mine.pt", lambda: setting.read(folder / "mine.pt")[0], ValueError, 400)


def record(folder: Path) -> Format:
    written = records.new(command="x", config={"lr": 0.1}, seeds=[3], data={"label": "x", "sha256": {"a": "0" * 64}},
                          results=[{"loss": [1.0, 2.5e-7]}], duration=1.0, device="cpu")  # fmt: skip
    records.save(folder / "run.json", written)
    return Format(folder / "run.json", lambda: records.load(folder / "run.json"), ValueError, 400)


def swept(folder: Path) -> Format:
    wanted = experiment.Experiment.of(SMALL)
    list(sweep.run([wanted], folder, workers=1))
    return Format(folder / f"{wanted.key()}.json", lambda: drive._recorded(folder, wanted), None, 400)


def decoded(folder: Path) -> Format:
    draw_pictures(folder / "pictures")

    def read() -> Any:
        dataset = data.load("cifar10", root=folder / "pictures", cache=folder)
        return [dataset.train.x, dataset.train.y, dataset.test.x, dataset.test.y, dataset.provenance]

    read()
    (path,) = (folder / "cifar10").iterdir()
    return Format(path, read, None, 60)


def draw_pictures(folder: Path) -> None:
    for split in ("train", "test"):
        for name in "abcdefghij":
            (folder / split / name).mkdir(parents=True)
            pixels = np.random.default_rng(ord(name)).integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / split / name / "0.png")


def downloaded(folder: Path) -> Format:
    source = Path(mnist.__file__).parents[3] / "data" / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path = folder / source.name
    path.write_bytes(source.read_bytes())
    content, _ = mnist._FILES[path.stem]
    return Format(path, lambda: mnist.verified(path, content), data.DataCorrupted, 100)


FORMATS = (epochs, stream, weights, record, swept, decoded, downloaded)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def is_refused(made: Format, good: Any) -> bool:
    """Whether a file is refused; if not, it says what was written, to the last bit."""
    try:
        value = made.read()
    except Exception as error:
        assert made.error is not None and isinstance(error, made.error), repr(error)
        assert str(made.path) in str(error) and "weights_only" not in str(error)
        return True
    assert same(value, good) or (made.error is None and value is None), "a damaged file was used"
    return value is None


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_no_flipped_bit_no_truncation_and_no_empty_page_is_overlooked(tmp_path, make):
    file = make(tmp_path)
    good, content, draw, refused = file.read(), file.path.read_bytes(), random.Random(0), 0
    bits = [draw.randrange(8 * len(content)) for _ in range(file.times)]
    bits += [8 * (len(content) - k) - 1 for k in range(1, 130) if k < len(content)][:: 1 if file.times > 60 else 20]
    for bit in bits:
        broken = bytearray(content)
        broken[bit // 8] ^= 1 << bit % 8
        file.path.write_bytes(broken)
        refused += is_refused(file, good)
    assert refused > len(bits) / 4 or make is decoded  # pictures are decoded again
    for length in [0, *(draw.randrange(len(content)) for _ in range(file.times // 8)), len(content) - 40]:
        file.path.write_bytes(content[:length])
        is_refused(file, good)
    for block in range(0, len(content), max(4096, len(content) // 20)):  # a page that never reached the disk
        file.path.write_bytes(content[:block] + bytes(4096) + content[block + 4096 :])
        is_refused(file, good)
    file.path.write_bytes(content)
    assert same(file.read(), good)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_no_flipped_bit_of_the_book_s_records_is_overlooked(path, tmp_path):
    good, content, draw = records.load(path), path.read_bytes(), random.Random(path.stem)
    file = Format(tmp_path / path.name, lambda: records.load(tmp_path / path.name), ValueError)
    for _ in range(3):
        broken, bit = bytearray(content), draw.randrange(8 * len(content))
        broken[bit // 8] ^= 1 << bit % 8
        file.path.write_bytes(broken)
        is_refused(file, good)


def test_a_checkpoint_is_an_archive_that_others_can_read(tmp_path):
    path = epochs(tmp_path).path
    assert same(archive.load(path), torch.load(path, weights_only=True))
    assert zipfile.ZipFile(path).comment.startswith(b"lossnav sha256 ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are Unix's")
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull), Path("/dev/zero")):
        with pytest.raises(OSError, match=f"Not a regular file: '{path}'"):
            archive.load(path)
        for resume in (False, True):
            with pytest.raises(training.CheckpointError, match="is a device or a pipe"):
                experiment.run(experiment.Experiment.of(SMALL), checkpoint=path, resume=resume)


class Evil:
    """Unpickling this would run a command."""

    def __reduce__(self):
        return os.system, ("touch executed",)


@pytest.mark.parametrize(("content", "why"), [
    ({"format": 4, "model": Evil()}, "nothing in it is executed"), ({"format": 99}, "has the format 99, and this"),
    ({"a": 1}, "has the format None"), ([1], "has the format list"),
])  # fmt: skip
def test_a_whole_file_of_something_else_is_refused_and_nothing_in_it_runs(tmp_path, monkeypatch, content, why):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "run.ckpt")
    for settings in (SMALL, STREAM):
        with pytest.raises(training.CheckpointError, match=rf"run\.ckpt'.*{why}") as error:
            run(settings, tmp_path / "run.ckpt")
        assert "weights_only" not in str(error.value)
    assert not (tmp_path / "executed").exists()


def test_a_damaged_checkpoint_of_a_sweep_is_named_and_the_others_go_on(tmp_path):
    wanted = sweep.grid({"epochs": [3]}, seeds=[0, 1], base=SMALL)
    how = {"workers": 1, "checkpoints": tmp_path / "states"}
    list(sweep.run(sweep.grid({}, seeds=[0, 1], base=SMALL), tmp_path, **how))
    bad = tmp_path / "states" / f"{wanted[0].begun().key()}.pt"
    content = bytearray(bad.read_bytes())
    content[len(content) // 2] ^= 1
    bad.write_bytes(content)
    first, second = sorted(sweep.run(wanted, tmp_path, **how), key=lambda outcome: outcome.experiment.seed)
    assert first.record is None and str(bad) in first.error and "delete it" in first.error and not second.error
    assert bad.read_bytes() == content  # left as it is, for whoever can use it
    bad.unlink()
    first, second = sorted(sweep.run(wanted, tmp_path, **how), key=lambda outcome: outcome.experiment.seed)
    assert not first.error and second.before


def test_the_record_of_another_run_under_this_one_s_name_does_not_count(tmp_path):
    first, second = sweep.grid({}, seeds=[0, 1], base=SMALL)
    list(sweep.run([first], tmp_path, workers=1))
    (tmp_path / f"{second.key()}.json").write_bytes((tmp_path / f"{first.key()}.json").read_bytes())
    assert [outcome.before for outcome in sweep.run([second], tmp_path, workers=1)] == [False]
    (tmp_path / f"{first.key()}.json").write_text("[" * 100_000)
    assert [outcome.before for outcome in sweep.run([first], tmp_path, workers=1)] == [False]


@pytest.mark.parametrize("results", [[], None, {}, [3], [{}], [{"test_accuracy": []}], [{"scores": [1.0]}]], ids=str)
def test_a_record_of_no_run_does_not_count(tmp_path, results):
    (wanted,) = sweep.grid({}, base=SMALL)
    (good,) = sweep.run([wanted], tmp_path, workers=1)
    records.save(tmp_path / f"{wanted.key()}.json", replace(good.record, results=results))
    assert [outcome.before for outcome in sweep.run([wanted], tmp_path, workers=1)] == [False]
