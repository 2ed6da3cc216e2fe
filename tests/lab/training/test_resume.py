"""Runs that are killed: continued bit for bit, or refused with a reason and nothing overwritten."""

from __future__ import annotations

import time
from pathlib import Path

import fresh
import numpy as np
import pytest
import torch
from resources import full_disk
from torch import nn

from lossnav import data, models, optim, training
from lossnav.lab.training import checkpoint

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


def steps_in(path: Path) -> int:
    return len(checkpoint.read(path)["history"]["step_loss"]) if path.exists() else 0


@pytest.mark.slow
def test_kill_9_in_mid_epoch_and_resume_is_bit_for_bit_the_same_run(tmp_path):
    """20 steps an epoch. Killed twice: within the first epoch and within the second, after 7 or 14 steps of each."""
    whole = fresh.Running(SCRIPT, tmp_path / "whole.ckpt", 0, tmp_path / "whole.pt")
    path = tmp_path / "run.ckpt"
    at_kill = []
    for wanted in (7, 27):
        process = fresh.Running(SCRIPT, path, 0.1, tmp_path / "never.pt")
        deadline = time.monotonic() + fresh.PATIENCE
        while steps_in(path) < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        process.wait()
        at_kill.append(steps_in(path))
    assert at_kill[0] in (7, 14) and at_kill[1] in (27, 34), at_kill
    assert not (tmp_path / "never.pt").exists()
    assert fresh.run(SCRIPT, path, 0, tmp_path / "resumed.pt").returncode == whole.wait().returncode == 0
    expected, found = (torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "resumed.pt"))
    assert len(found["steps"]) == 60
    for key in ("steps", "train", "test", "accuracy"):
        assert found[key] == expected[key], key
    assert torch.equal(found["weights"], expected["weights"])


