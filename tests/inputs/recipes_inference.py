"""Recipes of what is inferred of a learner, and of which laws are optimal."""

from __future__ import annotations

import numpy as np
from bad_values import Argument, array, flag, items, number, positive, rate, thing, whole, word
from walk import Recipe

import lossnav as ln

H, R = [1.0, 100.0], [0.41421356, 9.04987562]
T = np.linspace(0.0, 4.0, 12)
BOWL = ln.losses.Quadratic(np.diag(H), minimum=[0.0, 0.0])
PATH = np.exp(-np.outer(T, R))
CURVE = ln.infer.Curve(T, PATH[:, 0] ** 2)
FOUND = ln.infer(ln.infer.Rates(H, R, 0.01))
WEIGHTS = np.cumsum(np.random.default_rng(0).normal(size=(8, 3)), axis=0)
RESULTS = "Ambiguity", "Design", "Estimate", "Fit", "Gram", "Inference"
EXEMPT: dict[str, str] = dict.fromkeys(
    (*(f"infer.{name}" for name in RESULTS), "OptimalFor"), "a result, which the library makes"
)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    law = [[1.0, 0.0], [0.0, 2.0]]
    ahead = {
        "stakes": positive(4.0, none=True), "announced": positive(1.0, none=True),
        "deadline": positive(1.0, none=True), "start": array([1.0, 1.0], none=True),
    }  # fmt: skip
    return {
        "infer.infer": Recipe(ln.infer.infer, {
            "path": array(PATH, also=("times",)), "loss": thing(BOWL, but=(type(len), type)), "times": array(T),
            "family": word("planner", but=(list, tuple)), "noise": rate(0.01, none=True),
            "level": number(0.95, low=0.5, high=1.0, open_low=True, open_high=True),
            "known": Argument({"gamma": 2.0}, [1, "x", [1.0], {"beta": 1.0}, {"gamma": -1.0}, {"gamma": "x"}]),
        }),
        "infer.design": Recipe(ln.infer.design, {
            "h": array(H, below=0.0, at=True, any_shape=True), "gamma": positive(4.0), "noise": positive(0.05),
            "accuracy": positive(0.1), "a": positive(1.0),
        }, costly=True),
        "infer.Rates": Recipe(ln.infer.Rates, {
            "h": array(H, below=0.0, at=True), "r": array(R, below=0.0, at=True, also=("h", "error")),
            "error": array([0.1, 0.1], below=0.0, scalars=True, bad=[[0.1, 0.1, 0.1]]),
        }),
        "infer.Curve": Recipe(ln.infer.Curve, {
            "t": array(T, also=("L",), bad=[T[::-1], T[:3]]), "L": array(T), "speed": array(T, none=True, below=0.0),
        }),
        "infer.Curve.rates": Recipe(CURVE.rates, {"count": whole(1, high=5)}),
        "infer.Steps": Recipe(ln.infer.Steps, {
            "weights": array(WEIGHTS, bad=[np.ones((8, 3))]), "gradients": array(WEIGHTS[:-1], also=("weights",)),
            "shapes": items([(3,)], but=(type(None),)), "own": flag(True),
        }, rest=frozenset({"instruments"})),
        "infer.Steps (unseen)": Recipe(ln.infer.Steps, {
            "weights": array(WEIGHTS), "gradients": array(WEIGHTS[:-1], also=("weights", "instruments")),
            "own": flag(False), "instruments": array(WEIGHTS[:-1], none=True),
        }, rest=frozenset({"shapes"})),
        "infer.Inference.plot": Recipe(FOUND.plot, {"ax": thing(None, none=True)}),
        **{f"infer.Inference.predict ({name})": Recipe(FOUND.predict, {name: argument}, rest=frozenset(ahead) - {name})
           for name, argument in ahead.items() if name != "start"},
        "optimal_for": Recipe(ln.optimal_for, {
            "law": array(law), "loss": thing(None, none=True), "metric": word("constant", but=(list, tuple)),
            "gamma": rate(1.0, none=True), "drift": word("rotation", none=True), "dt": positive(None, none=True),
        }, rest=frozenset({"at"})),
        "optimal_for (at)": Recipe(ln.optimal_for, {
            "law": thing(lambda x: -BOWL.gradient(x), but=(type(len), type)),
            "at": array([[1.0, 0.5], [0.3, -1.0]], bad=[[[0.0, 0.0]]], also=("loss",)),
            "loss": thing(BOWL, none=True), "gamma": rate(1.0, none=True),
            "metric": word("identity", but=(list, tuple)),
        }, rest=frozenset({"drift", "dt"})),
    }  # fmt: skip
