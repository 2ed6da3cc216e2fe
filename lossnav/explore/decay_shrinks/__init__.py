"""What decay leaves of each direction."""

from __future__ import annotations

from lossnav.explore.decay_shrinks.widget import DecayShrinks

__all__ = ["DecayShrinks"]
