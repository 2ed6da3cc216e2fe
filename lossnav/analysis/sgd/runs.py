"""Simulated runs of SGD on a quadratic loss with Gaussian noise, and the identity that every recorded run obeys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.sgd._setting import FORMS, bound, recursion, setting
from lossnav.analysis.sgd.diffusion import root
from lossnav.analysis.sgd.laws import stationary
from lossnav.analysis.sgd.oscillator import Oscillators


def simulate(
    rho: ArrayLike,
    steps: int,
    *,
    eta: float,
    beta: float,
    batch: int,
    noise: float | None = None,
    decay: float = 0.0,
    form: str = "discrete",
    gradient_variance: ArrayLike | None = None,
    population: int | None = None,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    paths: int = 1,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Simulate modes of SGD with constant Gaussian noise: the recursion itself (K2), or the SDE at times ηk, exactly.

    The SDE is drawn by its own transition law, with no error of time steps: what differs between the two forms is the
    difference of the models.

    Args:
        rho: eigenvalues ρ >= 0, one or shape (L,).
        steps: number of steps >= 1.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        batch: S, examples a step.
        noise: σ² >= 0, for Σ = σ²H.
        decay: weight decay λ >= 0.
        form: "discrete" or "sde".
        gradient_variance: instead of ``noise``, Σ_ll >= 0, of the shape of ``rho``.
        population: N, if a batch holds different examples of N.
        start: θ_0 − μ along the modes, one number or shape (L,); None draws (θ, v) from the stationary law.
        velocity: v_0 with ``start``, one number or shape (L,); None is at rest.
        paths: number of independent runs >= 1.
        seed: of numpy's generator.

    Returns:
        θ − μ and v, each of shape (paths, steps + 1, L).

    Raises:
        ValueError: an argument is out of its range, SGD is unstable, or a stationary start is asked for and there is
            no stationary law.

    Example:
        >>> theta, v = simulate([1.0, 0.1], 100, eta=0.1, beta=0.9, batch=8, noise=1.0, paths=3)
        >>> theta.shape
        (3, 101, 2)
    """
    _checks.one_of("form", form, FORMS)
    run = setting(rho, eta, beta, batch, noise, decay, gradient_variance, population)
    _checks.counts(steps=steps, paths=paths)
    _checks.room(4.0 * steps * paths * len(run.curvature), steps=steps, paths=paths)  # θ and v, and both once more
    rng = np.random.default_rng(_checks.seed("seed", seed, low=0))
    modes = len(run.curvature)
    state = np.empty((paths, modes, 2))
    if start is not None:
        state[..., 0] = _per_mode("start", start, modes)
        state[..., 1] = 0.0 if velocity is None else _per_mode("velocity", velocity, modes)
    else:
        if velocity is not None:
            raise ValueError(f"velocity = {_checks.shown(velocity)} is given without start, but it must come with it")
        bound(run)
        law = stationary(run.curvature, eta=run.eta, beta=run.beta, batch=1, gradient_variance=run.variance, form=form)
        state[:] = _mapped(np.stack([root(covariance) for covariance in law]), rng.normal(size=state.shape))
    step, spread = _transitions(run.curvature, run.variance, run.eta, run.beta, form)
    states = np.empty((steps + 1, paths, modes, 2))
    states[0] = state
    for k in range(steps):
        states[k + 1] = _mapped(step, states[k])
        states[k + 1] += _mapped(spread, rng.normal(size=(paths, modes, spread.shape[-1])))
    theta, v = np.moveaxis(states, (3, 1), (0, 1))
    return np.ascontiguousarray(theta), np.ascontiguousarray(v)


def _mapped(matrices: Array, vectors: Array) -> Array:
    """Return M_l x_pl, shape (P, L, I), for matrices (L, I, J) with J <= 2: einsum takes three times as long."""
    first, *rest = (matrices[..., j] * vectors[..., j, None] for j in range(matrices.shape[-1]))
    return sum(rest, start=first)


