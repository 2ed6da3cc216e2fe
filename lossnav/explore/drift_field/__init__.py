"""The explorable of the chapter *Drift and partial control*: a drift field, and where the optimal path ends."""

from __future__ import annotations

from lossnav.explore.drift_field.widget import DriftField

__all__ = ["DriftField"]
