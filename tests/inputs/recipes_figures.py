"""Recipes of the figures of the chapters: small arguments of the right kinds, none of them what a figure would show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from bad_values import (
    Argument,
    Odd,
    array,
    file,
    flag,
    function,
    nest,
    number,
    positive,
    rate,
    spoilt,
    thing,
    whole,
    word,
)
from walk import Recipe

import lossnav as ln
from lossnav import figures, records
from lossnav.figures import (
    drift,
    orbits,
    speed,
    tables,
    uncertainty,
)
from lossnav.trajectory import phase_plane

_, AXES = plt.subplots()
plt.close("all")
T = np.linspace(0.0, 4.0, 12)
FALL = np.exp(-T)
RISING = np.geomspace(0.1, 10.0, 12)
PLANE = np.stack([FALL, 0.5 * FALL + 0.1], axis=1)
LINE = ln.losses.Quadratic([[1.0]], minimum=[0.0])
BOWL = ln.losses.Quadratic([[1.0, 0.0], [0.0, 2.0]], minimum=[0.0, -0.5])
FLAT = ln.losses.Function(lambda x: (x**2).sum(-1), dim=2)  # without a minimum that is known
OBJECTIVE = ln.Objective(gamma=1.0)
PATH = ln.solve(OBJECTIVE, LINE, [1.0])
PATHS = ln.solve(OBJECTIVE, BOWL, [1.0, 1.0])
CURRENT = ln.drifts.rotation(1.0)
SAIL = drift.Sail("x", BOWL, CURRENT, PATHS, PLANE)
ORBIT = orbits.Orbit("x", BOWL, CURRENT, PLANE, PLANE)
SLOPE = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
BRANCH = phase_plane.feedback(OBJECTIVE, SLOPE, ln.losses.DoubleWell().stationary_points()[-1, 0], (-1.6, 1.4))

TEXT = Argument("x", [0, 1, 1.5, True, 1j, None, [], ["x"], (), {}, b"x", Odd(), len, int, 10**400])
RULE = word("newton")
AX = thing(AXES)
SCALAR, POSITIVE, RATE = number(1.0), positive(1.0), rate(1.0)
COUNT = whole(2)


def objects(good: Any, *others: Any) -> Argument:
    """An object of one of our classes; ``others`` of the class will not do."""
    return Argument(good, [*thing(good).bad, *others])


def free(good: Any, **options: Any) -> Argument:
    """An array whose first length nothing else fixes."""
    x = np.asarray(good)
    wrong = [np.zeros((0, *x.shape[1:])), np.zeros((*x.shape, 1)), 1.0, [], np.array(2.0)]
    return array(good, any_shape=True, bad=wrong, **options)


def positives(good: Any = RISING) -> Argument:
    return array(good, below=0.0, at=True)


def from_zero(good: Any = T) -> Argument:
    return free(good, below=0.0)


VALUES, SOME, GAPS = array(FALL), free(FALL), array(FALL, finite=False)
POINTS, POINT, MATRIX = (
    free(
        PLANE,
    ),
    array([0.5, 0.6]),
    array(np.eye(2), bad=[-np.eye(2), np.ones((2, 2))]),
)
SPAN = nest((number(-1.0), number(1.0)))
SPAN = Argument(SPAN.good, [*SPAN.bad, (1.0, -1.0), (1.0, 1.0)])
BOX = nest((number(-1.0), number(2.0), number(-1.0), number(2.0)))
BOX = Argument(BOX.good, [*BOX.bad, (1.0, -1.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0)])
LOSS, LOSS_OF_ONE = objects(BOWL, LINE), objects(LINE, BOWL)
MARKED = objects(BOWL, LINE, FLAT)
WAY, WAY_OF_ONE = objects(PATHS, PATH), objects(PATH, PATHS)
FIELD = function(CURRENT, but=[type])
LABELLED = nest({"newton": nest((TEXT, VALUES)), "optimal": nest((TEXT, VALUES))}, rules=True)


def record(results: Any, config: dict[str, Any] | None = None, spared: tuple[str, ...] = ()) -> Argument:
    """A record with what a figure reads, and such as lack some of it."""
    good = records.Record("x", config or {}, [0, 1], {"label": "x"}, results, 0.0, "cpu", "unknown", {})
    bad = [replace(good, results=value) for value in (*spoilt(results, spared), {}, [])]
    bad += [replace(good, config=value) for value in spoilt(good.config, spared)] if config else []
    return objects(good, *bad, replace(good, data={}), replace(good, data=None), replace(good, data={"label": 1}))


def histories(*rules: str, **kept: list[float]) -> Argument:
    """Histories by rule, and such as lack what a figure reads."""
    one = ln.training.History(**kept)
    wrong = [replace(one, **{name: value}) for name in kept for value in ([], ["x"], None, 1.0, [1j])]
    return nest({rule: nest([objects(one, *wrong)] * 2) for rule in rules}, rules=True)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    books = {
        "acceleration": _acceleration, "adaptive": _adaptive, "beliefs": _beliefs, "cifar": _cifar,
        "continual": _continual, "drift": _drift, "example": _example, "exponents": _exponents,
        "geometry": _geometry, "landscape": _landscape, "momentum": _momentum, "moving": _moving, "noether": _noether,
        "orbits": _orbits,
        "phase": _phase, "quadratic": _quadratic, "regret": _regret, "rows": _rows, "schedules": _schedules,
        "sgd": _sgd, "speed": _speed, "tables": _tables, "training": _training,
        "uncertainty": _uncertainty,
    }  # fmt: skip
    found = {
        f"figures.{room}.{name}": Recipe(getattr(getattr(figures, room), name), arguments)
        for room, book in books.items()
        for name, arguments in book().items()
    }
    for method in ("value", "interval", "text", "spread"):
        found[f"figures.tables.Table.{method}"] = Recipe(
            getattr(TABLE, method), {"row": word("one"), "column": word("ms")}
        )
    return found


def _adaptive() -> dict[str, dict[str, Argument]]:
    names = ["sgd", "rmsprop"]
    names += [f"{name}, ε = {e:g}" for name in ("uncentred", "centred", "innovation") for e in (0.0, 1.0)]
    rules = {name: {"usual": 0.1, **({"epsilon": float(name[-1])} if "ε" in name else {})} for name in names}
    tested = [{"rule": name, "test_accuracy": [0.9]} for name in names]
    tuned = [{"rule": name, "lr": 0.1, "test_loss": [0.5]} for name in names]
    config = {"epochs": 2, "rules": rules}
    spared = ("test_loss", "test_accuracy", "epsilon")
    return {
        "discounts": {"record": record({"tuned": tuned, "tested": tested}, config, spared)},
        "race": {"runs": histories("adam", "belief, other", step_loss=[2.0, 1.0, 0.5], test_accuracy=[0.9]),
                 "data": TEXT, "window": COUNT},
    }  # fmt: skip


def _beliefs() -> dict[str, dict[str, Argument]]:
    other = np.geomspace(0.1, 10, 5)
    some = array(other, below=0.0, at=True)
    plan = Argument({"weight": FALL, "aim": FALL, "rule": FALL}, spoilt({"weight": FALL, "aim": FALL, "rule": FALL}))
    gain = nest((TEXT, positives(), positives()))
    return {
        "noise": {"curvature": some, "windows": nest([nest((TEXT, some, positives()))] * 2), "smooth": positives(),
                  "flat": TEXT},
        "smoother": {"lags": array(T - 1.0), "kernels": nest([nest((TEXT, VALUES))]), "average": VALUES,
                     "shares": nest((array(other), array(other))), "marks": nest([nest((SCALAR, SCALAR))])},
        "following": {"times": positives(), "panels": nest([nest((TEXT, plan))] * 2)},
        "root": {"variance": positives(), "rules": nest([nest((TEXT, RULE, positives()))]),
                 "plans": nest((some, nest([some])))},
        "gains": {"count": positives(np.arange(1.0, 40.0)), "curves": nest([nest((TEXT, *[positives(np.arange(1.0,
            40.0))] * 2))])},
        "curvature": {"stages": nest([gain] * 2)},
    }  # fmt: skip


def _cifar() -> dict[str, dict[str, Argument]]:
    run = {
        "model": "cnn", "rule": "sgd", "lr": 0.1, "seed": 0, "gamma": "inf", "train_loss": [2.0, 1.0],
        "test_accuracy": [0.4, 0.5],
    }  # fmt: skip
    network = {"cnn": POSITIVE, "vit": POSITIVE}
    pixels = np.arange(24.0).reshape(2, 3, 2, 2)

    def of(*names: str, empty: tuple[str, ...] = ()) -> Argument:
        return record([{name: run[name] for name in names}] * 2, spared=empty)

    ends = ("train_loss", "test_accuracy")  # empty where a run diverged

    return {
        "views": {"stored": array(pixels), "drawn": array(np.stack([pixels] * 2), bad=[np.zeros((2, 3, 3, 2, 2))])},
        "curves": {"record": of("rule", "train_loss", "test_accuracy")},
        "race": {"runs": histories("sgd", "adam", step_loss=[2.0, 1.0, 0.5], test_accuracy=[0.4]), "data": TEXT,
                 "window": COUNT},
        "basins": {"record": of("model", "rule", "lr", "test_accuracy", empty=ends), "rates": nest({"sgd": POSITIVE},
            rules=True)},
        "lengths": {"ratios": nest({"cnn": free(RISING, below=0.0, at=True)}, rules=True), "found": nest(network,
            empty=True, rules=True)},
        "transfer": {"costs": nest({"x": nest({"cnn": SCALAR}, rules=True)})},
        "gains": {"gammas": nest([rate(0.0, infinite=True, but=[str]), rate(1.0, infinite=True, but=[str])]),
                  "rates": nest((POSITIVE, POSITIVE)),
                  "roots": nest({"x": array([0.0, 0.1, 0.2], any_shape=True, below=0.0, bad=[[]])}), "eps": RATE},
        "choices": {"accuracies": nest({"cnn": nest({"sgd": nest((VALUES, VALUES))}, rules=True)}, rules=True),
                    "tells": nest({"cnn": POSITIVE}, rules=True)},
        "discounts": {"record": of("gamma", "seed", *ends, empty=ends), "tells": positive(2.0, none=True)},
    }  # fmt: skip


def _continual() -> dict[str, dict[str, Argument]]:
    trials = [{"setting": {"lr": 1}, "mean": 0.4, "finite": True}, {"setting": {"lr": 2}, "mean": 0.5, "finite": True}]
    entry = {"tuning": trials, "best": {"lr": 1}}
    score, points = {"score": "x", "lower_is_better": True}, np.linspace(0.4, 0.6, 40).reshape(2, 20)
    kept = {name: {"scores": (points * factor).tolist()} for name, factor in (("uncertain", 1.0), ("adam", 1.1))}
    compared = record(kept, {**score, "tasks": 9}, ("adam",))
    unknown = replace(compared.good, results={"x": kept["adam"], **kept})
    tuned = record({"sgd": entry, "adam": entry}, {**score, "settings": 2, "tuning_tasks": 3}, ("lr", "sgd", "adam"))
    return {
        "scores": {
            "runs": nest({"sgd": array(points, any_shape=True, bad=[[], [1.0], np.zeros((0, 3))])}, rules=True),
                "title": TEXT, "ylabel": TEXT,
            "block": COUNT, "window": whole(2, high=20), "percent": flag(True),
            "limits": Argument((0.0, 1.0), [value for value in SPAN.bad if value is not None]),
        },
        "comparison": {
            "record": Argument(compared.good, [*compared.bad, unknown], ("rule",)), "rule": word("uncertain"),
        },
        "tuning": {"record": tuned},
    }  # fmt: skip


def _acceleration() -> dict[str, dict[str, Argument]]:
    curve = nest({"x": nest((RULE, VALUES))})
    return {
        "effort": {"kappa": positives(), "counts": nest({"x": nest((RULE, positives()))}), "name": TEXT},
        "haste": {"families": nest({"x": nest((RULE, array(np.ones((3, 2)), below=0.0, at=True), flag(True)))})},
        "variation": {
            "horizon": positives(), "smallest": nest({"x": nest((RULE, VALUES, POSITIVE))}), "times": from_zero(),
            "paths": curve,
        },
        "coincidence": {"times": from_zero(), "alone": curve, "plane": nest({"x": nest((RULE, POINTS))})},
    }  # fmt: skip


def _regret() -> dict[str, dict[str, Argument]]:
    seeds = array(np.array([0.1, 0.2]), any_shape=True, bad=[[[1.0]], 1.0])
    return {
        "parts": {"panels": nest({"x": nest({"y": nest((RULE, RATE, RATE))})})},
        "board": {
            "found": nest({"x": nest({"y": nest((RULE, array([0.1, 1.0], below=0.0, at=True, any_shape=True,
                                                             bad=[[[1.0]], 1.0])))})}),
            "names": nest([TEXT, TEXT]),
        },
        "over_discount": {
            "gamma": positives(), "panels": nest({"x": nest({"y": nest((RULE, positives()))})}),
            "logarithmic": flag(True),
        },
        "networks": {
            "timing": nest({"x": nest((RULE, seeds, seeds))}), "gamma": nest([TEXT, TEXT]),
            "cosines": nest({"x": nest((RULE, array(np.eye(2))))}),
        },
    }  # fmt: skip


def _exponents() -> dict[str, dict[str, Argument]]:
    costs = array(np.outer(RISING, [1.0, 2.0]), below=0.0, at=True)
    panels = nest({"x": nest((TEXT, nest({"y": costs})))})
    return {"compared": {"exponents": VALUES, "panels": panels}}


def _rows() -> dict[str, dict[str, Argument]]:
    seeds = array(np.array([0.1, 0.2]), any_shape=True, bad=[[[1.0]], 1.0])
    panels = nest({"x": nest({"y": nest((RULE, seeds))})})
    said, lines = nest({"x": nest({"y": number(1.0)})}, empty=True), nest({"x": number(1.0)}, empty=True)
    return {"compared": {"panels": panels, "said": said, "lines": lines}}


def _schedules() -> dict[str, dict[str, Argument]]:
    return {"stacked": {"x": VALUES, "panels": nest({"x": nest({"y": nest((RULE, VALUES))})}), "name": TEXT}}


def _noether() -> dict[str, dict[str, Argument]]:
    steps = positives()
    road = nest({"x": nest((RULE, POINTS))})
    curve = nest({"x": nest((RULE, VALUES, VALUES))})
    pair = nest({"printed": steps, "white": steps})
    units = array(np.outer(FALL, [1.0, 2.0]))
    return {
        "charges": {"total": nest((VALUES, VALUES)), "pairs": nest((units, units)), "every": COUNT},
        "layers": {
            "radius": nest({"x": nest((steps, steps))}), "angles": nest({"x": free(RISING, below=0.0, at=True)}),
            "ratio": nest({"x": free(RISING, below=0.0, at=True)}),
        },
        "fields": {"axis": array(T), "planes": nest({"x": nest((array(np.outer(T, T)), array(np.ones((12, 12, 2)))))})},
        "drops": {
            "radius": nest({"x": nest((steps, steps))}), "angles": nest({"x": steps}), "expected": steps,
        },
        "averages": {
            "steps": VALUES, "found": nest((steps, steps)), "laws": nest((pair, pair)), "titles": nest((TEXT, TEXT))
        },
        "imbalance": {"loss": LOSS, "paths": road, "conserved": nest([POINTS]), "measure": curve},
        "cones": {"paths": road, "norms": nest({"x": nest((RULE, VALUES, steps))})},
        "ring": {"paths": road, "speeds": curve},
    }  # fmt: skip


def _drift() -> dict[str, dict[str, Argument]]:
    pair = nest((VALUES, VALUES))
    ways = nest({"newton": nest((TEXT, POINTS)), "optimal": nest((TEXT, POINTS))}, rules=True)
    costs = Argument(LABELLED.good, [*LABELLED.bad, {"newton": ("x", FALL)}])
    few = array([1.0, 2.0, 3.0], below=0.0, at=True)
    height = function(BOWL.value, but=[type])
    return {
        "Sail": {"title": TEXT, "loss": MARKED, "drift": FIELD, "path": WAY, "alone": POINTS},
        "sails": {"sail": nest((objects(SAIL), objects(SAIL))), "times": from_zero(), "span": BOX, "printed": POINT,
            "zoom": BOX},
        "signs": {"times": VALUES, "curves": nest([nest((TEXT, RULE, VALUES))]), "checks": pair, "rest": SCALAR},
        "overtaking": {"horizons": array(T, below=0.0), "costs": costs, "rest": SCALAR, "beyond": SCALAR},
        "ends": {"minimum": POINT, "arcs": nest({"x": nest((POINTS, POINT, POINT))}), "checks": POINTS},
        "wrong_way": {"loss": MARKED, "drift": FIELD, "paths": ways, "checks": POINTS, "span": BOX},
        "decomposition": {"parts": nest([nest((TEXT, FIELD))] * 2), "heights": nest([nest((TEXT, height))], empty=True),
                          "span": BOX, "points": whole(3)},
        "shares": {"measured": nest((few, array([1.0, 0.5, 0.2]))), "smooth": nest((positives(), VALUES)),
                   "level": nest((SCALAR, TEXT))},
        "arrows": {"ax": AX, "field": FIELD, "span": BOX, "points": whole(3), "longest": positive(2.0, none=True),
                   "strong": flag(False)},
    }  # fmt: skip


def _geometry() -> dict[str, dict[str, Argument]]:
    curves = nest({"newton": nest((TEXT, WAY))}, rules=True)
    pace = array(np.stack([RISING, RISING], axis=1), below=0.0, at=True)
    losses = array([3.0, 2.0, 1.0])
    run = nest((losses, POSITIVE, array([1.0, 2.0], any_shape=True, bad=[[]])))
    runs = {(score, rule): nest([run] * 2) for score in ("log", "brier") for rule in ("newton", "ballistic metric")}
    learned = nest(runs, rules=True)
    return {
        "bowls": {"loss": MARKED, "panels": nest({"x": curves}), "metrics": nest({"x": MATRIX}, also=("panels",)),
                  "times": from_zero(np.linspace(0, 1, 12))},
        "preconditioners": {"curve": nest({0.0: array(np.eye(2)), 1.0: array(np.eye(2))}), "gradient": POINT},
        "turning": {"angles": VALUES, "rates": pace, "turns": LABELLED},
        "detour": {"loss": MARKED, "metric": MATRIX, "theta": array(PLANE), "times": VALUES,
                   "falls": nest({"ruler": VALUES, "loss": VALUES}, rules=True)},
        "half_plane": {"loss": MARKED, "metric": function(lambda theta: np.eye(2)), "path": WAY, "short": WAY,
                       "plain": WAY, "points": POINTS},
        "spectra": {"values": nest({("log", 0): SOME, ("brier", 3): SOME}, rules=True)},
        "learning": {"runs": Argument(learned.good, [*learned.bad, dict(list(learned.good.items())[:-1])])},
    }  # fmt: skip


def _example() -> dict[str, dict[str, Argument]]:
    way = nest((RULE, POINTS, number(0.5, low=0.0, high=1.0), word("above")))
    return {"bent": {"first": POINTS, "ways": nest({"one": way}), "clouds": free([[0.0, 0.1, 0.2, 0.3]], none=True)}}


def _landscape() -> dict[str, dict[str, Argument]]:
    two = {"loss": LOSS, "optimal": POINTS, "descent": POINTS, "x": SPAN, "y": SPAN}
    times = {"times": VALUES, "kinetic": VALUES, "potential": VALUES}
    planned = nest({0.5: SOME, 1.0: SOME})
    wide = array(np.linspace(-0.5, 0.5, 9))
    ground = function(BOWL, but=[type])
    return {
        "contours": {"ax": AX, "loss": LOSS, "x": SPAN, "y": SPAN, "levels": free([0.1, 0.2], none=True)},
        "ground": {"ax": AX, "height": Argument(BOWL, [*ground.bad, LINE]), "span": BOX,
                   "scale": function(np.log, none=True, but=[type])},
        "paths": two,
        "surface": two,
        "costs": times,
        "discrete_limit": {"planned": planned, "myopic": planned, "limit": nest((VALUES, VALUES)), "steps": positives(),
                           "errors": positives()},
        "extremals": {"times": VALUES, "fan": nest({0.0: VALUES, 0.1: VALUES}), "constants": wide,
                      "horizon_costs": nest({1.0: wide})},
        "known_minimum": {"loss": objects(BOWL, FLAT)},
    }  # fmt: skip


def _momentum() -> dict[str, dict[str, Argument]]:
    costs = nest({"newton": nest((TEXT, positives()))}, rules=True)
    open_costs = nest({"newton": nest((TEXT, array(RISING, finite=False)))}, rules=True)
    return {
        "future_average": {"trajectory": WAY_OF_ONE, "loss": LOSS_OF_ONE, "times": array(T, below=0.0),
            "momentum": VALUES,
                           "now": SCALAR, "discount": RATE},
        "phase_planes": {"panels": nest({name: nest((RULE, array(np.array([[0.0, 1.0], [1.0,
            0.5]])))) for name in "ab"}), "rate": SCALAR,
                         "paths": nest((POINTS, POINTS))},
        "blow_up": {"times": VALUES, "optimal": VALUES, "forward": nest([nest((TEXT, array(FALL + 0.01)))]),
            "rate": SCALAR},
        "walks": {"loss": LOSS, "paths": nest({"newton": nest((TEXT, TEXT, POINTS))}, rules=True), "extent": BOX},
        "rivals": {"steps": positives(), "costs": costs, "least": POSITIVE},
        "cost_of_steps": {"steps": positives(), "costs": open_costs, "least": POSITIVE},
    }  # fmt: skip


def _moving() -> dict[str, dict[str, Argument]]:
    rows = np.stack([RISING, RISING])
    several = free(rows, below=0.0, at=True)
    grid, free_grid = array(rows, below=0.0, at=True), array(rows)
    sweep = nest({
        "values": positives(), "speed": grid, "absolute": grid, "calibrated": grid, "exponent": free_grid,
        "expected": free_grid,
    })  # fmt: skip
    plane = nest((VALUES, VALUES))
    deep = nest({
        "values": array(RISING, below=0.0), "speed": grid, "still": free_grid, "angle": grid, "expected": grid,
    })  # fmt: skip
    return {
        "deeper": {"sweeps": nest({"eta": deep, "beta": deep})},
        "motion": {
            "loss": VALUES, "speed": positives(), "expected_speed": POSITIVE, "lags": positives(), "far": positives(),
            "expected_far": positives(),
        },
        "spectrum": {
            "nodes": VALUES, "weights": array(FALL, below=0.0), "decay": POSITIVE, "eta": POSITIVE, "beta": RATE,
        },
        "diffusion": {"lags": positives(), "measured": several, "predicted": several, "shuffled": several},
        "sweeps": {"sweeps": nest({"eta": sweep, "beta": sweep})},
        "temperature": {
            "temperature": positives(), "absolute": positives(), "calibrated": positives(), "noise": positives(),
            "threshold": POSITIVE,
        },
        "modes": {
            "curvatures": positives(), "positions": positives(), "velocities": positives(),
            "expected_positions": positives(), "expected_velocities": positives(),
        },
        "rotation": {
            "planes": nest({"mode 1": plane, "mode 2": plane}), "lags": array(T, below=0.0),
            "memory": array(np.ones((2, 3, 12))), "expected": array(np.ones((2, 12))),
        },
    }  # fmt: skip


def _orbits() -> dict[str, dict[str, Argument]]:
    few = array([0.1, 0.2, 0.3])
    cost = nest((VALUES, VALUES, GAPS, GAPS, SCALAR))
    return {
        "Orbit": {"title": TEXT, "loss": LOSS, "drift": FIELD, "going": free(PLANE, none=True), "resting": POINTS},
        "plane": {"orbits": nest((objects(ORBIT), objects(ORBIT))), "span": BOX},
        "locking": {"costs": cost, "curves": nest({"x": nest((RULE, VALUES, VALUES, few, few))}),
                    "vanishing": nest((VALUES, VALUES))},
    }  # fmt: skip


def _phase() -> dict[str, dict[str, Argument]]:
    marks = nest({"left": number(-0.9), "right": number(0.9)})
    plane = {"span": SPAN, "speeds": SPAN}
    won = nest({"x": nest((objects(BRANCH), array([-1.0, 1.0], finite=False)))})
    front = array(1 / (1 + np.exp(T - 2)))
    return {
        "energy_portrait": {"objective": objects(OBJECTIVE), "loss": LOSS_OF_ONE, **plane, "points": marks,
                            "chosen": nest({"x": array(np.stack([T, FALL]), any_shape=True, bad=[[], np.zeros((3, 5)),
                                1.0])})},
        "portraits": {"objectives": nest((objects(OBJECTIVE),)), "loss": objects(SLOPE, BOWL),
                      "branches": nest((won,)), "points": marks, **plane},
        "stay_or_cross": {"discounts": positives(), "indifference": VALUES, "threshold": positive(0.05),
            "points": marks,
                          "checks": nest([nest((POSITIVE, SCALAR, flag(True)))], empty=True), "span": SPAN},
        "horizons": {"deadlines": positives(), "staying": GAPS, "crossing": GAPS, "threshold": POSITIVE},
        "travelling_front": {"place": VALUES, "snapshots": nest({0.0: front, 1.0: front}), "path": nest((VALUES,
            VALUES)),
                             "profile": nest((array([0.0, 1.0, 2.0]), array([1.0, 0.5, 0.0]))), "points": marks},
        "thresholds": {"tilts": array(RISING), "leaving": VALUES, "dividing": VALUES, "pulled": VALUES, "onset": SCALAR,
                       "computed": nest([nest((SCALAR, SCALAR, SCALAR))], empty=True)},
    }  # fmt: skip


def _quadratic() -> dict[str, dict[str, Argument]]:
    laws = nest({"newton": nest((TEXT, positives())), "ballistic": nest((TEXT, positives()))}, rules=True)
    few = array([1.0, 2.0, 3.0], below=0.0, at=True)
    return {
        "traces": {"curves": nest({"newton": nest((TEXT, WAY_OF_ONE))}, rules=True), "times": from_zero(),
                   "loss": LOSS_OF_ONE},
        "paths": {"curves": nest({"newton": nest((TEXT, WAY))}, rules=True), "times": from_zero(), "loss": LOSS,
                  "marks": nest([RATE], empty=True)},
        "rates": {"ratio": positives(), "curves": LABELLED},
        "preconditioner": {"curvature": positives(), "values": positives(), "rules": laws,
                           "breaks": nest((POSITIVE,))},
        "preconditioner_families": {"curvature": positives(), "panels": nest({"x": nest([nest((TEXT, positives()))])})},
        "regime_map": {"discounting": positives(), "stretch": few, "tolerance": positive(0.5),
                       "errors": nest({"newton": nest((TEXT, array(np.linspace(0, 1, 36).reshape(3, 12))))},
                           rules=True)},
        "orders": {"gammas": few, "errors": nest([nest((TEXT, RULE, few, whole(-3, low=-20, high=20)))])},
        "digits": {"curvature": positives(), "counts": nest([nest((TEXT, RULE, VALUES))])},
        "curvature_sign": {"curvature": array(np.linspace(-0.2, 1, 12)), "values": array(FALL + 1), "newton": GAPS,
                           "edge": number(-0.25)},
    }  # fmt: skip


def table(first: str, columns: list[str], names: list[str]) -> tables.Table:
    """A stored table of ones."""
    rows = [[name, *([1.0] * len(columns))] for name in names]
    results = {"columns": [first, *columns], "formats": [".1f"] * len(columns), "rows": rows, "checks": {}, "notes": []}
    return tables.Table(records.Record("x", {"load": "x"}, [], {"label": "x"}, results, 0.0, "cpu", "unknown", {}))


QUARTILES = ["1st quartile", "3rd"]
TABLE = table("way", ["ms", *QUARTILES], ["one", "two"])
DOT = speed.Dot(tables.Interval(0.5, 1.0, 2.0))


def _sgd() -> dict[str, dict[str, Argument]]:
    pair = array(np.stack([T, FALL]), any_shape=True, bad=[np.zeros((3, 12)), np.zeros((2, 0)), FALL, 1.0, []])
    matrix, plane = array(np.eye(2)), free(PLANE)
    seen = nest((positives(), positives()))
    return {
        "walks": {"paths": nest({"x": plane}), "n": positives(), "far": nest({"x": positives()})},
        "regimes": {"curves": nest({"x": nest((pair, pair))})},
        "correlations": {"times": array(T), "curves": nest({"x": VALUES, "y": VALUES})},
        "spirals": {"runs": nest({"x": nest((VALUES, VALUES, VALUES, VALUES, array(FALL, below=0.0)))})},
        "clouds": {"planes": nest({"x": nest((plane, matrix, matrix))})},
        "current": {"path": plane, "potential": matrix, "modified": matrix, "flow": matrix, "centre": POINT},
        "slices": {"x": array(T), "y": array(T[:5]), "slices": nest({"x": array(np.outer(T[:5], T))}), "cloud": plane},
        "variances": {"curvature": positives(), "position": positives(), "velocity": positives(),
                      "said": nest((positives(), positives())), "gibbs": positives()},
        "speeds": {"said": positives(T[1:3]), "seen": positives(T[1:3]), "names": nest([TEXT, TEXT])},
        "displacement": {"n": positives(), "curves": nest({"x": positives()}),
                         "seen": Argument(seen.good, [value for value in seen.bad if value is not None])},
    }  # fmt: skip


def _speed() -> dict[str, dict[str, Argument]]:
    def of(columns: list[str], *names: str) -> Argument:
        return objects(
            table("way", columns, list(names)), TABLE if columns[0] != "ms" else table("way", ["x"], ["one"])
        )

    steps = ["times the plain speed", *QUARTILES, "chosen by", "images/s"]
    mark = {"interval": thing(DOT.interval), "rule": RULE, "filled": flag(True), "text": TEXT}
    return {
        "Dot": mark,
        "dots": {"ax": AX, "groups": nest([nest((TEXT, nest([nest((TEXT, nest([objects(DOT)])))])))])},
        "optimizers": {"table": of(["of fused Adam", *QUARTILES, "GB/s"], "add: x", "Ballistic, fused")},
        "seeds": {"table": of(["ratio", *QUARTILES, "ratio of vmap"], "4-2, SGD"), "goal": SCALAR},
        "pipelines": {"table": of(["ms", *QUARTILES], "flip: ours")},
        "steps": {"table": of(steps, "cnn: x")},
        "update": {"table": of(["ratio", *QUARTILES], "D = 2, x")},
        "eigenpairs": {"table": of(["ours is faster", *QUARTILES], "a product: x")},
    }  # fmt: skip


def _tables() -> dict[str, dict[str, Argument]]:
    path = Path(mkdtemp()) / "table.json"
    records.save(path, TABLE.record)
    broken = [replace(TABLE.record, results=value) for value in (None, [], {}, "x", 1.0, {"columns": ["x"]})]
    return {
        "Interval": {"low": SCALAR, "median": SCALAR, "high": SCALAR},
        "Table": {"record": objects(TABLE.record, *broken)},
        "load": {"path": file(path, none=False)},
    }  # fmt: skip


def _training() -> dict[str, dict[str, Argument]]:
    ways = nest({"ballistic": POINTS, "gradient descent": POINTS}, rules=True)
    rule = "ballistic, corrected"
    runs = [
        {"rule": rule, "factor": f, "seed": s, "test_accuracy": [0.9], "train_loss": [0.1]}
        for f in (0.0, 1.0)
        for s in (0, 1)
    ]
    curves = {"train_loss": [2.0, 1.0], "test_accuracy": [0.4, 0.5]}
    return {
        "diagonal": {"panels": nest([nest((SCALAR, MATRIX, ways))] * 2)},
        "curves": {"runs": histories("sgd", "ballistic, corrected", **curves), "data": TEXT},
        "epsilon": {"sizes": positives(), "inside": positives(), "outside": positives()},
        "first_steps": {"beta": number(0.9, low=0.0, high=1.0, open_high=True),
                        "runs": histories("ballistic", step_loss=[2.0, 1.0, 0.5]), "steps": COUNT},
        "sensitivity": {"record": record(runs, {"rates": {rule: 0.1}, "epochs": 2}, ("test_accuracy", "train_loss"))},
    }  # fmt: skip


def _uncertainty() -> dict[str, dict[str, Argument]]:
    curve = uncertainty.Curve("x", "loss", FALL)
    shorter = uncertainty.Curve("x", "loss", FALL[:-1])
    few = array([1.0, 2.0, 3.0], below=0.0, at=True)
    share = number(0.5, low=0.0, high=1.0)
    words = nest([TEXT], empty=True)
    words = replace(
        words, bad=[value for value in words.bad if not (isinstance(value, list) and "x" in map(str, value))]
    )
    seen = nest((array([1.0, 2.0]), nest((array([1.0, 2.0]),))))
    return {
        "Curve": {"text": TEXT, "rule": RULE, "values": free(FALL, finite=False), "at": share, "side": word("above")},
        "half_plane": {"ways": nest({"x": nest((RULE, VALUES, positives(FALL)))}), "stops": nest([share, share])},
        "panels": {
            "times": VALUES, "curves": nest((nest((TEXT, nest([objects(curve, shorter)]))),)), "columns": whole(1),
            "xlabel": TEXT, "ylabels": words, "logarithmic": nest([flag(False)], empty=True),
            "level": number(1.0, none=True), "events": nest([SCALAR], empty=True),
            "checks": _or_none(seen), "height": POSITIVE, "limits": _or_none(nest({0: SPAN}, empty=True)),
        },
        "before_after": {"groups": nest([nest((TEXT, TEXT, nest({"x": nest((few, few))})))])},
    }  # fmt: skip


def _or_none(argument: Argument) -> Argument:
    return replace(argument, bad=[value for value in argument.bad if value is not None])


EXEMPT: dict[str, str] = {}
