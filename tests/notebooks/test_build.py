"""Executing the notebooks of the book: what fails is told in full, and not kept."""

from __future__ import annotations

import os
from pathlib import Path

import build
import forks
import nbformat
import notebooks
import pytest

CELLS = {"sound": "print(1 + 1)", "broken": "side = 2\nassert side == 3, 'a square has no such side'"}


def read(name: str) -> nbformat.NotebookNode:
    cell = nbformat.v4.new_code_cell(CELLS[name], id=name)
    return nbformat.v4.new_notebook(metadata={"kernelspec": notebooks.KERNEL}, cells=[cell])


@pytest.mark.slow
def test_a_notebook_that_fails_is_told_in_full_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebooks, "longest_first", lambda: list(CELLS))
    monkeypatch.setattr(notebooks, "read_text", read)
    monkeypatch.setattr(notebooks, "KERNELS_LOG", tmp_path / "kernels.log")
    assert build.execute_side_by_side(tmp_path / "cache") == 1
    output = capfd.readouterr()
    assert "broken FAILED" in output.err and CELLS["broken"] in output.err and "a square has no such side" in output.err
    assert "IPKernelApp" not in output.out + output.err
    assert list(build.pending(tmp_path / "cache")) == ["broken"]


@pytest.mark.slow
@pytest.mark.skipif(not forks.FORKS, reason="kernels are forked under Linux")
def test_a_kernel_that_does_not_begin_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "KERNEL", "raise SystemExit('nothing to compute with')")
    with pytest.raises(RuntimeError, match="ended before it began: nothing to compute with"):
        forks.Kernel(["-f", "connection.json"], cwd=str(tmp_path), env=dict(os.environ))
