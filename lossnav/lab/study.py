"""Studies: what a script in ``studies/`` declares, and the one way in which all of them run."""

from __future__ import annotations

import argparse
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lossnav._checks import function, instance
from lossnav.lab import records, sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.experiment.settings import digest
from lossnav.lab.sweep import Comparison

if TYPE_CHECKING:
    from lossnav.lab.data import Dataset

Place = TypeVar("Place", int, float)


@dataclass(frozen=True)
class Measurement:
    """A run that is no experiment: what a script measures by a function of its own.

    Attributes:
        data: name of the data, as in ``data.load``; "" for none, and ``measure`` gets None in their place.
        seed: of the run, or a tuple of those that it makes together.
        measure: from the data, the seed and ``settings``, as arguments of their names, to what JSON can hold.
        settings: values that JSON can hold.
    """

    data: str
    seed: int | tuple[int, ...]
    measure: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def key(self, about: Mapping[str, Any]) -> str:
        """Return 16 digits that tell this run of a study, of which the record says ``about``, from all others."""
        own = {"data": self.data, "seed": self.seed, "measure": self.measure.__name__, "settings": dict(self.settings)}
        return digest({**own, **about})

    def run(self, command: str, about: Mapping[str, Any], dataset: Dataset | None) -> records.Record:
        """Measure on one core, and return the record."""
        from lossnav.lab.training.devices import on_threads

        start = time.perf_counter()
        with on_threads(1):
            results = self.measure(dataset, self.seed, **self.settings)
        provenance = {"label": "none"} if dataset is None else dataset.provenance.record()
        seeds = list(self.seed) if isinstance(self.seed, tuple) else [self.seed]
        return records.new(
            command=command, config={**about, **self.settings}, seeds=seeds, data=provenance, results=results,
            duration=time.perf_counter() - start, device=records.processor(),
        )  # fmt: skip


def kept(found: Sequence[records.Record]) -> list[Any]:
    """Return the results of each record, in their order."""
    return [record.results for record in found]


@dataclass(frozen=True)
class Study:
    """One recorded study.

    Attributes:
        wanted: from the options to the experiments of a sweep, to a ``sweep.Comparison``, or to measurements.
        results: from what became of them to what the record keeps: of experiments and measurements the list of their
            records, in their order; of a comparison what ``sweep.compare`` returns. By default the results of each.
        options: whole numbers that the command line may change, and their defaults, or False for what it may switch on;
            ``wanted`` takes them by name.
        config: from the same options to what the record says about the study beside the settings that all runs share.
        workers: processes, where the study is about time.
    """

    wanted: Callable[..., list[Experiment] | list[Measurement] | Comparison]
    results: Callable[[Any], Any] = kept
    options: Mapping[str, int] = field(default_factory=dict)
    config: Callable[..., Mapping[str, Any]] = lambda **_: {}
    workers: int | None = None

    def __post_init__(self) -> None:
        for name in ("wanted", "results", "config"):
            function(name, getattr(self, name))
        instance("options", self.options, Mapping, "a mapping from names to whole numbers")

    def run(
        self,
        name: str,
        command: str,
        folder: str | os.PathLike[str],
        given: Mapping[str, int] | None = None,
        **how: Any,
    ) -> records.Record:
        """Run what is missing, and return the record.

        Args:
            name: of the study.
            command: what makes the record again.
            folder: of the single runs, and of their checkpoints.
            given: options that differ from their defaults.
            how: further arguments of ``sweep.run``. Measurements, of which only ``root`` counts, are made one by one.

        Raises:
            RuntimeError: a run could not be made; or the runs differ in data, device or versions.
        """
        options = {**self.options, **(given or {})}
        wanted = self.wanted(**options)
        how = {"workers": self.workers, "checkpoints": Path(folder) / "checkpoints", **how}
        tuning: list[records.Record] = []
        if isinstance(wanted, Comparison):
            outcome: Any = sweep.compare(wanted, folder, **how)
            tuning = [record for rule in outcome.values() for trial in rule.trials for record in trial]
            judged = [record for rule in outcome.values() for record in rule.judged]
        elif measurements := [measurement for measurement in wanted if isinstance(measurement, Measurement)]:
            about = {"study": name, **self.config(**options)}
            outcome = judged = _measured(measurements, command, about, Path(folder), how.get("root"))
        else:
            experiments = [experiment for experiment in wanted if isinstance(experiment, Experiment)]
            table = sweep.every(experiments, folder, **how)
            outcome = judged = [table[experiment.key()] for experiment in experiments]
        return self._merged(name, command, options, outcome, tuning, judged)

    def _merged(
        self, name: str, command: str, options: Mapping[str, int], outcome: Any, tuning: Sequence[records.Record],
        judged: Sequence[records.Record],
    ) -> records.Record:  # fmt: skip
        """Return one record from those of all runs, which must have seen the same data on one kind of device."""
        runs = [*tuning, *judged]
        first = runs[0]
        for attribute in ("data", "device", "versions"):
            if any(getattr(record, attribute) != getattr(first, attribute) for record in runs):
                raise RuntimeError(f"the runs of {name} differ in their {attribute}: use another folder (--runs)")
        shared = {key: value for key, value in first.config.items() if all(r.config.get(key) == value for r in runs)}
        return records.Record(
            command, {"study": name, **shared, **self.config(**options)}, sorted({s for r in judged for s in r.seeds}),
            first.data, self.results(outcome), round(math.fsum(record.duration for record in runs), 1), first.device,
            ", ".join(dict.fromkeys(record.revision for record in runs)), first.versions, name,
        )  # fmt: skip


