"""Real sweeps in real processes, to be killed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fresh import COMMAND, PATIENCE, Running

from lossnav import experiment, records, sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.training.devices import on_threads

SCRIPT = Path(sys.executable).with_name("lossnav")
linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="worker processes are found through /proc")
EPOCHS = sweep.grid({}, range(4), {
    "data": "digits", "model_options": {"hidden": [8]}, "train_size": 300, "batch_size": 3, "epochs": 4, "lr": 1e-3,
})  # fmt: skip
STREAM = sweep.grid({}, [(0, 1)], {
    "data": "digits", "stream": "permuted", "stream_options": {"examples": 480}, "tasks": 25, "batch_size": 16,
    "optimizer": "continual backprop", "lr": 0.1, "options": {"rate": 0.01}, "model_options": {"hidden": [16, 16]},
})  # fmt: skip
SAVE_OFTEN = "from lossnav.lab.experiment import running\nrunning._SAVE_EVERY = 0.0\n"  # seconds, of streams


def numbers(record: records.Record) -> list[dict]:
    """Return what a record holds, without the time that it took."""
    return [{key: value for key, value in result.items() if key != "seconds"} for result in record.results]


_alone: dict[str, list[dict]] = {}


def alone(one: Experiment) -> list[dict]:
    """Return the numbers of a run in this process, on one core as workers have it; each is made once."""
    if one.key() not in _alone:
        with on_threads(1):
            _alone[one.key()] = numbers(experiment.run(one))
    return _alone[one.key()]


def words_of(wanted: list[Experiment], folder: Path, *words: str) -> list[str]:
    """Return the command of a sweep over seeds."""
    seeds = [str(run.seed) for run in wanted if isinstance(run.seed, int)]
    many = ["--seeds", ",".join(seeds)] if seeds else []
    return ["sweep", *shlex.split(wanted[0].command())[2:], *many, "--output", str(folder), "--quiet", *words]


def start(wanted: list[Experiment], folder: Path, *words: str) -> Running:
    """Start the command without the seconds that it and its workers take to import torch."""
    code = f"import forked\n{SAVE_OFTEN}{COMMAND}"
    return Running(code, *words_of(wanted, folder, *words), environment={"OMP_NUM_THREADS": "1"})


def start_script(folder: Path) -> subprocess.Popen:
    """Start the installed command, for a test of the process itself: what it says goes through pipes."""
    return subprocess.Popen(
        [str(SCRIPT), *words_of(EPOCHS, folder, "--workers", "2")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would ignore it
    )  # fmt: skip


def wait_for(what, process: subprocess.Popen | Running | None = None):
    deadline = time.monotonic() + PATIENCE
    while not (result := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        assert process is None or process.poll() is None, f"it ended: {process.wait()}"
        time.sleep(0.02)
    return result


def workers_of(driver: int) -> list[int]:
    """Return the worker processes of a sweep; the resource tracker is none."""
    workers, own = [], _command(driver)
    for child in Path(f"/proc/{driver}/task/{driver}/children").read_text().split():
        line = _command(int(child))
        if "multiprocessing.spawn" in line or ("forkserver" in line and line == own):
            workers.append(int(child))
    return workers


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
