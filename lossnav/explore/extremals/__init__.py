"""All solutions of one equation, and the one that cost chooses."""

from __future__ import annotations

from lossnav.explore.extremals.widget import Extremals

__all__ = ["Extremals"]
