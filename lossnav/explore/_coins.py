"""Chance that is the same in Python and in the scripts."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array


def coins(count: int) -> Array:
    """Return +1 or −1 for steps 1 … count: a hash of 32 bits, the same in the script."""
    with np.errstate(over="ignore"):  # products modulo 2³²
        x = (np.arange(1, count + 1, dtype=np.uint32) + np.uint32(1)) * np.uint32(0x9E3779B1)
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return np.where((x ^ (x >> np.uint32(16))) & np.uint32(1), 1.0, -1.0)