@dataclass(frozen=True)
class FluctuationDissipation:
    """Both sides of the fluctuation–dissipation identity on a recorded window.

    Attributes:
        work: mean of ⟨θ_k, g_k + λθ_k⟩.
        kinetic: (η/2)(mean |v_{k+1}|² + β·mean |v_k|²).
        ends: what the ends of the window leave, of the order of 1/K.
    """

    work: float
    kinetic: float
    ends: float

    @property
    def ratio(self) -> float:
        """(work − ends)/kinetic: 1 to rounding if the gradients are those of the steps."""
        return (self.work - self.ends) / self.kinetic


def fluctuation_dissipation(
    theta: ArrayLike, velocity: ArrayLike, gradient: ArrayLike, *, eta: float, beta: float, decay: float = 0.0
) -> FluctuationDissipation:
    r"""Return both sides of :math:`E\langle\theta,g+\lambda\theta\rangle=\tfrac\eta2(1+\beta)E|v|^2` (ours).

    Whatever the loss, the noise and the sampling, with the gradients of the *batches* it is an identity of the
    recursion, up to the ends of the window. With full gradients it also asks that each batch is drawn anew, whatever
    happened before, and that θ is stationary; shuffled epochs break it.

    Args:
        theta: θ_0 … θ_K, shape (K + 1, D).
        velocity: v_0 … v_K, shape (K + 1, D): minus torch's buffer, with θ_{k+1} = θ_k + ηv_{k+1}.
        gradient: at θ_0 … θ_{K−1}, without decay, shape (K, D).
        eta: learning rate η > 0, the same throughout.
        beta: momentum β in [0, 1), the same throughout; no dampening, no Nesterov.
        decay: coupled weight decay λ >= 0.

    Raises:
        ValueError: shapes do not fit together, an argument is out of its range, or nothing moves.
    """
    places = _checks.array("theta", theta, shape=(None, None))
    eta, beta, decay = _checks.positive("eta", eta), _checks.weight("beta", beta), _checks.nonnegative("decay", decay)
    if len(places) < 2 or places.shape[1] == 0:
        raise ValueError(f"theta has shape {places.shape}, but it must have shape (K + 1, D) with K >= 1")
    speeds = _checks.array("velocity", velocity, shape=places.shape)
    count = len(places) - 1
    gradients = _checks.array("gradient", gradient, shape=(count, places.shape[1]))
    work = float(np.sum(places[:-1] * (gradients + decay * places[:-1]))) / count
    squares = np.sum(speeds**2, axis=1)
    kinetic = eta / 2 * float(np.sum(squares[1:]) + beta * np.sum(squares[:-1])) / count
    if kinetic == 0:
        raise ValueError("velocity is 0 throughout, but something must move")
    before = places[0] - eta * speeds[0]
    ends = beta * (places[-2] @ places[-2] - before @ before) - (places[-1] @ places[-1] - places[0] @ places[0])
    return FluctuationDissipation(work, kinetic, float(ends) / (2 * eta * count))


def _transitions(h: Array, variance: Array, eta: float, beta: float, form: str) -> tuple[Array, Array]:
    """Return the maps of one step, shape (L, 2, 2), and the factors of its noise, shape (L, 2, r)."""
    if form == "discrete":
        size = np.sqrt(variance)
        return recursion(h, eta, beta), np.stack([eta * size, size], -1)[..., None]
    modes = Oscillators.of(h, eta, beta)
    # what a force 2√(s²/η)/(1+β)·ξ leaves: ∫(s, C)(s, C)ᵀ over one step, in which both are smooth
    nodes, weights = np.polynomial.legendre.leggauss(64)
    wide = Oscillators(modes.gamma, modes.omega2[:, None], modes.alpha2[:, None])
    times = eta * (nodes + 1) / 2
    kicks = np.stack([wide.kick(times), wide.velocity(times)], 1)
    power = 4 * variance / (eta * (1 + beta) ** 2)
    noise = np.einsum("lin,ljn,n->lij", kicks, kicks, weights * eta / 2) * power[:, None, None]
    return modes.propagator(np.array(eta)), np.stack([root(matrix) for matrix in noise])


def _per_mode(name: str, value: ArrayLike, modes: int) -> Array:
    values = _checks.array(name, value)
    if values.shape not in ((), (modes,)):
        raise ValueError(f"{name} has shape {values.shape}, but it must be one number or have shape ({modes},)")
    return values
