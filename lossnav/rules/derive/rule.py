"""The rule that follows from assumptions, as a pure function on arrays, with its limits and its regime."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.objective import Objective
from lossnav.rules import assume, recipe
from lossnav.rules.derive import arrays, coordinate
from lossnav.rules.derive.regime import Regime, compared
from lossnav.rules.derive.source import written
from lossnav.rules.derive.state import State, checked

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim.optimizer import ParamsT

    from lossnav.optim.derive import Derived


class Limit(NamedTuple):
    """A named limit: what it assumes, its gain and what it drops.

    The gain is a velocity per m, and for Newton a displacement per m. ``neglected`` is the relative size of the term
    left out: gain of the limit / gain of the rule − 1.
    """

    assumption: str
    gain: Array
    neglected: Array


@dataclass(frozen=True, eq=False)
class LearningRule:
    """A rule derived from assumptions; made by ``lossnav.derive``, which says what they may be."""

    objective: Objective
    belief: assume.Filter
    curvature: Any = None
    metric: Any = None
    dt: float | None = None
    exact: bool = False

    def init(self, theta: ArrayLike) -> State:
        """Return the state of a learner who has seen no gradient, for parameters θ of any shape."""
        points = _checks.array("theta", theta)
        blank = self._memory_recipe.init(points)
        return State(blank, blank, np.zeros(points.shape))

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
        weights = _checks.array("theta", theta)
        if (self._dim is not None and weights.shape != (self._dim,)) or (not self.coordinatewise and weights.ndim != 1):
            wanted = "(D,)" if self._dim is None else f"({self._dim},)"
            raise ValueError(
                f"theta has shape {weights.shape}, but it must have shape {wanted} under these assumptions"
            )
        g = _checks.array("gradient", gradient, shape=weights.shape)
        held = checked(state, weights.shape)
        mean, slope, variance, ruler, after = self._look(g, held, curvature)
        drift = np.zeros_like(weights) if self.objective.drift is None else self.objective.drift(weights)
        if self.coordinatewise:
            return self._move(drift, mean, slope, variance, ruler), after
        return self._move_arrays(weights, drift, mean, slope, variance, ruler), after

    # ------------------------------------------------------------------------------------------------- what it is

    @cached_property
    def coordinatewise(self) -> bool:
        """Whether every coordinate goes its own way, so that each gain is a closed form."""
        matrices = [
            self.objective.metric_matrix(self._dim) if self._dim and self.objective.metric is not None else None
        ]
        if isinstance(self.curvature, assume.Known):
            matrices.append(self.curvature.hessian)
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
            ValueError: the rule's coordinates are coupled, or its metric is an average.
        """
        self._only_coordinates("limits")
        case = self._case(self._believed(curvature), None)
        coordinate.require(self.objective, case, np.array(True))
        return {name: Limit(*entry) for name, entry in coordinate.limits(self.objective, case, self.dt).items()}

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
        if not self.coordinatewise:
            raise ValueError("regime is asked of a rule with coupled coordinates, but it must be one of separate ones")
        if self.dt is None:
            raise ValueError("dt = None, but it must be a number > 0 where rates are compared: derive(..., dt=...)")
        case = self._case(self._believed(curvature), self._measured(metric))
        averages = [self.belief, self.curvature, self.metric]
        weights = [one.beta for one in averages if getattr(one, "beta", None) is not None]
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

    def optimizer(
        self,
        params: ParamsT,
        lr: float | Tensor | None = None,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> Derived:
        """Return the rule as a torch optimizer, which runs ``source``: ``lossnav.optim.derive.Derived``.

        Args:
            params: parameters, or dictionaries of parameter groups.
            lr: Δt of a step, which schedulers move; None is the rule's own.
            maximize: go uphill.
            foreach: True, False, or None, as in the other optimizers.
            fused: True, False, or None (True on the CPU if there is a C compiler): one pass over the memory.

        Raises:
            ValueError: an option is wrong, or as in ``source``.
        """
        import lossnav  # whose names load what they name: torch only where it is asked for

        return lossnav.optim.derive.Derived(params, self, lr, maximize=maximize, foreach=foreach, fused=fused)

    # ---------------------------------------------------------------------------------------------------- beliefs

    @cached_property
    def _memory_recipe(self) -> recipe.Recipe:
        """The averages of gradient and curvature, as a recipe's memory."""
        mean = recipe.Filter.of_weight(self.belief.beta, corrected=self.belief.corrected)
        curvature = recipe.Filter()
        datum: recipe.Datum = recipe.SecondMoment()
        if isinstance(self.curvature, assume.SecondMoment | assume.Hutchinson):
            curvature = recipe.Filter.of_weight(self.curvature.beta, corrected=self.curvature.corrected)
        if isinstance(self.curvature, assume.Hutchinson):
            datum = recipe.Given()
        elif getattr(self.curvature, "centred", False):
            datum = recipe.Centred()
        return recipe.Recipe(recipe.Plan(0.0), recipe.Memory(mean, curvature, datum))

    @cached_property
    def _signal_memory(self) -> recipe.Memory | None:
        if not getattr(self.curvature, "signal", False):
            return None
        return recipe.Memory(curvature=recipe.Filter.of_weight(self.curvature.beta, corrected=self.curvature.corrected))

    @cached_property
    def _ruler_memory(self) -> recipe.Memory | None:
        if self.metric is None:
            return None
        return recipe.Memory(curvature=recipe.Filter.of_weight(self.metric.beta, corrected=self.metric.corrected))

    def _look(
        self, g: Array, state: State, curvature: ArrayLike | None
    ) -> tuple[Array, Array, Array, Array | None, State]:
        """Return m, ṁ, V, the metric's V and the state after this gradient."""
        given = None
        if curvature is not None:
            if not isinstance(self.curvature, assume.Hutchinson):
                raise ValueError("curvature is given, but it must be None unless the curvature is a Hutchinson")
            given = _checks.array("curvature", curvature, shape=g.shape)
        seen = self._memory_recipe.memory._look(g, state.belief, 1.0, 0.0, given, None)
        belief = state.belief._replace(mean=seen.mean, time=seen.time, curvature=seen.curvature, observed=seen.observed)
        mean, slope = seen.signal, state.slope
        if self.belief.trend is not None:
            mean, slope = self._follow(g, state)
            belief = belief._replace(mean=mean)
        mean = mean + self.belief.share * (g - mean)
        variance = seen.variance
        if self._signal_memory is not None:
            measured = self._signal_memory._look(mean, state.belief, 1.0, 0.0, None, None)
            variance = measured.variance
            belief = belief._replace(curvature=measured.curvature, observed=measured.observed)
        ruler, metric = None, state.ruler
        if self._ruler_memory is not None:
            measured = self._ruler_memory._look(g, state.ruler, 1.0, 0.0, None, None)
            ruler = measured.variance
            metric = metric._replace(curvature=measured.curvature, observed=measured.observed)
        return mean, slope, variance, ruler, State(belief, metric, slope)

    def _follow(self, g: Array, state: State) -> tuple[Array, Array]:
        """Return level and slope of a local linear trend after this gradient (Holt's recursion)."""
        if state.belief.time == 0 or self.dt is None or self.belief.trend is None:
            return g, np.zeros_like(g)
        level, beta, gamma = state.belief.mean, self.belief.beta, self.belief.trend
        forecast = level + self.dt * state.slope
        mean = beta * forecast + (1 - beta) * g
        return mean, gamma * state.slope + (1 - gamma) * (mean - level) / self.dt

    # ------------------------------------------------------------------------------------------------------- moves

    @cached_property
    def _dim(self) -> int | None:
        """D, or None where the assumptions fit every D."""
        if self.objective.dim is not None:
            return self.objective.dim
        if isinstance(self.curvature, assume.Known):
            return len(self.curvature.hessian)
        return len(self.belief.fading) if self.belief.fading.ndim else None

    def _case(self, variance: Array, ruler: Array | None) -> coordinate.Case:
        """Return the numbers of each coordinate."""
        objective, fading, decay = self.objective, self.belief.fading, np.array(0.0)
        if isinstance(objective.drift, Linear):
            dim = objective.drift.dim
            matrix = objective.drift.matrix(1 if dim is None else dim)
            decay = -matrix[0, 0] if dim is None else -np.diagonal(matrix)
        metric = np.array(1.0)
        if ruler is not None and self.metric is not None:
            metric = np.maximum(np.sqrt(ruler) + self.metric.eps, np.finfo(float).tiny)
        elif objective.metric is not None and self._dim is not None:
            metric = np.diagonal(objective.metric_matrix(self._dim))
        diagonal = np.diagonal(fading) if fading.ndim == 2 else fading
        return coordinate.Case(metric, self._curvature(variance), np.asarray(decay), diagonal)

    def _curvature(self, variance: Array) -> Array:
        """Return h of each coordinate, for V."""
        if self.curvature is None:
            return np.array(0.0)
        if isinstance(self.curvature, assume.Known):
            return np.diagonal(self.curvature.hessian)
        believed = np.abs(variance) if isinstance(self.curvature, assume.Hutchinson) else variance
        return np.asarray(self.curvature.scale * (believed + self.curvature.floor))

    def _move(self, drift: Array, mean: Array, slope: Array, variance: Array, ruler: Array | None) -> Array:
        """Return Δθ where each coordinate goes its own way."""
        case = self._case(variance, ruler)
        moved = (mean != 0) | (slope != 0)
        coordinate.require(self.objective, case, moved)
        found = coordinate.numbers(self.objective, case)
        # where nothing is believed a gain without bound moves nothing
        found = found._replace(belief=np.where(moved, found.belief, 0.0), trend=np.where(slope != 0, found.trend, 0.0))
        if self.dt is None or self.exact:
            return coordinate.step(self.objective, found, case, self.dt or 0.0, drift, mean, slope)
        return self.dt * (found.drift * drift - found.belief * mean - found.trend * slope)

    def _move_arrays(
        self, theta: Array, drift: Array, mean: Array, slope: Array, variance: Array, ruler: Array | None
    ) -> Array:
        """Return Δθ where matrices couple the coordinates."""
        trend = self.belief.trend is not None
        beliefs = np.concatenate([mean, slope]) if trend else mean
        if self._steady is not None:
            found = self._steady
        else:
            found = arrays.law(self.objective, self._matrices(theta, variance, ruler), trend)
        dt = self.dt or 0.0
        return arrays.step(found, dt, drift, beliefs) if self.exact else dt * arrays.velocity(found, drift, beliefs)

    @cached_property
    def _steady(self) -> arrays.Law | None:
        """The law, where neither θ nor an average changes it."""
        constant = self.curvature is None or isinstance(self.curvature, assume.Known)
        linear = self.objective.drift is None or isinstance(self.objective.drift, Linear)
        if self.coordinatewise or not (constant and linear and self.metric is None):
            return None
        dim = self._dim or 1
        zero = np.zeros(dim)
        return arrays.law(self.objective, self._matrices(zero, zero, None), self.belief.trend is not None)

    def _matrices(self, theta: Array, variance: Array, ruler: Array | None) -> arrays.Matrices:
        """Return G, H, J and 𝐀 at θ."""
        dim, objective, fading = len(theta), self.objective, self.belief.fading
        if ruler is not None and self.metric is not None:
            metric = np.diag(np.maximum(np.sqrt(ruler) + self.metric.eps, np.finfo(float).tiny))
        else:
            metric = objective.metric_matrix(dim)
        hessian = np.zeros((dim, dim))
        if isinstance(self.curvature, assume.Known):
            hessian = self.curvature.hessian
        elif self.curvature is not None:
            hessian = np.diag(self._curvature(variance))
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
        ruler = _checks.array("metric", metric)
        if np.any(ruler < 0):
            raise ValueError(f"metric has the entry {np.min(ruler):g}, but all must be >= 0: it is a mean of squares")
        return ruler

    def _only_coordinates(self, asked: str) -> None:
        if not self.coordinatewise or self.metric is not None:
            which = "an averaged metric" if self.metric is not None else "coupled coordinates"
            raise ValueError(f"{asked} is asked of a rule with {which}, but it must be one of separate coordinates")

    @cached_property
    def _symbolic(self) -> Any:
        from lossnav.euler_lagrange import planned  # sympy only where formulas are asked for

        fades, trend = bool(np.any(self.belief.fading)), self.belief.trend is not None
        drift = self.objective.drift
        kinds = {type(None): "none", assume.Known: "known"}
        return planned.coordinate(
            discount=self.objective.gamma > 0, metric=self.metric is not None or self.objective.metric is not None,
            decay=drift is not None, curvature=kinds.get(type(self.curvature), "averaged"), fading=fades, trend=trend,
            gains=coordinate.gains,
        )  # fmt: skip
