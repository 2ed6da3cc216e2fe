r"""Beliefs about the loss, and the Adam-like rule that they make optimal (Sec. 5, App. H).

``memory`` and ``from_beta`` lead from a belief model to the weights of a moving average and back. ``Beliefs`` holds the
assumptions, the objective and the Euler–Lagrange equations (139, 142); ``plan`` solves them as a boundary-value
problem. ``Beliefs.step`` and ``adam`` are the rule (Eq. 14), ``simulate`` is the noise behind it (Eqs. 134–137).
"""

from __future__ import annotations

from lossnav.belief.hidden_weights import HiddenWeights, averaged_variance, simulate
from lossnav.belief.memory import Memory, corrected_gains, from_beta, kalman_gains, memory
from lossnav.belief.model import Beliefs, adam
from lossnav.belief.observation import Exact, Prior, Simplified
from lossnav.belief.plans import Plan, plan, resting_places

__all__ = [
    "Beliefs",
    "Exact",
    "HiddenWeights",
    "Memory",
    "Plan",
    "Prior",
    "Simplified",
    "adam",
    "averaged_variance",
    "corrected_gains",
    "from_beta",
    "kalman_gains",
    "memory",
    "plan",
    "resting_places",
    "simulate",
]
