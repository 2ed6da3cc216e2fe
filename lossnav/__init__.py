"""LossNav: learning rules as optimal policies of one control problem.

    J[θ] = ∫ e^{−γt} { |θ̇ − f|²_G / 2η + k E[L̂(θ)] } dt

Change the assumptions — horizon, metric, drift, beliefs, uncertainty — and different rules come out. Names are loaded
on first use (PEP 562), so ``import lossnav`` pulls in none of torch, sympy, matplotlib or ipywidgets.
"""

from __future__ import annotations

import importlib
from typing import Any

from lossnav import _moved

__version__ = "0.2.0"

_ROOMS = {  # public name: where it lives, along the arrow
    "losses": "problem.losses",
    "drifts": "problem.drifts",
    "metrics": "problem.metrics",
    "task": "problem.task",
    "classifiers": "problem.classifiers",
    "euler_lagrange": "euler_lagrange",  # a module that can be called
    "trajectory": "trajectory",
    "belief": "trajectory.beliefs",
    "uncertainty": "trajectory.weights",
    "rules": "rules",
    "assume": "rules.assume",
    "curvature": "analysis.curvature",
    "acceleration": "analysis.acceleration",
    "helmholtz": "analysis.helmholtz",
    "noether": "analysis.noether",
    "sgd": "analysis.sgd",
    "optim": "optim",
    "data": "lab.data",
    "models": "lab.models",
    "training": "lab.training",
    "ensemble": "lab.members",
    "continual": "lab.streams",
    "moving": "lab.moving",
    "experiment": "lab.experiment",
    "records": "lab.records",
    "sweep": "lab.sweep",
    "figures": "figures",
    "explore": "explore",
}
_NAMES = {
    "Objective": "problem.objective",
    "update": "rules",
    "derive": "rules.derive",
    "LearningRule": "rules.derive",
    "explain": "rules.derive",
    "value": "trajectory.solve",
    "watch": "optim.watch",
    "optimal_velocity": "trajectory.solve",
    "regret": "trajectory.regret",
    "Regret": "trajectory.regret",
    "value_bounds": "trajectory.bounds",
    "solve": "trajectory.solve",
    "Trajectory": "trajectory.result",
    "NotConverged": "_checks",
    "NoMinimiser": "_checks",
    "EulerLagrange": "euler_lagrange",
}

__all__ = ["__version__", *_ROOMS, *_NAMES]

_moved.install(
    {name: room for name, room in _ROOMS.items() if name != room}
    | {
        "objective": "problem.objective",
        "lab.continual": "lab.streams",
        **{
            f"belief.{room}": f"problem.beliefs.{room}" for room in ("hidden_weights", "memory", "model", "observation")
        },
        "uncertainty.averages": "problem.weights.averages",
        "uncertainty.geodesics": "problem.metrics.geodesics",
        "uncertainty.problem": "problem.weights.problem",
    }
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        found = getattr(importlib.import_module(f"lossnav.{_NAMES[name]}"), name)
    elif name in _ROOMS:
        found = importlib.import_module(f"lossnav.{_ROOMS[name]}")
    else:
        raise AttributeError(f"module 'lossnav' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
