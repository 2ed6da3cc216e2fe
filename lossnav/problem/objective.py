"""The objective J[θ]: what a learner is assumed to want (Eqs. 1, 2, 8, 11, 25)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem import drifts
from lossnav.problem.drifts import Drift
from lossnav.problem.losses import Loss
from lossnav.problem.losses.base import check_loss
from lossnav.problem.metrics import Constant, Function, Metric
from lossnav.problem.metrics.base import check_matrices
from lossnav.problem.metrics.constant import Steady
from lossnav.problem.prices import Price


class _Unsaid(float):
    """An η that nobody has given: it is 1, unless a price says what motion costs."""


@dataclass(frozen=True, eq=False)
class Objective:
    r"""The assumptions of the control problem

    .. math:: J[\theta] = \int_0^T e^{-\gamma t}\{\tfrac1{2\eta}|\dot\theta-f|_G^2 + kL\}\,dt .

    Units: θ in u, loss in ℓ, time in T. γ/√(ηk·curvature) alone decides the regime.

    Args:
        eta: learning rate η > 0, unit u²/(ℓ·T): how cheap speed is.
        k: loss weight k > 0, unit 1/T.
        gamma: discount rate γ ≥ 0, unit 1/T: 0 is farsighted, large is myopic.
        metric: G: None is the identity; shape (D, D), symmetric positive definite; one of ``lossnav.metrics``; or a
            callable G(θ), which is used as a ``metrics.Function``.
        drift: f: None is zero; one of ``lossnav.drifts``; or a callable f(θ), which becomes a ``drifts.Function``.
        horizon: the problem's own deadline T in (0, inf]; the end is free.
        terminal: c ≥ 0, without unit (as kT): at a finite deadline :math:`e^{-\gamma T}cL(\theta_T)` is charged, too;
            without one it charges nothing. Of a task L is what holds just before the deadline.
        price: what is charged in the place of |θ̇|²/2η, one of ``lossnav.prices``; ``eta`` is not given then. One that
            is |θ̇|²/2η is taken as that η, and ``price`` is None again.

    Raises:
        ValueError: naming the argument that is out of range; also for a drift beside a price, and for a metric beside
            any but ``prices.Acceleration``, whose metric is constant.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 1, 25 and 51 (finite horizon); book: W1, W12 (prices).
    """

    eta: float = _Unsaid(1.0)
    k: float = 1.0
    gamma: float = 0.0
    metric: Metric | ArrayLike | Callable[[Array], ArrayLike] | None = None
    drift: Drift | None = None
    horizon: float = math.inf
    terminal: float = 0.0
    price: Price | None = None

    if TYPE_CHECKING:  # what may be given: a function becomes a drift, so that to read it is one

        def __init__(
            self,
            eta: float = 1.0,
            k: float = 1.0,
            gamma: float = 0.0,
            metric: Metric | ArrayLike | Callable[[Array], ArrayLike] | None = None,
            drift: Drift | Callable[[Array], ArrayLike] | None = None,
            horizon: float = math.inf,
            terminal: float = 0.0,
            price: Price | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__  # the dataclass is frozen; this is its own construction
        if self.price is not None:
            self._take_price(_checks.instance("price", self.price, Price, "None or one of lossnav.prices"))
        if self.price is None:
            set_(self, "eta", _checks.positive("eta", float(self.eta) if isinstance(self.eta, _Unsaid) else self.eta))
        _checks.check(self, k=_checks.positive, horizon=_checks.duration)
        _checks.check(self, gamma=_checks.nonnegative, terminal=_checks.nonnegative)
        if self.metric is not None and not callable(self.metric):
            metric = _checks.symmetric("metric", self.metric, definite=True)
            _checks.frozen(metric)
            set_(self, "metric", metric)
        elif isinstance(self.metric, type):
            raise ValueError(f"metric = {_checks.shown(self.metric)}, but it must be a metric, not a class of them")
        if isinstance(self.metric, Metric):
            _checks.whole("metric.dim", getattr(self.metric, "dim", None), low=1)
        set_(self, "_rulers", {})  # by D: a plain function says only when it is used how many parameters it has
        if callable(self.drift) and not isinstance(self.drift, type | Drift):
            set_(self, "drift", drifts.Function(self.drift))
        if self.drift is not None:
            allowed = "None, a drift from lossnav.drifts (Linear of a matrix) or a function"
            _checks.instance("drift", self.drift, Drift, allowed)

    def _take_price(self, price: Price) -> None:
        """Take a price that is |v|²/2η as its η; refuse what does not go together with any other."""
        if not isinstance(self.eta, _Unsaid):
            raise ValueError(f"eta = {_checks.shown(self.eta)}, but it must not be given beside price = {price!r}")
        if price.quadratic is not None:
            object.__setattr__(self, "eta", price.quadratic)
            object.__setattr__(self, "price", None)
            return
        if self.drift is not None:
            raise ValueError(
                f"drift is given, but it must be None beside price = {price!r}: only |θ̇ − f|²/2η knows one"
            )
        if self.metric is not None and (price.order == 1 or self.curved):
            allowed = "None: the price says itself what is large" if price.order == 1 else "constant"
            raise ValueError(
                f"metric = {_checks.shown(self.metric)}, but beside price = {price!r} it must be {allowed}"
            )

    def __repr__(self) -> str:
        omitted = "price" if self.price is None else "eta"
        arguments = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.name != omitted)
        return f"{type(self).__name__}({', '.join(arguments)})"

    @property
    def charge(self) -> float:
        """What L(θ_T) counts at the deadline, c, before discounting; 0 if there is no deadline."""
        return self.terminal if math.isfinite(self.horizon) else 0.0

    @property
    def dim(self) -> int | None:
        """How many parameters the metric, or else the drift, acts on; None if that is any number."""
        if isinstance(self.metric, np.ndarray):
            return len(self.metric)
        if isinstance(self.metric, Metric):
            return self.metric.dim
        return None if self.drift is None else self.drift.dim

    @property
    def curved(self) -> bool:
        """Whether the metric is a function of θ."""
        if isinstance(self.metric, Metric):
            return not self.metric.constant
        return callable(self.metric)

    def metric_on(self, dim: int) -> Metric:
        """Return the metric on ``dim`` parameters as one of ``lossnav.metrics``, whatever it was given as.

        Raises:
            ValueError: if it has another size.
        """
        _checks.whole("dim", dim, low=1)
        metrics: dict[int, Metric] = self._rulers  # type: ignore[attr-defined]
        if dim not in metrics:
            metrics[dim] = self._ruler(dim)
        return metrics[dim]

    def _ruler(self, dim: int) -> Metric:
        if isinstance(self.metric, Metric):
            if self.metric.dim != dim:
                raise ValueError(f"metric acts on {self.metric.dim} parameters, but the problem has {dim}")
            if self.curved or isinstance(self.metric, Steady):  # a curved one is checked where it is used
                return self.metric
            return Constant(_checks.symmetric("metric(theta)", self.metric.matrix(np.zeros(dim)), definite=True))
        if callable(self.metric):
            return Function(self.metric, dim=dim)
        if self.metric is None:
            _checks.room(float(dim) * dim, dim=dim)
            return Constant(np.eye(dim))
        return Constant(_fitting(np.asarray(self.metric), dim))

    def metric_matrix(self, dim: int) -> Array:
        """Return the constant metric G as a (dim, dim) array.

        Raises:
            ValueError: if G depends on θ, or has another size.
        """
        _checks.whole("dim", dim, low=1)
        if self.metric is None:
            _checks.room(float(dim) * dim, dim=dim)
            return np.eye(dim)
        if self.curved:
            raise ValueError(
                "metric is a function of theta, but this needs a constant metric: see lossnav.trajectory.curved"
            )
        if isinstance(self.metric, np.ndarray):  # a rule asks for it at every step
            return _fitting(self.metric, dim)
        return self.metric_on(dim).matrix(np.zeros(dim))

    def metric_at(self, theta: ArrayLike) -> Array:
        """Return G(θ), shape (..., D, D), at points of shape (..., D); a constant metric is the same everywhere.

        Raises:
            ValueError: if a metric that depends on θ is not symmetric positive definite at one of the points.
        """
        points = _checks.points("theta", theta)
        metric = self.metric_on(points.shape[-1]).matrix(points)
        if self.curved:
            check_matrices(metric)
        return metric

    def check_dim(self, dim: int) -> None:
        """Raise ValueError unless metric and drift fit a problem of ``dim`` parameters."""
        _checks.whole("dim", dim, low=1)
        self.metric_on(dim)
        if self.drift is not None and self.drift.dim not in (None, dim):
            raise ValueError(f"drift acts on {self.drift.dim} parameters, but the problem has {dim}")

    def cost_rate(self, loss: Loss, theta: ArrayLike, velocity: ArrayLike) -> Any:
        """Return the undiscounted integrand |θ̇−f|²_G/2η + kL, shape (...), at θ and θ̇ of shape (..., D).

        With a price it is φ(θ̇) + kL, without what an acceleration costs.
        """
        check_loss(loss)
        theta, velocity = _checks.moving(theta, velocity, loss.dim)
        return self.kinetic(theta, velocity) + self.k * loss.value(theta)

    def kinetic(self, theta: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike | None = None) -> Any:
        """Return |θ̇−f(θ)|²_G/2η, shape (...): the price of speed (Eq. 30), or what another price charges.

        ``acceleration`` is θ̈, shape (..., D), which only ``prices.Acceleration`` charges; None is none.
        """
        theta, slip = _checks.moving(theta, velocity)
        if self.price is None and acceleration is not None:
            raise ValueError(
                f"acceleration = {_checks.shown(acceleration)}, but it must be None: it costs nothing here"
            )
        if self.price is not None:
            return np.zeros(theta.shape[:-1]) + self._charged(slip, acceleration)
        if self.drift is not None:
            slip = slip - self.drift(theta)
        if self.curved:  # checked where it is used: a solver may pass through places where it is none
            return np.einsum("...i,...ij,...j->...", slip, self.metric_at(theta), slip) / (2 * self.eta)
        return self.metric_on(slip.shape[-1]).norm_squared(theta, slip) / (2 * self.eta)

    def _charged(self, velocity: Array, acceleration: ArrayLike | None) -> Any:
        price: Any = self.price
        if price.order == 1:
            return price.value(velocity)
        lower = np.linalg.cholesky(self.metric_matrix(velocity.shape[-1]))
        speed = price.speed / 2 * ((velocity @ lower) ** 2).sum(-1)
        if acceleration is None:
            return speed
        pushes = _checks.points("acceleration", acceleration, velocity.shape[-1])
        _checks.together(velocity=velocity, acceleration=pushes)
        return speed + price.value(pushes @ lower)


def _fitting(metric: Array, dim: int) -> Array:
    """Return a matrix if it acts on ``dim`` parameters."""
    if len(metric) != dim:
        raise ValueError(f"metric has shape {metric.shape}, but the problem has {dim} parameters")
    return metric


def check_problem(objective: Any, loss: Any, *, dim: bool = True, timed: bool = False, priced: bool = False) -> None:
    """Raise ValueError unless these are an objective and a landscape, and (``dim``) of the same parameters.

    Only with ``timed`` may the loss depend on time, only with ``priced`` may something else than |θ̇|²/2η be charged.
    """
    check_objective(objective, priced=priced)
    check_loss(loss, timed=timed)
    if dim:
        objective.check_dim(loss.dim)


def check_objective(objective: Any, *, priced: bool = False) -> None:
    """Raise ValueError unless ``objective`` is one; only with ``priced`` may it have a price."""
    if _checks.instance("objective", objective, Objective, "a lossnav.Objective").price is not None and not priced:
        raise ValueError(f"objective.price = {objective.price!r}, but here it must be None: this is of |θ̇|²/2η alone")
