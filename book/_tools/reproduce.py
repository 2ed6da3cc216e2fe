"""Run recorded studies again, and compare what comes out with the records of the book.

    python book/_tools/reproduce.py [STUDY ...] [--hours H]

It says first how long the records took. With --hours it runs, from the shortest on, those that together took no longer.
Each study keeps its finished runs in _build/reproduced/runs, by the revision of the code, so that what was cut off goes
on where it was; runs of code that is not committed are made anew. The report is _build/reproduced/report.md: on a
machine like the record's the numbers are to be equal; on another one rounding grows along a training, and the report
says how far, in the median and at most.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from paths import BOOK, BUILD, ROOT

from lossnav.lab import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.records import Record

FOLDER = BUILD / "reproduced"
CLOCK = ("second", "cost", "duration")  # parts of names of what a clock has told, which nothing makes equal
# what the records of single runs say of themselves, or a run has chosen for its machine
WHERE = ("command", "device", "revision", "versions", "settings", "precision")
TOLD = {"setting", *(entry.name for entry in fields(Experiment))} - {"loss", "validation"}  # not measured


def pairs(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield what stands at each place of either: a number, a text, or None where one of them has nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in WHERE and not any(word in key.lower() for word in CLOCK):
                yield from pairs(old.get(key), new.get(key), f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from pairs(*pair, f"{place}[{i}]")
    else:
        yield place.lstrip("."), old, new


def apart(old: Any, new: Any) -> float:
    """How far two numbers are from each other, as a part of the larger one; inf for what is no pair of numbers."""
    if old == new or (old != old and new != new):
        return 0.0
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new)):
        return math.inf
    return abs(old - new) / max(abs(old), abs(new))


def measured(place: str, old: Any) -> bool:
    """Whether what stands at a place of a record is a number that was measured: no text, and no setting."""
    number = isinstance(old, int | float) and not isinstance(old, bool)
    return number and TOLD.isdisjoint(re.split(r"[.\[\]]", place))


@dataclass(frozen=True)
class Outcome:
    """What became of a study: the new record, or what it said instead."""

    old: Record
    new: Record | None
    said: str = ""

    def line(self) -> str:
        """Return its row of the report."""
        name, took = self.old.study, f"{self.old.duration:.0f}"
        if self.new is None:
            return f"| {name} | {took} | | could not be made: {self.said.replace('|', '/')} | | |"
        compared = list(pairs(self.old.results, self.new.results))
        gaps = [(apart(old, new), place) for place, old, new in compared if measured(place, old)]
        other = [place for place, old, new in compared if not measured(place, old) and apart(old, new)]
        most, place = max(gaps, default=(0.0, ""))
        alike = all(getattr(self.old, what) == getattr(self.new, what) for what in ("device", "versions", "data"))
        verdict = "DIFFERS" if other or (most and alike) or math.isinf(most) else "another machine" if most else "equal"
        size = "" if most == 0 else f"{median(gap for gap, _ in gaps):.1g}, at most {most:.1g} (`{place[:80]}`)"
        size += f" and not in numbers alone (`{other[0][:80]}`)" if other else ""
        return f"| {name} | {took} | {self.new.duration:.0f} | {verdict} | {len(gaps)} | {size} |"


def kept() -> Path:
    """Return the folder of the runs of today's code, without those that code which is not committed has left there."""
    code = ["git", "status", "--porcelain", "-uno", "--", "lossnav", "studies"]
    changed = subprocess.run(code, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    folder = FOLDER / "runs" / records.revision().removesuffix("+changes")
    if changed.returncode or changed.stdout or folder.name == "unknown":
        folder = folder.with_name("changes")
        shutil.rmtree(folder, ignore_errors=True)
    return folder


def again(old: Record, runs: Path) -> Outcome:
    """Run the command of a record, with its runs in a folder of their own."""
    output = FOLDER / f"{old.study}.json"
    words = [sys.executable, *shlex.split(old.command)[1:], "--runs", str(runs), "--output", str(output)]
    done = subprocess.run(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return Outcome(old, None, (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return Outcome(old, records.load(output))


def chosen(found: Sequence[Record], names: Sequence[str], hours: float) -> list[Record]:
    """Return those of these names (all, without one), from the shortest on, as far as the hours last.

    Raises:
        SystemExit: there is no record of a name.
    """
    known = [record.study for record in found]
    if strange := sorted(set(names) - set(known)):
        raise SystemExit(f"reproduce: no record {strange[0]!r} in book/results; there are {', '.join(known)}")
    wanted = sorted(
        (record for record in found if record.study in (names or known)), key=lambda record: record.duration
    )
    took = 0.0
    return [record for record in wanted if (took := took + record.duration) <= 3600 * hours]


def main(words: Sequence[str] | None = None, results: Path = BOOK / "results") -> int:
    """Command line; 1 if anything differs that should be equal, or could not be made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="name of a record in book/results; default: all")
    parser.add_argument("--hours", type=float, default=math.inf, help="what the records took together, at most")
    options = parser.parse_args(words)
    recorded = [records.load(path) for path in sorted(results.glob("*.json"))]
    wanted = chosen(recorded, options.studies, options.hours)
    for record in wanted:
        print(f"{record.duration / 60:7.1f} min  {record.study:30} {record.data['label']}")
    print(
        f"reproduce: {len(wanted)} studies, {sum(record.duration for record in wanted) / 3600:.1f} h by their records"
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    runs = kept()
    lines = ["| study | s, recorded | s, now | verdict | numbers | apart, median |", "|---|---|---|---|---|---|"]
    for record in wanted:
        lines.append(again(record, runs).line())
        print(lines[-1], flush=True)
        (FOLDER / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(any("DIFFERS" in line or "could not be made" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
