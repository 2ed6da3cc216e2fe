"""The window in which momentum treats all curvatures alike."""

from __future__ import annotations

from lossnav.explore.momentum_window.widget import MomentumWindow

__all__ = ["MomentumWindow"]
