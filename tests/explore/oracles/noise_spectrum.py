"""What ``NoiseSpectrum`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import compact, fixed, inside

_SHARED = explore.NoiseSpectrum._shared

_MOST: int = _SHARED["n"][1]


class NoiseSpectrum(explore.NoiseSpectrum):
    def spectrum(self) -> tuple[Array, Array]:
        """Return the middles of the octaves of curvature, and the noise tr Σ in each; of shape (L,) both."""
        shares = np.array(_SHARED["shares"])
        rho = 2.0 ** (_SHARED["first"] + np.arange(len(shares)) + 0.5)
        if not self.own:
            shares = rho**self.slope / np.sum(rho**self.slope)
        return rho, shares * _SHARED["trace"]

    def distances(self, n: ArrayLike) -> Array:
        """Return E|θ(k+n) − θ(k)|² for numbers of steps n, of their shape."""
        rho, noise = self.spectrum()
        return self._far(rho, n, noise)

    def counts(self, rho: ArrayLike) -> Array:
        """Return how far directions of curvature ρ get in n steps over how far a flat one gets, of the shape of ρ."""
        flat = float(self._far(np.zeros(1), self.n, np.ones(1)))
        displacements = [float(self._far(np.array([h]), self.n, np.ones(1))) for h in np.ravel(rho)]
        return np.reshape(displacements, np.shape(rho)) / flat

    def exponent(self, n: int) -> float:
        """Return c, the slope of ``distances`` in logarithms between n − 1 and n + 1."""
        ends = n + np.array([-1, 1])
        return sgd.exponent(ends, self.distances(ends))

    def _far(self, rho: Array, n: ArrayLike, noise: Array) -> Array:
        return sgd.displacement(
            rho, n, eta=self.eta, beta=self.beta, batch=_SHARED["batch"], gradient_variance=noise, form="discrete"
        )  # fmt: skip

    def said(self) -> list[str]:
        far, c = float(self.distances(self.n)), self.exponent(self.n)
        return [f"|Δ|² = {compact(far)}", f"c = {fixed(c, 2)}"]

    def shows(self) -> dict[str, list[Array]]:
        ends = np.log10(2.0) * np.array([_SHARED["first"], _SHARED["first"] + len(_SHARED["shares"])])
        bent, top = np.linspace(*ends, 129), _SHARED["top"]
        steps = np.unique(np.rint(10 ** np.linspace(np.log10(2), np.log10(_MOST), 241)).astype(int))
        exponents = [self.exponent(int(k)) for k in steps]
        return {
            "counts": inside(np.stack([bent, top * self.counts(10**bent)], axis=1), ends, (0.0, top)),
            "exponent": inside(np.stack([np.log10(steps), exponents], axis=1), (0.0, np.log10(_MOST)), (-1.0, 2.1)),
        }
