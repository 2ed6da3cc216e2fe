r"""Is a stationary path a minimum? The second variation of J along it, on a mesh.

With the variation :math:`e^{\gamma t/2}X` it is
:math:`\int\{Y^\top\ell_{vv}Y+2Y^\top\ell_{vx}X+X^\top\ell_{xx}X\}dt+X_T^\top PX_T`, :math:`Y=\dot X+\tfrac\gamma2X`,
where ℓ is the undiscounted running cost, X vanishes at a fixed end, and P is what the time after the mesh adds.
"""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.trajectory import blocks
from lossnav.trajectory.connection import Terms
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.stretches import Stretches


def definite(path: Trajectory, parts: Stretches, tail: Array | None, fixed: bool) -> bool:
    """Say whether the second variation along a path is positive definite, with midpoints between its nodes.

    Args:
        path: with an affine drift, or none.
        parts: its stretches, up to the end of the mesh.
        tail: P, shape (D, D), or None: at a deadline it is what this charges.
        fixed: whether the end is.
    """
    steps, forms = [], []
    for i in range(parts.count):
        begin, end = parts.begins[i], parts.ends[i]
        gap = 1e-9 * (end - begin)  # a node of this stretch that rounding has moved beside its end
        nodes = np.r_[begin, path.times[(path.times > begin + gap) & (path.times < end - gap)], end]
        t = np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2]))
        still = parts.loss.at(np.minimum(t, parts.latest(i)))
        second = Terms(path.objective, still).second(path.position(t), path.rate(t))
        forms.append([(x[1:] + x[:-1]) / 2 for x in second])
        steps.append(np.diff(t))
    speed, mixed, place = (np.concatenate(part) for part in zip(*forms, strict=True))
    if tail is None and path.objective.charge:
        tail = path.objective.charge * still.hessian(path.position(t[-1:]))[-1]
    return _positive(np.concatenate(steps), speed, mixed, place, path.objective.gamma, tail, fixed)


def _positive(
    steps: Array, speed: Array, mixed: Array, place: Array, gamma: float, tail: Array | None, fixed: bool
) -> bool:
    """Say whether the form is positive for all X with X(0) = 0; ℓ_vv, ℓ_vx, ℓ_xx on N intervals, shape (N, D, D)."""
    h, turned = steps[:, None, None], np.swapaxes(mixed, 1, 2)
    left, right = -1 / h + gamma / 4, 1 / h + gamma / 4
    start = h * (left**2 * speed + left / 2 * (mixed + turned) + place / 4)
    final = h * (right**2 * speed + right / 2 * (mixed + turned) + place / 4)
    cross = h * (left * right * speed + (right * mixed + left * turned) / 2 + place / 4)
    diagonal = final.copy()
    diagonal[:-1] += start[1:]
    if tail is not None:
        diagonal[-1] += (tail + tail.T) / 2
    if fixed:
        return len(diagonal) == 1 or blocks.factor(blocks.banded(diagonal[:-1], cross[1:-1])) is not None
    return blocks.factor(blocks.banded(diagonal, cross[1:])) is not None
