"""The explorable of the chapter *Momentum and the ballistic rule*: one optimal step and its three limits."""

from __future__ import annotations

from lossnav.explore.horizon.widget import Horizon

__all__ = ["Horizon"]
