"""What a worker does: one experiment."""

from __future__ import annotations

import functools
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lossnav.lab import experiment as experiments
from lossnav.lab.experiment import Experiment
from lossnav.lab.experiment.building import load_data
from lossnav.lab.sweep.results import Finished


@dataclass(frozen=True)
class How:
    """What every worker is told beside its job."""

    root: str | None
    download: bool
    threads: int
    checkpoints: Path | None


def work(experiment: Experiment, how: How) -> Finished:
    """Run an experiment in a worker; an error comes back as text, since not every exception can travel."""
    from lossnav.lab.training.devices import on_threads

    try:
        with on_threads(how.threads):  # of the calling process itself, if it is the only worker
            dataset = None if experiment.data == "bits" else _dataset(experiment.data, how.root, how.download)
            state = None if how.checkpoints is None else how.checkpoints / f"{experiment.begun().key()}.pt"
            record = experiments.run(experiment, dataset=dataset, checkpoint=state, resume=state is not None)
        return Finished(experiment, record)
    except Exception as error:
        return Finished(experiment, None, f"{type(error).__name__}: {error}")


def begin(driver: Connection) -> None:
    """Prepare a worker process of this machine: it ends with its driver, for nobody would take its results.

    It ends at once, so that it could not give back a lock between processes: its progress bars, which it shows to
    nobody, get a lock of its own.

    Args:
        driver: a pipe in which nothing ever comes; that its other end is closed says that the driver is gone.
    """

    def watch() -> None:
        with suppress(EOFError, OSError):
            driver.recv()
        os._exit(1)

    tqdm.set_lock(threading.RLock())
    threading.Thread(target=watch, daemon=True).start()


@functools.lru_cache(maxsize=1)
def _dataset(name: str, root: str | None, download: bool) -> Any:
    """Load a data set once a worker."""
    # one root serves all data of a sweep, of which the digits have no files
    return load_data(name, None if name == "digits" else root, download)
