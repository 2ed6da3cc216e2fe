"""``NoisyOscillator`` in Python: its state, the laws of a mode, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._picture import Picture, circle, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_HOLD: float = _SHARED["hold"]
_EDGE: float = _SHARED["edge"]


class NoisyOscillator(Explorable):
    """One mode of SGD with momentum in its phase plane: the mean, 300 noisy steps, and the stationary laws.

    Positions to the right, velocities upwards in units of ω, in which the continuous law is a circle. The noise of a
    gradient has the variance 0.2·ρ. Drag the start; move η, β and ρ through the regimes of damping, and beyond.

    Args:
        start: θ − μ and v/ω at the start, two numbers in [−1.8, 1.8].
        eta: learning rate, in [0.001, 1].
        beta: momentum, in [0, 0.99].
        rho: curvature, in [0.1, 10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> NoisyOscillator(eta=0.1, beta=0.9, rho=1.0).mode().regime
        'underdamped'
    """

    start = point_trait((1.6, 0.0), _HOLD)
    eta = number_trait(_SHARED["eta"], 0.03)
    beta = number_trait(_SHARED["beta"], 0.95)
    rho = number_trait(_SHARED["rho"], 1.0)

    def mode(self) -> sgd.Mode:
        """Return the oscillator."""
        return sgd.Mode(self.rho, eta=self.eta, beta=self.beta)

    def law(self, form: str = "discrete") -> Array | None:
        """Return the stationary covariance of (θ, v), shape (2, 2), or None where SGD diverges.

        Args:
            form: "discrete" or "sde".

        Raises:
            ValueError: there is no such form.
        """
        if not self.mode().stable:
            return None
        return sgd.stationary(
            self.rho, eta=self.eta, beta=self.beta, batch=1, noise=_SHARED["noise"], form=form
        )  # fmt: skip

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        mode, law = self.mode(), self.law()
        end = "it diverges" if law is None else f"the cloud's standard deviation of θ is {math.sqrt(law[0, 0]):.3g}"
        return (
            f"Phase plane of one mode of SGD for η = {self.eta:.4g}, β = {self.beta:.3g}, ρ = {self.rho:.3g}: a smooth "
            f"path of an oscillator with ζ = {mode.zeta:.3g} from ({signed(self.start[0], 2)}, "
            f"{signed(self.start[1], 2)}), 300 noisy steps around it, and ellipses of the stationary law; {end}."
        )

    def picture(self) -> str:
        """Return the phase plane, as an SVG document."""
        image = Picture(720, 500, _SHARED["title"])
        panel = image.square(400, _EDGE, range(-2, 3), "position θ − μ", "velocity v, in units of ω")
        mode = self.mode()
        units = np.array([1.0, 1 / mode.omega])
        for name, points in self._lines(mode).items():
            line, width = _SHARED["lines"][name], {"path": 1.0, "mean": 2.0}.get(name, 2.4)
            image.inside(panel, points * units, colour(line["tint"]), width, line["dash"], name)
        image.dot(panel, float(self.start[0]), float(self.start[1]), colour("ink"), 8.0)
        known = f"η = {self.eta:.4g}, β = {self.beta:.3g}, ρ = {self.rho:.3g}"
        image.text(474, 76, known, font_weight="bold")
        image.text(474, 100, f"{mode.regime}, ζ = {mode.zeta:.3g}" if mode.stable else "SGD diverges")
        for i, line in enumerate(_SHARED["lines"].values()):
            image.legend(474, 136 + 30 * i, line["name"], colour(line["tint"]), line["dash"])
        return image.svg()

    def _lines(self, mode: sgd.Mode) -> dict[str, Array]:
        """Return the lines of (θ, v) that the picture shows, each of shape (M, 2)."""
        theta, v = float(self.start[0]), float(self.start[1]) * mode.omega
        count = len(_SHARED["draws"])
        parts = max(1, math.ceil(mode.omega * self.eta / 0.2))
        b0 = float(sgd.matched_velocity(v, self.beta * v - self.rho * theta, beta=self.beta))
        times = np.linspace(0, count * self.eta, count * parts + 1)
        found = {"path": self._steps(theta, v), "mean": np.stack(mode.mean(times, theta, b0), axis=1)}
        ratio = self.eta * (1 + self.beta) / (2 * self.rho)
        smooth = self.rho * _SHARED["noise"] / (1 - self.beta**2) * np.diag([ratio, 1.0])
        found["circle"] = _ellipse(smooth)
        law = self.law()
        if law is not None:
            found["exact"] = _ellipse(law)
        return found

    def _steps(self, theta: float, v: float) -> Array:
        size, found = math.sqrt(self.rho * _SHARED["noise"]), [(theta, v)]
        for draw in _SHARED["draws"]:
            v = self.beta * v - self.rho * theta + size * draw
            theta += self.eta * v
            found.append((theta, v))
            if abs(theta) > 4 * _EDGE:
                break
        return np.array(found)


def _ellipse(law: Array) -> Array:
    """Return two standard deviations of a law, shape (121, 2)."""
    return 2 * circle(120) @ np.linalg.cholesky(law).T
