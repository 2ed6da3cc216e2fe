"""Minima of a loss, sinks and roots of a field from many starts at once: a trust region each, derivatives in one call.

For minima and roots the step of length ≤ r is found in the eigenbasis of the current matrix, without further calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss

_LIMIT = 100  # iterations
_FAR = 1e6  # in units of a start's size: beyond it, nothing is to be found here
_DONE = 1e-9  # length of a step, relative to max(1, |θ|)
_GONE = 1e-13  # a slope that has shrunk by this much without a root near by falls off for ever


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search ended.

    Attributes:
        ends: the points it arrived at, shape (M, D), not yet distinct.
        lost: points from which the loss only falls farther, shape (K, D), as far as they were followed.
        bent: whether a search met negative curvature: where there is none, there is nothing but minima.
    """

    ends: Array
    lost: Array
    bent: bool = True


def minima(loss: Loss, starts: Array) -> Found:
    """Return the minima that descents from ``starts``, shape (B, D), arrive at; ``ends`` may hold a few strays."""
    x, dim = starts.copy(), starts.shape[1]
    size = np.maximum(1.0, np.abs(starts).max(axis=1))
    radius, ends, lost, bent = size.copy(), [], [], False
    with np.errstate(all="ignore"):
        height = np.asarray(loss.value(x))
        gradient, hessian = np.array(loss.gradient(x)), np.array(loss.hessian(x))
        first = np.abs(gradient).max(axis=1)
        live = np.flatnonzero(_finite(height, gradient, hessian))
        for _ in range(_LIMIT):
            budget.check()
            if not len(live):
                break
            # The step of a trust region, in the eigenbasis of the Hessian: p minimises the quadratic model.
            values, vectors = np.linalg.eigh(hessian[live])
            force = np.einsum("bij,bi->bj", vectors, gradient[live])
            step = _bounded(values, force, radius[live])
            gain = -np.einsum("bj,bj->b", force, step) - np.einsum("bj,bj,bj->b", values, step, step) / 2
            move = np.einsum("bij,bj->bi", vectors, step)
            length = np.sqrt((step**2).sum(axis=1))
            reach = np.maximum(1.0, np.abs(x[live]).max(axis=1))
            inside = length < 0.999 * radius[live]
            # The last steps of Newton's method change L by less than its rounding: they are taken, not judged.
            ending = inside & (values[:, 0] > 0) & (gain <= 1e-11 * np.abs(height[live]) + 1e-300)
            trial = x[live] + move
            new = np.asarray(loss.value(trial))
            quality = np.where(gain > 0, (height[live] - new) / gain, -1.0)
            good = np.isfinite(new) & ((quality > 1e-4) | ending)
            radius[live] = _reach(radius[live], length, quality, inside, good, ending)
            moved = live[good]
            if len(moved):
                x[moved], height[moved] = trial[good], new[good]
                gradient[moved], hessian[moved] = loss.gradient(x[moved]), loss.hessian(x[moved])
            curvature = np.abs(values).max(axis=1)
            bent = bent or bool(np.any(values[:, 0] < -1e-6 * curvature))
            flat = np.abs(force).max(axis=1) <= 1e-10 * curvature * reach
            done = inside & (values[:, 0] > 0) & (length <= _DONE * reach)
            done |= flat & (values[:, 0] > -1e-9 * curvature)  # a valley's floor: no step is the last one there
            away = (np.abs(x[live]).max(axis=1) > _FAR * size[live]) | (
                (np.abs(force).max(axis=1) < _GONE * first[live]) & (length > 1e-3 * reach)
            )
            stuck = radius[live] < 1e-14 * reach
            ends.extend(x[live[done | stuck]])
            lost.extend(x[live[away & ~done]])
            live = live[~(done | away | stuck)]
            live = live[_finite(height[live], gradient[live], hessian[live])]
        ends.extend(x[live])  # whoever calls looks whether these are stationary
    return Found(np.array(ends).reshape(-1, dim), np.array(lost).reshape(-1, dim), bent)