def widened(
    losses: Callable[[Sequence[Place]], Sequence[float]], grid: Sequence[Place], beyond: Callable[[Place, int], Place],
    most: int,
) -> dict[Place, float]:  # fmt: skip
    """Return what is lost at each place of a grid, and at ``most`` more at most, while the least stands at its edge.

    Args:
        losses: of places, rates or their numbers, that are tried together.
        grid: where to begin, at least one place.
        beyond: from the place at an edge, and 1 at the upper edge or −1 at the lower one, to the next.
        most: further places, >= 0.
    """
    loss_at = dict(zip(grid, losses(grid), strict=True))
    for _ in range(most):
        best = min(loss_at, key=loss_at.__getitem__)
        if min(loss_at) < best < max(loss_at):
            break
        place = beyond(best, 1 if best == max(loss_at) else -1)
        loss_at[place] = losses([place])[0]
    return loss_at


def six(values: Any) -> Any:
    """Return numbers with six digits, as JSON holds them."""
    rounded = np.vectorize(lambda x: float(f"{x:.6g}"), otypes=[np.float64])(np.asarray(values, dtype=np.float64))
    return rounded.tolist()


def _measured(
    wanted: Sequence[Measurement], command: str, about: Mapping[str, Any], folder: Path, root: Any
) -> list[records.Record]:
    """Return the records of measurements, and keep each in the folder as it is made; those that are there stay."""
    from lossnav.lab import data

    folder.mkdir(parents=True, exist_ok=True)
    dataset, recorded = functools.cache(lambda name: data.load(name, root)), []
    for measurement in wanted:
        path = folder / f"{measurement.key(about)}.json"
        if not path.exists():
            records.save(path, measurement.run(command, about, dataset(measurement.data) if measurement.data else None))
        recorded.append(records.load(path))
        print(f"seed {measurement.seed}, {dict(measurement.settings)}: {recorded[-1].duration:.0f} s", flush=True)
    return recorded


def main(script: str, studies: Mapping[str, Study], words: Sequence[str] | None = None) -> None:
    """Run a study from the command line, and write its record to ``book/results/<study>.json``.

    Its runs are kept in ``--runs`` as they finish, with their states, so that a study that was cut off, or killed, goes
    on where it was, and so does a longer one.

    Args:
        script: path of the script, of whose documentation the help consists.
        studies: by the names of their records. Of several, each begins with the script's name, and the command line
            names the rest: ``cifar10.py paper`` makes ``cifar10-paper.json``.
        words: of the command line.
    """
    path = Path(script).resolve()
    results, stem = path.parents[1] / "book" / "results", path.stem.replace("_", "-")
    # One parser for all studies of a script: an option belongs to those that name it.
    short = {name.removeprefix(f"{stem}-"): name for name in studies}
    options = {option: None for study in studies.values() for option in study.options}
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if len(studies) > 1:
        parser.add_argument("study", choices=short)
    for option in options:
        defaults = ", ".join(
            f"{study.options[option]} for {n}" for n, study in studies.items() if option in study.options
        )
        flag = any(study.options.get(option) is False for study in studies.values())
        kind: dict[str, Any] = {"action": "store_const", "const": True} if flag else {"type": int, "metavar": "N"}
        parser.add_argument(f"--{option.replace('_', '-')}", **kind, help=f"default: {defaults}")
    parser.add_argument("--workers", type=int, metavar="N", help="processes of one core each; default: all cores")
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler, tcp://host:port")
    parser.add_argument("--root", metavar="FOLDER", help="of the data, as in data.load")
    parser.add_argument("--runs", type=Path, default=results / "runs", help="folder of single runs and checkpoints")
    parser.add_argument("--output", type=Path, help="of the record")
    parsed = parser.parse_args(words)
    name = short[parsed.study] if len(studies) > 1 else next(iter(studies))
    study = studies[name]
    given = {option: value for option in options if (value := getattr(parsed, option)) is not None}
    if strange := sorted(given.keys() - study.options.keys()):
        parser.error(f"{name} has no --{strange[0]}")
    # What the record names as its command: as typed, without what is the default anyway.
    changed = {option: value for option, value in given.items() if value != study.options[option]}
    command = " ".join([
        f"python studies/{path.name}", *([parsed.study] if len(studies) > 1 else []),
        *(f"--{option.replace('_', '-')}{'' if value is True else f' {value}'}" for option, value in changed.items()),
    ])  # fmt: skip
    how = {"cluster": parsed.cluster, "root": parsed.root} | ({"workers": parsed.workers} if parsed.workers else {})
    try:
        record = study.run(name, command, parsed.runs / name, given, **how)
    except RuntimeError as error:
        raise SystemExit(f"{path.stem}: {error}") from None
    output = parsed.output or results / f"{name}.json"
    records.save(output, record)
    print(f"{record}\nrecord         {output}")
