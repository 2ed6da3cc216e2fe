"""Path → step: learning rules as pure functions of gradient, curvature and time."""

from lossnav.rules import assume
from lossnav.rules.acceleration import acceleration_gains, acceleration_step, patience
from lossnav.rules.cooling import Cooling, cooling, kalman_rates
from lossnav.rules.deadline import LossWeight, deadline_rate, loss_weight
from lossnav.rules.inconsistent import hyperbolic_rate, quasi_hyperbolic
from lossnav.rules.noise import prior_shrink, shrink
from lossnav.rules.relative import keep_norm, relative_step
from lossnav.rules.step import ballistic, gradient_descent, newton, rates, update

__all__ = [
    "Cooling",
    "LossWeight",
    "acceleration_gains",
    "acceleration_step",
    "assume",
    "ballistic",
    "cooling",
    "deadline_rate",
    "gradient_descent",
    "hyperbolic_rate",
    "kalman_rates",
    "keep_norm",
    "loss_weight",
    "newton",
    "patience",
    "prior_shrink",
    "quasi_hyperbolic",
    "rates",
    "relative_step",
    "shrink",
    "update",
]