def sinks(field: Callable[[Array], Array], jacobian: Callable[[Array], Array], starts: Array) -> Found:
    """Return the roots of ``field`` that the flow θ̇ = −field(θ) from ``starts``, shape (B, D), arrives at.

    What minima are where the field is a gradient: nothing is lower than a sink near by, for there is no height. A step
    is p = −(J + μ)⁻¹field, implicit Euler's of length 1/μ, and with μ = 0 Newton's. Where J has an eigenvalue with the
    real part −a, μ is 2a at least, so that no step is drawn to a saddle.
    """
    x, dim = starts.copy(), starts.shape[1]
    size = np.maximum(1.0, np.abs(starts).max(axis=1))
    radius, ends = size.copy(), []
    with np.errstate(all="ignore"):
        value, jacobians = np.array(field(x)), np.array(jacobian(x))
        live = np.flatnonzero(_finite(value, jacobians))
        for _ in range(_LIMIT):
            budget.check()
            if not len(live):
                break
            # The implicit step of the flow, short enough for the trust region.
            outward = -np.linalg.eigvals(jacobians[live]).real.min(axis=1)
            tiny = 1e-14 * np.abs(jacobians[live]).max(axis=(1, 2)) + 1e-300  # a valley's floor leaves J singular
            step, least = _damped(jacobians[live], value[live], np.maximum(2 * outward, tiny), radius[live])
            length = np.sqrt((step**2).sum(axis=1))
            reach = np.maximum(1.0, np.abs(x[live]).max(axis=1))
            ending = least & (length <= 1e-5 * reach)  # here the field may be rounding only
            trial = x[live] + step
            new = np.asarray(field(trial))
            missed = new - value[live] - np.einsum("bij,bj->bi", jacobians[live], step)
            scale = np.maximum(np.abs(value[live]).max(axis=1), np.abs(new).max(axis=1))
            quality = 1.0 - np.abs(missed).max(axis=1) / np.where(scale > 0, scale, 1.0)
            good = _finite(new) & ((quality > 0.25) | ending)
            radius[live] = _reach(radius[live], length, quality, length < 0.999 * radius[live], good, ending)
            moved = live[good]
            if len(moved):
                x[moved], value[moved] = trial[good], new[good]
                jacobians[moved] = jacobian(x[moved])
            done = least & (outward <= 1e5 * tiny) & (length <= _DONE * reach)
            away = (np.abs(x[live]).max(axis=1) > _FAR * size[live]) | (radius[live] < 1e-14 * reach)
            ends.extend(x[live[done]])
            live = live[~(done | away)]
            live = live[_finite(value[live], jacobians[live])]
    return Found(np.array(ends).reshape(-1, dim), np.empty((0, dim)))


def roots(field: Callable[[Array], Array], jacobian: Callable[[Array], Array], starts: Array) -> Found:
    """Return the roots of ``field``, (B, D) to (B, D), that least squares with a trust region arrive at, and strays.

    ``jacobian`` maps (B, D) to (B, D, D), ∂field_i/∂θ_j.
    """
    x, dim = starts.copy(), starts.shape[1]
    size = np.maximum(1.0, np.abs(starts).max(axis=1))
    radius, ends = size.copy(), []
    with np.errstate(all="ignore"):
        value, jacobians = np.array(field(x)), np.array(jacobian(x))
        first = np.abs(value).max(axis=1)
        live = np.flatnonzero(_finite(value, jacobians))
        for _ in range(_LIMIT):
            budget.check()
            if not len(live):
                break
            # The step of a trust region for |field|², by the singular values of its Jacobian.
            left, singular, right = np.linalg.svd(jacobians[live])
            force = np.einsum("bij,bi->bj", left, value[live])
            step = _bounded(singular**2, singular * force, radius[live])
            length = np.sqrt((step**2).sum(axis=1))
            reach = np.maximum(1.0, np.abs(x[live]).max(axis=1))
            trial = x[live] + np.einsum("bji,bj->bi", right, step)
            new = field(trial)
            before, after = (value[live] ** 2).sum(axis=1), (new**2).sum(axis=1)
            gain = before - ((force + singular * step) ** 2).sum(axis=1)
            quality = np.where(gain > 0, (before - after) / gain, -1.0)
            inside = length < 0.999 * radius[live]
            ending = inside & (length <= 1e-5 * reach)  # here |field|² may be rounding only
            good = np.isfinite(after) & ((quality > 1e-4) | ending)
            radius[live] = _reach(radius[live], length, quality, inside, good, ending)
            moved = live[good]
            if len(moved):
                x[moved], value[moved] = trial[good], new[good]
                jacobians[moved] = jacobian(x[moved])
            done = inside & (length <= _DONE * reach)
            small = np.abs(value[live]).max(axis=1) < _GONE * first[live]
            stuck = (radius[live] < 1e-14 * reach) | (gain < 1e-6 * before)  # a minimum of |field|² that is no root
            away = np.abs(x[live]).max(axis=1) > _FAR * size[live]
            ends.extend(x[live[done | (small & ~away)]])
            live = live[~(done | away | stuck | small)]
            live = live[_finite(value[live], jacobians[live])]
    return Found(np.array(ends).reshape(-1, dim), np.empty((0, dim)))


