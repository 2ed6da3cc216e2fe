"""What ``NoisyOscillator`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import circle, compact, inside

_SHARED = explore.NoisyOscillator._shared
_EDGE: float = _SHARED["edge"]


class NoisyOscillator(explore.NoisyOscillator):
    def mode(self) -> sgd.Mode:
        """Return the oscillator."""
        return sgd.Mode(self.rho, eta=self.eta, beta=self.beta)

    def law(self, form: str = "discrete") -> Array | None:
        """Return the stationary covariance of (θ, v), shape (2, 2), or None where SGD diverges.

        Args:
            form: "discrete" or "sde".
        """
        if not self.mode().stable:
            return None
        return sgd.stationary(
            self.rho, eta=self.eta, beta=self.beta, batch=1, noise=_SHARED["noise"], form=form
        )  # fmt: skip

    def _lines(self, mode: sgd.Mode) -> dict[str, Array]:
        """Return the lines of (θ, v) that the picture shows, each of shape (M, 2)."""
        theta, v = float(self.start[0]), float(self.start[1]) * mode.omega
        count = len(_SHARED["draws"])
        parts = max(1, math.ceil(mode.omega * self.eta / 0.2))
        b0 = float(sgd.matched_velocity(v, self.beta * v - self.rho * theta, beta=self.beta))
        times = np.linspace(0, count * self.eta, count * parts + 1)
        lines = {"path": self._steps(theta, v), "mean": np.stack(mode.mean(times, theta, b0), axis=1)}
        ratio = self.eta * (1 + self.beta) / (2 * self.rho)
        smooth = self.rho * _SHARED["noise"] / (1 - self.beta**2) * np.diag([ratio, 1.0])
        lines["circle"] = _ellipse(smooth)
        law = self.law()
        if law is not None:
            lines["exact"] = _ellipse(law)
        return lines

    def _steps(self, theta: float, v: float) -> Array:
        size, states = math.sqrt(self.rho * _SHARED["noise"]), [(theta, v)]
        for draw in _SHARED["draws"]:
            v = self.beta * v - self.rho * theta + size * draw
            theta += self.eta * v
            states.append((theta, v))
            if abs(theta) > 4 * _EDGE:
                break
        return np.array(states)

    def said(self) -> list[str]:
        law = self.law()
        return [f"ζ = {compact(self.mode().zeta)}", "diverges" if law is None else compact(math.sqrt(law[0, 0]))]

    def shows(self) -> dict[str, list[Array]]:
        mode = self.mode()
        units = np.array([1.0, 1 / mode.omega])
        return {
            name: inside(points * units, (-_EDGE, _EDGE), (-_EDGE, _EDGE)) for name, points in self._lines(mode).items()
        }


def _ellipse(law: Array) -> Array:
    """Return two standard deviations of a law, shape (121, 2)."""
    return 2 * circle(120) @ np.linalg.cholesky(law).T
