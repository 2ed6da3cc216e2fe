r"""What a learner believes about the loss around it, and what the beliefs cost (Eqs. 12–13, 138–142).

One weight at a time: with diagonal V nothing couples the weights. A state is (δ, m, V): the displacement δ = θ − θ₀
from where the plan begins, the believed gradient m there, and the believed variance V of observed gradients. The model
of the loss is L̂ = mδ + ½cVδ² (Eq. 12) and the learner minimises

.. math:: J=\int_0^\infty e^{-\gamma t}\Big\{\frac{\dot\delta^2}{2\eta}+k\hat L
          +\lambda_b\Big[\ell(m,V;g,q)+\frac{(\dot m+\alpha_mm)^2}{2\sigma_m^2}
          +\frac{(\dot V+\alpha_VV)^2}{2\sigma_V^2}\Big]\Big\}dt .

The bracket is the rate of −log posterior: observation plus prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.problem.beliefs.memory import Memory
from lossnav.problem.beliefs.observation import Exact, Observation, Prior, Simplified
from lossnav.problem.drifts import Linear
from lossnav.problem.functions.roots import exp_mean, fast_rate
from lossnav.problem.losses.base import Loss
from lossnav.problem.metrics import Diagonal
from lossnav.problem.objective import Objective

Data = Callable[[Array], Any]


@dataclass(frozen=True)
class Beliefs:
    """The assumptions of Sec. 5 for one weight of unit u.

    Args:
        eta: η > 0, how cheap speed is, unit u²/time.
        k: loss weight k > 0, unit 1/time.
        gamma: discount rate γ >= 0, unit 1/time.
        curvature_scale: c > 0: the believed Hessian is cV.
        mean: prior of m, unit 1/u.
        variance: prior of V, unit 1/u².
        observation: ``Simplified(mean_noise, variance_noise)`` (Eq. 141) or ``Exact()`` (Eq. 138).
        weight: λ_b > 0, weight of −log posterior in the objective; the paper's is apparently 1.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Vastola, Gershman, Rajan (2025), Sec. 5 and App. H. That the log posterior is discounted, and that observations
        carry a fixed information per unit of time, are our readings.
    """

    eta: float = 1.0
    k: float = 1.0
    gamma: float = 0.0
    curvature_scale: float = 1.0
    mean: Prior = field(default_factory=Prior)
    variance: Prior = field(default_factory=Prior)
    observation: Observation = field(default_factory=Simplified)
    weight: float = 1.0

    def __post_init__(self) -> None:
        _checks.check(self, **dict.fromkeys(("eta", "k", "curvature_scale", "weight"), _checks.positive))
        _checks.check(self, gamma=_checks.nonnegative)
        for name in ("mean", "variance"):
            _checks.instance(name, getattr(self, name), Prior, "a belief.Prior")
        _checks.instance("observation", self.observation, Observation, "belief.Simplified(...) or belief.Exact()")

    @property
    def masses(self) -> Array:
        """What multiplies ½ẋ² in J, per variable, (1/η, λ_b/σ_m², λ_b/σ_V²)."""
        return np.array([1 / self.eta, self.weight / self.mean.diffusion**2, self.weight / self.variance.diffusion**2])

    @property
    def decays(self) -> Array:
        """The prior's decay of each variable, (0, α_m, α_V)."""
        return np.array([0.0, self.mean.decay, self.variance.decay])

    def objective(self, horizon: float = math.inf) -> Objective:
        """Return the objective of (δ, m, V): a diagonal metric of ``masses``, and −αx as drift.

        Args:
            horizon: deadline T in (0, inf]; all ends are free there.
        """
        drift = Linear(-np.diag(self.decays)) if np.any(self.decays) else None
        return Objective(1.0, self.k, self.gamma, Diagonal(self.masses), drift, _checks.duration("horizon", horizon))

    def loss(self, gradient: float | Data, square: float | Data | None = None) -> Loss:
        """Return the loss of (δ, m, V) under these data: L̂ + (λ_b/k)·(observation), with V > 0.

        Args:
            gradient: the datum g, a number or a function of an array of times.
            square: the datum q likewise, for the simplified observation model; None for the exact one.

        Returns:
            A ``Loss`` of three parameters; a ``task.Driven`` one if the data are functions.
        """
        from lossnav.problem.beliefs.loss import loss

        return loss(self, gradient, square)

    def data(self, gradient: ArrayLike, square: ArrayLike | None) -> tuple[Array, Array]:
        """Return g and q as arrays; raise ValueError unless q is there exactly when the observation model has one."""
        if (square is None) != isinstance(self.observation, Exact):
            exact = isinstance(self.observation, Exact)
            allowed = "None, for the exact model sees g alone" if exact else "given, for the model sees g and q"
            raise ValueError(f"square = {_checks.shown(square)}, but it must be {allowed}")
        g, q = _checks.array("gradient", gradient), _checks.array("square", 0.0 if square is None else square)
        _checks.together(gradient=g, square=q)
        return g, q

    def _checked(self, state: ArrayLike, name: str = "state") -> Array:
        """Return (δ, m, V) or its velocity as a finite array of shape (3, ...); V > 0 where the model needs it."""
        values = _checks.array(name, state)
        if values.ndim == 0 or len(values) != 3:
            raise ValueError(f"{name} has shape {values.shape}, but it must have shape (3, ...)")
        if name == "state" and isinstance(self.observation, Exact) and np.any(values[2] <= 0):
            raise ValueError(f"state = {_checks.shown(state)}, but its variance state[2] must be > 0")
        return values

    def _arguments(
        self, state: ArrayLike, gradient: ArrayLike, square: ArrayLike | None, *velocity: ArrayLike
    ) -> tuple[Array, Array, Array, Array]:
        """Return state, velocity (zero if there is none), g and q as arrays that broadcast."""
        x = self._checked(state)
        dx = self._checked(velocity[0], "velocity") if velocity else np.zeros_like(x)
        g, q = self.data(gradient, square)
        _checks.together(state=x, velocity=dx, gradient=g, square=q)
        return x, dx, g, q

    def expected_loss(self, state: ArrayLike) -> Array:
        """Return L̂ = mδ + ½cVδ² (Eq. 12) less its constant, for states of shape (3, ...)."""
        return self._loss(self._checked(state))

    def _loss(self, x: Array) -> Array:
        delta, m, v = x
        return m * delta + self.curvature_scale * v * delta**2 / 2

    def surprise(
        self, state: ArrayLike, velocity: ArrayLike, gradient: ArrayLike, square: ArrayLike | None = None
    ) -> Array:
        """Return the rate of −log posterior (Eqs. 138, 141) up to constants, without discount and λ_b.

        Args:
            state: (δ, m, V), shape (3, ...); V > 0 for the exact model.
            velocity: its derivative in time, shape (3, ...).
            gradient: datum g, shape (...).
            square: datum q, shape (...): g² or (g−m)², taken as data; None for the exact model, which has none.
        """
        (_, m, v), (_, dm, dv), g, q = self._arguments(state, gradient, square, velocity)
        observation_cost = self.observation.cost(m, v, g, q)
        return observation_cost + self.mean.cost(m, dm) + self.variance.cost(v, dv)

    def cost_rate(
        self, state: ArrayLike, velocity: ArrayLike, gradient: ArrayLike, square: ArrayLike | None = None
    ) -> Array:
        """Return the undiscounted integrand of J: kinetic cost, loss and surprise; arguments as in ``surprise``."""
        x, dx, _, _ = self._arguments(state, gradient, square, velocity)
        surprise = self.surprise(state, velocity, gradient, square)
        return dx[0] ** 2 / (2 * self.eta) + self.k * self._loss(x) + self.weight * surprise

    def acceleration(
        self, state: ArrayLike, velocity: ArrayLike, gradient: ArrayLike, square: ArrayLike | None = None
    ) -> Array:
        r"""Return (δ̈, m̈, V̈) by the Euler–Lagrange equations (Eq. 139 with ``Exact``, Eq. 142 with ``Simplified``).

        Args:
            state: (δ, m, V), shape (3, ...).
            velocity: shape (3, ...).
            gradient: datum g, shape (...).
            square: datum q, shape (...), for the simplified model.

        Returns:
            Shape (3, ...).
        """
        _, dx, _, _ = self._arguments(state, gradient, square, velocity)
        return self.gamma * dx + self.pull(state, gradient, square)

    def pull(self, state: ArrayLike, gradient: ArrayLike, square: ArrayLike | None = None) -> Array:
        """Return the right-hand sides of ẍ − γẋ = …, shape (3, ...); arguments as in ``acceleration``."""
        x, _, g, q = self._arguments(state, gradient, square)
        prior_pull = self.decays * (self.decays + self.gamma) * np.moveaxis(x, 0, -1)
        return np.moveaxis(prior_pull + self.k / self.masses * self._slope(x, g, q), -1, 0)

    def second_derivative(self, state: ArrayLike, gradient: ArrayLike, square: ArrayLike | None = None) -> Array:
        """Return the second derivatives of kL̂ + λ_b·(observation) by (δ, m, V), shape (..., 3, 3)."""
        x, _, g, q = self._arguments(state, gradient, square)
        return self._stiffness(x, g, q)

    def _height(self, x: Array, g: Array, q: Array) -> Array:
        """Return the loss of ``loss`` at states of shape (3, ...), shape (...), unchecked."""
        return self._loss(x) + self.weight / self.k * self.observation.cost(x[1], x[2], g, q)

    def _slope(self, x: Array, g: Array, q: Array) -> Array:
        """Return its gradient, shape (..., 3)."""
        delta, m, v = x
        c, share = self.curvature_scale, self.weight / self.k
        by_mean, by_variance = self.observation.derivative(m, v, g, q)
        parts = [m + c * v * delta, delta + share * by_mean, c * delta**2 / 2 + share * by_variance]
        return np.stack(parts, axis=-1)

    def _stiffness(self, x: Array, g: Array, q: Array) -> Array:
        """Return k times its Hessian, shape (..., 3, 3)."""
        delta, m, v = x
        mm, mv, vv = self.observation.second_derivative(m, v, g, q)
        k, c, ones = self.k, self.curvature_scale, np.ones(np.shape(delta))
        rows = [
            [k * c * v, k * ones, k * c * delta],
            [k * ones, self.weight * mm * ones, self.weight * mv * ones],
            [k * c * delta, self.weight * mv * ones, self.weight * vv * ones],
        ]
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    def memories(self, dt: float = 1.0, variance: float | None = None) -> tuple[Memory, Memory]:
        """Return the memories of m and of V; the exact model's noises are √V and √2·V, so it needs ``variance``."""
        noises = self.observation.noises(variance)
        priors = (self.mean, self.variance)
        first, second = (Memory(p.decay, self.gamma, p.diffusion, s, dt) for p, s in zip(priors, noises, strict=True))
        return first, second

    def parameter_rate(self, variance: ArrayLike) -> Array:
        """Return √(ηkcV), the rate at which a ballistic weight moves, unit 1/time, same shape as V."""
        return np.sqrt(self.eta * self.k * self.curvature_scale * _checks.nonnegatives("variance", variance))

    def step(self, mean: ArrayLike, variance: ArrayLike, dt: float, *, rule: str = "discounted") -> Array:
        r"""Return Δθ for believed m and V, elementwise.

        - ``"ballistic"``: :math:`-\sqrt{\eta k}\,(cV)^{-1/2}m\,\Delta t`, Eq. 14 (γ² ≪ 4ηkcV);
        - ``"discounted"``: −Sm with :math:`S=\eta k\Delta t/(\sqrt{\gamma^2/4+\eta kcV}+\gamma/2)`, any γ;
        - ``"finite"``: the same without assuming a short step, −Sm·(1−e^{−x})/x with x = ScV.

        All three need beliefs that hardly change while the weight moves.

        Args:
            mean: m, any shape.
            variance: V >= 0, same shape; V = 0 needs γ > 0, and is out of reach of Eq. 14.
            dt: Δt >= 0.
            rule: one of the three above.

        Raises:
            ValueError: naming the argument.

        Example:
            >>> Beliefs(eta=4.0).step(3.0, 4.0, 0.1, rule="ballistic")
            array(-0.3)

        References:
            Vastola, Gershman, Rajan (2025), Eq. 14; the other two are ours.
        """
        _checks.one_of("rule", rule, ("ballistic", "discounted", "finite"))
        m, v = _checks.array("mean", mean), _checks.array("variance", variance)
        dt = _checks.finite("dt", dt, low=0.0)
        if np.any(v < 0) or (np.any(v == 0) and (rule == "ballistic" or self.gamma == 0)):
            allowed = ">= 0" if rule != "ballistic" and self.gamma > 0 else "> 0"
            raise ValueError(f"variance = {_checks.shown(variance)}, but it must be {allowed}")
        _checks.together(mean=m, variance=v)
        gamma = 0.0 if rule == "ballistic" else self.gamma
        pace = self.eta * self.k / fast_rate(self.parameter_rate(v) ** 2, 1.0, gamma)
        size = pace * dt
        if rule == "finite":
            size = size * exp_mean(size * self.curvature_scale * v)
        return np.asarray(-size * m)

    def optimism(self, variance: float) -> float:
        r"""Return how far beliefs may talk themselves into a lower loss; the plan is a minimum only below 1.

        .. math:: k^2\Big/\Big[(\tfrac{\gamma^2}{4\eta}+kcV)\,\lambda_b
                  \Big(\tfrac1{s_m^2}+\tfrac{(\alpha_m+\gamma/2)^2}{\sigma_m^2}\Big)\Big]

        At 1 and above, J(θ, m) has no minimum for constant V: the loss mδ pays for any belief m of sign −δ. Where V may
        change, J with an infinite horizon and the simplified model has a lower bound, among all V > 0, if this is below
        1 as V → 0, and none if it is above 1 there: V can be driven that far at a finite cost.

        Args:
            variance: V > 0, unit 1/u².
        """
        v = _checks.positive("variance", variance)
        noise, _ = self.observation.noises(v)
        sure = 1 / noise**2 + ((self.mean.decay + self.gamma / 2) / self.mean.diffusion) ** 2
        return self.k**2 / ((self.gamma**2 / (4 * self.eta) + self.k * self.curvature_scale * v) * self.weight * sure)

    def require_evidence(self, variance: float) -> None:
        """Raise NoMinimiser, naming what to change, unless ``optimism(variance)`` is below 1."""
        optimism = self.optimism(variance)
        if optimism >= 1:
            noise, _ = self.observation.noises(variance)
            what = "observation.mean_noise" if isinstance(self.observation, Simplified) else "variance"
            raise NoMinimiser(
                f"{what} = {noise if what != 'variance' else variance:g}: the evidence about the gradient is too weak, "
                f"optimism = {optimism:.4g} must be < 1; J falls without bound as the belief follows the wish. "
                "Lower the noise, raise weight, or raise gamma"
            )

    def is_minimum(self, state: ArrayLike, gradient: float, square: float | None = None) -> bool:
        """Say whether J is at a minimum when it rests at a state, in all three variables.

        The second variation of a path that rests at (δ, m, V) is smallest at frequency zero, where it is
        ``second_derivative`` plus mass·(α + γ/2)² on the diagonal; the rest is a minimum iff that is positive definite.

        Args:
            state: (δ, m, V), shape (3,).
            gradient: datum g.
            square: datum q, for the simplified model.
        """
        x = _checks.array("state", state, shape=(3,))
        _checks.finite("gradient", gradient)
        if square is not None:
            _checks.finite("square", square)
        root = np.sqrt(self.masses)  # of units of their own
        variation = self.second_derivative(x, gradient, square) / root / root[:, None]
        variation = variation + np.diag((self.decays + self.gamma / 2) ** 2)
        return bool(np.linalg.eigvalsh(variation)[0] > 0)


