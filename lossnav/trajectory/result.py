"""The result of every solver: a trajectory that can be called, with its cost and its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav._shown import Shown, by_coordinate
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.status import Status

Method = Literal["closed_form", "riccati", "action", "curved", "bvp", "timed"]
"""How a path was found: the name of its solver."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Shown):
    r"""An optimal (or, with ``converged`` False, attempted) path θ(t).

    Call it, ``traj(t)``, for positions: shape (T, D) for times of shape (T,), shape (D,) for one time. ``plot()`` draws
    it, on its landscape where D ≤ 2, but over time where the loss is a function that is called point by point;
    ``to_frame()`` and ``to_dict()`` have it at ``times``. It can be pickled if ``objective`` and ``loss`` can: not, as
    ever, if they hold a lambda.

    Attributes:
        objective, loss: the problem.
        times: natural grid for plots and sums, shape (N+1,); the path is defined for every t in [0, ``end``].
        action: J; ±inf where γ = 0 and the resting cost is not zero (J diverges, the path is the overtaking optimum).
        excess: J minus the cost of resting at ``asymptote``; finite also where J is not; NaN if there is no asymptote.
        asymptote: lim θ(t), shape (D,), or θ at the deadline of a finite horizon; NaN where there is no limit.
        growth: lim ln|θ̇|/t, unit 1/T: negative if the path comes to rest, the slower the nearer to 0 (−inf if it never
            moves); 0 if it moves on without end at a steady pace, sliding or circling; positive if it grows. A growing
            optimum (a drift that pays, or negative curvature) grows more slowly than the discount forgives, so that J
            is finite. NaN with a deadline, and of a path under a drift that was found by one: J says nothing of it.
        at_infinity: the same in a word, "rests" | "moves on" | "grows", or "ends" with a deadline.
        end: inf, or the deadline; of a path that has not converged, maybe the one that the search took.
        method: "closed_form" | "riccati" | "action" | "curved" | "bvp" | "timed".
        status: how the search ended, a ``lossnav.trajectory.status.Status``; ``detail`` has the numbers to its words.
        converged: whether the solver met its tolerance; ``reason`` says in words why not.
        residual: largest residual |θ̈ − …| of the (discretised) Euler–Lagrange equations, unit u/T².
        is_minimum: a local certificate: True if the second variation is positive, so that no path near by costs less,
            False if a conjugate point was found, None unknown. Of paths elsewhere it says nothing: see ``unseen``.
        error: estimated error of ``action``.
        unseen: how complete the search for places to rest was: the estimated share of further searches that would find
            one which this has not (Good and Turing); 0 where a formula has all of them, or none is looked for.
        candidates: all extremals that were compared, best first, of those that clearly cost more J to 1e-4 or better
            (see their ``error``); a lone solution is its own candidate.
    """

    _drawing: ClassVar[str] = "path"

    objective: Objective
    loss: Loss
    times: Array
    action: float
    excess: float
    asymptote: Array
    method: Method
    position: Callable[[Array], Array]
    rate: Callable[[Array], Array]
    end: float = math.inf
    status: Status = Status.CONVERGED
    detail: str = ""
    residual: float = 0.0
    is_minimum: bool | None = True
    error: float = 0.0
    growth: float = math.nan
    unseen: float = 0.0
    second: Callable[[Array], Array] | None = None
    others: tuple[Trajectory, ...] = field(default=())

    def __post_init__(self) -> None:
        _checks.frozen(self.times, self.asymptote)

    def __call__(self, t: ArrayLike) -> Array:
        """Return θ(t), shape (T, D), or (D,) for a scalar t."""
        return self._evaluate(self.position, t)

    def velocity(self, t: ArrayLike) -> Array:
        """Return θ̇(t), shape (T, D), or (D,) for a scalar t."""
        return self._evaluate(self.rate, t)

    def acceleration(self, t: ArrayLike) -> Array:
        """Return θ̈(t), shape (T, D), or (D,) for a scalar t.

        Raises:
            ValueError: no price of acceleration was paid: θ̈ is then what the Euler–Lagrange equations say.
        """
        if self.second is None:
            raise ValueError(
                f"objective.price = {self.objective.price!r}, but the path has an acceleration of its own only where "
                "it is charged: elsewhere euler_lagrange(objective, loss).acceleration(theta, velocity) is"
            )
        return self._evaluate(self.second, t)

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.status is Status.CONVERGED

    @property
    def reason(self) -> str:
        """Why it has not converged, in words; empty if it has."""
        return self.status.said(self.detail)

    @property
    def candidates(self) -> tuple[Trajectory, ...]:
        """All extremals that were compared, best first."""
        return self.others or (self,)

    @property
    def at_infinity(self) -> Literal["rests", "moves on", "grows", "ends"]:
        """What the path does in the long run, one of "rests", "moves on", "grows", or "ends" at a deadline."""
        if math.isfinite(self.end):
            return "ends"
        if np.all(np.isfinite(self.asymptote)):
            return "rests"
        return "grows" if self.growth > 0 else "moves on"

    def kinetic(self, t: ArrayLike) -> Array:
        """Return |θ̇−f|²_G/2η along the path, shape (T,) (Eq. 30, with the factor 1/ηΔt² that the sources omit).

        With another price it is that, an acceleration's included.
        """
        acceleration = None if self.second is None else self.acceleration(t)
        return self.objective.kinetic(self(t), self.velocity(t), acceleration)

    def potential(self, t: ArrayLike) -> Array:
        """Return kL along the path, shape (T,) (Eq. 31); at a switch of the loss, with what comes after it."""
        place = self(t)
        return self.objective.k * np.asarray(self.loss.at(t).value(place))

    def _facts(self) -> dict[str, Any]:
        names = "action", "excess", "asymptote", "end", "method", "at_infinity", "converged", "reason", "residual"
        more = "is_minimum", "error", "growth", "unseen"
        return {name: getattr(self, name) for name in (*names, *more)}

    def _columns(self) -> dict[str, Array]:
        places = by_coordinate("theta", self(self.times)) | by_coordinate("velocity", self.velocity(self.times))
        return {"t": self.times, **places, "kinetic": self.kinetic(self.times), "potential": self.potential(self.times)}

    def _evaluate(self, function: Callable[[Array], Array], t: ArrayLike) -> Array:
        times = _checks.array("t", t)
        if times.ndim > 1 or np.any(times < 0) or np.any(times > self.end * (1 + 1e-12)):
            allowed = "a number or a 1-D array of times in [0, " + (f"{self.end:g}]" if self.end < math.inf else "inf)")
            raise ValueError(f"t = {_checks.shown(t)}, but it must be {allowed}")
        result = function(np.atleast_1d(times))
        return result[0] if times.ndim == 0 else result

    def __repr__(self) -> str:
        flag = "" if self.converged else f", converged=False ({self.reason})"
        place = f"asymptote={np.array2string(self.asymptote, precision=6, threshold=6)}"
        if self.at_infinity == "grows":
            place = f"grows like exp({self.growth:.6g}·t)"
        elif self.at_infinity == "moves on":
            place = "moves on without end"
        return f"Trajectory(method={self.method!r}, action={self.action:.9g}, {place}{flag})"


def plot_times(slowest: float, end: float) -> Array:
    """Return a grid over ten of the slowest time constants (10 where there is none), or up to the deadline."""
    stop = end if math.isfinite(end) else 10 / slowest if 0 < slowest < math.inf else 10.0
    return np.linspace(0.0, stop, 201)


def final_charge(objective: Objective, height: float) -> float:
    """Return e^{−γT}·c·L(θ_T), what a deadline charges for the loss ``height`` there; 0 without a deadline."""
    return objective.charge * math.exp(-objective.gamma * objective.horizon) * height if objective.charge else 0.0


def compared(action: float, excess: float) -> float:
    """Return what extremals are compared by: J, or where that is infinite its excess over resting."""
    return action if math.isfinite(action) else excess


def resting_action(rest: float, gamma: float, scale: float, horizon: float = math.inf) -> float:
    """Return ∫ e^{−γt} rest dt; at γ = 0 over an infinite time this is 0 or ±inf."""
    if math.isfinite(horizon):
        return rest * (horizon if gamma == 0 else -math.expm1(-gamma * horizon) / gamma)
    if gamma > 0:
        return rest / gamma
    return 0.0 if abs(rest) <= 1e-12 * max(scale, 1e-300) else math.copysign(math.inf, rest)
