r"""A learning rule as memory × preconditioner × decay: pure functions on arrays, one definition for two clocks.

Each piece says what it does in continuous time, and what it does in a step Δt follows from that: a leaky average
τẋ = y − x takes the weight β = e^{−Δt/τ} of its past, and a velocity −s m that is linear in what has been moved,
θ̇ = −s(m + hδ), takes the exact step −(1 − e^{−shΔt})/h · m. What is not linear takes a step of first order. So
``Recipe.update(...)``/Δt tends to ``Recipe.velocity(...)`` as Δt → 0, and the states follow ``Recipe.state_rate``.

* memory: a ``Filter`` of the gradient and one of a datum of curvature (``SecondMoment``, ``Centred``, ``Innovation``,
  ``Sampled``, or ``Given`` from outside), with or without bias correction;
* preconditioner: ``Plan``, the optimal rate of a learner who looks ahead (ballistic, Adam, discounted, overdamped,
  Eq. 6), or ``Newton``, the inverse of a precision;
* decay: ``Decoupled`` weight decay, or the pull of a ``Prior``;
* for weights that are uncertain, two ways to become so again: ``Blur`` and ``Renewal``.

Nothing here draws random numbers: what a rule needs of them comes in as ``Draws``. The torch optimizers of
``lossnav.optim`` state theirs: ``optimizer.recipe()``.
"""

from lossnav.rules.recipe.decay import Decoupled, Prior
from lossnav.rules.recipe.memory import Centred, Datum, Filter, Given, Innovation, Memory, Sampled, SecondMoment
from lossnav.rules.recipe.preconditioner import Newton, Plan
from lossnav.rules.recipe.rule import Recipe
from lossnav.rules.recipe.state import Draws, State
from lossnav.rules.recipe.uncertainty import Blur, Renewal

__all__ = [
    "Blur",
    "Centred",
    "Datum",
    "Decoupled",
    "Draws",
    "Filter",
    "Given",
    "Innovation",
    "Memory",
    "Newton",
    "Plan",
    "Prior",
    "Recipe",
    "Renewal",
    "Sampled",
    "SecondMoment",
    "State",
]
