"""What may be wrong around a sweep: damaged files, full disks, missing data, killed processes. Each is named."""

from __future__ import annotations

import functools
import os
import signal
import time

import pytest
import torch
from processes import PATIENCE, Running, alive, linux, start, start_script, wait_for, workers_of
from resources import full_disk

from lossnav import experiment, records, sweep
from lossnav.cli import main
from lossnav.lab.experiment import Experiment

SMALL = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 200, "test_size": 100}


def runs(wanted, folder, **options):
    return {found.experiment.key(): found for found in sweep.run(wanted, folder, workers=1, **options)}


def test_a_shorter_sweep_after_a_longer_one_is_told_what_to_do(tmp_path):
    long, short = (Experiment.of({**SMALL, "epochs": epochs}) for epochs in (3, 2))
    runs([long], tmp_path / "long", checkpoints=tmp_path / "states")
    other = Experiment.of({**SMALL, "seed": 1})
    found = runs([short, other], tmp_path / "short", checkpoints=tmp_path / "states")
    error = found[short.key()].error
    assert "3 epochs there, 2 here" in error and f"{short.begun().key()}.pt" in error and "delete" in error
    assert not found[other.key()].error


def test_a_disk_that_is_full_for_records_ends_the_sweep_and_keeps_what_was_written(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1, 2], base=SMALL)
    runs(wanted[:1], tmp_path)
    with full_disk(300), pytest.raises(RuntimeError, match=f"records cannot be written to {tmp_path}: .*too large"):
        runs(wanted, tmp_path)
    assert [path.stem for path in tmp_path.iterdir() if path.name != ".lock"] == [wanted[0].key()]
    found = runs(wanted, tmp_path)
    assert [found[one.key()].before for one in wanted] == [True, False, False]


