"""Weights that know how uncertain they are (Sec. 6, App. I): the assumptions, and losses averaged over the weights.

``lossnav.uncertainty`` has these names and what follows from them.
"""

from __future__ import annotations

from lossnav.problem.weights.averages import Average, Hermite, Quadratic, Wells, average
from lossnav.problem.weights.potential import Potential
from lossnav.problem.weights.problem import Problem, kl_divergence

__all__ = ["Average", "Hermite", "Potential", "Problem", "Quadratic", "Wells", "average", "kl_divergence"]
