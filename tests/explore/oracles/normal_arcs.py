"""What ``NormalArcs`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.metrics.geodesics import distance, geodesic
from oracles.common import fixed, inside

_SHARED = explore.NormalArcs._shared


class NormalArcs(explore.NormalArcs):
    def lengths(self) -> dict[str, float]:
        """Return the length of each way in the Fisher metric, as that of a thousand short pieces."""
        lengths = {}
        for name, points in self._ways(np.linspace(0, 1, 1001)).items():
            mean, variance = points[:, 0], points[:, 1] ** 2
            lengths[name] = float(np.sum(distance(mean[:-1], variance[:-1], mean[1:], variance[1:])))
        return lengths

    def _ways(self, share: Array) -> dict[str, Array]:
        """Return mean and standard deviation along each way, shape (N, 2)."""
        m, s = _SHARED["from"]
        mean, variance = geodesic(share, m, s**2, self.mu, self.sigma**2)
        straight = m + (self.mu - m) * share
        spread = s + (self.sigma - s) * share
        precision = s**-2 + (self.sigma**-2 - s**-2) * share
        return {
            "arc": np.stack([mean, np.sqrt(variance)], axis=1),
            "spread": np.stack([straight, spread], axis=1),
            "precision": np.stack([straight, precision**-0.5], axis=1),
        }

    def said(self) -> list[str]:
        return [fixed(length, 3) for length in self.lengths().values()]

    def shows(self) -> dict[str, list[Array]]:
        edge, lines = _SHARED["edge"], {}
        value, here = np.linspace(-edge, edge, 161), self._ways(np.array([self.share]))
        for name, points in self._ways(np.linspace(0, 1, 161)).items():
            m, s = here[name][0]
            bell = np.exp(-(((value - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))
            lines[name] = inside(points, (-edge, edge), (0.0, _SHARED["high"]))
            lines[f"bell {name}"] = inside(np.stack([value, bell], axis=1), (-edge, edge), (0.0, _SHARED["tall"]))
        return lines
