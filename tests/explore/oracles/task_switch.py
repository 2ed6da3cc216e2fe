"""What ``TaskSwitch`` is to show, by the library."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lossnav import explore, uncertainty
from lossnav._checks import Array
from lossnav.problem.losses import Quadratic
from oracles.common import compact, inside

_SHARED = explore.TaskSwitch._shared
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


class TaskSwitch(explore.TaskSwitch):
    def life(self) -> list[Stretch]:
        """Return the stretches of the learner's life, each with its plan; the first is rest."""
        first, rest = _SHARED["first"], self._rest(_SHARED["first"]["curvature"])
        stretches = [Stretch(-math.inf, first["curvature"], first["minimum"], rest, self.rate(), None)]
        for time, curvature, minimum in self.switches:
            stretches.append(self._planned(stretches[-1], time, curvature, minimum))
        return stretches

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

    def _pieces(self, low: float, high: float) -> list[tuple[Stretch, Array]]:
        """Return what lies in the window: what has been lived, what is planned, and what the next task would bring."""
        life = self.life()
        ends = [*(part.since for part in life[1:]), math.inf]
        pieces = []
        for part, end in zip(life, ends, strict=True):
            for start, stop in ((part.since, min(end, self.now)), (max(part.since, self.now), end)):
                if max(low, start) < min(high, stop):
                    pieces.append((part, _samples(part, max(low, start), min(high, stop))))
        following = self.next_task()
        if (following.curvature, following.minimum) != (life[-1].curvature, life[-1].minimum):
            pieces.append((following, _samples(following, self.now, high)))
        return pieces

    def _rest(self, curvature: float) -> float:
        return float(uncertainty.equilibrium_variance(curvature, k=1.0, entropy=self.entropy))

    def _planned(self, before: Stretch, time: float, curvature: float, minimum: float) -> Stretch:
        rest, at = self._rest(curvature), np.array(time)
        held = float(before.mean(at)), float(before.variance(at))
        resting = held[0] == minimum and math.isclose(held[1], rest, rel_tol=1e-12)
        plan = None if resting else _plan(self.gamma, self.entropy, curvature, minimum, *held)
        return Stretch(time, curvature, minimum, rest, self.rate(), plan)

    def said(self) -> list[str]:
        following = self.next_task()
        return [
            f"r = {compact(self.rate())}",
            f"v* = λₛ/(kH) = {compact(following.rest)}",
            f"v = {compact(self.variance())}",
        ]

    def shows(self) -> dict[str, list[Array]]:
        window = _SHARED["window"]
        first, last = self.now - window["past"], self.now - window["past"] + window["span"]
        pieces = self._pieces(first, last)
        values = np.concatenate([part.variance(t) for part, t in pieces] + [[part.rest] for part, _ in pieces])
        low = math.floor(math.log2(float(np.min(values))) - 0.15)
        high = max(low + 3, math.ceil(math.log2(float(np.max(values))) + 0.15))
        rows = {
            "variance": (low, high),
            "mean": window["mean"],
            "pace": (0.0, 1.15 * max(1.0, max(values) / self.entropy)),
        }
        lines: dict[str, list[Array]] = {name: [] for name in rows}
        for part, t in pieces:
            v = part.variance(t)
            for name, line in {"variance": np.log2(v), "mean": part.mean(t), "pace": v / self.entropy}.items():
                lines[name] += inside(np.stack([t, line], axis=1), (first, last), rows[name])
        return lines


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
