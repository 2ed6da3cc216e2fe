"""A normalised layer after its learning rate has been lowered."""

from __future__ import annotations

from lossnav.explore.rate_drop.widget import RateDrop

__all__ = ["RateDrop"]
