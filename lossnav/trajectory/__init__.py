"""Optimal trajectories: the closed form, the Riccati feedback, direct minimisation of J, and independent oracles."""

from __future__ import annotations

from lossnav.trajectory.compare import Comparison, compare
from lossnav.trajectory.regret import alignment
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import methods, optimal_acceleration, optimal_velocity, solve, value
from lossnav.trajectory.status import Status

__all__ = [
    "Comparison",
    "Status",
    "Trajectory",
    "alignment",
    "compare",
    "methods",
    "optimal_acceleration",
    "optimal_velocity",
    "solve",
    "value",
]
