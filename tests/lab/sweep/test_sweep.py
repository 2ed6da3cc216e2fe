"""Sweeps: combinations, resuming, processes that are killed, and a real local Dask cluster."""

from __future__ import annotations

import statistics
import subprocess
import sys

import pytest
from processes import PATIENCE, linux

from lossnav import experiment, records, sweep
from lossnav.lab.experiment import Experiment

SMALL = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 200, "test_size": 100}


def test_a_grid_is_the_product_with_seeds_and_nested_options():
    axes = {"optimizer": ["belief", "ballistic"], "option.eps": [1e-8, 1e-4], "lr": [0.1]}
    runs = sweep.grid(axes, seeds=[3, 5], base={**SMALL, "options": {"bias_correction": True}})
    found = [(run.optimizer, run.options["eps"], run.lr, run.seed) for run in runs]
    rules = ("belief", "ballistic")
    assert found == [(rule, eps, 0.1, seed) for rule in rules for eps in (1e-8, 1e-4) for seed in (3, 5)]
    assert all(run.options["bias_correction"] and run.train_size == 200 for run in runs)


def test_grids_of_a_file_and_what_is_wrong_with_others(tmp_path):
    path = tmp_path / "grids.toml"
    path.write_text(
        'data = "digits"\nepochs = 3\nseeds = [0, 1]\n[options]\neps = 1e-6\n[model_options]\nhidden = [8]\n'
        '[[grid]]\noptimizer = ["sgd"]\nlr = [0.1, 0.2]\n"option.momentum" = [0.9]\n'
        '[[grid]]\noptimizer = ["ballistic"]\nlr = [1e-3]\n'
    )
    runs = sweep.read_grids(path)
    assert [(r.optimizer, r.lr, r.seed) for r in runs] == [
        ("sgd", 0.1, 0), ("sgd", 0.1, 1), ("sgd", 0.2, 0), ("sgd", 0.2, 1),
        ("ballistic", 1e-3, 0), ("ballistic", 1e-3, 1),
    ]  # fmt: skip
    assert runs[0].options == {"eps": 1e-6, "momentum": 0.9} and runs[-1].options == {"eps": 1e-6}
    wrong = (
        ("data = ", "not TOML"), ("rate = 1", "setting = 'rate'"), ("seeds = 3", "seeds = 3"), ("grid = 1", "tables"),
        ("[[grid]]\nlr = 0.1", r"axes\['lr'\] = 0\.1, but it must be a list"), ("seeds = []", "at least one seed"),
    )  # fmt: skip
    for text, message in wrong:
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"^{path}.*{message}"):
            sweep.read_grids(path)


@pytest.mark.slow
def test_a_sweep_is_its_runs_one_by_one_and_is_not_repeated(tmp_path):
    wanted = sweep.grid({"lr": [1e-3, 1e-2]}, seeds=[0, 1], base={**SMALL, "optimizer": "sgd"})
    finished = list(sweep.run([*wanted, wanted[0]], tmp_path, workers=2))
    assert len(finished) == 4 and not any(entry.before or entry.error for entry in finished)
    for entry in finished:
        alone = experiment.run(entry.experiment).results[0]
        together = dict(entry.record.results[0])
        del alone["seconds"], together["seconds"]
        assert together == alone
        assert records.load(tmp_path / f"{entry.experiment.key()}.json") == entry.record
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    again = list(sweep.run(wanted, tmp_path))
    assert all(entry.before for entry in again)
    more = list(sweep.run([*wanted, Experiment.of({**SMALL, "seed": 9})], tmp_path, workers=1))
    assert sorted(entry.before for entry in more) == [False, True, True, True, True]
    assert all(path.stat().st_mtime_ns == then for path, then in written.items())
    groups = sweep.summarise(finished)
    assert [group["seeds"] for group in groups] == [2, 2]
    for group in groups:
        last = [e.record.results[0]["test_accuracy"][-1] for e in finished if e.experiment.lr == group["config"]["lr"]]
        assert group["accuracy"] == pytest.approx(statistics.mean(last))
        assert group["spread"] == pytest.approx(statistics.stdev(last))


