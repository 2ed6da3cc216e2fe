"""Steps that become a path."""

from __future__ import annotations

from lossnav.explore.planned_steps.widget import PlannedSteps

__all__ = ["PlannedSteps"]
