"""The Helmholtz decomposition of a drift field, and the effective loss that its gradient part gives (Eq. 132)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.analysis.helmholtz.elements import Grid
from lossnav.problem.drifts import Drift, Linear
from lossnav.problem.losses import Function, Loss, Quadratic
from lossnav.problem.objective import Objective, check_problem

Field = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""A field split into a gradient and a rest, :math:`f=-\nabla\phi+w`.

    Attributes:
        field: f, as it was given.
        box: where the split holds, shape (D, 2), or None: everywhere.
        fraction: ∫|w|²/∫|f|² over the box. For an affine field that of its linear part, |A|²/|J|²: ∫|A(θ − θ*)|²/∫|f|²
            over balls around the place θ* where it rests.
        fraction_error: estimated error of ``fraction``.
        error: estimated error of ∇φ (and so of w), as a root mean square over that of f.
        cells: number of cells per axis, 0 for an exact split.
        converged: whether ``error`` met the tolerance.
    """

    field: Field
    box: Array | None
    fraction: float
    fraction_error: float
    error: float
    cells: int
    converged: bool
    dim: int
    height: Callable[[Array], Array]
    gradient: Callable[[Array], Array]

    def potential(self, theta: ArrayLike) -> Any:
        """Return φ(θ), shape (...): of mean zero over the box, or zero at the origin for an affine field."""
        points, shape = self._inside(theta)
        heights = self.height(points).reshape(shape)
        return float(heights) if heights.ndim == 0 else heights

    def gradient_part(self, theta: ArrayLike) -> Array:
        """Return −∇φ(θ), shape (..., D)."""
        points, shape = self._inside(theta)
        return -self.gradient(points).reshape(*shape, self.dim)

    def remainder(self, theta: ArrayLike) -> Array:
        """Return w(θ) = f(θ) + ∇φ(θ), shape (..., D)."""
        points, shape = self._inside(theta)
        return (values(self.field, points) + self.gradient(points)).reshape(*shape, self.dim)

    def _inside(self, theta: ArrayLike) -> tuple[Array, tuple[int, ...]]:
        points = _checks.points("theta", _checks.array("theta", theta), self.dim)
        shape, points = points.shape[:-1], points.reshape(-1, self.dim)
        if self.box is not None:
            slack = 1e-12 * np.ptp(self.box, axis=1)
            if np.any(points < self.box[:, 0] - slack) or np.any(points > self.box[:, 1] + slack):
                raise ValueError(f"theta = {_checks.shown(theta)}, but the field was split on {self.box.tolist()} only")
        return points, shape


def decompose(
    field: Field, box: ArrayLike, *, rtol: float = 1e-3, max_points: int = 1_000_000, throw: bool = True
) -> Decomposition:
    r"""Split a field on a box into the gradient nearest to it and the rest: the Helmholtz decomposition.

    .. math:: f=-\nabla\phi+w,\qquad \phi=\arg\min\int|f+\nabla\phi|^2 ,

    so that w is orthogonal to every gradient: ∇·w = 0 inside and w·n = 0 on the boundary. The minimiser solves the
    Neumann problem −Δφ = ∇·f, ∂φ/∂n = −f·n, here with quadratic elements on 4, 8, 16 … cells per axis until two grids
    agree. For smooth fields ∇φ converges with the square of the cell width and ``fraction`` with its fourth power, but
    for a logarithm where φ bends without bound at a corner, as that of a rotation does.

    The boundary condition makes the split unique, and makes it depend on the box: a field that is both a gradient and
    free of divergence (a saddle) could be counted on either side, and this split counts it as a gradient.

    Args:
        field: f, a drift from ``lossnav.drifts`` or a function of one θ, shape (D,) → (D,), unit u/T.
        box: shape (D, 2), low < high of each parameter, unit u. D is 1 to about 4.
        rtol: largest allowed ``error``: the root mean square change of ∇φ between the last two grids over that of f.
        max_points: how many evaluations of f one grid may take.
        throw: raise ``NotConverged`` if the tolerance is not met; else return the finest grid, ``converged`` False.

    Returns:
        The decomposition, callable inside the box.

    Raises:
        ValueError: naming the argument that does not fit; also if f is zero everywhere or not finite.
        NotConverged: if ``max_points`` does not suffice; where it is too small for the first two grids, 24 points an
            axis, it is a ValueError.

    Example:
        >>> import lossnav as ln
        >>> parts = decompose(ln.drifts.weight_decay(0.5), [[-1, 1], [-1, 2]])
        >>> round(parts.fraction, 9), parts.gradient_part([1.0, 2.0]).round(9)
        (0.0, array([-0.5, -1. ]))

    References:
        Vastola, Gershman, Rajan (2025), Sec. 4 and App. G.3.
    """
    edges = _box(box)
    dim = len(edges)
    check_field(field, "box", dim)
    _checks.positive("rtol", rtol)
    _checks.flag("throw", throw)
    if (3 * 8) ** dim > _checks.whole("max_points", max_points, low=1):
        raise ValueError(f"max_points = {max_points}, but two grids in {dim} dimensions take {(3 * 8) ** dim}")
    cells, error, change, fraction, coarse, previous = 4, np.inf, np.inf, np.nan, None, np.nan
    # In units of the box and of the field, whose squares are then numbers.
    extent, size = power_of_two(np.ptp(edges, axis=1)), 0.0
    while (3 * cells) ** dim <= max_points:
        grid = Grid(edges / extent, cells)
        f = values(field, extent * grid.points.reshape(-1, dim)).reshape(grid.points.shape)
        size = size or power_of_two(f)
        f = f / size
        total = grid.integral(np.sum(f**2, axis=-1))
        if total == 0:
            raise ValueError(f"field = {_checks.shown(field)} is zero on the box, so nothing of it can be measured")
        # φ on this grid, and the share of f that is no gradient.
        coefficients = grid.project(f)
        places = [axis.points for axis in grid.axes]
        gradient = grid.slope(coefficients, places)
        fraction = grid.integral(np.sum((f + gradient) ** 2, axis=-1)) / total
        if coarse is not None:
            # How far the gradient has moved from that of the grid before: the error.
            moved = gradient - coarse[0].slope(coarse[1], places)
            error = float(np.sqrt(grid.integral(np.sum(moved**2, axis=-1)) / total))
            change = abs(fraction - previous)
        coarse, previous = (grid, coefficients), fraction
        if error <= rtol:
            break
        cells *= 2
    assert coarse is not None  # the first grid always fits
    grid, coefficients = coarse
    if error > rtol and throw:
        raise NotConverged(
            f"the two finest grids ({grid.axes[0].cells} cells per axis) still differ by {error:.3g} of the field, but "
            f"rtol = {rtol:g}; give a larger max_points or a smaller box, or throw=False to take what there is"
        )
    return Decomposition(
        field, edges, fraction, change, error, grid.axes[0].cells, error <= rtol, dim,
        partial(_grid_height, grid, coefficients, extent, size), partial(_grid_slope, grid, coefficients, extent, size),
    )  # fmt: skip


