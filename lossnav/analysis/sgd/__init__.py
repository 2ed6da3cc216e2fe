r"""Where SGD goes when it has arrived: the limiting dynamics of SGD with momentum near a minimum.

Along each eigendirection of the Hessian, SGD is a damped oscillator (``Mode``) that is kicked by the noise of its
batches. It does not come to rest: it has a stationary law (``stationary``), a constant ``speed``, a current that
turns for ever (``circulation``), and a mean squared ``displacement`` that grows like no plain diffusion.
``OrnsteinUhlenbeck`` is the general linear process, ``regression`` SGD as one of it, ``decompose`` and ``covariance``
their matrices. ``simulate`` runs the recursion or the SDE, and ``fluctuation_dissipation`` is an identity that every
record of SGD obeys.

η is the learning rate, β the momentum, S the batch, λ the decay; time is t = ηk after k steps. The velocity is minus
torch's momentum buffer.
"""

from __future__ import annotations

from lossnav.analysis.sgd.diffusion import OrnsteinUhlenbeck, covariance, decompose, regression
from lossnav.analysis.sgd.laws import circulation, displacement, exponent, speed, stationary
from lossnav.analysis.sgd.oscillator import Mode, matched_velocity
from lossnav.analysis.sgd.runs import FluctuationDissipation, fluctuation_dissipation, simulate

__all__ = [
    "FluctuationDissipation",
    "Mode",
    "OrnsteinUhlenbeck",
    "circulation",
    "covariance",
    "decompose",
    "displacement",
    "exponent",
    "fluctuation_dissipation",
    "matched_velocity",
    "regression",
    "simulate",
    "speed",
    "stationary",
]
