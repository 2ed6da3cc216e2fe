"""What ``RingLock`` is to show, by the library: late deadlines, a ring cut open, and the border by shooting."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Function
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve
from oracles.common import compact, fixed, inside

_SHARED = explore.RingLock._shared
_TILTED = Function(
    lambda x: np.cos(x[..., 0]), lambda x: -np.sin(x), lambda x: -np.cos(x)[..., None], dim=1
)  # fmt: skip


def missing(current: float, gamma: float) -> float:
    """How far the orbit out of the resting place ends from the one into the next, in energy, half a round on."""
    rest = math.pi + math.asin(gamma * current)
    root = math.sqrt(gamma**2 / 4 + math.sqrt(1 - (gamma * current) ** 2))

    def slope(angle: float, energy: Array) -> Array:
        return gamma * (np.sqrt(2 * np.maximum(energy, 0.0)) - current) - math.sin(angle)

    ends = []
    for edge, rate in ((rest + 1e-4, root + gamma / 2), (rest + 2 * math.pi - 1e-4, root - gamma / 2)):
        orbit = solve_ivp(
            slope, (edge, rest + math.pi), [(1e-4 * rate) ** 2 / 2], method="DOP853", rtol=1e-7, atol=1e-12
        )
        ends.append(orbit.y[0, -1])
    return float(ends[0] - ends[1])


@cache
def threshold(gamma: float) -> float:
    """The current below which the learner comes to rest."""
    if gamma == 0:
        return 4 / math.pi
    birth = (1 - 1e-9) / gamma
    return 1 / gamma if missing(birth, gamma) > 0 else float(brentq(missing, 0.3, birth, args=(gamma,), xtol=1e-7))


class RingLock(explore.RingLock):
    def until(self) -> float:
        return _SHARED["rounds"] * 2 * math.pi / self.current

    def rest(self) -> float | None:
        """Return the angle at which one can rest."""
        return math.pi + math.asin(self.gamma * self.current) if self.gamma * self.current <= 1 else None

    def best(self) -> Trajectory:
        """Return the path of a late deadline, or without a discount, where that comes to rest, the one of none."""
        late = self.until() + 20 / self.gamma if self.gamma else math.inf
        return solve(Objective(gamma=self.gamma, drift=Linear([[0.0]], [self.current]), horizon=late), _TILTED, [0.0])

    def to_rest(self) -> Trajectory | None:
        """Return the best path to the first place to rest: behind it a bowl takes the place of the next hill."""
        rest = self.rest()
        if rest is None:
            return None
        middle, slope, bend = math.cos(rest), -math.sin(rest), -math.cos(rest)
        cut = Function(
            lambda x: np.where(
                x < rest, np.cos(x), middle + slope * (x - rest) + bend * (x - rest) ** 2 / 2
            )[..., 0],
            lambda x: np.where(x < rest, -np.sin(x), slope + bend * (x - rest)),
            lambda x: np.where(x < rest, -np.cos(x), bend)[..., None],
            dim=1,
        )  # fmt: skip
        return solve(Objective(gamma=self.gamma, drift=Linear([[0.0]], [self.current])), cut, [0.0])

    def rests(self) -> bool:
        return self.current < threshold(self.gamma)

    def headline(self) -> str:
        if self.rests():
            return "It comes to rest, against the current."
        return "It goes round for ever" + (", past a place to rest." if self.rest() else ": there is no place to rest.")

    def said(self) -> list[str]:
        best, to_rest = self.best(), self.to_rest()
        if not self.gamma:  # what resting costs for ever
            return [
                f"{compact(float(best.objective.cost_rate(_TILTED, best.asymptote, np.zeros(1))))} per unit of time"
            ]
        costs = [f"J = {compact(path.action)}" for path in (best, to_rest) if path is not None]
        if not self.rests():
            t = np.linspace(0.0, self.until(), 4001)
            costs.append(f"takes {fixed(np.interp(2 * math.pi, best(t)[:, 0], t), 2)}")
        return costs

    def shows(self) -> dict[str, list[Array]]:
        share = np.linspace(0.0, 1.0, 1201)
        hub = _SHARED["hub"]

        def disk(angle: Array) -> list[Array]:
            radius = hub + (1 - hub) * share
            return [radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)]

        shown = {
            "alone": disk(self.current * share * self.until()),
            "best": disk(self.best()(share * self.until())[:, 0]),
        }
        to_rest = self.to_rest()
        if to_rest is not None and not self.rests():
            shown["resting"] = disk(to_rest(share * self.until())[:, 0])
        gammas = np.linspace(0.0, 2.5, 26)
        shown["threshold"] = [np.array([(gamma, threshold(gamma)) for gamma in gammas])]
        births = np.linspace(0.4, _SHARED["crossover"], 100)
        shown["birth"] = inside(np.stack([births, 1 / births], axis=1), (0.0, 2.5), (0.0, 2.5))
        return shown
