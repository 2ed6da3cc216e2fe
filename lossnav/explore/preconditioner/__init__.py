"""The optimal preconditioner over curvature."""

from __future__ import annotations

from lossnav.explore.preconditioner.widget import Preconditioner

__all__ = ["Preconditioner"]
