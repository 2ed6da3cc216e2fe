"""Seeds of a sweep trained together: the records of single runs, whatever dies on the way."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import alive, linux, start, wait_for, workers_of

from lossnav import data, experiment, records, sweep
from lossnav.cli import main
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep import groups

SMALL = {"data": "digits", "model_options": {"hidden": [16]}, "train_size": 250, "test_size": 100, "epochs": 3}
RULES = {
    "sgd": {"optimizer": "sgd", "lr": 0.1, "options": {"momentum": 0.9, "weight_decay": 1e-3}},
    "adam": {"optimizer": "adam", "lr": 1e-2, "clip": 0.5},
    "ballistic": {"optimizer": "ballistic", "lr": 2e-3, "options": {"beta": 0.9}, "augment": True},
    "belief": {"optimizer": "belief", "lr": 3e-3, "options": {"variance": "innovation", "lr_overdamped": 1.0}},
    "navigator": {"optimizer": "navigator", "lr": 1e-2, "options": {"gamma": 1.0}, "clip": None},
    "uncertain": {"optimizer": "uncertain", "lr": 1e-2, "options": {"speed": 1.0, "reset": [0.01, 0.5, 3]}},
}


def curves(record):
    return {key: record.results[0][key] for key in ("train_loss", "test_loss", "test_accuracy")}


def assert_same(one, other):
    for key, values in curves(one).items():
        gap = 1.01 / 100 if key == "test_accuracy" else 1e-5  # an image on the border may fall on either side
        np.testing.assert_allclose(values, curves(other)[key], rtol=0, atol=gap)


@pytest.mark.parametrize("rule", RULES)
def test_records_are_those_of_single_runs(tmp_path, rule):
    wanted = sweep.grid({}, seeds=[4, 0, 7], base={**SMALL, **RULES[rule]})
    found = {f.experiment.seed: f for f in sweep.run(wanted, tmp_path, workers=1, together=3)}
    for one in wanted:
        entry, alone = found[one.seed], experiment.run(one)
        assert entry.record == records.load(tmp_path / f"{one.key()}.json") and not entry.error
        assert_same(entry.record, alone)
        assert entry.record.results[0]["train_loss"][-1] < entry.record.results[0]["train_loss"][0]
        settings, single = entry.record.results[0]["settings"], alone.results[0]["settings"]
        assert settings == {**single, "together": 3, "arithmetic": settings["arithmetic"]}
        for name in ("config", "seeds", "command", "data", "device", "versions"):
            assert getattr(entry.record, name) == getattr(alone, name)


@pytest.mark.parametrize(
    ("model", "options"), [("cnn", {}), ("resnet", {"blocks": 1, "width": 8}), ("vit", {"depth": 1, "width": 16})]
)
def test_other_models_by_vmap(model, options):
    base = {"data": "digits", "model": model, "model_options": options, "train_size": 64, "test_size": 50}
    first = Experiment.of({**base, "precision": "float32", "batch_size": 16, "augment": True})
    wanted = [replace(first, seed=seed) for seed in (1, 5)]
    for found, one in zip(experiment.run_together(wanted), wanted, strict=True):
        assert_same(found, experiment.run(one))


def test_groups_singles_and_what_was_run_before(tmp_path):
    base = {**SMALL, "epochs": 1}
    wanted = [
        *sweep.grid({"lr": [1e-3, 1e-2]}, seeds=range(5), base=base),
        *sweep.grid({"optimizer": ["sgd"]}, seeds=[2], base={**base, "compile": False}),
    ]
    list(sweep.run(wanted[1:2], tmp_path, workers=1))  # one of five alone, before
    finished = list(sweep.run(wanted, tmp_path, workers=1, together=3))
    assert len(finished) == 11 and [f.experiment for f in finished if f.before] == [wanted[1]]
    sizes = {f.experiment.key(): f.record.results[0]["settings"].get("together") for f in finished}
    assert [sizes[one.key()] for one in wanted] == [2, None, 2, 2, 2, 2, 2, 3, 3, 3, None]
    assert all(f.before for f in sweep.run(wanted, tmp_path, together=8))
    table = sweep.summarise(finished)
    assert [group["seeds"] for group in sorted(table, key=lambda g: -g["seeds"])] == [5, 5, 1]


def test_a_diverged_seed_has_its_own_record_and_hurts_no_other(tmp_path, monkeypatch):
    """One seed begins with weights that overflow; workers = 1 is this process, so that it can be arranged."""
    import torch

    make, broken = experiment.make_model, []

    def sabotaged(one, dataset):
        model = make(one, dataset)
        if one.seed == 1:
            with torch.no_grad():
                model[1].weight.mul_(1e25)
                model[3].weight.mul_(1e25)
            broken.append(one)
        return model

    monkeypatch.setattr(experiment.running, "make_model", sabotaged)
    wanted = sweep.grid({}, seeds=[0, 1, 2], base={**SMALL, "clip": None})
    found = {f.experiment.seed: f.record for f in sweep.run(wanted, tmp_path, workers=1, together=3)}
    assert len(broken) == 1
    assert found[1].results[0] == {**experiment.run(wanted[1]).results[0], **{
        key: found[1].results[0][key] for key in ("settings", "seconds")
    }}  # fmt: skip
    assert found[1].results[0]["diverged"] == 0 and "diverged" not in found[1].results[0]["settings"]
    monkeypatch.undo()
    for seed in (0, 2):
        assert_same(found[seed], experiment.run(wanted[seed]))
    assert next(g for g in sweep.summarise([*sweep.run(wanted, tmp_path)]))["diverged"] == 1


@pytest.mark.parametrize(("rate", "decay", "batch"), [(3e18, 0.0, 50), (1e30, 0.0, 50), (1e30, 1e30, 250)])
def test_divergence_has_the_same_number_of_steps(rate, decay, batch):
    """By a loss; and in the last case by weights that are infinite after the only step of an epoch."""
    values = {"optimizer": "sgd", "lr": rate, "options": {"weight_decay": decay}, "clip": None, "batch_size": batch}
    wanted = sweep.grid({}, seeds=range(3), base={**SMALL, **values})
    for found, one in zip(experiment.run_together(wanted, steps=True), wanted, strict=True):
        alone = experiment.run(one, steps=True)
        assert found.results[0]["diverged"] == alone.results[0]["diverged"] >= 1
        assert curves(found) == curves(alone) and len(curves(found)["train_loss"]) < 3
        assert found.results[0]["step_loss"] == pytest.approx(alone.results[0]["step_loss"], rel=1e-5)


def test_auto_puts_together_what_is_possible_and_pays():
    small = sweep.grid({}, seeds=range(20), base=SMALL)
    big = sweep.grid({}, seeds=range(3), base={"data": "mnist"})
    compiled = sweep.grid({}, seeds=range(2), base={**SMALL, "compile": True})
    images = sweep.grid({}, seeds=range(2), base={**SMALL, "model": "cnn", "model_options": {}})
    odd = sweep.grid({}, seeds=range(2), base={**SMALL, "model_options": {"hidden": "wide"}})
    found = groups.jobs([*small, *big, *compiled, *images, *odd], "auto", None, 2)
    assert [len(job) for job in found] == [10, 10, *[1] * 9]
    assert [one for job in found for one in job] == [*small, *big, *compiled, *images, *odd]
    assert sorted(map(len, groups.jobs(small, "auto", None, 5))) == [2, 3, 5, 5, 5]  # all workers have something to do
    assert {len(job) for job in groups.jobs(small, "auto", None, 64)} == {1}
    assert {len(job) for job in groups.jobs(small, "auto", "states", 1)} == {1}
    assert [len(job) for job in groups.jobs(small, 8, None, 64)] == [6, 7, 7]
    assert groups.jobs(small, 1, None, 2) == [(one,) for one in small]


def test_sizes_of_the_data_are_known_before_they_are_loaded():
    for name in ("mnist", "digits", "cifar10"):
        loaded = data.load(name)
        assert (experiment.INPUTS[name], experiment.OUTPUTS) == (loaded.inputs, loaded.classes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"compile": True}, "together = 2, but compile = True is for one model"),
        ({"precision": "bfloat16"}, "together = 2, but precision = 'bfloat16'"),
        ({"model": "cnn"}, "precision = 'auto' may be bfloat16 for convolutions: say precision = 'float32'"),
        ({"model": "cnn", "precision": "float32", "memory_format": "channels_last"}, "memory_format = 'channels_last'"),
        ({"optimizer": "navigator", "options": {"curvature": "hutchinson"}}, "curvature = 'hutchinson'"),
    ],
)
def test_what_cannot_be_together_is_named_before_anything_runs(tmp_path, values, message):
    wanted = sweep.grid({}, seeds=[0, 1], base={"data": "digits", **values})
    with pytest.raises(ValueError, match=message):
        sweep.run(wanted, tmp_path / "runs", together=2)
    assert not (tmp_path / "runs").exists()
    with pytest.raises(ValueError, match="2 seeds together, but "):
        experiment.run_together(wanted)
    sweep.run(wanted[:1], tmp_path, together=2).close()  # a single seed is no matter
    sweep.run(wanted, tmp_path, together="auto").close()


def test_wrong_numbers_and_strangers_are_named(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    for value in (0, 2.0, True, "all"):
        with pytest.raises(ValueError, match=f"^together = {value!r}, but it must be a whole number >= 1, or 'auto'"):
            sweep.run(wanted, tmp_path, together=value)
    with pytest.raises(ValueError, match="together = 2, but with checkpoints each seed is trained alone"):
        sweep.run(wanted, tmp_path, together=2, checkpoints=tmp_path)
    with pytest.raises(ValueError, match="differ by more than their seeds"):
        experiment.run_together([wanted[0], replace(wanted[1], lr=0.5)])


def test_an_error_of_a_group_is_that_of_each_seed(tmp_path):
    wanted = sweep.grid({"option.beta": [0.9, 2.0]}, seeds=[0, 1], base=SMALL)
    found = list(sweep.run(wanted, tmp_path, workers=1, together=2))
    assert [bool(f.error) for f in found] == [False, False, True, True]
    assert all("beta = 2.0" in f.error for f in found[2:]) and len(list(tmp_path.glob("*.json"))) == 2


def test_the_command_line(tmp_path, capsys):
    words = "sweep --data digits --model-option hidden=[8] --train-size 100 --seeds 0-3 --workers 1 --quiet --output"
    assert main([*words.split(), str(tmp_path), "--together", "4"]) == 0
    assert "4 runs now, 0 before, 0 failed" in capsys.readouterr().out
    assert main(["records", str(tmp_path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["results"][0]["settings"]["together"] for row in rows] == [4] * 4
    assert main(["records", str(next(tmp_path.glob("*.json")))]) == 0 and "together" in capsys.readouterr().out
    assert main([*words.split(), str(tmp_path), "--together", "auto"]) == 0
    assert "0 runs now, 4 before" in capsys.readouterr().out
    for word in ("0", "all", "-1"):
        with pytest.raises(SystemExit, match="2"):
            main([*words.split(), str(tmp_path), f"--together={word}"])
        assert f"{word!r} is neither auto nor a whole number >= 1" in capsys.readouterr().err
    assert main([*words.split(), str(tmp_path / "x"), "--together", "2", "--compile"]) == 2
    assert "together = 2, but compile = True" in capsys.readouterr().err


# --- real processes, killed

PAIRS = ("--together", "2", "--grid", "lr=1e-3,1e-2")


def assert_complete(folder: Path) -> None:
    found = [records.load(path) for path in folder.glob("*.json")]
    assert sorted((r.config["lr"], r.seeds[0]) for r in found) == [(lr, s) for lr in (1e-3, 1e-2) for s in range(4)]
    assert {r.results[0]["settings"]["together"] for r in found} == {2}
    one = found[0]
    assert_same(one, experiment.run(Experiment.of(one.config)))


@linux
@pytest.mark.slow
def test_the_group_of_a_killed_worker_is_done_again(tmp_path):
    process = start(tmp_path, *PAIRS)
    wait_for(lambda: list(tmp_path.glob("*.json")), process)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    done = process.wait()
    assert done.returncode == 0 and "8 runs now, 0 before, 0 failed" in done.stdout, done.stderr
    assert_complete(tmp_path)


@linux
@pytest.mark.slow
def test_a_killed_sweep_of_groups_repeats_no_seed(tmp_path):
    process = start(tmp_path, *PAIRS)
    wait_for(lambda: list(tmp_path.glob("*.json")), process)
    workers = workers_of(process.pid)
    process.kill()
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    done = start(tmp_path, *PAIRS).wait()
    wanted = f"{8 - len(kept)} runs now, {len(kept)} before, 0 failed"
    assert done.returncode == 0 and wanted in done.stdout, done.stderr
    assert 1 <= len(kept) < 8 and all(path.stat().st_mtime_ns == then for path, then in kept.items())
    wait_for(lambda: not any(map(alive, workers)))  # the workers of the killed sweep do not stay behind


@pytest.mark.slow
def test_groups_on_an_existing_dask_cluster_survive_a_killed_worker(tmp_path, cluster):
    process = start(tmp_path, *PAIRS, "--cluster", cluster.scheduler_address)
    wait_for(lambda: list(tmp_path.glob("*.json")), process)
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    done = process.wait()
    assert done.returncode == 0 and "8 runs now, 0 before, 0 failed" in done.stdout, done.stderr
    assert_complete(tmp_path)
