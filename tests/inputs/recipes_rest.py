"""Recipes of experiments, records, sweeps and the figures' style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from bad_values import (
    NAN,
    Argument,
    Odd,
    file,
    flag,
    function,
    items,
    number,
    positive,
    rate,
    text,
    thing,
    whole,
    word,
)
from recipes_torch import MODEL, SET, SEVERAL, count, device
from walk import Recipe

from lossnav import experiment, figures, records, sweep

RUN = experiment.Experiment(data="digits", model_options={"hidden": [2]}, lr=0.1)
TASKS = experiment.Experiment(data="digits", stream="permuted", tasks=1, batch_size=2)
RECORD = records.Record("x", {}, [0], {"label": "made here"}, [], 0.0, "cpu", "unknown", {})
FINISHED = sweep.Finished(RUN, None, "")
_, AXES = plt.subplots()
(LINE,) = AXES.plot([0.0, 1.0], [0.0, 1.0])
plt.close("all")

options = Argument({}, ["x", 0, 1.5, NAN, True, 1j, None, [], [1.0], Odd(), len, {1: 2}, {"x"}, 10**400])


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {**_experiments(), **_records(), **_style()}


def _experiments() -> dict[str, Recipe]:
    settings = {
        "data": word("digits"), "stream": word("iid"), "stream_options": options, "tasks": whole(None, none=True),
        "loss": word("cross_entropy"), "validation": whole(None, none=True), "model": word("mlp"),
        "optimizer": word("sgd"), "lr": positive(0.1, none=True), "options": options, "model_options": options,
        "epochs": whole(1), "batch_size": count, "clip": positive(5.0, none=True),
        "seed": whole(0, low=0, high=2**63 - 1), "augment": flag(False),
        "precision": word("float32"), "memory_format": word("auto"), "compile": flag(False),
        "train_size": whole(None, none=True), "test_size": whole(None, none=True), "device": _words("cpu"),
    }  # fmt: skip
    how = {
        "root": file(None), "download": flag(False), "dataset": thing(SET, none=True), "progress": flag(False),
    }  # fmt: skip
    run_kind = Argument(RUN, [*thing(RUN).bad])
    compared: dict[str, Any] = {"trials": {"sgd": [RUN]}, "tuning_seeds": (0,), "seeds": (1,)}
    return {
        "experiment.Experiment": Recipe(experiment.Experiment, settings),
        "experiment.Experiment.of": Recipe(experiment.Experiment.of, {
            "values": Argument({}, ["x", 0, 1.5, None, [], Odd(), len, 1j, {1: 2}, {"colour": 1}, {"lr", 0.1}],
            ("setting",))
        }),
        "experiment.run": Recipe(experiment.run, {
            "experiment": run_kind, **how, "checkpoint": file(None), "resume": flag(False), "distributed": flag(False),
            "device": device,
        }, costly=True),
        "experiment.make_stream": Recipe(experiment.make_stream, {
            "experiment": Argument(TASKS, [*run_kind.bad, RUN]), "dataset": thing(SET)
        }),
        "experiment.make_stepper": Recipe(experiment.make_stepper, {
            "experiment": run_kind, "ensemble": Argument(SEVERAL, [*thing(SEVERAL).bad, MODEL])
        }),
        "experiment.make_model": Recipe(experiment.make_model, {"experiment": run_kind, "dataset": thing(SET)}),
        "experiment.make_optimizer": Recipe(experiment.make_optimizer, {
            "experiment": run_kind, "parameters": Argument(list(MODEL.parameters()), [
                "x", 0, 1.5, NAN, True, None, 1j, [], [1.0], {}, Odd(), len, int, ["x"], [None],
            ])
        }),
        "sweep.run": Recipe(sweep.run, {
            "wanted": items([RUN], bad=[[RUN, 1.0], RUN]), "folder": file("no such folder", none=False),
            "workers": whole(None, none=True), "threads": whole(1), "cluster": _words(None), "root": file(None),
            "download": flag(False), "attempts": whole(3), "checkpoints": file(None),
        }, costly=True),
        "sweep.every": Recipe(sweep.every, {
            "wanted": items([RUN], bad=[[RUN, 1.0], RUN]), "folder": file("no such folder", none=False),
        }, costly=True),
        "sweep.compare": Recipe(sweep.compare, {
            "comparison": thing(sweep.Comparison(**compared)), "folder": file("no such folder", none=False),
        }, costly=True),
        "sweep.Comparison.judged": Recipe(sweep.Comparison(**compared).judged, {
            "best": Argument({"sgd": RUN}, ["x", 0, 1.5, None, Odd(), len, [RUN], {"sgd": 1.0}])
        }),
        "sweep.Comparison": Recipe(sweep.Comparison, {
            "trials": Argument(compared["trials"], [
                *thing({}).bad[:1], 0, 1.5, None, Odd(), len, {"sgd": 1.0}, {"sgd": []}, {"sgd": [1.0]}, {"sgd": RUN},
                {}, [],
            ]),
            "tuning_seeds": items((0,), bad=[(), (0.7,), (True,), (-1,), (NAN,), (1,)]),
            "seeds": items((1,), bad=[(), (0.7,), (True,), (-1,), (NAN,), (0,)]),
            "tuning": options, "judging": options, "score": function(len), "lower_is_better": flag(False),
        }),
        "sweep.grid": Recipe(sweep.grid, {
            "axes": Argument({"lr": [0.1]}, ["x", 0, 1.5, None, [], Odd(), len, 1j, {"lr": 0.1}, {"lr": []},
            {"lr": "0.1"},
                                             {1: [1]}, {"lr": {0.1}}, {"lr": None}]),
            "seeds": items((0,), bad=[(), (0.7,), (True,), (-1,), (NAN,)]), "base": Argument(None, options.bad[:6]),
        }),
        "sweep.read_grids": Recipe(sweep.read_grids, {"path": file(_grid_file(), none=False)}),
        "sweep.summarise": Recipe(sweep.summarise, {"finished": items([FINISHED], bad=[[FINISHED, 1.0], FINISHED])}),
    }  # fmt: skip


def _words(good: Any) -> Argument:
    """A word that is no list of words, or None where that is the default."""
    bad = [0, 1, 1.5, NAN, True, 1j, [], ["x"], (), {}, b"x", Odd(), len, int, 10**400, "" if good else 1.0]
    return Argument(good, bad if good is None else [*bad, None])


def _folder() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp())


def _grid_file() -> Path:
    path = _folder() / "grid.toml"
    path.write_text('data = "digits"\n[[grid]]\nlr = [0.1]\n', encoding="utf-8")
    return path


def _records() -> dict[str, Recipe]:
    texts = {name: _words(name) for name in ("command", "device")}
    mapping = Argument({"label": "x"}, ["x", 0, 1.5, None, [], Odd(), len, 1j, True, NAN])
    new = {
        "command": texts["command"], "config": mapping, "seeds": items([0], bad=[[0.7], [True], [NAN]]),
        "data": mapping,
        "results": Argument([], []), "duration": rate(1.0), "device": texts["device"],
    }  # fmt: skip
    return {
        "records.new": Recipe(records.new, new),
        "records.save": Recipe(records.save, {"path": file(_folder() / "record.json", none=False),
        "record": thing(RECORD)}),
        "records.load": Recipe(records.load, {"path": file(_saved(), none=False)}),
    }  # fmt: skip


def _saved() -> Path:
    path = _folder() / "saved.json"
    records.save(path, RECORD)
    return path


def _style() -> dict[str, Recipe]:
    axes, rule = thing(AXES), word("newton")
    return {
        "figures.halo": Recipe(figures.halo, {"width": rate(2.5)}),
        "figures.readable": Recipe(figures.readable, {
            "colour": Argument("#ffffff", ["x", "", 0, 1.5, None, [], Odd(), len, {}, (2.0, 0.0, 0.0)]),
            "ratio": number(4.5, low=1.0, high=21.0),
        }),
        "figures.line": Recipe(figures.line, {"rule": rule, "marker": flag(False)}),
        "figures.mark": Recipe(figures.mark, {"rule": rule}),
        "figures.label": Recipe(figures.label, {
            "ax": axes, "x": number(0.0), "y": number(0.0), "text": text("x"), "rule": word("ink")
        }),
        "figures.label_end": Recipe(figures.label_end, {
            "ax": axes, "curve": thing(LINE), "text": text("x"), "rule": word("ink"), "dx": number(0.0),
            "dy": number(0.0),
        }),
        "figures.letter": Recipe(figures.letter, {
            "axes": thing(AXES, also=("titles",)), "titles": Argument(("x",), [0, 1.5, "xy", NAN, True, 1j, None, [1],
            ["a", "b"],
                                                                               Odd(), len, {"x"}, [None]])
        }),
    }  # fmt: skip


EXEMPT = {
    "Fingerprint": "a result, which the library makes",
    "sweep.Finished": "a result, which the library makes",
    "sweep.Tuned": "a result, which the library makes",
    "records.Record": "a result, which the library makes; what a file holds is checked by records.load",
}
