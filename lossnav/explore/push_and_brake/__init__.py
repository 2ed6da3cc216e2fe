"""A push and a brake, and the limit that both share."""

from __future__ import annotations

from lossnav.explore.push_and_brake.widget import PushAndBrake

__all__ = ["PushAndBrake"]
