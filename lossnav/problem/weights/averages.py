r"""Losses averaged over uncertain weights, L̄(μ, v) = E[L(θ)] with θ_i ~ N(μ_i, v_i).

Averaging over a Gaussian is diffusion. For independent weights the heat equation holds,
:math:`\partial\bar L/\partial v_i = \tfrac12\,\partial^2\bar L/\partial\mu_i^2 = \tfrac12 E[H_{ii}]`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem import losses
from lossnav.problem.functions import differences
from lossnav.problem.functions.roots import exp_bounded
from lossnav.problem.losses.base import check_loss


class Average(abc.ABC):
    """An averaged loss of ``dim`` weights; all methods take means and variances of shape (..., D)."""

    dim: int

    @abc.abstractmethod
    def value(self, mean: ArrayLike, variance: ArrayLike) -> Any:
        """Return L̄(μ, v), shape (...)."""

    @abc.abstractmethod
    def mean_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return ∂L̄/∂μ, shape (..., D)."""

    @abc.abstractmethod
    def variance_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return ∂L̄/∂v, half the averaged curvature, shape (..., D)."""

    def centres(self) -> Array:
        """Return means near which the averaged loss may have a minimum, shape (M, D)."""
        return np.zeros((0, self.dim))

    def _stiffness(self, theta: Array) -> Array:
        """Return ∂²L̄/∂θ² at θ = (μ, ln v), shape (..., 2D, 2D): here by differences of the gradient.

        They are taken in units of standard deviations: next to μ a step must be small against √v.
        """
        ell = theta[..., self.dim :]
        size = np.concatenate([np.exp(ell / 2), np.ones_like(ell)], axis=-1)

        def slope(steps: Array) -> Array:  # by steps in standard deviations and in ln v
            lead = (slice(None),) * (theta.ndim - 1) + (None,) * (steps.ndim - theta.ndim)
            mu, at = np.split(theta[lead] + size[lead] * steps, 2, axis=-1)
            v = exp_bounded(at)
            parts = [self.mean_gradient(mu, v), v * self.variance_gradient(mu, v)]
            return np.concatenate(parts, axis=-1) * size[lead]

        hessian = differences.first(slope, np.zeros_like(theta)) / (size[..., :, None] * size[..., None, :])
        return (hessian + np.swapaxes(hessian, -1, -2)) / 2


class Quadratic(Average):
    r"""The average of a quadratic loss, exact: :math:`L(\mu) + \tfrac12\sum_i H_{ii}v_i` (after Eq. 146).

    Args:
        loss: a ``lossnav.losses.Quadratic``.
    """

    loss: losses.Quadratic
    hessian: Array
    dim: int
    curvature: Array

    def __init__(self, loss: losses.Quadratic):
        _checks.instance("loss", loss, losses.Quadratic, "a losses.Quadratic")
        self.loss, self.dim = loss, loss.dim
        self.hessian = loss.hessian(np.zeros(loss.dim))
        self.curvature = np.diag(self.hessian)

    def value(self, mean: ArrayLike, variance: ArrayLike) -> Any:
        mu, v = _pair(mean, variance, self.dim)
        return self.loss.value(mu) + v @ self.curvature / 2

    def mean_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return H(μ − θ*), shape (..., D)."""
        return self.loss.gradient(_pair(mean, variance, self.dim)[0])

    def variance_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return H_ii/2, shape (..., D)."""
        return np.broadcast_to(self.curvature / 2, _pair(mean, variance, self.dim)[1].shape)

    def _stiffness(self, theta: Array) -> Array:
        hessian = np.zeros((*theta.shape, 2 * self.dim))
        hessian[..., : self.dim, : self.dim] = self.hessian
        rows = np.arange(self.dim, 2 * self.dim)
        hessian[..., rows, rows] = exp_bounded(theta[..., self.dim :]) * self.curvature / 2
        return hessian


class Hermite(Average):
    """The average of any loss in one to three dimensions, by Gauss–Hermite quadrature.

    Args:
        loss: from ``lossnav.losses``.
        order: nodes along each axis; a polynomial of degree below 2·order is averaged exactly. None is 32, and 10 in
            three dimensions, where they make a thousand.

    Raises:
        ValueError: for more than three dimensions, where a grid of nodes would be no method.
    """

    loss: losses.Loss
    dim: int

    def __init__(self, loss: losses.Loss, order: int | None = None):
        check_loss(loss)
        if loss.dim > 3:
            raise ValueError(f"loss has {loss.dim} dimensions, but quadrature on a grid is for at most 3")
        self.loss, self.dim = loss, loss.dim
        count = (10 if loss.dim == 3 else 32) if order is None else _checks.whole("order", order, low=1, high=200)
        nodes, weights = np.polynomial.hermite_e.hermegauss(count)
        self._nodes = np.stack(np.meshgrid(*[nodes] * loss.dim, indexing="ij"), axis=-1).reshape(-1, loss.dim)
        grid = np.stack(np.meshgrid(*[weights / weights.sum()] * loss.dim, indexing="ij"), axis=-1)
        self._weights = np.prod(grid.reshape(-1, loss.dim), axis=-1)

    def _averaged(self, read: Callable[[Array], Array], mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return what ``read`` makes of all the places μ + √v z, shape (..., Q, D), in parts of bounded size."""
        pair = np.broadcast_arrays(*_pair(mean, variance, self.dim))

        def at(state: Array) -> Array:
            mu, v = np.split(state[..., None, :], 2, axis=-1)
            return read(mu + np.sqrt(v) * self._nodes)

        return differences.in_parts(at, np.concatenate(pair, axis=-1), self._nodes.size)

    def value(self, mean: ArrayLike, variance: ArrayLike) -> Any:
        return self._averaged(lambda x: np.asarray(self.loss.value(x)) @ self._weights, mean, variance)

    def mean_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return E[∇L], shape (..., D)."""
        return self._averaged(lambda x: self._weights @ self.loss.gradient(x), mean, variance)

    def variance_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return E[H_ii]/2, shape (..., D)."""
        return self._averaged(
            lambda x: np.einsum("...qii,q->...i", self.loss.hessian(x), self._weights) / 2, mean, variance
        )

    def _stiffness(self, theta: Array) -> Array:
        """Return E[JᵀHJ + diag(0, vH/4)], where J is the derivative of μ + √v z by (μ, ln v): (1, √v z/2)."""
        v = exp_bounded(theta[..., self.dim :])
        levers = np.stack([np.ones_like(self._nodes), self._nodes / 2], axis=1)
        weights = np.einsum("q,qai,qbj->qaibj", self._weights, levers, levers)
        moments = self._averaged(
            lambda x: np.einsum("...qij,qaibj->...aibj", self.loss.hessian(x), weights), theta[..., : self.dim], v
        )
        size = np.concatenate([np.ones_like(v), np.sqrt(v)], axis=-1)
        hessian = size[..., :, None] * size[..., None, :] * moments.reshape(*theta.shape, 2 * self.dim)
        one, rows = np.arange(self.dim), np.arange(self.dim, 2 * self.dim)
        hessian[..., rows, rows] += v / 4 * hessian[..., one, one]
        return hessian