def test_a_run_that_fails_stops_no_other_and_is_tried_again(tmp_path):
    good, bad = Experiment.of(SMALL), Experiment.of({**SMALL, "options": {"beta": 2.0}})
    for _ in range(2):
        results = {entry.experiment.key(): entry for entry in sweep.run([bad, good], tmp_path, workers=1)}
        assert results[bad.key()].record is None and "beta" in results[bad.key()].error
        assert results[good.key()].record is not None
    assert [path.stem for path in tmp_path.glob("*.json")] == [good.key()]


def test_diverged_runs_are_results(tmp_path):
    wanted = sweep.grid({"lr": [1e30]}, base={**SMALL, "optimizer": "sgd", "clip": None})
    finished = list(sweep.run(wanted, tmp_path, workers=1))
    assert finished[0].record.results[0]["diverged"] >= 1
    (group,) = sweep.summarise(finished)
    assert (group["diverged"], group["accuracy"], group["spread"]) == (1, None, None)
    assert next(iter(sweep.run(wanted, tmp_path))).before


def test_two_sweeps_do_not_share_a_folder(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    first = sweep.run(wanted, tmp_path, workers=1)
    next(first)
    with pytest.raises(RuntimeError, match="another sweep is writing to"):
        list(sweep.run(wanted, tmp_path))
    assert len(list(first)) == 1
    assert all(entry.before for entry in sweep.run(wanted, tmp_path))


@pytest.mark.parametrize(("option", "value"), [("workers", 0), ("threads", 0), ("threads", 1.5), ("attempts", 0)])
def test_bad_options_are_named(tmp_path, option, value):
    with pytest.raises(ValueError, match=f"^{option} = {value}, but it must be a whole number"):
        sweep.run([Experiment()], tmp_path, **{option: value})


@pytest.mark.slow
def test_a_longer_sweep_goes_on_from_the_checkpoints_of_a_shorter_one(tmp_path):
    import torch

    runs, states = tmp_path / "runs", tmp_path / "states"
    for seed in (0, 1):
        (short,) = sweep.run([Experiment(**SMALL, seed=seed)], runs, workers=1, checkpoints=states)
        assert len(short.record.results[0]["train_loss"]) == 1
    for path in states.glob("*.pt"):  # a mark that only a run that reads this file can carry on
        content = torch.load(path, weights_only=True)
        content["history"]["test_loss"][0] = 7.25
        torch.save(content, path)
    wanted = sweep.grid({"epochs": [3]}, seeds=(0, 1), base=SMALL)
    for entry in sweep.run(wanted, runs, workers=1, checkpoints=states):
        found, alone = entry.record.results[0], experiment.run(entry.experiment).results[0]
        assert found["train_loss"] == alone["train_loss"] and found["test_loss"] == [7.25, *alone["test_loss"][1:]]
    with pytest.raises(ValueError, match=r"epochs = 2 and 3 of the same experiment would share one checkpoint"):
        sweep.run(sweep.grid({"epochs": [2, 3]}, base=SMALL), runs, checkpoints=states)


@linux
@pytest.mark.slow
def test_workers_that_always_die_end_the_sweep(tmp_path):
    """A run that takes its worker down each time: two attempts, then an error; what was finished is kept."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\nfrom lossnav import experiment, sweep\n"
        "def die(*a, **k):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "if __name__ == '__main__':\n"
        "    sweep.drive.work = die\n"
        f"    wanted = sweep.grid({{}}, [0], {SMALL!r})\n"
        "    try:\n"
        f"        list(sweep.run(wanted, {str(tmp_path / 'runs')!r}, workers=2, attempts=2))\n"
        "    finally:\n"
        "        print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "RuntimeError: workers died 2 times in a row" in done.stderr, done.stderr
    assert done.stdout == "False\n"  # the driver leaves torch to its workers


def test_a_cluster_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep.drive, "CONNECT", 0.5)
    with pytest.raises(RuntimeError, match=r"cluster = 'tcp://127\.0\.0\.1:9' cannot be reached"):
        list(sweep.run([Experiment.of(SMALL)], tmp_path, cluster="tcp://127.0.0.1:9"))