def _bounded(values: Array, force: Array, radius: Array) -> Array:
    """Return the minimisers p of fp + ½λp² with |p| ≤ r in an eigenbasis, shape (B, D); λ may be negative.

    Args:
        values: λ, shape (B, D). force: f, shape (B, D). radius: r, shape (B,).
    """
    lowest = np.argmin(values, axis=1)
    rows = np.arange(len(values))
    bottom = values[rows, lowest]
    scale = np.maximum(np.abs(values).max(axis=1), np.abs(force).max(axis=1) / radius) + 1e-300
    # A slope with no part along the lowest direction (a ridge) gets a hair of one: else no finite step leaves it.
    hair = 1e-8 * (np.abs(force).max(axis=1) + np.abs(bottom) * radius)
    on_ridge = (bottom < 0) & (np.abs(force[rows, lowest]) < hair)
    force = force.copy()
    force[rows[on_ridge], lowest[on_ridge]] = np.where(force[rows, lowest] < 0, -hair, hair)[on_ridge]
    floor = np.maximum(0.0, -bottom) + 1e-15 * scale

    def length(shift: Array) -> Array:
        return np.sqrt(((force / (values + shift[:, None])) ** 2).sum(axis=1))

    low, high = floor, floor + 2 * np.sqrt((force**2).sum(axis=1)) / radius + 1e-15 * scale
    free = (bottom > 0) & (length(np.zeros(len(values))) <= radius)
    shift = high
    # Newton on 1/|p| − 1/r, which is nearly linear in the shift, kept inside its bracket
    for _ in range(12):
        norm = length(shift)
        low, high = np.where(norm > radius, shift, low), np.where(norm > radius, high, shift)
        half_decline = ((force**2) / (values + shift[:, None]) ** 3).sum(axis=1)
        guess = shift + (norm / radius - 1) * norm**2 / half_decline
        shift = np.where((guess > low) & (guess < high), guess, np.sqrt(np.maximum(low, 1e-12 * high) * high))
    shift = np.where(free, 0.0, shift)
    return -force / (values + shift[:, None])


def _damped(jacobians: Array, value: Array, least: Array, radius: Array) -> tuple[Array, Any]:
    """Return p = −(J + μ)⁻¹f with |p| ≤ r, shape (B, D), and where μ is ``least``; else it is a power of 4 above it."""
    identity = np.eye(jacobians.shape[1])
    unit = 1e-3 * np.sqrt((value**2).sum(axis=1)) / radius
    shift = least.copy()
    for trial in range(60):
        step = -np.linalg.solve(jacobians + shift[:, None, None] * identity, value[..., None])[..., 0]
        long = ~(np.sqrt((step**2).sum(axis=1)) <= radius)
        if not np.any(long):
            break
        shift = np.where(long, least + 4.0**trial * unit, shift)
    return step, shift == least


def _finite(*arrays: Array) -> Array:
    """Return for which of B the entries of all arrays are finite, shape (B,)."""
    return np.logical_and.reduce([np.isfinite(a).all(axis=tuple(range(1, a.ndim))) for a in arrays])


def _reach(radius: Array, length: Array, quality: Array, inside: Any, good: Any, ending: Any) -> Array:
    """Return the trust radii after steps of these lengths, shape (B,).

    A step whose model was right and that the radius cut short triples it, one that was poor or refused leaves a quarter
    of its length; a step that ends the search is not to be refused for its rounding.
    """
    grown = np.where(inside, radius, 3 * radius)
    shrunk = np.where(good & (quality > 0.25), radius, length / 4)
    chosen = np.where(quality > 0.75, grown, shrunk)
    return np.where(ending, np.maximum(chosen, 4 * length), chosen)