def _grid_height(grid: Grid, coefficients: Array, extent: float, size: float, points: Array) -> Array:
    return size * extent * grid.at(coefficients, points / extent)


def _grid_slope(grid: Grid, coefficients: Array, extent: float, size: float, points: Array) -> Array:
    return size * np.stack([grid.at(coefficients, points / extent, d) for d in range(points.shape[1])], axis=-1)


def split_affine(field: Linear, dim: int | None = None) -> Decomposition:
    r"""Split f = Jθ + c exactly: :math:`\phi=-\tfrac12\theta^\top S\theta-c^\top\theta` and :math:`w=A\theta`.

    S and A are the symmetric and the antisymmetric part of J. Aθ is tangential to every sphere around the origin, so
    this is the split with w·n = 0 on balls, where ``decompose`` has it on a box.

    Args:
        field: an affine drift.
        dim: D; needed for drifts that are defined in every dimension, such as weight decay.

    Raises:
        ValueError: if the drift is not affine, or D is missing or does not fit.

    Example:
        >>> import lossnav as ln
        >>> split_affine(ln.drifts.rotation(3.0)).fraction
        1.0
    """
    _checks.instance("field", field, Linear, "a drifts.Linear; use decompose")
    size = field.dim if dim is None else _checks.whole("dim", dim, low=1)
    if size is None or field.dim not in (None, size):
        raise ValueError(f"dim = {dim!r}, but the drift acts on {field.dim or 'any number of'} parameters: give that")
    jacobian, offset = field.matrix(size), field.offset(size)
    symmetric = (jacobian + jacobian.T) / 2
    return Decomposition(
        field, None, skewness(jacobian) if jacobian.any() else 0.0, 0.0, 0.0, 0, True, size,
        partial(_affine_height, symmetric, offset), partial(_affine_slope, symmetric, offset),
    )  # fmt: skip


def _affine_height(symmetric: Array, offset: Array, points: Array) -> Array:
    return -np.einsum("pi,ij,pj->p", points, symmetric, points) / 2 - points @ offset


def _affine_slope(symmetric: Array, offset: Array, points: Array) -> Array:
    return -points @ symmetric - offset


