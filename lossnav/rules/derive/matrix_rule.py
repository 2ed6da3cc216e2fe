r"""The rule of a learner whose belief about a weight matrix knows rows and columns, as a pure function on one matrix.

In the bases of the belief every entry of Q_Lᵀ θ Q_R goes its own way, with the gains of one coordinate, as long as all
else that is assumed is the same in every basis: a decay −jθ, a price of speed that is a number, a rate of fading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.objective import Objective
from lossnav.rules import assume
from lossnav.rules.derive import bases, coordinate
from lossnav.rules.derive.rule import LearningRule
from lossnav.rules.derive.state import Believed, State


class MatrixState(NamedTuple):
    """What a rule remembers of a matrix; never changed in place.

    Attributes:
        held: the belief in the gradient, in the coordinates of the weights.
        shape: the belief about rows and columns; None for ``assume.Polar``, which keeps none.
    """

    held: State
    shape: bases.Shape | None


@dataclass(frozen=True, eq=False)
class MatrixRule(LearningRule):
    """A rule derived from a belief about matrices; made by ``lossnav.derive``, which says what the others may be.

    ``equations``, ``velocity``, ``limits`` and ``regime`` are those of one entry of Q_Lᵀ θ Q_R, and the ``curvature``
    or ``metric`` that they are asked at is V of that entry. A step takes one parameter: a matrix, or a tensor of more
    axes, which is the matrix of its first with all others.
    """

    def init(self, theta: ArrayLike) -> MatrixState:  # type: ignore[override]
        """Return the state of a learner who has seen no gradient.

        Args:
            theta: θ, shape (m, n) or (m, n₁, n₂, …).

        Raises:
            ValueError: it has another shape than the assumptions.
        """
        points = self._matrix_of(theta)
        belief = self._shape_belief
        shape = bases.blank(points.shape, belief) if belief.averages else None
        return MatrixState(super().init(points), shape)

    def __call__(  # type: ignore[override]
        self, gradient: ArrayLike, state: MatrixState, theta: ArrayLike, *, curvature: ArrayLike | None = None
    ) -> tuple[Array, MatrixState]:
        """Return the displacement Δθ of one step and the state after it.

        Args:
            gradient: g at θ, shaped like θ.
            state: from ``init`` or the step before.
            theta: θ, shape (m, n) or (m, n₁, n₂, …).
            curvature: None: it is believed from gradients.

        Raises:
            ValueError: an argument has another shape or is not finite, or the rule has no ``dt``.
        """
        if self.dt is None:
            raise ValueError("dt = None, but it must be a number > 0 for a step: derive(..., dt=...)")
        if curvature is not None:
            raise ValueError("curvature is given, but it must be None unless the curvature is a Hutchinson")
        weights = self._matrix_of(theta)
        given = _checks.array("gradient", gradient, shape=np.shape(theta))
        step, after = self._step(given.reshape(weights.shape), self._held(state, weights.shape), weights)
        return step.reshape(given.shape), after

    def _step(self, g: Array, state: MatrixState, theta: Array) -> tuple[Array, MatrixState]:
        drift = np.zeros_like(theta)
        if self.objective.drift is not None:
            drift = self.objective.drift(theta.ravel()).reshape(theta.shape)
        if state.shape is None:
            believed, held = self._look(g, state.held, None)
            return self._one_sided(drift, believed.mean, believed.slope), MatrixState(held, None)
        belief = self._shape_belief
        if state.shape.time == 0 and not (state.shape.left is None and state.shape.right is None):
            blank = np.zeros_like(theta)  # what drifts by itself does so now, too, if it needs no curvature
            step = blank if self.metric is None else self._move(drift, Believed(blank, blank, blank, blank))
            return step, MatrixState(state.held, bases.first(state.shape, g, belief))
        believed, held = self._look(g, state.held, None)
        variance, seen = bases.observed(state.shape, g, belief)
        step = self._move_in(variance, *(bases.turn(x, seen) for x in (drift, believed.mean, believed.slope)))
        return bases.turn_back(step, seen), MatrixState(held, bases.followed(seen, g, belief))

    def _one_sided(self, drift: Array, mean: Array, slope: Array) -> Array:
        """Return the step where L = mmᵀ/n, on the shorter side, is all that is believed."""
        if mean.shape[0] > mean.shape[1]:
            return self._one_sided(drift.T, mean.T, slope.T).T
        basis = bases.eigenbasis(mean @ mean.T)
        turned = basis.T @ mean
        rows = np.mean(turned**2, axis=1, keepdims=True)
        return np.asarray(basis @ self._move_in(rows, basis.T @ drift, turned, basis.T @ slope))

    def _move_in(self, variance: Array, drift: Array, mean: Array, slope: Array) -> Array:
        """Return the step of each entry in the bases."""
        believed = np.broadcast_to(variance + self._shape_belief.floor * variance.mean(), mean.shape)
        return self._move(drift, Believed(mean, slope, believed, believed))

    # ------------------------------------------------------------------------------------------------- what it is

    @cached_property
    def coordinatewise(self) -> bool:
        """True: in the bases every entry goes its own way."""
        return True

    @property
    def source(self) -> str:
        """Not there: ``optimizer`` is ``optim.BallisticMatrix``, and no text is generated.

        Raises:
            ValueError: always.
        """
        raise ValueError("source is asked of a rule for matrices, but it must be one of separate coordinates")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the ``optim.BallisticMatrix`` that ``optimizer`` returns, ``lr`` at the rule's Δt or at 1.

        Raises:
            ValueError: the optimizer knows no such plan; the reason is in the message.
        """
        return self._options(1.0 if self.dt is None else self.dt)

    def optimizer(
        self,
        params: Any,
        lr: Any = None,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> Any:
        """Return the rule as a torch optimizer, ``lossnav.optim.BallisticMatrix`` with ``options``.

        What has no rows and columns moves as with ``optim.Belief`` at the same rate, β₂ being 0.99 for ``Polar``.

        Args:
            params: parameters, or dictionaries of parameter groups.
            lr: Δt of a step, of which the optimizer's own ``lr``, which schedulers move, is a multiple; None is the
                rule's own.
            maximize: go uphill.
            foreach: True, False, or None, for what moves as with ``Belief``.
            fused: False or None: there is no such form.

        Raises:
            ValueError: as in ``options``, or an option is wrong.
        """
        import lossnav  # whose names load what they name: torch only where it is asked for

        if fused is not None and _checks.flag("fused", fused):
            raise ValueError("fused = True, but it must be False: BallisticMatrix has no kernel of its own")
        if lr is None and self.dt is None:
            raise ValueError("lr = None, but it must be a number where the rule has no dt")
        options = self._options(_checks.finite("lr", self.dt if lr is None else lr, low=0.0))
        return lossnav.optim.BallisticMatrix(params, **options, maximize=maximize, foreach=foreach)

    def _options(self, dt: float) -> dict[str, Any]:
        self._refuse_optimizer()
        belief, stiffness = self._shape_belief, self.objective.eta * self.objective.k / self._price
        gamma, fading, unit = self.objective.gamma, float(self.belief.fading), math.sqrt(belief.scale)
        options: dict[str, Any] = {
            "betas": (self.belief.beta, belief.beta if belief.averages else 0.99),
            "curvature": _KIND.get(belief.fit, belief.fit), "eps_relative": belief.floor,
        }  # fmt: skip
        if belief.averages:
            options |= {"every": belief.every, "watch": belief.watch, "max_dim": belief.max_dim,
                        "long": "identity"}  # fmt: skip
        if self.metric is not None:
            pace = stiffness / (gamma + self._decay + fading) / unit
            return {"lr": dt * pace, "weight_decay": self._decay / pace, **options}
        pace = math.sqrt(stiffness) / unit
        if gamma > 0:
            options["discount"] = gamma / (2 * math.sqrt(stiffness) * unit)
        return {"lr": dt * pace, "eps": fading / (math.sqrt(stiffness) * unit), **options}

    def _refuse_optimizer(self) -> None:
        """Raise where ``BallisticMatrix`` knows no such plan."""
        belief, objective, kind = self.belief, self.objective, type(self._shape_belief).__name__
        discounts = self.metric is None and objective.gamma > 0
        # a root of a root mean square knows no unit of m
        unitless = kind == "Polar" and not (self.metric or discounts or np.any(belief.fading))
        wrong = (
            (self.exact, "exact = True", "False: its step is of the first order"),
            (belief.trend is not None, f"belief.trend = {belief.trend}", "None"),
            (belief.share != 0, f"belief.share = {belief.share:g}", "0"),
            (not (belief.corrected or belief.beta == 0 or unitless), "belief.corrected = False", "True"),
            (objective.drift is not None and self.metric is None, f"objective.drift = {objective.drift}",
             f"None beside a curvature, by which entries decay at rates of their own (see metric={kind}(...))"),
            (self._offset, "objective.drift with an offset", "one without"),
            (discounts and bool(np.any(belief.fading)), f"belief.fading = {belief.fading:g} and gamma = "
             f"{objective.gamma:g}", "0, one of them"),
        )  # fmt: skip
        for holds, given, allowed in wrong:
            if holds:
                raise ValueError(f"optimizer is asked of a rule with {given}, but it must be {allowed}")

    # ------------------------------------------------------------------------------------------------ its numbers

    @property
    def _shape_belief(self) -> Any:
        return self.curvature if self.metric is None else self.metric

    @cached_property
    def _price(self) -> float:
        """The number that G is, beside what is believed of it."""
        return isotropic(self.objective.metric_matrix(self._size or 1)) or 1.0

    @cached_property
    def _decay(self) -> float:
        """J, in f = −jθ + const."""
        drift = self.objective.drift
        if drift is None:
            return 0.0
        assert isinstance(drift, Linear)
        return -(isotropic(drift.matrix(drift.dim or 1)) or 0.0)

    @property
    def _offset(self) -> bool:
        drift = self.objective.drift
        return isinstance(drift, Linear) and drift.dim is not None and bool(np.any(drift.offset(drift.dim)))

    @cached_property
    def _size(self) -> int | None:
        """How many weights the assumptions fit, or None where they fit every number."""
        return self.objective.dim

    @cached_property
    def _dim(self) -> None:
        return None

    def _case(self, variance: Any, ruler: Any) -> coordinate.Case:
        metric: Any = np.array(self._price)
        curvature: Any = np.array(0.0)
        if self.metric is None:
            curvature = self._shape_belief.scale * variance
        elif ruler is not None:
            metric = np.maximum(np.sqrt(self._shape_belief.scale * ruler), np.finfo(float).tiny)
        return coordinate.Case(metric, curvature, np.array(self._decay), self.belief.fading)

    def _matrix_of(self, theta: ArrayLike) -> Array:
        weights = _checks.array("theta", theta)
        if weights.ndim < 2 or weights.size == 0:
            raise ValueError(
                f"theta has shape {weights.shape}, but it must be a matrix, or have more axes: for a vector assume a "
                "SecondMoment"
            )
        if self._size not in (None, weights.size):
            raise ValueError(f"theta has {weights.size} entries, but objective acts on {self._size}")
        return weights.reshape(len(weights), -1)

    def _held(self, state: Any, shape: tuple[int, ...]) -> MatrixState:
        given = _checks.instance("state", state, MatrixState, "a MatrixState, as init and a step return it")
        kept = {np.shape(average) for average in given.held.averages.values()}
        if given.shape is not None:
            kept.add(np.shape(given.shape.variance))
        if not kept <= {shape} or (given.shape is None) is self._shape_belief.averages:
            raise ValueError(f"state is that of matrices of shape {kept}, but theta makes one of {shape}: use init")
        return given


_KIND = {"moments": "kronecker"}  # fits that the optimizer calls otherwise


def isotropic(matrix: Array) -> float | None:
    """Return the number of which a matrix is a multiple of the identity, or None."""
    number = float(matrix[0, 0])
    return number if np.array_equal(matrix, number * np.eye(len(matrix))) else None


def refuse(objective: Objective, belief: assume.Filter, curvature: Any, metric: Any) -> None:
    """Raise where what else is assumed differs between bases, so that it couples the entries."""
    believed = curvature if metric is None else metric
    name = f"{'curvature' if metric is None else 'metric'} = {type(believed).__name__}"
    if curvature is not None and metric is not None:
        raise ValueError(
            f"curvature = {type(curvature).__name__} and metric = {type(metric).__name__} do not commute, but one of "
            "them must be None where the other knows rows and columns: (G#H)⁻¹ needs one eigenbasis"
        )
    if objective.metric is not None and isotropic(objective.metric_matrix(objective.dim or 1)) is None:
        raise ValueError(
            f"objective.metric and {name} do not commute, but the metric must be a multiple of the identity: "
            "(G#H)⁻¹ needs one eigenbasis, and the belief's turns with the gradients"
        )
    if metric is not None and objective.metric is not None:
        raise ValueError("metric is given, but it must be None where objective.metric is set: both price speed")
    drift = objective.drift
    if drift is not None and not isinstance(drift, Linear):
        raise ValueError(
            f"objective.drift = {_checks.shown(drift)}, but it must be a decay −jθ where {name}: others couple the "
            "entries in its bases"
        )
    if isinstance(drift, Linear) and isotropic(drift.matrix(drift.dim or 1)) is None:
        raise ValueError(
            f"objective.drift couples the entries in the bases of {name}, but it must be a decay −jθ, the same for "
            "all weights: a Jacobian that is a multiple of the identity"
        )
    if belief.fading.ndim:
        raise ValueError(
            f"belief.fading has shape {belief.fading.shape}, but it must be a number where {name}: rates of "
            "single weights couple the entries in its bases"
        )
