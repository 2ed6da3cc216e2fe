r"""The rate at a deadline: how fast the optimal learner moves when a time s is left (book: L1–L4).

On a quadratic loss the optimum moves as :math:`\dot\theta=-a(s)\nabla L`, with one rate a for each curvature h: the
solution of a scalar Riccati equation from :math:`a(0)=\eta c`, what the deadline charges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.problem.objective import Objective, check_objective
from lossnav.trajectory import modes


def deadline_rate(objective: Objective, curvature: ArrayLike, remaining: ArrayLike) -> Array:
    r"""Return the optimal rate a(s) of :math:`\dot\theta=-a\,\nabla L` with a time ``remaining`` to the deadline.

    With :math:`S^2=\gamma^2/4+\eta kh`, :math:`r=S-\gamma/2`, :math:`s_+=S+\gamma/2`, :math:`q=e^{-2Ss}`:

    .. math:: a=\eta\,\frac{c(r+s_+q)+k(1-q)}{s_++rq+\eta ch(1-q)},

    and its limits where S² ≤ 0. Without a charge the rate of a flat direction (h = 0) falls as 1 − e^{−γs}, or linearly
    if γ = 0.

    Args:
        objective: η, k, γ and the charge c (``terminal``), without drift; its horizon is not used, ``remaining`` is.
        curvature: h, unit ℓ/u², of any shape; under a metric the eigenvalues of G⁻¹H.
        remaining: s in [0, inf], unit T, of a shape that broadcasts with ``curvature``.

    Returns:
        a, unit u²/ℓT, of the shape to which both broadcast.

    Raises:
        ValueError: naming the argument; also if the objective has a drift.
        NoMinimiser: if a focal point lies between now and the deadline (negative curvature), or the time is infinite
            and the rate with it (γ = 0 and a flat direction).

    Example:
        >>> import lossnav as ln
        >>> objective = ln.Objective(gamma=0.5, terminal=2.0)
        >>> float(ln.rules.deadline_rate(objective, 1.0, 2.0).round(10))
        0.7932583071

    References:
        book: L1, L2; for c = 0 the velocity of Eq. 51 over its gradient.
    """
    check_objective(objective)
    if objective.drift is not None:
        raise ValueError("objective.drift is set, but with a drift the velocity is no multiple of the gradient")
    h = _checks.array("curvature", curvature)
    left = _checks.reals("remaining", remaining)
    if not np.all(left >= 0):
        raise ValueError(f"remaining = {_checks.shown(remaining)}, but it must be numbers in [0, inf]")
    _checks.together(curvature=h, remaining=left)
    control_gain, gamma, charge = objective.eta * objective.k, objective.gamma, objective.terminal
    h, left = (np.asarray(part, dtype=np.float64) for part in np.broadcast_arrays(h, left))
    _require(h, left, control_gain, gamma, charge / objective.k)
    return modes.speed(h, control_gain, gamma, 0.0, left, charge / objective.k)


def _require(h: Array, left: Array, control_gain: float, gamma: float, charge: float) -> None:
    focal = modes.focal_time(h, control_gain, gamma, charge)
    late = (left >= focal) & np.isfinite(focal)
    if np.any(late):
        worst = np.unravel_index(np.argmax(np.where(late, -h, -np.inf)), h.shape)
        raise NoMinimiser(
            f"no minimiser: for curvature = {h[worst]:.6g} the focal point is {focal[worst]:.6g} before the deadline, "
            f"but remaining = {left[worst]:.6g}"
        )
    square = gamma * gamma / 4 + control_gain * h
    if np.any(np.isinf(left) & (square <= 0)):
        raise NoMinimiser("no minimiser: remaining = inf needs gamma²/4 + eta·k·h > 0, else the rate grows for ever")


@dataclass(frozen=True, eq=False)
class LossWeight:
    """Which losses a schedule is optimal for: how much each moment's loss counts.

    Attributes:
        times: midpoints of the intervals, shape (N,), unit T.
        weight: k there, shape (N,), unit 1/T; negative where nobody who minimises a loss would want the schedule.
        jumps: times at which the rate jumps, shape (M,); the last is the deadline, if the rate ends above 0.
        charges: what the loss at those times is charged, shape (M,); negative where the rate jumps up.
    """

    times: Array
    weight: Array
    jumps: Array
    charges: Array

    @property
    def wanted(self) -> bool:
        """Whether k ≥ 0 and all charges ≥ 0, so that the schedule is optimal for a loss that counts positively."""
        return bool(np.all(self.weight >= 0) and np.all(self.charges >= 0))


def loss_weight(
    schedule: ArrayLike, gamma: float = 0.0, *, times: ArrayLike | None = None, eta: float = 1.0, curvature: float = 0.0
) -> LossWeight:
    r"""Return which weight k(t) of the loss makes a schedule of rates optimal (book: L4).

    On one curvature h, :math:`k=(ha^2+\gamma a-\dot a)/\eta`, and a downward jump of a is a charge of its size over η;
    up to a last charge a(T)/η at the deadline. For h = 0, a linear loss, any schedule has one.

    Args:
        schedule: rates a ≥ 0, shape (N+1,), unit u²/ℓT, joined by straight lines.
        gamma: discount rate γ ≥ 0.
        times: where they hold, shape (N+1,), never falling; two that are equal are a jump. None is evenly spaced on
            [0, 1].
        eta: η > 0.
        curvature: h ≥ 0. The weight depends on it: no k(t) makes a schedule optimal for two curvatures at once.

    Raises:
        ValueError: naming the argument.

    Example:
        >>> found = loss_weight([1.0, 0.5, 0.0])  # linear decay: every moment counts the same, the end nothing more
        >>> found.weight.tolist(), found.charges.tolist()
        ([1.0, 1.0], [])
    """
    rate = _checks.nonnegatives("schedule", schedule, shape=(None,))
    if len(rate) < 2:
        raise ValueError(f"schedule has {len(rate)} rate, but it must have at least 2")
    discount, scale = _checks.finite("gamma", gamma, low=0.0), _checks.positive("eta", eta)
    h = _checks.finite("curvature", curvature, low=0.0)
    t = np.linspace(0.0, 1.0, len(rate)) if times is None else _checks.array("times", times, shape=(len(rate),))
    step = np.diff(t)
    if np.any(step < 0) or t[-1] == t[0]:
        raise ValueError(f"times = {_checks.shown(times)}, but they must rise")
    fall, runs = -np.diff(rate), step > 0
    middle = (rate[1:] + rate[:-1])[runs] / 2
    weight = (h * middle**2 + discount * middle + fall[runs] / step[runs]) / scale
    at, size = np.append(t[1:][~runs], t[-1]), np.append(fall[~runs], rate[-1])
    nonzero = size != 0
    return LossWeight(((t[1:] + t[:-1]) / 2)[runs], weight, at[nonzero], size[nonzero] / scale)
