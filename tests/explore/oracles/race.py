"""What ``Race`` is to show, by the library."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import Loss, Section
from lossnav.problem.objective import Objective
from lossnav.trajectory import phase_plane
from oracles.common import fixed, inside
from oracles.landscape import Dent, dug_landscape, edge_starts, into_wells, rests, section
from oracles.plans import course, landscape

_SHARED = explore.Race._shared
_RACE = _SHARED["race"]
_EQUAL = 1e-7  # depths and costs that differ by less are the same


class Race(explore.Race):
    def loss(self) -> Loss:
        """Return the landscape."""
        return dug_landscape(self.tilt, self.dug)

    def minima(self) -> Array:
        """Return θ₁ of the minima, from left to right, shape (N,)."""
        return rests(self.tilt, self.dug)[0]

    def deepest(self) -> Array:
        """Return θ₁ of the deepest minimum; of all where several are equally deep, from left to right."""
        depths = self._section().value(self.minima()[:, None])
        return self.minima()[depths <= depths.min() + _EQUAL]

    def tracks(self) -> dict[str, Array]:
        """Return where each learner is after 0, 1, … 250 steps, shapes (251, 2)."""
        t = np.arange(_RACE["steps"] + 1) * _RACE["step"]
        return _followed(self.loss(), np.array(self.start)) | {"planner": self._planned(self.start, t)}

    def losses(self) -> dict[str, Array]:
        """Return the loss of each learner after 0, 1, … 250 steps, shapes (251,)."""
        return {name: self.loss().value(track) for name, track in self.tracks().items()}

    def target(self) -> float:
        """Return θ₁ of the minimum where the optimal path from the start ends.

        Of two that cost the same it is the right one; NaN is a barrier on which a short-sighted planner rests.
        """
        return self._best(self.start[0])[0]

    def action(self) -> float:
        """Return J of the optimal path from the start."""
        aside = _rest_rate(self.gamma) * self.start[1] ** 2 / 2
        return self._best(self.start[0])[1] + aside

    def deep_ends(self) -> dict[str, int]:
        """Return how many of the 26 starts around the edge end in a deepest well, by learner."""
        minima, barriers = rests(self.tilt, self.dug)
        deepest = np.flatnonzero(np.isin(minima, self.deepest()))
        ends = _ends(self.tilt, self.dug)
        wells = {name: np.searchsorted(barriers, x, side="right") for name, x in ends.items()}
        counts = {name: int(np.sum(np.isin(well, deepest))) for name, well in wells.items()}
        return counts | {"planner": int(np.sum(np.isin(self._plans(edge_starts()[:, 0])[0], minima[deepest])))}

    def threshold(self) -> float:
        """Return γ_het, below which the planner crosses from everywhere; 0 for equal wells, NaN where one is dug."""
        if self.dug[1]:
            return float("nan")
        return _threshold(self.tilt)

    def _section(self) -> Section:
        return Section(self.loss(), 0)

    def _best(self, x: float) -> tuple[float, float]:
        """Return the minimum where the optimal path from θ₁ = x ends, and what the path of θ₁ costs."""
        targets, costs = self._plans(np.array([x]))
        return float(targets[0]), float(costs[0])

    def _plans(self, x: Array) -> tuple[Array, Array]:
        """Return for each θ₁, shape (N,), the minimum where the optimal path ends, and what it costs."""
        laws, loss = into_wells(self.gamma, self.tilt, self.dug), self._section()
        costs = np.array([law.action(x) for law in laws])
        known = np.where(np.isnan(costs), np.inf, costs)
        equal = known <= np.min(known, axis=0) + _EQUAL
        best = len(laws) - 1 - np.argmax(equal[::-1], axis=0)  # of equals the right one
        best_costs = np.take_along_axis(costs, best[None], axis=0)[0]
        targets = np.where(np.isnan(best_costs), np.nan, np.array([law.target for law in laws])[best])
        for i in np.flatnonzero(np.any(np.abs(rests(self.tilt, self.dug)[1][:, None] - x) < 1e-9, axis=0)):
            if self.gamma**2 / 4 >= -float(loss.hessian([x[i]])[0, 0]):  # a short-sighted planner rests on a barrier
                targets[i], best_costs[i] = float("nan"), float(loss.value([x[i]])) / self.gamma
        return targets, best_costs

    def _planned(self, start: Sequence[float] | Array, t: Array) -> Array:
        """Return the optimal path at times t, shape (T, 2)."""
        target = self._best(start[0])[0]
        fades = start[1] * np.exp(-_rest_rate(self.gamma) * t)
        if np.isnan(target):
            return np.stack([np.full_like(t, start[0]), fades], axis=-1)
        (law,) = (law for law in into_wells(self.gamma, self.tilt, self.dug) if law.target == target)
        return np.stack([np.interp(t, *_course(law, float(start[0]), float(t[-1]))), fades], axis=-1)

    def headline(self) -> str:
        """Return the sentence that stands in the place of a title."""
        if len(self.deepest()) > 1:
            return "The deepest wells are equal: in them nobody needs to cross."
        deep = self.deep_ends()
        sight = "ahead" if self.gamma < 0.5 else "less far" if self.gamma < 2 else "near"
        return f"Look {sight}: {deep['planner']} of 26 reach the deep well. Gradient descent: {deep['descent']}."

    def said(self) -> list[str]:
        ends = [f"{count} of 26" for count in self.deep_ends().values()] if len(self.deepest()) == 1 else []
        start = [fixed(self.action(), 3), fixed(self.losses()["adam"][0], 2)]
        known = [] if self.dug[1] else [f"γₕₑₜ = {self.threshold():.3f}"]
        return [*ends, *start, *known, f"deepest at θ₁ = {' and '.join(fixed(x, 2) for x in self.deepest())}"]

    def shows(self) -> dict[str, list[Array]]:
        t = np.arange(_RACE["steps"] + 1) * _RACE["step"]
        fan = 9 / _rest_rate(self.gamma) * np.linspace(0, 1, 73) ** 2
        return {
            "section": inside(
                np.stack(section(self.tilt, self.dug), axis=1), *map(_SHARED["window"].get, ("x", "floor"))
            ),
            "fan": [self._planned(start, fan) for start in edge_starts()],
            **{name: [track] for name, track in self.tracks().items()},
            **{f"loss of {name}": [np.stack([t, loss], axis=1)] for name, loss in self.losses().items()},
        }


@functools.lru_cache(maxsize=64)  # starts around the edge lie above one another
def _course(law: phase_plane.Feedback, start: float, until: float) -> tuple[Array, Array]:
    return course(law, start, until, count=1600)


def _rest_rate(gamma: float) -> float:
    """Return the rate at which θ₂ decays (Eq. 75)."""
    return float(np.sqrt(gamma**2 / 4 + 2 * _SHARED["well"]["c"]) - gamma / 2)


def _followed(loss: Loss, start: Array) -> dict[str, Array]:
    """Return the places of the three step rules, shapes (251, 2, …), from starts of shape (2, …)."""
    (b1, b2, tiny), beta = _RACE["adam"], _RACE["momentum"]
    velocity, mean, square = (np.zeros_like(start) for _ in range(3))

    def heavy(gradient: Array, n: int) -> Array:
        nonlocal velocity
        velocity = beta * velocity + gradient
        return velocity

    def adam(gradient: Array, n: int) -> Array:
        nonlocal mean, square
        mean, square = b1 * mean + (1 - b1) * gradient, b2 * square + (1 - b2) * gradient**2
        return np.asarray(mean / (1 - b1**n) / (np.sqrt(square / (1 - b2**n)) + tiny))

    rules: dict[str, Callable[[Array, int], Array]] = {
        "descent": lambda gradient, n: gradient,
        "heavy": heavy,
        "adam": adam,
    }
    return {name: _stepped(loss, start, direction) for name, direction in rules.items()}


@functools.lru_cache(maxsize=64)
def _ends(tilt: float, dug: Dent) -> dict[str, Array]:
    """Return θ₁ where each step rule is in the end, from all starts around the edge: γ does not enter."""
    return {name: track[-1, 0] for name, track in _followed(dug_landscape(tilt, dug), edge_starts().T).items()}


@functools.lru_cache(maxsize=64)
def _threshold(tilt: float) -> float:
    return phase_plane.heteroclinic_discount(Objective(), Section(landscape(tilt), 0))


def _stepped(loss: Loss, start: Array, direction: Callable[[Array, int], Array]) -> Array:
    places = [start]
    for n in range(1, _RACE["steps"] + 1):
        gradient = np.moveaxis(loss.gradient(np.moveaxis(places[-1], 0, -1)), -1, 0)
        places.append(places[-1] - _RACE["rate"] * direction(gradient, n))
    return np.array(places)
