"""``MuonQuintic`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_MOST, _LAST = _MARKS["before"][-1], _AXIS["range"][1]


class MuonQuintic(Explorable):
    """One singular value under Muon's quintic (Jordan et al., 2024), and under Newton and Schulz's cubic after it.

    Args:
        sigma: the singular value at the start, in [0.001, 1.4]; Muon divides a matrix by its norm, so that it is ≤ 1.
        before: steps of the quintic before the cubic takes over, 0 … 8.
        n: number of steps that is marked, 0 … 24.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    sigma = number_trait(_MARKS["sigma"], 0.02)
    before = whole_trait((0, _MOST), 5)
    n = whole_trait((0, _LAST), 10)
