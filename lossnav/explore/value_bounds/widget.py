"""``ValueBounds`` in Python: its constants declare it, and μ is at most M."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lossnav import _checks
from lossnav.explore.base import Explorable, declared


class _Ordered(Explorable):
    """Curvatures of which one is claimed from below, the other from above."""

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        state = super()._checked(arguments)
        _checks.finite("pl", state["pl"], high=state["smoothness"])
        return state


ValueBounds: type[Explorable] = declared(__file__, _Ordered)
