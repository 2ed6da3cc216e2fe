"""``Race`` in Python: its state, the four learners, what the starts around the edge do, and its static twin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import bundle, constants, stylesheet
from lossnav.explore.base import Explorable, number_trait, number_within, plane_point, point_trait
from lossnav.explore.double_well.widget import course, landscape, laws
from lossnav.problem.losses import Section
from lossnav.problem.objective import Objective
from lossnav.trajectory import phase_plane
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve

_HERE = Path(__file__).parent
_SHARED = constants(_HERE)
_MARKS, _RACE = _SHARED["marks"], _SHARED["race"]
_EDGE = _SHARED["starts"]
_UNTIL: float = _RACE["step"] * _RACE["steps"]


class Race(Explorable):
    """Gradient descent, heavy ball, Adam and the planner from one start, and the planner from all sides (Fig. 1).

    L = (θ₁²−1)² + θ₂² + dθ₁ with η = k = 1. One step of a rule, with the rate 0.02, counts as 0.02 units of time.

    Args:
        start: θ(0), in [−1.6, 1.6] × [−1, 1].
        gamma: γ, in [0.05, 10]; it changes the planner alone.
        tilt: d, in [−1.2, 1.2]; the deep well is on the right for d < 0.
        now: time of the race, in [0, 5].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Race(gamma=0.3).deep_ends()["planner"], Race(gamma=2.0).deep_ends()["planner"]
        (26, 14)
    """

    _esm = bundle(_HERE)
    _css = stylesheet(_HERE)

    start = point_trait((-1.2, 0.8), _EDGE["x"], _EDGE["y"])
    gamma = number_trait(_MARKS["gamma"], 0.3)
    tilt = number_trait(_MARKS["tilt"], -0.5)
    now = number_trait((0.0, _UNTIL), 0.0)

    def __init__(self, start: Sequence[float] = (-1.2, 0.8), gamma: float = 0.3, tilt: float = -0.5, now: float = 0.0):
        super().__init__(
            start=plane_point("start", start, _EDGE["x"], _EDGE["y"]),
            gamma=number_within("gamma", gamma, _MARKS["gamma"]),
            tilt=number_within("tilt", tilt, _MARKS["tilt"]),
            now=number_within("now", now, (0.0, _UNTIL)),
        )

    def tracks(self) -> dict[str, Array]:
        """Return where each learner is after 0, 1, … 250 steps, shapes (251, 2)."""
        t = np.arange(_RACE["steps"] + 1) * _RACE["step"]
        return _followed(self.tilt, np.array(self.start)) | {"planner": self.path()(t)}

    def losses(self) -> dict[str, Array]:
        """Return the loss of each learner after 0, 1, … 250 steps, shapes (251,)."""
        return {name: landscape(self.tilt).value(track) for name, track in self.tracks().items()}

    def path(self) -> Trajectory:
        """Return the optimal path from the start."""
        return solve(Objective(gamma=self.gamma), landscape(self.tilt), self.start)

    def deep_ends(self) -> dict[str, int]:
        """Return how many of the 26 starts around the edge end in the deep well, by learner.

        Of two equally deep wells the right one counts.
        """
        barrier = landscape(self.tilt).stationary_points()[1, 0]
        side = 1.0 if self.tilt <= 0 else -1.0
        ends = {name: track[-1] for name, track in _followed(self.tilt, edge_starts().T).items()}
        found = {name: int(np.sum(side * (end[0] - barrier) >= 0)) for name, end in ends.items()}
        return found | {"planner": sum(self._right(x) == (side > 0) for x, _ in edge_starts())}

    def threshold(self) -> float:
        """Return γ_het: below it the planner crosses from everywhere. 0 for equally deep wells."""
        return phase_plane.heteroclinic_discount(Objective(), Section(landscape(self.tilt), 0))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        deep, count = self.deep_ends(), len(edge_starts())
        where = "on the right" if self.tilt < 0 else "on the left"
        wells = f"its deeper well {where}" if self.tilt else "two equally deep wells"
        ends = ", ".join(f"{deep[name]} for {line['name']}" for name, line in _SHARED["lines"].items())
        return (
            f"A landscape with {wells}, and the optimal paths from {count} starts around its edge for "
            f"γ = {self.gamma:.2f} (γ_het is {self.threshold():.3f}). The starts that end "
            f"{'in the deep' if self.tilt else 'in the right'} well: {ends}. Four learners run from "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}); below, their losses against time."
        )

    def picture(self) -> str:
        """Return the landscape with all paths, and the losses against time, as an SVG document."""
        image, deep = Picture(720, 772), self.deep_ends()
        plane = Panel((46, 52, 706, 486), tuple(_SHARED["window"]["x"]), tuple(_SHARED["window"]["y"]))
        image.text(46, 22, _SHARED["title"], font_size=17, font_weight="bold")
        image.text(706, 22, f"γ = {self.gamma:.2f}, γ_het = {self.threshold():.3f}", text_anchor="end")
        image.frame(plane, "the loss from above, θ₂ against θ₁", (-1, 0, 1), (-1, 0, 1), "θ₁")
        for border in basins(self.tilt):
            pixels = [plane.at(*point) for point in np.clip(border, [-9, plane.y[0]], [9, plane.y[1]])]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels) + "Z"
            image.add("path", d=path, fill=colour("neutral"), fill_opacity="0.075", stroke="#c3c7ce")
        for start in edge_starts():
            self._fan(image, plane, start)
        for x, y in edge_starts():
            image.add("circle", **_at(plane, x, y), r=3.5, fill="#ffffff", stroke=colour("ink"), stroke_width=1.2)
        tracks, losses = self.tracks(), self.losses()
        low, high = (float(pick([pick(values) for values in losses.values()])) for pick in (np.min, np.max))
        air = 0.06 * (high - low) + 0.02
        chart = Panel((46, 552, 706, 670), (0.0, _UNTIL), (low - air, high + air))
        image.frame(chart, "loss of each, against time", range(6), range(int(np.ceil(low)), int(high) + 1), "time t")
        for i, (name, track) in enumerate(tracks.items()):
            line = _SHARED["lines"][name]
            style = (colour(line["color"]), 2.2, line["dash"])
            image.line(plane, track, *style, name=name)
            t = np.arange(len(track)) * _RACE["step"]
            image.line(chart, zip(t, losses[name], strict=True), *style, name=f"loss of {name}")
            words = f"{line['name']}: {deep[name]} of {len(edge_starts())}" if self.tilt else line["name"]
            image.legend(46 + 330 * (i % 2), 732 + 24 * (i // 2), words, colour(line["color"]), line["dash"])
        image.dot(plane, self.start[0], self.start[1], colour("ink"), 8.0)
        return image.svg()

    def _fan(self, image: Picture, plane: Panel, start: Array) -> None:
        """Draw the whole optimal path from a start; one that ends in the shallow well is grey."""
        law = laws(self.gamma, self.tilt)["cross" if self._right(start[0]) else "stay"]
        rate = _rest_rate(self.gamma)
        t = 9 / rate * np.linspace(0, 1, 73) ** 2
        x = np.interp(t, *course(law, start[0], t[-1], count=1600))
        deep = self._right(start[0]) == (self.tilt <= 0)
        style = ("#d994ba", 1.4, "none") if deep else (colour("neutral"), 1.5, "2 3")
        path = np.stack([x, start[1] * np.exp(-rate * t)], axis=-1)
        image.line(plane, path, *style, name="fan")

    def _right(self, x: float) -> bool:
        """Say whether the optimal path from θ₁ = x ends in the right well."""
        divide = indifference(self.gamma, self.tilt) if self.tilt else 0.0  # equal wells: the middle, by symmetry
        if divide is None:
            return self.tilt <= 0
        return bool(x >= divide if self.tilt <= 0 else x > divide)


def edge_starts() -> Array:
    """Return the starts around the edge of the window, shape (26, 2)."""
    across = np.linspace(-1, 1, _EDGE["across"]) * _EDGE["x"]
    up = np.linspace(-1, 1, _EDGE["up"])[1:-1] * _EDGE["y"]
    rows = [(x, y) for x in across for y in (-_EDGE["y"], _EDGE["y"])]
    return np.array(rows + [(x, y) for y in up for x in (-_EDGE["x"], _EDGE["x"])])


@functools.lru_cache(maxsize=64)
def indifference(gamma: float, tilt: float) -> float | None:
    """Return θ_s, from which both wells cost the same, or None where the deep one always wins."""
    return phase_plane.indifference_point(Objective(gamma=gamma), Section(landscape(tilt), 0))


def basins(tilt: float) -> Iterator[Array]:
    """Yield the border of each part of {L ≤ level} in the window: θ₂ = ±√((level − L(θ₁, 0))/c)."""
    low, high = _SHARED["window"]["x"]
    x = np.linspace(low, high, 141)
    floor = landscape(tilt).value(np.stack([x, np.zeros_like(x)], axis=-1))
    levels = _SHARED["levels"]
    for level in levels["first"] + levels["every"] * np.arange(levels["count"]):
        inside = np.flatnonzero(floor <= level)
        for part in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            if len(part) > 1:
                half = np.stack([x[part], np.sqrt((level - floor[part]) / _SHARED["well"]["c"])], axis=-1)
                yield np.concatenate([half, half[::-1] * [1, -1]])


def _rest_rate(gamma: float) -> float:
    """Return the rate at which θ₂ decays (Eq. 75)."""
    return float(np.sqrt(gamma**2 / 4 + 2 * _SHARED["well"]["c"]) - gamma / 2)


def _at(panel: Panel, x: float, y: float) -> dict[str, float | str]:
    cx, cy = panel.at(x, y)
    return {"cx": cx, "cy": cy}


def _followed(tilt: float, start: Array) -> dict[str, Array]:
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
    return {name: _stepped(tilt, start, direction) for name, direction in rules.items()}


def _stepped(tilt: float, start: Array, direction: Callable[[Array, int], Array]) -> Array:
    loss, places = landscape(tilt), [start]
    for n in range(1, _RACE["steps"] + 1):
        gradient = np.moveaxis(loss.gradient(np.moveaxis(places[-1], 0, -1)), -1, 0)
        places.append(places[-1] - _RACE["rate"] * direction(gradient, n))
    return np.array(places)
