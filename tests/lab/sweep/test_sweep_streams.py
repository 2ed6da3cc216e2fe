"""Streams of tasks in sweeps: records, seeds together, kills, and a cluster, as of any other run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from processes import STREAM, start, wait_for

from lossnav import experiment, records, sweep
from lossnav.lab import archive
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep import groups

SMALL = {
    "data": "digits", "stream": "permuted", "stream_options": {"examples": 160}, "tasks": 3, "batch_size": 16,
    "model_options": {"hidden": [8]}, "lr": 0.01,
}  # fmt: skip


def scores(record):
    return [entry["scores"] for entry in record.results]


@pytest.mark.slow
def test_a_sweep_of_streams_is_its_runs_one_by_one_and_is_not_repeated(tmp_path):
    wanted = sweep.grid({"optimizer": ["sgd", "uncertain"]}, [0, (3, 4)], SMALL)
    wanted += sweep.grid({}, [1], {"data": "bits", "stream": "bits", "loss": "squared_error", "tasks": 2,
                                   "batch_size": 1, "stream_options": {"period": 20}})  # fmt: skip
    finished = {one.experiment.key(): one for one in sweep.run(wanted, tmp_path, workers=1)}
    for one in wanted:
        found = finished[one.key()]
        assert not found.error and scores(found.record) == scores(experiment.run(one))
        assert found.record.seeds == list(one.seeds) and Experiment.of(found.record.config) == one
    assert all(one.before for one in sweep.run(wanted, tmp_path))
    table = sweep.summarise(list(finished.values()))
    assert sorted(group["seeds"] for group in table) == [1, 3, 3]
    group = next(group for group in table if group["config"]["optimizer"] == "sgd")
    means = [sum(row) / 3 for one in wanted[:2] for row in scores(finished[one.key()].record)]
    assert group["accuracy"] == pytest.approx(sum(means) / 3)


def test_seeds_of_a_stream_are_together_also_with_checkpoints(tmp_path):
    wanted = sweep.grid({"optimizer": ["adam", "uncertain"]}, range(4), SMALL)
    jobs = groups.jobs(wanted, "auto", "states", 1)
    assert [len(job) for job in jobs] == [4, 1, 1, 1, 1]  # Uncertain's prior is that of the whole stack
    with pytest.raises(ValueError, match="together = 2, but optimizer = 'uncertain' looks at all members together"):
        sweep.run(wanted, tmp_path, together=2)
    alone = {one.experiment.seed: one.record for one in sweep.run(wanted[:4], tmp_path / "alone", workers=1)}
    states = tmp_path / "states"
    for found in sweep.run(wanted[:4], tmp_path / "runs", workers=1, together=4, checkpoints=states):
        assert found.record.results[0]["settings"]["together"] == 4 and found.record.seeds == [found.experiment.seed]
        assert scores(found.record)[0] == pytest.approx(scores(alone[found.experiment.seed])[0], abs=2 / 160)
    assert len(list(states.glob("*.pt"))) == 1


def test_more_tasks_go_on_from_fewer(tmp_path):
    short = Experiment.of({**SMALL, "optimizer": "continual backprop", "options": {"rate": 0.1}, "seed": [0, 1]})
    states = tmp_path / "states"
    list(sweep.run([short], tmp_path, workers=1, checkpoints=states))
    (state,) = states.glob("*.pt")
    archive.save(state, {**archive.load(state), "seconds": 5000.0})
    long = replace(short, tasks=5)
    (found,) = sweep.run([long], tmp_path, workers=1, checkpoints=states)
    assert scores(found.record) == scores(experiment.run(long)) and found.record.results[0]["seconds"] > 1000
    with pytest.raises(ValueError, match="tasks = 3 and 5 of the same experiment would share one checkpoint"):
        sweep.run([short, long], tmp_path, checkpoints=states)


def test_a_killed_sweep_of_streams_goes_on_bit_for_bit(tmp_path):
    """Killed in the middle of a stream; the seconds tell that the second sweep did not begin anew."""
    states, runs = tmp_path / "states", tmp_path / "runs"
    process = start(runs, "--seed", "0,1", "--checkpoints", str(states), grid=STREAM)
    (state,) = wait_for(lambda: list(states.glob("*.pt")), process)
    process.kill()
    process.wait()
    content = archive.load(state)
    assert 0 < content["scores"].shape[1] < 60 and not list(runs.glob("*.json"))
    archive.save(state, {**content, "seconds": 5000.0})
    done = start(runs, "--seed", "0,1", "--checkpoints", str(states), grid=STREAM).wait()
    assert "1 runs now, 0 before, 0 failed" in done.stdout, done.stderr
    (found,) = [records.load(path) for path in runs.glob("*.json")]
    assert found.results[0]["seconds"] > 1000 and len(found.results) == 2
    assert scores(found) == scores(experiment.run(Experiment.of(found.config)))


@pytest.mark.slow
def test_streams_on_a_dask_cluster(tmp_path, cluster):
    wanted = sweep.grid({"optimizer": ["sgd", "uncertain"]}, [(0, 1)], SMALL)
    for found in sweep.run(wanted, tmp_path, cluster=cluster.scheduler_address, checkpoints=tmp_path / "states"):
        assert not found.error and scores(found.record) == scores(experiment.run(found.experiment))
