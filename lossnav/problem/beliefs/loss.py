r"""What the beliefs cost as a loss of (δ, m, V), and where they can rest: Sec. 5 as any other problem.

.. math:: J=\int_0^\infty e^{-\gamma t}\Big\{\tfrac12|\dot x+\alpha x|_M^2+kL(x)\Big\}dt,\qquad
    L=m\delta+\tfrac12cV\delta^2+\tfrac{\lambda_b}k\,\ell(m,V;g,q)

with the constant metric M of "masses", diag(1/η, λ_b/σ_m², λ_b/σ_V²), and the drift −αx. The alternative, (δ, m, ln V)
with a metric that depends on V, keeps V > 0 by itself, but there the drift does not vanish at rest, and the value
function nearby is no longer that of a frozen metric. In V it is; that V > 0 is said by ``positive``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.beliefs.model import Beliefs, Data
from lossnav.problem.beliefs.observation import Exact
from lossnav.problem.losses.base import Loss, scalar
from lossnav.problem.task import Driven


class Believed(Loss):
    """The loss of beliefs under data that stand still; D = 3, θ = (δ, m, V) on the last axis.

    ``Beliefs.loss`` makes it; with ``Beliefs.objective`` it is the problem of Sec. 5 as any other.

    Args:
        model: the assumptions.
        gradient: datum g, a number.
        square: datum q, a number; None for the exact observation model, which has none.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Believed(Beliefs(), gradient=0.5, square=1.0).gradient([0.0, 0.5, 1.0])
        array([0.5, 0. , 0. ])
    """

    model: Beliefs
    dim: int = 3
    positive: tuple[int, ...] = (2,)

    def __init__(self, model: Beliefs, gradient: float, square: float | None = None):
        self.model = _checks.instance("model", model, Beliefs, "a belief.Beliefs")
        _checks.finite("gradient", gradient)
        if square is not None:
            _checks.finite("square", square)
        self._g, self._q = model.data(gradient, square)

    def value(self, theta: ArrayLike) -> Any:
        return scalar(self.model._height(self._state(theta), self._g, self._q))

    def gradient(self, theta: ArrayLike) -> Array:
        return self.model._slope(self._state(theta), self._g, self._q)

    def hessian(self, theta: ArrayLike) -> Array:
        return self.model._stiffness(self._state(theta), self._g, self._q) / self.model.k

    def _state(self, theta: ArrayLike) -> Array:
        return _inside(self.model, self._points(theta))

    def stationary_points(self) -> Array | None:
        """Return those with V > 0; None where the prior decays, for then no plan rests there."""
        return None if np.any(self.model.decays) else self.starts(np.zeros(3))

    def starts(self, theta0: Array) -> Array | None:
        """Return all places with V > 0 at which a plan can rest, shape (N, 3); None for the exact model."""
        if isinstance(self.model.observation, Exact):
            return None
        return resting_places(self.model, float(self._g), float(self._q))

    def __repr__(self) -> str:
        return f"Believed({self.model}, gradient={float(self._g):g})"


def loss(model: Beliefs, gradient: float | Data, square: float | Data | None) -> Loss:
    """Return the loss under these data; a ``Driven`` one, if they are functions of an array of times."""
    if not callable(gradient) and not callable(square):
        return Believed(model, gradient, square)
    feeds = [_feed(gradient), None if square is None else _feed(square)]
    model.data(*(None if feed is None else feed(np.zeros(1)) for feed in feeds))  # type: ignore[arg-type]

    def driven(formula: Callable[..., Array]) -> Callable[[Array, Array], Array]:
        def at(theta: Array, t: Array) -> Array:
            g, q = (np.zeros(()) if feed is None else feed(t) for feed in feeds)
            return formula(_inside(model, theta), g, q)

        return at

    hessian = driven(lambda *at: model._stiffness(*at) / model.k)
    return Driven(driven(model._height), driven(model._slope), hessian, dim=3, positive=Believed.positive)


def resting_places(model: Beliefs, gradient: float, square: float) -> Array:
    """Return the states with V > 0 at which a plan can rest while the data stay what they are.

    With the simplified model they are the roots of a cubic in δ: m = −cVδ, with m and V from their own equations.

    Args:
        model: with ``belief.Simplified`` as its observation.
        gradient: datum g, unit 1/u.
        square: datum q, unit 1/u².

    Returns:
        (δ, m, V), shape (N, 3), nearest δ first; N can be 0.

    Raises:
        ValueError: the observation is the exact one, or a datum is not a finite number.
    """
    _checks.instance("model", model, Beliefs, "a belief.Beliefs")
    if isinstance(model.observation, Exact):
        raise ValueError(f"model.observation = {model.observation}, but resting places need the simplified model")
    g, q = _checks.finite("gradient", gradient), _checks.finite("square", square)
    first, second = model.memories()
    c, tilt = model.curvature_scale, model.k / model.weight
    by_mean = tilt * model.mean.diffusion**2 / first.stiffness
    by_variance = tilt * c * model.variance.diffusion**2 / (2 * second.stiffness)
    slope, level = (second.gain * q - by_mean / c) / by_variance, first.gain * g / (c * by_variance)
    unit = max(math.sqrt(abs(slope)), float(np.cbrt(abs(level)))) or 1.0  # δ³ − slope·δ − level = 0 in this unit
    roots = np.roots([1.0, 0.0, -slope / unit / unit, -level / unit / unit / unit])
    delta = unit * roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    states = np.stack([delta, first.gain * g - by_mean * delta, second.gain * q - by_variance * delta**2], axis=-1)
    states = states[states[:, 2] > 0]
    return states[np.argsort(np.abs(states[:, 0]))]


def _inside(model: Beliefs, theta: Array) -> Array:
    """Return states, shape (3, ...); NaN where the exact model has no variance: no Gaussian is there, and no loss."""
    x = np.moveaxis(theta, -1, 0)
    return x if not isinstance(model.observation, Exact) else np.where(x[2] > 0, x, np.nan)


def _feed(value: Any) -> Data:
    if callable(value):
        return lambda t: np.broadcast_to(_checks.reals("the datum", value(t)), np.shape(t))
    number = _checks.finite("the datum", value)
    return lambda t: np.full(np.shape(t), number)