def test_a_disk_that_is_full_for_checkpoints_is_an_error_of_each_run(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    with full_disk(3000):
        found = runs(wanted, tmp_path, checkpoints=tmp_path / "states")
    assert all(one.record is None and "states" in one.error for one in found.values()), found
    assert [path.name for path in (tmp_path / "states").iterdir()] == [".lock"]
    assert not any(one.error for one in runs(wanted, tmp_path, checkpoints=tmp_path / "states").values())


def test_a_record_that_json_cannot_hold_is_an_error_of_that_run(tmp_path, monkeypatch):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    run = experiment.run

    def poisoned(one, **options):
        record = run(one, **options)
        if one.seed == 0:
            record.results[0]["test_loss"] = [float("nan")]
        return record

    monkeypatch.setattr(experiment, "run", poisoned)
    found = runs(wanted, tmp_path)
    assert "the record cannot be written" in found[wanted[0].key()].error
    assert found[wanted[1].key()].record is not None


@pytest.mark.parametrize("together", [1, 2])
def test_a_test_loss_that_is_not_finite_is_a_divergence(tmp_path, together):
    """One step so long that the weights stay finite, and the logits of the test images do not."""
    base = {**SMALL, "optimizer": "sgd", "lr": 1e26, "clip": None, "batch_size": 200}
    wanted = sweep.grid({}, seeds=[0, 1], base=base)
    for found in runs(wanted, tmp_path, together=together).values():
        assert not found.error and found.record.results[0]["diverged"] == 1
        assert found.record.results[0]["test_loss"] == found.record.results[0]["train_loss"] == []


def test_missing_data_is_an_error_of_its_runs(tmp_path):
    wanted = [Experiment(data="cifar10", model="cnn"), Experiment.of(SMALL)]
    found = runs(wanted, tmp_path / "runs", root=tmp_path, download=False)
    assert str(tmp_path) in found[wanted[0].key()].error and not found[wanted[1].key()].error


def test_a_folder_that_cannot_be_one_is_named(tmp_path, capsys):
    path = tmp_path / "runs"
    path.write_text("a file")
    words = ["sweep", "--data", "digits", "--train-size", "50", "--quiet", "--workers", "1", "--output"]
    assert main([*words, str(path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert main([*words, str(tmp_path / "good"), "--checkpoints", str(path)]) == 1
    assert str(path) in capsys.readouterr().err


def test_two_sweeps_do_not_share_checkpoints(tmp_path):
    wanted = sweep.grid({}, seeds=[0, 1], base=SMALL)
    first = sweep.run(wanted, tmp_path / "a", workers=1, checkpoints=tmp_path / "states")
    next(first)
    with pytest.raises(RuntimeError, match=r"another sweep is writing to .*states"):
        runs(wanted, tmp_path / "b", checkpoints=tmp_path / "states")
    first.close()
    runs(wanted, tmp_path / "b", checkpoints=tmp_path / "states")


# --- real processes, killed

WHOLE = sweep.grid({}, range(4), {
    "data": "digits", "model_options": {"hidden": [8]}, "train_size": 300, "batch_size": 3, "epochs": 4, "lr": 1e-3,
})  # fmt: skip


@functools.cache
def run_alone(index: int) -> dict:
    return experiment.run(WHOLE[index]).results[0]


def assert_whole(folder) -> None:
    for index, one in enumerate(WHOLE):
        found, alone = records.load(folder / f"{one.key()}.json").results[0], run_alone(index)
        for key in ("train_loss", "test_loss", "test_accuracy"):
            assert found[key] == alone[key]


@linux
@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "driver"])
def test_killed_in_the_middle_of_runs_that_keep_checkpoints(tmp_path, victim):
    """The runs go on where they were: what the states say of the time before the kill is in the records."""
    states = tmp_path / "states"
    words = ("--checkpoints", str(states))
    process = start(tmp_path, *words)
    wait_for(lambda: list(states.glob("*.pt")), process)
    workers = workers_of(process.pid)
    os.kill(workers[0] if victim == "worker" else process.pid, signal.SIGKILL)
    begun = {}
    if victim == "driver":
        process.wait()
        wait_for(lambda: not any(map(alive, workers)))
        for path in states.glob("*.pt"):
            content = begun[path.stem] = torch.load(path, weights_only=True)
            content["history"]["seconds"][0] += 1000.0
            torch.save(content, path)
        process = start(tmp_path, *words)
    done = process.wait()
    assert done.returncode == 0 and "0 failed" in done.stdout, done.stderr
    assert_whole(tmp_path)
    for one in WHOLE:
        seconds = records.load(tmp_path / f"{one.key()}.json").results[0]["seconds"]
        assert (seconds > 1000) == (one.begun().key() in begun)
    assert len(begun) >= 1 or victim == "worker"


@linux
@pytest.mark.slow
def test_workers_leave_with_a_driver_that_is_killed_at_once(tmp_path):
    """Before they have had a first job: they would wait for one for minutes, and hold the driver's output open."""
    process = start_script(tmp_path)
    workers = wait_for(lambda: workers_of(process.pid), process)
    process.kill()
    process.communicate(timeout=PATIENCE)  # returns when nobody has the pipes any more
    assert not any(map(alive, workers))


@linux
@pytest.mark.slow
@pytest.mark.parametrize("moment", ["start", "middle"])
def test_interrupted_by_the_keyboard(tmp_path, moment):
    """At the start of the installed command, whose workers are importing what they need; and when they have trained."""
    begin = start_script if moment == "start" else start
    process = begin(tmp_path, "--optimizer", "sgd")
    workers = wait_for(lambda: workers_of(process.pid), process)
    wait_for(lambda: moment == "start" or list(tmp_path.glob("*.json")), process)
    for pid in (process.pid, *workers):  # Ctrl-C reaches all processes of a terminal
        os.kill(pid, signal.SIGINT)
    if moment == "start":
        _, err = process.communicate(timeout=PATIENCE)
        code = process.returncode
    else:
        done = process.wait()
        code, err = done.returncode, done.stderr
    assert code == 130 and "lossnav: interrupted\n" in err
    assert "KeyboardInterrupt" not in err
    wait_for(lambda: not any(map(alive, workers)))
    assert all(records.load(path) for path in tmp_path.glob("*.json"))


IDLE = """
import forked, sys, time
from pathlib import Path
from lossnav import sweep
wanted = sweep.grid({"lr": [1e-3, 3e-3, 1e-2]}, base=%r)
results = sweep.run(wanted, sys.argv[1], workers=2)
Path(sys.argv[2]).write_text(str([next(results).record is not None for _ in wanted]))
while Path(sys.argv[2]).exists():
    time.sleep(0.02)
print(*results, "the end")
"""


@pytest.mark.slow
@linux
@pytest.mark.parametrize("which", [0, 1])
def test_a_sweep_ends_although_a_worker_is_killed_after_the_last_run(tmp_path, which):
    """Killed while it waits for work, a worker takes the queue's lock with it: the other one would never hear."""
    sign = tmp_path / "sign"
    driver = Running(IDLE % SMALL, tmp_path / "runs", sign)
    try:
        assert wait_for(lambda: sign.exists() and sign.read_text(), driver) == str([True] * 3)
        workers = wait_for(lambda: sorted(workers_of(driver.pid)), driver)
        time.sleep(1.0)  # now both wait
        os.kill(workers[which], signal.SIGKILL)
        sign.unlink()
        done = driver.wait()
        assert (done.stdout, done.returncode) == ("the end\n", 0), done.stderr
    finally:
        driver.kill()
    wait_for(lambda: not any(map(alive, workers)))
