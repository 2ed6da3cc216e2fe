"""What a benchmark returns: a table, what was to be met, and how to print and to keep both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lossnav import records

FOLDER = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Settings:
    """What the command line says to every benchmark.

    Attributes:
        device: where the tensors live, in torch's words; for benchmarks that have tensors.
        threads: number of threads, or None for what the libraries choose.
        quick: a problem so small that it shows nothing but that the benchmark runs.
    """

    device: str = "cpu"
    threads: int | None = None
    quick: bool = False


@dataclass(frozen=True)
class Report:
    """A table with numbers and what they were to show.

    Attributes:
        columns: names with units; the first is the contender.
        formats: format specification of each column after the first.
        rows: numbers by column; None where there is none.
        checks: what was to be met, in words with the measured number, and whether it is.
        config: every setting of the measurement.
        device: what it ran on.
        notes: what a reader must know.
    """

    columns: Sequence[str]
    formats: Sequence[str]
    rows: Sequence[Sequence[Any]]
    checks: Mapping[str, bool]
    config: dict[str, Any]
    device: str = field(default_factory=records.processor)
    notes: Sequence[str] = ()

    @property
    def met(self) -> bool:
        return all(self.checks.values())

    def table(self) -> str:
        cells = [list(self.columns)] + [
            [str(row[0]), *("" if x is None else format(x, f) for x, f in zip(row[1:], self.formats, strict=True))]
            for row in self.rows
        ]
        widths = [max(len(line[i]) for line in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))])
            for line in cells
        ]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def verdict(self) -> str:
        return "\n".join(f"  {'met' if met else 'MISSED'}: {words}" for words, met in self.checks.items())


def store(report: Report, name: str, command: str, duration: float, load: str, folder: Path = FOLDER) -> Path:
    """Keep a report as a record, which adds revision and versions; return where.

    Args:
        report: the report. name: its file, without suffix. command: what to type to measure again.
        duration: wall time of the benchmark in seconds. load: what else the machine did, in words. folder: where to.
    """
    path = folder / f"{name}.json"
    record = records.new(
        command=command,
        config={**report.config, "load": load},
        seeds=[0],
        data={"label": "random numbers"},
        results={
            "columns": list(report.columns), "formats": list(report.formats), "rows": list(map(list, report.rows)),
            "checks": dict(report.checks), "notes": list(report.notes),
        },
        duration=duration,
        device=report.device,
    )  # fmt: skip
    records.save(path, record)
    return path
