"""``BrokenCharge`` in Python: its state, the walk of two weights, what it conserves, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav import noether
from lossnav._checks import Array
from lossnav.explore._coins import coins
from lossnav.explore._picture import CONTOUR, Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_STEPS: int = _SHARED["steps"]
_EDGE: float = _SHARED["edge"]


class BrokenCharge(Explorable):
    """Two weights in a row, L = (ab − y)²: what rescaling conserves, and how decay and steps break it (T22).

    Gradient flow keeps a² − b². Steps of finite length change it by their own imbalance of speeds, weight decay pulls
    it to zero, and the gradient of no batch has a say: the target y = 1 ± ν is drawn anew at each step.

    Args:
        start: a and b at the start, two numbers in [−2.2, 2.2].
        eta: learning rate η, in [0.001, 0.1].
        beta: momentum β, in [0, 0.9].
        decay: weight decay λ, in [0, 0.1].
        noise: ν, in [0, 1].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> BrokenCharge(eta=0.001, decay=0.0, noise=0.0).imbalance()[[0, -1]].round(2).tolist()
        [3.99, 3.99]
    """

    start = point_trait((2.0, 0.1), _SHARED["hold"])
    eta = number_trait(_MARKS["eta"], 0.03)
    beta = number_trait(_MARKS["beta"], 0.5)
    decay = number_trait(_MARKS["decay"], 0.01)
    noise = number_trait(_MARKS["noise"], 0.5)

    def walk(self) -> Array:
        """Return a and b before the first step and after each, shape (T + 1, 2); T < 600 if they run away."""
        q, v, found = np.array(self.start, dtype=float), np.zeros(2), [np.array(self.start, dtype=float)]
        for target in 1 + self.noise * coins(_STEPS):
            v = self.beta * v - 2 * (q[0] * q[1] - target) * q[::-1] - self.decay * q
            q = q + self.eta * v
            if np.sum(np.abs(q)) > 8 * _EDGE:
                break
            found.append(q)
        return np.array(found)

    def imbalance(self) -> Array:
        """Return a² − b² along the walk, shape (T + 1,)."""
        return np.asarray(self.walk() ** 2 @ np.array([1.0, -1.0]))

    def decay_alone(self) -> Array:
        """Return a² − b² if steps had no length of their own, shape (601,): known before the first of them."""
        first = self.start[0] ** 2 - self.start[1] ** 2
        return noether.discrete_rescale(
            first, 0.0, np.zeros(_STEPS), eta=self.eta, beta=self.beta, decay=self.decay
        )[0]  # fmt: skip

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        walk, size, alone = self.walk(), self.imbalance(), self.decay_alone()
        ends = "they run away" if len(walk) <= _STEPS else f"a² − b² ends at {signed(size[-1], 2)}"
        return (
            f"The plane of two weights with curves of equal a² − b² and their walk from ({signed(self.start[0], 2)}, "
            f"{signed(self.start[1], 2)}), and a² − b² over {_STEPS} steps. For η = {self.eta:.4g}, "
            f"β = {self.beta:.3g}, λ = {self.decay:.4g} and noise {self.noise:.2f} it begins at {signed(size[0], 2)}; "
            f"{ends}, and decay alone would leave {signed(alone[-1], 2)}."
        )

    def picture(self) -> str:
        """Return the plane and the quantity over the steps, as an SVG document."""
        image, high, walk = Picture(720, 460, _SHARED["title"]), _SHARED["high"], self.walk()
        plane = image.square(330, _EDGE, range(-2, 3), "a", "b")
        along = np.linspace(-2.6, 2.6, 161)
        for size in (0.0, 0.25, 1.0, 2.25, 4.0):
            for side in (-1, 1):
                far = side * np.sqrt(size + along**2)
                image.inside(plane, np.stack([far, along], axis=1), CONTOUR, 1.0)
                image.inside(plane, np.stack([along, far], axis=1), CONTOUR, 1.0)
        for side in (-1, 1):
            a = np.linspace(0.3, 3, 121)
            image.inside(plane, side * np.stack([a, 1 / a], axis=1), colour("neutral"), 2.2)
        image.inside(plane, walk, colour("optimal"), 1.8, name="walk")
        image.dot(plane, float(self.start[0]), float(self.start[1]), colour("ink"), 8.0)
        chart = Panel((424, 56, 706, 266), (0.0, _STEPS / 100), (-high, high))
        image.frame(chart, "a² − b² over the steps", range(7), (-4, -2, 0, 2, 4), "steps, in hundreds")
        found = self.imbalance()
        lines = {"imbalance": found, "decay": self.decay_alone(), "flow": np.full(_STEPS + 1, found[0])}
        for number, (name, values) in enumerate(lines.items()):
            line = _SHARED["lines"][name]
            tint, dash = colour(line["tint"]), line["dash"]
            points = np.stack([np.arange(len(values)) / 100, values], axis=1)
            called = "" if name == "flow" else name  # tests compare lines that bend
            image.inside(chart, points, tint, 2.6 if name == "imbalance" else 1.8, dash, called)
            image.legend(424, 336 + 26 * number, line["name"], tint, dash)
        return image.svg()
