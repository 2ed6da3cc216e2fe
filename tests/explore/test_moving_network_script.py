"""The moving network's script against the library, and its numbers against the record that they are from."""

from __future__ import annotations

import json

import numpy as np
import oracles
import pytest
from paths import ROOT

from lossnav import records, sgd

RECORD = ROOT / "book" / "results" / "moving-network.json"
LAGS = (1, 3, 7, 17, 40, 90, 210, 490, 1150)
SETTINGS = [
    {"eta": 0.01, "batch": 64, "beta": 0.9},
    {"eta": 0.001, "batch": 8, "beta": 0.5},
    {"eta": 0.03, "batch": 256, "beta": 0.99},
    {"eta": 0.0174, "batch": 33, "beta": 0.777},
]
ALL = """given.map((s) => { const far = M.forecast(s);
  return { far: [1, 2, 3, 10, 100, 1500].map((n) => far[n]), c: [2, 3, 30, 1500].map((n) => M.exponentAt(far, n)),
           run: M.nearestRun(s), T: M.temperature(s) }; })"""


def three(values):
    return [float(f"{value:.3g}") for value in values]


def excerpt(record: records.Record) -> dict:
    """What ``constants.json`` holds of the record: the spectrum of the base, and distances of each run at some lags."""
    base = [run for run in record.results["runs"] if run["sweep"] == "base"]
    curvatures = np.concatenate([np.maximum(np.array(run["nodes"]) + run["setting"]["decay"], 0.0) for run in base])
    noises = np.concatenate([np.array(run["weights"]) / len(base) for run in base])
    edges = np.concatenate([[0.0, 1e-9], np.geomspace(1e-3, 3.0, 29)])
    place = np.digitize(curvatures, edges)
    bins = [k for k in np.unique(place) if noises[place == k].sum() > 0]
    constants = {
        "nodes": three(np.dot(noises[place == k], curvatures[place == k]) / noises[place == k].sum() for k in bins),
        "weights": three(noises[place == k].sum() for k in bins),
        "runs": [],
    }
    settings: dict[tuple[float, int, float], list[dict]] = {}
    for run in record.results["runs"]:
        if run["sweep"] != "epochs":
            key = tuple(run["setting"][name] for name in ("eta", "batch", "beta"))
            settings.setdefault(key, []).append(run)
    for (eta, batch, beta), runs in settings.items():
        lags = np.array(runs[0]["lags"])
        nearest = [int(np.argmin(np.abs(np.log(lags / wanted)))) for wanted in LAGS]
        far = [three(np.array(run["displacement"])[nearest]) for run in runs]
        constants["runs"].append({"eta": eta, "batch": batch, "beta": beta, "lags": lags[nearest].tolist(), "far": far})
    return constants


def test_numbers_are_those_of_the_record():
    held = json.loads((ROOT / "lossnav" / "explore" / "moving_network" / "constants.json").read_text())
    wanted = excerpt(records.load(RECORD))
    assert {name: held[name] for name in wanted} == wanted
    assert len(held["runs"]) == 28 and all(len(run["far"]) == 3 for run in held["runs"])


def test_fewer_nodes_predict_what_the_records_own_do():
    (base, *_) = (run for run in records.load(RECORD).results["runs"] if run["sweep"] == "base")
    options = {"eta": 0.01, "beta": 0.9, "batch": 64, "form": "discrete"}
    steps = np.array([1, 10, 100, 1000])
    curvature = np.maximum(np.array(base["nodes"]) + base["setting"]["decay"], 0.0)
    own = sgd.displacement(curvature, steps, gradient_variance=base["weights"], **options)
    np.testing.assert_allclose(oracles.MovingNetwork().distances(steps), own, rtol=0.08)  # the seeds differ by that


def test_script_predicts_as_the_library_does(moving_network):
    for setting, forecast in zip(SETTINGS, moving_network(ALL, SETTINGS), strict=True):
        widget = oracles.MovingNetwork(**setting)
        np.testing.assert_allclose(forecast["far"], widget.distances([1, 2, 3, 10, 100, 1500]), rtol=1e-9)
        np.testing.assert_allclose(forecast["c"], [widget.exponent(n) for n in (2, 3, 30, 1500)], rtol=1e-8)
        run, same = widget.nearest()
        assert forecast["run"] == {"run": run, "same": same}
        assert forecast["T"] == pytest.approx(widget.temperature(), rel=1e-12)
    assert [oracles.MovingNetwork(**setting).nearest()[1] for setting in SETTINGS] == [True, False, False, False]


def test_the_base_and_cold_settings_are_predicted_and_hot_ones_are_not():
    def ratio(**setting):
        widget = oracles.MovingNetwork(**setting)
        run, same = widget.nearest()
        assert same
        return np.mean(run["far"], axis=0)[5] / widget.distances(run["lags"])[5]  # about 90 steps

    assert ratio() == pytest.approx(1.0, abs=0.1)
    assert ratio(eta=0.003) == pytest.approx(1.0, abs=0.25)
    assert abs(ratio(batch=8) - 1) > 0.25
