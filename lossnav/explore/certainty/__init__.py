"""How a weight grows certain, and slow."""

from __future__ import annotations

from lossnav.explore.certainty.widget import Certainty

__all__ = ["Certainty"]
