"""A deadline that moves while the learner plans for it."""

from __future__ import annotations

from lossnav.explore.postponed.widget import Postponed

__all__ = ["Postponed"]
