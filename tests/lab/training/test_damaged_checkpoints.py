"""Checkpoints whose bits have changed: none is used, each is named, and the one before it takes its place."""

from __future__ import annotations

import random
import shutil
import warnings
import zipfile

import pytest
import torch

from lossnav import data, models, training
from lossnav.lab.training import archive, checkpoint


@pytest.fixture(scope="module")
def digits():
    return data.load("digits").head(200, 100)


def run(digits, path, epochs):
    model = models.mlp(64, (8,), seed=0)
    rule = torch.optim.Adam(model.parameters(), lr=1e-3)
    options = {"batch_size": 50, "seed": 0, "progress": False, "device": "cpu", "checkpoint": path, "resume": True}
    return model, training.train(model, digits, rule, epochs=epochs, **options)


@pytest.fixture(scope="module")
def written(digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "run.ckpt"
    run(digits, path, 1)
    return path


@pytest.fixture(scope="module")
def unsealed(written, tmp_path_factory):
    """As versions without digests wrote it."""
    path = tmp_path_factory.mktemp("unsealed") / "run.ckpt"
    torch.save(torch.load(written, weights_only=True), path)
    return path


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def outcome(path, good):
    """Read a file; return "refused", or "used" if what it gave is, to the last bit, what was written."""
    try:
        found = checkpoint.read(path)
    except training.CheckpointError as error:
        assert repr(str(path)) in str(error)
        return "refused"
    assert same(found, good), "a damaged checkpoint was used"
    return "used"


def test_a_whole_checkpoint_is_read_and_is_an_archive_that_others_can_read(written, unsealed):
    good = checkpoint.read(written)
    assert same(good, torch.load(written, weights_only=True))
    assert zipfile.ZipFile(written).comment.startswith(b"lossnav sha256 ")
    assert same(good, checkpoint.read(unsealed)) and not zipfile.ZipFile(unsealed).comment


def test_no_flipped_bit_is_overlooked(written, tmp_path):
    content, draw, path = written.read_bytes(), random.Random(0), tmp_path / "run.ckpt"
    good = checkpoint.read(written)
    ends = [8 * (len(content) - k) - 1 for k in range(1, 130)]  # the tables of the archive, and the digest
    words = range(8 * (len(content) - 79), 8 * (len(content) - 64))  # "lossnav sha256 ": else it has no digest
    for bit in [draw.randrange(8 * len(content)) for _ in range(400)] + ends:
        broken = bytearray(content)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        assert outcome(path, good) == ("used" if bit in words else "refused"), bit


def test_no_flipped_bit_changes_what_a_file_without_a_digest_gives(unsealed, tmp_path):
    """Its parts have checksums, and its padding has none: a file may be used, but then it gives what was written."""
    content, draw, path = unsealed.read_bytes(), random.Random(1), tmp_path / "run.ckpt"
    good = checkpoint.read(unsealed)
    tables = zipfile.ZipFile(unsealed).start_dir
    bits = [draw.randrange(8 * len(content)) for _ in range(300)]
    bits += [draw.randrange(8 * tables, 8 * len(content)) for _ in range(300)]
    seen = []
    for bit in bits:
        broken = bytearray(content)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        seen.append(outcome(path, good))
    assert seen.count("refused") > 100


@pytest.mark.parametrize("kind", ["written", "unsealed"])
def test_no_truncated_file_is_used(kind, request, tmp_path):
    source = request.getfixturevalue(kind)
    content, draw, path = source.read_bytes(), random.Random(2), tmp_path / "run.ckpt"
    good = checkpoint.read(source)
    archived = content[:-79] if kind == "written" else content
    lengths = [draw.randrange(len(content)) for _ in range(100)] + [len(content) - k for k in range(1, 110)]
    for length in lengths:
        path.write_bytes(content[:length])
        assert outcome(path, good) == ("used" if length >= len(archived) else "refused"), length
    for block in range(0, len(content), 4096):  # a page that never reached the disk
        path.write_bytes(content[:block] + bytes(4096) + content[block + 4096 :])
        if path.read_bytes() != content:
            outcome(path, good)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_damaged_newest_gives_way_to_the_one_before(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    whole, curve = run(digits, tmp_path / "whole", 4)
    run(digits, path, 3)
    flip(path)
    with pytest.warns(RuntimeWarning, match=r"run\.ckpt' is damaged \(.*SHA-256.*previous', which has 2 whole epochs"):
        model, history = run(digits, path, 4)
    assert history.step_loss == curve.step_loss and history.test_loss == curve.test_loss
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), whole.parameters(), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(digits, path, 4)[1].step_loss == curve.step_loss


def test_a_damaged_file_never_becomes_the_previous_one(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    run(digits, path, 2)
    good = archive.previous(path).read_bytes()
    flip(path)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        run(digits, path, 2)  # one epoch again: one writing
    assert archive.previous(path).read_bytes() == good
    run(digits, path, 3)
    assert len(checkpoint.read(archive.previous(path))["history"]["train_loss"]) == 2


def test_two_damaged_files_are_both_named(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    run(digits, path, 2)
    flip(path)
    flip(archive.previous(path))
    before = path.read_bytes()
    with pytest.raises(training.CheckpointError, match=r"run\.ckpt' is damaged .*run\.ckpt\.previous' is damaged"):
        run(digits, path, 2)
    assert path.read_bytes() == before


def test_the_previous_one_of_another_run_is_refused(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    run(digits, path, 2)
    flip(path)
    model = models.mlp(64, (8,), seed=0)
    rule = torch.optim.Adam(model.parameters(), lr=1e-2)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(training.CheckpointError, match=r"previous' belongs to another run"),
    ):
        training.train(model, digits, rule, epochs=2, batch_size=50, seed=0, progress=False, device="cpu",
                       checkpoint=path, resume=True)  # fmt: skip


def test_a_run_that_begins_again_has_no_previous_one(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    run(digits, path, 2)
    path.unlink()
    run(digits, path, 1)
    assert not archive.previous(path).exists()


def test_a_file_system_without_second_names_gets_a_copy(digits, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(archive.os, "link", refuse)
    path = tmp_path / "run.ckpt"
    run(digits, path, 1)
    first = path.read_bytes()
    run(digits, path, 2)
    assert archive.previous(path).read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.previous"]


def test_a_checkpoint_of_an_earlier_version_is_continued(digits, unsealed, tmp_path):
    path = tmp_path / "run.ckpt"
    shutil.copy(unsealed, path)
    assert run(digits, path, 3)[1].step_loss == run(digits, tmp_path / "other", 3)[1].step_loss
    assert zipfile.ZipFile(path).comment


@pytest.mark.parametrize("part", ["step_loss", "settings", "param_groups"])
def test_a_checkpoint_that_lacks_a_part_is_named(written, tmp_path, part):
    content = torch.load(written, weights_only=True)
    del (content["optimizer"] if part == "param_groups" else content["history"])[part]
    torch.save(content, tmp_path / "run.ckpt")
    with pytest.raises(training.CheckpointError, match=rf"run\.ckpt' is no checkpoint of a run \(.*\.{part}\)"):
        checkpoint.read(tmp_path / "run.ckpt")
