"""One singular value under Muon's quintic, and under the cubic that may follow it."""

from __future__ import annotations

from lossnav.explore.muon_quintic.widget import MuonQuintic

__all__ = ["MuonQuintic"]
