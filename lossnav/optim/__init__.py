"""Learning rules as torch optimizers: drop-in replacements for the ones in ``torch.optim``.

Parameters of half precision move and keep their state in float32. A gradient on the CPU that has inf or NaN, or whose
square is inf, makes ``step`` raise ValueError before anything moves; ``optimizer.check_gradients = False`` leaves that
look out.

The rule for matrices is loaded on first use: it tells torch's compiler to leave it alone, and so loads the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.optim import derive  # noqa: F401  what a LearningRule runs in
from lossnav.optim._split import split
from lossnav.optim._uncertain_options import Reset
from lossnav.optim.ballistic import Ballistic
from lossnav.optim.belief import Belief
from lossnav.optim.navigator import Navigator
from lossnav.optim.schedule import deadline_schedule
from lossnav.optim.uncertain import Uncertain
from lossnav.optim.watch import Watch, watch

if TYPE_CHECKING:
    from lossnav.optim.matrix import BallisticMatrix


__all__ = [
    "Ballistic",
    "BallisticMatrix",
    "Belief",
    "Navigator",
    "Reset",
    "Uncertain",
    "Watch",
    "deadline_schedule",
    "split",
    "watch",
]


if not TYPE_CHECKING:  # to a type checker it would offer any name

    def __getattr__(name: str) -> Any:
        if name != "BallisticMatrix":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        optimizer_class = globals()[name] = importlib.import_module("lossnav.optim.matrix").BallisticMatrix
        return optimizer_class


def __dir__() -> list[str]:
    return __all__
