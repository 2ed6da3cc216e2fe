"""Runs that are cut off: continued bit for bit, or refused with a reason and nothing overwritten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from resources import full_disk
from torch import nn

import lossnav as ln
from lossnav import data, models, optim, training
from lossnav.lab import archive
from lossnav.lab.streams import ShrinkAndPerturb


@pytest.fixture(scope="module")
def digits():
    return data.load("digits").head(600, 200)


def epochs_in(path: Path) -> int:
    return archive.load(path)["done"]


def run(
    digits, path, *, epochs=2, seed=0, lr=1e-3, hidden=16, rule=optim.Ballistic, size=600, dtype=torch.float32,
    sha256=None, initial="torch", labels=0, model=None, **options,
):  # fmt: skip
    where = digits.provenance if sha256 is None else replace(digits.provenance, sha256=sha256)
    digits = replace(digits.head(size, 200), provenance=where)
    digits = replace(digits, train=replace(digits.train, y=(digits.train.y + labels) % 10))
    model = models.mlp(64, (hidden,), seed=seed, initial=initial).to(dtype) if model is None else model()
    how = {"epochs": epochs, "seed": seed, "batch_size": 50, "checkpoint": path, "resume": True, **options}
    return model, training.train(
        model, digits, rule(model.parameters(), lr=lr), progress=False, device="cpu", **how
    )  # fmt: skip


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
        ({"lr": 2e-3}, r"rule\.param_groups\.0\.lr = 0\.001 there, 0\.002 here"),
        ({"hidden": 8}, r"model\.told\.1\.out_features = 16 there, 8 here"),
        ({"initial": "he"}, r"model\.tensors\.1\.weight = 'float32 \(16, 64\) .* there, 'float32 \(16, 64\)"),
        ({"labels": 1}, r"train\.y = 'int64 \(600,\) .* there, 'int64 \(600,\)"),
        ({"rule": torch.optim.Adam}, "optimizer = 'Ballistic' there, 'Adam' here"),
        ({"augment": data.CropFlip(1)}, r"augment\.pad = nothing there, 1 here"),
        ({"precision": "bfloat16"}, "precision = 'float32' there, 'bfloat16' here"),
        ({"epochs": 1}, "2 epochs there, 1 here"),
        ({"sha256": {"file": "0"}}, r"sha256\.file = nothing there, '0' here"),
        ({"size": 400}, r"examples\.0 = 600 there, 400 here"),
        ({"dtype": torch.float64}, r"model\.tensors\.1\.weight = 'float32 .* there, 'float64 .* here"),
        (
            {"loss": nn.functional.mse_loss},
            "loss = 'torch.nn.functional.cross_entropy' there, 'torch.nn.functional.mse",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(digits, tmp_path, change, named):
    path = tmp_path / "run.ckpt"
    run(digits, path)
    before = path.read_bytes()
    with pytest.raises(training.CheckpointError, match=f"belongs to another run: .*{named}"):
        run(digits, path, **change)
    assert path.read_bytes() == before


def heads(count):
    return {"model": lambda: models.vit(1, 8, width=8, depth=1, heads=count, seed=0)}


def ruled(rule, **told):
    return {"rule": lambda p, lr: rule(p, lr=lr, **told)}


def derived(beta):
    assumed = ln.derive(ln.Objective(gamma=1e-3), dt=0.01, belief=ln.assume.Filter(beta))
    return {"rule": lambda p, lr: assumed.optimizer(p)}


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        (heads(1), heads(2), r"model\.told\.\S*heads = 1 there, 2 here"),
        (ruled(optim.Navigator), ruled(optim.Navigator, curvature="hutchinson"), r"rule\.curvature = "),
        (ruled(ShrinkAndPerturb, seed=0), ruled(ShrinkAndPerturb, seed=0, noise=0.1), r"rule\.noise = 0\.0001 there"),
        (ruled(ShrinkAndPerturb, seed=0), ruled(ShrinkAndPerturb, seed=1), r"rule\.generator = "),
        (derived(0.9), derived(0.8), r"rule\.rule\.\S* = 0\.9 there, 0\.8 here"),
    ],
)
def test_settings_that_no_group_and_no_shape_shows_are_compared(digits, tmp_path, first, second, named):
    run(digits, tmp_path / "run.ckpt", epochs=1, **first)
    run(digits, tmp_path / "run.ckpt", epochs=2, **first)
    with pytest.raises(training.CheckpointError, match=f"belongs to another run: .*{named}"):
        run(digits, tmp_path / "run.ckpt", epochs=3, **second)


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
def test_each_rule_goes_on_with_dropout_and_augmentation(digits, tmp_path, rule):
    """Cut off in the second epoch, in float32, or where the rule's name has an even length in bfloat16."""

    def go(path, epochs):
        torch.manual_seed(3)
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(),
            nn.Dropout(0.3), nn.Linear(32, 10),
        )  # fmt: skip
        history = training.train(
            model, digits.head(240, 50), RULES[rule](model.parameters()), epochs=epochs, batch_size=20, seed=1,
            progress=False, device="cpu", checkpoint=path, resume=True, augment=data.CropFlip(1),
            precision=("float32", "bfloat16")[len(rule) % 2], memory_format="channels_last",
        )  # fmt: skip
        return model, history

    go(tmp_path / "a", 1)
    torch.rand(5)  # torch's own generator is elsewhere now, as in a fresh process
    cut, first = go(tmp_path / "a", 3)
    whole, second = go(tmp_path / "b", 3)
    assert first.step_loss == second.step_loss and first.test_loss == second.test_loss
    assert all(torch.equal(p, q) for p, q in zip(cut.parameters(), whole.parameters(), strict=True))


def test_a_run_that_diverged_leaves_its_last_good_checkpoint_and_diverges_again_in_the_same_way(digits, tmp_path):
    def go(path, resume):
        with pytest.raises(training.Diverged) as caught:
            run(digits, path, epochs=4, lr=7.0, rule=torch.optim.SGD, clip=None, batch_size=600, resume=resume,
                loss=exploding)  # fmt: skip
        return caught.value

    first = go(tmp_path / "c", False)
    assert first.step >= 1 and epochs_in(tmp_path / "c") == len(first.history.train_loss) >= 1
    again = go(tmp_path / "c", True)
    assert (first.step, first.good_step, str(first)) == (again.step, again.good_step, str(again))


def exploding(logits, labels):
    """Once the network has moved at all, the loss is infinite."""
    moved = torch.is_grad_enabled() and logits.abs().max() > 5
    return nn.functional.cross_entropy(logits, labels) * (float("inf") if moved else 1.0)


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
    assert epochs_in(path) == 1 and list(tmp_path.iterdir()) == [path]
    run(digits, path, epochs=2, hidden=64)
