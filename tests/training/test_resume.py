"""Runs that are killed: continued bit for bit, or refused with a reason and nothing overwritten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from lossnav import data, models, optim, training
from lossnav.training import checkpoint

SCRIPT = """
import sys, time, torch
from torch import nn
from lossnav import data, models, training

class Slow(nn.Module):
    def forward(self, x):
        if float(sys.argv[2]) and self.training:
            time.sleep(float(sys.argv[2]))
        return x

torch.manual_seed(0)
inner = models.mlp(64, (32,), seed=0)
model = nn.Sequential(inner[0], nn.Dropout(0.2), *inner[1:], Slow())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
digits = data.load("digits").head(600, 200)
history = training.train(
    model, digits, optimizer, epochs=3, batch_size=30, seed=5, progress=False, device="cpu",
    augment=data.CropFlip(pad=1), checkpoint=sys.argv[1], checkpoint_every=7, resume=True)
weights = nn.utils.parameters_to_vector(model.parameters())
torch.save({"steps": history.step_loss, "train": history.train_loss, "test": history.test_loss,
            "accuracy": history.test_accuracy, "weights": weights}, sys.argv[3])
"""


@pytest.fixture(scope="module")
def digits():
    return data.load("digits").head(600, 200)


def start(path: Path, pause: float, output: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), str(pause), str(output)])


def steps_in(path: Path) -> int:
    return len(checkpoint.read(path)["history"]["step_loss"]) if path.exists() else 0


@pytest.mark.slow
def test_kill_9_in_mid_epoch_and_resume_is_bit_for_bit_the_same_run(tmp_path):
    """20 steps an epoch. Killed twice: within the first epoch and within the second, after 7 or 14 steps of each."""
    whole = start(tmp_path / "whole.ckpt", 0, tmp_path / "whole.pt")
    path = tmp_path / "run.ckpt"
    at_kill = []
    for wanted in (7, 27):
        process = start(path, 0.1, tmp_path / "never.pt")
        deadline = time.monotonic() + 120
        while steps_in(path) < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        at_kill.append(steps_in(path))
    assert at_kill[0] in (7, 14) and at_kill[1] in (27, 34), at_kill
    assert not (tmp_path / "never.pt").exists()
    assert start(path, 0, tmp_path / "resumed.pt").wait() == 0 and whole.wait() == 0
    expected, found = (torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "resumed.pt"))
    assert len(found["steps"]) == 60
    for key in ("steps", "train", "test", "accuracy"):
        assert found[key] == expected[key], key
    assert torch.equal(found["weights"], expected["weights"])


def run(digits, path, *, epochs=2, seed=0, lr=1e-3, hidden=16, rule=optim.Ballistic, **options):
    model = models.mlp(64, (hidden,), seed=seed)
    options = {"batch_size": 50, "checkpoint": path, "resume": True, **options}
    history = training.train(
        model,
        digits,
        rule(model.parameters(), lr=lr),
        epochs=epochs,
        seed=seed,
        progress=False,
        device="cpu",
        **options,
    )
    return model, history


def test_a_finished_run_is_not_repeated_and_can_be_prolonged(digits, tmp_path):
    path = tmp_path / "new" / "run.ckpt"
    model, first = run(digits, path)
    written = path.stat().st_mtime_ns
    again, second = run(digits, path)
    assert path.stat().st_mtime_ns == written and second.step_loss == first.step_loss
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), again.parameters(), strict=True))
    longer, third = run(digits, path, epochs=4)
    whole, fourth = run(digits, None, epochs=4, resume=False)
    assert third.step_loss == fourth.step_loss and third.test_accuracy == fourth.test_accuracy
    assert all(torch.equal(p, q) for p, q in zip(longer.parameters(), whole.parameters(), strict=True))
    assert [p.name for p in path.parent.iterdir()] == ["run.ckpt"]


def test_convolutions_in_channels_last_and_bfloat16_are_continued_exactly(digits, tmp_path):
    def half(path, epochs):
        model = models.cnn(1, 8, 10, seed=0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        return training.train(
            model, digits, optimizer, epochs=epochs, seed=0, progress=False, device="cpu", checkpoint=path, resume=True,
            precision="bfloat16", memory_format="channels_last",
        )  # fmt: skip

    half(tmp_path / "a", 1)
    assert half(tmp_path / "a", 2).step_loss == half(tmp_path / "b", 2).step_loss


def test_an_existing_checkpoint_is_not_overwritten_unasked(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    run(digits, path)
    before = path.read_bytes()
    with pytest.raises(training.CheckpointError, match=r"run\.ckpt' exists: resume=True"):
        run(digits, path, resume=False)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="resume = True, but there is no checkpoint"):
        run(digits, None)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed = 0 there, 1 here"),
        ({"batch_size": 25}, "batch_size = 50 there, 25 here"),
        ({"clip": None}, "clip = 5.0 there, None here"),
        ({"lr": 2e-3}, r"optimizer: lr = 0\.001 there, 0\.002 here"),
        ({"hidden": 8}, r"model: 1\.weight \(16, 64\) there, \(8, 64\) here"),
        ({"rule": torch.optim.Adam}, "optimizer = 'Ballistic' there, 'Adam' here"),
        ({"augment": data.CropFlip(1)}, "augment = None there, 'CropFlip"),
        ({"precision": "bfloat16"}, "precision = 'float32' there, 'bfloat16' here"),
        ({"epochs": 1}, "2 epochs there, 1 here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(digits, tmp_path, change, named):
    path = tmp_path / "run.ckpt"
    run(digits, path)
    before = path.read_bytes()
    with pytest.raises(training.CheckpointError, match=f"belongs to another run: .*{named}"):
        run(digits, path, **change)
    assert path.read_bytes() == before


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return content[:60] + bytes(200) + content[260:]


def empty(content: bytes) -> bytes:
    return b""


def text(content: bytes) -> bytes:
    return b"not a checkpoint"


@pytest.mark.parametrize("damage", [truncated, flipped, empty, text])
def test_a_damaged_checkpoint_is_named_and_left_alone(digits, tmp_path, damage):
    path = tmp_path / "run.ckpt"
    run(digits, path)
    broken = damage(path.read_bytes())
    path.write_bytes(broken)
    with pytest.raises(training.CheckpointError, match=r"run\.ckpt' is damaged or is no checkpoint"):
        run(digits, path)
    assert path.read_bytes() == broken


class Evil:
    """Unpickling this would run a command."""

    def __reduce__(self):
        return os.system, ("touch executed",)


def test_nothing_in_a_checkpoint_is_executed(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"format": 1, "model": Evil()}, tmp_path / "run.ckpt")
    with pytest.raises(training.CheckpointError):
        run(digits, tmp_path / "run.ckpt")
    assert not (tmp_path / "executed").exists()


def test_another_format_and_other_objects(digits, tmp_path):
    for content, found in (({"format": 99}, "99"), ({"a": 1}, "None"), ([1], "list")):
        torch.save(content, tmp_path / "run.ckpt")
        with pytest.raises(training.CheckpointError, match=f"has the format {found}, and this version reads format 1"):
            run(digits, tmp_path / "run.ckpt")


def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_written(digits, tmp_path):
    class Odd(torch.optim.SGD):
        def state_dict(self):
            return {**super().state_dict(), "odd": Path("x")}

    model = models.mlp(64, (4,), seed=0)
    with pytest.raises(TypeError, match="more than tensors"):
        training.train(
            model, digits, Odd(model.parameters(), lr=0.1), epochs=1, seed=0, progress=False, checkpoint=tmp_path / "c"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_diverged_run_leaves_its_last_good_checkpoint(digits, tmp_path):
    path = tmp_path / "run.ckpt"
    calls = 0

    def poisoned(logits, labels):
        nonlocal calls
        calls += 1
        return nn.functional.cross_entropy(logits, labels) * (float("nan") if calls == 10 else 1.0)

    with pytest.raises(training.Diverged):
        run(digits, path, checkpoint_every=4, loss=poisoned)
    assert len(checkpoint.read(path)["history"]["step_loss"]) == 8


@pytest.mark.parametrize("value", [0, -1, "often"])
def test_a_bad_interval_is_named(digits, tmp_path, value):
    with pytest.raises(ValueError, match=r"^checkpoint_every = "):
        run(digits, tmp_path / "c", checkpoint_every=value)
