"""Path → step: learning rules as pure functions of gradient, curvature and time."""

from lossnav.rules import assume, recipe
from lossnav.rules.noise import prior_shrink, shrink
from lossnav.rules.relative import keep_norm, relative_step
from lossnav.rules.step import ballistic, gradient_descent, newton, rates, update

__all__ = [
    "assume",
    "ballistic",
    "gradient_descent",
    "keep_norm",
    "newton",
    "prior_shrink",
    "rates",
    "recipe",
    "relative_step",
    "shrink",
    "update",
]
