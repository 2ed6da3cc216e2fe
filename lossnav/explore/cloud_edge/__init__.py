"""What a finite step does to the cloud of SGD."""

from __future__ import annotations

from lossnav.explore.cloud_edge.widget import CloudEdge

__all__ = ["CloudEdge"]
