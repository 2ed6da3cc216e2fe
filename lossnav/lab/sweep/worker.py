"""What a worker does: one experiment, or several seeds of one together."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from lossnav.lab import experiment as experiments
from lossnav.lab import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.experiment.building import load_data
from lossnav.lab.experiment.running import joined, split

Job = tuple[Experiment, ...]  # one experiment, or several that differ by their seeds and are trained together


@dataclass(frozen=True)
class How:
    """What every worker is told beside its job."""

    root: str | None
    download: bool
    threads: int
    checkpoints: Path | None


class Outcome(NamedTuple):
    """What a worker has made of an experiment: a record, or why there is none."""

    key: str
    record: records.Record | None
    error: str = ""


def work(job: Job, how: How) -> list[Outcome]:
    """Run a job in a worker; an error comes back as text, since not every exception can travel."""
    import torch

    before = torch.get_num_threads()  # a lone worker is the calling process itself
    torch.set_num_threads(how.threads)
    try:
        return [Outcome(key, record) for key, record in zip(_keys(job), _run(job, how), strict=True)]
    except Exception as error:
        return [Outcome(key, None, f"{type(error).__name__}: {error}") for key in _keys(job)]
    finally:
        torch.set_num_threads(before)


def _keys(job: Job) -> list[str]:
    return [experiment.key() for experiment in job]


def _run(job: Job, how: How) -> Sequence[records.Record]:
    dataset = None if job[0].data == "bits" else _dataset(job[0].data, how.root, how.download)
    if how.checkpoints is None:
        return (
            [experiments.run(job[0], dataset=dataset)]
            if len(job) == 1
            else experiments.run_together(job, dataset=dataset)
        )
    one = joined(job)  # several seeds together have one checkpoint only where they are one run
    record = experiments.run(one, dataset=dataset, checkpoint=_checkpoint(how.checkpoints, one), resume=True)
    return split(record, job)


def _checkpoint(folder: Path, experiment: Experiment) -> Path:
    """Return where the state of a run is: the same for all experiments that begin alike."""
    return folder / f"{experiment.begun().key()}.pt"


def begin(driver: Connection) -> None:
    """Prepare a worker process of this machine: it ends with its driver, for nobody would take its results.

    Args:
        driver: a pipe in which nothing ever comes; that its other end is closed says that the driver is gone.
    """

    def watch() -> None:
        with suppress(EOFError, OSError):
            driver.recv()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@functools.lru_cache(maxsize=1)
def _dataset(name: str, root: str | None, download: bool) -> Any:
    """Load a data set once a worker."""
    # one root serves all data of a sweep, of which the digits have no files
    return load_data(name, None if name == "digits" else root, download)
