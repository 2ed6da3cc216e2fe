"""``ScaleCone`` in Python: its state, the laws, the walk, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav import noether
from lossnav._checks import Array
from lossnav.explore._coins import coins
from lossnav.explore._picture import CONTOUR, Panel, Picture, circle, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_STEPS: int = _SHARED["steps"]
_BLOCK: int = _SHARED["block"]


class ScaleCone(Explorable):
    """Gradient descent with momentum and decay on a loss of the direction alone, against its laws (T25–T30).

    The pull along the circle has the size 1/r: a steady part, and one whose sign is drawn anew at each step. The walk
    is shown in units of the radius at which it comes to rest.

    Args:
        eta: learning rate η, in [0.01, 1].
        beta: momentum β, in [0, 0.99].
        decay: weight decay λ, in [0.001, 0.1].
        noise: share of noise in the mean square of the pull, in [0, 1].
        start: first radius over that of rest, in [0.25, 2].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(ScaleCone(eta=0.1, beta=0.0, decay=0.02).angle(), 4)
        0.0632
    """

    eta = number_trait(_MARKS["eta"], 0.1)
    beta = number_trait(_MARKS["beta"], 0.9)
    decay = number_trait(_MARKS["decay"], 0.01)
    noise = number_trait(_MARKS["noise"], 0.5)
    start = number_trait(_MARKS["start"], 0.5)

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
        q, v, found = np.array([self.start * rest, 0.0]), np.zeros(2), []
        pulls = math.sqrt(1 - self.noise) + math.sqrt(self.noise) * coins(_STEPS)
        for pull in pulls:
            found.append(q / rest)
            v = self.beta * v - pull / (q @ q) * np.array([-q[1], q[0]]) - self.decay * q
            q = q + self.eta * v
        return np.array([*found, q / rest])

    def angles(self) -> Array:
        """Return the angle per step of each block of steps, root of the mean square, over that of rest."""
        x, y = self.walk().T
        turned = np.arctan2(x[:-1] * y[1:] - y[:-1] * x[1:], x[:-1] * x[1:] + y[:-1] * y[1:])
        return np.asarray(np.sqrt(np.mean(turned.reshape(-1, _BLOCK) ** 2, axis=1)) / self.angle())

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        late = self.angles()[_STEPS // _BLOCK // 2 :]
        return (
            f"A plane with the walk of a particle around the origin, a dashed circle at the radius of rest, and over "
            f"the steps its radius and its angle per step, in units of the laws. For η = {self.eta:.3f}, "
            f"β = {self.beta:.3f}, λ = {self.decay:.4f} and a share {self.noise:.2f} of noise the law is "
            f"{1000 * self.angle():.3g} mrad per step and a radius of {self.rest():.3g}; late in the walk the angle is "
            f"{float(np.sqrt(np.mean(late**2))):.2f} times the law's."
        )

    def picture(self) -> str:
        """Return the walk, its radius and its angle, as an SVG document."""
        image, top = Picture(720, 430, _SHARED["title"]), _SHARED["top"]
        walk, pink, ink = self.walk(), colour("optimal"), colour("ink")
        plane = image.square(330, _SHARED["edge"], range(-2, 3), "θ₁/r∗", "θ₂/r∗")
        for turn in np.arange(0, 2 * np.pi, np.pi / 12):
            ray = np.linspace(0, 4, 200)[:, None] * [np.cos(turn), np.sin(turn)]
            image.inside(plane, ray, CONTOUR, 1.0)
        image.inside(plane, walk, pink, 1.6, name="walk")
        image.line(plane, circle(120), ink, 1.6, "5 4")
        image.dot(plane, float(walk[0, 0]), float(walk[0, 1]), ink, 6.0)
        image.dot(plane, float(walk[-1, 0]), float(walk[-1, 1]), pink)
        steps = np.arange(_STEPS + 1) / 100
        blocks = (np.arange(_STEPS // _BLOCK) + 0.5) * _BLOCK / 100
        rows = {
            "radius": ("radius over the radius of rest r∗", steps, np.linalg.norm(walk, axis=1)),
            "angle": ("angle per step over √(2ηλ/(1+β))", blocks, self.angles()),
        }
        for number, (name, (title, x, y)) in enumerate(rows.items()):
            panel = Panel((424, 56 + 175 * number, 706, 196 + 190 * number), (0, _STEPS / 100), (0.0, top))
            last = number == len(rows) - 1
            image.frame(panel, title, range(0, 13, 4) if last else (), (0, 1, 2), "steps, in hundreds" if last else "")
            image.line(panel, [(0, 1), (_STEPS / 100, 1)], ink, 1.6, "5 4")
            image.inside(panel, np.stack([x, y], axis=1), pink, 1.6, name=name)
        return image.svg()
