"""How much of a field, or of the recorded updates of an optimizer, is not the gradient of anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.helmholtz.decomposition import check_field, decompose, power_of_two, skewness, values
from lossnav.problem.drifts import Drift


@dataclass(frozen=True)
class Fraction:
    """A share in [0, 1] with its error.

    Attributes:
        value: the share; ``float()`` gives it too.
        error: estimated numerical error, or for a record the standard error.
        method: "projection" | "jacobian" | "record".
    """

    value: float
    error: float
    method: str

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.1g} ({self.method})"


def non_gradient_fraction(
    field: Any, *, box: ArrayLike | None = None, points: ArrayLike | None = None, rtol: float = 1e-3
) -> Fraction:
    r"""Return how much of an update field is not the gradient of anything: 0 for a gradient, 1 for a pure rotation.

    Three questions, by what is given:

    - ``box``: over a region, :math:`\int|w|^2/\int|f|^2` with w the part orthogonal to all gradients (``decompose``).
      Depends on the region: at its edge a gradient can imitate a rotation.
    - ``points``: locally, in any dimension. With :math:`A=\tfrac12(\mathbf J-\mathbf J^\top)`,
      :math:`\sum|A|^2_F/\sum|\mathbf J|^2_F` over the points. It is zero if and only if the Jacobian is symmetric at
      all of them. At one point it is the limit of the first measure on a shrinking ball, for f − f(θ).
    - ``field`` an array: of recorded updates, shape (N, D), at the states ``points``, shape (N, D). The Jacobian is
      that of the least-squares fit u ≈ c + 𝐉θ; the expected contribution of noise to |A|² and |𝐉|² is subtracted, and
      the result cut to [0, 1]. The states should stay where the field is nearly linear, and must hold everything the
      next update depends on: for an optimizer with momentum also its buffer.

    Gradients depend on units: rescaling one parameter, or a metric G, turns −∇L into −G⁻¹∇L. To ask whether an update u
    is a gradient in the metric G, pass G·u.

    Args:
        field: f, a drift, or a function of one θ, shape (D,) → (D,), or recorded updates, shape (N, D).
        box: shape (D, 2), low < high of each parameter.
        points: shape (N, D) or (D,).
        rtol: with ``box``, as in ``decompose``.

    Returns:
        The fraction, with an error: of the grid, of finite differences (0 for an exact Jacobian), or statistical,
        assuming that the noise of different updates is independent.

    Raises:
        ValueError: naming the argument that does not fit; if the field does not vary; if a record is too short, its
            states do not span all D directions, or noise hides the Jacobian.
        NotConverged: with ``box``, if no grid meets the tolerance.

    Example:
        >>> import lossnav as ln
        >>> float(non_gradient_fraction(ln.drifts.rotation(2.0), points=[1.0, 0.0]))
        1.0

    References:
        Vastola, Gershman, Rajan (2025), Sec. 4, suggest such a diagnostic; the definitions are ours.
    """
    recorded = not callable(field)
    _checks.positive("rtol", rtol)
    if (box is None) == (points is None) or (recorded and points is None):
        allowed = "recorded updates need points" if recorded else "exactly one of box and points must be given"
        arguments = f"field = {_checks.shown(field)}, box = {_checks.shown(box)} and points = {_checks.shown(points)}"
        raise ValueError(f"{arguments}, but {allowed}")
    if box is not None:
        parts = decompose(field, box, rtol=rtol)
        return Fraction(parts.fraction, parts.fraction_error, "projection")
    places = np.atleast_2d(_checks.array("points", points))
    if places.ndim != 2:
        raise ValueError(f"points has shape {places.shape}, but it must have shape (N, D)")
    _checks.at_least_one("points", places)
    if recorded:
        return _record(field, places)
    check_field(field, "points", places.shape[1])
    return _local(field, places)


def _local(field: Any, points: Array) -> Fraction:
    if isinstance(field, Drift):
        return Fraction(_skewness(np.asarray(field.jacobian(points))), 0.0, "jacobian")
    rough, fine = _differences(field, points)
    value = _skewness(fine)
    return Fraction(value, abs(value - _skewness(rough)), "jacobian")


def _skewness(jacobians: Array) -> float:
    if not jacobians.any():
        raise ValueError("field does not vary at these points: a constant field has no fraction to speak of")
    return skewness(jacobians)


def _differences(field: Any, points: Array) -> tuple[Array, Array]:
    """Return Jacobians, shape (N, D, D), by central differences of second order and extrapolated to fourth.

    Nobody knows over which distance a field bends: of steps from the size of the points down to 10⁻⁹ of it those count
    of which both orders agree best, with what rounding leaves of them. No step is a round part of a point: a field of
    whose period both are multiples would look flat.
    """
    reach = np.max(np.abs(points), axis=1)
    reach = np.where(reach > 0, reach, 1.0) / math.sqrt(math.e)
    height = float(np.max(np.abs(values(field, points))))
    pairs = [_stencils(field, points, 10.0**-power * reach) for power in range(10)]

    def doubt(power: int) -> float:
        rough, fine = pairs[power]
        size = float(np.max(np.abs(fine)))
        blur = float(np.finfo(float).eps) * 10.0**power * (height / float(np.min(reach)) + size)
        return (float(np.max(np.abs(fine - rough))) + blur) / size if size else math.inf

    return pairs[min(range(10), key=doubt)]


def _stencils(field: Any, points: Array, step: Array) -> tuple[Array, Array]:
    """Return both Jacobians for steps of these lengths, shape (N,)."""
    jacobians = []
    for stretch in (1.0, 2.0):
        columns = []
        for direction in np.eye(points.shape[1]):
            shift = stretch * step[:, None] * direction
            change = values(field, points + shift) - values(field, points - shift)
            columns.append(change / (2 * stretch * step[:, None]))
        jacobians.append(np.stack(columns, axis=-1))
    return jacobians[0], (4 * jacobians[0] - jacobians[1]) / 3


def _record(updates: Array, states: Array) -> Fraction:
    updates = _checks.array("field", updates, shape=states.shape)
    count, dim = states.shape
    if count < dim + 2:
        raise ValueError(f"points has {count} states, but {dim} parameters need at least {dim + 2}")
    x, u = states - states.mean(axis=0), updates - updates.mean(axis=0)
    size = np.sqrt(np.mean(x**2, axis=0))
    spread = np.linalg.svd(x / np.where(size > 0, size, 1.0), compute_uv=False)
    rank = int(np.sum(spread > 1e-8 * spread[0]))
    if rank < dim or np.any(size <= 1e-12 * np.max(np.abs(states))):
        raise ValueError(
            f"points vary in {min(rank, int(np.sum(size > 0)))} of {dim} directions, but a Jacobian needs "
            f"all of them: record more of the path, or add noise to the start"
        )
    x, u = x / power_of_two(x), u / power_of_two(u)  # a fraction has no unit
    inverse = np.linalg.inv(x.T @ x)
    jacobian = u.T @ x @ inverse
    residuals = u - x @ jacobian.T
    noise = residuals.T @ residuals / (count - dim - 1)
    return _estimate(jacobian, noise, inverse)


def _estimate(jacobian: Array, noise: Array, inverse: Array) -> Fraction:
    """Return the fraction with its standard error, for a Jacobian whose error has covariance noise ⊗ inverse.

    With S and A the two parts of the estimate, |A|² and |S|² are quadratic forms of a Gaussian. Their means are
    corrected for noise, and the variance of the ratio keeps the terms of first and second order in the noise, so that
    it stays right where A = 0 and the first order vanishes.
    """
    trace = float(np.trace(noise) * np.trace(inverse))
    cross = float(np.trace(noise @ inverse))
    symmetric, skew = (jacobian + jacobian.T) / 2, (jacobian - jacobian.T) / 2
    turning = float(np.sum(skew**2)) - (trace - cross) / 2
    straining = float(np.sum(symmetric**2)) - (trace + cross) / 2
    total = turning + straining
    if total <= 0:
        raise ValueError("field: the noise of the updates hides their Jacobian; record more of the path")
    a, s = max(turning, 0.0), max(straining, 0.0)
    tilt = 2 * (s * skew - a * symmetric) / total**2
    first = float(np.sum((noise @ tilt @ inverse) * tilt))
    squares = float(np.sum(noise**2) * np.sum(inverse**2))
    mixed = float(np.sum(noise @ noise * (inverse @ inverse).T))
    skew_skew = (squares - 2 * mixed + cross**2) / 4
    same_same = (squares + 2 * mixed + cross**2) / 4
    skew_same = (squares - cross**2) / 4
    second = 2 * (s**2 * skew_skew + a**2 * same_same - 2 * a * s * skew_same) / total**4
    return Fraction(min(max(turning / total, 0.0), 1.0), float(np.sqrt(max(first + second, 0.0))), "record")
