"""Recipes of losses, drifts, objectives, rules, equations, trajectories and decompositions."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import sympy
from bad_values import (
    INF,
    NAN,
    Argument,
    Odd,
    array,
    flag,
    function,
    items,
    number,
    points,
    positive,
    rate,
    thing,
    whole,
    word,
)
from walk import Recipe

import lossnav as ln
from lossnav.euler_lagrange import EulerLagrange, derive, euler_lagrange
from lossnav.trajectory import curved, cycles, phase_plane
from lossnav.trajectory.regret import alignment

H = [[2.0, 0.3], [0.3, 1.0]]
WELL, BOWL = ln.losses.DoubleWell(), ln.losses.Quadratic(H, minimum=[1.0, 0.0])
FUNCTION = ln.losses.Function(lambda x: (x**2).sum(-1), dim=2)
SECTION = ln.losses.Section(WELL)
TASK = ln.task.Phases([(0.0, BOWL), (1.0, WELL)])


def _tide(theta: np.ndarray, t: np.ndarray) -> np.ndarray:
    return ((theta - np.sin(t)[..., None]) ** 2).sum(-1)


TIDE = ln.task.Driven(_tide, lambda x, t: 2 * (x - np.sin(t)[..., None]), dim=2)
OBJECTIVE = ln.Objective(gamma=1.0)
TURN = ln.drifts.Linear([[0.0, -1.0], [1.0, 0.0]])
HALF_PLANE = ln.metrics.Function(lambda x: [[1 / x[1] ** 2, 0], [0, 1 / x[1] ** 2]], dim=2)
FIELD = ln.drifts.Function(lambda x: -x, lambda x: -np.eye(2), dim=2)
POINT = np.array([0.3, -0.2])
STATES = np.array([POINT, 2 * POINT, -POINT, POINT[::-1], [1.0, 0.0]])
PATH = ln.solve(OBJECTIVE, BOWL, POINT)
PARTS = ln.helmholtz.split_affine(TURN)
DRIVEN = ln.Objective(gamma=1.0, drift=TURN)
EQUATIONS = EulerLagrange(OBJECTIVE, BOWL)
DERIVED = derive(1)
CLASSIFIER = ln.classifiers.LogisticRegression([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]], [1, 0, 1])
QUARTIC = ln.losses.Section(ln.losses.DoubleWell(d=-0.5))
SLOW = ln.Objective(gamma=0.5)
VALLEY = phase_plane.feedback(SLOW, QUARTIC, 1.0574538, (0.5, 1.5))

RING = ln.losses.Function(lambda x: ((x**2).sum(-1) - 1) ** 2, dim=2)
TURNED = ln.Objective(drift=ln.drifts.rotation(0.5))
LOOP = 0.9 * np.array([[math.cos(n * math.pi / 8), math.sin(n * math.pi / 8)] for n in range(16)])
ORBIT = cycles.cycle(TURNED, RING, LOOP)

objective, loss = thing(OBJECTIVE), thing(WELL)
CALLS = (type(len),)  # a function is a loss, or a drift, too
three = thing(ln.losses.Function(lambda x: (x**2).sum(-1), dim=3)).good
symbols = items((sympy.Symbol("x"), sympy.Symbol("y")), bad=[(), (sympy.Symbol("x"),), "xy"])
BUDGET = {"max_seconds": positive(None, none=True, infinite=True), "max_calls": whole(None, none=True)}
FIRST = {"velocity0": Argument(None, [*array([0.1, 0.2], none=True).bad, "rest"])}
lengths = {"dim": whole(2)}
start = array(POINT)
gradient, hessian = (
    array([1.0, -1.0], also=("hessian",)),
    array(H, bad=[[[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]]),
)
formula: list[Any] = [
    "1", "theta", "__import__('os')", b"1", Odd(), {}, [], {1.0}, np.datetime64("NaT"), 1j, sympy.I, NAN, INF, -INF,
    sympy.oo, sympy.nan, sympy.zoo, True, np.array("1"), math, [1.0, 2.0],
]  # fmt: skip


def _landscape(name: str, made: ln.losses.Loss, at: Any) -> dict[str, Recipe]:
    calls = {key: Recipe(getattr(made, key), {"theta": points(at)}) for key in ("value", "gradient", "hessian")}
    calls["at"] = Recipe(made.at, {"t": array(1.0, finite=False, any_shape=True, bad=[-1.0, -INF, NAN, [1.0, NAN]])})
    return {f"{name}.{key}": recipe for key, recipe in calls.items()}


def _metric(name: str, made: ln.metrics.Metric, at: Any) -> dict[str, Recipe]:
    methods = ("matrix", "derivative", "second_derivative", "__call__")
    calls = {key: Recipe(getattr(made, key), {"theta": points(at)}) for key in methods}
    calls["norm_squared"] = Recipe(
        made.norm_squared, {"theta": points(at, also=("velocity",)), "velocity": points(at, also=("theta",))}
    )
    return {f"metrics.{name}.{key}": recipe for key, recipe in calls.items()}


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    by_name = {
        "losses.Quadratic": Recipe(ln.losses.Quadratic, {
            "hessian": array(H, also=("minimum",), bad=[[[1.0, 2.0], [0.0, 1.0]], np.zeros((2, 3)), np.zeros((0, 0))]),
            "minimum": array([1.0, 0.0]), "offset": number(0.5),
        }, rest=frozenset({"gradient"})),
        "losses.Quadratic (gradient)": Recipe(ln.losses.Quadratic, {
            "hessian": array(H, also=("gradient",)), "gradient": array([1.0, 0.0]), "offset": number(0.5),
        }, rest=frozenset({"minimum"})),
        "losses.DoubleWell": Recipe(ln.losses.DoubleWell, {
            "a": positive(1.0), "b": positive(1.0), "c": positive(2), "d": number(-0.5)
        }),
        "losses.Rosenbrock": Recipe(ln.losses.Rosenbrock, {"a": number(1.0), "b": positive(100)}),
        "losses.Function": Recipe(ln.losses.Function, {
            "value": function(np.sum), "gradient": function(None, none=True), "hessian": function(None, none=True),
            "dim": whole(2),
        }, rest=frozenset({"symbols"})),
        "losses.Section": Recipe(ln.losses.Section, {
            "loss": loss, "axis": whole(0, low=0, high=1), "point": array(POINT, none=True)
        }),
        **_landscape("losses.Quadratic", BOWL, POINT), **_landscape("losses.DoubleWell", WELL, POINT),
        **_landscape("losses.Rosenbrock", ln.losses.Rosenbrock(), POINT), **_landscape("losses.Function", FUNCTION,
        POINT),
        **_landscape("losses.Section", SECTION, [0.4]),
        "task.Phases": Recipe(ln.task.Phases, {"phases": items([(0.0, BOWL), (1.0, WELL)], bad=[
            [], [(1.0, BOWL)], [(0.0, BOWL), (0.0, WELL)], [(0.0, BOWL), (1.0, SECTION)], [(0.0, TASK)], [(0.0,)],
            [(0.0, BOWL), (NAN, WELL)], [BOWL],
        ])}),
        "task.Driven": Recipe(ln.task.Driven, {
            "value": function(_tide), "gradient": function(_tide), "hessian": function(None, none=True),
            "dim": whole(2, also=("final",)), "switches": items((), bad=[[0.0], [2.0, 1.0], [NAN]]),
            "final": thing(BOWL, none=True, also=("settled",)), "settled": rate(1.0, also=("final",)),
            "positive": items((), bad=[[2], [-1], [0.5]]),
        }),
        **_landscape("task.Phases", TASK, POINT), **_landscape("task.Driven", TIDE, POINT),
        **{f"task.{type(task).__name__}.rescaled": Recipe(task.rescaled, {
            "time": positive(2.0), "change": function(lambda x: x)
        }) for task in (TASK, TIDE)},
        **_landscape("classifiers.LogisticRegression", CLASSIFIER, POINT),
        "classifiers.LogisticRegression.fisher": Recipe(CLASSIFIER.fisher, {"theta": points(POINT)}),
        "classifiers.LogisticRegression.accuracy": Recipe(CLASSIFIER.accuracy, {
            "theta": array(POINT, bad=[np.zeros((2, 2))])
        }),
        "classifiers.LogisticRegression": Recipe(ln.classifiers.LogisticRegression, {
            "x": array([[1.0, 2.0], [0.0, 1.0]], any_shape=True, also=("y",), bad=[np.zeros((3, 2)), np.zeros((0, 2)),
            [1.0, 0.0],
            1.0]), "y": array([1, 0], truths=True, bad=[[1, 2], [0.5, 0], [-1, 1]]),
            "l2": rate(0.1), "link": word("logistic"), "score": word("log"),
        }),
        "drifts.Linear": Recipe(ln.drifts.Linear, {
            "jacobian": array(H, scalars=True), "offset": array([1.0, 2.0], none=True)
        }),
        "drifts.Function": Recipe(ln.drifts.Function, {
            "value": function(np.negative), "jacobian": function(np.diag, none=True), "dim": whole(2, none=True)
        }),
        "drifts.rotation": Recipe(ln.drifts.rotation, {"rate": number(1.0)}),
        "drifts.weight_decay": Recipe(ln.drifts.weight_decay, {"rate": positive(1.0)}),
        "metrics.Constant": Recipe(ln.metrics.Constant, {
            "matrix": array(H, bad=[-np.eye(2), [[1.0, 2.0], [0.0, 1.0]], np.zeros((2, 2))])
        }),
        "metrics.Diagonal": Recipe(ln.metrics.Diagonal, {
            "values": array([1.0, 2.0], any_shape=True, bad=[[0.0, 1.0], [-1.0, 1.0], [], np.ones((2, 2)), 1.0])
        }),
        "metrics.Kronecker": Recipe(ln.metrics.Kronecker, {
            "a": array(H, bad=[-np.eye(2), [[1.0, 2.0], [0.0, 1.0]]]), "b": array([[2.0]], bad=[[[-1.0]]])
        }),
        "metrics.Fisher": Recipe(ln.metrics.Fisher, {"weights": whole(1), "spread": word("deviation")}),
        "metrics.Relative": Recipe(ln.metrics.Relative, {"dim": whole(2), "each": flag(False)}),
        "metrics.Function": Recipe(ln.metrics.Function, {
            "matrix": function(np.diag), "derivative": function(None, none=True), "dim": whole(2)
        }),
        **_metric("Constant", ln.metrics.Constant(H), POINT),
        **_metric("Diagonal", ln.metrics.Diagonal([1.0, 2.0]), POINT),
        **_metric("Kronecker", ln.metrics.Kronecker(H, [[2.0]]), POINT),
        **_metric("Fisher", ln.metrics.Fisher(), [0.0, 1.0]), **_metric("Relative", ln.metrics.Relative(2), POINT),
        **_metric("Function", HALF_PLANE, [0.0, 1.0]),
        "Objective": Recipe(ln.Objective, {
            "eta": positive(1.0), "k": positive(1.0), "gamma": rate(0.0),
            "metric": _matrix(H, none=True, bad=[-np.eye(2), [[1.0, 2.0], [0.0, 1.0]], np.zeros((2, 2))]),
            "drift": thing(TURN, none=True, but=CALLS), "horizon": positive(1.0, infinite=True), "terminal": rate(0.5),
            "price": thing(None, none=True),
        }),
        "Objective.check_dim": Recipe(DRIVEN.check_dim, {"dim": whole(2)}),
        "Objective.metric_on": Recipe(OBJECTIVE.metric_on, {"dim": whole(2)}),
        "Objective.metric_matrix": Recipe(OBJECTIVE.metric_matrix, {"dim": whole(2)}),
        "Objective.metric_at": Recipe(OBJECTIVE.metric_at, {"theta": array(POINT, finite=False, any_shape=True,
        bad=[1.0, []])}),
        "Objective.kinetic": Recipe(OBJECTIVE.kinetic, {
            "theta": points(POINT, also=("velocity",)), "velocity": points(POINT),
            "acceleration": Argument(None, points(POINT).bad[:-1]),
        }),
        "Objective.cost_rate": Recipe(OBJECTIVE.cost_rate, {
            "loss": loss, "theta": points(POINT), "velocity": points(POINT)
        }),
        "rules.update": Recipe(ln.update, {
            "objective": thing(OBJECTIVE), "gradient": gradient, "hessian": hessian, "dt": rate(0.5, infinite=True),
            "velocity": Argument(None, array([0.1, 0.2], none=True).bad),
            "limit": Argument(None, word("overdamped", none=True).bad),
        }),
        **_deadlines(),
        "rules.rates": Recipe(ln.rules.rates, {"objective": thing(OBJECTIVE), "hessian": hessian}),
        "rules.newton": Recipe(ln.rules.newton, {
            "objective": thing(OBJECTIVE), "gradient": gradient, "hessian": hessian, "dt": rate(0.5, infinite=True),
        }),
        **{
            f"rules.{name}": Recipe(getattr(ln.rules, name), {
                "objective": thing(OBJECTIVE), "gradient": gradient, "hessian": hessian, "dt": rate(0.5)
            }) for name in ("gradient_descent", "ballistic")
        },
        "euler_lagrange.EulerLagrange": Recipe(EulerLagrange, {"objective": objective, "loss": loss}),
        "euler_lagrange.euler_lagrange": Recipe(euler_lagrange, {
            "objective": objective, "loss": thing(WELL, but=(sympy.Symbol,)),
        }),
        "euler_lagrange.EulerLagrange.acceleration": Recipe(EQUATIONS.acceleration, {
            "theta": points(POINT), "velocity": points(POINT), "t": array(0.0, finite=False, any_shape=True),
        }),
        "euler_lagrange.EulerLagrange.residual": Recipe(EQUATIONS.residual, {
            "traj": thing(PATH), "times": array([0.5, 1.0], none=True, any_shape=True, bad=[[-1.0], [0.0], []])
        }),
        "euler_lagrange.derive": Recipe(derive, {
            "dim": whole(1), "metric": _formulas([["x", 1], [1, 2]]), "drift": _formulas(["x"]), "loss": _formulas(),
            **{name: _formulas() for name in ("eta", "k")}, "gamma": _formulas(),
        }),
        "euler_lagrange.Derivation.print": Recipe(DERIVED.print, {"expression": _formulas(none=False)}),
        "euler_lagrange.Derivation.in_time": Recipe(DERIVED.in_time, {"expression": _formulas(none=False)}),
        **_paths(), **_fields(), **_beliefs(), **_noise(),
    }  # fmt: skip
    for name, drift in (("Linear", TURN), ("Function", FIELD)):
        by_name[f"drifts.{name}.__call__"] = Recipe(drift, {"theta": points(POINT)})
        by_name[f"drifts.{name}.jacobian"] = Recipe(drift.jacobian, {"theta": points(POINT)})
    by_name["drifts.Linear.matrix"] = Recipe(TURN.matrix, {"dim": whole(2)})
    by_name["drifts.Linear.offset"] = Recipe(TURN.offset, {"dim": whole(2)})
    return by_name


def _matrix(good: Any, **options: Any) -> Argument:
    """A matrix, or a function of a point."""
    kind = array(good, **options)
    return Argument(kind.good, [value for value in kind.bad if not callable(value)], kind.also)


def _formulas(further: Any = (), none: bool = True) -> Any:
    if none:
        return Argument(None, [*formula, *further])
    return Argument(
        sympy.Symbol("x"), [None, *(value for value in formula if not isinstance(value, sympy.Basic | float))]
    )


def _named(good: Any) -> Argument:
    return Argument(
        {"a": good}, [None, {}, [good], good, "a", {"a": None}, {"a": "b"}, {1: good}, {"a": [good]}, Odd()]
    )


def _paths() -> dict[str, Recipe]:
    times = array([0.1, 1.0], any_shape=True, below=0.0, bad=[np.zeros((2, 2))])
    calls = {"__call__": PATH, "velocity": PATH.velocity, "kinetic": PATH.kinetic, "potential": PATH.potential}
    return {
        **{f"trajectory.Trajectory.{name}": Recipe(call, {"t": times}) for name, call in calls.items()},
        **{
            f"trajectory.{name}": Recipe(getattr(ln, name), {
                "objective": objective, "loss": thing(BOWL, but=CALLS), "theta0": start, **BUDGET, **more
            }) for name, more in (("value", FIRST), ("optimal_velocity", {}))
        },
        "trajectory.Comparison": Recipe(ln.Comparison, {"paths": _named(PATH)}),
        "trajectory.compare": Recipe(ln.compare, {
            "objectives": _named(OBJECTIVE), "loss": thing(BOWL, but=CALLS), "theta0": start,
        }),
        **{f"{name}.plot": Recipe(plotted.plot, {"ax": thing(None, none=True)}) for name, plotted in {
            "trajectory.Trajectory": PATH, "trajectory.Comparison": ln.Comparison({"a": PATH}),
            "Regret": ln.regret(STATES, OBJECTIVE, BOWL, dt=0.1),
        }.items()},
        "trajectory.solve": Recipe(ln.solve, {
            "objective": objective, "loss": thing(BOWL, but=CALLS), "theta0": start, "method": word("auto"),
            "horizon": positive(None, none=True, infinite=True), "endpoint": array(POINT, none=True, also=("horizon",)),
            "throw": flag(True), "steps": whole(None, none=True, low=2), "rtol": positive(1e-8), **BUDGET,
            **FIRST,
        }, costly=True),
        "trajectory.methods": Recipe(ln.trajectory.methods, {
            "objective": objective, "loss": thing(BOWL, but=CALLS), "theta0": start, "horizon": positive(1.0),
            "endpoint": array(POINT, none=True),
        }),
        "trajectory.curved.solve": Recipe(curved.solve, {
            "objective": objective, "loss": thing(BOWL, but=CALLS), "theta0": start, "horizon": positive(1.0),
            "endpoint": array(POINT), "motion": function(None, none=True), "throw": flag(True), "tol": positive(1e-8),
        }),
        "trajectory.phase_plane.feedback": Recipe(phase_plane.feedback, {
            "objective": objective, "loss": thing(QUARTIC), "target": number(1.0574538),
            "span": Argument((0.5, 1.5), _span((1.5, 0.5))),
        }),
        **{
            f"trajectory.cycles.Cycle.{name}": Recipe(getattr(ORBIT, name), {
                "t": array([0.1, 1.0], any_shape=True, bad=[np.zeros((2, 2))])
            }) for name in ("position", "velocity", "cost_rate")
        },
        "trajectory.cycles.cycle": Recipe(cycles.cycle, {**_orbits()}),
        "trajectory.cycles.slow_cycle": Recipe(cycles.slow_cycle, {**_orbits(), "period": positive(14.0)}),
        **{
            f"trajectory.phase_plane.Feedback.{name}": Recipe(getattr(VALLEY, name), {
                "theta": array([1.0], finite=False, any_shape=True)
            }) for name in ("speed", "excess", "action")
        },
        **{
            f"trajectory.phase_plane.{name}": Recipe(getattr(phase_plane, name), {
                "objective": objective, "loss": thing(QUARTIC), "span": Argument((-2.0, 2.0), [
                    value for value in _span((2.0, -2.0)) if value is not None
                ]),
            }, costly=True)
            for name in ("heteroclinic_discount", "indifference_point", "barrier_discount", "quartic_discounts")
        },
    }  # fmt: skip


def _deadlines() -> dict[str, Recipe]:
    """Rates to a deadline, what noise asks for, and the regret of a path."""
    steps = array(STATES[:, :2], bad=[STATES[:1], STATES[:, :1], POINT])
    amounts = {
        name: array([1.0, 0.1], below=0.0, also=("curvature", "spread", "noise"), bad=[[[1.0]]])
        for name in ("curvature", "spread", "noise")
    }
    return {
        "rules.deadline_rate": Recipe(ln.rules.deadline_rate, {
            "objective": Argument(OBJECTIVE, [*thing(OBJECTIVE).bad, DRIVEN]),
            "curvature": array([1.0, 0.0], any_shape=True, scalars=True, also=("remaining",)),
            "remaining": array([1.0, 2.0], any_shape=True, scalars=True, finite=False, bad=[NAN, -1.0, [1.0, -1.0]]),
        }),
        "rules.hyperbolic_rate": Recipe(ln.rules.hyperbolic_rate, {
            "objective": Argument(ln.Objective(), [*thing(OBJECTIVE).bad, OBJECTIVE, DRIVEN]),
            "curvature": positive(1.0), "alpha": positive(1.0), "power": positive(2.0),
            "elapsed": array([0.0, 1.0], any_shape=True, scalars=True, below=0.0),
            "planner": word("naive"),
        }),
        "rules.quasi_hyperbolic": Recipe(ln.rules.quasi_hyperbolic, {
            "curvature": positive(1.0), "delta": number(0.9, low=0.0, high=1.0, open_low=True, open_high=True),
            "beta": number(0.5, low=0.0, high=1.0, open_low=True), "eta": positive(1.0), "planner": word("naive"),
        }),
        "rules.loss_weight": Recipe(ln.rules.loss_weight, {
            "schedule": array([1.0, 0.5, 0.0], below=0.0, also=("times",), bad=[[1.0]]), "gamma": rate(0.1),
            "times": array([0.0, 0.5, 1.0], none=True, bad=[[0.0, 1.0], [1.0, 0.0, 2.0], [1.0, 1.0, 1.0]]),
            "eta": positive(1.0), "curvature": rate(0.0),
        }),
        "rules.kalman_rates": Recipe(ln.rules.kalman_rates, {
            "curvature": positive(1.0), "spread": rate(1.0), "noise": rate(1.0), "steps": whole(3),
            "multiplicative": rate(0.0),
        }),
        "rules.cooling": Recipe(ln.rules.cooling, {
            **amounts, "span": positive(10.0), "cap": positive(1.0, infinite=True), "points": whole(40, low=16),
        }),
        "rules.Cooling.__call__": Recipe(ln.rules.cooling([1.0], [1.0], [1.0], 10.0), {
            "remaining": array([1.0, 2.0], any_shape=True, scalars=True, below=0.0),
        }),
        "regret": Recipe(ln.regret, {
            "path": steps, "objective": objective, "loss": thing(BOWL, but=CALLS), "dt": positive(0.1, none=True),
            "value": word("auto"),
        }),
        "value_bounds": Recipe(ln.value_bounds, {
            "objective": Argument(OBJECTIVE, [*thing(OBJECTIVE).bad, DRIVEN, ln.Objective(gamma=1.0, horizon=2.0)]),
            "loss": thing(BOWL), "theta": start, "smoothness": positive(2.2, also=("theta",)),
            "pl": number(0.5, low=0.0, high=2.2), "lowest": Argument(0.0, [*number(0.0).bad, 5.0]),
        }),
        "trajectory.alignment": Recipe(alignment, {
            "path": steps, "objective": Argument(OBJECTIVE, [*thing(OBJECTIVE).bad, DRIVEN]), "loss": thing(BOWL),
            "gamma": array([0.0, 1.0], below=0.0, any_shape=True, bad=[1.0, [[1.0]]]), "dt": positive(0.1),
        }),
    }  # fmt: skip


def _noise() -> dict[str, Recipe]:
    """Relative prices, and what noise takes off a mean."""
    tensor = np.array([[1.0, -0.5], [0.3, 2.0]])
    spread = array(tensor**2, scalars=True, below=0.0, at=True)
    return {
        "rules.relative_step": Recipe(ln.rules.relative_step, {
            "objective": Argument(ln.Objective(), [
                *thing(ln.Objective()).bad, ln.Objective(horizon=1.0), ln.Objective(metric=np.eye(2)),
                ln.Objective(drift=ln.drifts.weight_decay(0.1)),
            ]),
            "mean": array(tensor),
            "theta": array(tensor, any_shape=True, also=("mean", "curvature"), bad=[np.zeros((2, 2))]),
            "curvature": array(tensor**2, scalars=True, below=0.0), "dt": positive(0.1),
        }),
        "rules.keep_norm": Recipe(ln.rules.keep_norm, {
            "theta": array(tensor, any_shape=True, also=("displacement",), bad=[np.zeros((2, 2))]),
            "displacement": array(tensor),
        }),
        "rules.prior_shrink": Recipe(ln.rules.prior_shrink, {
            "prior": array(0.5, any_shape=True, below=0.0), "noise": array(0.5, any_shape=True, below=0.0, at=True),
            "count": positive(4.0),
        }),
        "rules.shrink": Recipe(ln.rules.shrink, {
            "mean": array(tensor, any_shape=True, also=("noise",)), "noise": spread, "count": positive(4.0),
            "pool": word("tensor"),
        }),
    }  # fmt: skip


def _beliefs() -> dict[str, Recipe]:
    """What a learner is assumed to believe."""
    weight = number(0.9, low=0.0, high=1.0, open_high=True)
    average = {"beta": weight, "scale": positive(2.0), "floor": rate(0.1), "corrected": flag(True)}
    turns = {"every": whole(5, low=1), "watch": whole(2, low=1), "max_dim": whole(9, low=1)}
    matrix = {"beta": weight, "scale": positive(2.0), "floor": rate(0.1), **turns}
    by_name = {
        "Filter": Recipe(ln.assume.Filter, {
            "beta": weight, "fading": array([0.1, 0.2], any_shape=True, below=0.0, bad=[
                -1.0, np.zeros((2, 3)), np.zeros((2, 2, 2)), [],
            ]), "trend": number(0.9, low=0.0, high=1.0, open_high=True, none=True), "corrected": flag(True),
            "share": number(0.1, low=0.0, high=1.0),
        }),
        "SecondMoment": Recipe(ln.assume.SecondMoment, {**average, "centred": flag(False), "signal": flag(False)}),
        **{
            name: Recipe(getattr(ln.assume, name), average) for name in ln.assume.__all__
            if {field.name for field in dataclasses.fields(getattr(ln.assume, name))} == set(average)
        },
        "Known": Recipe(ln.assume.Known, {"hessian": hessian}),
        "RootMeanSquare": Recipe(ln.assume.RootMeanSquare, {
            "beta": weight, "eps": rate(1e-8), "corrected": flag(True)
        }),
        "Eigenbasis": Recipe(ln.assume.Eigenbasis, matrix),
        "Kronecker": Recipe(ln.assume.Kronecker, {**matrix, "fit": word("likelihood")}),
        "Polar": Recipe(ln.assume.Polar, {"scale": positive(2.0), "floor": rate(0.1), "noise": flag(False)}),
    }  # fmt: skip
    adam = ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.9), curvature=ln.assume.Hutchinson(0.9), dt=0.1)
    measured = ln.derive(
        OBJECTIVE, belief=ln.assume.Filter(0.99), curvature=ln.assume.SecondMoment(0.99), dt=0.1,
        metric=ln.assume.RootMeanSquare(0.99),
    )  # fmt: skip
    curvatures = array(0.5, any_shape=True)
    rules = {
        "derive": Recipe(ln.derive, {
            "objective": Argument(OBJECTIVE, [*thing(OBJECTIVE).bad, ln.Objective(horizon=1.0)]),
            "belief": thing(ln.assume.Filter(0.9), none=True), "curvature": thing(ln.assume.Known(H), none=True),
            "dt": positive(0.1, none=True), "exact": flag(False),
            "metric": thing(ln.assume.RootMeanSquare(0.9), none=True),
            "form": Argument(None, word("ema", none=True).bad),
        }),
        "LearningRule.init": Recipe(adam.init, {"theta": array(POINT, any_shape=True)}),
        "LearningRule.__call__": Recipe(adam, {
            "theta": array(POINT, also=("gradient",), any_shape=True, bad=[np.zeros(7), 1.0]),
            "gradient": array(POINT), "curvature": array(POINT, bad=[None]),
            "state": Argument(adam.init(POINT), [*thing(adam.init(POINT)).bad, adam.init([1.0]), (0.0,) * 3]),
        }),
        "LearningRule.limits": Recipe(adam.limits, {"curvature": curvatures}),
        "LearningRule.plot": Recipe(adam.plot, {"ax": thing(None, none=True)}),
        "LearningRule.gain": Recipe(measured.gain, {
            "curvature": array(100.0, any_shape=True),
            "metric": array(1.0, any_shape=True, bad=[None, -1.0]),
        }),
        "LearningRule.regime": Recipe(measured.regime, {
            "curvature": array(100.0, any_shape=True),
            "metric": array(1.0, any_shape=True, bad=[None, -1.0]),
        }),
    }  # fmt: skip
    return {f"assume.{name}": recipe for name, recipe in by_name.items()} | rules


def _span(backwards: tuple[float, float]) -> list[Any]:
    return list(items(None, bad=[backwards, (NAN, 1.0), (0.0, INF), (1.0,), (1.0, 2.0, 3.0), ("0", "2")]).bad)


def _orbits() -> dict[str, Argument]:
    return {
        "objective": Argument(TURNED, [*thing(TURNED).bad, OBJECTIVE]), "loss": thing(RING, but=CALLS),
        "guess": array(LOOP, bad=[LOOP[:5], LOOP[::-1]]),
    }  # fmt: skip


def _fields() -> dict[str, Recipe]:
    methods = ("potential", "gradient_part", "remainder")
    box = [[-1.0, 1.0], [-1.0, 1.0]]
    field = function(TURN)
    return {
        **{f"helmholtz.Decomposition.{name}": Recipe(getattr(PARTS, name), {"theta": points(POINT, finite=True)})
           for name in methods},
        "helmholtz.decompose": Recipe(ln.helmholtz.decompose, {
            "field": field, "box": array(box, bad=[[[1.0, -1.0], [-1.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]]),
            "rtol": positive(1e-3), "max_points": whole(1_000_000), "throw": flag(True),
        }),
        "helmholtz.split_affine": Recipe(ln.helmholtz.split_affine, {"field": thing(TURN), "dim": whole(2, none=True)}),
        "helmholtz.effective_loss": Recipe(ln.helmholtz.effective_loss, {
            "objective": thing(DRIVEN), "loss": thing(BOWL), "decomposition": thing(PARTS)
        }),
        "helmholtz.non_gradient_fraction": Recipe(ln.helmholtz.non_gradient_fraction, {
            "field": field, "points": array([POINT, 2 * POINT]), "rtol": positive(1e-3),
        }, rest=frozenset({"box"})),
        "helmholtz.non_gradient_fraction (box)": Recipe(ln.helmholtz.non_gradient_fraction, {
            "field": field, "box": array(box, bad=[[[1.0, -1.0], [-1.0, 1.0]]]), "rtol": positive(1e-3),
        }, rest=frozenset({"points"})),
        "helmholtz.non_gradient_fraction (record)": Recipe(ln.helmholtz.non_gradient_fraction, {
            "field": _matrix(TURN(STATES), also=("points",)), "points": array(STATES, also=("field",)),
        }, rest=frozenset({"box", "rtol"})),
    }  # fmt: skip


FORMULA = "takes sympy's symbols as well as numbers: it returns the formula itself, and refuses nothing"
EXEMPT = {
    "trajectory.Status": "an enum, which the library makes",
    **dict.fromkeys((
        "losses.Loss.expression", "losses.Quadratic.expression", "losses.DoubleWell.expression",
        "losses.Function.expression",
        "losses.Rosenbrock.expression", "losses.Section.expression",
        *(f"task.{name}.expression" for name in ("Task", "Phases", "Driven")),
        *(f"metrics.{name}.expression" for name in ln.metrics.__all__),
        "drifts.Drift.expression", "drifts.Linear.expression", "drifts.Function.expression",
    ), FORMULA),
    **dict.fromkeys((
        *(f"losses.{name}.{ask}" for name in ln.losses.__all__ for ask in ("starts", "summed")),
        *(f"{name}.{ask}" for name in ("classifiers.LogisticRegression", "uncertainty.Potential", "belief.Believed")
          for ask in ("starts", "summed", "expression")),
        *(f"task.{name}.{ask}" for name in ("Task", "Phases", "Driven") for ask in ("starts", "summed")),
        *(f"metrics.{name}.{ask}" for name in ln.metrics.__all__ for ask in ("units_at", "geodesic")),
    ), "what solvers ask, of points that they have checked"),
    **dict.fromkeys((
        "metrics.Metric.norm_squared", "metrics.Metric.second_derivative", "metrics.Metric.__call__", "losses.Loss.at",
        "uncertainty.Potential.at", "belief.Believed.at",
        *(f"task.Task.{name}" for name in ("value", "gradient", "hessian", "rescaled")),
    ), "walked at those that inherit it"),
    **dict.fromkeys((
        f"assume.{name}.{ask}" for name in ln.assume.__all__
        for ask, call in inspect.getmembers(getattr(ln.assume, name), inspect.isfunction)
        if ask[0] != "_" and len(inspect.signature(call).parameters) > 1
    ), "what rules ask, with what they have checked"),
    **dict.fromkeys((
        "euler_lagrange.Derivation", "helmholtz.Decomposition", "helmholtz.Fraction", "trajectory.Trajectory",
        "trajectory.phase_plane.Feedback", "trajectory.phase_plane.Discounts", "classifiers.Link",
        "trajectory.cycles.Cycle", "LearningRule", "rules.Cooling", "rules.LossWeight",
        "Regret",
    ), "a result, which the library makes"),
}  # fmt: skip
