"""Records that are made again, by a real study in a process of its own, and compared."""

from __future__ import annotations

import dataclasses
import json

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
    for now, then in zip(new.results, old.results, strict=True):  # sums are rounded differently on other processors
        assert now["train_loss"][0] == pytest.approx(then["train_loss"][0], rel=0.01)
    here = dataclasses.replace(new, results=json.loads(json.dumps(new.results).replace("0.", "0.9", 1)))
    assert "DIFFERS" in reproduce.Outcome(here, new).line()
    assert "| equal |" in reproduce.Outcome(new, new).line()
    assert "could not be made: no data" in reproduce.Outcome(old, None, "no data").line()


def test_numbers_are_compared_and_clocks_are_not():
    old = {"loss": [1.0, float("nan"), 2.0], "seconds": 3.0, "name": "a"}
    assert all(reproduce.apart(a, b) == 0 for _, a, b in reproduce.pairs(old, {**old, "seconds": 4.0}))
    other = {**old, "loss": [1.0, float("nan"), 2.5], "name": "b", "more": 0}
    found = {place: reproduce.apart(a, b) for place, a, b in reproduce.pairs(old, other)}
    assert found["loss[2]"] == pytest.approx(0.2)
    assert found["name"] == found["more"] == float("inf")


def test_the_shortest_are_taken_as_far_as_the_hours_last():
    found = [records.load(path) for path in sorted((BOOK / "results").glob("*.json"))]
    taken = reproduce.chosen(found, [], 0.1)
    assert 0 < sum(one.duration for one in taken) <= 360
    assert max(one.duration for one in taken) < min(one.duration for one in found if one not in taken)
    assert reproduce.chosen(found, ["root-known"], 1.0)[0].study == "root-known"
    with pytest.raises(SystemExit, match="no record 'nothing'"):
        reproduce.chosen(found, ["nothing"], 1.0)
