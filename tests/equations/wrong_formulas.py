"""Can each row of the ledger fail? Its tests are run against formulas that are wrong.

    python tests/equations/wrong_formulas.py [--rows V6 V7 ...] [--tries 16] [--kept FILE]

First the tests are run as things are, and it is kept which lines of the library each executes. Then arithmetic in these
lines is changed, one sign or operator at a time, in the functions that the fewest tests of the ledger execute
first: they are the formula, and the others its surroundings. A row is shown to fail as soon as an assertion of one of
its tests does; an error of another kind says nothing of the formula.
Where the ledger says that a row proves the source's algebra alone, the formula stands in the test and is changed there.
The rows whose tests are the fastest come first. With ``--kept`` what was cut off goes on; remove the file where code
was changed. (Linux and macOS: it needs fork.)
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutants import Mutant, forked, mutants, preload  # noqa: E402

LEDGER = ROOT / "tests" / "equations" / "ledger.yml"
FAILED = 17
Place = tuple[str, int]  # file, line


@dataclass
class Seen:
    """What a test executes, and how long that takes."""

    places: set[Place] = field(default_factory=set)
    seconds: float = 0.0


@dataclass
class Kept:
    """What is known: of tests by name what they execute, and of rows by label what noticed a wrong formula."""

    file: Path | None = None
    traced: set[str] = field(default_factory=set)
    seen: dict[str, Seen] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path | None) -> Kept:
        """Return what a file has, if it is there."""
        if file is None or not file.exists():
            return cls(file)
        found: Kept = pickle.loads(file.read_bytes())
        return found

    def write(self) -> None:
        """Keep it."""
        if self.file is not None:
            self.file.write_bytes(pickle.dumps(self))


class Trace:
    """A plugin of pytest that keeps which lines of functions each test executes, of the library and of its own file."""

    def __init__(self, target: str):
        self.target = target
        self.seen: dict[str, Seen] = {}

    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Trace one test; the cases of one are put together."""
        seen = self.seen.setdefault(item.nodeid.partition("[")[0], Seen())
        here = str(item.path)
        library = str(ROOT / "lossnav") + os.sep

        def line(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                seen.places.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: Any, *_: Any) -> Any:
            name = frame.f_code.co_filename
            formula = name.startswith(library) and not Path(name).name.startswith("_")
            return line if (formula or name == here) and frame.f_code.co_name != "<module>" else None

        begun = time.monotonic()
        sys.settrace(call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            seen.seconds += time.monotonic() - begun

    def pytest_sessionfinish(self) -> None:
        """Write what was seen, for who has forked."""
        Path(self.target).write_bytes(pickle.dumps(self.seen))


class Asserted:
    """A plugin of pytest that returns FAILED if an assertion failed, and not something else."""

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        """Look at what was raised."""
        if call.excinfo.typename in ("AssertionError", "Failed"):
            node.session.asserted = True

    def pytest_sessionfinish(self, session: Any) -> None:
        """Say it."""
        if getattr(session, "asserted", False):
            session.exitstatus = FAILED


def trace(tests: list[str], kept: Kept) -> None:
    """Find what the tests execute, file by file, where it is not kept yet."""
    import pytest

    Trace.pytest_runtest_call = pytest.hookimpl(wrapper=True)(Trace.pytest_runtest_call)  # type: ignore[method-assign]
    for file in sorted({test.partition("::")[0] for test in tests} - kept.traced):
        with tempfile.NamedTemporaryFile() as target:
            code = forked(1800.0, [test for test in tests if test.startswith(f"{file}::")], plugin=Trace(target.name))
            if code != 0:
                print(f"wrong_formulas: {file} does not pass as things are ({code})", file=sys.stderr)
                continue
            kept.seen |= pickle.loads(Path(target.name).read_bytes())
        kept.traced.add(file)
        kept.write()
        print(f"traced {file}", file=sys.stderr, flush=True)


def formulas(test: str, seen: Seen, often: Counter[Place], paper: bool) -> list[Mutant]:
    """Return the mutants of what a test executes, two of a line at a time, of lines that the fewest others do first."""
    own = str(ROOT / test.partition("::")[0])
    executed: dict[str, set[int]] = {}
    for file, line in seen.places:
        if (file == own) is paper:
            executed.setdefault(file, set()).add(line)
    found = [one for file, rows in sorted(executed.items()) for one in mutants(Path(file), rows, arithmetic=True)]
    random.Random(test).shuffle(found)
    turns: Counter[Place] = Counter()
    order = []
    for number, one in enumerate(found):
        place = str(one.file), one.line
        order.append((turns[place] // 2, often[place], number))
        turns[place] += 1
    return [found[number] for *_, number in sorted(order)]


def verdict(tests: list[str], kept: Kept, often: Counter[Place], paper: bool, tries: int) -> str:
    """Return the first wrong formula that an assertion of one of the tests notices, or that there is none."""
    tried = 0
    for test in tests:
        seen = kept.seen[test]
        for one in formulas(test, seen, often, paper)[:tries]:
            tried += 1
            if forked(20.0 + 2 * seen.seconds, [test], one, Asserted()) == FAILED:
                return str(one)
    return f"NOT NOTICED: none of {tried} wrong formulas"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", nargs="+", metavar="LABEL", help="which; all that are checked, if none is named")
    parser.add_argument("--tries", type=int, default=16, help="how many wrong formulas a test is given")
    parser.add_argument("--kept", type=Path, help="where rows are kept that are done, and not done again")
    options = parser.parse_args()
    kept = Kept.read(options.kept and options.kept.resolve())
    os.chdir(ROOT)
    rows = yaml.safe_load(LEDGER.read_text(encoding="utf-8"))["equations"]
    chosen = [row for row in rows if row["status"] == "checked" and row["label"] in (options.rows or [row["label"]])]
    preload()
    trace(sorted({test for row in chosen for test in row["tests"]}), kept)
    often = Counter(place for seen in kept.seen.values() for place in seen.places)
    order = {row["label"]: sorted(set(row["tests"]) & set(kept.seen), key=lambda test: kept.seen[test].seconds)
             for row in chosen}  # fmt: skip
    chosen.sort(key=lambda row: min((kept.seen[test].seconds for test in order[row["label"]]), default=0.0))
    for number, row in enumerate(chosen, 1):
        label = row["label"]
        if label not in kept.rows:
            kept.rows[label] = verdict(order[label], kept, often, row["proves"] == "paper", options.tries)
            kept.write()
        print(f"{number:3} of {len(chosen)}  {label:5} {kept.rows[label]}", flush=True)
    silent = [row["label"] for row in chosen if kept.rows[row["label"]].startswith("NOT NOTICED")]
    print(f"wrong_formulas: {len(chosen)} rows, {len(silent)} whose tests noticed no wrong formula: {' '.join(silent)}")
    return int(bool(silent))


if __name__ == "__main__":
    sys.exit(main())
