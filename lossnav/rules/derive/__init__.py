r"""From assumptions to a rule: what is wanted (an ``Objective``) and what is believed (``lossnav.assume``) → the step.

A learner minimises :math:`E\,J` where the loss is quadratic about θ, its gradient is hidden, and what is believed of it
goes on as E[a(t)] = e^{−𝐀t}m. Metric, discount, curvature and drift then act through the gains of a Riccati equation,
beliefs through the posterior mean alone, and the fading 𝐀 is the only thing that crosses over:

.. math::
    \dot\theta = f - \eta G^{-1}[\Pi m + s],\quad
    \gamma P = kH + J^\top P + PJ - \eta PG^{-1}P,\quad M\Pi + \Pi\mathbf A = kI,\quad Ms = Pf,\quad
    M = \gamma I - J^\top + \eta PG^{-1}.

That is a theorem where H, noise and 𝐀 are known. A curvature that is estimated (``SecondMoment``, ``Hutchinson``) or a
metric that is (``RootMeanSquare``) is put in as if it were known: a plug-in. So are beliefs about weight matrices
(``Kronecker``, ``Eigenbasis``, ``Polar``), whose rules are those of one coordinate in their bases.
"""

from lossnav.rules.derive.derivation import derive
from lossnav.rules.derive.published import Reading, explain
from lossnav.rules.derive.regime import Regime, RegimeWarning
from lossnav.rules.derive.rule import LearningRule, Limit
from lossnav.rules.derive.state import State

__all__ = [
    "LearningRule",
    "Limit",
    "Reading",
    "Regime",
    "RegimeWarning",
    "State",
    "derive",
    "explain",
]
