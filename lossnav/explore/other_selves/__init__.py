"""Three planners whose discount changes as time passes."""

from __future__ import annotations

from lossnav.explore.other_selves.widget import OtherSelves

__all__ = ["OtherSelves"]
