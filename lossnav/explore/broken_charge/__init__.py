"""What a loss cannot change, and what changes it."""

from __future__ import annotations

from lossnav.explore.broken_charge.widget import BrokenCharge

__all__ = ["BrokenCharge"]
