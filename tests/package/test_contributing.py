"""The recipes of CONTRIBUTING.md, followed on one copy of the repository: each works, together they break nothing."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import fresh
import node
import pytest
from node import MODULES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (An? \w+)\n(.*?)(?=^## |\Z)", GUIDE, flags=re.MULTILINE | re.DOTALL))
STEP = re.compile(r"<!-- (?P<what>.+?) -->\n```\w+\n(?P<text>.*?)```", re.DOTALL)
PLACED = re.compile(r'(?P<side>after|before|beside) "(?P<anchor>.+)" in (?P<file>\S+)')


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The repository as it is here, without what is built but what Python has compiled, and without its history."""
    folder = tmp_path_factory.mktemp("copy")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
    else:  # an archive of the sources
        files = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        names = [str(path) for path in files if path.parts[0] not in ("_build", ".venv")]
    for inner in {Path(name).parent for name in names}:
        (folder / inner).mkdir(parents=True, exist_ok=True)
        if (compiled := ROOT / inner / "__pycache__").is_dir():
            shutil.copytree(compiled, folder / inner / "__pycache__")
    for name in names:
        shutil.copy2(ROOT / name, folder / name)  # with its time, by which Python knows what it has compiled
    if (checked := ROOT / ".mypy_cache").is_dir():  # what is as it was need not be read again
        shutil.copytree(checked, folder / checked.name)
    for modules in MODULES:  # the bundler
        if modules.is_dir():
            (folder / modules.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            (folder / modules.relative_to(ROOT)).symlink_to(modules)
    return folder


def follow(folder: Path, what: str, text: str) -> None:
    if what.startswith("write "):
        target = folder / what.removeprefix("write ")
        assert not target.exists(), f"{target.name} is there already"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    elif what == "run":
        for line in text.replace("\\\n", "").splitlines():
            run(folder, line)
    else:
        place = PLACED.fullmatch(what)
        assert place, what
        target = folder / place["file"]
        lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
        if place["side"] == "beside":  # in a line, behind what it has once
            (at,) = [n for n, line in enumerate(lines) if place["anchor"] in line]
            lines[at] = lines[at].replace(place["anchor"], place["anchor"] + text.rstrip("\n"), 1)
            target.write_text("".join(lines), encoding="utf-8")
            return
        exact = [n for n, line in enumerate(lines) if line.rstrip("\n") == place["anchor"]]
        (at,) = exact or [n for n, line in enumerate(lines) if line.startswith(place["anchor"])]
        lines.insert(at + (place["side"] == "after"), text)
        target.write_text("".join(lines), encoding="utf-8")


# What ``python`` would do with these words in this folder, in a process that has torch already and nothing of here.
PYTHON = f"""
import os, runpy, sys
from pathlib import Path
for name in [name for name in sys.modules if name.partition(".")[0] == "lossnav"]:
    del sys.modules[name]
for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_"))]:
    del os.environ[name]
ours = Path({str(ROOT)!r})
other = [place for place in sys.path if "site-packages" in place or ours not in (Path(place), *Path(place).parents)]
os.environ["PYTHONPATH"], sys.path[:] = os.getcwd(), [os.getcwd(), *other]
first, *sys.argv[1:] = sys.argv[1:]
if first == "-c":
    exec(sys.argv[1])
elif first == "-m":
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
else:
    sys.path[0] = str(Path(first).resolve().parent)
    sys.path.insert(1, os.getcwd())
    runpy.run_path(first, run_name="__main__")
"""


def run(folder: Path, line: str) -> None:
    python, *words = shlex.split(line.replace("-m pytest ", "-m pytest -p no:cacheprovider -n 0 -m 'not slow' "))
    assert python == "python", line
    done = fresh.run(PYTHON, *words, cwd=folder)
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


STYLE = ("ruff check --no-cache .", "ruff format --no-cache --check .", "mypy --no-error-summary lossnav")
WALKS = (  # the tests that go through a registry, whatever stands in it, but those of metrics, which a recipe runs
    "tests/inputs/test_inputs_walk.py::test_every_public_callable_has_a_recipe_or_a_reason_to_have_none",
    "tests/inputs/test_inputs_walk.py::test_every_argument_has_a_kind",
    "tests/rules/test_assume.py",
    "tests/lab/test_rules_of_the_registry.py",
    "tests/optim/test_torch_matrix.py::test_the_matrix_is_torchs_and_each_optimizer_of_ours_is_in_it",
    "tests/trajectory/test_registry.py::test_auto_is_the_first_that_accepts_and_reasons_are_told",
    "tests/trajectory/test_registry.py::test_a_method_that_declines_says_why_and_which_do_not",
    "tests/package/test_imports.py",
    "tests/package/test_typed.py::test_an_editor_completes_every_name",
)


def test_the_guide_has_its_recipes():
    kinds = ["An equation", "A belief", "A metric", "A solver", "A rule", "An explorable", "A study"]
    assert list(RECIPES) == kinds
    for text in RECIPES.values():
        steps = [step["what"] for step in STEP.finditer(text)]
        assert steps[0].startswith("write ") and steps[-1] == "run"
        assert len(steps) == text.count("```") // 2, "a block that nothing follows"


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(name, copy):
    if name == "An explorable" and node.tool(node.BUNDLER) is None:
        pytest.skip("no esbuild here, which bundles the new explorable; `make book` brings it")
    for step in STEP.finditer(RECIPES[name]):
        follow(copy, step["what"], step["text"])


@pytest.mark.slow
@pytest.mark.parametrize("line", STYLE)
def test_what_was_made_by_recipes_is_in_order(line, copy):
    style = subprocess.run([sys.executable, "-m", *line.split()], cwd=copy, capture_output=True, text=True)
    assert style.returncode == 0, f"{line}\n{style.stdout[-3000:]}"


@pytest.mark.slow
def test_recipes_leave_all_else_green(copy):
    run(copy, f"python -m pytest {' '.join(WALKS)}")
