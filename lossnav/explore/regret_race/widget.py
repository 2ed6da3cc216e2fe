"""``RegretRace`` in Python: its state, the six paths and their regrets, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav import rules
from lossnav._checks import Array
from lossnav.explore._picture import Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.regret import Regret, regret
from lossnav.trajectory.solve import solve

_SHARED = constants(__file__)
_MARKS, _LINES, _ADAM = _SHARED["marks"], _SHARED["lines"], _SHARED["adam"]
_HOLD: float = _SHARED["hold"]


class RegretRace(Explorable):
    """Six rules on L = ½(θ₁² + κθ₂²) with η = k = 1, and what each regrets in J, by speed and by direction.

    Gradient descent, heavy ball and Nesterov's method have their textbooks' tuning; steps are joined by straight lines,
    and each rule gets the time of a step for which its path costs least.

    Args:
        start: θ(0), both entries in [−1.1, 1.1].
        gamma: γ, in [0, 10]; it changes the bill, and the optimal path, alone.
        kappa: κ, in [1, 100].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> found = RegretRace(gamma=0.0, kappa=10.0).regrets()
        >>> found["ballistic"].relative < 0.02 < 0.3 < found["descent"].relative < found["heavy"].relative
        True
    """

    start = point_trait((1.0, 1.0), _HOLD)
    gamma = number_trait(_MARKS["gamma"], 0.5)
    kappa = number_trait(_MARKS["kappa"], 10.0)

    def paths(self) -> dict[str, Array]:
        """Return where each rule is after 0, 1, … steps, shapes (N + 1, 2)."""
        return {rule: self._walk(rule) for rule in _LINES}

    def regrets(self) -> dict[str, Regret]:
        """Return the regret of each rule; empty at the minimum, where nothing is to be regretted."""
        if not any(self.start):
            return {}
        return {rule: self._regret(path) for rule, path in self.paths().items()}

    def _regret(self, path: Array) -> Regret:
        objective, loss = Objective(gamma=self.gamma), self._loss()
        try:
            return regret(path, objective, loss)
        except ValueError:  # the longer a step lasts the better, or the shorter: the end of the range that is searched
            guess = regret(path, Objective(), loss).dt
            ends = [regret(path, objective, loss, dt=guess * math.exp(u)) for u in (-_SHARED["far"], _SHARED["far"])]
            return min(ends, key=lambda end: end.total)

    def _loss(self) -> Quadratic:
        return Quadratic(np.diag([1.0, self.kappa]), minimum=(0.0, 0.0))

    def _walk(self, rule: str) -> Array:
        h, root = np.array([1.0, self.kappa]), math.sqrt(self.kappa)
        share = (root - 1) / (root + 1)
        x, m, v = np.array(self.start), np.zeros(2), np.zeros(2)
        places, enough = [x], _SHARED["arrive"] * (h @ x**2)
        (one, two), n = _ADAM["decays"], 0
        while len(places) <= _SHARED["steps"] and (h @ x**2 > enough or n < 1):
            n += 1
            if rule == "adam":
                m, v = one * m + (1 - one) * h * x, two * v + (1 - two) * (h * x) ** 2
                x = x - _ADAM["rate"] * m / (1 - one**n) / (np.sqrt(v / (1 - two**n)) + _ADAM["tiny"])
            elif rule == "heavy":
                m = share**2 * m - 4 * h * x / (1 + root) ** 2
                x = x + m
            elif rule == "nesterov":
                ahead = x + share * m
                m = share * m - h * ahead / self.kappa
                x = x + m
            else:
                factor = {
                    "descent": h / self.kappa, "newton": np.full(2, _SHARED["newton"]),
                    "ballistic": _SHARED["ballistic"] * np.sqrt(h) / root,
                }[rule]  # fmt: skip
                x = x - factor * x
            places.append(x)
        return np.array(places)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        found = sorted(self.regrets().items(), key=lambda item: item[1].total)
        said = ", ".join(f"{_LINES[rule]['name']} {one.relative:.3g}" for rule, one in found)
        return (
            f"Paths of six rules from ({signed(self.start[0], 2)}, {signed(self.start[1], 2)}) in a valley with "
            f"condition number {self.kappa:.1f}, with the optimal path for γ = {self.gamma:.2f}; beside it bars of "
            f"their regret over the least cost, by speed and direction: {said or 'none, at the minimum'}."
        )

    def picture(self) -> str:
        """Return the paths and the bars, as an SVG document."""
        image = Picture(760, 480, _SHARED["title"])
        plane = image.square(360, _SHARED["edge"], (-1, 0, 1), "θ₁ (h = 1)", "θ₂ (h = κ)")
        image.contours(plane, np.array([4.0, 4.0 * self.kappa]))
        for rule, path in self.paths().items():
            image.inside(plane, path, colour(_LINES[rule]["tint"]), 2.0, _LINES[rule]["dash"], rule)
        if any(self.start):
            slow = float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])
            best = solve(Objective(gamma=self.gamma), self._loss(), self.start)
            image.inside(plane, best(9 / slow * np.linspace(0, 1, 121) ** 3), colour("optimal"), 4.0, name="optimal")
        image.dot(plane, self.start[0], self.start[1], colour("ink"), 8.0)
        self._bars(image)
        return image.svg()

    def _bars(self, image: Picture) -> None:
        left, right = 560, 690
        image.text(430, 48, f"γ = {self.gamma:.2f}, κ = {self.kappa:.1f}", font_weight="bold")
        image.text(430, 76, "regret over the least cost:", fill=colour("soft"))
        image.text(430, 94, "full colour speed, pale direction", fill=colour("soft"))
        found = sorted(self.regrets().items(), key=lambda item: item[1].total)
        for row, (rule, one) in enumerate(found):
            y = 112 + 30 * row
            scale = (right - left) / _SHARED["most"] * one.relative / one.total
            middle = min(one.speed * scale, right - left)
            end = min(one.total * scale, right - left)
            image.text(430, y + 15, _LINES[rule]["name"])
            image.add("rect", x=left, y=y, width=middle, height=20, fill=colour(_LINES[rule]["tint"]))
            pale = {"fill": colour(_LINES[rule]["tint"]), "fill_opacity": "0.35"}
            image.add("rect", x=left + middle, y=y, width=end - middle, height=20, **pale)
            image.text(700, y + 15, f"{one.relative:.2g}")
