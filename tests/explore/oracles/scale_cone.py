"""What ``ScaleCone`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore, noether
from lossnav._checks import Array
from lossnav.explore._coins import coins
from oracles.common import compact, inside

_SHARED = explore.ScaleCone._shared
_STEPS: int = _SHARED["steps"]
_BLOCK: int = _SHARED["block"]


class ScaleCone(explore.ScaleCone):
    def angle(self) -> float:
        """Return the angle of a step at rest, in radians (T29)."""
        return self.eta * noether.limiting_angular_speed(eta=self.eta, beta=self.beta, decay=self.decay)

    def rest(self) -> float:
        """Return the radius of rest: T30 for the steady part of the pull, the white-noise law for the other."""
        laws = {"eta": self.eta, "beta": self.beta, "decay": self.decay}
        steady, white = (noether.limiting_radius(1.0, **laws, gradient_noise=noise) for noise in (None, "white"))
        return float((self.noise * white**4 + (1 - self.noise) * steady**4) ** 0.25)

    def walk(self) -> Array:
        """Return the particle's places over the radius of rest, shape (T + 1, 2)."""
        rest = self.rest()
        q, v, places = np.array([self.start * rest, 0.0]), np.zeros(2), []
        pulls = math.sqrt(1 - self.noise) + math.sqrt(self.noise) * coins(_STEPS)
        for pull in pulls:
            places.append(q / rest)
            v = self.beta * v - pull / (q @ q) * np.array([-q[1], q[0]]) - self.decay * q
            q = q + self.eta * v
        return np.array([*places, q / rest])

    def angles(self) -> Array:
        """Return the angle per step of each block of steps, root of the mean square, over that of rest."""
        x, y = self.walk().T
        turned = np.arctan2(x[:-1] * y[1:] - y[:-1] * x[1:], x[:-1] * x[1:] + y[:-1] * y[1:])
        return np.asarray(np.sqrt(np.mean(turned.reshape(-1, _BLOCK) ** 2, axis=1)) / self.angle())

    def said(self) -> list[str]:
        return [f"{compact(1000 * self.angle())} mrad", f"r∗ = {compact(self.rest())}"]

    def shows(self) -> dict[str, list[Array]]:
        walk, edge = self.walk(), _SHARED["edge"]
        chart = (0.0, _STEPS / 100), (0.0, _SHARED["top"])
        blocks = (np.arange(_STEPS // _BLOCK) + 0.5) * _BLOCK / 100
        far = np.stack([np.arange(_STEPS + 1) / 100, np.linalg.norm(walk, axis=1)], axis=1)
        return {
            "walk": inside(walk, (-edge, edge), (-edge, edge)),
            "radius": inside(far, *chart),
            "angle": inside(np.stack([blocks, self.angles()], axis=1), *chart),
        }
