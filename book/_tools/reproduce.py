"""Run recorded studies again, and compare what comes out with the records of the book.

    python book/_tools/reproduce.py [STUDY ...] [--hours H]

It says first how long the records took. With --hours it runs, from the shortest on, those that together took no longer.
Each study keeps its finished runs in _build/reproduced, so that what was cut off goes on where it was. The report is
_build/reproduced/report.md: on a machine like the record's the numbers are to be equal; on another one rounding grows
along a training, and the report says how far, in the median and at most.
"""

from __future__ import annotations

import argparse
import math
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from paths import BOOK, BUILD, ROOT

from lossnav.lab import records
from lossnav.lab.records import Record

FOLDER = BUILD / "reproduced"
CLOCK = ("second", "cost", "duration")  # parts of names of what a clock has told, which nothing makes equal
WHERE = ("command", "device", "revision", "versions")  # what the records of single runs say of themselves


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
        gaps = [(apart(old, new), place) for place, old, new in pairs(self.old.results, self.new.results)]
        most, place = max(gaps, default=(0.0, ""))
        alike = all(getattr(self.old, what) == getattr(self.new, what) for what in ("device", "versions", "data"))
        verdict = "equal" if most == 0 else "DIFFERS" if alike or math.isinf(most) else "another machine"
        size = "" if most == 0 else f"{median(gap for gap, _ in gaps):.1g}, at most {most:.1g} (`{place[:80]}`)"
        return f"| {name} | {took} | {self.new.duration:.0f} | {verdict} | {len(gaps)} | {size} |"


def again(old: Record) -> Outcome:
    """Run the command of a record, with its own folder of runs."""
    output = FOLDER / f"{old.study}.json"
    words = [sys.executable, *shlex.split(old.command)[1:], "--runs", str(FOLDER / "runs"), "--output", str(output)]
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
    lines = ["| study | s, recorded | s, now | verdict | numbers | apart, median |", "|---|---|---|---|---|---|"]
    for record in wanted:
        lines.append(again(record).line())
        print(lines[-1], flush=True)
        (FOLDER / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(any("DIFFERS" in line or "could not be made" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
