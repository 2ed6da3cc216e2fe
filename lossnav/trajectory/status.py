"""How a search for the best path may end: code decides on the members, people read their words."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How the search for a path ended; the value says it in words, to which ``Trajectory.detail`` adds the numbers."""

    CONVERGED = "converged"
    NO_EXTREMAL = "no extremal from theta0 that comes to rest at this place was found"
    CONJUGATE_POINT = "a conjugate point: the path is stationary but not a minimum"
    NEWTON_STOPPED = "Newton's method stopped before it met its tolerance"
    COLLOCATION_STOPPED = "collocation stopped before it met its tolerance"
    GRID_TOO_COARSE = "doubling the grid still changes the result"
    OVERDAMPED = "strongly overdamped: no grid resolves the discount"
    LEFT_DOMAIN = "the path leaves the domain of the metric"
    ENERGY_BROKEN = "the path breaks gamma·J = k·L(theta0) − |velocity|²/2·eta"
    SEARCH_INCOMPLETE = "the search for places to rest is not complete"
    DEADLINE_TOO_EARLY = "the best path found need not come to rest, and a later deadline may still change J"
    CHEAPER_UNSOLVED = "a path that did not converge costs less"
    RUNS_AWAY = "a path that runs away costs less"
    NEVER_RESTS = "a path that never comes to rest costs less"
    BUDGET_SPENT = "the search ended before all was compared"

    def said(self, detail: str = "") -> str:
        """Return the words, with the numbers of one path behind them; empty for ``CONVERGED``."""
        if self is Status.CONVERGED:
            return ""
        return f"{self.value}: {detail}" if detail else self.value
