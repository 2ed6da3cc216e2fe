"""What a path seems to be optimal for, asked in two ways."""

from __future__ import annotations

from lossnav.explore.which_discount.widget import WhichDiscount

__all__ = ["WhichDiscount"]
