"""Notebooks and their text agree, and the committed outputs are of one clean run. nbval compares the outputs."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import notebooks
import pictures
import pytest
from notebooks import (
    WIDGET_STATE,
    chapters,
    notebook_path,
    output_problems,
    pair_problems,
    problems,
    reachable,
    read_text,
)
from paths import ROOT, pages

from lossnav import explore


@pytest.mark.parametrize("name", chapters())
def test_pair_agrees(name: str) -> None:
    assert problems(name) == []


def test_every_page_has_a_source_and_every_text_is_in_the_book() -> None:
    for page in pages():
        assert any((ROOT / f"{page}{suffix}").is_file() for suffix in (".md", ".ipynb")), page
    assert {f"book/{name}" for name in chapters()} <= set(pages())


@pytest.mark.parametrize("name", chapters())
def test_a_changed_cell_is_noticed(name: str) -> None:
    notebook = nbformat.read(notebook_path(name), as_version=4)
    assert pair_problems(name, notebook) == []
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.source += "\nchanged = True"
    assert pair_problems(name, notebook) != []


def test_a_warning_an_error_and_a_gap_are_noticed() -> None:
    notebook = read_text(chapters()[0])
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(codes, start=1):
        cell.execution_count = count
    assert output_problems(notebook) == []
    codes[0].outputs = [nbformat.v4.new_output("stream", name="stderr", text="UserWarning: careful")]
    assert "stderr" in output_problems(notebook)[0]
    codes[0].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])]
    assert "ValueError" in output_problems(notebook)[0]
    codes[0].outputs = []
    codes[0].execution_count = 9
    assert "top to bottom" in output_problems(notebook)[0]


def test_only_shown_widgets_keep_their_state() -> None:
    state = {
        "a": {"state": {"layout": "IPY_MODEL_b", "children": ["IPY_MODEL_c"]}},
        "b": {"state": {}},
        "c": {"state": {"nested": {"deep": "IPY_MODEL_b"}}},
        "unseen": {"state": {"layout": "IPY_MODEL_b"}},
    }
    assert list(reachable(state, ["a"])) == ["a", "b", "c"]


def test_explorables_are_renewed_without_executing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "momentum.ipynb"
    shutil.copyfile(notebook_path("momentum"), copy)
    old = nbformat.read(copy, as_version=4)
    for model in old.metadata["widgets"][WIDGET_STATE]["state"].values():
        if "_esm" in model["state"]:
            model["state"]["_esm"], model["state"]["gamma"] = "old", 3.0
    nbformat.write(old, copy)
    monkeypatch.setattr(notebooks, "notebook_path", lambda name: copy)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    asked: list[explore.Explorable] = []
    monkeypatch.setattr(pictures, "write", asked.extend)  # nothing but this test shows these states
    notebooks.renew_explorables("momentum")
    assert len(asked) == 3 and all(widget.gamma == 3.0 for widget in asked)
    new = nbformat.read(copy, as_version=4)
    assert output_problems(new) == []
    held = next(m["state"] for m in new.metadata["widgets"][WIDGET_STATE]["state"].values() if "_esm" in m["state"])
    assert held["_esm"].endswith("export default view.default;\n") and held["gamma"] == 3.0
    outputs = [str(output) for cell in new.cells for output in cell.get("outputs", [])]
    assert any("gamma=3.0" in text and "lossnav-fallback" in text for text in outputs), "the twin shows another state"
