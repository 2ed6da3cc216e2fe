"""Path → step: learning rules as pure functions of gradient, curvature and time."""

from lossnav.rules import assume, recipe
from lossnav.rules.step import ballistic, gradient_descent, newton, rates, update

__all__ = ["assume", "ballistic", "gradient_descent", "newton", "rates", "recipe", "update"]
