"""The same paths under other names of the parameters."""

from __future__ import annotations

from lossnav.explore.renamed.widget import Renamed

__all__ = ["Renamed"]
