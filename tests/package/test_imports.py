"""What an import loads: each process waits for it, and most need none of it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    "IPython", "anywidget", "dask", "ipywidgets", "joblib", "matplotlib", "mpmath", "networkx", "numpy", "pandas",
    "scipy", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special",
    "scipy.stats", "sympy", "torch", "torch._dynamo", "torchvision", "traitlets",
}  # fmt: skip
ROOMS = (  # in this order in one process: what each may load first
    ("lossnav lossnav.cli lossnav.explore lossnav.lab lossnav.experiment lossnav.records lossnav.sweep", {"numpy"}),
    ("lossnav.problem.objective lossnav.losses lossnav.drifts lossnav.metrics lossnav.task", set()),
    ("lossnav.rules lossnav.rules.derive lossnav.trajectory lossnav.belief lossnav.uncertainty", {"scipy"}),
    ("lossnav.analysis.acceleration lossnav.helmholtz lossnav.noether lossnav.sgd", set()),
    ("lossnav.optim lossnav.optim.derive lossnav.training lossnav.models lossnav.data lossnav.ensemble", {"torch"}),
    ("lossnav.continual lossnav.moving lossnav.curvature lossnav.figures", set()),
    ("lossnav.figures.style", {"matplotlib"}),
)  # fmt: skip
CODE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    print(name, *sys.modules)
"""


def test_rooms_load_nothing_before_it_is_used():
    names = [name for room, _ in ROOMS for name in room.split()]
    done = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {line.split()[0]: HEAVY & {*line.split()[1:]} for line in done.stdout.splitlines()}
    allowed: set[str] = set()
    for room, more in ROOMS:
        allowed |= more
        for name in room.split():
            assert loaded[name] <= allowed, f"import {name} loads {sorted(loaded[name] - allowed)}"
    assert loaded[names[-1]] == allowed  # so the names are those of modules
