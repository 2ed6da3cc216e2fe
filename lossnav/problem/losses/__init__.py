"""Loss landscapes L(θ): value, gradient, Hessian and, where there is one, the formula for sympy.

Every method accepts leading batch axes: θ of shape (..., D) gives a value of shape (...), a gradient of shape
(..., D) and a Hessian of shape (..., D, D).
"""

from __future__ import annotations

from lossnav.problem.losses.analytic import DoubleWell, Quadratic, Rosenbrock
from lossnav.problem.losses.base import Loss, Section
from lossnav.problem.losses.function import Function

__all__ = ["DoubleWell", "Function", "Loss", "Quadratic", "Rosenbrock", "Section"]
__dir__ = __all__.copy
