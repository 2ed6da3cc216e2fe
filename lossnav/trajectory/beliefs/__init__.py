r"""Beliefs about the loss, and the Adam-like rule that they make optimal (Sec. 5, App. H).

This is ``lossnav.belief``. The assumptions are in ``lossnav.problem.beliefs``: ``Beliefs``, which builds an
``Objective`` and a ``Loss`` and has the Euler–Lagrange equations (139, 142) and the rule (Eq. 14, ``adam``); ``memory``
and ``from_beta``, which lead from a belief model to the weights of a moving average and back; ``simulate``, the noise
behind it (Eqs. 134–137). Here are the optimal plans: ``plan`` asks ``lossnav.solve``.
"""

from __future__ import annotations

from lossnav.problem.beliefs.hidden_weights import HiddenWeights, averaged_variance, simulate
from lossnav.problem.beliefs.loss import Believed
from lossnav.problem.beliefs.memory import Memory, corrected_gains, from_beta, kalman_gains, memory
from lossnav.problem.beliefs.model import Beliefs, adam
from lossnav.problem.beliefs.observation import Exact, Prior, Simplified
from lossnav.trajectory.beliefs.plans import Plan, plan, resting_places

__all__ = [
    "Beliefs", "Believed", "Exact", "HiddenWeights", "Memory", "Plan", "Prior", "Simplified", "adam",
    "averaged_variance", "corrected_gains", "from_beta", "kalman_gains", "memory", "plan", "resting_places",
    "simulate",
]  # fmt: skip
