"""The process that drives a sweep: it hands out jobs, keeps each result as it comes, and survives its workers."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from lossnav import _extras
from lossnav._checks import counts, flag, instance, instances, path, paths
from lossnav._writing import claim
from lossnav.lab import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep.results import Finished, recorded
from lossnav.lab.sweep.worker import How, begin, work

CONNECT = 10.0  # seconds in which a scheduler must answer


def run(
    wanted: Sequence[Experiment],
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    threads: int = 1,
    cluster: str | None = None,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    attempts: int = 3,
    checkpoints: str | os.PathLike[str] | None = None,
) -> Iterator[Finished]:
    """Run experiments and yield each as it finishes; what ``folder`` has a record of is not run again.

    A run is kept as ``folder/<key>.json`` the moment it ends, whole or not at all, so a sweep that was interrupted, in
    whatever way, is continued by calling this again. Runs of a worker that died are run again, and one that raises does
    not stop the others. All runs on data of one name are to have seen the same data.

    Args:
        wanted: the experiments; equal ones are run once.
        folder: of the records.
        workers: processes on this machine; by default one a core, or one alone if there is a GPU. One alone is the
            calling process itself.
        threads: cores a process uses.
        cluster: address of a Dask scheduler (``tcp://host:port``) whose workers run the experiments instead, of one
            thread each (``dask worker --nthreads 1 --nworkers N``); they need this package, and find data by their own
            ``root`` and environment.
        root, download: where the data are, as in ``data.load``.
        attempts: give up when workers have died so many times in a row without a run being finished.
        checkpoints: folder that keeps the state of each run at the end of each epoch (on a cluster, one that all
            workers see). A run that was cut off goes on from there, and so does an experiment that differs from one
            that was run by nothing but more epochs.

    Raises:
        ValueError: with ``checkpoints``, two experiments differ by nothing but their epochs.
        RuntimeError: workers keep dying, the cluster cannot be reached, is lost or has workers of several threads,
            another sweep is writing to a folder, a record cannot be written, or the folder has records that were made
            on other data of the same name.
    """
    instances("wanted", wanted, Experiment, "an Experiment", "experiments")
    path("folder", folder)
    paths(root=root, checkpoints=checkpoints)
    if cluster is not None:
        instance("cluster", cluster, str, "the address of a Dask scheduler")
    flag("download", download)
    counts(threads=threads, attempts=attempts)
    if workers is not None:
        counts(workers=workers)
    if checkpoints is not None:
        _check_beginnings(wanted)
    how = How(
        None if root is None else os.fspath(root), download, threads,
        None if checkpoints is None else Path(checkpoints).resolve(),
    )  # fmt: skip
    return _run(wanted, Path(folder), workers, cluster, attempts, how)


def _check_beginnings(wanted: Sequence[Experiment]) -> None:
    lengths: dict[str, int] = {}
    for experiment in wanted:
        unit, length = "epochs" if experiment.tasks is None else "tasks", experiment.length
        earlier = lengths.setdefault(experiment.begun().key(), length)
        if earlier != length:
            raise ValueError(
                f"{unit} = {earlier} and {length} of the same experiment would share one checkpoint: run the shorter "
                "ones first, and then the longer ones, which go on from there"
            )


def _run(
    wanted: Sequence[Experiment], folder: Path, workers: int | None, cluster: str | None, attempts: int, how: How
) -> Iterator[Finished]:
    with ExitStack() as stack:
        for place in dict.fromkeys(filter(None, (folder.resolve(), how.checkpoints))):
            stack.enter_context(_alone(place))
        pending: dict[str, Experiment] = {}
        seen: dict[str, tuple[str, Any]] = {}  # label and digests of the data of each name, of its first record
        for experiment in {e.key(): e for e in wanted}.values():
            record = _recorded(folder, experiment)
            if record is None:
                pending[experiment.key()] = experiment
            else:
                _check_data(seen, experiment, record, folder)
                yield Finished(experiment, record, before=True)
        if not pending:
            return
        client = stack.enter_context(_client(cluster))
        if client is None and workers is None:  # else torch is left to the workers
            from lossnav.lab.training.devices import runs_at_a_time

            workers = runs_at_a_time()
        # settled here, so that all workers multiply alike, and a record is of the experiment that it was asked for
        jobs = [experiment.settled() for experiment in pending.values()]
        for finished in _survive(jobs, workers if client is None else None, client, attempts, how):
            key = finished.experiment.key()
            if finished.record is not None:
                _check_data(seen, finished.experiment, finished.record, folder)
            error = finished.error or _keep(folder / f"{key}.json", finished.record)
            yield Finished(pending[key], None if error else finished.record, error)


def _recorded(folder: Path, experiment: Experiment) -> records.Record | None:
    """Return the record of an experiment; one that cannot be read, or tells of another experiment, does not count."""
    try:
        record = records.load(folder / f"{experiment.key()}.json")
        return record if recorded(record).key() == experiment.key() else None
    except (OSError, ValueError):
        return None


def _check_data(seen: dict[str, tuple[str, Any]], experiment: Experiment, record: records.Record, folder: Path) -> None:
    """Raise unless a record was made on the same data as those of this sweep that came before it."""
    label, digests = record.data["label"], record.data.get("sha256")
    if (label, digests) != (first := seen.setdefault(experiment.data, (label, digests))):
        raise RuntimeError(
            f"data = {experiment.data!r} is {label} of other files in the run {experiment.command()!r} than the "
            f"{first[0]} of runs before it: name another folder than {folder}"
        )


def _keep(path: Path, record: Any) -> str:
    """Write a record; return why that is impossible, or "". What no record can be written for stops the sweep."""
    try:
        records.save(path, record)
        return ""
    except ValueError as error:
        return f"the record cannot be written: {error}"
    except OSError as error:
        raise RuntimeError(
            f"records cannot be written to {path.parent}: {error}. What was written is kept: the same sweep goes on "
            "from there"
        ) from None


def _survive(
    jobs: Sequence[Experiment], workers: int | None, client: Any, attempts: int, how: How
) -> Iterator[Finished]:
    """Run the jobs, and once more those that the workers that died have left."""
    dead: tuple[type[Exception], ...] = (BrokenExecutor,)
    if client is not None:
        from distributed import KilledWorker

        dead = (BrokenExecutor, KilledWorker)
    remaining = {job.key(): job for job in jobs}
    deaths = 0
    while remaining:
        try:
            for finished in _results(list(remaining.values()), workers, client, how):
                del remaining[finished.experiment.key()]
                deaths = 0
                yield finished
        except dead as error:
            deaths += 1
            if deaths == attempts:
                raise RuntimeError(
                    f"workers died {attempts} times in a row ({type(error).__name__}), and "
                    f"{len(remaining)} runs are left: perhaps the memory does not suffice for so many "
                    "at a time. What is finished is kept"
                ) from None


def _results(jobs: Sequence[Experiment], workers: int | None, client: Any, how: How) -> Iterator[Finished]:
    """Yield what became of each job, as it ends: of the calling process, of processes of this machine, or of Dask's."""
    if workers == 1:
        yield from (work(job, how) for job in jobs)
        return
    with _cluster(client) if workers is None else _processes(min(workers, len(jobs))) as executor:
        with _deaf():  # here workers start
            running = [executor.submit(work, job, how) for job in jobs]
        for future in as_completed(running):
            yield future.result()


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start worker processes, and end them by force, however the sweep ended.

    They leave when nobody holds the other end of their pipe any more: the sweep has let go of it, or has been killed.
    """
    fresh = get_context("spawn")  # a fork of a process in which torch has threads may hang
    reader, writer = fresh.Pipe(duplex=False)
    executor = ProcessPoolExecutor(count, fresh, initializer=begin, initargs=(reader,))
    try:
        yield executor
    finally:
        writer.close()
        executor.shutdown(cancel_futures=True)
        reader.close()


@contextmanager
def _cluster(client: Any) -> Iterator[Executor]:
    """Hand jobs to the workers of a Dask scheduler; what runs there when the sweep ends is cancelled."""
    address, threads = client.scheduler.address, max(client.nthreads().values(), default=1)
    if threads > 1:
        raise RuntimeError(
            f"cluster = {address!r} has a worker of {threads} threads, but each must have one, since torch's random "
            "numbers are those of a process: start them by `dask worker --nthreads 1 --nworkers N`"
        )
    executor = client.get_executor(pure=False)
    try:
        yield executor
    except CancelledError:
        raise RuntimeError(
            f"cluster = {address!r} has lost its scheduler. What is finished is kept: the same sweep goes on from there"
        ) from None
    finally:
        executor.shutdown(wait=False)


@contextmanager
def _deaf() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. Processes and threads that are started meanwhile never hear it.

    A terminal sends it to the workers, too. They would answer with a traceback each; the driver ends them anyway.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _client(cluster: str | None) -> Iterator[Any]:
    """Connect to the Dask cluster for the time of a sweep; yield None without one."""
    if cluster is None:
        yield None
        return
    _extras.need("distributed")
    from distributed import Client

    try:
        client = Client(cluster, timeout=CONNECT, set_as_default=True)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"cluster = {cluster!r} cannot be reached: {error or type(error).__name__}") from None
    with client:
        yield client


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock, which the system releases even if this process is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("wb") as lock:
        if not claim(lock, -math.inf):  # where files have no locks, two sweeps would only do the same work twice
            raise RuntimeError(f"another sweep is writing to {folder}; wait for it, or name another folder")
        yield
