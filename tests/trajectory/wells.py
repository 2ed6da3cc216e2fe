"""One-dimensional landscapes: with given stationary points for tests of the phase plane, and random ones."""

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import lossnav as ln


class Landscape(ln.losses.Loss):
    """L′ = Π(θ − root)·weight(θ), weight > 0; L(0) = 0 by Gauss–Legendre sums over 2 000 pieces of [−4, 4]."""

    dim = 1

    def __init__(self, roots, log_weight=lambda t: 0 * t, log_weight_slope=lambda t: 0 * t):
        self.roots = np.sort(np.asarray(roots, dtype=float))
        self._log, self._log_slope = log_weight, log_weight_slope
        knots = np.linspace(-4.0, 4.0, 2001)
        nodes, weights = np.polynomial.legendre.leggauss(8)
        half = (knots[1] - knots[0]) / 2
        pieces = half * (self._slope((knots[:-1] + half)[:, None] + half * nodes) * weights).sum(-1)
        heights = np.concatenate([[0.0], np.cumsum(pieces)])
        self._height = CubicHermiteSpline(knots, heights - heights[1000], self._slope(knots))

    def _slope(self, t):
        return np.prod(t[..., None] - self.roots, axis=-1) * np.exp(self._log(t))

    def value(self, theta):
        height = self._height(self._points(theta)[..., 0])
        return float(height) if np.ndim(height) == 0 else height

    def gradient(self, theta):
        return self._slope(self._points(theta))

    def hessian(self, theta):
        t = self._points(theta)
        others = [np.prod(t[..., None] - np.delete(self.roots, i), axis=-1) for i in range(len(self.roots))]
        product = np.prod(t[..., None] - self.roots, axis=-1)
        return ((sum(others) + product * self._log_slope(t)) * np.exp(self._log(t)))[..., None]

    def stationary_points(self):
        return self.roots[:, None]


def bumped(roots, height, centre, width):
    """Return a landscape whose slope is 1 + height times as steep about ``centre``."""

    def bump(t):
        return height * np.exp(-(((t - centre) / width) ** 2))

    return Landscape(
        roots,
        lambda t: np.log1p(bump(t)),
        lambda t: -2 * (t - centre) / width**2 * bump(t) / (1 + bump(t)),
    )


def section(**constants):
    return ln.losses.Section(ln.losses.DoubleWell(**constants))


def drifting(seed):
    """Wells of random places, depths and widths in a bowl, and a drift p + q·sin(sθ + φ), in one dimension."""
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 6)
    centres, depths = 2.5 * rng.normal(size=count), 2 * rng.exponential(size=count)
    widths = 10 ** rng.uniform(-0.7, 0.2)
    p, q, s, phase = rng.normal(), rng.normal() / 2, rng.uniform(0.3, 2), rng.uniform(0, 6)

    def wells(x):
        off = (x[..., :1] - centres) / widths
        return off, depths * np.exp(-(off**2) / 2)

    def bend(x):
        off, deep = wells(x)
        return (0.2 + (deep * (1 - off**2)).sum(-1) / widths**2)[..., None, None]

    loss = ln.losses.Function(
        lambda x: 0.1 * x[..., 0] ** 2 - wells(x)[1].sum(-1),
        lambda x: 0.2 * x + (np.prod(wells(x), axis=0) / widths).sum(-1, keepdims=True), bend, dim=1,
    )  # fmt: skip
    drift = ln.drifts.Function(
        lambda x: p + q * np.sin(s * x + phase), lambda x: (q * s * np.cos(s * x + phase))[..., None], dim=1
    )
    return ln.Objective(gamma=10 ** rng.uniform(-1, 1), eta=10 ** rng.uniform(-1, 1), drift=drift), loss, rng
