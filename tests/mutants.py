"""Mutants: does some test fail if the code says something else? Prints those that no test notices.

    python tests/mutants.py lossnav/rules/looking.py --tests tests/rules/test_looking.py [--most 60] [--seed 0]

Without a room it is the wing that the seed, the day of the year for one, falls on, and its tests and the equations'.
A mutant is one file with one sign, operator, comparison, number or truth value changed. Nothing is written: a process
that has numpy, scipy and torch is forked for each mutant, and imports the changed text in the place of the file's.
(Linux and macOS: it needs fork.)
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WINGS = ("problem", "euler_lagrange", "trajectory", "rules", "analysis", "optim", "lab", "cli")
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*"),
    ast.MatMult: ("@", "*"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "+"),
    ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a file: ``after`` in the place of the characters from ``begin`` to ``end``."""

    file: Path
    line: int
    begin: int
    end: int
    before: str
    after: str

    def text(self) -> str:
        """The changed source."""
        source = self.file.read_text(encoding="utf-8")
        return source[: self.begin] + self.after + source[self.end :]

    def __str__(self) -> str:
        place = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        line = self.file.read_text(encoding="utf-8").splitlines()[self.line - 1].strip()
        return f"{place}:{self.line}: {self.before} → {self.after}   in   {line}"


def mutants(file: Path, lines: Collection[int] | None = None, *, arithmetic: bool = False) -> list[Mutant]:
    """Return the mutants of a file in order, of some lines or of all; ``arithmetic``: of formulas' operators."""
    source = file.read_text(encoding="utf-8")
    rows = source.splitlines(keepends=True)
    starts = [sum(map(len, rows[:n])) for n in range(len(rows) + 1)]

    def place(row: int, column: int) -> int:  # ast counts bytes
        return starts[row - 1] + len(rows[row - 1].encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, pair: tuple[str, str]) -> Iterator[Mutant]:
        begin = place(left.end_lineno or 0, left.end_col_offset or 0)
        at = source.find(pair[0], begin, place(right.lineno, right.col_offset))
        if at >= 0:
            yield Mutant(file, left.end_lineno or 0, at, at + len(pair[0]), *pair)

    def changes(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.BinOp) and not _is_text(node):
            yield from between(node.left, node.right, OPERATORS.get(type(node.op), ("\0", "")))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield Mutant(file, node.lineno, at := place(node.lineno, node.col_offset), at + 1, "-", "+")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool) and not arithmetic:
            begin, end = place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)
            other = not node.value if isinstance(node.value, bool) else f"({source[begin:end]} + 1)"
            yield Mutant(file, node.lineno, begin, end, source[begin:end], str(other))
        elif isinstance(node, ast.Compare) and not arithmetic:
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, OPERATORS.get(type(op), ("\0", "")))
        elif isinstance(node, ast.BoolOp) and not arithmetic:
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, OPERATORS[type(node.op)])

    found = [one for node in _code(ast.parse(source), indices=not arithmetic) for one in changes(node)]
    return sorted((one for one in found if lines is None or one.line in lines), key=lambda one: one.begin)


def _code(tree: ast.AST, indices: bool) -> Iterator[ast.AST]:
    """Walk what is run: not annotations, nor texts with places in them; ``indices``: also what only says where."""
    for name, field in ast.iter_fields(tree):
        if not indices and (name == "slice" or getattr(tree, "arg", None) == "axis"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr) or name in ("annotation", "returns"):
                continue
            yield node
            yield from _code(node, indices)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
               for part in (node.left, node.right))  # fmt: skip


def preload() -> None:
    """Import what every run needs and no mutant changes."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    for name in ("numpy", "scipy.integrate", "scipy.optimize", "scipy.interpolate", "sympy", "torch", "pytest",
                 "yaml", "hypothesis", "playwright.sync_api", "sympy.physics.units"):  # fmt: skip
        __import__(name)


def forked(seconds: float, arguments: Sequence[str], mutant: Mutant | None = None) -> int | None:
    """Run pytest in a process of its own; return what it returns (0: all passed), None if the time was up."""

    def run() -> int:
        if mutant is not None:
            take(mutant)
        return quiet(arguments)

    return apart(seconds, run)


def quiet(arguments: Sequence[str], *plugins: object) -> int:
    """Run pytest here, up to the first test that fails and without a word."""
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    return int(pytest.main(["-x", "-p", "no:xdist", "-p", "no:cacheprovider", "--assert=plain", *arguments], plugins))


def apart(seconds: float, work: Callable[[], int]) -> int | None:
    """Do work in a process of its own; return what it returns, 3 if it raises, None if the time was up.

    The seconds are the processor's. On the clock it may take ten times as long, beside others.
    """
    sys.stdout.flush()  # or the child would say it again
    if (child := os.fork()) == 0:
        code = 3
        try:
            import resource  # as fork, not on Windows

            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + 10 * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def take(mutant: Mutant) -> None:
    """Have Python compile the changed text where it would load the file."""
    loader, text = importlib.machinery.SourceFileLoader, mutant.text()
    usual = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        path = self.get_filename(name)
        return compile(text, path, "exec") if Path(path) == mutant.file else usual(self, name)

    loader.get_code = get_code  # type: ignore[method-assign]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("room", type=Path, nargs="*", help="files or folders to change")
    parser.add_argument("--tests", nargs="+", default=[], help="what pytest is to run")
    parser.add_argument("--most", type=int, default=60, help="how many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.0, help="the share to be noticed, else the exit status is 1")
    options = parser.parse_args()
    os.chdir(ROOT)
    if not options.room:
        wing = WINGS[options.seed % len(WINGS)]
        options.room, options.tests = [Path("lossnav", wing)], [f"tests/{wing}", "tests/equations", "-m", "not slow"]
    if not options.tests:
        parser.error("name the tests of the room: --tests")
    files = [file for room in options.room for file in (sorted(room.rglob("*.py")) if room.is_dir() else [room])]
    found = [one for file in files for one in mutants(file.resolve())]
    drawn = random.Random(options.seed).sample(range(len(found)), min(options.most, len(found)))
    chosen = [found[number] for number in sorted(drawn)]
    preload()
    begun = time.monotonic()
    if forked(3600.0, options.tests) != 0:
        print("mutants: the tests do not pass as things are", file=sys.stderr)
        return 2
    seconds = 10.0 + 4 * (time.monotonic() - begun)
    survivors = []
    for number, one in enumerate(chosen, 1):
        if forked(seconds, options.tests, one) == 0:
            survivors.append(one)
            print(f"survives  {one}", flush=True)
        elif number % 20 == 0:
            print(f"{number} of {len(chosen)}", file=sys.stderr, flush=True)
    noticed = 1 - len(survivors) / max(1, len(chosen))
    print(f"mutants: {len(chosen)} of {len(found)} tried, {noticed:.1%} noticed")
    return int(noticed < options.least)


if __name__ == "__main__":
    sys.exit(main())
