"""Recipes of beliefs (Sec. 5) and of uncertain weights (Sec. 6)."""

from __future__ import annotations

import numpy as np
from bad_values import INF, NAN, Argument, array, flag, items, number, points, positive, rate, thing, whole, word
from walk import Recipe

import lossnav as ln
from lossnav import belief, uncertainty

MODEL = belief.Beliefs(gamma=0.5)
EXACT = belief.Beliefs(gamma=0.5, observation=belief.Exact())
MEMORY = belief.memory(0.0, 1.0, 0.1, 1.0)
HIDDEN = belief.simulate([[1.0, 0.2], [0.2, 2.0]], [0.1, 0.2], steps=4, particles=3, seed=0)
PLAN = belief.plan(MODEL, 0.9, 0.7, gradient=0.6, square=1.1, horizon=1.0)
PROBLEM = uncertainty.Problem(gamma=1.0, entropy=0.1)
BOWL = ln.losses.Quadratic([[2.0, 0.3], [0.3, 1.0]], minimum=[1.0, 0.0])
AVERAGE = uncertainty.average(BOWL)
LINE = ln.losses.Quadratic([[2.0]], minimum=[0.0])
HERMITE = uncertainty.Hermite(LINE)
WELLS = uncertainty.Wells([[0.0], [1.0]], [1.0, 2.0], [0.5, 0.4], bowl=0.1)
TRACK = uncertainty.plan(PROBLEM, LINE, [0.5], [0.3])

X, V = [0.3, -0.2], [0.5, 0.4]


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {**_memories(), **_models(), **_plans(), **_averages(), **_equations(), **_closed_forms()}


def _memories() -> dict[str, Recipe]:
    numbers = {"decay": rate(0.1), "gamma": rate(1.0), "diffusion": positive(0.1), "noise": positive(1.0),
               "dt": positive(1.0)}  # fmt: skip
    share = number(0.9, low=0.0, high=1.0, open_low=True, open_high=True)
    lag = array([0.5, -0.5], any_shape=True)
    return {
        "belief.Memory": Recipe(belief.Memory, numbers), "belief.memory": Recipe(belief.memory, numbers),
        "belief.Memory.smoother": Recipe(MEMORY.smoother, {"lag": lag}),
        "belief.Memory.average": Recipe(MEMORY.average, {"lag": lag}),
        "belief.Memory.filter": Recipe(MEMORY.filter, {
            "data": array([1.0, 2.0], any_shape=True, bad=[1.0]), "initial": number(0.0)
        }),
        "belief.from_beta": Recipe(belief.from_beta, {
            "beta": share, "gamma": rate(0.0), "dt": positive(1.0), "decay": rate(None, none=True),
            "gain": Argument(None, [1.5, 0.0, -1.0, NAN, INF, "1", 1j, 10**400, True, np.ma.masked, {1.0}, [0.5]]),
            "noise": positive(1.0),
        }),
        "belief.kalman_gains": Recipe(belief.kalman_gains, {"beta": share, "count": whole(3)}),
        "belief.corrected_gains": Recipe(belief.corrected_gains, {"beta": share, "count": whole(3)}),
        "belief.HiddenWeights.averaged_covariance": Recipe(HIDDEN.averaged_covariance, {"window": whole(2, high=4)}),
        "belief.simulate": Recipe(belief.simulate, {
            "hessian": array([[1.0, 0.2], [0.2, 2.0]], bad=[-np.eye(2), [[1.0, 2.0], [0.0, 1.0]]]),
            "gradient": array([0.1, 0.2]), "noise": positive(1.0), "tau": positive(1.0), "dt": positive(0.1),
            "steps": whole(3), "particles": whole(2), "seed": whole(0, low=0), "centre": word("current"),
        }),
        "belief.averaged_variance": Recipe(belief.averaged_variance, {
            "curvature": array([1.0, 2.0], any_shape=True, below=0.0, at=True), "window": rate(1.0),
            "noise": positive(1.0), "tau": positive(1.0),
        }),
    }  # fmt: skip


