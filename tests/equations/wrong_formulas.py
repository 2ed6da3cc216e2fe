"""Can each row of the ledger fail? Its tests are run against formulas that are wrong.

    python tests/equations/wrong_formulas.py [--rows V6 V7 ...] [--tries 48] [--kept FILE]

A test is run as things are, and it is found which lines of the library it executes, and how many calls from the test:
what it calls itself is the formula, and what that calls is its surroundings. Then arithmetic in these lines is changed,
one sign or operator at a time, the nearest first, until an assertion of the test fails; an error of another kind says
nothing of the formula. What is computed while the test's file is read, for all of its tests, comes last. A row is shown
to fail as soon as one of its tests is.
A test that reaches nothing of the library proves the source's algebra alone: the formula stands in the test, and is
changed there.

A file of tests is read once. For each formula its process is forked, and functions are given the changed code.
With ``--kept`` what was cut off goes on; remove the file where code was changed. (Linux and macOS: it needs fork.)
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import importlib
import itertools
import json
import os
import pickle
import random
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "equations")]

from mutants import Mutant, apart, mutants, preload, quiet, take  # noqa: E402
from proofs import proves  # noqa: E402

LEDGER = ROOT / "tests" / "equations" / "ledger.yml"
LIBRARY = str(ROOT / "lossnav") + os.sep
PASSED, BROKEN, NOTICED = 0, 1, 17
READ = 1000  # further than any call: what is executed while a file is read
Place = tuple[str, int, int]  # file, first line of the function, line


@dataclass
class Seen:
    """The lines that a test executes, with their distance in calls, the modules it needs, the seconds it takes."""

    places: dict[Place, int] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Trace:
    """What to give to ``sys.settrace``: it keeps the lines of functions of the library and of a file of tests."""

    def __init__(self, own: str, seen: Seen, further: int = 0):
        self.own = own
        self.places = seen.places
        self.further = further

    def __call__(self, frame: Any, *_: Any) -> Any:
        """Follow a function that may have formulas."""
        name, first = frame.f_code.co_filename, frame.f_code.co_firstlineno
        if name != self.own and (not name.startswith(LIBRARY) or name.startswith(f"{LIBRARY}_")):
            return None
        distance, outer = self.further, frame
        while outer is not None and (name := outer.f_code.co_filename) != self.own:
            if name.startswith(LIBRARY):
                if outer.f_code.co_name == "<module>":  # what an import does
                    return None
                distance += 1
            outer = outer.f_back

        def line(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                place = frame.f_code.co_filename, first, frame.f_lineno
                self.places[place] = min(distance, self.places.get(place, distance))
            return line

        return line


class Trials:
    """A plugin of pytest that reads a file of tests, and runs each test apart, with one formula after another wrong."""

    def __init__(self, file: str, tries: int, kept: Path):
        self.own = ROOT / file
        self.tries = tries
        self.kept = kept
        self.read = Seen()
        self.asserted = False

    def pytest_collection(self) -> None:
        """See what is executed while the file is read."""
        sys.settrace(Trace(str(self.own), self.read, READ))

    def pytest_runtestloop(self, session: Any) -> bool:
        """Try the tests, and keep what is found as it is found."""
        sys.settrace(None)
        tests: dict[str, list[Any]] = {}
        for item in session.items:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
        for test, items in tests.items():
            result = self.trial(test, items)
            with self.kept.open("a") as file:
                file.write(json.dumps({"test": test, **result}) + "\n")
        return True

    def pytest_exception_interact(self, call: Any) -> None:
        """Tell an assertion that failed from errors of other kinds."""
        self.asserted |= call.excinfo.typename in ("AssertionError", "Failed")

    def trial(self, test: str, items: list[Any]) -> dict[str, Any]:
        """Return the first wrong formula that an assertion of the test notices, and what came of those before it."""
        begun = time.monotonic()
        with tempfile.NamedTemporaryFile() as target:
            code = apart(1800.0, lambda: self.traced(items, Path(target.name)))
            if code != PASSED:
                return {"broken": code}
            run: Seen = pickle.loads(Path(target.name).read_bytes())
        for name in run.modules:
            importlib.import_module(name)
        gc.unfreeze()
        functions = [candidate for candidate in gc.get_objects() if isinstance(candidate, types.FunctionType)]
        gc.freeze()
        before = []
        for mutant in formulas(self.own, test, run)[: self.tries]:
            code = apart(20.0 + 2 * run.seconds, lambda m=mutant: self.wrong(m, items, functions))  # type: ignore[misc]
            if code == NOTICED:
                return {"noticed": str(mutant), "before": before, "seconds": time.monotonic() - begun}
            before.append(f"{'passes' if code == PASSED else 'breaks'}  {mutant}")
        return {"before": before, "seconds": time.monotonic() - begun}

    def traced(self, items: list[Any], target: Path) -> int:
        """Run a test as things are, and write what it executes."""
        run = Seen(self.read.places.copy())
        known = set(sys.modules)
        begun = time.process_time()
        sys.settrace(Trace(str(self.own), run))
        code = self.run(items)
        sys.settrace(None)
        run.seconds = time.process_time() - begun
        run.modules = sorted(name for name in set(sys.modules) - known if name.partition(".")[0] == "lossnav")
        target.write_bytes(pickle.dumps(run))
        return code

    def wrong(self, mutant: Mutant, items: list[Any], functions: Sequence[types.FunctionType]) -> int:
        """Run a test with a wrong formula: in what is imported from now on, in what is, in what the file computes."""
        take(mutant)
        usual, wrong = (compile(text, str(mutant.file), "exec", dont_inherit=True)
                        for text in (mutant.file.read_text(encoding="utf-8"), mutant.text()))  # fmt: skip
        changed = dict(zip(_codes(usual), _codes(wrong), strict=True))
        for function in functions:
            if function.__code__.co_filename == str(mutant.file):
                function.__code__ = changed[function.__code__]
        if mutant.file != self.own:
            wrong = compile(self.own.read_text(encoding="utf-8"), str(self.own), "exec", dont_inherit=True)
        exec(wrong, vars(items[0].module))
        return self.run(items)

    def run(self, items: list[Any]) -> int:
        """Run the cases of a test up to the first that fails."""
        from _pytest.runner import runtestprotocol

        for item in items:
            if any(report.failed for report in runtestprotocol(item, log=False)):
                return NOTICED if self.asserted else BROKEN
        return PASSED


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def formulas(own: Path, test: str, seen: Seen) -> list[Mutant]:
    """Return the mutants of what a test executes, two of a function at a time, the nearest functions first.

    In the test's own file what asserts comes last, without its differences: they compare.
    """
    paper = proves(test, ROOT) == "paper"
    executed: dict[str, dict[int, int]] = {}
    for file, first, line in seen.places:
        if (file == str(own)) is paper:
            executed.setdefault(file, {})[line] = first
    asserts = _asserts(own) if paper else set()
    pool = [mutant for file, lines in sorted(executed.items()) for mutant in mutants(Path(file), lines, arithmetic=True)
            if mutant.line not in asserts or mutant.before != "-"]  # fmt: skip
    random.Random(test).shuffle(pool)
    turns: Counter[tuple[str, int]] = Counter()
    order = []
    for number, mutant in enumerate(pool):
        first = executed[str(mutant.file)][mutant.line]
        turn = turns[str(mutant.file), first] // 2
        order.append((mutant.line in asserts, turn, seen.places[str(mutant.file), first, mutant.line], number))
        turns[str(mutant.file), first] += 1
    return [pool[number] for *_, number in sorted(order)]


def _asserts(file: Path) -> set[int]:
    asserts = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Assert)]
    return {line for node in asserts for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def read(kept: Path) -> dict[str, dict[str, Any]]:
    """Return what was kept, by tests."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return {result["test"]: result for result in map(json.loads, lines)}


