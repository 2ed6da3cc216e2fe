r"""One-dimensional problems in the phase plane: the feedback law p(θ), and when it is optimal to stay.

The optimal path into a minimum c is the stable manifold of the rest point (c, 0) of θ̈ = γθ̇ + ηkL′. As a curve over θ,
with q = p²/2, it solves :math:`dq/d\theta = \gamma p + \eta kL'(\theta)`, integrated *away* from c, which is the stable
direction; the value function follows from the policy :math:`p = -\eta V'`. Nothing here is discretised in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import fronts
from lossnav.trajectory.fronts import Discounts, barrier_discount, heteroclinic_discount, quartic_discounts
from lossnav.trajectory.manifold import Orbit, linear_reach
from lossnav.trajectory.result import resting_action

__all__ = [
    "Discounts", "Feedback", "barrier_discount", "feedback", "heteroclinic_discount", "indifference_point",
    "quartic_discounts",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Feedback:
    """The optimal law into ``target``: θ̇ = speed(θ) on ``reach``, the interval that its orbit covers without turning.

    Attributes:
        target: the minimum c.
        reach: (low, high); an end inside the requested span is where the orbit has slowed to zero.
        rest: V(c) = kL(c)/γ, or 0 or ±inf at γ = 0.
    """

    target: float
    reach: tuple[float, float]
    rest: float
    _mass: float  # G/η: V′ = −Gp/η
    _orbits: tuple[Orbit, Orbit]  # from the left and from the right

    def speed(self, theta: ArrayLike) -> Array:
        """Return θ̇ at θ, NaN outside reach."""
        return self._along(theta, Orbit.speed)

    def excess(self, theta: ArrayLike) -> Array:
        """Return V(θ) − V(c), NaN outside reach."""
        return self._mass * self._along(theta, Orbit.area)

    def action(self, theta: ArrayLike) -> Array:
        """Return J of the path from θ into ``target``, NaN outside reach."""
        return self.excess(theta) + self.rest

    def _along(self, theta: ArrayLike, quantity: Callable[[Orbit, Array], Array]) -> Array:
        points = _checks.reals("theta", theta)
        left, right = self._orbits
        return np.where(points < self.target, quantity(left, points), quantity(right, points))


def feedback(objective: Objective, loss: Loss, target: float, span: tuple[float, float]) -> Feedback:
    """Return the law that steers a one-dimensional θ into the minimum ``target``, within ``span`` around it.

    Args:
        objective: η, k, γ; infinite horizon, no drift, no metric but a number (D = 1).
        loss: of dimension 1.
        target: a minimum of L with positive curvature.
        span: (low, high) with low < target < high.

    Raises:
        ValueError: naming the argument that does not fit.
    """
    gain = fronts.one_dimensional(objective, loss)
    target = _checks.finite("target", target)
    low, high = fronts.ends(span)
    if not low < target < high:
        raise ValueError(f"span = {span}, but it must be (low, high) with low < target = {target:g} < high")
    curvature = float(loss.hessian([target])[0, 0])
    size = max(high - target, target - low)
    if curvature > 0:
        size = linear_reach(loss, target, curvature, size)
    if curvature <= 0 or abs(float(loss.gradient([target])[0])) > 1e-5 * curvature * size:
        raise ValueError(f"target = {target:g}, but it must be a minimum of the loss with positive curvature")
    left, right = (fronts.arrive(loss, gain, objective.gamma, target, edge) for edge in (low, high))

    level = objective.k * float(loss.value([target]))
    rest = resting_action(level, objective.gamma, abs(level) + objective.k * abs(float(loss.value([low]))))
    mass = float(objective.metric_matrix(1)[0, 0]) / objective.eta
    return Feedback(target, (left.stop, right.stop), rest, mass, (left, right))


def indifference_point(objective: Objective, loss: Loss, *, span: fronts.Span | None = None) -> float | None:
    """Return θ_s, the start from which staying in the shallower well and crossing to the deeper cost the same.

    Such a point is called a Skiba (or DNSS) point. None means that crossing is optimal from everywhere on the shallow
    side, the shallow minimum included (γ < ``heteroclinic_discount``). From ``barrier_discount`` on θ_s is the barrier
    itself, as for gradient descent; below it only where both orbits pass the barrier equally fast. There is exactly
    one, since J of staying less J of crossing grows along θ towards the deep well. It lies on the shallow side of the
    barrier if only the orbit into the deep well passes it, on the deep side if only the other does (never for a
    quartic), and on either side if both do.

    Two equally deep wells have one for every γ ≥ 0: the barrier for mirror-symmetric ones at any γ, in general
    another point for γ below ``barrier_discount``. At γ = 0 it is where the excess costs agree (both J are infinite
    unless min L = 0).

    Args:
        objective, loss, span: as for ``heteroclinic_discount``, and ``objective.gamma``.

    Raises:
        ValueError: as there.
    """
    gain, gamma = fronts.one_dimensional(objective, loss), objective.gamma
    wells = fronts.wells(objective, loss, span)
    # Below the barrier's discount both orbits may pass it; where none does it parts the starts.
    passing = [
        fronts.passes_barrier(loss, gain, gamma, wells.barrier, minimum) for minimum in (wells.shallow, wells.deep)
    ]
    if not any(passing):
        return wells.barrier
    stay = fronts.arrive(loss, gain, gamma, wells.shallow, wells.deep)
    cross = fronts.arrive(loss, gain, gamma, wells.deep, wells.shallow)
    if cross.complete and wells.drop > 0:
        return None
    # Between where the crossing orbit turns and where the staying one does both exist: look there for equal costs.
    stop = stay.stop if passing[0] else wells.barrier
    start = cross.stop if passing[1] else wells.barrier
    if abs(stop - start) < 1e-9 * abs(wells.deep - wells.shallow):  # both orbits turn within rounding of one place
        return (start + stop) / 2
    far = gamma > math.sqrt(-gain * float(loss.hessian([wells.barrier])[0, 0]))

    def lead(part: float) -> float:
        theta = np.array(start + part * (stop - start))
        if far:  # an orbit that creeps into the barrier has no speed left where the integration gave up
            crossing, staying = (abs(float(np.nan_to_num(orbit.speed(theta)))) for orbit in (cross, stay))
            return staying - crossing
        # γ(J of crossing − J of staying) is the difference of p²/2η; for small γ it is better had from the integrals.
        rest = gain * wells.drop / gamma if wells.drop > 0 else 0.0
        return float(cross.area(theta) - stay.area(theta)) - rest

    low, high = 1e-9, 1 - 1e-9
    if lead(low) <= 0:  # within rounding of where the crossing orbit turns
        return start
    if lead(high) >= 0:
        return stop
    return start + float(scipy.optimize.brentq(lead, low, high, xtol=1e-15, rtol=1e-14)) * (stop - start)