def _models() -> dict[str, Recipe]:
    state = array([0.1, 0.2, 0.5], any_shape=True, bad=[1.0, [1.0, 2.0], np.zeros((2, 3)), []])
    data = {"gradient": array(0.5, any_shape=True), "square": array(1.0, any_shape=True, none=False)}
    motion = {"state": state, "velocity": state, **data}
    place = {"state": state, **data}
    held = {"m": 0.1, "v": 0.5, "g": 0.2, "q": 0.3}
    free = {name: array(value, finite=False, any_shape=True) for name, value in held.items()}
    spread = free | {"v": array(0.5, finite=False, any_shape=True, below=0.0, at=True)}
    variance = {"variance": positive(0.5)}
    by_name = {
        "belief.Prior": Recipe(belief.Prior, {"decay": rate(0.0), "diffusion": positive(1.0)}),
        "belief.Prior.cost": Recipe(belief.Prior().cost, {
            "x": array(0.1, finite=False, any_shape=True), "speed": array(0.1, finite=False, any_shape=True)
        }),
        "belief.Prior.stiffness": Recipe(belief.Prior().stiffness, {"gamma": rate(1.0)}),
        "belief.Simplified": Recipe(belief.Simplified, {"mean_noise": positive(1.0), "variance_noise": positive(1.0)}),
        "belief.Simplified.noises": Recipe(belief.Simplified().noises, {"variance": positive(1.0, none=True)}),
        "belief.Exact.noises": Recipe(belief.Exact().noises, variance),
        "belief.Beliefs": Recipe(belief.Beliefs, {
            "eta": positive(1.0), "k": positive(1.0), "gamma": rate(0.0), "curvature_scale": positive(1.0),
            "mean": thing(belief.Prior()), "variance": thing(belief.Prior()),
            "observation": thing(belief.Simplified()), "weight": positive(1.0),
        }),
        "belief.Beliefs.data": Recipe(MODEL.data, data),
        "belief.Beliefs.expected_loss": Recipe(MODEL.expected_loss, {"state": state}),
        **{f"belief.Beliefs.{name}": Recipe(getattr(MODEL, name), motion) for name in ("surprise", "cost_rate",
        "acceleration")},
        **{f"belief.Beliefs.{name}": Recipe(getattr(MODEL, name), place) for name in ("pull", "second_derivative")},
        "belief.Beliefs.objective": Recipe(MODEL.objective, {"horizon": positive(1.0, infinite=True)}),
        "belief.Beliefs.loss": Recipe(MODEL.loss, {
            "gradient": _datum(number(0.6, also=("datum",))), "square": _datum(number(1.1, also=("datum",)))
        }),
        "belief.Believed": Recipe(belief.Believed, {
            "model": thing(MODEL), "gradient": number(0.6), "square": number(1.1)
        }),
        **{f"belief.Believed.{name}": Recipe(getattr(MODEL.loss(0.6, 1.1), name), {"theta": points([0.1, 0.2, 0.5])})
           for name in ("value", "gradient", "hessian")},
        "belief.Beliefs.memories": Recipe(EXACT.memories, {"dt": positive(1.0), **variance}),
        "belief.Beliefs.parameter_rate": Recipe(MODEL.parameter_rate, {
            "variance": array([0.5], any_shape=True, below=0.0)
        }),
        "belief.Beliefs.step": Recipe(MODEL.step, {
            "mean": array([0.5], any_shape=True), "variance": array([0.5], any_shape=True, below=0.0),
            "dt": rate(1.0), "rule": word("ballistic"),
        }),
        "belief.Beliefs.optimism": Recipe(MODEL.optimism, variance),
        "belief.Beliefs.require_evidence": Recipe(belief.Beliefs(weight=1e6).require_evidence, variance),
        "belief.Beliefs.is_minimum": Recipe(MODEL.is_minimum, {
            "state": array([0.1, 0.2, 0.5], bad=[np.zeros((3, 2))]), "gradient": number(0.5), "square": number(1.0)
        }),
        "belief.adam": Recipe(belief.adam, {"model": thing(EXACT), "dt": positive(1.0), "variance": positive(1.0)}),
    }  # fmt: skip
    for name in ("cost", "derivative", "second_derivative"):
        by_name[f"belief.Simplified.{name}"] = Recipe(getattr(belief.Simplified(), name), free)
        by_name[f"belief.Exact.{name}"] = Recipe(getattr(belief.Exact(), name), spread)
    return by_name