def said(row: dict[str, Any], found: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Return what became of a row in a word, and all that is to be said of it."""
    noticed = [found[test]["noticed"] for test in row["tests"] if "noticed" in found[test]]
    silent = [test for test in row["tests"] if "noticed" not in found[test]]
    passed = [f"\n      {line}" for test in silent for line in (test, *found[test].get("before", ()))]
    if noticed:
        return "noticed", "".join([noticed[0], *(f"\n      not by {test}" for test in silent)])
    if any("before" not in found[test] for test in silent):
        return "not tried", "NOT TRIED: does not pass as things are" + "".join(passed)
    if any(found[test]["before"] for test in silent):
        return "not noticed", "NOT NOTICED" + "".join(passed)
    return "no formula", "NO FORMULA: no arithmetic is executed that could be wrong" + "".join(passed)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", nargs="+", metavar="LABEL", help="which; all that are checked, if none is named")
    parser.add_argument("--tries", type=int, default=48, help="how many wrong formulas a test is given")
    parser.add_argument("--kept", type=Path, help="where tests are kept that are done, and not done again")
    options = parser.parse_args()
    os.chdir(ROOT)
    rows = yaml.safe_load(LEDGER.read_text(encoding="utf-8"))["equations"]
    chosen = [row for row in rows if row["status"] == "checked" and row["label"] in (options.rows or [row["label"]])]
    tests = {test for row in chosen for test in row["tests"]}
    preload()
    with tempfile.TemporaryDirectory() as folder:
        store = options.kept.resolve() if options.kept else Path(folder, "kept")
        left = sorted(tests - read(store).keys())
        for file, named in itertools.groupby(left, lambda test: test.partition("::")[0]):
            print(f"wrong_formulas: {file}", file=sys.stderr, flush=True)
            trials = Trials(file, options.tries, store)
            apart(36000.0, functools.partial(quiet, list(named), trials))
        results = {test: {"broken": True} for test in tests} | read(store)
    labels: dict[str, list[str]] = {"noticed": [], "not noticed": [], "no formula": [], "not tried": []}
    for row in chosen:
        word, text = said(row, results)
        labels[word].append(row["label"])
        print(f"{row['label']:5} {text}")
    of_tests = f"{sum('noticed' in results[test] for test in tests)} of {len(tests)} tests notice a wrong formula"
    print(f"wrong_formulas: {len(chosen)} rows, {len(labels['noticed'])} noticed; {of_tests}")
    for word in ("not noticed", "no formula", "not tried"):
        print(f"wrong_formulas: {len(labels[word])} {word}  {' '.join(labels[word])}")
    return int(bool(labels["not noticed"] + labels["not tried"]))


if __name__ == "__main__":
    sys.exit(main())
