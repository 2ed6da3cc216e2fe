"""Sweeps: combinations, what is run again and what is not, and what may be wrong around them: each is named."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from concurrent.futures import as_completed
from dataclasses import replace

import numpy as np
import pytest
from distributed import Client
from processes import Running, alone, numbers, wait_for
from resources import full_disk

from lossnav import records, sweep
from lossnav.lab import archive
from lossnav.lab.experiment import Experiment

SMALL = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 200, "test_size": 100}


def test_a_grid_is_the_product_with_seeds_and_nested_options():
    axes = {"optimizer": ["belief", "ballistic"], "option.eps": [1e-8, 1e-4], "lr": [0.1]}
    runs = sweep.grid(axes, seeds=[3, 5], base={**SMALL, "options": {"bias_correction": True}})
    settings = [(run.optimizer, run.options["eps"], run.lr, run.seed) for run in runs]
    rules = ("belief", "ballistic")
    assert settings == [(rule, eps, 0.1, seed) for rule in rules for eps in (1e-8, 1e-4) for seed in (3, 5)]
    assert all(run.options["bias_correction"] and run.train_size == 200 for run in runs)
    assert [run.key() for run in sweep.grid(axes, np.array([3, 5]), SMALL)] == [
        run.key() for run in sweep.grid(axes, [3, 5], SMALL)
    ]


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
        ("grid = []", "tables"),
    )  # fmt: skip
    for text, message in wrong:
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"^{path}.*{message}"):
            sweep.read_grids(path)


STREAM = {
    "data": "digits", "stream": "permuted", "stream_options": {"examples": 160}, "tasks": 3, "batch_size": 16,
    "model_options": {"hidden": [8]}, "lr": 0.01,
}  # fmt: skip
BITS = {"data": "bits", "stream": "bits", "loss": "squared_error", "tasks": 2, "batch_size": 1,
        "stream_options": {"period": 20}}  # fmt: skip


@pytest.mark.slow
def test_a_sweep_is_its_runs_one_by_one_and_is_not_repeated(tmp_path):
    """Epochs, and streams of tasks of one seed and of several; in several processes: test_killed."""
    wanted = sweep.grid({"lr": [1e-3, 1e-2]}, seeds=[0, 1], base={**SMALL, "optimizer": "sgd"})
    wanted += [*sweep.grid({"optimizer": ["uncertain"]}, [0, (3, 4)], STREAM), *sweep.grid({}, [1], BITS)]
    finished = list(sweep.run([*wanted, wanted[0]], tmp_path, workers=1))
    assert len(finished) == 7 and not any(entry.before or entry.error for entry in finished)
    for entry in finished:
        assert numbers(entry.record) == alone(entry.experiment)
        assert entry.record.seeds == list(entry.experiment.seeds)
        assert records.load(tmp_path / f"{entry.experiment.key()}.json") == entry.record
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert all(entry.before for entry in sweep.run(wanted, tmp_path))
    more = list(sweep.run([*wanted, Experiment.of({**SMALL, "seed": 9})], tmp_path, workers=1))
    assert sorted(entry.before for entry in more) == [False, *[True] * 7]
    assert all(path.stat().st_mtime_ns == then for path, then in written.items())
    groups = {repr((group["config"]["lr"], group["config"]["data"])): group for group in sweep.summarise(finished)}
    assert sorted(group["seeds"] for group in sweep.summarise(finished)) == [1, 2, 2, 3]
    last = [e.record.results[0]["test_accuracy"][-1] for e in finished if e.experiment.lr == 1e-3]
    assert groups["(0.001, 'digits')"]["accuracy"] == pytest.approx(statistics.mean(last))
    assert groups["(0.001, 'digits')"]["spread"] == pytest.approx(statistics.stdev(last))


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


@pytest.mark.parametrize("shared", ["records", "states"])
def test_two_sweeps_do_not_share_a_folder(tmp_path, shared):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)

    def other(name):
        folder = tmp_path / ("a" if shared == "records" else name)
        return sweep.run(wanted, folder, workers=1, checkpoints=tmp_path / "states" if shared == "states" else None)

    first = other("a")
    next(first)
    with pytest.raises(RuntimeError, match="another sweep is writing to"):
        list(other("b"))
    first.close()
    assert len(list(other("b"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("base", [SMALL, {**STREAM, "optimizer": "continual backprop", "options": {"rate": 0.1}}])
def test_a_longer_sweep_goes_on_from_the_checkpoints_of_a_shorter_one_and_not_the_other_way(tmp_path, base):
    length = "tasks" if "tasks" in base else "epochs"
    short, long = (Experiment.of({**base, length: count}) for count in (3, 5))
    list(sweep.run([short], tmp_path, workers=1, checkpoints=tmp_path / "states"))
    (state,) = (tmp_path / "states").glob("*.pt")
    content = archive.load(state)  # a mark that only a run that reads this file can carry on
    content.get("history", content)["seconds"] = [5000.0] * 3 if "history" in content else 5000.0
    archive.save(state, content)
    (resumed,) = sweep.run([long], tmp_path, workers=1, checkpoints=tmp_path / "states")
    assert numbers(resumed.record) == alone(long) and resumed.record.results[0]["seconds"] > 1000
    with pytest.raises(ValueError, match=rf"{length} = 3 and 5 of the same experiment would share one checkpoint"):
        sweep.run([short, long], tmp_path, checkpoints=tmp_path / "states")
    other = Experiment.of({**SMALL, "seed": 1})
    again = {e.experiment.key(): e for e in sweep.run(
        [short, other], tmp_path / "b", workers=1, checkpoints=tmp_path / "states"
    )}  # fmt: skip
    error = again[short.key()].error
    assert f"5 {length} there, 3 here" in error and state.name in error and "delete" in error
    assert not again[other.key()].error


def test_records_of_other_data_are_not_taken_for_those_of_today(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    (first,) = sweep.run(wanted[:1], tmp_path, workers=1, checkpoints=tmp_path)  # states beside records
    other = replace(first.record, data={**first.record.data, "sha256": {"file": "0"}})
    records.save(tmp_path / f"{wanted[0].key()}.json", other)
    with pytest.raises(RuntimeError, match=rf"data = 'digits' is .* of other files in the run .*than {tmp_path}"):
        list(sweep.run(wanted, tmp_path, workers=1))
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_a_disk_that_is_full_for_records_ends_the_sweep_and_keeps_what_was_written(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1, 2], base=SMALL)
    list(sweep.run(wanted[:1], tmp_path, workers=1))
    with full_disk(300), pytest.raises(RuntimeError, match=f"records cannot be written to {tmp_path}: .*too large"):
        list(sweep.run(wanted, tmp_path, workers=1))
    assert [path.stem for path in tmp_path.iterdir() if path.name != ".lock"] == [wanted[0].key()]


def test_a_disk_that_is_full_for_checkpoints_is_an_error_of_each_run(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    with full_disk(3000):
        finished = list(sweep.run(wanted, tmp_path, workers=1, checkpoints=tmp_path / "states"))
    assert all(entry.record is None and "states" in entry.error for entry in finished), finished
    assert [path.name for path in (tmp_path / "states").iterdir()] == [".lock"]


def test_missing_data_is_an_error_of_its_runs(tmp_path):
    wanted = [Experiment(data="cifar10", model="cnn"), Experiment.of(SMALL)]
    first, second = sweep.run(wanted, tmp_path / "runs", root=tmp_path, download=False, workers=1)
    assert str(tmp_path) in first.error and not second.error


def test_a_cluster_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep.drive, "CONNECT", 0.5)
    with pytest.raises(RuntimeError, match=r"cluster = 'tcp://127\.0\.0\.1:9' cannot be reached"):
        list(sweep.run([Experiment.of(SMALL)], tmp_path, cluster="tcp://127.0.0.1:9"))


@pytest.fixture
def scheduler(tmp_path):
    """A Dask scheduler in a process of its own, without workers, and its address."""
    file = tmp_path / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    process = Running(f"from distributed.cli.dask_scheduler import main\nmain({words})")
    try:
        wait_for(lambda: file.exists() and file.read_text().rstrip().endswith("}"), process)  # whole, and not begun
        yield process, json.loads(file.read_text())["address"]
    finally:  # also where it did not start: this process would wait for it at its end
        process.kill()
        process.wait()


def test_a_cluster_that_is_lost_is_named(tmp_path, monkeypatch, scheduler):
    process, address = scheduler

    def killed(running):
        process.kill()
        return as_completed(running)

    monkeypatch.setattr(sweep.drive, "as_completed", killed)
    monkeypatch.setattr(sweep.drive, "CONNECT", 0.5)
    with pytest.raises(RuntimeError, match=f"cluster = '{address}' has lost its scheduler. What is finished is kept"):
        list(sweep.run([Experiment.of(SMALL)], tmp_path, cluster=address))


def test_workers_of_several_threads_are_refused(tmp_path, scheduler):
    """torch's generator is that of a process: runs side by side in one would draw each other's numbers."""
    _, address = scheduler
    words = [address, "--nthreads", "2", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
    worker = Running(f"from distributed.cli.dask_worker import main\nmain({words})")
    try:
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)
        with pytest.raises(RuntimeError, match=r"a worker of 2 threads, .*`dask worker --nthreads 1 --nworkers N`"):
            list(sweep.run([Experiment.of(SMALL)], tmp_path, cluster=address))
    finally:
        worker.kill()
        worker.wait()


SHOWING = """
import sys
from tqdm import tqdm
from lossnav import sweep
from lossnav.lab.sweep.results import Finished
def show(experiment, how):
    return Finished(experiment, None, str(sum(tqdm([1], disable=False, file=sys.stdout))))
if __name__ == "__main__":
    sweep.drive.work = show
    print([entry.error for entry in sweep.run(sweep.grid({}, [0, 1]), sys.argv[1], workers=2)])
"""


def test_workers_with_progress_bars_leave_no_semaphores(tmp_path):
    (tmp_path / "script.py").write_text(SHOWING)
    done = subprocess.run([sys.executable, tmp_path / "script.py", tmp_path / "runs"], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.returncode) == ("['1', '1']", 0), done.stderr
    assert not done.stderr
