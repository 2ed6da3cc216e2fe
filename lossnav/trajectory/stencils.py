r"""Local polynomials through the nodes of a mesh: derivatives of a path, discounted sums, and the curve between nodes.

Of each interval one polynomial goes through its two ends and the nodes around them, as many as the order asks for, but
never beyond a joint, where a path may have a kink. Its derivatives are finite differences on any mesh: θ̇ has an error
of O(h^order), θ̈ of O(h^{order−1}), or O(h^order) where the nodes lie symmetrically.

References:
    Björck and Pereyra (1970), coefficients of a polynomial through given points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact for e^{−xu}, x < 1, times a power up to 10
_PLACES = (1 + _NODES) / 2  # in an interval of length one


class Stencils:
    """The polynomials of all intervals.

    Args:
        times: nodes of the mesh, shape (N+1,).
        joints: those inside that no polynomial passes, in order.
        order: their degree; less where a stretch between joints has fewer nodes.

    Attributes:
        ends: indices of the joints and of the last node.
    """

    def __init__(self, times: Array, joints: Sequence[float], order: int):
        self.times, self.length = times, np.diff(times)
        marks = np.array([0, *np.searchsorted(times, joints), len(self.length)])
        self.ends = marks[1:]
        size = min(order, int(np.min(np.diff(marks)))) + 1
        interval = np.arange(len(self.length))
        self._stretch = np.searchsorted(marks, interval, side="right") - 1
        first = np.clip(interval - size // 2, marks[self._stretch], marks[self._stretch + 1] + 1 - size)
        nodes = first + np.arange(size)[:, None]
        away = (times[nodes] - times[:-1]) / self.length
        near = np.argsort(np.abs(away), axis=0)  # the left end first: rounding grows with the distance
        self._nodes, self._away = np.take_along_axis(nodes, near, 0), np.take_along_axis(away, near, 0)
        self._first, self._second = _weights(self._away, 0)
        last = self.ends - 1
        self._last = _weights(self._away[:, last], np.argmax(self._nodes[:, last] == self.ends, axis=0))[0]

    def coefficients(self, values: Array) -> Array:
        """Return c of Σ c_k uᵏ, u from 0 to 1 in an interval, shape (S, N, ...), of values at the nodes, (N+1, ...)."""
        return self._through(values[self._nodes])

    def _through(self, c: Array) -> Array:
        size, x = len(c), self._away.reshape(*self._away.shape, *(1,) * (c.ndim - 2))
        for k in range(1, size):  # divided differences
            c[k:] = (c[k:] - c[k - 1 : -1]) / (x[k:] - x[:-k])
        for k in range(size - 2, -1, -1):  # from Newton's form to powers
            for i in range(k, size - 1):
                c[i] -= x[k] * c[i + 1]
        return c

    def derivatives(self, path: Array) -> tuple[Array, Array, Array]:
        """Return θ̇ and θ̈ at the left end of each interval, (N, D) each, and θ̇ before the joints and the end, (K, D)."""
        near, last, length = path[self._nodes] - path[:-1], self.ends - 1, self.length[:, None]
        pace, bend = (np.einsum("sn,snd->nd", weights, near) for weights in (self._first, self._second))
        before = np.einsum("sn,snd->nd", self._last, near[:, last])
        return pace / length, bend / length**2, before / length[last]

    def integral(self, gamma: float, after: Array, before: Array) -> Array:
        """Return ∫e^{−γt} of rates: (N, R) after the nodes but the last, (K, R) before the joints and the end."""
        both = np.insert(after, self.ends, before, axis=0)
        c = self._through(both[self._nodes + self._stretch])
        parts = np.einsum("sn,snr->nr", _moments(gamma * self.length, len(c)), c)
        return np.asarray(np.exp(-gamma * self.times[:-1]) * self.length @ parts)

    def curve(self, path: Array) -> scipy.interpolate.PPoly:
        """Return the piecewise polynomial, a function of time."""
        c = self.coefficients(path)
        powers = self.length ** np.arange(len(c))[:, None]
        return scipy.interpolate.PPoly((c / powers.reshape(*powers.shape, *(1,) * (c.ndim - 2)))[::-1], self.times)


def _weights(places: Array, here: Any) -> tuple[Array, Array]:
    """Return what nodes, shape (S, N), weigh in first and second derivative at one of each column, by its row ``here``.

    From the barycentric formula (Berrut and Trefethen, 2004).
    """
    columns = np.arange(places.shape[1])
    share, off = np.ones_like(places), places[here, columns] - places
    for k, place in enumerate(places):
        gap = places - place
        gap[k] = 1.0
        share *= gap
    off[here, columns] = 1.0
    first = share[here, columns] / (share * off)
    first[here, columns] = 0.0
    own = -first.sum(axis=0)
    second = 2 * first * (own - 1 / off)
    first[here, columns] = own
    second[here, columns] = 0.0
    second[here, columns] = -second.sum(axis=0)
    return first, second


def _moments(x: Array, count: int) -> Array:
    """Return ∫₀¹ e^{−xu} uᵏ du for k < ``count``, shape (count, N): by Gauss, or for a large x in closed form."""
    k = np.arange(count)[:, None]
    if np.max(x) < 1:
        return np.asarray((_WEIGHTS / 2 * _PLACES**k) @ np.exp(-np.outer(_PLACES, x)))
    small = x < 1e-20
    x = np.where(small, 1.0, x)
    closed = scipy.special.gamma(k + 1) * scipy.special.gammainc(k + 1, x) / x ** (k + 1)
    return np.where(small, 1 / (k + 1), closed)