def _plans() -> dict[str, Recipe]:
    times = array([0.1, 0.5], any_shape=True, below=0.0, bad=[2.0, [0.1, 1.5]])
    track = array([0.1, 0.5], any_shape=True, below=0.0, bad=[np.zeros((2, 2))])
    names = ("mean", "log_variance", "variance", "mean_rate", "log_rate", "discount")
    datum = number(0.6)
    weights = {"mean": array([0.5]), "variance": array([0.3], below=0.0, at=True)}
    switches = items((), bad=[[(1.0,)], [(1.0, "x")], [("1", LINE)], [(NAN, LINE)], [(-1.0, LINE)], [(0.0, LINE)],
                              [(INF, LINE)], [(2.0, LINE), (1.0, LINE)], [(1.0, LINE, 2)], [1.0], [(1j, LINE)],
                              [(1.0, BOWL)]])  # fmt: skip
    return {
        "belief.Plan.__call__": Recipe(PLAN, {"t": times}), "belief.Plan.velocity": Recipe(PLAN.velocity, {"t": times}),
        "belief.plan": Recipe(belief.plan, {
            "model": thing(MODEL), "mean": number(0.9), "variance": positive(0.7), "gradient": _datum(datum),
            "square": _datum(datum), "horizon": positive(1.0, infinite=True), "tol": positive(1e-6),
            "throw": flag(True),
        }),
        "belief.resting_places": Recipe(belief.resting_places, {
            "model": thing(MODEL), "gradient": number(0.6), "square": number(1.1)
        }),
        "uncertainty.Plan.plot": Recipe(TRACK.plot, {"ax": thing(None, none=True)}),
        **{f"uncertainty.Plan.{name}": Recipe(getattr(TRACK, name), {"t": track})
           for name in (*names, "__call__", "velocity", "kinetic", "potential")},
        "uncertainty.plan": Recipe(uncertainty.plan, {
            "problem": thing(PROBLEM), "loss": thing(LINE), **weights, "switches": switches, "foreseen": flag(False),
            "horizon": positive(INF, infinite=True), "throw": flag(True), "tol": positive(1e-8),
        }, costly=True),
        "uncertainty.overdamped_path": Recipe(uncertainty.overdamped_path, {
            "problem": thing(PROBLEM), "loss": thing(uncertainty.average(LINE), but=()), **weights,
            "t": array([0.0, 0.5, 1.0], any_shape=True, below=0.0, bad=[1.0, [1.0, 0.5], [0.0, 0.0], np.zeros((2, 2))]),
            "switches": switches, "frozen": flag(False),
        }),
    }  # fmt: skip


def _datum(kind: Argument) -> Argument:
    """A number, or a function of times."""
    return Argument(kind.good, [value for value in kind.bad if not callable(value)], kind.also)


def _averages() -> dict[str, Recipe]:
    mean, variance = array(X, finite=False), array(V, finite=False, below=0.0)
    line = {"mean": array([0.3], finite=False), "variance": array([0.5], finite=False, below=0.0)}
    by_name = {
        "uncertainty.average": Recipe(uncertainty.average, {"loss": thing(BOWL)}),
        "uncertainty.Quadratic": Recipe(uncertainty.Quadratic, {"loss": thing(BOWL)}),
        "uncertainty.Hermite": Recipe(uncertainty.Hermite, {
            "loss": thing(LINE), "order": whole(8, high=200, none=True)
        }),
        "uncertainty.Wells": Recipe(uncertainty.Wells, {
            "centres": array([[0.0], [1.0]], also=("bowl_centre",)), "depths": array([1.0, 2.0], below=0.0, at=True),
            "widths": array([0.5, 0.4], below=0.0, at=True), "bowl": rate(0.1), "bowl_centre": array([0.0], none=True),
        }),
        "uncertainty.Problem": Recipe(uncertainty.Problem, {
            "eta": positive(1.0), "k": positive(1.0), "gamma": rate(0.0), "entropy": rate(0.0),
            "prior_variance": positive(1.0, infinite=True),
        }),
        "uncertainty.Problem.objective": Recipe(PROBLEM.objective, {
            "weights": whole(2), "horizon": positive(3.0, infinite=True)
        }),
        "uncertainty.Problem.loss": Recipe(PROBLEM.loss, {"loss": thing(BOWL)}),
        "uncertainty.Potential": Recipe(uncertainty.Potential, {
            "average": thing(AVERAGE), "temperature": rate(0.1), "prior_variance": positive(1.0, infinite=True),
        }),
        **{f"uncertainty.Potential.{name}": Recipe(getattr(PROBLEM.loss(BOWL), name), {"theta": points([*X, *V])})
           for name in ("value", "gradient", "hessian")},
        "uncertainty.Problem.kinetic": Recipe(PROBLEM.kinetic, {
            "variance": array(V, below=0.0, at=True, also=("mean_rate",)), "mean_rate": array(X),
            "variance_rate": array(X)
        }),
        "uncertainty.Problem.potential": Recipe(PROBLEM.potential, {
            "loss": thing(AVERAGE), "mean": array(X), "variance": array(V, below=0.0, at=True)
        }),
        "uncertainty.Problem.cost_rate": Recipe(PROBLEM.cost_rate, {
            "loss": thing(AVERAGE), "mean": array(X), "variance": array(V, below=0.0, at=True), "mean_rate": array(X),
            "variance_rate": array(X),
        }),
    }  # fmt: skip
    for name in ("value", "mean_gradient", "variance_gradient"):
        by_name[f"uncertainty.Quadratic.{name}"] = Recipe(getattr(AVERAGE, name), {"mean": mean, "variance": variance})
        by_name[f"uncertainty.Hermite.{name}"] = Recipe(getattr(HERMITE, name), line)
        by_name[f"uncertainty.Wells.{name}"] = Recipe(getattr(WELLS, name), line)
    return by_name


