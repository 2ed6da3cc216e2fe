"""The tool that changes code: what it changes; a test that looks notices it, and one that does not look does not."""

from __future__ import annotations

import os

import pytest
from mutants import forked, mutants

CODE = '''def ramp(x: "1 + 1", low=0):
    """Not 2 - 1."""
    if x > low and x < 10:
        return -x**2 * 3 + f"{1}".count("1")
    return False
'''


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "ramps.py"
    file.write_text(CODE, encoding="utf-8")
    return file


def test_signs_operators_comparisons_numbers_and_truth_values_are_changed_and_texts_are_not(code):
    found = [(one.before, one.after) for one in mutants(code)]
    assert found == [
        ("0", "(0 + 1)"), (">", "<="), ("and", "or"), ("<", ">="), ("10", "(10 + 1)"), ("-", "+"), ("**", "*"),
        ("2", "(2 + 1)"), ("*", "/"), ("3", "(3 + 1)"), ("+", "-"), ("False", "True"),
    ]  # fmt: skip
    assert [one.before for one in mutants(code, {4}, arithmetic=True)] == ["-", "**", "*", "+"]
    for one in mutants(code):
        compile(one.text(), "x", "exec")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.slow
def test_a_test_that_looks_notices_and_one_that_does_not_look_does_not(code, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, line in (("sees", "assert ramp(3.0) == -26"), ("blind", "ramp(3.0)")):
        (tmp_path / f"test_{name}.py").write_text(f"from ramps import ramp\n\n\ndef test_it():\n    {line}\n")
    (square,) = [one for one in mutants(code) if one.before == "**"]
    sees, blind = (
        ["-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path / f"test_{n}.py")] for n in ("sees", "blind")
    )
    assert [forked(60, sees), forked(60, blind), forked(60, blind, square)] == [0, 0, 0]
    assert forked(60, sees, square) == 1
