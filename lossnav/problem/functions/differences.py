"""Derivatives by central differences; the function is called once with all the points it takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lossnav._checks import Array

STEP = 7e-4  # ε^{1/5}: rounding, ε/step, is then as large as truncation, step⁴; errors about 1e-12
_MOST_NUMBERS = 2**22  # in one call: 32 MB of coordinates


def in_parts(derivative: Callable[[Array], Array], theta: Array, points: int) -> Array:
    """Return derivative(θ), cut into calls of bounded size where each θ needs ``points`` points."""
    dim = theta.shape[-1]
    count = max(1, _MOST_NUMBERS // (points * dim))
    flat = theta.reshape(-1, dim)
    if len(flat) <= count:
        return derivative(theta)
    parts = np.concatenate([derivative(flat[i : i + count]) for i in range(0, len(flat), count)])
    return parts.reshape(*theta.shape[:-1], *parts.shape[1:])


def first(function: Callable[[Array], Array], theta: Array, step: float = STEP) -> Array:
    """Return ∂function/∂θ_j on a new last axis by the five-point rule, error O(step⁴).

    Args:
        function: maps (..., D) to (..., *S).
        theta: shape (..., D).
        step: relative to max(1, |θ_j|).
    """
    axis, dim = theta.ndim - 1, theta.shape[-1]
    h = step * np.maximum(1.0, np.abs(theta))
    offsets = h[..., None, :] * np.eye(dim)  # row j moves θ_j
    multiples = np.array([1.0, -1.0, 2.0, -2.0])[:, None, None]
    values = function(theta[..., None, None, :] + multiples * offsets[..., None, :, :])
    plus, minus, plus2, minus2 = np.moveaxis(values, axis, 0)
    h = h.reshape(h.shape + (1,) * (plus.ndim - h.ndim))
    return np.moveaxis((8 * (plus - minus) - (plus2 - minus2)) / (12 * h), axis, -1)


def second(function: Callable[[Array], Array], theta: Array, step: float) -> Array:
    """Return ∂²function/∂θ_i∂θ_j on two new last axes, from D² + D + 1 values at each θ; error O(step²).

    Second derivatives along h_i e_i and, for i < j, along h_i e_i + h_j e_j, from which the mixed ones follow.

    Args:
        function: maps (..., D) to (..., *S).
        theta: shape (..., D).
        step: relative to max(1, |θ_j|).
    """
    axis, dim = theta.ndim - 1, theta.shape[-1]
    h = step * np.maximum(1.0, np.abs(theta))
    i, j = np.triu_indices(dim, 1)
    unit = np.eye(dim)
    directions = np.concatenate([unit, unit[i] + unit[j]])
    offsets = np.concatenate([np.zeros((1, dim)), directions, -directions])
    values = np.moveaxis(function(theta[..., None, :] + offsets * h[..., None, :]), axis, -1)
    # from the centre's value: what all share cancels before it is divided
    plus, minus = np.moveaxis((values[..., 1:] - values[..., :1]).reshape(*values.shape[:-1], 2, -1), -2, 0)
    along = plus + minus
    hessian = np.empty((*values.shape[:-1], dim, dim))
    hessian[..., range(dim), range(dim)] = along[..., :dim]
    hessian[..., i, j] = hessian[..., j, i] = (along[..., dim:] - along[..., i] - along[..., j]) / 2
    h = h.reshape(*h.shape[:-1], *(1,) * (values.ndim - theta.ndim), dim)
    return hessian / (h[..., :, None] * h[..., None, :])
