"""How collocation is brought to a plan: first guesses and, where they are too far off, a walk from where it rests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lossnav._checks import Array
from lossnav.problem.metrics.geodesics import geodesic
from lossnav.trajectory.weights.rests import Rest

Attempt = Callable[..., Any]  # (start, mesh, guess, tol, most nodes) → what scipy's solve_bvp returns
_FEW = 3_000  # nodes that are enough from a good guess
_ROUGH = 1e-5  # tolerance on the way: looser, and Newton's method leaves the path where a tighter one begins
_SHORTEST = 1e-3


def guesses(count: int, start: Array, span: float, end: Rest | None, s: Array) -> Iterator[Array]:
    """Yield first guesses: wait until the last task, then go to its rest by the linear law, or along the geodesic.

    Args:
        count: number of tasks.
        start: (μ, ℓ) at time 0, shape (2D,).
        span: length of the last task.
        end: where it comes to rest; None with a deadline.
        s: mesh on [0, 1], shape (S,).

    Returns:
        Arrays of shape (4D · count + 1, S).
    """
    waiting = np.vstack([np.repeat(start[:, None], len(s), axis=1), np.zeros((len(start), len(s)))])
    if end is None:
        yield np.vstack([*[waiting] * count, np.zeros((1, len(s)))])
        return
    for law in (_linear, _straight):
        x, velocity = law(end, start, span * s)
        yield np.vstack([*[waiting] * (count - 1), x.T, velocity.T, np.zeros((1, len(s)))])


def approach(
    attempt: Attempt, count: int, start: Array, span: float, end: Rest | None, s: Array, tol: float, most: int
) -> Any:
    """Return the solution for ``start`` from the guesses, or else from those for starts nearer to rest."""
    tried = list(guesses(count, start, span, end, s))
    for guess in tried:
        found = attempt(start, s, guess, tol, most if end is None else min(_FEW, most))
        if found.success:
            return found
    if end is None:
        return found
    mesh, path = _walk(attempt, count, start, span, end, s, most) or (s, tried[0])
    for finer in (_ROUGH / 10, _ROUGH / 100):
        found = attempt(start, mesh, path, max(tol, finer), most)
        if not found.success:
            return found
        mesh, path = found.x, found.y
    return attempt(start, mesh, path, tol, most)


def _walk(
    attempt: Attempt, count: int, start: Array, span: float, end: Rest, s: Array, most: int
) -> tuple[Array, Array] | None:
    """Return mesh and path of a rough plan from ``start``, found in strides from rest; None if a stride is too long.

    The plan from a part of the way, stretched, is the guess for the next part.
    """
    done, stride, mesh = 0.0, 0.5, s
    path = next(guesses(count, end.place, span, end, s))
    origin = np.concatenate([*[end.place, np.zeros(len(start))] * count, [0.0]])[:, None]
    while done < 1:
        goal = min(1.0, done + stride)
        here = end.place + goal * (start - end.place)
        guess = origin + (path - origin) * goal / done if done else next(guesses(count, here, span, end, s))
        found = attempt(here, mesh, guess, _ROUGH, min(_FEW, most))
        if found.success:
            path, mesh, done, stride = found.y, found.x, goal, 1.7 * stride
        else:
            stride /= 2
            if stride < _SHORTEST:
                return None
    return mesh, path


def _linear(end: Rest, start: Array, t: Array) -> tuple[Array, Array]:
    x = end.follow(start, t)
    return x, end.velocity(x)


def _straight(end: Rest, start: Array, t: Array) -> tuple[Array, Array]:
    """Return states and velocities on the geodesic to the rest, at a pace that fades with the slowest mode."""
    dim = len(start) // 2
    ends = zip(start[:dim], np.exp(start[dim:]), end.place[:dim], np.exp(end.place[dim:]), strict=True)
    paths = [geodesic(-np.expm1(-end.slowest * t), *both) for both in ends]
    x = np.stack([*(mean for mean, _ in paths), *(np.log(variance) for _, variance in paths)], axis=-1)
    return x, np.gradient(x, t, axis=0)
