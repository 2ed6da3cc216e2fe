"""The front door is typed: editors complete it, and two type checkers find what is wrong in a user's script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import fresh
import jedi
import pytest

import lossnav as ln

ROOT = Path(__file__).parents[2]
USERS = Path(__file__).parent / "users"
BEGIN = "import lossnav as ln\n"

jedi.settings.use_filesystem_cache = False  # to keep what was read of numpy and torch takes longer than to read it


def completed(code):
    return {completion.name for completion in jedi.Script(BEGIN + code).complete()}


def signatures(code):
    return [signature.to_string() for signature in jedi.Script(BEGIN + code).get_signatures()]


def test_an_editor_completes_every_name():
    assert {name for name in ln.__all__ if name != "__version__"} <= completed("ln.")
    assert {*ln.explore.__all__} <= completed("ln.explore.") and {*ln.figures.__all__} <= completed("ln.figures.")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("ln.losses.", ln.losses.__all__),
        ("ln.optim.", ln.optim.__all__),
        ("ln.noether.", ln.noether.__all__),
        ("ln.belief.", ["HiddenWeights", "Memory"]),
        ("ln.Objective().", ["gamma", "metric_at"]),
        ("ln.solve(ln.Objective(), ln.losses.DoubleWell(), [0.0, 1.0]).", ["action", "asymptote", "velocity"]),
        ("ln.derive(ln.Objective()).", ["equations", "optimizer"]),
        ("ln.euler_lagrange(ln.Objective(), ln.losses.DoubleWell()).", ["equations", "latex"]),
    ],
)
def test_an_editor_completes_rooms_and_results(code, names):
    assert {*names} <= completed(code)


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("ln.Objective(", ["gamma: float", "drift: Drift | None"]),
        ("ln.solve(", ["objective: Objective, loss: Loss | ", "theta0: ArrayLike", "method: Method", "-> Trajectory"]),
        ("ln.derive(", ["belief: assume.Filter | None", "-> LearningRule"]),
        ("ln.euler_lagrange(", ["objective: Objective, loss: Loss", "-> EulerLagrange"]),
        ("ln.optim.Ballistic(", ["params: ParamsT", "lr: float | Tensor"]),
        ("ln.watch(", ["optimizer: torch.optim.Optimizer"]),
    ],
)
def test_an_editor_shows_what_a_call_takes(code, parts):
    shown = signatures(code)
    assert shown and all(part in text for part in parts for text in shown)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the interpreter of an environment in which the package is installed, as a user has it."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    places = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    paths = [str(ROOT), *(place for place in sys.path if Path(place).name == "site-packages")]
    Path(places["purelib"], "user.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return str(Path(places["scripts"], "python"))


def checked(arguments, folder):
    """Return what a checker prints; it finds something, so that it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(
        [sys.executable, "-m", *arguments, *map(str, sorted(USERS.glob("*.py")))],
        capture_output=True, text=True, cwd=folder, env=environment,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def by_mypy(python, folder):
    cache = ROOT / ".mypy_cache" / "users"
    output = checked(["mypy", "--config-file=", "--cache-dir", str(cache), "--python-executable", python], folder)
    return {(Path(file).name, int(line)) for file, line in re.findall(r"^(.+?):(\d+): error: ", output, re.MULTILINE)}


def by_pyright(python, folder):
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}', encoding="utf-8")
    report = json.loads(checked(["basedpyright", "--pythonpath", python, "--outputjson"], folder))
    return {(Path(issue["file"]).name, issue["range"]["start"]["line"] + 1) for issue in report["generalDiagnostics"]}


@pytest.mark.slow
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_a_checker_finds_each_error_of_a_wrong_script_and_none_in_a_right_one(checker, installed, tmp_path):
    lines = (USERS / "wrong.py").read_text(encoding="utf-8").splitlines()
    marked = {("wrong.py", number) for number, line in enumerate(lines, 1) if "  # wrong: " in line}
    assert len(marked) >= 50
    assert checker(installed, tmp_path) == marked


@pytest.mark.slow
def test_the_right_script_runs(tmp_path):
    done = fresh.run((USERS / "right.py").read_text(encoding="utf-8"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nearly_all_that_is_public_has_a_known_type(installed, tmp_path):
    scripts = Path(installed).parent
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--verifytypes", "lossnav", "--ignoreexternal", "--outputjson"],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(scripts.parent)},
    )  # fmt: skip
    completeness = json.loads(done.stdout)["typeCompleteness"]
    assert completeness["exportedSymbolCounts"]["withKnownType"] > 3000, "the package was not found"
    assert completeness["completenessScore"] >= 0.95, completeness["exportedSymbolCounts"]
