"""Recorded runs: one small JSON file with the numbers, a digest of it all, and what is needed to make them again."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lossnav import __version__
from lossnav._checks import finite, instance, shown
from lossnav._checks import path as check_path
from lossnav._checks import seeds as check_seeds
from lossnav._writing import replacing

__all__ = ["Record", "load", "new", "processor", "revision", "save", "versions"]

_FORMAT = 2
_PACKAGES = ("torch", "numpy")


@dataclass(frozen=True)
class Record:
    """An experiment that has been run.

    Attributes:
        command: what to type to run it again, from the root of the repository.
        config: every setting of the experiment.
        seeds: the seeds of its runs.
        data: provenance of the data (``Provenance.record()``).
        results: the numbers.
        duration: wall time of the experiment in seconds.
        device: what it ran on.
        revision: git revision of the code, with "+changes" if the package differed from it; of runs that were made by
            several, all, with commas between them.
        versions: of Python and the packages that matter.
        study: name of the study that it is the record of, or "" for a single run.
    """

    command: str
    config: dict[str, Any]
    seeds: list[int]
    data: dict[str, Any]
    results: Any
    duration: float
    device: str
    revision: str
    versions: dict[str, str]
    study: str = ""

    def __str__(self) -> str:
        """Return the provenance, one fact a line, as a figure's reader needs it."""
        return (
            f"recorded run   {self.command}\n"
            f"data           {self.data['label']}\n"
            f"seeds          {', '.join(map(str, self.seeds))}\n"
            f"device         {self.device}, {self.duration:.0f} s\n"
            f"code           {self.code}"
        )

    @property
    def code(self) -> str:
        """The revisions, in twelve digits each, and the versions."""
        revisions = (
            f"{revision[:12]}{'+changes' * revision.endswith('+changes')}" for revision in self.revision.split(", ")
        )
        return f"{', '.join(revisions)}; {', '.join(f'{name} {number}' for name, number in self.versions.items())}"


def new(
    *,
    command: str,
    config: dict[str, Any],
    seeds: list[int],
    data: dict[str, Any],
    results: Any,
    duration: float,
    device: str,
) -> Record:
    """Return a record of an experiment that has just run, with the revision and the versions it ran with.

    Args:
        command: what runs it again, as it is typed.
        config: settings, by their names.
        seeds: whole numbers.
        data: where the data are from; ``data["label"]`` is printed.
        results: anything that JSON can hold, which ``save`` checks; it is read as JSON has it, with lists for tuples
            and strings for other names.
        duration: ≥ 0, in seconds.
        device: what it ran on, in words.

    Raises:
        ValueError: naming the argument that is wrong or empty.
    """
    for name, text in (("command", command), ("device", device)):
        if not instance(name, text, str, "a string"):
            raise ValueError(f"{name} = '', but it must say something")
    for name, entries in (("config", config), ("data", data)):
        instance(name, entries, dict, "a dictionary")
    if "label" not in data:
        raise ValueError(f"data = {shown(data)}, but it must have a label, which is printed")
    finite("duration", duration, low=0.0)
    seeds = list(check_seeds("seeds", seeds, "whole numbers"))
    return Record(command, config, seeds, data, results, round(duration, 1), device, revision(), versions())


def save(path: str | os.PathLike[str], record: Record) -> None:
    """Write a record, whole or not at all.

    Args:
        path: of the file; what was there is replaced.
        record: from ``new``.

    Raises:
        ValueError: JSON cannot hold what an entry holds, such as NaN, infinity or a tensor; names the entry.
    """
    check_path("path", path)
    instance("record", record, Record, "a records.Record")
    target = Path(path)
    content: dict[str, Any] = {}
    for name, value in asdict(record).items():  # as it will be read: names are strings there, and tuples lists
        try:
            content[name] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"record.{name} holds what JSON cannot: {error}") from None
    document = {"format": _FORMAT, "sha256": _digest(content), **content}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(target) as stream:
        stream.write(text.encode())


def load(path: str | os.PathLike[str]) -> Record:
    """Read a record.

    Args:
        path: of the file.

    Raises:
        FileNotFoundError: there is none.
        ValueError: the file is not a record, is not as it was written, or has a format that this version does not know;
            names the file and the entry.
    """
    check_path("path", path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        file_format = content.pop("format", None) if isinstance(content, dict) else type(content).__name__
        if file_format != _FORMAT:
            raise ValueError(f"its format is {shown(file_format)}, and this version reads format {_FORMAT}")
        if content.pop("sha256", None) != _digest(content):
            raise ValueError("its content does not have the SHA-256 that was written with it")
        return Record(**content)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a record that can be read: {error}; run its command again") from None


def _digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of what a file says, however it is laid out."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@functools.cache  # the code of a process is that which it has loaded, and a sweep makes hundreds of records
def revision() -> str:
    """Return the git revision of the package's checkout, "+changes" if tracked code differs; else "unknown".

    It is looked up once in a process.
    """
    package = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=package, capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.strip()

    try:
        if not git("ls-files", "--", "lab/records.py"):  # an installed copy inside somebody else's repository
            return "unknown"
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of those whose numerics matter."""
    installed = {"python": platform.python_version(), "lossnav": __version__}
    for name in _PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def processor() -> str:
    """Return the name of this machine's processor and its number of cores, e.g. "AMD EPYC, 2 cores"."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"
