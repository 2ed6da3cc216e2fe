"""Real sweeps in real processes, to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fresh import COMMAND, PATIENCE, Running

SCRIPT = Path(sys.executable).with_name("lossnav")
linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="worker processes are found through /proc")
GRID = [
    "--data", "digits", "--model-option", "hidden=[8]", "--train-size", "300", "--batch-size", "3", "--epochs", "4",
    "--seeds", "0-3", "--grid", "lr=1e-3", "--workers", "2", "--quiet",
]  # fmt: skip


STREAM = [
    "--data", "digits", "--stream", "permuted", "--stream-option", "examples=480", "--tasks", "60", "--batch-size",
    "16", "--optimizer", "continual backprop", "--lr", "0.1", "--option", "rate=0.01", "--model-option",
    "hidden=[16,16]", "--workers", "1", "--quiet",
]  # fmt: skip


SAVE_OFTEN = "from lossnav.lab.experiment import running\nrunning._SAVE_EVERY = 0.0\n"  # seconds, of streams


def start(folder: Path, *words: str, grid: list[str] = GRID) -> Running:
    """Start the command without the seconds that it and its workers take to import torch."""
    code = f"import forked\n{SAVE_OFTEN}{COMMAND}"
    return Running(code, "sweep", *grid, "--output", folder, *words, environment={"OMP_NUM_THREADS": "1"})


def start_script(folder: Path, *words: str, grid: list[str] = GRID) -> subprocess.Popen:
    """Start the installed command, for a test of the process itself: what it says goes through pipes."""
    return subprocess.Popen(
        [str(SCRIPT), "sweep", *grid, "--output", str(folder), *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would ignore it
    )  # fmt: skip


def wait_for(what, process: subprocess.Popen | Running | None = None, seconds: float = PATIENCE):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        assert process is None or process.poll() is None, f"it ended: {process.wait()}"
        time.sleep(0.02)
    return found


def workers_of(driver: int) -> list[int]:
    """Return the worker processes of a sweep; the resource tracker is none."""
    found, own = [], _command(driver)
    for child in Path(f"/proc/{driver}/task/{driver}/children").read_text().split():
        line = _command(int(child))
        if "multiprocessing.spawn" in line or ("forkserver" in line and line == own):
            found.append(int(child))
    return found


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
