"""What every solver is given, and what every solver offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory

if TYPE_CHECKING:  # it is made of parts of the solvers
    from lossnav.trajectory.refinement import Settings

CURVED = "needs a metric that does not depend on theta"  # why a solver declines a metric that does
TIMED = "needs a loss that does not depend on time"


@dataclass(frozen=True, eq=False)
class Case:
    """One problem with its start and its end, checked.

    Attributes:
        objective, loss: the problem, of D parameters.
        theta0: start, shape (D,).
        endpoint: θ(span), shape (D,), or None.
        span: the time of ``endpoint``; without one, where the numerics cut an infinite time, or None.
    """

    objective: Objective
    loss: Loss
    theta0: Array
    endpoint: Array | None = None
    span: float | None = None

    @property
    def rests(self) -> bool:
        """Whether time is infinite: there is neither a deadline nor a fixed end."""
        return self.endpoint is None and math.isinf(self.objective.horizon)


class Solver(Protocol):
    """A way to solve a case; ``registry`` has the list.

    Attributes:
        name: what ``solve(method=…)`` and ``Trajectory.method`` call it.
    """

    name: str

    def accepts(self, case: Case) -> str:
        """Return "" for a case that it solves, else why it declines, as it follows on its name in a sentence."""
        ...

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best path that it finds.

        Raises:
            NoMinimiser: if there is none.
        """
        ...