def _equations() -> dict[str, Recipe]:
    mean, variance, speed = array(X), array(V, below=0.0, at=True), array(X)
    problem, loss = {"problem": thing(PROBLEM)}, {"loss": thing(AVERAGE)}
    state = {"mean": mean, "variance": variance, "mean_rate": speed, "variance_rate": speed}
    place = {"mean": mean, "variance": variance}
    return {
        "uncertainty.acceleration": Recipe(uncertainty.acceleration, problem | loss | state),
        "uncertainty.overdamped_rate": Recipe(uncertainty.overdamped_rate, problem | loss | place),
        "uncertainty.log_acceleration": Recipe(uncertainty.log_acceleration, problem | loss | {
            "mean": mean, "log_variance": mean, "mean_rate": speed, "log_rate": speed
        }),
    }  # fmt: skip


def _closed_forms() -> dict[str, Recipe]:
    where = {"mean": array([0.3], any_shape=True), "variance": array([0.5], any_shape=True, below=0.0, at=True)}
    other = {
        "other_mean": array([0.0], any_shape=True),
        "other_variance": array([1.0], any_shape=True, below=0.0, at=True),
    }
    task = {
        "curvature": array([1.0, 2.0], any_shape=True), "eta": positive(1.0), "k": positive(1.0),
        "gamma": positive(1.0),
        "entropy": rate(0.1), "prior_variance": positive(1.0, infinite=True),
    }  # fmt: skip
    begin = {
        "t": array([0.1, 1.0], any_shape=True, below=0.0),
        "initial": array([0.5], any_shape=True, below=0.0, at=True),
    }
    numbers = {name: array(1.0, any_shape=True, below=0.0, at=name == "eta") for name in ("eta", "gamma", "entropy")}
    return {
        "uncertainty.kl_divergence": Recipe(uncertainty.kl_divergence, where | other),
        "uncertainty.distance": Recipe(uncertainty.distance, where | other),
        "uncertainty.geodesic": Recipe(uncertainty.geodesic, {
            "fraction": array([0.5], any_shape=True), "mean": number(0.3), "variance": positive(0.5),
            "other_mean": number(0.0), "other_variance": positive(1.0),
        }),
        "uncertainty.equilibrium_variance": Recipe(uncertainty.equilibrium_variance, {
            name: task[name] for name in ("curvature", "k", "entropy", "prior_variance")
        }),
        "uncertainty.overdamped_variance": Recipe(uncertainty.overdamped_variance, begin | task),
        "uncertainty.overdamped_offset": Recipe(uncertainty.overdamped_offset, begin | task),
        "uncertainty.relaxation_rate": Recipe(uncertainty.relaxation_rate, numbers),
    }  # fmt: skip


EXEMPT = dict.fromkeys(("belief.Plan", "belief.HiddenWeights", "uncertainty.Plan"), "a result, which the library makes")
