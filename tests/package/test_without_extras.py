"""On a machine without an extra: what needs it says how to get it, and the rest works, is listed and is explained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fresh
import pytest

import lossnav

BLOCKED = """
import importlib, inspect, pydoc, sys
blocked = sys.argv.pop(1)
for name in [name for name in sys.modules if name.partition(".")[0] in ("lossnav", blocked)]:
    del sys.modules[name]
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == blocked:
            raise ModuleNotFoundError(f"No module named {blocked!r}", name=blocked)
sys.meta_path.insert(0, Nowhere())
"""
LOOK = """
before = {*sys.modules}
import lossnav
print(*{*sys.modules} - before)
print(*(name for name, _ in inspect.getmembers(lossnav)))
print("__all__ = [" in pydoc.plain(pydoc.render_doc(lossnav)))
print(*dir(lossnav))
for name in lossnav.__all__:
    for ask in (lambda: getattr(lossnav, name), lambda: importlib.import_module(f"lossnav.{name}")):
        try:
            ask()
        except ModuleNotFoundError as error:
            if error.name == blocked:
                print(name, error)
"""
EXTRAS = {"torch": "torch", "matplotlib": "book", "anywidget": "book", "distributed": "cluster"}
ROOM = {"torch": "optim", "matplotlib": "figures", "anywidget": "explore", "sympy": "euler_lagrange"}


def run(missing, code):
    """What a program says where a package cannot be imported; only where torch can, its process has it already."""
    program = [sys.executable, "-c", BLOCKED + code, missing]
    alone = missing == "torch"
    done = subprocess.run(program, capture_output=True, text=True) if alone else fresh.run(BLOCKED + code, missing)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("missing", ROOM)
def test_help_and_inspect_work_and_names_that_need_what_is_missing_say_how_to_get_it(missing):
    loaded, members, helped, listed, *messages = run(missing, LOOK)
    assert not {"torch", "sympy", "matplotlib", "ipywidgets", "scipy"} & {*loaded.split()}
    assert {*lossnav.__all__} - {*members.split()} == lossnav._NEED[missing]
    assert helped == "True"
    names = {line.split()[0] for line in messages}
    assert ROOM[missing] in names
    assert names == {*lossnav.__all__} - {*listed.split()}
    if missing in EXTRAS:
        assert all(f'{missing} is missing: pip install "lossnav[{EXTRAS[missing]}]"' in line for line in messages)


@pytest.mark.slow
def test_what_plans_works_without_torch():
    code = """
import lossnav
found = lossnav.solve(lossnav.Objective(), lossnav.losses.Quadratic([[1.0]], [0.0]), [1.0])
print("torch" in sys.modules, found.action)
"""
    assert run("torch", code)[0].startswith("False ")


@pytest.mark.parametrize(("missing", "call"), [
    ("torch", "lossnav.derive(lossnav.Objective(gamma=0.1), dt=0.1).optimizer([])"),
    ("matplotlib", "importlib.import_module('lossnav.figures.rows')"),
    ("anywidget", "importlib.import_module('lossnav.explore.plain')"),
    ("distributed", "importlib.import_module('lossnav.lab.sweep.drive')._client('tcp://nowhere').__enter__()"),
])  # fmt: skip
@pytest.mark.slow
def test_what_is_reached_on_another_way_says_so_too(missing, call):
    code = f"""
import lossnav
try:
    {call}
except ModuleNotFoundError as error:
    print(error)
"""
    assert f'pip install "lossnav[{EXTRAS[missing]}]"' in run(missing, code)[0]


def test_the_list_of_rooms_is_whole():
    """Each folder or module that imports torch at its beginning goes through the one message."""
    package = Path(lossnav.__file__).parent
    rooms = {path.parent for path in package.rglob("__init__.py")} - {package}
    for room in sorted(rooms):
        texts = [path.read_text(encoding="utf-8") for path in room.glob("*.py")]
        if any(line.startswith(("import torch", "from torch")) for text in texts for line in text.splitlines()):
            assert "from lossnav import _torch" in (room / "__init__.py").read_text(encoding="utf-8"), room
    for path in package.glob("*.py"):
        if path.name not in ("_tensors.py", "_random.py"):  # only rooms of torch import these
            lines = path.read_text(encoding="utf-8").splitlines()
            assert not any(line.startswith(("import torch", "from torch")) for line in lines), path


def test_the_commands_say_so_too():
    code = """
from lossnav.cli import main
sys.stderr = sys.stdout
print(main(["train", "--data", "digits"]))
"""
    *messages, status = run("torch", code)
    assert status == "1" and 'torch is missing: pip install "lossnav[torch]"' in messages[-1]
