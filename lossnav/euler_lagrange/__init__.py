r"""The symbolic part: from the Lagrangian to the Euler–Lagrange equations, as formulas, LaTeX and callables.

The module can itself be called, so that ``lossnav.euler_lagrange(objective, loss)`` means the same before and
after ``import lossnav.euler_lagrange``. With free symbols:

    >>> from lossnav.euler_lagrange import derive
    >>> derive(1, loss=lambda theta: theta[0] ** 2 / 2).equations
    [Eq(-gamma*Derivative(theta(t), t) + Derivative(theta(t), (t, 2)), eta*k*theta(t))]
"""

from __future__ import annotations

import sys
from typing import Any

from lossnav import _lazy
from lossnav.euler_lagrange.charged import Charged
from lossnav.euler_lagrange.derivation import Derivation, derive
from lossnav.euler_lagrange.equations import EulerLagrange
from lossnav.problem.losses import Loss
from lossnav.problem.losses.function import Formula, Function, is_expression
from lossnav.problem.objective import Objective, check_objective

__all__ = ["Derivation", "EulerLagrange", "derive", "euler_lagrange"]


def euler_lagrange(objective: Objective, loss: Loss | Formula) -> EulerLagrange:
    r"""Derive the Euler–Lagrange equations of J on a loss.

    .. math::
        \frac{d}{dt}\frac{\partial\mathcal L}{\partial\dot\theta_i}
            = \frac{\partial\mathcal L}{\partial\theta_i}, \qquad
        \mathcal L = e^{-\gamma t}\Big\{\tfrac1{2\eta}|\dot\theta-f(\theta)|_{G(\theta)}^2 + kL(\theta)\Big\}

    Args:
        objective: η, k, γ, the drift, and the metric: None, an array, or a callable G(θ), with its connection
            terms. A callable is tried on sympy symbols first; numeric code works too, with derivatives by
            differences. With a price, which must be smooth, the equations are its own: of fourth order where
            acceleration is charged, whose ``.snap`` is what ``.acceleration`` is elsewhere.
        loss: from ``lossnav.losses``, where ``losses.Function(f, dim=D)`` makes one of a function; without a formula it
            stays L(θ_1, …) in the equations. Or a formula of sympy, whose symbols are θ by name.

    Returns:
        An ``EulerLagrange``: ``.equations``, ``.latex``, ``.acceleration(theta, velocity, t)`` and
        ``.residual(traj)``.

    Raises:
        ValueError: if metric, drift and loss differ in dimension, or the metric is not symmetric (D, D).

    Example:
        >>> import lossnav as ln
        >>> loss = ln.losses.Quadratic([[2.0]], minimum=[0.0])
        >>> ln.euler_lagrange(ln.Objective(gamma=0.1), loss).acceleration([1.0], [-1.0])
        array([1.9])

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 36–37, 68, 90, 96–99.
    """
    check_objective(objective, priced=True)
    landscape: Any = Function(loss) if is_expression(loss) else loss
    return EulerLagrange(objective, landscape) if objective.price is None else Charged(objective, landscape)


class CallableModule(_lazy.CallableModule):
    """Lets the name ``lossnav.euler_lagrange`` be the module and the function at once."""

    def __call__(self, objective: Objective, loss: Loss | Formula) -> EulerLagrange:
        return euler_lagrange(objective, loss)


CallableModule.__call__.__doc__ = euler_lagrange.__doc__
sys.modules[__name__].__class__ = CallableModule
