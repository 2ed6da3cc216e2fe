"""LossNav: learning rules as optimal policies of one control problem.

    J[θ] = ∫ e^{−γt} { |θ̇ − f|²_G / 2η + k E[L̂(θ)] } dt

Change the assumptions — horizon, metric, drift, beliefs, uncertainty — and different rules come out. Names are loaded
on first use (PEP 562), so ``import lossnav`` pulls in none of torch, sympy, matplotlib or ipywidgets.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_MODULES = (  # euler_lagrange is a module that can be called
    "belief",
    "classifiers",
    "continual",
    "curvature",
    "data",
    "drifts",
    "ensemble",
    "euler_lagrange",
    "experiment",
    "explore",
    "figures",
    "helmholtz",
    "losses",
    "models",
    "optim",
    "records",
    "rules",
    "sweep",
    "training",
    "trajectory",
    "uncertainty",
)
_NAMES = {
    "Objective": "lossnav.objective",
    "update": "lossnav.rules",
    "value": "lossnav.trajectory.solve",
    "optimal_velocity": "lossnav.trajectory.solve",
    "solve": "lossnav.trajectory.solve",
    "Trajectory": "lossnav.trajectory.result",
    "NotConverged": "lossnav._checks",
    "NoMinimiser": "lossnav._checks",
    "EulerLagrange": "lossnav.euler_lagrange",
}

__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        found = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"lossnav.{name}")
    else:
        raise AttributeError(f"module 'lossnav' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
