r"""Plans after a task switch in the units of ``TaskSwitch``, by the same equations as its script.

With time in units of 1/r, r = √(γ²/4+ηλ) − γ/2, y = ln(v/v*), z = (μ−a)/√v* and p = r/(r+γ), Eqs. 15 and 16 are

.. math:: p y'' - (1-p) y' = e^y - 1 - p z'^2 e^{-y},\qquad p z'' - (1-p + p y') z' = e^y z

for every quadratic task, and the plan is the solution that comes to rest. ``lossnav.uncertainty.plan`` solves the same
problem for any loss by collocation; the tests compare them. This one is for one weight, at once and from far away.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav._checks import Array

UNTIL = 13.0  # units of 1/r; e^{−13} cannot be seen
_COUNT = 320
_INDEX = np.arange(_COUNT + 1) / _COUNT
TIMES: Array = UNTIL * (0.15 * _INDEX**2 + 0.85 * _INDEX**4)  # dense where a long way is covered fast
_BACK, _AHEAD = np.diff(TIMES)[:-1], np.diff(TIMES)[1:]
_FIRST = np.stack([
    -_AHEAD / (_BACK * (_BACK + _AHEAD)), (_AHEAD - _BACK) / (_BACK * _AHEAD), _BACK / (_AHEAD * (_BACK + _AHEAD)),
])
_SECOND = np.stack([2 / (_BACK * (_BACK + _AHEAD)), -2 / (_BACK * _AHEAD), 2 / (_AHEAD * (_BACK + _AHEAD))])
_KEEP = float(np.exp(TIMES[-2] - TIMES[-1]))  # x′ = −x at the end


def switch_plan(share: float, start: tuple[float, float]) -> Array:
    """Return y and z at ``TIMES``, shape (2, T).

    Args:
        share: p in (0, 1].
        start: y and z at time 0.

    Raises:
        RuntimeError: if Newton's method fails even for short strides from rest towards ``start``.
    """
    found: Array = np.zeros((2, _COUNT + 1))
    done, stride = 0.0, 1.0
    while done < 1:
        goal = min(1.0, done + stride)
        guess = found * goal / done if done else goal * np.outer(start, np.exp(-TIMES))
        settled = _settle(share, guess)
        if settled is not None:
            found, done, stride = settled, goal, 1.7 * stride
        else:
            stride /= 2
            if stride < 1e-3:
                raise RuntimeError(f"no plan from y, z = {start} at p = {share:g}")
    return found


def _settle(share: float, guess: Array) -> Array | None:
    """Newton's method with halved steps where a whole one does not help."""
    x, error = guess, _miss(share, guess)
    for _ in range(40):
        if error < 1e-10:
            break
        move, part = _move(share, x), 1.0
        while (following := _miss(share, x + part * move)) >= error:
            part /= 2
            if part < 1e-3:
                return x if error < 1e-7 else None
        x, error = x + part * move, following
    return x if error < 1e-7 else None


def _parts(x: Array) -> tuple[Array, Array, Array]:
    """Return first and second differences of y and z at inner times, and the values there, shape (2, T − 2)."""
    near = np.stack([x[:, :-2], x[:, 1:-1], x[:, 2:]])
    return np.einsum("jt,jit->it", _FIRST, near), np.einsum("jt,jit->it", _SECOND, near), near[1]


def _residual(share: float, x: Array) -> Array:
    (y1, z1), (y2, z2), (y, z) = _parts(x)
    up = np.exp(y)
    return np.stack([
        share * y2 - (1 - share) * y1 - up + 1 + share * z1**2 / up,
        share * z2 - (1 - share + share * y1) * z1 - up * z,
    ])


def _miss(share: float, x: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.sqrt(np.sum((_residual(share, x) / (share * _SECOND[1] - 1)) ** 2) / _COUNT))
    return size if np.isfinite(size) else np.inf


def _move(share: float, x: Array) -> Array:
    """Return Newton's step: a banded system in y and z, interleaved."""
    (y1, z1), _, (y, z) = _parts(x)
    up = np.exp(y)
    push = share * z1**2 / up
    count = _COUNT - 1
    blocks = np.zeros((3, 2, 2, count))  # neighbour, equation, unknown, time
    blocks[:, 0, 0] = share * _SECOND - (1 - share) * _FIRST
    blocks[:, 0, 1] = 2 * share * z1 / up * _FIRST
    blocks[:, 1, 0] = -share * z1 * _FIRST
    blocks[:, 1, 1] = share * _SECOND - (1 - share + share * y1) * _FIRST
    blocks[1, 0, 0] -= up + push
    blocks[1, 1, 0] -= up * z
    blocks[1, 1, 1] -= up
    blocks[1, :, :, -1] += _KEEP * blocks[2, :, :, -1]
    bands = np.zeros((7, 2 * count))
    for neighbour in range(3):
        for equation in range(2):
            for unknown in range(2):
                # unknown 2(t + neighbour − 1) + unknown in equation 2t + equation
                offset = 2 * (neighbour - 1) + unknown - equation
                times = np.arange(max(0, 1 - neighbour), count - max(0, neighbour - 1))
                bands[3 - offset, 2 * times + equation + offset] = blocks[neighbour, equation, unknown, times]
    solved = scipy.linalg.solve_banded((3, 3), bands, -_residual(share, x).T.ravel()).reshape(count, 2).T
    return np.concatenate([np.zeros((2, 1)), solved, _KEEP * solved[:, -1:]], axis=1)
