"""What a discount does to the exponent of curvature."""

from __future__ import annotations

from lossnav.explore.discount_exponent.widget import DiscountExponent

__all__ = ["DiscountExponent"]
