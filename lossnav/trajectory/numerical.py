"""The two numerical methods for any loss, any drift and a constant metric, as solvers.

Both only look for paths that come to rest, if there is no deadline; so both are checked against paths that never do.
"""

from __future__ import annotations

from collections.abc import Callable

from lossnav.trajectory import action, boundary_value, wandering
from lossnav.trajectory.case import CURVED, TIMED, Case
from lossnav.trajectory.refinement import Settings
from lossnav.trajectory.result import Trajectory


class Action:
    """Newton's method on the discretised J, refined until it is accurate."""

    name = "action"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return CURVED if case.objective.curved else TIMED if case.loss.timed else ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""

        def resting() -> Trajectory:
            return action.solve(
                case.objective, case.loss, case.theta0, horizon=case.span, endpoint=case.endpoint, settings=settings
            )

        return _checked(case, resting)


class Collocation:
    """scipy's collocation, an independent check; ``settings`` do not concern it."""

    name = "bvp"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return CURVED if case.objective.curved else TIMED if case.loss.timed else ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""

        def resting() -> Trajectory:
            return boundary_value.solve(
                case.objective, case.loss, case.theta0, horizon=case.span, endpoint=case.endpoint
            )

        return _checked(case, resting)


def _checked(case: Case, resting: Callable[[], Trajectory]) -> Trajectory:
    if case.endpoint is not None:
        return resting()
    return wandering.checked(case.objective, case.loss, case.theta0, resting)
