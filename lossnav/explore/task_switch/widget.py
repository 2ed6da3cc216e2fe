"""``TaskSwitch`` in Python: its state, the plans of a life of surprises, and its static twin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import traitlets

from lossnav import _checks, uncertainty
from lossnav._checks import Array
from lossnav.explore._picture import Panel, Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, number_within
from lossnav.problem.losses import Quadratic

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_MOST_SWITCHES: int = _SHARED["switches"]
_LONGEST: float = _SHARED["longest"]  # units of 1/r from a switch to the last time
_GRID: Array = _LONGEST * np.linspace(0, 1, 321) ** 2  # where plans are drawn: dense where a long way is covered fast


@dataclass(frozen=True)
class Stretch:
    """A task from a time on (units of 1/r), with the plan made there; None where the learner is at rest already."""

    since: float
    curvature: float
    minimum: float
    rest: float
    rate: float
    plan: uncertainty.Plan | None

    def variance(self, time: Array) -> Array:
        """Return v(t), of the shape of ``time``."""
        return np.full(np.shape(time), self.rest) if self.plan is None else self._read(self.plan.variance, time)

    def mean(self, time: Array) -> Array:
        """Return μ(t), of the shape of ``time``."""
        return np.full(np.shape(time), self.minimum) if self.plan is None else self._read(self.plan.mean, time)

    def _read(self, line: Callable[[Array], Array], time: Array) -> Array:
        ago = np.maximum(np.asarray(time) - self.since, 0.0) / self.rate
        return line(ago.ravel())[:, 0].reshape(ago.shape)


def _switches(name: str, switches: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    found: list[tuple[float, float, float]] = []
    for entry in _checks.sequence(name, switches, "triples (time, curvature, minimum)"):
        if len(_checks.sequence(f"an entry of {name}", entry, "three numbers")) != 3:
            text = f"{name} has an entry {_checks.shown(entry)}, but each must be (time, curvature, minimum)"
            raise ValueError(text)
        last = found[-1][0] if found else 0.0
        time = _checks.finite(f"{name}[i][0]", entry[0], low=last, high=last + _LONGEST)
        curvature = number_within(f"{name}[i][1]", entry[1], _MARKS["curvature"])
        found.append((time, curvature, number_within(f"{name}[i][2]", entry[2], _MARKS["minimum"])))
    if len(found) > _MOST_SWITCHES:
        raise ValueError(f"{name} has {len(found)} entries, but at most {_MOST_SWITCHES} are allowed")
    return found


class TaskSwitch(Explorable):
    """A weight with mean μ and variance v whose quadratic task switches, as a surprise (Eqs. 15, 16, 149), η = k = 1.

    The learner rests in a first task (H = 1, minimum 0). Drag the next task's minimum, bend its bowl, and press Switch;
    move γ and λ_S. Time is in units of 1/r, r = √(γ²/4+λ_S) − γ/2, the rate at which a plan comes to rest.

    Args:
        gamma: γ, in [0, 10].
        entropy: λ_S, in [0.2, 2].
        curvature: H of the next task, in [0.25, 4].
        minimum: a of the next task, in [−3, 3].
        switches: switches up to now, (time, H, a) in order of time, from time 0 on; at most 8.
        now: running time, from the last switch (or 0) to 13 units later.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> widget = TaskSwitch(gamma=0.5, curvature=0.5, minimum=0)  # a flatter task
        >>> round(widget.next_task().rest / widget.variance(), 6)
        2.0
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    entropy = number_trait(_MARKS["entropy"], 0.8)
    curvature = number_trait(_MARKS["curvature"], 0.5)
    minimum = number_trait(_MARKS["minimum"], 2.0)
    switches = traitlets.List(traitlets.Tuple(*[traitlets.Float() for _ in range(3)])).tag(sync=True, check=_switches)
    now = traitlets.Float(0.0, min=0.0).tag(sync=True, check=partial(_checks.finite, low=0.0))

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        state = super()._checked(given)
        last = state["switches"][-1][0] if state["switches"] else 0.0
        _checks.finite("now", state["now"], low=last, high=last + _LONGEST)
        return state

    def life(self) -> list[Stretch]:
        """Return the stretches of the learner's life, each with its plan; the first is rest."""
        first, rest = _SHARED["first"], self._rest(_SHARED["first"]["curvature"])
        found = [Stretch(-math.inf, first["curvature"], first["minimum"], rest, self.rate(), None)]
        for time, curvature, minimum in self.switches:
            found.append(self._planned(found[-1], time, curvature, minimum))
        return found

    def next_task(self) -> Stretch:
        """Return what follows if the next task comes now."""
        return self._planned(self.life()[-1], self.now, self.curvature, self.minimum)

    def variance(self) -> float:
        """Return v now."""
        return float(self.life()[-1].variance(np.array(self.now)))

    def mean(self) -> float:
        """Return μ now."""
        return float(self.life()[-1].mean(np.array(self.now)))

    def rate(self) -> float:
        """Return r, unit 1/time."""
        return float(uncertainty.relaxation_rate(1.0, self.gamma, self.entropy))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        following, held = self.next_task(), self.variance()
        peak = float(np.max(following.variance(following.since + _GRID)))
        return (
            f"Variance, mean and learning rate of a weight over a running time, now {self.now:.1f} units of "
            f"1/r = {1 / self.rate():.3g}, for γ = {self.gamma:.2f}, λₛ = {self.entropy:.2f}. A next task with "
            f"curvature {self.curvature:.2f} and minimum {signed(self.minimum, 2)} would take the variance from "
            f"{held:.3g} over at most {peak:.3g} to {following.rest:.3g}."
        )

    def picture(self) -> str:
        """Return variance, mean and learning rate over time, as an SVG document."""
        window = _SHARED["window"]
        image, first = Picture(720, 560), self.now - window["past"]
        pieces = self._pieces(first, first + window["span"])
        values = np.concatenate([part.variance(t) for part, t, _ in pieces] + [[part.rest] for part, _, _ in pieces])
        low = math.floor(math.log2(float(np.min(values))) - 0.15)
        high = max(low + 3, math.ceil(math.log2(float(np.max(values))) + 0.15))
        x = (first, first + window["span"])
        rows = {
            "variance": Panel((52, 56, 706, 216), x, (low, high)),
            "mean": Panel((52, 250, 706, 380), x, tuple(window["mean"])),
            "pace": Panel((52, 414, 706, 514), x, (0.0, 1.15 * max(1.0, float(np.max(values)) / self.entropy))),
        }
        image.text(52, 22, _SHARED["title"], font_size=17, font_weight="bold")
        image.text(706, 22, f"γ = {self.gamma:.2f}, λₛ = {self.entropy:.2f}", text_anchor="end")
        ticks = [t for t in range(math.ceil(first), math.floor(x[1]) + 1) if t % 2 == 0]
        image.frame(rows["variance"], "log₂ of the variance v", (), list(range(low, high + 1)), "")
        image.frame(rows["mean"], "mean μ ± √v", (), (-4, -2, 0, 2, 4), "")
        levels = sorted({0, 1, math.floor(rows["pace"].y[1])})
        clock = f"time, in units of 1/r = {1 / self.rate():.3g}"
        image.frame(rows["pace"], "learning rate, times that in the first task", ticks, levels, clock)
        for part, t, style in pieces:
            self._draw(image, rows, part, t, *style)
        for panel in rows.values():
            px = panel.at(self.now, panel.y[0])[0]
            top, bottom = panel.box[1], panel.box[3]
            image.add("line", x1=px, x2=px, y1=top, y2=bottom, stroke=colour("ink"), stroke_opacity=0.4)
        image.legend(430, 48, "if the next task came now", colour("uncertain"), "3 4")
        return image.svg()

    def _draw(self, image: Picture, rows: dict[str, Panel], part: Stretch, t: Array, width: float, dash: str) -> None:
        """Draw one piece of a stretch in all panels."""
        v, mean = part.variance(t), part.mean(t)
        lines = {"variance": np.log2(v), "mean": mean, "pace": v / self.entropy}
        levels = {"variance": math.log2(part.rest), "mean": part.minimum, "pace": part.rest / self.entropy}
        for name, panel in rows.items():
            ends = np.array([[t[0], levels[name]], [t[-1], levels[name]]])
            image.inside(panel, ends, colour("neutral"), 1.4, "2 4" if dash != "none" else "none")
            image.inside(panel, np.stack([t, lines[name]], axis=-1), colour("uncertain"), width, dash, name)
        for sign in (1, -1):
            edge = np.stack([t, mean + sign * np.sqrt(v)], axis=-1)
            image.inside(rows["mean"], edge, colour("uncertain"), 0.8, "none")

    def _pieces(self, low: float, high: float) -> list[tuple[Stretch, Array, tuple[float, str]]]:
        """Return what lies in the window: what has been lived, what is planned, and what the next task would bring."""
        life = self.life()
        ends = [*(part.since for part in life[1:]), math.inf]
        found = []
        for part, end in zip(life, ends, strict=True):
            for start, stop, width in ((part.since, min(end, self.now), 3.0), (max(part.since, self.now), end, 1.4)):
                if max(low, start) < min(high, stop):
                    found.append((part, _samples(part, max(low, start), min(high, stop)), (width, "none")))
        following = self.next_task()
        if (following.curvature, following.minimum) != (life[-1].curvature, life[-1].minimum):
            found.append((following, _samples(following, self.now, high), (2.4, "3 4")))
        return found

    def _rest(self, curvature: float) -> float:
        return float(uncertainty.equilibrium_variance(curvature, k=1.0, entropy=self.entropy))

    def _planned(self, before: Stretch, time: float, curvature: float, minimum: float) -> Stretch:
        rest, at = self._rest(curvature), np.array(time)
        held = float(before.mean(at)), float(before.variance(at))
        resting = held[0] == minimum and math.isclose(held[1], rest, rel_tol=1e-12)
        plan = None if resting else _plan(self.gamma, self.entropy, curvature, minimum, *held)
        return Stretch(time, curvature, minimum, rest, self.rate(), plan)


@lru_cache(maxsize=64)
def _plan(
    gamma: float, entropy: float, curvature: float, minimum: float, mean: float, variance: float
) -> uncertainty.Plan:
    """Return the plan for one task from one mean and variance."""
    problem = uncertainty.Problem(gamma=gamma, entropy=entropy)
    return uncertainty.plan(problem, Quadratic([[curvature]], minimum=[minimum]), [mean], [variance])


def _samples(part: Stretch, low: float, high: float) -> Array:
    """Return times between ``low`` and ``high`` at which a stretch is drawn."""
    own = part.since + _GRID if math.isfinite(part.since) else np.empty(0)
    return np.concatenate([[low], own[(own > low) & (own < high)], [high]])
