"""What the value function cannot fall below or exceed, from two numbers about the loss (book: L24)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.problem.functions.roots import fast_rate
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem

_ROUNDING = 1e-9  # of a hypothesis that is checked at theta


def value_bounds(
    objective: Objective, loss: Loss, theta: ArrayLike, *, smoothness: float, pl: float = 0.0, lowest: float = 0.0
) -> tuple[float, float]:
    r"""Return a lower and an upper bound on V(θ), as ``value`` has it, without solving for a path.

    With L in excess of its infimum, :math:`s_+(h)=\sqrt{\gamma^2/4+\eta kh}+\gamma/2` and the norm of
    :math:`G^{-1}`,

    .. math:: \frac{kL}{s_+(M)}\le V\le\frac{kL}{s_+(\mu)}\quad\text{where}\quad 2\mu L\le|\nabla L|^2\le2ML .

    The right inequality must hold wherever the optimal path from ``theta`` goes, the left one wherever gradient flow
    goes. Both are the caller's word: they are checked at ``theta``, which does not prove them elsewhere.

    Args:
        objective: η, k, γ and any metric; no drift, and no deadline.
        loss: the landscape, of D parameters.
        theta: the start, shape (D,).
        smoothness: M > 0, unit ℓ over squared length. The largest curvature of G⁻¹H on the whole space is one, if the
            metric is constant.
        pl: μ ≥ 0 of Polyak's and Łojasiewicz's inequality. 0 assumes nothing: V ≤ kL/γ, the cost of staying.
        lowest: infimum of the loss.

    Returns:
        Both bounds, unit ℓ, infinity if there is no upper one. For γ > 0 they contain k·``lowest``/γ, as V does.

    Raises:
        ValueError: naming the argument; also if an inequality fails at ``theta``.

    Example:
        >>> import lossnav as ln
        >>> bowl = ln.losses.Quadratic([[1.0, 0.0], [0.0, 4.0]], minimum=[0.0, 0.0])
        >>> value_bounds(ln.Objective(), bowl, [1.0, 1.0], smoothness=4.0, pl=1.0)
        (1.25, 2.5)
        >>> ln.solve(ln.Objective(), bowl, [1.0, 1.0]).action
        1.5

    References:
        book: L24. Polyak (1963), Łojasiewicz (1963) for the inequality.
    """
    check_problem(objective, loss)
    if objective.drift is not None:
        raise ValueError("objective.drift is set, but the bounds are those of a problem without drift")
    if math.isfinite(objective.horizon):
        raise ValueError(f"objective.horizon = {objective.horizon:g}, but the bounds are those of an endless plan")
    place = _checks.array("theta", theta, shape=(loss.dim,))
    most, least = _checks.positive("smoothness", smoothness), _checks.finite("pl", pl, low=0.0)
    if least > most:
        raise ValueError(f"pl = {least:g}, but it must be at most smoothness = {most:g}")
    floor = _checks.finite("lowest", lowest)
    height = float(loss.value(place)) - floor
    if height < 0:
        raise ValueError(f"lowest = {floor:g}, but the loss at theta is {height + floor:g}")
    gradient = np.asarray(loss.gradient(place))
    square_norm = float(gradient @ np.linalg.solve(objective.metric_at(place), gradient))
    for name, value, fails in (
        ("smoothness", most, square_norm > 2 * most * height * (1 + _ROUNDING)),
        ("pl", least, square_norm < 2 * least * height * (1 - _ROUNDING)),
    ):
        if fails:
            raise ValueError(f"{name} = {value:g}, but at theta |∇L|² is {square_norm:.4g}, and 2L is {2 * height:.4g}")
    resting = objective.k * floor / objective.gamma if objective.gamma > 0 else 0.0
    if height == 0:
        return resting, resting
    with np.errstate(divide="ignore"):
        low, high = objective.k / fast_rate([most, least], objective.eta * objective.k, objective.gamma) * height
    return float(low) + resting, float(high) + resting
