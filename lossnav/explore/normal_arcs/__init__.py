"""Ways between normal distributions."""

from __future__ import annotations

from lossnav.explore.normal_arcs.widget import NormalArcs

__all__ = ["NormalArcs"]
