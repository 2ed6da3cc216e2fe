"""What a learner believes about the loss around it (Sec. 5, App. H): an Objective and a Loss, and what follows at once.

``lossnav.belief`` has these names and the optimal plans.
"""

from __future__ import annotations

from lossnav.problem.beliefs.hidden_weights import HiddenWeights, averaged_variance, simulate
from lossnav.problem.beliefs.loss import Believed
from lossnav.problem.beliefs.memory import Memory, corrected_gains, from_beta, kalman_gains, memory
from lossnav.problem.beliefs.model import Beliefs, adam
from lossnav.problem.beliefs.observation import Exact, Prior, Simplified

__all__ = [
    "Beliefs",
    "Believed",
    "Exact",
    "HiddenWeights",
    "Memory",
    "Prior",
    "Simplified",
    "adam",
    "averaged_variance",
    "corrected_gains",
    "from_beta",
    "kalman_gains",
    "memory",
    "simulate",
]
