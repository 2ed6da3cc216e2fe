r"""The rule itself: memory × preconditioner × decay, in continuous time and in steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.rules.recipe.decay import Decoupled, Prior
from lossnav.rules.recipe.memory import Given, Memory, Sampled, Seen
from lossnav.rules.recipe.preconditioner import Newton, Plan
from lossnav.rules.recipe.state import Draws, State, blank, checked, drawn
from lossnav.rules.recipe.uncertainty import Blur, Renewal

_NO_DRAWS = Draws()


class _Motion(NamedTuple):
    """The mean velocity over a step Δt, or the velocity at a moment (Δt = 0), and what was seen for it."""

    velocity: Array
    seen: Seen


@dataclass(frozen=True)
class Recipe:
    r"""A learning rule: θ̇ = −s(V)·(m + pull of a prior) − wθ, with m and V from a memory.

    All arrays are float64 and of one shape, that of θ; every coordinate goes its own way.

    Args:
        preconditioner: ``Plan`` or ``Newton``, s(V).
        memory: ``Memory``: how m and V come from the gradients.
        decay: ``Decoupled`` or ``Prior``.
        dt: Δt > 0, the time that a step takes. All time constants and rates of the pieces are in its unit.
        maximize: go uphill: gradients and given curvatures are negated first.
        blur: None or a ``Blur``; for ``Newton``.
        renewal: None or a ``Renewal``; for ``Newton`` with a ``Prior``.

    Raises:
        ValueError: an argument is of another kind, or a piece needs another one that is missing.

    Example:
        >>> import numpy as np
        >>> from lossnav.rules import recipe
        >>> adam = recipe.Recipe(
        ...     recipe.Plan(0.001, fading=1e-8),
        ...     recipe.Memory(
        ...         recipe.Filter.of_weight(0.9, corrected=True), recipe.Filter.of_weight(0.999, corrected=True)
        ...     ),
        ... )
        >>> theta = np.array([3.0, -1.0])
        >>> step, state = adam.update([6.0, -0.02], adam.init(theta), theta)
        >>> step.round(6)
        array([-0.001,  0.001])
        >>> adam.velocity([6.0, -0.02], adam.init(theta), theta).round(6)
        array([-0.001,  0.001])

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 12–16, 33, 148.
    """

    preconditioner: Plan | Newton
    memory: Memory = field(default_factory=Memory)
    decay: Decoupled | Prior = field(default_factory=Decoupled)
    dt: float = 1.0
    maximize: bool = False
    blur: Blur | None = None
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        _checks.instance("preconditioner", self.preconditioner, (Plan, Newton), "a Plan or a Newton")
        _checks.instance("memory", self.memory, Memory, "a Memory")
        _checks.instance("decay", self.decay, (Decoupled, Prior), "a Decoupled or a Prior")
        _checks.instance("blur", self.blur, (Blur, type(None)), "None or a Blur")
        _checks.instance("renewal", self.renewal, (Renewal, type(None)), "None or a Renewal")
        object.__setattr__(self, "dt", _checks.positive("dt", self.dt))
        object.__setattr__(self, "maximize", _checks.flag("maximize", self.maximize))
        if isinstance(self.preconditioner, Plan):
            users = {"memory.datum is Sampled": isinstance(self.memory.datum, Sampled), "blur is set": self.blur,
                     "renewal is set": self.renewal}  # fmt: skip
            for user in (words for words, present in users.items() if present):
                raise ValueError(f"preconditioner is a Plan, but it must be a Newton where {user}: it has no precision")
        if self.renewal is not None and not isinstance(self.decay, Prior):
            raise ValueError("decay is Decoupled, but it must be a Prior where renewal is set: it says what is drawn")

    def at(self, dt: float) -> Recipe:
        """Return the same rule with steps of another length; memory, rates and decay stay what they are in time."""
        return replace(self, dt=dt)

    def init(self, theta: ArrayLike) -> State:
        """Return the state of a learner who has seen no gradient, for parameters θ of any shape."""
        return blank(_checks.array("theta", theta).shape)

    def update(
        self, gradient: ArrayLike, state: State, theta: ArrayLike, *, curvature: ArrayLike | None = None,
        draws: Draws = _NO_DRAWS,
    ) -> tuple[Array, State]:  # fmt: skip
        """Return the displacement Δθ of one step and the state after it; nothing is changed in place.

        Args:
            gradient: g at θ (or, with ``Sampled``, at θ + z/√p), finite, shaped like θ.
            state: from ``init`` or the step before.
            theta: θ, finite, any shape.
            curvature: for ``Given``: an estimate of the Hessian's diagonal, shaped like θ, or None where none was made
                in this step (not in the first). Elsewhere None.
            draws: random numbers, for ``Sampled`` and ``Renewal``.

        Returns:
            Δθ, shaped like θ, and the new ``State``.

        Raises:
            ValueError: an argument has another shape, is not finite, or is missing.
        """
        g, held, weights, given, found = self._checked(gradient, state, theta, curvature, draws, jumps=True)
        velocity, seen = self._move(g, held, weights, self.dt, given, found)
        step = self.dt * velocity
        V, drift, age = seen.curvature, held.drift, held.age + self.dt
        if self.blur is not None:
            drift = self.blur.drift._advance(drift, velocity, self.dt)
            V = self.blur._blurred(V, drift, self.preconditioner.floor, self.dt)
        if self.renewal is not None and isinstance(self.decay, Prior):
            floor = self.preconditioner.floor
            chosen = self.renewal._chosen(V, age, floor, found.uniform, self.dt)
            step = np.where(chosen, self.decay.mean + found.normal / np.sqrt(floor) - weights, step)
            V, drift, age = (np.where(chosen, 0.0, x) for x in (V, drift, age))
        return step, State(seen.mean, seen.time, V, seen.observed, drift, age)

    def velocity(
        self, gradient: ArrayLike, state: State, theta: ArrayLike, *, curvature: ArrayLike | None = None,
        draws: Draws = _NO_DRAWS,
    ) -> Array:  # fmt: skip
        """Return θ̇ at this moment, the limit of ``update(...)[0]/dt`` as dt → 0; renewals are no part of it.

        Arguments and errors are those of ``update``. Before anything was seen a corrected average is its datum.
        """
        g, held, weights, given, found = self._checked(gradient, state, theta, curvature, draws)
        return self._move(g, held, weights, 0.0, given, found).velocity

    def state_rate(
        self, gradient: ArrayLike, state: State, theta: ArrayLike, *, curvature: ArrayLike | None = None,
        draws: Draws = _NO_DRAWS,
    ) -> State:  # fmt: skip
        """Return the derivative of the state in time, entry by entry; an average without memory (τ = 0) has rate 0.

        Arguments and errors are those of ``update``. A filter without memory is no state: ``velocity`` takes the datum.
        """
        g, held, weights, given, found = self._checked(gradient, state, theta, curvature, draws)
        velocity, seen = self._move(g, held, weights, 0.0, given, found)
        zero = np.zeros_like(weights)
        V = zero if seen.datum is None else self.memory.curvature._rate(held.curvature, seen.datum)
        drift = zero
        if self.blur is not None:
            u = self.blur.drift._advance(held.drift, velocity, 0.0)
            V = self.blur._rate(held.curvature, V, u, self.preconditioner.floor)
            drift = self.blur.drift._rate(held.drift, velocity)
        mean = self.memory.mean._rate(held.mean, g)
        return State(mean, 1.0, V, 0.0 if seen.datum is None else 1.0, drift, np.ones_like(weights))

    def _move(
        self, gradient: Array, state: State, theta: Array, dt: float, given: Array | None, draws: Draws
    ) -> _Motion:
        """Return the mean velocity over Δt: the one definition behind both clocks."""
        seen = self.memory._look(gradient, state, dt, self.preconditioner.floor, given, draws.sample)
        signal = seen.signal + self.decay._force(theta)
        velocity = self.decay._velocity(theta, dt) - self.preconditioner._gain(seen.variance, dt) * signal
        return _Motion(self.preconditioner._limited(velocity, seen.variance), seen)

    def _checked(
        self, gradient: ArrayLike, state: Any, theta: ArrayLike, curvature: ArrayLike | None, draws: Any,
        jumps: bool = False,
    ) -> tuple[Array, State, Array, Array | None, Draws]:  # fmt: skip
        """Return the arguments as arrays of one shape, pointing downhill."""
        weights = _checks.array("theta", theta)
        shape, sign = weights.shape, -1.0 if self.maximize else 1.0
        g = sign * _checks.array("gradient", gradient, shape=shape)
        held = checked(state, shape)
        given = None
        if curvature is not None:
            if not isinstance(self.memory.datum, Given):
                raise ValueError("curvature is given, but it must be None unless memory.datum is Given")
            given = sign * _checks.array("curvature", curvature, shape=shape)
        _checks.instance("draws", draws, Draws, "Draws(...)")
        found = {}
        if isinstance(self.memory.datum, Sampled):
            found["sample"] = drawn("sample", draws.sample, shape, "the datum Sampled")
        if jumps and self.renewal is not None:
            found["uniform"] = drawn("uniform", draws.uniform, shape, "a renewal")
            found["normal"] = drawn("normal", draws.normal, shape, "a renewal")
        return g, held, weights, given, Draws(**found)
