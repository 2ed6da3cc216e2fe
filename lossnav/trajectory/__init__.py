"""Optimal trajectories: the closed form, the Riccati feedback, direct minimisation of J, and independent oracles."""

from __future__ import annotations

from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import optimal_velocity, solve, value

__all__ = ["Trajectory", "optimal_velocity", "solve", "value"]
