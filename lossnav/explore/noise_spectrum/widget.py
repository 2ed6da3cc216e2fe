"""``NoiseSpectrum`` in Python: its state, the noise on each octave, the exponent, and its static twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MOST: int = _SHARED["n"][1]


class NoiseSpectrum(Explorable):
    """Where on the spectrum of the Hessian noise pushes, how much of it still counts after n steps, and the exponent.

    The bars are those of the chapter's perceptron at its base (``book/results/moving-network.json``, the mean of three
    seeds), by octaves of ρ + λ; or a power law ρˢ with the same tr Σ, for which c = 1 − s in between.

    Args:
        eta: learning rate, in [0.001, 0.1].
        beta: momentum, in [0, 0.99].
        slope: s of the power law, in [0, 1].
        own: 1 for the network's own bars, 0 for the power law.
        n: number of steps, 2 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(NoiseSpectrum(slope=0.5, own=0).exponent(300), 1)
        0.5
    """

    eta = number_trait(_SHARED["eta"], 0.01)
    beta = number_trait(_SHARED["beta"], 0.9)
    slope = number_trait(_SHARED["slope"], 0.5)
    own = whole_trait((0, 1), 1)
    n = whole_trait((2, _MOST), 100)

    def spectrum(self) -> tuple[Array, Array]:
        """Return the middles of the octaves of curvature, and the noise tr Σ in each; of shape (L,) both."""
        shares = np.array(_SHARED["shares"])
        rho = 2.0 ** (_SHARED["first"] + np.arange(len(shares)) + 0.5)
        if not self.own:
            shares = rho**self.slope / np.sum(rho**self.slope)
        return rho, shares * _SHARED["trace"]

    def distances(self, n: ArrayLike) -> Array:
        """Return E|θ(k+n) − θ(k)|² for numbers of steps n, of their shape.

        Raises:
            ValueError: an entry is not a whole number >= 0.
        """
        rho, noise = self.spectrum()
        return self._far(rho, n, noise)

    def counts(self, rho: ArrayLike) -> Array:
        """Return how far directions of curvature ρ >= 0 get in n steps over how far a flat one gets, of the shape of ρ.

        Raises:
            ValueError: ρ is negative, or so large that SGD diverges.
        """
        bent = _checks.nonnegatives("rho", rho)
        flat = float(self._far(np.zeros(1), self.n, np.ones(1)))
        found = [float(self._far(np.array([h]), self.n, np.ones(1))) for h in bent.ravel()]
        return np.reshape(found, bent.shape) / flat

    def exponent(self, n: int) -> float:
        """Return c, the slope of ``distances`` in logarithms between n − 1 and n + 1.

        Raises:
            ValueError: n is not a whole number >= 2.
        """
        ends = _checks.whole("n", n, low=2) + np.array([-1, 1])
        return sgd.exponent(ends, self.distances(ends))

    def _far(self, rho: Array, n: ArrayLike, noise: Array) -> Array:
        return sgd.displacement(
            rho, n, eta=self.eta, beta=self.beta, batch=_SHARED["batch"], gradient_variance=noise, form="discrete"
        )  # fmt: skip

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        kind = "a trained network's noise" if self.own else f"noise that grows like curvature to the {self.slope:.2f}"
        rho, noise = self.spectrum()
        share = float(np.sum(noise * self.counts(rho)) / np.sum(noise))
        return (
            f"Bars of {kind} over octaves of curvature, dark as far as they count after {self.n} steps, and below "
            f"them the exponent over the number of steps. For η = {self.eta:.4g} and β = {self.beta:.3g}, "
            f"{100 * share:.0f} % still count, and c = {self.exponent(self.n):.2f}."
        )

    def picture(self) -> str:
        """Return the bars and the exponent, as an SVG document."""
        image, pink, blue = Picture(720, 520, _SHARED["title"]), colour("optimal"), colour("descent")
        rho, noise = self.spectrum()
        ends = np.log10(2.0) * np.array([_SHARED["first"], _SHARED["first"] + len(rho)])
        bars = Panel((46, 56, 706, 250), (float(ends[0]), float(ends[1])), (0.0, _SHARED["top"]))
        ticks = tuple(range(int(np.ceil(ends[0])), int(np.floor(ends[1])) + 1))
        image.frame(bars, "share of the noise in each octave; pink: what of it still counts", ticks,
                    (0, 0.1, 0.2, 0.3), "log₁₀ of the curvature ρ + λ")  # fmt: skip
        shares, half = noise / noise.sum(), np.log10(2.0) / 2
        for middle, share, kept in zip(np.log10(rho), shares, self.counts(rho), strict=True):
            for size, opacity in ((share, 0.22), (share * kept, 0.75)):
                (left, top), (right, bottom) = bars.at(middle - half, size), bars.at(middle + half, 0.0)
                image.add("rect", x=left + 1, y=top, width=right - left - 2, height=bottom - top, fill=blue,
                          fill_opacity=opacity)  # fmt: skip
        grid = np.linspace(ends[0], ends[1], 129)
        image.inside(bars, np.stack([grid, _SHARED["top"] * self.counts(10**grid)], axis=1), pink, 2.2, name="counts")
        slope = Panel((46, 326, 706, 466), (0.0, float(np.log10(_MOST))), (0.0, 2.1))
        image.frame(slope, "exponent c after n steps", (0, 1, 2, 3), (0, 1, 2), "log₁₀ of the number of steps n")
        steps = np.unique(np.rint(10 ** np.linspace(np.log10(2), np.log10(_MOST), 241)).astype(int))
        bent = [self.exponent(int(k)) for k in steps]
        image.inside(slope, np.stack([np.log10(steps), bent], axis=1), pink, 2.6, name="exponent")
        if not self.own:
            image.line(slope, [(0, 1 - self.slope), (slope.x[1], 1 - self.slope)], colour("ink"), 1.4, "5 4")
        image.dot(slope, float(np.log10(self.n)), self.exponent(self.n), colour("ink"), 6.0)
        return image.svg()