def run(
    digits, path, *, epochs=2, seed=0, lr=1e-3, hidden=16, rule=optim.Ballistic, size=600, dtype=torch.float32,
    **options,
):  # fmt: skip
    model, digits = models.mlp(64, (hidden,), seed=seed).to(dtype), digits.head(size, 200)
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
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.ckpt", "run.ckpt.previous"]


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
        ({"size": 400}, "data: train = 600 there, 400 here"),
        ({"dtype": torch.float64}, r"model: 1\.weight torch\.float32 there, torch\.float64 here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(digits, tmp_path, change, named):
    path = tmp_path / "run.ckpt"
    run(digits, path)
    before = path.read_bytes()
    with pytest.raises(training.CheckpointError, match=f"belongs to another run: .*{named}"):
        run(digits, path, **change)
    assert path.read_bytes() == before


def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_written(digits, tmp_path):
    class Odd(torch.optim.SGD):
        def state_dict(self):
            return {**super().state_dict(), "odd": Path("x")}

    model = models.mlp(64, (4,), seed=0)
    with pytest.raises(TypeError, match=r"more than tensors: pathlib"):
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


RULES = {
    "ballistic": lambda p: optim.Ballistic(p, lr=1e-3, beta=0.9, bias_correction=True),
    "belief": lambda p: optim.Belief(p, lr=1e-3),
    "navigator": lambda p: optim.Navigator(p, lr=1e-3),
    "uncertain": lambda p: optim.Uncertain(p, lr=1e-3, seed=4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, amsgrad=True),
    "a rate of numpy's": lambda p: torch.optim.SGD(p, lr=np.float64(0.1), momentum=np.float32(0.5)),
    "a rate that is a tensor": lambda p: torch.optim.Adam(p, lr=torch.tensor(1e-3)),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_each_rule_goes_on_within_an_epoch_with_dropout_and_augmentation(digits, tmp_path, rule, precision):
    """12 steps an epoch, cut off after 17 of them: the checkpoint holds the first five of the second epoch."""

    class Cut(Exception):
        pass

    def go(path, last=None):
        taken = 0

        def loss(logits, labels):
            nonlocal taken
            taken += torch.is_grad_enabled()
            if taken == last:
                raise Cut
            return nn.functional.cross_entropy(logits, labels)

        torch.manual_seed(3)
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(),
            nn.Dropout(0.3), nn.Linear(32, 10),
        )  # fmt: skip
        history = training.train(
            model, digits.head(240, 50), RULES[rule](model.parameters()), epochs=2, batch_size=20, seed=1,
            progress=False, device="cpu", checkpoint=path, checkpoint_every=5, resume=True,
            augment=data.CropFlip(1), loss=loss, precision=precision,
        )  # fmt: skip
        return model, history

    with pytest.raises(Cut):
        go(tmp_path / "a", last=18)
    torch.rand(5)  # torch's own generator is elsewhere now, as in a fresh process
    cut, first = go(tmp_path / "a")
    whole, second = go(tmp_path / "b")
    assert first.step_loss == second.step_loss and first.test_loss == second.test_loss
    assert all(torch.equal(p, q) for p, q in zip(cut.parameters(), whole.parameters(), strict=True))


def test_a_run_that_diverged_diverges_again_in_the_same_way(digits, tmp_path):
    def go(resume):
        with pytest.raises(training.Diverged) as caught:
            run(digits, tmp_path / "c", epochs=4, lr=1e25, rule=torch.optim.SGD, clip=None, checkpoint_every=1,
                resume=resume)  # fmt: skip
        return caught.value

    first = go(False)
    assert first.step >= 1 and (tmp_path / "c").exists()
    again = go(True)
    assert (first.step, first.good_step, str(first)) == (again.step, again.good_step, str(again))


def test_fewer_epochs_than_a_checkpoint_has_begun(digits, tmp_path):
    class Stop(Exception):
        pass

    calls = 0

    def stops(logits, labels):
        nonlocal calls
        calls += torch.is_grad_enabled()
        if calls == 16:
            raise Stop
        return nn.functional.cross_entropy(logits, labels)

    with pytest.raises(Stop):
        run(digits, tmp_path / "c", checkpoint_every=1, loss=stops)
    with pytest.raises(training.CheckpointError, match="2 epochs there, 1 here"):
        run(digits, tmp_path / "c", epochs=1)


@pytest.mark.parametrize("resume", [True, False])
def test_a_place_that_cannot_hold_a_checkpoint_is_named_before_the_first_step(digits, tmp_path, resume):
    def never(logits, labels):
        pytest.fail("a step was taken")

    with pytest.raises(training.CheckpointError, match="is a folder, but it must be a file"):
        run(digits, tmp_path, loss=never, resume=resume)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="below"):
        run(digits, tmp_path / "file" / "below", loss=never, resume=resume)


@pytest.mark.parametrize("limit", [100, 5000, 20_000])
def test_a_full_disk_keeps_the_last_checkpoint(digits, tmp_path, limit):
    path = tmp_path / "run.ckpt"
    run(digits, path, epochs=1, hidden=64)
    with full_disk(limit), pytest.raises(OSError, match=rf"^\[Errno 27\] File too large: '{path}'$"):
        run(digits, path, epochs=2, hidden=64)
    assert len(checkpoint.read(path)["history"]["train_loss"]) == 1 and list(tmp_path.iterdir()) == [path]
    run(digits, path, epochs=2, hidden=64)


def test_a_run_of_another_kind_of_device_is_refused(digits, tmp_path):
    """Its order of examples was drawn there, by another generator: it could not be the same run."""
    path = tmp_path / "run.ckpt"
    run(digits, path)
    content = torch.load(path, weights_only=True)
    content["history"]["settings"]["device"] = "cuda"
    content["generator"] = torch.zeros(16, dtype=torch.uint8)
    torch.save(content, path)
    with pytest.raises(training.CheckpointError, match="device = 'cuda' there, 'cpu' here"):
        run(digits, path, epochs=4)


@pytest.mark.parametrize("value", [0, -1, "often", 1.5])
def test_a_bad_interval_is_named(digits, tmp_path, value):
    with pytest.raises(ValueError, match=r"^checkpoint_every = "):
        run(digits, tmp_path / "c", checkpoint_every=value)