def effective_loss(objective: Objective, loss: Loss, decomposition: Decomposition) -> Loss:
    r"""Return the loss that a learner with this drift lives on.

    .. math:: L_{\rm eff}=L+\frac1{\eta k}(\tfrac12|f|^2+\gamma\phi)

    If w = 0, the path that is optimal with the drift on L is the one that is optimal without drift on this loss, and
    J[f, L] = J[0, L_eff] − φ(θ₀)/η, as far as e^{−γt}φ → 0 on both: it ends at the minimum if this loss is a bowl, may
    end in a shallow well if it has several and γ > 0, and grows where it has no minimum. If w ≠ 0 and γ > 0, a place to
    rest is no minimum, not even on bowls, unless w vanishes there. If w ≠ 0 and γ = 0, the minimum is where to rest,
    but where L grows at infinity the optimum rests only if no loop's circulation ∮f·dθ exceeds ∮√(2ηk(L_eff − min
    L_eff))|dθ|: it never does for a quadratic bowl and an affine drift; on a ring-shaped valley it can
    (``lossnav.trajectory.cycles``).

    Args:
        objective: η, k, γ and the drift that was decomposed; G must be the identity. No deadline: there e^{−γT}φ/η is
            charged, too.
        loss: the landscape L.
        decomposition: of ``objective.drift``, that very object.

    Returns:
        A ``losses.Quadratic`` if L is one and the split is of an affine drift, else a ``losses.Function`` that is
        defined where the decomposition is.

    Raises:
        ValueError: if the objective has a metric, a deadline or another drift, or the dimensions differ.

    References:
        Vastola, Gershman, Rajan (2025), Eq. 132.
    """
    check_problem(objective, loss)
    _checks.instance("decomposition", decomposition, Decomposition, "what helmholtz.decompose returns")
    drift: Drift | None = objective.drift
    if drift is None or decomposition.field is not drift:
        raise ValueError(
            f"decomposition is of {decomposition.field!r}, but it must be of objective.drift = {drift!r} itself"
        )
    if loss.dim != decomposition.dim:
        raise ValueError(f"loss has {loss.dim} parameters, but the decomposition has {decomposition.dim}")
    if not np.array_equal(objective.metric_matrix(loss.dim), np.eye(loss.dim)):
        raise ValueError("objective.metric is set, but Eq. 132 holds for the identity only")
    if math.isfinite(objective.horizon):
        raise ValueError(f"objective.horizon = {objective.horizon:g}, but Eq. 132 holds for an endless plan only")
    gamma, share = objective.gamma, 1 / (objective.eta * objective.k)
    parts = drift, loss, decomposition, gamma, share
    value, gradient = partial(_effective_value, *parts), partial(_effective_gradient, *parts)
    if decomposition.box is None and isinstance(loss, Quadratic):
        origin = np.zeros(loss.dim)
        jacobian = np.array(drift.jacobian(origin))
        drift_hessian = jacobian.T @ jacobian - gamma * (jacobian + jacobian.T) / 2
        hessian = loss.hessian(origin) + share * drift_hessian
        return Quadratic(hessian, gradient=gradient(origin), offset=float(value(origin)))
    return Function(value, gradient, dim=loss.dim)


def _effective_value(drift: Drift, loss: Loss, parts: Decomposition, gamma: float, share: float, theta: Array) -> Any:
    f = drift(theta)
    return loss.value(theta) + share * (np.sum(f**2, axis=-1) / 2 + gamma * parts.potential(theta))


def _effective_gradient(
    drift: Drift, loss: Loss, parts: Decomposition, gamma: float, share: float, theta: Array
) -> Array:
    pull = np.einsum("...ji,...j->...i", drift.jacobian(theta), drift(theta))
    return loss.gradient(theta) + share * (pull - gamma * parts.gradient_part(theta))


def skewness(jacobians: Array) -> float:
    """Return Σ|A|²/Σ|J|² over Jacobians, shape (..., D, D), that are not all zero."""
    near_one = jacobians / power_of_two(jacobians)
    skew = (near_one - np.swapaxes(near_one, -1, -2)) / 2
    return float(np.sum(skew**2) / np.sum(near_one**2))


def power_of_two(values: Array) -> float:
    """Return the one at the size of the largest entry: divided by it no digit changes, and squares are numbers."""
    return math.ldexp(1.0, math.frexp(float(np.max(np.abs(values))))[1] - 1)


def values(field: Field, points: Array) -> Array:
    """Return the field at points of shape (P, D); a bare function is called with one point at a time."""
    if isinstance(field, Drift):
        vectors = _checks.reals("field(theta)", field(points))
        if vectors.shape != points.shape:
            raise ValueError(f"field returns shape {vectors.shape} for points of shape {points.shape}")
    else:
        vectors = np.empty_like(points)
        for row, point in zip(vectors, points, strict=True):
            vector = _checks.reals("field(theta)", field(point))
            if vector.shape != point.shape:
                raise ValueError(f"field returns shape {vector.shape} for one point, but it must be {point.shape}")
            row[:] = vector
    if not np.all(np.isfinite(vectors)):
        place = points[np.flatnonzero(~np.all(np.isfinite(vectors), axis=1))[0]]
        raise ValueError(f"field is not finite at theta = {place.tolist()}, but it must be so everywhere")
    return vectors


def check_field(field: Any, name: str, dim: int) -> None:
    """Raise unless this is a drift or a function, on as many parameters as what has this name says."""
    if not callable(field):
        raise ValueError(f"field = {_checks.shown(field)}, but it must be a drift or a function of theta")
    if isinstance(field, Drift) and field.dim not in (None, dim):
        raise ValueError(f"field acts on {field.dim} parameters, but {name} has {dim}")


def _box(box: ArrayLike) -> Array:
    edges = _checks.array("box", box)
    if edges.ndim != 2 or edges.shape[1] != 2 or len(edges) == 0:
        raise ValueError(f"box has shape {edges.shape}, but it must have shape (D, 2)")
    if np.any(edges[:, 0] >= edges[:, 1]):
        raise ValueError(f"box = {_checks.shown(edges.tolist())}, but each row must be low < high")
    return edges
