"""The page on the package shows what is: its picture is the import graph, and its example runs."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import lossnav_architecture as architecture
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[2]

PAGE = ROOT / "book" / "architecture.md"


def imported() -> dict[str, Counter[str]]:
    """Wing → wing → imports, read from the files themselves."""
    imports: dict[str, Counter[str]] = {}
    for path in (ROOT / "lossnav").rglob("*.py"):
        wing = path.relative_to(ROOT / "lossnav").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lossnav"):
                parts = (node.module or "").split(".")[1:]
                for name in parts[:1] or [alias.name for alias in node.names]:
                    imports.setdefault(wing, Counter())[name] += 1
    return imports


@pytest.mark.slow
def test_arcs_are_the_imports_and_none_points_down():
    wings = architecture.wings()
    order = [wing.name for wing in wings]
    assert order[0] == "problem" and order[-1] == "cli" and len(order) >= 10
    arcs = re.findall(r'data-from="(\w+)" data-to="(\w+)"', architecture.picture(wings))
    assert len(arcs) == len(set(arcs)) > 15
    assert all(order.index(to) < order.index(start) for start, to in arcs)
    direct = imported()
    wanted = {(start, to) for start in order for to in direct.get(start, ()) if to in order and to != start}
    assert set(arcs) <= wanted  # imports of types alone are no arcs
    assert {("trajectory", "problem"), ("rules", "trajectory"), ("figures", "lab"), ("cli", "lab")} <= set(arcs)


def test_every_folder_of_the_package_is_a_wing():
    folders = {path.parent.name for path in (ROOT / "lossnav").glob("*/__init__.py")}
    assert folders == {wing.name for wing in architecture.wings()}


def test_every_room_is_listed_with_what_it_is_for():
    for wing in architecture.wings():
        assert wing.purpose and wing.lines > 0
        listed = architecture.rooms(wing)
        for name, sentence in wing.rooms:
            assert sentence, f"lossnav/{wing.name}/{name} has no docstring"
            assert f"<code>{name}</code>" in listed


@pytest.mark.parametrize("words", re.findall(r"`(\w+/\w+|\w+)`", PAGE.read_text(encoding="utf-8")))
def test_rooms_that_the_text_names_exist(words):
    assert (ROOT / "lossnav" / words).exists() or words in ("lossnav", "make")


def test_the_way_of_one_loss_can_be_gone():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), namespace)
    assert namespace["path"].converged
    plt.close("all")
