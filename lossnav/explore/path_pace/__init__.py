"""One path at many paces, and what of its regret they change."""

from __future__ import annotations

from lossnav.explore.path_pace.widget import PathPace

__all__ = ["PathPace"]
