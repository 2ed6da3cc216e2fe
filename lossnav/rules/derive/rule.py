"""The rule that follows from assumptions, as a pure function on arrays, with its limits and its regime."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav._shown import Shown, call
from lossnav.problem.drifts import Linear
from lossnav.problem.objective import Objective
from lossnav.rules.assume import Filter
from lossnav.rules.assumption import Curvature, Metric
from lossnav.rules.bases import turn, turn_back
from lossnav.rules.derive import arrays, charged, coordinate, in_bases
from lossnav.rules.derive.regime import Regime, compared
from lossnav.rules.derive.source import written
from lossnav.rules.derive.state import ArrayLook, Believed, State, checked, look

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim.optimizer import Optimizer, ParamsT


class Limit(NamedTuple):
    """A named limit: what it assumes, its gain and what it drops.

    The gain is a velocity per m, and for Newton a displacement per m. ``neglected`` is the relative size of the term
    left out: gain of the limit / gain of the rule − 1.
    """

    assumption: str
    gain: Array
    neglected: Array


@dataclass(frozen=True, eq=False)
class LearningRule(Shown):
    """A rule derived from assumptions; made by ``lossnav.derive``, which says what they may be.

    Where the belief knows rows and columns, ``equations``, ``velocity``, ``limits`` and ``regime`` are those of one
    entry of Q_Lᵀ θ Q_R, and the ``curvature`` or ``metric`` that they are asked at is V of that entry. A step takes one
    parameter then: a matrix, or a tensor of more axes, which is the matrix of its first with all others.

    Where something else than |θ̇|²/2η is charged, ``price`` says what, and ``objective`` is that of the rule without it,
    except where acceleration is charged and the velocity remembered. ``averaging`` is the rate, unit 1/T, at which a
    walker's weights are averaged; it is 0 where they are not.
    """

    objective: Objective
    belief: Filter
    curvature: Curvature | None = None
    metric: Metric | None = None
    dt: float | None = None
    exact: bool = False
    price: Any = None
    averaging: float = 0.0

    _drawing: ClassVar[str] = "rule"

    def __repr__(self) -> str:
        return call(self)

    def _facts(self) -> dict[str, Any]:
        """Return the rule as it is written, its step and what it remembers."""
        law = str(self.velocity) if self.coordinatewise and self.price is None else None
        return {"velocity": law, "gamma": self.objective.gamma, "dt": self.dt, "memory": list(self.memory)}

    def _repr_png_(self) -> None:
        """Leave the page of the rule to its report."""

    def init(self, theta: ArrayLike) -> State:
        """Return the state of a learner who has seen no gradient.

        Args:
            theta: θ, of any shape; (m, n) or (m, n₁, n₂, …) where the belief knows rows and columns.

        Raises:
            ValueError: it has another shape than the assumptions.
        """
        averages = {name: np.zeros(shape) for name, shape in self._remembered(self._weights(theta).shape).items()}
        _checks.frozen(*averages.values())
        return State(0, 0, averages)

    @property
    def memory(self) -> tuple[str, ...]:
        """The names of the averages that the assumptions keep of each number."""
        believed = tuple(name for part in (self.belief, self.curvature, self.metric) if part for name in part.memory)
        if self.averaging:
            return (*believed, "average")
        return (*believed, "velocity") if self.price is not None and self.price.order == 2 else believed

    @property
    def matrices(self) -> Any:
        """The belief that knows rows and columns (``Matrices``), None where there is none."""
        return next((part for part in (self.curvature, self.metric) if part is not None and part.matrices), None)

    def __call__(
        self, gradient: ArrayLike, state: State, theta: ArrayLike, *, curvature: ArrayLike | None = None
    ) -> tuple[Array, State]:
        """Return the displacement Δθ of one step and the state after it.

        Args:
            gradient: g at θ, shaped like θ.
            state: from ``init`` or the step before.
            theta: θ, finite; shape (D,) where the assumptions are arrays, any shape where they are numbers.
            curvature: z ⊙ Hz for ``Hutchinson`` (needed in the first step); elsewhere None.

        Raises:
            ValueError: an argument has another shape, is not finite or is missing; or the rule has no ``dt``.
            NoMinimiser: with the curvature that is believed now there is no plan.
        """
        if self.dt is None:
            raise ValueError("dt = None, but it must be a number > 0 for a step: derive(..., dt=...)")
        weights = self._weights(theta)
        g = _checks.array("gradient", gradient, shape=np.shape(theta))
        curvature_sample = None
        if curvature is not None:
            if self.curvature is None or not self.curvature.told:
                raise ValueError("curvature is given, but it must be None unless the curvature is a Hutchinson")
            curvature_sample = _checks.array("curvature", curvature, shape=g.shape)
        checked_state = checked(state, self._remembered(weights.shape))
        step, after = self._step(g.reshape(weights.shape), checked_state, weights, curvature_sample)
        return step.reshape(g.shape), after

    # ------------------------------------------------------------------------------------------------- what it is

    @cached_property
    def coordinatewise(self) -> bool:
        """Whether every coordinate goes its own way, so that each gain is a closed form."""
        if self.matrices is not None:  # in the bases every entry goes its own way
            return True
        matrices = [
            self.objective.metric_matrix(self._dim) if self._dim and self.objective.metric is not None else None
        ]
        if (known := getattr(self.curvature, "hessian", None)) is not None:
            matrices.append(known)
        if self.belief.fading.ndim == 2:
            matrices.append(self.belief.fading)
        drift = self.objective.drift
        if drift is not None:
            if not isinstance(drift, Linear):
                return False
            matrices.append(drift.matrix(drift.dim) if drift.dim is not None else None)
        return all(m is None or np.count_nonzero(m) == np.count_nonzero(np.diagonal(m)) for m in matrices)

    @property
    def equations(self) -> list[Any]:
        """The Euler–Lagrange equation of one coordinate, a list with one sympy ``Eq``."""
        return self._symbolic.equations

    @property
    def velocity(self) -> Any:
        """The velocity of one coordinate in continuous time, a sympy expression in m, V or h, θ and the constants."""
        return self._symbolic.velocity

    @property
    def latex(self) -> tuple[str, str]:
        """The Euler–Lagrange equation and the velocity of one coordinate in LaTeX."""
        return tuple(self._symbolic.latex)

    @property
    def javascript(self) -> str:
        """The velocity as an expression of JavaScript."""
        return str(self._symbolic.javascript)

    def limits(self, curvature: ArrayLike = 0.0) -> dict[str, Limit]:
        """Return the named limits of the rule at a believed curvature, with the size of what each leaves out.

        Args:
            curvature: V in h = c(V + floor), shaped as θ or so that it broadcasts; without an averaged curvature it is
                not used, and H or 0 has its place.

        Raises:
            ValueError: the rule's coordinates are coupled, its metric is an average, or it pays another price.
        """
        self._require_gains("limits")
        if self.metric is not None:
            raise ValueError("limits is asked of a rule with an averaged metric, but its metric must be constant")
        case = self._case(self._believed(curvature), None)
        coordinate.require(self.objective, case, np.array(True))
        return {name: Limit(*entry) for name, entry in coordinate.limits(self.objective, case, self.dt).items()}

    def gain(self, curvature: ArrayLike = 0.0, metric: ArrayLike | None = None) -> Array:
        """Return how fast the rule goes for each unit of the gradient that it believes in, in continuous time.

        Args:
            curvature, metric: as in ``regime``.

        Returns:
            The factor of −m in the velocity, of their common shape; inf where nothing holds the rule back.

        Raises:
            ValueError: the rule's coordinates are coupled, it pays another price, or as in ``regime``.
            NoMinimiser: with such a curvature there is no plan.
        """
        self._require_gains("gain")
        case = self._case(self._believed(curvature), self._measured(metric))
        coordinate.require(self.objective, case, np.array(True))
        return np.asarray(coordinate.numbers(self.objective, case).belief)

    def regime(self, curvature: ArrayLike = 0.0, metric: ArrayLike | None = None) -> Regime:
        """Return the rates of the beliefs, of the discount, and √(ηkh/G) over the coordinates.

        Estimates stand still within a plan where beliefs ≪ γ ≪ √(ηkcV/G); "much smaller" is a factor 3. Where V
        differs by coordinate the order may hold in some of them: one number for all is then the flattest one's.

        Args:
            curvature: V, as in ``limits``.
            metric: what a metric is averaged from, the mean of g², shaped as V or so that both broadcast; None where
                the metric is no average, and elsewhere needed.

        Raises:
            ValueError: as in ``limits``, a number is negative in ``metric``, or the rule has no ``dt``.

        Warns:
            RegimeWarning: the rates are not in this order; the rule is then another plan's.
        """
        self._require_gains("regime")
        if self.dt is None:
            raise ValueError("dt = None, but it must be a number > 0 where rates are compared: derive(..., dt=...)")
        case = self._case(self._believed(curvature), self._measured(metric))
        averages: list[Any] = [self.belief, self.curvature, self.metric]
        weights = [average.beta for average in averages if hasattr(average, "beta")]
        weights += [] if self.belief.trend is None else [self.belief.trend]
        return compared(self.objective, case, math.inf if min(weights) == 0 else -math.log(min(weights)) / self.dt)

    def _repr_markdown_(self) -> str:
        from lossnav.rules.derive.report import report

        return report(self)

    # --------------------------------------------------------------------------------------------------- in torch

    @property
    def source(self) -> str:
        """The text of the step that ``optimizer`` runs, with torch's foreach kernels.

        Raises:
            ValueError: the rule is none of one coordinate with numbers on gradients.
        """
        return written(self).python

    @property
    def options(self) -> dict[str, Any]:
        """The options of the ``optim.BallisticMatrix`` that ``optimizer`` returns, ``lr`` at the rule's Δt or at 1.

        Raises:
            ValueError: the belief knows no rows and columns, or the optimizer no such plan.
        """
        return self._options(1.0 if self.dt is None else self.dt)

    def _options(self, dt: float) -> dict[str, Any]:
        if self.matrices is None:
            raise ValueError("options is asked of a rule of separate coordinates, but it must be one for matrices")
        case = self._case(np.array(0.0), None)
        return in_bases.options(self, dt, float(case.metric), float(case.decay))

    def optimizer(
        self,
        params: ParamsT,
        lr: float | Tensor | None = None,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> Optimizer:
        """Return the rule as a torch optimizer, which runs ``source``: ``lossnav.optim.derive.Derived``.

        Where the belief knows rows and columns it is ``lossnav.optim.BallisticMatrix`` with ``options``, and what has
        none moves as with ``optim.Belief`` at the same rate, β₂ being 0.99 for ``Polar``.

        Args:
            params: parameters, or dictionaries of parameter groups.
            lr: Δt of a step, which schedulers move; None is the rule's own. The ``lr`` of ``BallisticMatrix`` is a
                multiple of it.
            maximize: go uphill.
            foreach: True, False, or None, as in the other optimizers.
            fused: True, False, or None (True on the CPU if there is a C compiler): one pass over the memory. For
                matrices there is no such form.

        Raises:
            ValueError: an option is wrong, or as in ``source`` or ``options``.
        """
        import lossnav  # whose names load what they name: torch only where it is asked for

        if self.matrices is None:
            return lossnav.optim.derive.Derived(params, self, lr, maximize=maximize, foreach=foreach, fused=fused)
        if fused is not None and _checks.flag("fused", fused):
            raise ValueError("fused = True, but it must be False: BallisticMatrix has no kernel of its own")
        if lr is None and self.dt is None:
            raise ValueError("lr = None, but it must be a number where the rule has no dt")
        options = self._options(_checks.finite("lr", self.dt if lr is None else lr, low=0.0))
        optimizer = lossnav.optim.BallisticMatrix(params, **options, maximize=maximize, foreach=foreach)
        optimizer.rule = self
        return optimizer

    # ------------------------------------------------------------------------------------------------------ shapes

    def _weights(self, theta: ArrayLike) -> Array:
        """Return θ, as a matrix where the belief knows rows and columns."""
        weights = _checks.array("theta", theta)
        if self.matrices is not None:
            if weights.ndim < 2 or weights.size == 0:
                raise ValueError(
                    f"theta has shape {weights.shape}, but it must be a matrix, or have more axes: for a vector assume "
                    "a SecondMoment"
                )
            if self.objective.dim not in (None, weights.size):
                raise ValueError(f"theta has {weights.size} entries, but objective acts on {self.objective.dim}")
            return weights.reshape(len(weights), -1)
        if (self._dim is not None and weights.shape != (self._dim,)) or (not self.coordinatewise and weights.ndim != 1):
            wanted = "(D,)" if self._dim is None else f"({self._dim},)"
            raise ValueError(
                f"theta has shape {weights.shape}, but it must have shape {wanted} under these assumptions"
            )
        return weights

    def _remembered(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what is remembered of weights of a shape, by name."""
        return dict.fromkeys(self.memory, shape) | (self.matrices.start(*shape) if self.matrices is not None else {})

    # ------------------------------------------------------------------------------------------------------- steps

    def _step(self, g: Array, state: State, theta: Array, curvature_sample: Array | None) -> tuple[Array, State]:
        """Return Δθ and the state after it, in bases, which are the identity where the belief knows none."""
        drift, n, rows = np.zeros_like(theta), state.step + 1, self.matrices
        if self.objective.drift is not None:
            drift = self.objective.drift(theta.ravel()).reshape(theta.shape)
        sides = (None, None) if rows is None else (state.averages.get("ql"), state.averages.get("qr"))
        begun = any(side is not None for side in sides)
        if begun and n == 1:  # the first gradient finds the bases
            zeros = np.zeros_like(theta)  # what drifts by itself does so now, too, if it needs no curvature
            step = zeros if self.metric is None else self._free(drift, Believed(zeros, zeros, zeros, zeros))
            return step, State(n, 0, {**state.averages, **rows.first(state.averages, g)})
        # All assumptions look at the gradient in the bases that are kept; some find others in what is believed then.
        view = ArrayLook(turn(g, *sides), state.averages, n - begun, curvature_sample, state.told)
        mean, variance, metric_variance = look(view, self.belief, self.curvature, self.metric)
        trend = np.zeros_like(g) if mean.slope is None else mean.slope / self._time
        seen = Believed(turn(mean.signal, *view.bases), turn(trend, *view.bases), variance, metric_variance)
        if "velocity" in view.averages:
            step, view.averages["velocity"] = charged.pushed(self, seen, view.averages["velocity"])
        elif self._priced:
            step = charged.moved(self, seen)
        elif self.coordinatewise:
            step = self._free(turn(turn(drift, *sides), *view.bases), seen)
        else:
            step = self._move_arrays(theta, drift, seen)
        if self.averaging:
            average = theta if n == 1 else view.averages["average"]
            view.averages["average"] = average - (theta + step - average) * math.expm1(-self.averaging * self._time)
        # The step is followed: then the gradient may turn the bases, and the averages with them.
        after = view.averages | (rows.after(view.averages, g, n) if begun else {})
        return turn_back(turn_back(step, *view.bases), *sides), State(n, view.count, after)

    @property
    def _priced(self) -> bool:
        """Whether a step pays another price than |θ̇|²/2η, which is what the walker of an average pays."""
        return self.price is not None and not self.averaging

    @property
    def _time(self) -> float:
        """Δt of a step, which is taken only where there is one."""
        assert self.dt is not None
        return self.dt

    @cached_property
    def _dim(self) -> int | None:
        """D, or None where the assumptions fit every D, or entries of matrices."""
        if self.matrices is not None:
            return None
        if self.objective.dim is not None:
            return self.objective.dim
        known = None if self.curvature is None else self.curvature.dim
        return self.belief.dim if known is None else known

    def _case(self, variance: Any, metric_variance: Any) -> coordinate.Case:
        """Return the numbers of each coordinate, or of all entries of a matrix, which are the same in every basis."""
        objective, fading, decay = self.objective, self.belief.fading, np.array(0.0)
        if isinstance(objective.drift, Linear):
            decay = self._each(-objective.drift.matrix(1 if objective.drift.dim is None else objective.drift.dim))
        metric = np.array(1.0)
        if metric_variance is not None and self.metric is not None:
            metric = self._ruler(metric_variance)
        elif objective.metric is not None:
            metric = self._each(objective.metric_matrix(objective.dim or self._dim or 1))
        diagonal = np.diagonal(fading) if fading.ndim == 2 else fading
        return coordinate.Case(metric, self._curvature(variance), decay, diagonal)

    def _each(self, matrix: Array) -> Array:
        diagonal = np.diagonal(matrix)
        return diagonal[0] if self.matrices is not None or len(diagonal) == 1 else diagonal

    def _ruler(self, variance: Any) -> Array:
        """Return the believed G of each coordinate, which is > 0 where a gradient was seen."""
        metric: Any = self.metric
        price = np.asarray(metric.price(variance), dtype=float)
        if np.any(price < 0):
            raise NoMinimiser(f"no minimiser: a metric G = {np.min(price):.6g} is believed, but it must be >= 0")
        return np.maximum(price, np.finfo(float).tiny)

    def _curvature(self, variance: Any) -> Array:
        """Return h of each coordinate, for V."""
        return np.array(0.0) if self.curvature is None else np.asarray(self.curvature.term(variance))

    def _free(self, drift: Array, seen: Believed) -> Array:
        """Return Δθ of one who is charged |θ̇|²/2η, where each coordinate goes its own way."""
        case, (mean, trend) = self._case(seen.variance, seen.ruler), seen[:2]
        moved = (mean != 0) | (trend != 0)
        coordinate.require(self.objective, case, moved)
        gains = coordinate.numbers(self.objective, case)
        # where nothing is believed a gain without bound moves nothing
        gains = gains._replace(belief=np.where(moved, gains.belief, 0.0), trend=np.where(trend != 0, gains.trend, 0.0))
        if self.exact:
            return coordinate.step(self.objective, gains, case, self._time, drift, mean, trend)
        return self._time * (gains.drift * drift - gains.belief * mean - gains.trend * trend)

    def _move_arrays(self, theta: Array, drift: Array, seen: Believed) -> Array:
        """Return Δθ where matrices couple the coordinates."""
        trend = self.belief.trend is not None
        beliefs = np.concatenate([seen.mean, seen.slope]) if trend else seen.mean
        law = self._steady or arrays.law(self.objective, self._matrices(theta, seen.variance, seen.ruler), trend)
        if self.exact:
            return arrays.step(law, self._time, drift, beliefs)
        return self._time * arrays.velocity(law, drift, beliefs)

    @cached_property
    def _steady(self) -> arrays.Law | None:
        """The law, where neither θ nor an average changes it."""
        constant = self.curvature is None or self.curvature.constant
        linear = self.objective.drift is None or isinstance(self.objective.drift, Linear)
        if self.coordinatewise or not (constant and linear and self.metric is None):
            return None
        assert self._dim is not None  # what couples coordinates says how many there are
        zero = np.zeros(self._dim)
        return arrays.law(self.objective, self._matrices(zero, zero, None), self.belief.trend is not None)

    def _matrices(self, theta: Array, variance: Any, metric_variance: Any) -> arrays.Matrices:
        """Return G, H, J and 𝐀 at θ."""
        dim, objective, fading = len(theta), self.objective, self.belief.fading
        if metric_variance is not None and self.metric is not None:
            metric = np.diag(np.broadcast_to(self._ruler(metric_variance), dim))
        else:
            metric = objective.metric_matrix(dim)
        known = getattr(self.curvature, "hessian", None)
        hessian = np.diag(np.broadcast_to(self._curvature(variance), dim)) if known is None else known
        jacobian = np.zeros((dim, dim)) if objective.drift is None else np.asarray(objective.drift.jacobian(theta))
        faded = fading if fading.ndim == 2 else np.diag(np.broadcast_to(fading, dim))
        return arrays.Matrices(metric, hessian, jacobian, faded)

    def _believed(self, curvature: ArrayLike) -> Array:
        """Return V, which must fit D."""
        variance = _checks.array("curvature", curvature)
        if self._dim is not None and variance.ndim and variance.shape[-1] not in (1, self._dim):
            raise ValueError(f"curvature has shape {variance.shape}, but its last axis must have length {self._dim}")
        return variance

    def _measured(self, metric: ArrayLike | None) -> Array | None:
        """Return what a metric is averaged from, which must be there if it is."""
        if (metric is None) is not (self.metric is None):
            wanted = "None, for the metric is no average" if self.metric is None else "the mean of g²"
            raise ValueError(f"metric = {_checks.shown(metric)}, but it must be {wanted}")
        if metric is None:
            return None
        squares = _checks.array("metric", metric)
        if np.any(squares < 0):
            raise ValueError(f"metric has the entry {np.min(squares):g}, but all must be >= 0: it is a mean of squares")
        return squares

    def _require_gains(self, asked: str) -> None:
        """Raise unless each coordinate has a gain of its own."""
        if self._priced:
            raise ValueError(f"{asked} is asked of a rule under price = {self.price!r}, but it must be one without")
        if not self.coordinatewise:
            raise ValueError(
                f"{asked} is asked of a rule with coupled coordinates, but it must be one of separate ones"
            )

    @cached_property
    def _symbolic(self) -> Any:
        if self._priced:
            raise ValueError(f"price = {self.price!r}, but formulas are those of rules without one: see euler_lagrange")
        if not self.coordinatewise:
            raise ValueError("formulas are those of one coordinate, but matrices or the drift couple the coordinates")
        from lossnav.euler_lagrange import planned  # sympy only where formulas are asked for

        fades, trend = bool(np.any(self.belief.fading)), self.belief.trend is not None
        drift = self.objective.drift
        kind = "none" if self.curvature is None else self.curvature.h
        return planned.coordinate(
            discount=self.objective.gamma > 0, metric=self.metric is not None or self.objective.metric is not None,
            decay=drift is not None, offset=drift is not None and bool(np.any(drift(np.zeros(drift.dim or 1)))),
            curvature=kind, fading=fades, trend=trend, gains=coordinate.gains,
        )  # fmt: skip
