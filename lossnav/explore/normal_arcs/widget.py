"""``NormalArcs`` in Python: its state, three ways between two normal distributions, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait
from lossnav.problem.metrics.geodesics import distance, geodesic

_SHARED = constants(__file__)


class NormalArcs(Explorable):
    """Three ways from N(−1.5, 0.3²) to another normal distribution: the shortest, and two that are straight in names.

    Args:
        mu: mean of the end, in [−1.5, 2].
        sigma: its standard deviation, in [0.15, 2].
        share: of the way, where the distributions are shown, in [0, 1].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> NormalArcs(mu=1.5, sigma=0.3).lengths()["arc"] < NormalArcs(mu=1.5, sigma=0.3).lengths()["spread"]
        True
    """

    mu = number_trait(_SHARED["mu"], 1.5)
    sigma = number_trait(_SHARED["sigma"], 0.8)
    share = number_trait(_SHARED["share"], 0.5)

    def lengths(self) -> dict[str, float]:
        """Return the length of each way in the Fisher metric, as that of a hundred short pieces."""
        found = {}
        for name, points in self._ways(np.linspace(0, 1, 101)).items():
            mean, variance = points[:, 0], points[:, 1] ** 2
            found[name] = float(np.sum(distance(mean[:-1], variance[:-1], mean[1:], variance[1:])))
        return found

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        size, highest = self.lengths(), float(np.max(self._ways(np.linspace(0, 1, 201))["arc"][:, 1]))
        return (
            f"The half-plane of mean and spread with three ways from N(−1.50, 0.30²) to N({signed(self.mu, 2)}, "
            f"{self.sigma:.2f}²), and the distributions at a share {self.share:.2f} of each. The shortest, an arc, "
            f"rises to a spread of {highest:.2f} and has the Fisher length {size['arc']:.3f}; the line straight in μ "
            f"and σ has {size['spread']:.3f}, the one straight in μ and 1/σ² {size['precision']:.3f}."
        )

    def picture(self) -> str:
        """Return the ways and the distributions, as an SVG document."""
        image, edge = Picture(720, 400, _SHARED["title"]), _SHARED["edge"]
        plane = Panel((46, 56, 376, 350), (-edge, edge), (0.0, _SHARED["high"]))
        bells = Panel((410, 56, 706, 236), (-edge, edge), (0.0, _SHARED["tall"]))
        image.frame(plane, "spread σ", range(-2, 3), (0, 1, 2), "mean μ")
        image.frame(bells, f"density at {self.share:.2f} of the way", range(-2, 3), (0, 1, 2), "what is observed")
        value, ways = np.linspace(-edge, edge, 161), self._ways(np.linspace(0, 1, 161))
        here = {name: points[0] for name, points in self._ways(np.array([self.share])).items()}
        for row, (name, points) in enumerate(ways.items()):
            line, (m, s) = _SHARED["lines"][name], here[name]
            hue = colour(line["tint"])
            image.inside(plane, points, hue, 2.4, line["dash"], name)
            bell = np.exp(-(((value - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))
            image.inside(bells, np.stack([value, bell], axis=1), hue, 2.4, line["dash"], f"bell {name}")
            image.legend(410, 300 + 22 * row, f"{line['name']}: {self.lengths()[name]:.3f}", hue, line["dash"])
            image.dot(plane, float(m), float(s), hue)
        image.dot(plane, _SHARED["from"][0], _SHARED["from"][1], colour("ink"), 6.0)
        image.dot(plane, self.mu, self.sigma, colour("ink"), 8.0)
        return image.svg()
