"""``DriftField`` in Python: its state, the optimal path behind it, and its static twin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lossnav._checks import Array
from lossnav.analysis import helmholtz
from lossnav.explore._picture import CONTOUR, Panel, Picture, circle, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_HOLD: float = _SHARED["hold"]  # farthest start and minimum
_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


class DriftField(Explorable):
    """The optimal path under the drift f = qQθ − jθ on L = 2|θ − θ*|², with η = k = 1 (Fig. 3c, d; Eqs. 115–132).

    Drag the start or the minimum; move the drift's rotation rate q and decay rate j, and the discount rate γ. The end
    of the path and the minimum of the effective loss are drawn: with q ≠ 0 and γ > 0 they differ.

    Args:
        start: θ(0), two numbers in [−1.9, 1.9].
        minimum: θ*, two numbers in [−1.9, 1.9].
        rate: q, in [−10, 10].
        decay: j, in [0, 4].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> DriftField(minimum=(0, -0.5), rate=10, decay=0, gamma=0).end().round(6)
        array([ 0.      , -0.019231])
    """

    start = point_trait((1.5, 1.5), _HOLD)
    minimum = point_trait((0.0, -1.5), _HOLD)
    rate = number_trait(_MARKS["rate"], 2.5)
    decay = number_trait(_MARKS["decay"], 0.0)
    gamma = number_trait(_MARKS["gamma"], 2.0)

    def path(self) -> Trajectory:
        """Return the optimal path."""
        objective, loss = self._problem()
        return solve(objective, loss, self.start)

    def end(self) -> Array:
        """Return where the optimal path ends, θ∞, shape (2,)."""
        return self.path().asymptote

    def effective_minimum(self) -> Array:
        """Return the minimum of the effective loss (Eq. 132), shape (2,)."""
        objective, loss = self._problem()
        assert isinstance(objective.drift, Linear)
        effective = helmholtz.effective_loss(objective, loss, helmholtz.split_affine(objective.drift))
        points = effective.stationary_points()
        assert points is not None  # its Hessian is at least that of L
        return points[0]

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        end, effective = self.end(), self.effective_minimum()
        return (
            f"A plane with circles around the minimum {_shown(self.minimum)} of a loss and the arrows of a drift that "
            f"turns at the rate q = {signed(self.rate, 2)} and decays at the rate j = {self.decay:.2f}. For "
            f"γ = {self.gamma:.2f} the optimal path from {_shown(self.start)} ends at {_shown(end, 3)}; the minimum of "
            f"the effective loss is {_shown(effective, 3)}."
        )

    def picture(self) -> str:
        """Return the field, the loss, the path and the three places, as an SVG document."""
        image, pink, grey = Picture(720, 500, _SHARED["title"]), colour("optimal"), colour("neutral")
        panel = image.square(400, _SHARED["edge"], range(-2, 3), "θ₁", "θ₂")
        for radius in np.arange(0.5, 3.5, 0.5):
            image.inside(panel, np.array(self.minimum) + radius * circle(180), CONTOUR, 1.0)
        self._arrows(image, panel)
        path = self.path()
        pace = max(abs(self.rate), self._decay_rate(path))
        span = 7 / self._decay_rate(path)
        t = np.linspace(0, span, int(np.clip(span * pace / 0.1, 200, 900)))
        image.inside(panel, path(t), pink, 3.2, name="path")
        image.dot(panel, self.start[0], self.start[1], colour("ink"), 8.0)
        places = [
            ("end of the path, θ∞", path.asymptote, pink, 6.0),
            ("minimum of L_eff", self.effective_minimum(), colour("paper"), 6.0),
            ("minimum of L, θ*", np.array(self.minimum), grey, 8.0),
        ]
        setting = f"q = {signed(self.rate, 2)}, j = {self.decay:.2f}, γ = {self.gamma:.2f}"
        image.text(470, 76, setting, font_weight="bold")
        for i, (words, place, fill, radius) in enumerate(reversed(places)):
            x, y = panel.at(float(place[0]), float(place[1]))
            for cx, cy in ((x, y), (480, 108 + 34 * i)):
                image.add("circle", cx=cx, cy=cy, r=radius, fill=fill, stroke=colour("ink"), stroke_width=1.2)
            image.text(494, 112 + 34 * i, words)
            image.text(706, 112 + 34 * i, _shown(place, 3), text_anchor="end", fill=colour("soft"))
        cost = "J = ∞" if math.isinf(path.action) else f"J = {signed(path.action, 3)}"
        image.text(470, 222, f"{cost}; beyond resting {signed(path.excess, 3)}")
        return image.svg()

    def _problem(self) -> tuple[Objective, Quadratic]:
        drift = Linear(self.rate * _TURN - self.decay * np.eye(2))
        loss = Quadratic(_SHARED["stiffness"] * np.eye(2), minimum=self.minimum)
        return Objective(gamma=self.gamma, drift=drift), loss

    def _decay_rate(self, path: Trajectory) -> float:
        """Return λ: how fast the distance to the end shrinks, the same in all directions."""
        aside = path.asymptote + np.array([1.0, 0.0])
        return -float(solve(path.objective, path.loss, aside).velocity(0.0)[0])

    def _arrows(self, image: Picture, panel: Panel) -> None:
        for x in np.arange(-1.75, 2.0, 0.5):
            for y in np.arange(-1.75, 2.0, 0.5):
                f = self.rate * _TURN @ [x, y] - self.decay * np.array([x, y])
                size = float(np.linalg.norm(f))
                if size > 0:
                    half = 0.21 / (size + 1.5) * f
                    image.arrow(panel, [x - half[0], y - half[1]], [x + half[0], y + half[1]], "#9cc3dd")


def _shown(point: Sequence[float] | Array, digits: int = 2) -> str:
    x, y = (signed(round(float(v), digits) + 0.0, digits) for v in point)  # + 0.0: no minus before a rounded zero
    return f"({x}, {y})"
