"""What ``Board`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.rules.derive import board
from oracles.common import fixed, inside

_SHARED = explore.Board._shared


class Board(explore.Board):
    def name(self) -> str | None:
        """Return the published optimizer at this corner, or None."""
        return board.NAMES.get(tuple(self.positions().values()))

    def said(self) -> list[str]:
        path = self.path()
        where = [f"({fixed(x, 2)}, {fixed(y, 2)})" for x, y in (path[1], path[-1])]
        lost = np.max(np.abs(path[-1])) > 40
        return [where[0], f"lost after {len(path) - 1} steps" if lost else where[1], str(self.name())]

    def shows(self) -> dict[str, list[Array]]:
        edge = _SHARED["edge"]
        return {"path": inside(self.path(), (-edge, edge), (-edge, edge))}
