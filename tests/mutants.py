"""Mutants: does some test fail if the code says something else? Prints those that no test notices.

    python tests/mutants.py lossnav/rules/looking.py --tests tests/rules/test_looking.py [--most 60] [--seed 0]

Without a room it is the wing that the seed, the day of the year for one, falls on, and without tests they are all of
the package's. They run once as things are, to note which enters which line: a mutant meets those that enter its own.
A mutant is one file with one sign, operator, comparison, number or truth value changed. Nothing is written: a process
that has numpy, scipy and torch is forked for each mutant, and imports the changed text in the place of the file's. A
script of an explorable is read by node and by esbuild, so its text is changed in a copy of the tree, where the tests
then run. (Linux and macOS: it needs fork.)
"""

from __future__ import annotations

import argparse
import ast
import atexit
import functools
import importlib.machinery
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "book" / "_tools"
WINGS = ("problem", "euler_lagrange", "trajectory", "rules", "analysis", "optim", "lab", "cli", "explore")
NO_TESTS = 5  # what pytest returns if none of the chosen ones is there any more
LOOKING = [f"tests/{room}" for room in (*WINGS, "equations", "figures", "inputs")]  # not at pages or at the project
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*"),
    ast.MatMult: ("@", "*"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "+"),
    ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
SCRIPT_OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "%": "+", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
    "===": "!==", "!==": "===", "&&": "||", "||": "&&", "??": "&&",
}  # fmt: skip
# Of each node that may change: its kind, its place, and where an operator stands between two others.
READ = """
const { parse } = require(process.argv[1]), found = [];
const text = (node) => node.type === "TemplateLiteral" || typeof node.value === "string";
const walk = (node) => {
  if (!node || typeof node !== "object" || node.type === "ImportDeclaration") return;
  if (["BinaryExpression", "LogicalExpression"].includes(node.type) && ![node.left, node.right].some(text))
    found.push([node.operator, node.left.end, node.right.start]);
  if (node.type === "UnaryExpression" && node.operator === "-") found.push(["minus", node.start, node.start + 1]);
  if (node.type === "Literal" && ["number", "boolean"].includes(typeof node.value))
    found.push([typeof node.value, node.start, node.end]);
  for (const part of Object.values(node)) [part].flat().forEach(walk);
};
walk(parse(require("fs").readFileSync(0, "utf8"), { ecmaVersion: "latest", sourceType: "module" }));
console.log(JSON.stringify(found));
"""


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
            replacement = not node.value if isinstance(node.value, bool) else f"({source[begin:end]} + 1)"
            yield Mutant(file, node.lineno, begin, end, source[begin:end], str(replacement))
        elif isinstance(node, ast.Compare) and not arithmetic:
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, OPERATORS.get(type(op), ("\0", "")))
        elif isinstance(node, ast.BoolOp) and not arithmetic:
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, OPERATORS[type(node.op)])

    candidates = [m for node in _code(ast.parse(source), indices=not arithmetic) for m in changes(node)]
    return sorted((m for m in candidates if lines is None or m.line in lines), key=lambda m: m.begin)


def script_mutants(file: Path) -> list[Mutant]:
    """Return the mutants of a script in order; node and acorn, which npm brings with ESLint, read it."""
    sys.path.insert(0, str(TOOLS))
    from node import node_command, tool

    command, parser = node_command(), tool("acorn/package.json")
    if command is None or parser is None:
        raise SystemExit("mutants: scripts are changed where node and acorn are: make install")
    source = file.read_text(encoding="utf-8")
    units = source.encode("utf-16-le")  # in which JavaScript counts
    asked = [*command, "-e", READ, str(Path(parser[-1]).parent)]
    done = subprocess.run(asked, input=source, capture_output=True, text=True, encoding="utf-8", check=True)
    candidates = []
    for what, *place in json.loads(done.stdout):
        begin, end = (len(units[: 2 * at].decode("utf-16-le")) for at in place)
        if what in SCRIPT_OPERATORS:
            begin = source.index(what, begin, end)
            end, after = begin + len(what), SCRIPT_OPERATORS[what]
        elif what == "number":
            after = f"({source[begin:end]} + 1)"
        elif what == "boolean":
            after = "false" if source[begin:end] == "true" else "true"
        elif what == "minus":
            after = "+"
        else:
            continue
        candidates.append(Mutant(file, source.count("\n", 0, begin) + 1, begin, end, source[begin:end], after))
    return sorted(candidates, key=lambda mutant: mutant.begin)


