r"""Weights that know how uncertain they are: optimal control of Gaussian weight distributions (Sec. 6, App. I).

.. math:: J = \int_0^\infty e^{-\gamma t}\Big\{\tfrac1{2\eta}\sum_i\Big[\frac{\dot\mu_i^2}{v_i}
    + \frac{\dot v_i^2}{2v_i^2}\Big] + k\,\bar L(\mu,v) - \tfrac{\lambda_S}2\sum_i\ln v_i\Big\}\,dt

``Problem`` holds the assumptions; ``average`` turns a loss into its mean over the weights; the equations of motion are
in ``equations``, their overdamped limit in closed form in ``overdamped``, and optimal plans, with tasks that
switch, come from ``plan``.
"""

from __future__ import annotations

from lossnav.uncertainty.averages import Average, Hermite, Quadratic, Wells, average
from lossnav.uncertainty.equations import acceleration, drive, force, log_acceleration, momentum, overdamped_rate
from lossnav.uncertainty.geodesics import distance, geodesic
from lossnav.uncertainty.overdamped import (
    equilibrium_variance,
    overdamped_offset,
    overdamped_path,
    overdamped_variance,
    relaxation_rate,
)
from lossnav.uncertainty.plans import Plan, plan
from lossnav.uncertainty.problem import Problem, kl_divergence

__all__ = [
    "Average",
    "Hermite",
    "Plan",
    "Problem",
    "Quadratic",
    "Wells",
    "acceleration",
    "average",
    "distance",
    "drive",
    "equilibrium_variance",
    "force",
    "geodesic",
    "kl_divergence",
    "log_acceleration",
    "momentum",
    "overdamped_offset",
    "overdamped_path",
    "overdamped_rate",
    "overdamped_variance",
    "plan",
    "relaxation_rate",
]
