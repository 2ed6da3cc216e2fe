"""Path → step: learning rules as pure functions of gradient, curvature and time."""

from lossnav.rules import recipe
from lossnav.rules.step import ballistic, gradient_descent, newton, rates, update

__all__ = ["ballistic", "gradient_descent", "newton", "rates", "recipe", "update"]
