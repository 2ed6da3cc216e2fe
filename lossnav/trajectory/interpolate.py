"""A smooth path through nodes: quintic Hermite interpolation of positions, velocities and accelerations."""

from __future__ import annotations

import numpy as np
import scipy

from lossnav._checks import Array


def quintic(times: Array, position: Array, velocity: Array, after: Array, before: Array) -> scipy.interpolate.PPoly:
    """Return the piecewise quintic with these values at the nodes; error O(Δt⁶).

    Args:
        times: shape (N+1,).
        position, velocity: shape (N+1, D).
        after, before: accelerations just after the nodes but the last, and just before those but the first, (N, D).
    """
    h = np.diff(times)[:, None]
    a0, a1, a2 = position[:-1], velocity[:-1], after / 2
    # What the quadratic start misses at the right node, in position, velocity and acceleration:
    miss = position[1:] - (a0 + h * a1 + h**2 * a2)
    miss_v = (velocity[1:] - (a1 + 2 * h * a2)) * h
    miss_a = (before - 2 * a2) * h**2
    a3 = (10 * miss - 4 * miss_v + miss_a / 2) / h**3
    a4 = (-15 * miss + 7 * miss_v - miss_a) / h**4
    a5 = (6 * miss - 3 * miss_v + miss_a / 2) / h**5
    return scipy.interpolate.PPoly(np.stack([a5, a4, a3, a2, a1, a0]), times)
