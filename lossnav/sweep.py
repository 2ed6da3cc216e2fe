"""Grids of experiments times seeds: in local processes or on a Dask cluster, each result kept as it comes."""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import experiment as experiments
from . import records
from ._checks import finite, shown
from .experiment import Experiment

_CONNECT = 10.0  # seconds in which a scheduler must answer
_NESTED = {"option": "options", "model_option": "model_options"}


@dataclass(frozen=True)
class Finished:
    """What became of one experiment of a sweep.

    Attributes:
        experiment: which one.
        record: its record, or None if it could not be run.
        error: why it could not be run, or "".
        before: whether an earlier sweep had run it.
    """

    experiment: Experiment
    record: records.Record | None
    error: str = ""
    before: bool = False


def grid(
    axes: Mapping[str, Sequence[Any]], seeds: Sequence[int] = (0,), base: Mapping[str, Any] | None = None
) -> list[Experiment]:
    """Return the experiments of all combinations of values and seeds.

    Args:
        axes: setting → values; ``option.NAME`` and ``model_option.NAME`` are arguments of the optimizer and the model.
        seeds: each combination is run with all of them.
        base: settings that all share.

    Raises:
        ValueError: a setting is unknown, or a value is not allowed.

    Example:
        >>> runs = grid({"optimizer": ["sgd", "adam"], "lr": [0.01, 0.1]}, seeds=range(3))
        >>> len(runs), runs[0].lr, runs[-1].optimizer
        (12, 0.01, 'adam')
    """
    for name, values in axes.items():
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"axes[{name!r}] = {shown(values)}, but it must be a list of values")
    if not seeds:
        raise ValueError("seeds is empty, but a sweep needs at least one seed")
    found = []
    for values in itertools.product(*axes.values()):
        for seed in seeds:
            found.append(_combined(base or {}, dict(zip(axes, values, strict=True)), seed))
    return found


def _combined(base: Mapping[str, Any], point: Mapping[str, Any], seed: int) -> Experiment:
    settings = {**base, "seed": seed}
    for name, value in point.items():
        outer, dot, inner = name.partition(".")
        if dot and outer in _NESTED:
            settings[_NESTED[outer]] = {**settings.get(_NESTED[outer], {}), inner: value}
        else:
            settings[name] = value
    return Experiment.of(settings)


