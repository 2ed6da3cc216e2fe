"""A value between two bounds."""

from __future__ import annotations

from lossnav.explore.value_bounds.widget import ValueBounds

__all__ = ["ValueBounds"]
