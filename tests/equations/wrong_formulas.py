"""Can each row of the ledger fail? Its tests are run against formulas that are wrong.

    python tests/equations/wrong_formulas.py [--rows V6 V7 ...] [--tries 8]      (forks; about an hour for all rows)

First the tests are run as things are, and it is kept which lines of the library each executes. Then arithmetic in these
lines is changed, one sign or operator at a time, in the functions that the fewest tests of the ledger execute
first: they are the formula, and the others its surroundings. A row is shown to fail as soon as an assertion of one of
its tests does; an error of another kind says nothing of the formula.
Where the ledger says that a row proves the source's algebra alone, the formula stands in the test and is changed there.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutants import Mutant, forked, mutants, preload  # noqa: E402

LEDGER = ROOT / "tests" / "equations" / "ledger.yml"
FAILED = 17
SECONDS = 120.0  # for one run of a test; who changes a formula may make a search endless
Lines = dict[str, set[tuple[str, int]]]  # by test: files and lines that it executes


class Trace:
    """A plugin of pytest that keeps which lines of functions each test executes, of the library and of its own file."""

    def __init__(self, target: str):
        self.target = target
        self.seen: Lines = {}

    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Trace one test; the cases of one are put together."""
        seen = self.seen.setdefault(item.nodeid.partition("[")[0], set())
        here = str(item.path)
        library = str(ROOT / "lossnav") + os.sep

        def line(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                seen.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: Any, *_: Any) -> Any:
            name = frame.f_code.co_filename
            formula = name.startswith(library) and not Path(name).name.startswith("_")
            return line if (formula or name == here) and frame.f_code.co_name != "<module>" else None

        sys.settrace(call)
        try:
            return (yield)
        finally:
            sys.settrace(None)

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


def trace(tests: list[str]) -> Lines:
    """Return which lines the tests execute."""
    import pytest

    Trace.pytest_runtest_call = pytest.hookimpl(wrapper=True)(Trace.pytest_runtest_call)  # type: ignore[method-assign]
    found: Lines = {}
    for file in sorted({test.partition("::")[0] for test in tests}):
        own = [test for test in tests if test.startswith(f"{file}::")]
        with tempfile.NamedTemporaryFile() as kept:
            code = forked(1800.0, own, plugin=Trace(kept.name))
            if code != 0:
                print(f"wrong_formulas: {file} does not pass as things are ({code})", file=sys.stderr)
                continue
            found |= pickle.loads(Path(kept.name).read_bytes())
        print(f"traced {file}", file=sys.stderr, flush=True)
    return found


def formulas(test: str, lines: Lines, often: Counter[tuple[str, int]], paper: bool) -> list[Mutant]:
    """Return the mutants of what a test executes, of the lines that the fewest others do first, else at random."""
    own = str(ROOT / test.partition("::")[0])
    executed: dict[str, set[int]] = {}
    for file, line in lines.get(test, ()):
        if (file == own) is paper:
            executed.setdefault(file, set()).add(line)
    found = [one for file, rows in sorted(executed.items()) for one in mutants(Path(file), rows, arithmetic=True)]
    random.Random(test).shuffle(found)
    return sorted(found, key=lambda one: often[str(one.file), one.line])


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", nargs="+", metavar="LABEL", help="which; all that are checked, if none is named")
    parser.add_argument("--tries", type=int, default=8, help="how many wrong formulas a test is given")
    options = parser.parse_args()
    os.chdir(ROOT)
    rows = yaml.safe_load(LEDGER.read_text(encoding="utf-8"))["equations"]
    chosen = [row for row in rows if row["status"] == "checked" and row["label"] in (options.rows or [row["label"]])]
    preload()
    lines = trace(sorted({test for row in chosen for test in row["tests"]}))
    often = Counter(place for seen in lines.values() for place in seen)
    noticed: dict[str, Mutant | None] = {}
    silent = []
    for row in chosen:
        paper = row["proves"] == "paper"
        for test in row["tests"]:
            if test not in noticed:
                tried = formulas(test, lines, often, paper)[: options.tries]
                noticed[test] = next((one for one in tried if forked(SECONDS, [test], one, Asserted()) == FAILED), None)
        by = next((noticed[test] for test in row["tests"] if noticed[test] is not None), None)
        if by is None:
            silent.append(row["label"])
        print(f"{row['label']:5} {'NOT NOTICED' if by is None else by}", flush=True)
    print(f"wrong_formulas: {len(chosen)} rows, {len(silent)} whose tests noticed no wrong formula: {' '.join(silent)}")
    return int(bool(silent))


if __name__ == "__main__":
    sys.exit(main())