class Wells(Average):
    r"""Gaussian wells in a bowl, averaged exactly:
    :math:`L = \tfrac b2|\theta-c_0|^2 - \sum_jd_j\,e^{-|\theta-c_j|^2/2w_j^2}`.

    A loss whose curvature depends on where one is: sharp inside a well, that of the bowl outside.

    Args:
        centres: c, shape (M, D), unit u.
        depths: d > 0, shape (M,), unit ℓ.
        widths: w > 0, shape (M,), unit u.
        bowl: curvature b ≥ 0 of the bowl, unit ℓ/u².
        bowl_centre: c₀, shape (D,); the origin by default.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    depths: Array
    widths: Array
    bowl_centre: Array
    dim: int
    bowl: float

    def __init__(
        self,
        centres: ArrayLike,
        depths: ArrayLike,
        widths: ArrayLike,
        bowl: float = 0.0,
        bowl_centre: ArrayLike | None = None,
    ):
        self._centres = _checks.array("centres", centres, shape=(None, None))
        _checks.frozen(self._centres)
        count, self.dim = self._centres.shape
        self.depths = _checks.positives("depths", depths, shape=(count,))
        self.widths = _checks.positives("widths", widths, shape=(count,))
        self.bowl = _checks.finite("bowl", bowl, low=0.0)
        middle = np.zeros(self.dim) if bowl_centre is None else bowl_centre
        self.bowl_centre = _checks.array("bowl_centre", middle, shape=(self.dim,))

    def centres(self) -> Array:
        """Return the centres of the wells, shape (M, D), and that of the bowl if it has one."""
        return np.concatenate([self._centres, self.bowl_centre[None, :]]) if self.bowl else self._centres

    def _parts(self, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array, Array]:
        """Return offsets μ − c and widened w² + v, shape (..., M, D), and the averaged wells, shape (..., M)."""
        mu, v = _pair(mean, variance, self.dim)
        offset = mu[..., None, :] - self._centres
        square = self.widths[:, None] ** 2
        wide = square + v[..., None, :]
        wells = self.depths * np.exp(np.sum(np.log(square / wide) - offset**2 / wide, axis=-1) / 2)
        return offset, wide, wells

    def value(self, mean: ArrayLike, variance: ArrayLike) -> Any:
        mu, v = _pair(mean, variance, self.dim)
        return self.bowl / 2 * np.sum((mu - self.bowl_centre) ** 2 + v, axis=-1) - self._parts(mu, v)[2].sum(axis=-1)

    def mean_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        mu, v = _pair(mean, variance, self.dim)
        offset, wide, wells = self._parts(mu, v)
        outside = self.bowl * (mu - self.bowl_centre)
        return outside + np.sum(wells[..., None] * offset / wide, axis=-2)

    def variance_gradient(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        offset, wide, wells = self._parts(mean, variance)
        return self.bowl / 2 + np.sum(wells[..., None] * (1 / wide - (offset / wide) ** 2), axis=-2) / 2


def _pair(mean: ArrayLike, variance: ArrayLike, dim: int) -> tuple[Array, Array]:
    """Return means and variances >= 0 of shape (..., D); NaN is handed on."""
    mu, v = _checks.points("mean", mean, dim), _checks.points("variance", variance, dim)
    if (v < 0).any():
        raise ValueError(f"variance = {_checks.shown(variance)}, but all its entries must be >= 0")
    _checks.together(mean=mu, variance=v)
    return mu, v


def checked_switches(switches: Any, dim: int, deadline: float = math.inf) -> tuple[list[float], list[Average]]:
    """Return 0 and the times of the switches, which increase up to a deadline, and the averaged losses that they bring.

    Raises:
        ValueError: if they are no such times, or no losses of so many weights.
    """
    times, averages = [0.0], []
    for index, entry in enumerate(_checks.sequence("switches", switches, "pairs (time, loss)")):
        if len(_checks.sequence(f"switches[{index}]", entry, "two entries, a time and a loss")) != 2:
            raise ValueError(f"switches[{index}] = {_checks.shown(entry)}, but it must be (time, loss)")
        times.append(_checks.positive(f"switches[{index}][0]", entry[0]))
        _checks.instance(f"switches[{index}][1]", entry[1], Average | losses.Loss, "a loss")
        averages.append(average(entry[1]))
    if any(new.dim != dim for new in averages):
        raise ValueError(f"switches have losses of {[new.dim for new in averages]} weights, but all must have {dim}")
    if np.any(np.diff(times) <= 0) or times[-1] >= deadline:
        raise ValueError(f"switches happen at {times[1:]}, but their times must increase and lie before {deadline:g}")
    return times, averages


def average(loss: Average | losses.Loss) -> Average:
    """Return the average of a loss over Gaussian weights: exact if it is quadratic, by quadrature otherwise.

    Args:
        loss: from ``lossnav.losses``, or an ``Average``, which is returned as it is.

    Raises:
        ValueError: if it is neither, or has too many dimensions for quadrature.

    Example:
        >>> import lossnav as ln
        >>> bowl = average(ln.losses.Quadratic([[2.0]], minimum=[1.0]))
        >>> float(bowl.value([1.0], [0.5]))  # at the minimum: the price of being uncertain, Hv/2
        0.5
    """
    if isinstance(loss, Average):
        return loss
    if isinstance(loss, losses.Quadratic):
        return Quadratic(loss)
    return Hermite(_checks.instance("loss", loss, losses.Loss, "from lossnav.losses, or an Average"))


__all__: Sequence[str] = ["Average", "Hermite", "Quadratic", "Wells", "average"]