def _code(tree: ast.AST, indices: bool) -> Iterator[ast.AST]:
    """Walk what is run: not what is of types, nor texts with places in them; ``indices``: also what only says where."""
    for name, field in ast.iter_fields(tree):
        if not indices and (name == "slice" or getattr(tree, "arg", None) == "axis"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr) or name in ("annotation", "returns"):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            yield node
            yield from _code(node, indices)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
               for part in (node.left, node.right))  # fmt: skip


def changeable(room: Path) -> list[Path]:
    """The files of a folder that may change: of the explorables those that compute what is drawn, the models."""
    if "explore" in room.parts:
        return sorted(room.rglob("model.js"))
    return sorted(room.rglob("*.py"))


def preload() -> None:
    """Import what every run needs and no mutant changes."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    for name in ("numpy", "scipy.integrate", "scipy.optimize", "scipy.interpolate", "sympy", "torch", "pytest",
                 "yaml", "hypothesis", "playwright.sync_api", "sympy.physics.units"):  # fmt: skip
        __import__(name)


def forked(seconds: float, arguments: Sequence[str], plugin: object, mutant: Mutant | None = None) -> int | None:
    """Run pytest in a process of its own; return what it returns (0: all passed), None if the time was up."""
    stage = staged() if mutant is not None and mutant.file.suffix == ".js" else None

    def run() -> int:
        if mutant is not None and stage is not None:
            play(mutant, stage)
        elif mutant is not None:
            take(mutant)
        return quiet(arguments, plugin)

    return apart(seconds, run)


def quiet(arguments: Sequence[str], *plugins: object) -> int:
    """Run pytest here, without a word."""
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    return int(pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", "--assert=plain", *arguments], plugins))


class Noted:
    """A plugin of pytest: notes which lines of the package each test enters and how long it takes, or that it fails."""

    def __init__(self, notes: Path, source: Path = ROOT / "lossnav") -> None:
        from coverage import Coverage

        self.notes, self.seconds, self.failed = notes, dict[str, float](), list[str]()
        self.coverage = Coverage(data_file=str(notes / "lines"), source=[str(source)], config_file=False)

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        passed = {name: took for name, took in self.seconds.items() if name not in self.failed}
        (self.notes / "seconds.json").write_text(json.dumps(passed), encoding="utf-8")
        (self.notes / "failed.json").write_text(json.dumps(self.failed), encoding="utf-8")


class Chosen:
    """A plugin of pytest: runs these tests and no others, the shortest first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.seconds), key=lambda i: self.seconds[i.nodeid])


def statement(tree: ast.AST, line: int) -> tuple[int, int]:
    """Return the first and the last line of the smallest statement around a line: of one with a body, of its head."""
    first, last = 1, 10**9
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)) and node.lineno <= line <= (node.end_lineno or 0):
            head = [part.lineno - 1 for part in getattr(node, "body", [])[:1]]
            end = max(node.lineno, *head) if head else node.end_lineno or 0
            if line <= end and node.lineno >= first:
                first, last = node.lineno, end
    return first, last


