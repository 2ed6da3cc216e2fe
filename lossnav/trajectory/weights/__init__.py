"""Weights that know how uncertain they are: optimal control of Gaussian weight distributions (Sec. 6, App. I).

This is ``lossnav.uncertainty``. The assumptions are in ``lossnav.problem.weights``: ``Problem``, which says J, and
``average``, which turns a loss into its mean over the weights. Here are their consequences: equations of motion, the
overdamped limit in closed form, and optimal plans, with tasks that switch, from ``plan``.
"""

from __future__ import annotations

from lossnav.problem.metrics.geodesics import distance, geodesic
from lossnav.problem.weights.averages import Average, Hermite, Quadratic, Wells, average
from lossnav.problem.weights.potential import Potential
from lossnav.problem.weights.problem import Problem, kl_divergence
from lossnav.trajectory.weights.equations import acceleration, log_acceleration, overdamped_rate
from lossnav.trajectory.weights.overdamped import (
    equilibrium_variance,
    overdamped_offset,
    overdamped_path,
    overdamped_variance,
    relaxation_rate,
)
from lossnav.trajectory.weights.plans import Plan, plan

__all__ = [
    "Average", "Hermite", "Plan", "Potential", "Problem", "Quadratic", "Wells", "acceleration", "average", "distance",
    "equilibrium_variance", "geodesic", "kl_divergence", "log_acceleration", "overdamped_offset", "overdamped_path",
    "overdamped_rate", "overdamped_variance", "plan", "relaxation_rate",
]  # fmt: skip
