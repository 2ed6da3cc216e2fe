"""``Board`` in Python: the switches, the rule that they make, its path on the running example, and its static twin."""

from __future__ import annotations

from functools import partial

import numpy as np
import traitlets

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.explore._coins import coins
from lossnav.explore._picture import Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.rules.derive import board, typeset
from lossnav.rules.derive.rule import LearningRule

_SHARED = constants(__file__)
_CURVATURES = np.array(_SHARED["curvatures"])
_HOLD: float = _SHARED["hold"]
_MONO = "ui-monospace, Menlo, Consolas, monospace"
_START = (-3.1, 2.7)


def _switch(name: str, default: str) -> traitlets.Enum[str]:
    allowed = list(board.SWITCHES[name])
    return traitlets.Enum(allowed, default).tag(sync=True, check=partial(_checks.one_of, allowed=allowed))


class Board(Explorable):
    """Six switches of assumptions, the equation and the torch code that follow, and the path that the rule takes.

    The path is on the bowl h = (1/9, 1) with η = k = c = 1, γ = 0 or ½, j = ⅛, α = ¼, β = 0.9, and 0.999 for averages
    of g², until time 20 or until it is lost (|θᵢ| > 40).

    Args:
        horizon: ``"far"`` (γ = 0) or ``"discounted"``.
        metric: ``"plain"`` or ``"rms"`` (√V).
        drift: ``"none"`` or ``"decay"``.
        belief: ``"exact"``, ``"average"`` or ``"fading"``.
        curvature: ``"none"``, ``"average"``, ``"instant"`` or ``"signal"``.
        time: ``"first"`` or ``"exact"``.
        start: θ(0), two numbers in [−3.8, 3.8].
        dt: Δt, in [0.02, 2].
        noise: what a coin adds to or takes from each entry of each gradient, in [0, 2].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Board().name(), Board(belief="exact").name()
        ('Adam', 'RMSprop')
        >>> Board().path()[:2].round(3)
        array([[-3.1  ,  2.7  ],
               [-3.042,  2.608]])
    """

    horizon = _switch("horizon", "far")
    metric = _switch("metric", "plain")
    drift = _switch("drift", "none")
    belief = _switch("belief", "fading")
    curvature = _switch("curvature", "average")
    time = _switch("time", "first")
    start = point_trait(_START, _HOLD)
    dt = number_trait(_SHARED["dt"], 0.1)
    noise = number_trait(_SHARED["noise"], 0.0)

    def positions(self) -> dict[str, str]:
        """Return {switch: position}."""
        return {switch: getattr(self, switch) for switch in board.SWITCHES}

    def name(self) -> str | None:
        """Return the published optimizer at this corner, or None."""
        return board.NAMES.get(tuple(self.positions().values()))

    def rule(self) -> LearningRule:
        """Return the rule.

        Raises:
            NoMinimiser: these assumptions have no plan.
        """
        return board.chosen(self.positions(), dt=self.dt)

    def steps(self) -> int:
        """Return the number of steps until time 20."""
        return int(np.floor(_SHARED["until"] / self.dt + 1e-9))

    def kicks(self) -> Array:
        """Return what noise adds to the gradient of each step, shape (N, 2)."""
        return self.noise * coins(2 * self.steps()).reshape(-1, 2)

    def path(self) -> Array:
        """Return where the learner is after 0, 1, … steps, shape (≤ N + 1, 2); the start alone if there is no plan."""
        theta = np.array(self.start)
        places = [theta]
        try:
            rule = self.rule()
            state = rule.init(theta)
            for kick in self.kicks():
                step, state = rule(_CURVATURES * theta + kick, state, theta)
                theta = theta + step
                places.append(theta)
                if np.max(np.abs(theta)) > _SHARED["gone"]:
                    break
        except NoMinimiser:
            pass
        return np.array(places)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        path = self.path()
        named = self.name() or "a rule that has no name"
        if len(path) == 1:
            return "Switches of assumptions for which there is no plan: " + str(_SHARED["table"]["refused"]) + "."
        made = typeset.plain(typeset.velocity(self.positions()))
        return (
            f"Contours of a bowl, long in θ₁ and narrow in θ₂, and the path of {named}, {made}, from "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}) to "
            f"({signed(path[-1, 0], 2)}, {signed(path[-1, 1], 2)}) with Δt = {self.dt:.2f}."
        )

    def picture(self) -> str:
        """Return the path on the bowl beside assumptions and formulas, and the code, as an SVG document."""
        found = board.corner(self.positions())
        source = found.get("source", "").rstrip().split("\n")
        image = Picture(720, 496 + 15 * len(source), _SHARED["title"])
        panel = image.square(340, _SHARED["edge"], _SHARED["ticks"], "θ₁ (h = 1/9)", "θ₂ (h = 1)")
        image.contours(panel, _CURVATURES)
        image.inside(panel, self.path(), colour("optimal"), 2.6, name="path")
        image.dot(panel, self.start[0], self.start[1], colour("ink"), 8.0)
        for i, (switch, position) in enumerate(self.positions().items()):
            label, places = _SHARED["switches"][switch]
            image.text(414, 76 + 22 * i, label, fill=colour("soft"))
            image.text(494, 76 + 22 * i, places[position], font_weight="bold")
        image.text(414, 232, self.name() or "no name", font_size=16.0, font_weight="bold")
        if found["refused"]:
            image.text(414, 262, "There is no plan under these assumptions.")
            return image.svg()
        at, x = self.positions(), board.NUMBERS
        trees = [make(at) for make in (typeset.equation, typeset.rate, typeset.velocity, typeset.step)]
        for i, tree in enumerate([*trees, *typeset.beliefs(at, x["beta"], x["memory"])]):
            image.text(414, 262 + 24 * i, typeset.plain(tree))
        for i, line in enumerate(source):
            # blanks that a document would drop
            image.text(46, 462 + 15 * i, line.replace("    ", "\u00a0" * 4), font_family=_MONO, font_size=11.0)
        return image.svg()