def within_a_function(tree: ast.AST, line: int) -> bool:
    """Whether a line is run when something is called, and not at the file's import."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            body = node.body[0] if isinstance(node.body, list) else node.body
            if body.lineno <= line <= (node.end_lineno or 0):
                return True
    return False


def runs(notes: Path, mutant: Mutant) -> list[dict[str, float]]:
    """Return the tests that a mutant has to survive, with their seconds: first those that enter its statement, or are
    called like a script's folder; then the others of the files in which these stand, for one that finds a value in a
    cache depends on lines that it does not enter. What runs at a file's import concerns all that enter the file.
    """
    from coverage import CoverageData

    seconds: dict[str, float] = json.loads((notes / "seconds.json").read_text(encoding="utf-8"))
    if mutant.file.suffix == ".js":
        near = {name for name in seconds if mutant.file.parent.name in name}
        files = {name.split("::")[0] for name in seconds}
    else:
        data = CoverageData(str(notes / "lines"))
        data.read()
        entered = {line: {*names} - {""} for line, names in data.contexts_by_lineno(str(mutant.file)).items()}
        tree = ast.parse(mutant.file.read_text(encoding="utf-8"))
        first, last = statement(tree, mutant.line) if within_a_function(tree, mutant.line) else (1, math.inf)
        within = [names for line, names in entered.items() if first <= line <= last and names]
        near = set().union(*(within or entered.values()))
        files = {name.split("::")[0] for name in near}
    others = {name for name in seconds if name.split("::")[0] in files} - near
    return [{name: took for name, took in seconds.items() if name in part} for part in (near, others)]


def survives(notes: Path, mutant: Mutant, flags: Sequence[str]) -> bool:
    """Return whether all tests pass that could notice."""
    for wanted in runs(notes, mutant):
        files = sorted({name.split("::")[0] for name in wanted})
        seconds = 10.0 + 4 * sum(wanted.values())
        if wanted and forked(seconds, ["-x", *files, *flags], Chosen(wanted), mutant) not in (0, NO_TESTS):
            return False
    return True


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


@functools.cache
def staged() -> Path:
    """A copy of what tests of scripts read, beside links to the rest; it goes with this process."""
    stage = Path(tempfile.mkdtemp(prefix="lossnav-mutants-"))
    atexit.register(shutil.rmtree, stage, ignore_errors=True)
    copied = ("lossnav", "tests", "book/_tools", "book/_ext")
    (stage / "book").mkdir()
    for name in copied:
        shutil.copytree(ROOT / name, stage / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.iterdir(), *(ROOT / "book").iterdir()]:
        place = stage / path.relative_to(ROOT)
        if not place.exists() and path.name != ".git":
            place.symlink_to(path)
    return stage


def play(mutant: Mutant, stage: Path) -> None:
    """Go to the stage, where this script is changed and no other, and bundle what imports it."""
    for script in (ROOT / "lossnav" / "explore").rglob("*.js"):
        place, text = stage / script.relative_to(ROOT), script.read_text(encoding="utf-8")
        if script == mutant.file:
            place.write_text(mutant.text(), encoding="utf-8")
        elif script.name != "bundle.js" and place.read_text(encoding="utf-8") != text:  # the one before
            place.write_text(text, encoding="utf-8")
    os.chdir(stage)
    ours = {ROOT, ROOT / "tests", TOOLS}
    sys.path = [str(stage), str(stage / "book" / "_tools"), *(p for p in sys.path if Path(p) not in ours)]
    for name in ("node", "paths"):  # those of the tree
        sys.modules.pop(name, None)
    import bundles

    bundles.write()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("room", type=Path, nargs="*", help="files or folders to change")
    parser.add_argument("--tests", nargs="+", default=[], help="what pytest is to run")
    parser.add_argument("--most", type=int, default=60, help="how many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.0, help="the share to be noticed, else the exit status is 1")
    parser.add_argument("--notes", type=Path, help="a folder that keeps, or has, what the tests' run notes")
    options = parser.parse_args()
    os.chdir(ROOT)
    if not options.room:
        options.room = [Path("lossnav", WINGS[options.seed % len(WINGS)])]
    files = [file for room in options.room for file in (changeable(room) if room.is_dir() else [room])]
    if not options.tests:
        options.tests = ["tests/explore"] if any(file.suffix == ".js" for file in files) else LOOKING.copy()
        options.tests += ["-m", "not browser"]
    flags = [word for word in options.tests if not Path(word.split("::")[0]).exists()]
    pool = [m for file in files for m in (script_mutants if file.suffix == ".js" else mutants)(file.resolve())]
    drawn = random.Random(options.seed).sample(range(len(pool)), min(options.most, len(pool)))
    preload()
    with tempfile.TemporaryDirectory(prefix="lossnav-mutants-") as folder:
        notes = options.notes or Path(folder)
        notes.mkdir(parents=True, exist_ok=True)
        if not (notes / "failed.json").exists() and forked(6 * 3600.0, options.tests, Noted(notes)) not in (0, 1):
            print("mutants: the tests do not run as things are", file=sys.stderr)
            return 2
        # Written last, it says that the others are whole.
        for name in json.loads((notes / "failed.json").read_text(encoding="utf-8")):
            print(f"mutants: {name} fails as things are, and is left out", file=sys.stderr)
        survivors = []
        for number, mutant in enumerate((pool[number] for number in drawn), 1):
            if survives(notes, mutant, flags):
                survivors.append(mutant)
                print(f"survives  {mutant}", flush=True)
            elif number % 20 == 0:
                print(f"{number} of {len(drawn)}", file=sys.stderr, flush=True)
    noticed = 1 - len(survivors) / max(1, len(drawn))
    print(f"mutants: {len(drawn)} of {len(pool)} tried, {noticed:.1%} noticed")
    return int(noticed < options.least)


if __name__ == "__main__":
    sys.exit(main())
