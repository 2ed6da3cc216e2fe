"""On a machine without torch: what computes with it says how to get it, and the rest works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lossnav

BLOCKED = """
import importlib, sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Nowhere())
"""
ROOMS = """
import lossnav
for name in sys.argv[1:]:
    for ask in (lambda: importlib.import_module(f"lossnav.{name}"), lambda: getattr(lossnav, name)):
        try:
            ask()
            print(name, "works")
        except ImportError as error:
            print(name, error.name, error)
found = lossnav.solve(lossnav.Objective(), lossnav.losses.Quadratic([[1.0]], [0.0]), [1.0])
print("torch" in sys.modules, found.action)
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", BLOCKED + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_room_that_needs_torch_says_how_to_get_it():
    *lines, last = run(ROOMS, *lossnav._ROOMS)
    said = {line.split()[0]: line for line in lines}
    assert len(lines) == 2 * len(lossnav._ROOMS)
    need = {name for name, line in said.items() if not line.endswith("works")}
    assert {"optim", "training", "models", "curvature", "ensemble", "continual", "data"} <= need
    for line in lines:
        if line.split()[0] in need:
            assert "torch this part of lossnav needs PyTorch" in line and 'pip install "lossnav[torch]"' in line
    assert not need & {"belief", "uncertainty", "rules", "trajectory", "losses", "drifts", "helmholtz", "records"}
    assert last.startswith("False ")


def test_the_list_of_rooms_is_whole():
    """Each folder or module that imports torch at its beginning goes through the one message."""
    package = Path(lossnav.__file__).parent
    rooms = {path.parent for path in package.rglob("__init__.py")} - {package}
    for room in sorted(rooms):
        texts = [path.read_text(encoding="utf-8") for path in room.glob("*.py")]
        if any(line.startswith(("import torch", "from torch")) for text in texts for line in text.splitlines()):
            assert "from lossnav import _torch" in (room / "__init__.py").read_text(encoding="utf-8"), room
    for path in package.glob("*.py"):
        if path.name not in ("_torch.py", "_tensors.py", "_random.py"):  # only rooms of torch import these
            lines = path.read_text(encoding="utf-8").splitlines()
            assert not any(line.startswith(("import torch", "from torch")) for line in lines), path


def test_the_commands_say_so_too():
    code = """
from lossnav.cli import main
sys.stderr = sys.stdout
print(main(["train", "--data", "digits"]))
"""
    *said, status = run(code)
    assert status == "1" and "torch is missing: pip install torch (take the build for your device)" in said[-1]