def read_grids(path: str | os.PathLike[str]) -> list[Experiment]:
    """Return the experiments of a TOML file: shared settings, ``seeds``, and one or more tables ``[[grid]]`` of lists.

    Raises:
        ValueError: the file is not TOML, or a setting is not allowed.
    """
    with Path(path).open("rb") as stream:
        try:
            content = tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
    grids, seeds = content.pop("grid", [{}]), content.pop("seeds", [0])
    if not isinstance(grids, list) or not all(isinstance(entry, dict) for entry in grids):
        raise ValueError(f"{path}: grids are tables, written as [[grid]]")
    if not isinstance(seeds, list):
        raise ValueError(f"{path}: seeds = {shown(seeds)}, but it must be a list")
    return [found for axes in grids for found in grid(axes, seeds, content)]


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
    not stop the others.

    Args:
        wanted: the experiments; equal ones are run once.
        folder: of the records.
        workers: processes on this machine; by default one a core, or one alone if there is a GPU. One alone is the
            calling process itself.
        threads: cores a process uses. Results do not depend on the number of workers.
        cluster: address of a Dask scheduler (``tcp://host:port``) whose workers run the experiments instead; they need
            this package, and find data by their own ``root`` and environment.
        root, download: where the data are, as in ``data.load``.
        attempts: give up when workers have died so many times in a row without a run being finished.
        checkpoints: folder that keeps the state of each run at the end of each epoch (on a cluster, one that all
            workers see). A run that was cut off goes on from there, and so does an experiment that differs from one
            that was run by nothing but more epochs.

    Raises:
        ValueError: with ``checkpoints``, two experiments differ by nothing but their epochs.
        RuntimeError: workers keep dying, the cluster cannot be reached, or another sweep is writing to the folder.
    """
    finite("threads", threads, low=1)
    finite("attempts", attempts, low=1)
    if workers is not None:
        finite("workers", workers, low=1)
    if checkpoints is not None:
        _check_beginnings(wanted)
    how = _How(
        None if root is None else os.fspath(root), download, threads,
        None if checkpoints is None else Path(checkpoints).resolve(),
    )  # fmt: skip
    return _run(wanted, Path(folder), workers, cluster, attempts, how)


@dataclass(frozen=True)
class _How:
    """What every worker is told beside its experiment."""

    root: str | None
    download: bool
    threads: int
    checkpoints: Path | None
    driver: int = field(default_factory=os.getpid)


def _run(
    wanted: Sequence[Experiment], folder: Path, workers: int | None, cluster: str | None, attempts: int, how: _How
) -> Iterator[Finished]:
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        pending: dict[str, Experiment] = {}
        for experiment in {e.key(): e for e in wanted}.values():
            record = _recorded(folder, experiment)
            if record is None:
                pending[experiment.key()] = experiment
            else:
                yield Finished(experiment, record, before=True)
        if not pending:
            return
        with _client(cluster):
            for key, record, error in _survive(pending, workers, cluster, attempts, how):
                if record is not None:
                    records.save(folder / f"{key}.json", record)
                yield Finished(pending[key], record, error)


def _recorded(folder: Path, experiment: Experiment) -> records.Record | None:
    """Return the record of an experiment; one that cannot be read, or tells of another experiment, does not count."""
    try:
        record = records.load(folder / f"{experiment.key()}.json")
        return record if Experiment.of(record.config) == experiment else None
    except (OSError, ValueError):
        return None


def _survive(
    pending: Mapping[str, Experiment], workers: int | None, cluster: str | None, attempts: int, how: _How
) -> Iterator[tuple[str, records.Record | None, str]]:
    """Run what is pending, and once more what the workers that died have left."""
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left = dict(pending)
    deaths = 0
    while left:
        with joblib.parallel_config(backend="loky" if cluster is None else "dask"):
            parallel = joblib.Parallel(
                n_jobs=_workers(workers) if cluster is None else -1, batch_size=1, pre_dispatch="all",
                return_as="generator_unordered",
            )  # fmt: skip
        jobs = (joblib.delayed(_job)(e, how) for e in list(left.values()))
        try:
            for key, record, error in parallel(jobs):
                del left[key]
                deaths = 0
                yield key, record, error
        except Exception as error:
            if not (isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"):
                raise
            deaths += 1
            if deaths == attempts:
                raise RuntimeError(
                    f"workers died {attempts} times in a row ({type(error).__name__}), and {len(left)} runs are left: "
                    "perhaps the memory does not suffice for so many at a time. What is finished is kept"
                ) from None


def _workers(workers: int | None) -> int:
    from .training import cores, pick_device

    return workers or (cores() if pick_device().type == "cpu" else 1)


def _job(experiment: Experiment, how: _How) -> tuple[str, records.Record | None, str]:
    """Run an experiment in a worker; an error comes back as text, since not every exception can travel."""
    import torch

    if os.getppid() == how.driver:
        _leave_with(how.driver)
    before = torch.get_num_threads()  # a lone worker is the calling process itself
    torch.set_num_threads(how.threads)
    checkpoint = how.checkpoints and how.checkpoints / f"{_beginning(experiment)}.pt"
    try:
        dataset = _dataset(experiment.data, how.root, how.download)
        record = experiments.run(experiment, dataset=dataset, checkpoint=checkpoint, resume=checkpoint is not None)
        return experiment.key(), record, ""
    except Exception as error:
        return experiment.key(), None, f"{type(error).__name__}: {error}"
    finally:
        torch.set_num_threads(before)


def _beginning(experiment: Experiment) -> str:
    """Return what names the state of a run: the same for all experiments that begin with the same epoch."""
    return replace(experiment, epochs=1).key()


def _check_beginnings(wanted: Sequence[Experiment]) -> None:
    lengths: dict[str, int] = {}
    for experiment in wanted:
        other = lengths.setdefault(_beginning(experiment), experiment.epochs)
        if other != experiment.epochs:
            raise ValueError(
                f"epochs = {other} and {experiment.epochs} of the same experiment would share one checkpoint: run the "
                "shorter ones first, and then the longer ones, which go on from there"
            )


@functools.lru_cache(maxsize=1)
def _leave_with(driver: int) -> None:
    """End this worker soon after the process that started it has ended: nobody would take its results."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@functools.lru_cache(maxsize=1)
def _dataset(name: str, root: str | None, download: bool) -> Any:
    """Load a data set once a worker."""
    from . import data

    return data.load(name, root, download)


@contextmanager
def _client(cluster: str | None) -> Iterator[None]:
    """Connect to the Dask cluster for the time of a sweep."""
    if cluster is None:
        yield
        return
    from distributed import Client

    try:
        client = Client(cluster, timeout=_CONNECT, set_as_default=True)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"cluster = {cluster!r} cannot be reached: {error or type(error).__name__}") from None
    with client:
        yield


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system releases even if this process is killed."""
    try:
        import fcntl
    except ImportError:  # Windows: two sweeps in one folder would only do the same work twice
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"another sweep is writing to {folder}; wait for it, or name another folder") from None
        yield


def summarise(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Return one entry for each combination: settings, number of seeds, mean and spread of the last test accuracy.

    ``accuracy`` and ``spread`` (sample standard deviation over seeds; None for a single one) count the runs that did
    not diverge; ``diverged`` counts the others.
    """
    groups: dict[str, list[Finished]] = {}
    for entry in finished:
        if entry.record is not None:
            config = {key: value for key, value in entry.record.config.items() if key != "seed"}
            groups.setdefault(repr(sorted(config.items())), []).append(entry)
    return [_group(entries) for entries in groups.values()]


def _group(entries: Sequence[Finished]) -> dict[str, Any]:
    results = [entry.record.results[0] for entry in entries if entry.record is not None]
    last = [result["test_accuracy"][-1] for result in results if "diverged" not in result]
    mean = sum(last) / len(last) if last else None
    spread = None
    if mean is not None and len(last) > 1:
        spread = math.sqrt(sum((x - mean) ** 2 for x in last) / (len(last) - 1))
    config = {key: value for key, value in entries[0].experiment.config().items() if key != "seed"}
    return {
        "config": config, "seeds": len(results), "diverged": len(results) - len(last), "accuracy": mean,
        "spread": spread,
    }  # fmt: skip
