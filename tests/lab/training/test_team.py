"""One run in two gloo processes, as torchrun starts them, against the same run in one process."""

from __future__ import annotations

import fresh
import pytest
import torch

from lossnav import training
from lossnav.lab.training.team import Team

SCRIPT = """
import contextlib, os, sys, torch
from torch import nn
from lossnav import data, models, optim, training

together = "LOCAL_RANK" in os.environ
# 577 = 18 batches of 32 and one of a single image: one process has no part in it
digits = data.load("digits").head(577, 201)
with training.process_group("cpu") if together else contextlib.nullcontext("cpu") as device:
    model = models.mlp(64, (32,), seed=0)
    optimizer = optim.Ballistic(model.parameters(), lr=1e-3)
    options = dict(batch_size=32, seed=1, augment=data.CropFlip(1), device=device, distributed=together, clip=0.5,
                   checkpoint=sys.argv[1] + ".ckpt", resume=True, progress=True)
    training.train(model, digits, optimizer, epochs=1, **options)
    history = training.train(model, digits, optimizer, epochs=3, **options)
    name = f"{sys.argv[1]}-{os.environ.get('RANK', 'alone')}.pt"
    torch.save({"steps": history.step_loss, "train": history.train_loss, "test": history.test_loss,
                "accuracy": history.test_accuracy, "processes": history.settings["processes"],
                "weights": nn.utils.parameters_to_vector(model.parameters()).detach()}, name)
"""


@pytest.mark.slow
def test_two_processes_give_the_curve_of_one(tmp_path):
    alone = fresh.run(SCRIPT, tmp_path / "a")
    assert alone.returncode == 0, alone.stderr
    pair = fresh.team(SCRIPT, tmp_path / "b")
    assert [process.returncode for process in pair] == [0, 0], pair
    names = ("a-alone.pt", "b-0.pt", "b-1.pt")
    single, first, second = (torch.load(tmp_path / name, weights_only=True) for name in names)
    assert (single["processes"], first["processes"], second["processes"]) == (1, 2, 2)
    assert torch.equal(first["weights"], second["weights"])
    for key in ("steps", "train", "test", "accuracy"):
        assert first[key] == second[key]
        assert first[key] == pytest.approx(single[key], rel=1e-4, abs=1e-6), key
    assert len(first["steps"]) == 57
    torch.testing.assert_close(first["weights"], single["weights"], rtol=1e-3, atol=1e-5)
    assert [process.stderr.count(" 0/19 ") for process in (alone, *pair)] == [1, 1, 0]  # one process shows the bar


INTERRUPTED = """
import sys, torch
from torch import nn
from lossnav import data, models, training

folder, epochs = sys.argv[1], int(sys.argv[2])
with training.process_group("cpu") as device:
    torch.manual_seed(7)
    inner = models.mlp(64, (32,), seed=0)
    model = nn.Sequential(inner[0], nn.Dropout(0.3), *inner[1:])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    history = training.train(
        model, data.load("digits").head(577, 201), optimizer, epochs=epochs, batch_size=31, seed=1, progress=False,
        device=device, distributed=True, checkpoint=f"{folder}/run.ckpt", resume=True)
    if torch.distributed.get_rank() == 0:
        torch.save(history.step_loss, f"{folder}/steps.pt")
"""


@pytest.mark.slow
def test_dropout_of_each_process_goes_on_where_it_was(tmp_path):
    """Batches of 31 are shared 15 and 16, so that the processes do not draw the same masks."""

    def go(folder, epochs):
        (tmp_path / folder).mkdir(exist_ok=True)
        done = fresh.team(INTERRUPTED, tmp_path / folder, epochs)
        assert [process.returncode for process in done] == [0, 0], done
        return torch.load(tmp_path / folder / "steps.pt", weights_only=True)

    go("cut", "1")
    assert go("cut", "2") == go("whole", "2")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 128])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_cover_everything_once_and_are_fair(count, size):
    parts = [range(count)[Team(rank, size).part(count)] for rank in range(size)]
    assert [n for part in parts for n in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_without_torchrun_it_says_what_to_do(monkeypatch):
    from lossnav import data, models

    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with pytest.raises(RuntimeError, match="torchrun"), training.process_group():
        pass
    model = models.mlp(64, (4,), seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(RuntimeError, match=r"distributed = True, but there is no process group"):
        training.train(model, data.load("digits"), optimizer, epochs=1, seed=0, distributed=True)
