"""Norms of a velocity, their duals, and the greedy way down a bowl at the full speed of a norm (book: W14, W17)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lossnav import _checks
from lossnav._checks import Array


class Norm(NamedTuple):
    """A norm of the last axis, or of the last two; ``peak`` is the velocity of norm 1 that gains the most from p."""

    size: Callable[[Array], Any]
    dual: Callable[[Array], Any]
    peak: Callable[[Array], Array]
    matrix: bool = False


def _most(p: Array) -> Array:
    """Return the signs of the entries of the largest size, in equal shares."""
    size = np.abs(p)
    top = (size == size.max(axis=-1, keepdims=True)) & (size > 0)
    return np.sign(p) * top / np.maximum(top.sum(axis=-1, keepdims=True), 1)


def _unit(p: Array) -> Array:
    size = np.linalg.norm(p, axis=-1, keepdims=True)
    return p / np.where(size > 0, size, 1.0)


def _length(v: Array) -> Any:
    return np.linalg.norm(v, axis=-1)


def _singular(v: Array) -> Array:
    return np.linalg.svd(v, compute_uv=False)


def _turned(change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return the function of a matrix that changes its singular values, of which rounding counts as 0."""

    def changed(p: Array) -> Array:
        left, values, right = np.linalg.svd(p, full_matrices=False)
        least = values[..., :1] * max(p.shape[-2:]) * np.finfo(float).eps
        return (left * change(np.where(values > least, values, 0.0))[..., None, :]) @ right

    return changed


NORMS = {
    "l1": Norm(lambda v: np.abs(v).sum(-1), lambda p: np.abs(p).max(-1), _most),
    "l2": Norm(_length, _length, _unit),
    "linf": Norm(lambda v: np.abs(v).max(-1), lambda p: np.abs(p).sum(-1), np.sign),
    "spectral": Norm(lambda v: _singular(v).max(-1), lambda p: _singular(p).sum(-1), _turned(np.sign), matrix=True),
    "nuclear": Norm(lambda v: _singular(v).sum(-1), lambda p: _singular(p).max(-1), _turned(_most), matrix=True),
}


class Layer(NamedTuple):
    """A part of θ with a norm of its own, in which points have this shape (None: as they are), and its η or ρ."""

    part: slice
    name: str
    shape: tuple[int, ...] | None
    number: float

    @classmethod
    def of(cls, entry: Any, number: float) -> Layer:
        """Return a layer as it was given: a name, (slice, name) or (slice, name, (m, n)).

        Raises:
            ValueError: it is none.
        """
        fields = [slice(None), entry] if isinstance(entry, str) else entry
        if not isinstance(fields, tuple | list) or len(fields) not in (2, 3) or not isinstance(fields[0], slice):
            raise ValueError(f"norm has the layer {_checks.shown(entry)}, but it must be (slice, norm) or with a shape")
        part, name, *shapes = fields
        norm = NORMS[_checks.one_of("norm", name, NORMS)]
        sides = [_checks.whole("norm", n, low=1) for shape in shapes for n in _checks.sequence("norm", shape, "sides")]
        if len(sides) != (2 if norm.matrix and not isinstance(entry, str) else 0):
            raise ValueError(
                f"norm has the layer {_checks.shown(entry)}, but matrices, and they alone, have a shape (m, n)"
            )
        return cls(part, name, tuple(sides) or None, number)

    @property
    def norm(self) -> Norm:
        """The norm."""
        return NORMS[self.name]

    def taken(self, v: Array) -> Array:
        """Return the part of points, shape (..., D), as the norm takes it."""
        own = v[..., self.part]
        return own if self.shape is None else own.reshape(*own.shape[:-1], *self.shape)

    def greedy(self, x: Array, t: Array, curvature: Array, way: bool) -> Array:
        """Return where the part x, shape (D,), is after times t, shape (T,), at full speed: shape (T, D).

        As ``way`` it is the displacement, with the digits that x has not left of one much shorter than it.
        """
        reach = self.number * t[:, None]

        def after(size: Any, h: Array | None = None) -> Array:
            if h is not None:
                return _ridge(size, reach, h) - (size if way else 0.0)
            return -np.minimum(size, reach) if way else np.maximum(size - reach, 0.0)

        if self.name == "linf":
            return np.sign(x) * after(np.abs(x))
        if self.name == "l1":
            return np.sign(x) * after(np.abs(x), curvature)
        if self.name == "l2":
            return _unit(x) * after(_length(x))
        left, values, right = np.linalg.svd(x.reshape(self.shape or x.shape), full_matrices=False)
        fallen = after(values, np.ones_like(values) if self.name == "nuclear" else None)
        return ((left * fallen[:, None, :]) @ right).reshape(len(t), -1)

    def ridge(self, x: Array, curvature: Array) -> Array:
        """Return the velocity that lowers the largest h|x|, and keeps equal what is equal: shape (..., D), for "l1".

        For "nuclear" these are the singular values, all of one curvature.
        """
        if self.name == "l1":
            return -self.number * np.sign(x) * _shares(curvature * np.abs(x), curvature)
        down = _turned(lambda values: _shares(values, np.ones_like(values)))
        return -self.number * down(x.reshape(*x.shape[:-1], *(self.shape or ()))).reshape(x.shape)


def shrunk(x: Array, edge: Any) -> Array:
    """Return sign(x)·max(|x| − edge, 0)."""
    return np.sign(x) * np.maximum(np.abs(x) - edge, 0.0)


def _shares(size: Array, curvature: Array) -> Array:
    """Return how fast each |x| falls, together at speed 1, while the largest h|x|, shape (..., D), stay equal."""
    share = ((size > 0) & (size >= size.max(axis=-1, keepdims=True) * (1 - 1e-9))) / curvature
    return share / np.maximum(share.sum(axis=-1, keepdims=True), np.finfo(float).tiny)


def _ridge(size: Array, reach: Array, curvature: Array) -> Array:
    """Return |x|, shape (T, D), after the largest h|x| has been lowered by ``reach`` in all, ties together (W17).

    All stand at a common level of h|x| then: how far one has come is piecewise linear in it.
    """
    levels = np.append(np.sort(curvature * size)[::-1], 0.0)
    spent = np.maximum(size - levels[:, None] / curvature, 0.0).sum(axis=1)
    level = np.interp(np.minimum(reach, spent[-1]), spent, levels)
    return np.minimum(size, level / curvature)


def covered(layers: tuple[Layer, ...], name: str, given: Array) -> None:
    """Raise ValueError unless each entry of points, shape (..., D), belongs to one layer, and matrices fit."""
    times = np.zeros(given.shape[-1], int)
    for layer in layers:
        times[layer.part] += 1
        if layer.shape is not None and times[layer.part].size != math.prod(layer.shape):
            raise ValueError(f"{name} has shape {given.shape}, whose part {layer.part} is no matrix {layer.shape}")
    if np.any(times != 1):
        raise ValueError(f"{name} has shape {given.shape}, but the layers of norm must take each entry once")
