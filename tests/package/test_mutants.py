"""The tool that changes code: what it changes; a test that looks notices it, and one that does not look does not."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from mutants import Noted, forked, mutants, runs, script_mutants, staged, statement, survives
from node import node_command, tool

CODE = '''def ramp(x: "1 + 1", low=0):
    """Not 2 - 1."""
    if x > low and x < 10:
        return -x**2 * 3 + f"{1}".count("1")
    return False


from typing import TYPE_CHECKING
if TYPE_CHECKING:
    low = 1 + 1
'''


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "ramps.py"
    file.write_text(CODE, encoding="utf-8")
    return file


def test_signs_operators_comparisons_numbers_and_truth_values_are_changed_and_texts_are_not(code):
    changes = [(mutant.before, mutant.after) for mutant in mutants(code)]
    assert changes == [
        ("0", "(0 + 1)"), (">", "<="), ("and", "or"), ("<", ">="), ("10", "(10 + 1)"), ("-", "+"), ("**", "*"),
        ("2", "(2 + 1)"), ("*", "/"), ("3", "(3 + 1)"), ("+", "-"), ("False", "True"),
    ]  # fmt: skip
    assert [mutant.before for mutant in mutants(code, {4}, arithmetic=True)] == ["-", "**", "*", "+"]
    for mutant in mutants(code):
        compile(mutant.text(), "x", "exec")


SCRIPT = """import SHARED from "./constants.json" with { type: "json" };
// not 2 - 1, but 𝐀
/** @param {number} x */
export const ramp = (x) => x > -0.5 && x !== SHARED.low ? -(x ** 2) / 3 + Number("1" + "2") : `${x}` === "a - b";
export const far = (x = 1e3, on = true) => (on ? x : null) ?? /a - b/.test("c");
"""


@pytest.mark.skipif(node_command() is None or tool("acorn/package.json") is None, reason="no node or no acorn here")
def test_of_scripts_the_same_is_changed(tmp_path):
    file = tmp_path / "ramp.js"
    file.write_text(SCRIPT, encoding="utf-8")
    changes = [(mutant.line, mutant.before, mutant.after) for mutant in script_mutants(file)]
    assert changes == [
        (4, ">", "<="), (4, "-", "+"), (4, "0.5", "(0.5 + 1)"), (4, "&&", "||"), (4, "!==", "==="), (4, "-", "+"),
        (4, "**", "*"), (4, "2", "(2 + 1)"), (4, "/", "*"), (4, "3", "(3 + 1)"), (4, "+", "-"),
        (5, "1e3", "(1e3 + 1)"), (5, "true", "false"), (5, "??", "&&"),
    ]  # fmt: skip
    for mutant, (_, before, after) in zip(script_mutants(file), changes, strict=True):
        assert mutant.text() == SCRIPT[: mutant.begin] + after + SCRIPT[mutant.begin + len(before) :]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
@pytest.mark.slow
def test_scripts_are_changed_on_a_stage():
    stage = staged()
    changed, linked = (stage / "lossnav" / "explore" / "simple.js", stage / "data")
    assert changed.is_file() and not changed.is_symlink() and linked.is_symlink()
    assert (stage / "tests" / "mutants.py").is_file()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.slow
def test_a_test_that_looks_notices_and_one_that_does_not_look_does_not(code, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, line in (("sees", "assert ramp(3.0) == -26"), ("blind", "ramp(3.0)"), ("far", "assert ramp(0) is False"),
                       ("fails", "assert ramp(3.0) == 3")):  # fmt: skip
        Path(f"test_{name}.py").write_text(f"def test_it():\n    from ramps import ramp\n    {line}\n")
    square, default = (next(mutant for mutant in mutants(code) if mutant.before == sign) for sign in ("**", "0"))
    flags = ["-c", os.devnull, "--rootdir", str(tmp_path)]
    everything = ["test_blind.py::test_it", "test_far.py::test_it", "test_sees.py::test_it"]
    for blind in (False, True):
        tests = [name.split("::")[0] for name in everything if not (blind and "sees" in name)]
        assert forked(60, ["test_fails.py", *tests, *flags], Noted(tmp_path, tmp_path)) == 1
        assert "fails" in (tmp_path / "failed.json").read_text() and "fails" not in str(runs(tmp_path, square))
        near, others = runs(tmp_path, square)
        assert [*near, *others] == [name for name in everything if name.split("::")[0] in tests and "far" not in name]
        assert survives(tmp_path, square, flags) == blind
        assert all(name in runs(tmp_path, default)[0] for name in everything if name.split("::")[0] in tests)


HEADS = """def f(
    low=0,
):
    if (
        low
    ):
        return (1 +
                2)
    return low
"""


def test_the_statement_of_a_line_is_the_smallest_and_of_one_with_a_body_its_head():
    tree = ast.parse(HEADS)
    assert [statement(tree, line) for line in (2, 5, 8, 9)] == [(1, 3), (4, 6), (7, 8), (9, 9)]
