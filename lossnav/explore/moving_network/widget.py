"""``MovingNetwork`` in Python: its state, the prediction, the nearest recorded run, and its static twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_LONGEST: int = _SHARED["n"][1]


class MovingNetwork(Explorable):
    """How far a trained network gets in n steps of SGD: predicted for any setting, and recorded at 28 of them.

    The network is the chapter's perceptron on MNIST (``book/results/moving-network.json``). Curvature and noise are
    those at its base setting, η = 0.01, S = 64, β = 0.9, the mean of three seeds; they predict every other setting, as
    long as the network stays in the basin in which they were measured.

    Args:
        eta: learning rate, in [0.001, 0.03].
        batch: batch size S, 8 … 256.
        beta: momentum, in [0.5, 0.99].
        n: number of steps at which the exponent is read, 2 … 1500.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> widget = MovingNetwork()
        >>> widget.nearest()[1], round(widget.exponent(100), 1)
        (True, 0.7)
    """

    eta = number_trait(_SHARED["eta"], 0.01)
    batch = whole_trait(_SHARED["batch"], 64)
    beta = number_trait(_SHARED["beta"], 0.9)
    n = whole_trait((2, _LONGEST), 100)

    @staticmethod
    def spectrum() -> tuple[Array, Array]:
        """Return curvatures ρ + λ and the noise tr Σ that is spread over them, at the base; each of shape (L,)."""
        return np.array(_SHARED["nodes"]), np.array(_SHARED["weights"])

    def distances(self, n: ArrayLike) -> Array:
        """Return E|θ(k+n) − θ(k)|² for numbers of steps n, of their shape.

        Raises:
            ValueError: an entry is not a whole number >= 0.
        """
        nodes, weights = self.spectrum()
        return sgd.displacement(
            nodes, n, eta=self.eta, beta=self.beta, batch=self.batch, gradient_variance=weights, form="discrete"
        )  # fmt: skip

    def exponent(self, n: int) -> float:
        """Return c, the slope of ``distances`` in logarithms between n − 1 and n + 1.

        Raises:
            ValueError: n is not a whole number >= 2.
        """
        ends = _checks.whole("n", n, low=2) + np.array([-1, 1])
        return sgd.exponent(ends, self.distances(ends))

    def temperature(self) -> float:
        """Return T = η/(S(1 − β))."""
        return float(self.eta / (self.batch * (1 - self.beta)))

    def nearest(self) -> tuple[dict[str, Any], bool]:
        """Return the recorded run with the nearest setting, and whether that is this setting (within 4 %)."""

        def away(run: dict[str, Any]) -> Array:
            ratios = (run["eta"] / self.eta, run["batch"] / self.batch, (1 - run["beta"]) / (1 - self.beta))
            return np.abs(np.log(ratios))

        run = min(_SHARED["runs"], key=lambda one: float(np.sum(away(one))))
        return run, bool(np.max(away(run)) < _SHARED["near"])

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        run, same = self.nearest()
        where = "at this setting" if same else f"at η = {run['eta']:g}, S = {run['batch']}, β = {run['beta']:g}"
        ratio = np.mean(run["far"], axis=0) / self.distances(run["lags"])
        return (
            f"Squared distance against the number of steps on logarithmic axes, and below it the exponent, which falls "
            f"from two to below one. Predicted for η = {self.eta:.4g}, S = {self.batch}, β = {self.beta:.3g}: "
            f"{float(self.distances(self.n)):.3g} after {self.n} steps, c = {self.exponent(self.n):.2f}. Dots were "
            f"measured {where}; over the prediction they are {ratio.min():.2f} to {ratio.max():.2f}."
        )

    def picture(self) -> str:
        """Return distance and exponent over the steps, as an SVG document."""
        image, pink, blue = Picture(720, 520, _SHARED["title"]), colour("optimal"), colour("descent")
        across = (0.0, float(np.log10(_LONGEST)))
        far = Panel((46, 56, 706, 316), across, tuple(_SHARED["far"]))
        slope = Panel((46, 356, 706, 466), across, (0.0, 2.1))
        powers = range(_SHARED["far"][0], _SHARED["far"][1] + 1, 2)
        image.frame(far, "log₁₀ of the squared distance after n steps", (), tuple(powers), "")
        across_name = "log₁₀ of the number of steps n"
        image.frame(slope, "exponent c: the slope of that line", (0, 1, 2, 3), (0, 1, 2), across_name)
        steps = np.unique(np.rint(10 ** np.linspace(0, across[1], 241)).astype(int))
        image.inside(far, np.log10(np.stack([steps, self.distances(steps)], axis=1)), pink, 2.6, name="far")
        later = steps[steps > 1]
        bent = [self.exponent(int(k)) for k in later]
        image.inside(slope, np.stack([np.log10(later), bent], axis=1), pink, 2.6, name="slope")
        run, _ = self.nearest()
        for seed in run["far"]:
            for x, y in np.log10(np.stack([run["lags"], seed], axis=1)):
                if far.y[0] < y < far.y[1]:
                    image.dot(far, x, y, blue, 4.0)
        mean, lags = np.mean(run["far"], axis=0), np.array(run["lags"])
        for x, y in zip(np.log10(lags[1:] * lags[:-1]) / 2, np.diff(np.log(mean)) / np.diff(np.log(lags)), strict=True):
            image.dot(slope, float(x), float(y), blue, 4.0)
        image.legend(470, 250, _SHARED["lines"]["far"]["name"], pink)
        image.text(506, 276, f"dots: {_SHARED['lines']['seeds']['name']}", fill=blue)
        return image.svg()
