"""``NoisyValley`` in Python: its state, the process, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._picture import Picture, circle, colour, rotation, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_HOLD: float = _SHARED["hold"]
_EDGE: float = _SHARED["edge"]
_LINES: dict[str, dict[str, str]] = _SHARED["lines"]
_VALLEY = np.array(_SHARED["valley"])


class NoisyValley(Explorable):
    """A valley of the loss, noise with a direction, and what comes of it: another landscape, and a current (K26–K44).

    At a point that can be dragged, the drift −∇Φ is drawn with its two parts: down the modified loss Ψ, whose level set
    the density shows, and round along it. Noise along the valley or across it leaves no current.

    Args:
        start: the point, two numbers in [−1.6, 1.6].
        angle: of the strong axis of the noise, degrees in [−90, 90].
        ratio: of strong to weak diffusion, in [1, 16]; the determinant stays 1.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(float(NoisyValley(angle=0.0, ratio=4.0).process().skew[0, 1]), 3)
        0.45
    """

    start = point_trait((0.5, -0.8), _HOLD)
    angle = number_trait(_SHARED["marks"]["angle"], 0.0)
    ratio = number_trait(_SHARED["marks"]["ratio"], 4.0)

    def process(self) -> sgd.OrnsteinUhlenbeck:
        """Return the process, with κ = 1."""
        axes = rotation(self.angle)
        return sgd.OrnsteinUhlenbeck(_VALLEY, axes @ np.diag([self.ratio**0.5, self.ratio**-0.5]) @ axes.T)

    def arrows(self) -> dict[str, Array]:
        """Return the drift at the point and its two parts, ``"drift"``, ``"down"`` and ``"round"``, shape (2,) each."""
        process, place = self.process(), np.array(self.start)
        drift, around = -_VALLEY @ place, process.flow(place)
        return {"drift": drift, "down": drift - around, "round": around}

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        turn = 2 * self.process().skew[0, 1]
        way = "clockwise" if turn < 0 else "counter-clockwise"
        end = "nothing goes round" if abs(turn) < 5e-4 else f"the current turns {way}"
        return (
            "An elliptic level set of a valley along the diagonal and one of the modified loss through the point "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}), with the drift there and its two parts, for "
            f"noise at {signed(self.angle, 1)}° that is {self.ratio:.3g} times as strong along as across: {end}."
        )

    def picture(self) -> str:
        """Return both level sets and the three arrows, as an SVG document."""
        image = Picture(720, 500, _SHARED["title"])
        panel = image.square(400, _EDGE, range(-2, 3), "θ₁", "θ₂")
        place = np.array(self.start)
        for name, matrix in (("phi", _VALLEY), ("psi", self.process().curvature)):
            image.inside(panel, _level(matrix, place), colour(_LINES[name]["tint"]), 2.4, "none", name)
        for name, way in self.arrows().items():
            line = _LINES[name]
            image.arrow(panel, place, place + _SHARED["reach"] * way, colour(line["tint"]), line["dash"], name)
        image.dot(panel, float(place[0]), float(place[1]), colour("ink"), 8.0)
        image.text(474, 76, f"noise at {signed(self.angle, 1)}°, r = {self.ratio:.2f}", font_weight="bold")
        image.text(474, 100, f"2Q₁₂ = {signed(2 * self.process().skew[0, 1] + 0.0, 3)}")
        for i, line in enumerate(_LINES.values()):
            image.legend(474, 136 + 30 * i, line["name"], colour(line["tint"]), line["dash"])
        return image.svg()


def _level(matrix: Array, place: Array) -> Array:
    """Return the level set of ½xᵀMx through a place, shape (161, 2)."""
    return np.linalg.solve(np.linalg.cholesky(matrix).T, np.sqrt(place @ matrix @ place) * circle(160).T).T
