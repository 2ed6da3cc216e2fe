"""Records that are made again, by a real study in a process of its own, and compared."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import pytest
import reproduce
from paths import BOOK

from lossnav.lab import records


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of records with the shortest of the book's, of which the runs go elsewhere."""
    monkeypatch.setattr(reproduce, "FOLDER", tmp_path / "again")
    folder = tmp_path / "results"
    folder.mkdir()
    records.save(folder / "cifar10-opening.json", records.load(BOOK / "results" / "cifar10-opening.json"))
    return folder


@pytest.mark.slow
def test_a_study_is_made_again_and_what_differs_is_told(results, capsys, tmp_path):
    old = records.load(results / "cifar10-opening.json")
    assert reproduce.main([], results) == 0
    row = (tmp_path / "again" / "report.md").read_text().splitlines()[-1]
    assert row.startswith("| cifar10-opening |") and row == capsys.readouterr().out.splitlines()[-1]
    new = records.load(tmp_path / "again" / "cifar10-opening.json")
    for run, old_run in zip(new.results, old.results, strict=True):  # sums are rounded differently on other processors
        assert run["train_loss"][0] == pytest.approx(old_run["train_loss"][0], rel=0.01)
    changed = dataclasses.replace(new, results=json.loads(json.dumps(new.results).replace("0.", "0.9", 1)))
    assert "DIFFERS" in reproduce.Outcome(changed, new).line()
    assert "| equal |" in reproduce.Outcome(new, new).line()
    assert "could not be made: no data" in reproduce.Outcome(old, None, "no data").line()


def test_numbers_are_compared_and_clocks_are_not():
    old = {"loss": [1.0, float("nan"), 2.0], "seconds": 3.0, "name": "a"}
    assert all(reproduce.apart(a, b) == 0 for _, a, b in reproduce.pairs(old, {**old, "seconds": 4.0}))
    changed = {**old, "loss": [1.0, float("nan"), 2.5], "name": "b", "more": 0}
    gaps = {place: reproduce.apart(a, b) for place, a, b in reproduce.pairs(old, changed)}
    assert gaps["loss[2]"] == pytest.approx(0.2)
    assert gaps["name"] == gaps["more"] == float("inf")


def outcome(results, **new):
    old = records.new(command="x", config={}, seeds=[0], data={"label": "x"}, results=results, duration=1, device="a")
    return reproduce.Outcome(old, dataclasses.replace(old, device="b", results=[{**results[0], **new}])).line()


def test_median_and_maximum_are_of_measured_numbers_alone():
    row = {"rule": "sgd", "lr": 0.1, "seed": 0, "precision": "float32", "loss": [1.0, 2.0, 4.0]}
    line = outcome([row], precision="bfloat16", loss=[1.25, 2.0, 5.0])
    assert "| another machine | 3 | 0.2, at most 0.2 (`[0].loss[2]`) |" in line
    assert "| DIFFERS | 3 |  and not in numbers alone (`[0].rule`) |" in outcome([row], rule="adam")
    assert "| DIFFERS | 3 |" in outcome([row], lr=0.2) and "at most inf" in outcome([row], loss=[1.0, None, 4.0])


def test_runs_of_other_code_are_not_used_again(monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "FOLDER", tmp_path)
    for revision, status, name in (
        ("a1", "", "a1"),
        ("b2", "", "b2"),
        ("b2", " M x", "changes"),
        ("unknown", "", "changes"),
    ):
        monkeypatch.setattr(records, "revision", lambda revision=revision: revision)
        said = subprocess.CompletedProcess([], 0, status)
        monkeypatch.setattr(reproduce.subprocess, "run", lambda *_, said=said, **__: said)
        folder = reproduce.kept()
        assert folder == tmp_path / "runs" / name and not folder.exists()
        folder.mkdir(parents=True)
        assert reproduce.kept().exists() == (name != "changes")


def test_the_shortest_are_taken_as_far_as_the_hours_last():
    stored = [records.load(path) for path in sorted((BOOK / "results").glob("*.json"))]
    taken = reproduce.chosen(stored, [], 0.1)
    assert 0 < sum(record.duration for record in taken) <= 360
    assert max(record.duration for record in taken) < min(record.duration for record in stored if record not in taken)
    assert reproduce.chosen(stored, ["root-known"], 1.0)[0].study == "root-known"
    with pytest.raises(SystemExit, match="no record 'nothing'"):
        reproduce.chosen(stored, ["nothing"], 1.0)
