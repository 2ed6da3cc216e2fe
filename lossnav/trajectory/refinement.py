"""From a discretised minimum to a trajectory: corrected to high order, on a finer mesh where that is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lossnav.problem.functions import budget
from lossnav.trajectory import newton
from lossnav.trajectory.equations import ORDER, Extremal, corrected
from lossnav.trajectory.mesh import most_steps
from lossnav.trajectory.nodal import trajectory_of
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_FIRST = 64  # intervals of a first mesh, if their number is fixed
_FINER = 4  # times at most: from a coarse mesh the estimate is not yet that of its order


@dataclass(frozen=True)
class Settings:
    """Accuracy: ``steps`` fixes the mesh, else it is refined until J and path are known to ``rtol``."""

    steps: int | None = None
    rtol: float = 1e-8

    @property
    def first(self) -> int | None:
        """Intervals of a first mesh; None: as many as it asks for."""
        return None if self.steps is None else min(self.steps, _FIRST)


def refine(problem: Transcription, found: newton.Minimum, settings: Settings) -> Trajectory:
    """Make a Trajectory of a coarse solution: on the mesh that is asked for, or on finer ones until it is exact.

    On the former it is the sum's own path.
    """
    if settings.steps is not None:
        while settings.steps != problem.steps and not budget.spent():
            near = settings.steps <= 16 * problem.steps
            problem, found = _on(problem, found, settings.steps if near else 8 * problem.steps)
        return _given(problem, found)
    most, rtol, failures = most_steps(found.path.shape[1]), settings.rtol, 0
    if problem.overdamped and replace(problem, steps=most).overdamped:
        most = 0
    best = _corrected(problem, found, rtol)
    while best is None or best.wrong(rtol) > rtol:
        failures = 0 if found.converged else failures + 1
        more = _times_finer(best, rtol)
        if more * problem.steps > most or failures > 1 or budget.spent():
            break
        budget.stage(f"{more * problem.steps:,} steps")
        problem, found, best = _finer(problem, found, best, more, rtol)
    if best is None:
        status = Status.OVERDAMPED if problem.overdamped else Status.GRID_TOO_COARSE
        detail = f"of {problem.steps} steps none leads to a path that obeys the equations; give steps="
        return trajectory_of(problem, found, status=status, detail=detail)
    found = replace(found, path=best.path, residual=best.residual, converged=True, definite=True)
    status, detail, wrong = Status.CONVERGED, "", best.wrong(rtol)
    if wrong > rtol:
        status = Status.GRID_TOO_COARSE
        detail = f"{problem.steps} steps leave an error of {wrong:.3g} (relative); give steps= or a larger rtol="
    return trajectory_of(
        problem, found, stencils=best.fine.stencils, action=best.action, error=best.error, status=status, detail=detail
    )


def _corrected(problem: Transcription, found: newton.Minimum, rtol: float) -> Extremal | None:
    """Return the extremal beside a minimum of the sum, if there is one."""
    return corrected(problem, found.path, found.curvature, rtol, found.slope) if found.converged else None


def _times_finer(best: Extremal | None, rtol: float) -> int:
    """Return how many times finer a mesh is to be, by the error of this one."""
    if best is None:
        return 2
    return int(np.clip(math.ceil((best.wrong(rtol) / rtol) ** (1 / (ORDER - 2))), 2, _FINER))


def _finer(
    problem: Transcription, found: newton.Minimum, best: Extremal | None, more: int, rtol: float
) -> tuple[Transcription, newton.Minimum, Extremal | None]:
    """Return the problem on a finer mesh with its minimum and extremal.

    It begins with the extremal of the coarser mesh; where there is none, or it leads to none, with Newton's method. If
    the budget ends on the way, what there was stays.
    """
    finer = replace(problem, steps=more * problem.steps)
    curvature = problem.curve((best or found).curvature)(finer.times)
    if best is None:
        path, better = problem.curve(found.path)(finer.times), None
    else:
        path = best.fine.stencils.curve(best.path)(finer.times)
        better = corrected(finer, path, curvature, rtol)
    if better is not None:
        return finer, replace(found, path=better.path, curvature=better.curvature), better
    if budget.spent():
        return problem, found, best
    found = newton.minimise(finer, path, curvature if best is not None or found.converged else None)
    return finer, found, _corrected(finer, found, rtol)


def _given(problem: Transcription, found: newton.Minimum) -> Trajectory:
    """Make a Trajectory of the sum's own path; of an even number of steps with J to fourth order.

    The sum over every second node of that path has four times the error, but for what a path's error makes of a least
    value, which is its square: no other path is solved for.
    """
    if problem.steps % 2:
        return trajectory_of(problem, found)
    half = replace(problem, steps=problem.steps // 2)
    action = (4 * found.action - half.action(found.path[::2])) / 3
    return trajectory_of(problem, found, action=action, error=abs(action - found.action))


def _on(problem: Transcription, found: newton.Minimum, steps: int) -> tuple[Transcription, newton.Minimum]:
    """Return the minimum on another number of steps."""
    other = replace(problem, steps=steps)
    curvature = problem.curve(found.curvature)(other.times) if found.converged else None
    return other, newton.minimise(other, problem.curve(found.path)(other.times), curvature)
