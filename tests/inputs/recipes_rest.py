"""Recipes of experiments, records, sweeps, explorables and the figures' style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from bad_values import (
    NAN,
    Argument,
    Odd,
    array,
    file,
    flag,
    function,
    items,
    number,
    positive,
    rate,
    thing,
    whole,
    word,
)
from recipes_torch import MODEL, SET, SEVERAL, count, device
from walk import Recipe

from lossnav import experiment, explore, figures, records, sweep

RUN = experiment.Experiment(data="digits", model_options={"hidden": [2]}, lr=0.1)
TASKS = experiment.Experiment(data="digits", stream="permuted", tasks=1, batch_size=2)
RECORD = records.Record("x", {}, [0], {"label": "made here"}, [], 0.0, "cpu", "unknown", {})
FINISHED = sweep.Finished(RUN, None, "")
FILTER = explore.BeliefFilter()
_, AXES = plt.subplots()
(LINE,) = AXES.plot([0.0, 1.0], [0.0, 1.0])
plt.close("all")

options = Argument({}, ["x", 0, 1.5, NAN, True, 1j, None, [], [1.0], Odd(), len, {1: 2}, {"x"}, 10**400])


TEXT = Argument("x", [0, 1, 1.5, NAN, True, 1j, None, [], ["x"], (), {}, b"x", Odd(), len, int, 10**400])


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {**_experiments(), **_records(), **_explorables(), **_style()}


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
        "steps": flag(False),
    }  # fmt: skip
    one = Argument(RUN, [*thing(RUN).bad])
    compared: dict[str, Any] = {"trials": {"sgd": [RUN]}, "tuning_seeds": (0,), "seeds": (1,)}
    return {
        "experiment.Experiment": Recipe(experiment.Experiment, settings),
        "experiment.Experiment.of": Recipe(experiment.Experiment.of, {
            "values": Argument({}, ["x", 0, 1.5, None, [], Odd(), len, 1j, {1: 2}, {"colour": 1}, {"lr", 0.1}],
            ("setting",))
        }),
        "experiment.run": Recipe(experiment.run, {
            "experiment": one, **how, "checkpoint": file(None), "checkpoint_every": whole(None, none=True),
            "resume": flag(False), "distributed": flag(False), "device": device,
        }, costly=True),
        "experiment.run_together": Recipe(experiment.run_together, {
            "seeds": items([RUN], bad=[[], [RUN, 1.0], RUN]), **how, "device": device
        }, costly=True),
        "experiment.make_stream": Recipe(experiment.make_stream, {
            "experiment": Argument(TASKS, [*one.bad, RUN]), "dataset": thing(SET)
        }),
        "experiment.make_stepper": Recipe(experiment.make_stepper, {
            "experiment": one, "ensemble": Argument(SEVERAL, [*thing(SEVERAL).bad, MODEL])
        }),
        "experiment.why_alone": Recipe(experiment.why_alone, {"experiment": one}),
        "experiment.make_model": Recipe(experiment.make_model, {"experiment": one, "dataset": thing(SET)}),
        "experiment.make_optimizer": Recipe(experiment.make_optimizer, {
            "experiment": one, "parameters": Argument(list(MODEL.parameters()), [
                "x", 0, 1.5, NAN, True, None, 1j, [], [1.0], {}, Odd(), len, int, ["x"], [None],
            ])
        }),
        "sweep.run": Recipe(sweep.run, {
            "wanted": items([RUN], bad=[[RUN, 1.0], RUN]), "folder": file("no such folder", none=False),
            "workers": whole(None, none=True), "threads": whole(1), "cluster": _words(None), "root": file(None),
            "download": flag(False), "attempts": whole(3), "checkpoints": file(None),
            "together": whole(1),
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


def _grid_file() -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "grid.toml"
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
        "records.save": Recipe(records.save, {"path": file(_grid_file().with_name("record.json"), none=False),
        "record": thing(RECORD)}),
        "records.load": Recipe(records.load, {"path": file(_saved(), none=False)}),
    }  # fmt: skip


def _saved() -> Path:
    path = _grid_file().with_name("saved.json")
    records.save(path, RECORD)
    return path


def _explorables() -> dict[str, Recipe]:
    point = array([1.0, 1.0], bad=[[100.0, 0.0]])
    unit = items((), bad=[[(1,)], [(1, 2, 3, 4)], [(NAN, 1.0, 1.0)], [("1", 1.0)], [1.0]])
    return {
        "explore.BeliefFilter": Recipe(explore.BeliefFilter, {
            "gamma": rate(0.1), "decay": rate(0.0), "diffusion": positive(0.1), "noise": positive(0.8),
            "now": whole(120),
            "seed": whole(3, low=0), "jumps": unit,
        }),
        "explore.BeliefFilter.stream": Recipe(FILTER.stream, {"count": whole(5)}),
        "explore.BeliefFilter.beliefs": Recipe(FILTER.beliefs, {"count": whole(5)}),
        "explore.DoubleWell": Recipe(explore.DoubleWell, {
            "start": number(-0.6, low=-1.5, high=1.5), "gamma": number(0.3, low=0.05, high=5.0)
        }),
        "explore.DriftField": Recipe(explore.DriftField, {
            "start": point, "minimum": point, "rate": number(2.5, low=-10.0, high=10.0), "decay": number(0.0, low=0.0,
            high=4.0),
            "gamma": number(2.0, low=0.0, high=10.0),
        }),
        "explore.Horizon": Recipe(explore.Horizon, {
            "start": point, "gamma": number(1.0, low=0.0, high=10.0), "dt": positive(1.0, infinite=True)
        }),
        "explore.MetricEllipse": Recipe(explore.MetricEllipse, {
            "start": point, "angle": number(-30.0, low=-90.0, high=90.0), "ratio": number(3.0, low=1.0, high=100.0),
            "gamma": number(1.0, low=0.0, high=10.0),
        }),
        "explore.MovingNetwork": Recipe(explore.MovingNetwork, {
            "eta": number(0.01, low=0.001, high=0.03), "batch": whole(64, low=8, high=256),
            "beta": number(0.9, low=0.5, high=0.99), "n": whole(100, low=2, high=1500),
        }),
        "explore.MovingNetwork.distances": Recipe(explore.MovingNetwork().distances, {
            "n": array([1.0, 5.0], any_shape=True, below=0.0, bad=[1.5, [1.0, 2.5]]),
        }),
        "explore.MovingNetwork.exponent": Recipe(explore.MovingNetwork().exponent, {"n": whole(100, low=2)}),
        "explore.NoiseSpectrum": Recipe(explore.NoiseSpectrum, {
            "eta": number(0.01, low=0.001, high=0.1), "beta": number(0.9, low=0.0, high=0.99),
            "slope": number(0.5, low=0.0, high=1.0), "own": whole(1, low=0, high=1), "n": whole(100, low=2, high=3000),
        }),
        "explore.NoiseSpectrum.distances": Recipe(explore.NoiseSpectrum().distances, {
            "n": array([1.0, 5.0], any_shape=True, below=0.0, bad=[1.5, [1.0, 2.5]]),
        }),
        "explore.NoiseSpectrum.counts": Recipe(explore.NoiseSpectrum().counts, {
            "rho": array([0.0, 1.0], any_shape=True, below=0.0),
        }),
        "explore.NoiseSpectrum.exponent": Recipe(explore.NoiseSpectrum().exponent, {"n": whole(100, low=2)}),
        "explore.NoisyOscillator": Recipe(explore.NoisyOscillator, {
            "start": point, "eta": number(0.1, low=0.001, high=1.0), "beta": number(0.5, low=0.0, high=0.99),
            "rho": number(1.0, low=0.1, high=10.0),
        }),
        "explore.NoisyOscillator.law": Recipe(explore.NoisyOscillator().law, {"form": word("sde")}),
        "explore.NoisyValley": Recipe(explore.NoisyValley, {
            "start": point, "angle": number(0.0, low=-90.0, high=90.0), "ratio": number(4.0, low=1.0, high=16.0),
        }),
        "explore.BelievedEllipse": Recipe(explore.BelievedEllipse, {
            "gradient": array([0.5, 0.5], bad=[[100.0, 0.0]]), "angle": number(35.0, low=-90.0, high=90.0),
            "turn": number(20.0, low=0.0, high=60.0), "ratio": number(1.5, low=1.0, high=3.0),
            "gamma": number(0.0, low=0.0, high=10.0),
        }),
        "explore.RegretRace": Recipe(explore.RegretRace, {
            "start": point, "gamma": number(1.0, low=0.0, high=10.0), "kappa": number(10.0, low=1.0, high=100.0),
        }),
        "explore.Deadline": Recipe(explore.Deadline, {
            "span": number(6.0, low=1.0, high=10.0), "gamma": number(0.5, low=0.0, high=4.0),
            "charge": number(0.0, low=0.0, high=4.0),
            "drawn": array([0.5] * 7, any_shape=True, below=0.0, bad=[[0.5] * 6, [1.5] * 7]),
        }),
        "explore.Deadline.multiplier": Recipe(explore.Deadline().multiplier, {
            "curvature": array([0.0, 1.0], any_shape=True, below=0.0),
            "remaining": array([0.5, 1.0], any_shape=True, below=0.0),
        }),
        "explore.Acceleration": Recipe(explore.Acceleration, {
            "kappa": number(100.0, low=1.0, high=1000.0), "guess": number(1.0, low=0.5, high=4.0),
            "curvature": number(0.1, low=0.001, high=1.0),
        }),
        "explore.Acceleration.kept": Recipe(explore.Acceleration().kept, {
            "rule": word("heavy"), "curvature": array([0.1, 1.0], any_shape=True, below=0.0),
        }),
        "explore.Acceleration.losses": Recipe(explore.Acceleration().losses, {"rule": word("heavy")}),
        "explore.Board": Recipe(explore.Board, {
            "horizon": word("far"), "metric": word("plain"), "drift": word("none"), "belief": word("fading"),
            "curvature": word("average"), "time": word("first"), "start": point,
            "dt": number(0.1, low=0.02, high=2.0), "noise": number(0.0, low=0.0, high=2.0),
        }),
        "explore.Certainty": Recipe(explore.Certainty, {
            "curvature": number(1.0, low=0.25, high=4.0), "entropy": number(0.3, low=0.0, high=2.0),
            "now": number(4.0, low=0.0, high=20.0),
        }),
        "explore.CloudEdge": Recipe(explore.CloudEdge, {
            "beta": number(0.5, low=0.0, high=0.99), "stretch": number(1.0, low=0.01, high=4.0),
        }),
        "explore.DecayShrinks": Recipe(explore.DecayShrinks, {
            "decay": number(1.0, low=0.0, high=4.0), "gamma": number(1.0, low=0.0, high=10.0),
            "curvature": number(1.0, low=0.01, high=100.0),
        }),
        "explore.DiscountedRoot": Recipe(explore.DiscountedRoot, {
            "epsilon": number(0.1, low=0.001, high=10.0), "size": number(0.1, low=0.001, high=100.0),
        }),
        "explore.FilterGains": Recipe(explore.FilterGains, {
            "beta": number(0.99, low=0.5, high=0.999), "n": whole(60, low=1, high=3000),
        }),
        "explore.FollowedBack": Recipe(explore.FollowedBack, {
            "gamma": number(0.4, low=0.05, high=5.0), "start": number(-0.6, low=-1.45, high=1.35),
        }),
        "explore.ForgottenNoise": Recipe(explore.ForgottenNoise, {
            "power": number(1.0, low=0.0, high=1.4), "stiffness": number(5.0, low=0.2, high=50.0),
            "share": number(0.5, low=0.0, high=0.99),
        }),
        "explore.KappaSteps": Recipe(explore.KappaSteps, {
            "digits": number(6.0, low=1.0, high=12.0), "kappa": number(100.0, low=1.5, high=10000.0),
        }),
        "explore.ModeMemory": Recipe(explore.ModeMemory, {
            "bend": number(0.01, low=0.0001, high=1.0), "beta": number(0.9, low=0.0, high=0.99),
            "n": whole(30, low=2, high=3000),
        }),
        "explore.MomentumWindow": Recipe(explore.MomentumWindow, {
            "beta": number(0.5, low=0.0, high=0.99), "bend": number(1.0, low=0.0, high=4.0),
        }),
        "explore.Postponed": Recipe(explore.Postponed, {
            "moved": number(1.0, low=0.0, high=1.0), "every": number(1.0, low=0.25, high=3.0),
            "now": number(6.0, low=0.0, high=12.0),
        }),
        "explore.PathPace": Recipe(explore.PathPace, {
            "power": number(0.5, low=0.0, high=1.0), "bend": number(10.0, low=1.0, high=10.0),
            "pace": number(2.0, low=0.2, high=5.0),
        }),
        "explore.WhichDiscount": Recipe(explore.WhichDiscount, {
            "power": number(0.25, low=0.0, high=1.0), "kappa": number(10.0, low=2.0, high=100.0),
            "gamma": number(1.0, low=0.01, high=300.0),
        }),
        "explore.PullBack": Recipe(explore.PullBack, {
            "certainty": number(1.0, low=0.01, high=100.0), "curvature": number(2.0, low=0.25, high=4.0),
            "place": number(0.0, low=-2.0, high=2.0),
        }),
        "explore.PushAndBrake": Recipe(explore.PushAndBrake, {
            "gamma": number(0.5, low=0.1, high=10.0), "now": number(3.0, low=0.0, high=12.0),
        }),
        "explore.RateDrop": Recipe(explore.RateDrop, {
            "drop": number(4.0, low=1.0, high=16.0), "memory": number(300.0, low=30.0, high=3000.0),
            "n": number(200.0, low=0.0, high=2000.0),
        }),
        "explore.Renamed": Recipe(explore.Renamed, {
            "unit": number(3.0, low=0.1, high=10.0), "mix": number(0.0, low=-2.0, high=2.0),
            "first": number(-1.6, low=-2.2, high=2.2),
        }),
        "explore.BrokenCharge": Recipe(explore.BrokenCharge, {
            "start": point, "eta": number(0.03, low=0.001, high=0.1), "beta": number(0.5, low=0.0, high=0.9),
            "decay": number(0.01, low=0.0, high=0.1), "noise": number(0.5, low=0.0, high=1.0),
        }),
        "explore.ScaleCone": Recipe(explore.ScaleCone, {
            "eta": number(0.1, low=0.01, high=1.0), "beta": number(0.9, low=0.0, high=0.99),
            "decay": number(0.01, low=0.001, high=0.1), "noise": number(1.0, low=0.0, high=1.0),
            "start": number(0.5, low=0.25, high=2.0),
        }),
        "explore.Race": Recipe(explore.Race, {
            "start": point, "gamma": number(0.3, low=0.05, high=10.0), "tilt": number(-0.5, low=-1.2, high=1.2),
            "now": number(0.0, low=0.0, high=5.0), "dug": point,
        }),
        "explore.TaskSwitch": Recipe(explore.TaskSwitch, {
            "gamma": rate(0.5), "entropy": rate(0.8), "curvature": rate(0.5), "minimum": number(2.0), "switches": unit,
            "now": rate(0.0),
        }),
    }  # fmt: skip


def _style() -> dict[str, Recipe]:
    axes, rule = thing(AXES), word("newton")
    return {
        "figures.halo": Recipe(figures.halo, {"width": rate(2.5)}),
        "figures.style.readable": Recipe(figures.style.readable, {
            "colour": Argument("#ffffff", ["x", "", 0, 1.5, None, [], Odd(), len, {}, (2.0, 0.0, 0.0)]),
            "ratio": number(4.5, low=1.0, high=21.0),
        }),
        "figures.line": Recipe(figures.line, {"rule": rule, "marker": flag(False)}),
        "figures.mark": Recipe(figures.mark, {"rule": rule}),
        "figures.label": Recipe(figures.label, {
            "ax": axes, "x": number(0.0), "y": number(0.0), "text": TEXT, "rule": word("ink")
        }),
        "figures.label_end": Recipe(figures.label_end, {
            "ax": axes, "curve": thing(LINE), "text": TEXT, "rule": word("ink"), "dx": number(0.0), "dy": number(0.0)
        }),
        "figures.letter": Recipe(figures.letter, {
            "axes": thing(AXES, also=("titles",)), "titles": Argument(("x",), [0, 1.5, "xy", NAN, True, 1j, None, [1],
            ["a", "b"],
                                                                               Odd(), len, {"x"}, [None]])
        }),
    }  # fmt: skip


EXEMPT = {
    "sweep.Finished": "a result, which the library makes",
    "sweep.Tuned": "a result, which the library makes",
    "records.Record": "a result, which the library makes; what a file holds is checked by records.load",
}
