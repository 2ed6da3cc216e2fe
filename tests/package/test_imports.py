"""What an import loads: each process waits for it, and most need none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lossnav

HEAVY = {
    "IPython", "anywidget", "dask", "ipywidgets", "joblib", "matplotlib", "mpmath", "networkx", "numpy", "pandas",
    "scipy", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special",
    "scipy.stats", "sympy", "torch", "torch._dynamo", "torchvision", "traitlets",
}  # fmt: skip
ROOMS = (  # in this order in one process: what each may load first
    ("cli explore lab lab.experiment lab.records lab.sweep", {"numpy"}),
    ("problem.objective problem.losses problem.drifts problem.metrics problem.task", set()),
    ("rules rules.derive trajectory trajectory.beliefs trajectory.weights", {"scipy"}),
    ("analysis.acceleration analysis.helmholtz analysis.noether analysis.sgd", set()),
    ("optim optim.derive lab.training lab.models lab.data lab.ensemble", {"torch"}),
    ("lab.streams lab.moving analysis.curvature figures", set()),
    ("figures.style", {"matplotlib"}),
)  # fmt: skip
CODE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    print(name, *sys.modules)
"""


@pytest.mark.slow
def test_rooms_load_nothing_before_it_is_used():
    names = [f"lossnav.{name}" for room, _ in ROOMS for name in room.split()]
    done = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {line.split()[0]: HEAVY & {*line.split()[1:]} for line in done.stdout.splitlines()}
    allowed: set[str] = set()
    for room, more in ROOMS:
        allowed |= more
        for name in (f"lossnav.{name}" for name in room.split()):
            assert loaded[name] <= allowed, f"import {name} loads {sorted(loaded[name] - allowed)}"
    assert loaded[names[-1]] == allowed  # so the names are those of modules


@pytest.mark.parametrize("room", ["classifiers", "drifts", "losses", "metrics", "prices", "task"])
def test_a_room_lists_what_it_offers(room):
    assert dir(getattr(lossnav, room)) == sorted(getattr(lossnav, room).__all__)


def test_without_the_gil_an_import_says_what_is_not_supported():
    code = "import sys; sys._is_gil_enabled = lambda: {}; import lossnav"
    run = [
        subprocess.run([sys.executable, "-c", code.format(on)], capture_output=True, text=True) for on in (True, False)
    ]
    assert [done.returncode for done in run] == [0, 0]
    assert run[0].stderr == "" and "RuntimeWarning: lossnav is not tested without the GIL" in run[1].stderr
