"""Where a discount takes the square root away."""

from __future__ import annotations

from lossnav.explore.discounted_root.widget import DiscountedRoot

__all__ = ["DiscountedRoot"]
