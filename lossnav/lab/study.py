"""Studies: what a script in ``studies/`` declares, and the one way in which all of them run."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lossnav._checks import function, instance
from lossnav.lab import records, sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep import Comparison


@dataclass(frozen=True)
class Study:
    """One recorded study.

    Attributes:
        wanted: from the options to the experiments of a sweep, or to a ``sweep.Comparison``.
        results: from what became of them to what the record keeps: of experiments the list of their records, in their
            order; of a comparison what ``sweep.compare`` returns.
        options: whole numbers that the command line may change, and their defaults; ``wanted`` takes them by name.
        config: from the same options to what the record says about the study beside the settings that all runs share.
        workers: processes, where the study is about time.
    """

    wanted: Callable[..., list[Experiment] | Comparison]
    results: Callable[[Any], Any]
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
            how: further arguments of ``sweep.run``.

        Raises:
            RuntimeError: a run could not be made; or the runs differ in data, device or versions.
        """
        options = {**self.options, **(given or {})}
        wanted = self.wanted(**options)
        how = {"workers": self.workers, "checkpoints": Path(folder) / "checkpoints", **how}
        if isinstance(wanted, Comparison):
            found: Any = sweep.compare(wanted, folder, **how)
            tuning = [one for rule in found.values() for seeds in rule.trials for one in seeds]
            judged = [one for rule in found.values() for one in rule.judged]
        else:
            table = sweep.every(wanted, folder, **how)
            found = judged = [table[experiment.key()] for experiment in wanted]
            tuning = []
        return self._merged(name, command, options, found, tuning, judged)

    def _merged(
        self, name: str, command: str, options: Mapping[str, int], found: Any, tuning: Sequence[records.Record],
        judged: Sequence[records.Record],
    ) -> records.Record:  # fmt: skip
        """Return one record from those of all runs, which must have seen the same data on one kind of device."""
        everyone = [*tuning, *judged]
        first = everyone[0]
        for what in ("data", "device", "versions"):
            if any(getattr(one, what) != getattr(first, what) for one in everyone):
                raise RuntimeError(f"the runs of {name} differ in their {what}: use another folder (--runs)")
        shared = {key: value for key, value in first.config.items() if all(r.config[key] == value for r in everyone)}
        return records.Record(
            command, {"study": name, **shared, **self.config(**options)}, sorted({s for r in judged for s in r.seeds}),
            first.data, self.results(found), round(math.fsum(one.duration for one in everyone), 1), first.device,
            judged[-1].revision, first.versions, name,
        )  # fmt: skip


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
        parser.add_argument(f"--{option.replace('_', '-')}", type=int, metavar="N", help=f"default: {defaults}")
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
    changed = {option: value for option, value in given.items() if value != study.options[option]}
    command = " ".join([
        f"python studies/{path.name}", *([parsed.study] if len(studies) > 1 else []),
        *(f"--{option.replace('_', '-')} {value}" for option, value in changed.items()),
    ])  # fmt: skip
    how = {"cluster": parsed.cluster, "root": parsed.root} | ({"workers": parsed.workers} if parsed.workers else {})
    try:
        record = study.run(name, command, parsed.runs / name, given, **how)
    except RuntimeError as error:
        raise SystemExit(f"{path.stem}: {error}") from None
    output = parsed.output or results / f"{name}.json"
    records.save(output, record)
    print(f"{record}\nrecord         {output}")
