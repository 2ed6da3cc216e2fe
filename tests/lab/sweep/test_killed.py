"""Sweeps whose processes are killed, at moments that are drawn: nothing is lost or done twice, and no bit differs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from processes import (
    EPOCHS,
    PATIENCE,
    STREAM,
    Running,
    alive,
    alone,
    linux,
    numbers,
    start,
    start_script,
    wait_for,
    workers_of,
)  # fmt: skip

from lossnav import records
from lossnav.lab import archive

pytestmark = [pytest.mark.slow, linux]
SMALL = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 200, "test_size": 100}


def marked(path) -> str:
    """Say in a state that its run took longer, which only a run that goes on from there can tell; return its name."""
    content = archive.load(path)
    if "history" in content:
        content["history"]["seconds"][0] += 1000.0
    else:
        content["seconds"] += 1000.0
    archive.save(path, content)
    return path.stem


@pytest.mark.parametrize(("kind", "victim"), [("epochs", "driver"), ("epochs", "worker"), ("stream", "driver")])
def test_what_is_killed_goes_on_and_repeats_nothing(tmp_path, kind, victim):
    wanted, runs, states = EPOCHS if kind == "epochs" else STREAM, tmp_path / "runs", tmp_path / "states"
    words = ("--checkpoints", str(states), "--workers", "2" if kind == "epochs" else "1")
    draw, begun = random.Random(victim + kind), set()
    process = start(wanted, runs, *words)
    wait_for(lambda: list(states.glob("*.pt")), process)
    time.sleep(draw.uniform(0.0, 0.2))
    workers = workers_of(process.pid)
    os.kill(workers[0] if victim == "worker" else process.pid, signal.SIGKILL)
    if victim == "driver":
        process.wait()
        wait_for(lambda: not any(map(alive, workers)))  # they do not stay behind
        written = {path: path.stat().st_mtime_ns for path in runs.glob("*.json")}
        begun = {marked(path) for path in states.glob("*.pt")}
        process = start(wanted, runs, *words)
    done = process.wait()
    assert done.returncode == 0 and "0 failed" in done.stdout, done.stderr
    for run in wanted:
        path = runs / f"{run.key()}.json"
        record = records.load(path)
        assert numbers(record) == alone(run)
        if victim == "driver":
            assert path not in written or path.stat().st_mtime_ns == written[path]
            assert (record.results[0]["seconds"] > 100) == (run.begun().key() in begun and path not in written)


def test_a_dask_cluster_survives_a_killed_worker(tmp_path, cluster):
    from distributed import Client

    process = start(EPOCHS, tmp_path, "--cluster", cluster.scheduler_address)
    wait_for(lambda: list(tmp_path.glob("*.json")), process)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    done = process.wait()
    assert done.returncode == 0 and "4 runs now, 0 before, 0 failed" in done.stdout, done.stderr
    for run in EPOCHS:
        assert numbers(records.load(tmp_path / f"{run.key()}.json")) == alone(run)


def test_workers_leave_with_a_driver_that_is_killed_at_once(tmp_path):
    """Before they have had a first job: they would wait for one for minutes, and hold the driver's output open."""
    process = start_script(tmp_path)
    workers = wait_for(lambda: workers_of(process.pid), process)
    process.kill()
    process.communicate(timeout=PATIENCE)  # returns when nobody has the pipes any more
    assert not any(map(alive, workers))


def test_interrupted_by_the_keyboard(tmp_path):
    process = start(EPOCHS, tmp_path, "--workers", "2")
    wait_for(lambda: list(tmp_path.glob("*.json")), process)
    workers = workers_of(process.pid)
    for pid in (process.pid, *workers):  # Ctrl-C reaches all processes of a terminal
        os.kill(pid, signal.SIGINT)
    done = process.wait()
    assert done.returncode == 130 and "lossnav: interrupted\n" in done.stderr and "KeyboardInterrupt" not in done.stderr
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


def test_a_sweep_ends_although_a_worker_is_killed_after_the_last_run(tmp_path):
    """Killed while it waits for work, a worker takes the queue's lock with it: the other one would never hear."""
    sign = tmp_path / "sign"
    driver = Running(IDLE % SMALL, tmp_path / "runs", sign)
    try:
        assert wait_for(lambda: sign.exists() and sign.read_text(), driver) == str([True] * 3)
        workers = wait_for(lambda: sorted(workers_of(driver.pid)), driver)
        time.sleep(0.5)  # now both wait
        os.kill(workers[0], signal.SIGKILL)
        sign.unlink()
        done = driver.wait()
        assert (done.stdout, done.returncode) == ("the end\n", 0), done.stderr
    finally:
        driver.kill()
    wait_for(lambda: not any(map(alive, workers)))


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
