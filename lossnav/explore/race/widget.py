"""``Race`` in Python: its state, the four learners, what the starts around the edge do, and its static twin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import traitlets

from lossnav import _checks
from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, number_within, point_trait
from lossnav.explore.double_well.plans import course, landscape
from lossnav.explore.race.landscape import Dent, basins, dug_landscape, edge_starts, into_wells, rests, section
from lossnav.problem.losses import Loss, Section
from lossnav.problem.objective import Objective
from lossnav.trajectory import phase_plane

_SHARED = constants(__file__)
_MARKS, _RACE, _DUG = _SHARED["marks"], _SHARED["race"], _SHARED["dug"]
_EDGE = _SHARED["starts"]
_UNTIL: float = _RACE["step"] * _RACE["steps"]
_EQUAL = 1e-7  # depths and costs that differ by less are the same


def _dent(name: str, value: Sequence[float]) -> tuple[float, float]:
    place, depth = map(float, _checks.array(name, value, shape=(2,)))
    ends = (-_DUG["place"], _DUG["place"])
    return number_within(f"{name}[0]", place, ends), number_within(f"{name}[1]", depth, _DUG["depth"])


class Race(Explorable):
    """Gradient descent, heavy ball, Adam and the planner from one start, and the planner from all sides (Fig. 1).

    L = (θ₁²−1)² + θ₂² + dθ₁ with η = k = 1. One step of a rule, with the rate 0.02, counts as 0.02 units of time.

    Args:
        start: θ(0), in [−1.6, 1.6] × [−1, 1].
        gamma: γ, in [0.05, 10]; it changes the planner alone.
        tilt: d, in [−1.2, 1.2]; the deep well is on the right for d < 0.
        now: time of the race, in [0, 5].
        dug: (u, h): −h·exp(−(θ₁−u)²/2w²), w = 0.25, is added to L: a well for h > 0, a hill for h < 0. u is in
            [−1.4, 1.4], h in [−0.8, 1.5].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Race(gamma=0.3).deep_ends()["planner"], Race(gamma=2.0).deep_ends()["planner"]
        (26, 14)
        >>> Race(gamma=0.8, tilt=-0.3, dug=(0.05, 0.95)).minima().round(2)
        array([-0.96,  0.1 ,  1.03])
    """

    start = point_trait((-1.2, 0.8), _EDGE["x"], _EDGE["y"])
    gamma = number_trait(_MARKS["gamma"], 0.3)
    tilt = number_trait(_MARKS["tilt"], -0.5)
    now = number_trait((0.0, _UNTIL), 0.0)
    dug = traitlets.Tuple(
        traitlets.Float(min=-_DUG["place"], max=_DUG["place"]),
        traitlets.Float(min=_DUG["depth"][0], max=_DUG["depth"][1]),
        default_value=(0.0, 0.0),
    ).tag(sync=True, check=_dent)

    def loss(self) -> Loss:
        """Return the landscape."""
        return dug_landscape(self.tilt, self.dug)

    def minima(self) -> Array:
        """Return θ₁ of the minima, from left to right, shape (N,)."""
        return rests(self.tilt, self.dug)[0]

    def deepest(self) -> float:
        """Return θ₁ of the deepest minimum, of equally deep ones the right one."""
        depths = self._section().value(self.minima()[:, None])
        return float(self.minima()[np.flatnonzero(depths <= depths.min() + _EQUAL)[-1]])

    def even(self) -> bool:
        """Say whether there are several deepest minima."""
        depths = self._section().value(self.minima()[:, None])
        return int(np.sum(depths <= depths.min() + _EQUAL)) > 1

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
        """Return how many of the 26 starts around the edge end in the deepest well, by learner.

        Of two equally deep wells the right one counts.
        """
        minima, barriers = rests(self.tilt, self.dug)
        deepest = int(np.flatnonzero(minima == self.deepest())[0])
        ends = _ends(self.tilt, self.dug)
        found = {name: int(np.sum(np.searchsorted(barriers, x, side="right") == deepest)) for name, x in ends.items()}
        return found | {"planner": int(np.sum(self._plans(edge_starts()[:, 0])[0] == minima[deepest]))}

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
        found = np.take_along_axis(costs, best[None], axis=0)[0]
        targets = np.where(np.isnan(found), np.nan, np.array([law.target for law in laws])[best])
        for i in np.flatnonzero(np.any(np.abs(rests(self.tilt, self.dug)[1][:, None] - x) < 1e-9, axis=0)):
            if self.gamma**2 / 4 >= -float(loss.hessian([x[i]])[0, 0]):  # a short-sighted planner rests on a barrier
                targets[i], found[i] = float("nan"), float(loss.value([x[i]])) / self.gamma
        return targets, found

    def _planned(self, start: Sequence[float] | Array, t: Array) -> Array:
        """Return the optimal path at times t, shape (T, 2)."""
        target = self._best(start[0])[0]
        fades = start[1] * np.exp(-_rest_rate(self.gamma) * t)
        if np.isnan(target):
            return np.stack([np.full_like(t, start[0]), fades], axis=-1)
        (law,) = (law for law in into_wells(self.gamma, self.tilt, self.dug) if law.target == target)
        return np.stack([np.interp(t, *course(law, start[0], t[-1], count=1600)), fades], axis=-1)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        deep, count = self.deep_ends(), len(edge_starts())
        wells = f"{len(self.minima())} wells" if len(self.minima()) > 1 else "one well"
        where = "several of them the deepest" if self.even() else f"the deepest at θ₁ = {signed(self.deepest(), 2)}"
        ends = ", ".join(f"{deep[name]} for {line['name']}" for name, line in _SHARED["lines"].items())
        known = "" if self.dug[1] else f" (γ_het is {self.threshold():.3f})"
        return (
            f"A landscape with {wells}, {where}, and the optimal paths from {count} starts around its edge for "
            f"γ = {self.gamma:.2f}{known}. The starts that end in the deep{'est on the right' if self.even() else ''} "
            f"well: {ends}. Four learners run from "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}); below, their losses against time."
        )

    def picture(self) -> str:
        """Return the landscape with all paths, and the losses against time, as an SVG document."""
        image, deep, window = Picture(720, 906, _SHARED["title"]), self.deep_ends(), _SHARED["window"]
        across = tuple(window["x"])
        profile = Panel((46, 52, 706, 160), across, tuple(window["floor"]))
        plane = Panel((46, 186, 706, 620), across, tuple(window["y"]))
        known = "" if self.dug[1] else f", γ_het = {self.threshold():.3f}"
        image.text(706, 22, f"γ = {self.gamma:.2f}{known}", text_anchor="end")
        image.frame(profile, "the loss along θ₂ = 0", (), (), "")
        image.inside(profile, np.stack(section(self.tilt, self.dug), axis=-1), colour("neutral"), 2.0, name="section")
        image.frame(plane, "the loss from above, θ₂ against θ₁", (-1, 0, 1), (-1, 0, 1), "θ₁")
        for border in basins(self.tilt, self.dug):
            pixels = [plane.at(*point) for point in np.clip(border, [-9, plane.y[0]], [9, plane.y[1]])]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels) + "Z"
            image.add("path", d=path, fill=colour("neutral"), fill_opacity="0.075", stroke="#c3c7ce")
        deepest = self.deepest()
        for start in edge_starts():
            self._fan(image, plane, start, deepest)
        for x, y in edge_starts():
            image.add("circle", **_at(plane, x, y), r=3.5, fill="#ffffff", stroke=colour("ink"), stroke_width=1.2)
        tracks, losses = self.tracks(), self.losses()
        low, high = (float(pick([pick(values) for values in losses.values()])) for pick in (np.min, np.max))
        air = 0.06 * (high - low) + 0.02
        chart = Panel((46, 686, 706, 804), (0.0, _UNTIL), (low - air, high + air))
        image.frame(chart, "loss of each, against time", range(6), range(int(np.ceil(low)), int(high) + 1), "time t")
        for i, (name, track) in enumerate(tracks.items()):
            line = _SHARED["lines"][name]
            style = (colour(line["tint"]), 2.2, line["dash"])
            image.line(plane, track, *style, name=name)
            t = np.arange(len(track)) * _RACE["step"]
            image.line(chart, zip(t, losses[name], strict=True), *style, name=f"loss of {name}")
            words = line["name"] if self.even() else f"{line['name']}: {deep[name]} of {len(edge_starts())}"
            image.legend(46 + 330 * (i % 2), 866 + 24 * (i // 2), words, colour(line["tint"]), line["dash"])
        image.dot(plane, self.start[0], self.start[1], colour("ink"), 8.0)
        return image.svg()

    def _fan(self, image: Picture, plane: Panel, start: Array, deepest: float) -> None:
        """Draw the whole optimal path from a start; one that ends elsewhere than in the deepest well is grey."""
        t = 9 / _rest_rate(self.gamma) * np.linspace(0, 1, 73) ** 2
        deep = self._best(start[0])[0] == deepest
        style = ("#d994ba", 1.4, "none") if deep else (colour("neutral"), 1.5, "2 3")
        image.line(plane, self._planned(start, t), *style, name="fan")


def _rest_rate(gamma: float) -> float:
    """Return the rate at which θ₂ decays (Eq. 75)."""
    return float(np.sqrt(gamma**2 / 4 + 2 * _SHARED["well"]["c"]) - gamma / 2)


def _at(panel: Panel, x: float, y: float) -> dict[str, float | str]:
    cx, cy = panel.at(x, y)
    return {"cx": cx, "cy": cy}


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
