"""What the board's script needs of each combination, packed: ``python -m lossnav.explore.board.tables`` writes it.

192 combinations share a few formulas and lines of code. Each stands once; a combination is a string of their numbers,
one character each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lossnav.rules.derive import board, typeset

CONSTANTS = Path(__file__).with_name("constants.json")
PREFIX = "torch._foreach_"  # left out of the lines, as their indent is
FIRST = 0x100  # the character of number 0


class _Once:
    """Things that stand once each, and their numbers."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, thing: Any) -> str:
        """Return the character of a thing's number."""
        key = json.dumps(thing)
        if key not in self._places:
            self._places[key] = len(self.things)
            self.things.append(thing)
        return chr(FIRST + self._places[key])


def table() -> dict[str, Any]:
    """Return the packed table; takes some seconds.

    Returns:
        ``trees`` of formulas, ``lines`` of code, ``codes`` (each a string of lines' numbers) and ``corners``, in the
        order of ``board.combinations``: strings of the numbers of equation, rate, velocity, step and code, and then of
        the beliefs' trees; empty where there is no plan. ``refused`` says why, in words.
    """
    trees, lines, codes = _Once(), _Once(), _Once()
    corners, reasons = [], set()
    numbers = board.NUMBERS
    for positions in board.combinations():
        corner = board.corner(positions)
        if corner["refused"]:
            reasons.add(corner["refused"])
            corners.append("")
            continue
        parts = [make(positions) for make in (typeset.equation, typeset.rate, typeset.velocity, typeset.step)]
        head, *body = corner["source"].rstrip("\n").split("\n")
        code = [head, *(line.removeprefix("    ").replace(PREFIX, "~") for line in body)]
        beliefs = typeset.beliefs(positions, numbers["beta"], numbers["memory"])
        places = [*map(trees.place, parts), codes.place("".join(map(lines.place, code))), *map(trees.place, beliefs)]
        corners.append("".join(places))
    (refused,) = reasons
    known = {name: [list(at), board.NOTES[name]] for at, name in board.NAMES.items()}
    return {
        "numbers": board.NUMBERS, "known": known, "arguments": board.arguments(), "refused": refused,
        "trees": trees.things, "lines": lines.things, "codes": codes.things, "corners": corners,
    }  # fmt: skip


if __name__ == "__main__":
    contents = json.loads(CONSTANTS.read_text(encoding="utf-8"))
    contents["table"] = table()
    rows = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in contents.items()]
    CONSTANTS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
