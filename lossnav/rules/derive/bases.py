"""What a learner believes of a weight matrix: its bases, and a curvature for each entry in them, as pure functions.

In bases Q_L and Q_R a gradient is Q_Lᵀ g Q_R, and C has a positive number V for each of its entries. Averages are not
yet corrected for their beginning. A side without a basis is the identity.

``optim.matrix`` says the same in torch, for training, and the tests by the matrix of all weights with all. None of the
three calls another, on purpose: the tests hold each against the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lossnav._checks import Array
from lossnav.rules import assume

Belief = assume.Eigenbasis | assume.Kronecker

_RIDGE = 1e-7  # of the mean eigenvalue, spread out: it says which eigenvectors a factor has where eigenvalues are equal
_FLOOR = 1e-3  # of the mean eigenvalue, where a likelihood divides by the other side's: one never seen is zero


class Side(NamedTuple):
    """One side of a matrix: the average of ggᵀ (or gᵀg), a basis, and means of the entries of V in it (a vector)."""

    factor: Array
    basis: Array
    means: Array


class Shape(NamedTuple):
    """What is believed of a matrix; never changed in place.

    Attributes:
        time: how many gradients it has seen.
        left, right: the sides that have a basis; None where there is none.
        variance: V, an average of squares in the bases, shape (m, n).
    """

    time: int
    left: Side | None
    right: Side | None
    variance: Array


def blank(shape: tuple[int, int], belief: Belief) -> Shape:
    """Return what is believed before any gradient."""
    return Shape(0, _side(shape[0], belief), _side(shape[1], belief), np.zeros(shape))


def _side(size: int, belief: Belief) -> Side | None:
    if not 1 < size <= belief.max_dim:
        return None
    return Side(np.zeros((size, size)), np.eye(size), np.zeros(size))


def turn(matrix: Array, held: Shape) -> Array:
    """Return Q_Lᵀ X Q_R."""
    if held.left is not None:
        matrix = held.left.basis.T @ matrix
    return matrix if held.right is None else matrix @ held.right.basis


def turn_back(matrix: Array, held: Shape) -> Array:
    """Return Q_L X Q_Rᵀ."""
    if held.left is not None:
        matrix = held.left.basis @ matrix
    return matrix if held.right is None else matrix @ held.right.basis.T


def first(held: Shape, g: Array, belief: Belief) -> Shape:
    """Return the belief whose bases are those of one gradient, of which V knows nothing."""
    seen = _watched(held, g, 1, belief)
    return Shape(1, _turned(seen.left, True)[0], _turned(seen.right, True)[0], held.variance)


def observed(held: Shape, g: Array, belief: Belief) -> tuple[Array, Shape]:
    """Take the squares of a gradient into the averages; return V of each entry, corrected, and the belief after it."""
    beta, square = belief.beta, turn(g, held) ** 2
    if held.left is None and held.right is None:
        variance = beta * held.variance + (1 - beta) * square
        return variance / (1 - beta ** (held.time + 1)), held._replace(time=held.time + 1, variance=variance)
    age = held.time  # the first gradient found the bases
    after = held._replace(time=held.time + 1)
    if belief.fit == "eigenbasis":
        variance = beta * held.variance + (1 - beta) * square
        return variance / (1 - beta**age), after._replace(variance=variance)
    by_column = by_row = square
    if belief.fit == "likelihood" and held.left is not None and held.right is not None:
        past = 1 - beta ** (age - 1)
        by_column = square / _level(held.right.means, past, 1.0)
        by_row = square / _level(held.left.means, past, max(square.mean(), np.finfo(float).tiny))[:, None]
    after = after._replace(
        left=_averaged(held.left, by_column.mean(1), beta), right=_averaged(held.right, by_row.mean(0), beta)
    )
    return _product(after, square.shape, belief.fit, 1 - beta**age), after


def _averaged(side: Side | None, means: Array, beta: float) -> Side | None:
    return None if side is None else side._replace(means=beta * side.means + (1 - beta) * means)


def _product(held: Shape, shape: tuple[int, ...], fit: str, share: float) -> Array:
    """Return the eigenvalues of C = A ⊗ B from means of rows and columns that have seen ``share`` of their weights."""
    rows, columns = shape
    a, b = (None if side is None else side.means / share for side in (held.left, held.right))
    if a is None or b is None:  # one-sided; the eigenvalues of L are n times the means of its rows
        one = np.broadcast_to(b if a is None else a[:, None], shape)  # type: ignore[arg-type]
        return one * (rows if a is None else columns) if fit == "bound" else one
    product = np.outer(a, b)
    if fit == "bound":
        return np.sqrt(rows * columns * product)
    return product if fit == "likelihood" else product / max(a.mean(), np.finfo(float).tiny)


def followed(held: Shape, g: Array, belief: Belief) -> Shape:
    """Take the gradient into the factors and turn the bases, where the step that was made is one for it."""
    n = held.time
    if held.left is None and held.right is None:
        return held
    if _is_watched(n, belief):
        since = next(k for k in range(1, n) if _is_watched(n - k, belief))
        held = _watched(held, g, since, belief)
    if not _is_due(n, belief):
        return held
    left, turned_left = _turned(held.left, n <= belief.every)
    right, turned_right = _turned(held.right, n <= belief.every)
    variance = held.variance
    if turned_left is not None:
        variance = (turned_left**2).T @ variance
    if turned_right is not None:
        variance = variance @ turned_right**2
    return held._replace(left=left, right=right, variance=variance)


def _turned(side: Side | None, afresh: bool) -> tuple[Side | None, Array | None]:
    """Return a side in its new basis, and T = Q_oldᵀ Q_new."""
    if side is None:
        return None, None
    basis = eigenbasis(side.factor) if afresh else np.linalg.qr(side.factor @ side.basis)[0]
    turned = side.basis.T @ basis
    return side._replace(basis=basis, means=(turned**2).T @ side.means), turned


def _watched(held: Shape, g: Array, since: int, belief: Belief) -> Shape:
    """Return the belief with ggᵀ and gᵀg in the factors, with the weight of ``since`` gradients."""
    left, right, age = held.left, held.right, held.time - 1
    seen_left = seen_right = g
    if belief.fit == "likelihood" and age > 0 and left is not None and right is not None:
        past = 1 - belief.beta**age
        seen_left = g @ right.basis / np.sqrt(_level(right.means, past, 1.0))
        seen_right = left.basis.T @ g / np.sqrt(_level(left.means, past, 1.0))[:, None]
    kept = belief.beta**since
    if left is not None:
        left = left._replace(factor=kept * left.factor + (1 - kept) * seen_left @ seen_left.T)
    if right is not None:
        right = right._replace(factor=kept * right.factor + (1 - kept) * seen_right.T @ seen_right)
    return held._replace(left=left, right=right)


def _level(means: Array, past: float, otherwise: float) -> Array:
    """Return eigenvalues one may divide by: corrected, with a floor, and ``otherwise`` where nothing was seen yet."""
    mean = means.mean()
    return np.maximum(means, _FLOOR * mean) / (past or 1.0) if mean > 0 else np.full_like(means, otherwise)


def eigenbasis(factor: Array) -> Array:
    """Return the eigenvectors of a positive semi-definite matrix, that of the largest eigenvalue first."""
    ridge = _RIDGE * np.trace(factor) / len(factor) * np.linspace(0.5, 1.5, len(factor))
    return np.linalg.eigh(factor + np.diag(ridge))[1][:, ::-1]


def _is_due(n: int, belief: Belief) -> bool:
    return n % belief.every == 0 or (n < belief.every and n & (n - 1) == 0)


def _is_watched(n: int, belief: Belief) -> bool:
    return n == 1 or n % belief.watch == 0 or _is_due(n, belief)
