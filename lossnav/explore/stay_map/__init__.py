"""The map of staying and crossing, and the paths behind its points."""

from __future__ import annotations

from lossnav.explore.stay_map.widget import StayMap

__all__ = ["StayMap"]
