"""``TaskSwitch`` in Python: its constants declare it, and switches follow each other in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared

_LONGEST: float = constants(__file__)["longest"]  # units of 1/r from a switch to the last time


class _InOrder(Explorable):
    """Times that depend on each other."""

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        state, last = super()._checked(arguments), 0.0
        for time, *_ in state["switches"]:
            last = _checks.finite("switches[i][0]", time, low=last, high=last + _LONGEST)
        _checks.finite("now", state["now"], low=last, high=last + _LONGEST)
        return state


TaskSwitch: type[Explorable] = declared(__file__, _InOrder)