def adam(model: Beliefs, dt: float, variance: float | None = None) -> dict[str, Any]:
    r"""Return the settings of Adam that the beliefs amount to: ``lr``, ``betas``, ``eps``.

    The believed m and V are κ_m and κ_V times the averages that Adam keeps, so the discounted step is

    .. math:: -\frac{\mathrm{lr}\,\hat m}{\sqrt{\hat v+\varepsilon^2}+\varepsilon},\qquad
              \mathrm{lr}=\sqrt{\eta k/c}\,\Delta t\,\frac{\kappa_m}{\sqrt{\kappa_V}},\quad
              \varepsilon=\frac{\gamma}{2\sqrt{\eta kc\,\kappa_V}} ,

    which is Adam's lr·m̂/(√v̂ + ε) but for a term of order ε²/v̂.

    Args:
        model: the beliefs.
        dt: Δt > 0, time per step.
        variance: V > 0, for the exact model, whose memory depends on it.

    Returns:
        A dictionary of keyword arguments, as torch's Adam names them.

    Example:
        >>> settings = adam(Beliefs(gamma=2e-8, mean=Prior(0.0, 0.1), variance=Prior(0.0, 1e-3)), dt=1.0)
        >>> settings["lr"], settings["eps"], round(settings["betas"][1], 3)
        (1.0, 1e-08, 0.999)

    References:
        Ours; Kingma and Ba (2015) for the names.
    """
    _checks.instance("model", model, Beliefs, "a belief.Beliefs")
    first, second = model.memories(_checks.positive("dt", dt), variance)
    scale = math.sqrt(model.eta * model.k / model.curvature_scale)
    eps = model.gamma / (2 * math.sqrt(model.eta * model.k * model.curvature_scale * second.gain))
    lr = scale * first.dt * first.gain / math.sqrt(second.gain)
    return {"lr": lr, "betas": (first.beta, second.beta), "eps": eps}
