"""What could be imported before the rooms moved into wings can still be imported, and is the same thing."""

import importlib
import inspect
import subprocess
import sys

import pytest

import lossnav

OFFERED = {name: getattr(lossnav, name) for name in lossnav.__all__}
MOVED = {
    name: room.__name__
    for name, room in OFFERED.items()
    if inspect.ismodule(room) and room.__name__ != f"lossnav.{name}"
}


@pytest.mark.parametrize("name", MOVED)
def test_an_old_path_gives_the_module_at_its_new_place(name):
    old, new = importlib.import_module(f"lossnav.{name}"), importlib.import_module(MOVED[name])
    assert old is new is getattr(lossnav, name)
    assert new.__name__ == new.__spec__.name == MOVED[name]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("uncertainty.problem", "problem.weights.problem"),
        ("uncertainty.averages", "problem.weights.averages"),
        ("uncertainty.geodesics", "problem.metrics.geodesics"),
        ("uncertainty.plans", "trajectory.weights.plans"),
        ("continual.online", "lab.streams.online"),
        ("lab.continual", "lab.streams"),
        ("lab.continual.contenders", "lab.streams.contenders"),
    ],
)
def test_parts_of_a_room_may_have_moved_to_different_wings(old, new):
    assert importlib.import_module(f"lossnav.{old}") is importlib.import_module(f"lossnav.{new}")


def test_what_lies_deeper_is_not_a_second_copy():
    code = """
from lossnav.losses.base import Loss
from lossnav.objective import Objective
import lossnav, lossnav.sweep.drive as drive, sys
from lossnav.problem.losses import base
assert base.Loss is Loss and lossnav.Objective is Objective
assert drive is sys.modules["lossnav.lab.sweep.drive"]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["lossnav.losses.nothing", "lossnav.nothing", "lossnav.lossesx", "lossnav.Objective"])
def test_what_never_was_is_still_not_found(name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
