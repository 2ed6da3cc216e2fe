"""How long a step may be."""

from __future__ import annotations

from lossnav.explore.exact_step.widget import ExactStep

__all__ = ["ExactStep"]
