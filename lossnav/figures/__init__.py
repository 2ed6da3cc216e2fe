"""Figures drawn from trajectories and records: nothing here trains or solves.

``style`` holds the look that all pages share (its names are re-exported here); ``acceleration``, ``adaptive``,
``beliefs``, ``cifar``, ``continual``, ``drift``, ``exponents``, ``geometry``, ``landscape``, ``momentum``, ``moving``,
``phase``, ``quadratic``, ``regret``, ``schedules``, ``sgd``, ``speed``, ``training`` and ``uncertainty`` draw the
chapters, ``rows`` draws what a table of numbers would hold, ``example`` draws the landscape and the path that the
theory chapters share, ``tables`` reads stored benchmark tables; they are loaded on first use. Nothing else in the
package imports matplotlib.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from lossnav.figures.style import COLOURS, LANDSCAPE, LINES, halo, label, label_end, letter, line, mark, use_style

_CHAPTERS = (
    "acceleration",
    "adaptive",
    "beliefs",
    "cifar",
    "continual",
    "drift",
    "example",
    "exponents",
    "geometry",
    "landscape",
    "momentum",
    "moving",
    "noether",
    "orbits",
    "phase",
    "quadratic",
    "regret",
    "rows",
    "schedules",
    "sgd",
    "speed",
    "tables",
    "training",
    "uncertainty",
)

__all__ = [
    "COLOURS",
    "LANDSCAPE",
    "LINES",
    "halo",
    "label",
    "label_end",
    "letter",
    "line",
    "mark",
    "use_style",
]


def __getattr__(name: str) -> ModuleType:
    if name in _CHAPTERS:
        return importlib.import_module(f"lossnav.figures.{name}")
    raise AttributeError(f"module 'lossnav.figures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_CHAPTERS])
