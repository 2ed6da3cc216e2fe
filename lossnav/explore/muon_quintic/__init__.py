"""One singular value under Muon's quintic, and under the cubic that may follow it."""
