r"""Linear classifiers of two classes as loss landscapes, with the exact Hessian and the exact Fisher information.

The model says :math:`P(y=1\mid x) = p(z)`, :math:`z = x^\top\theta`. Its Fisher information

.. math:: F(\theta) = \frac1N\sum_n \frac{p'(z_n)^2}{p(z_n)(1-p(z_n))}\,x_nx_n^\top

belongs to the model: it contains neither labels nor loss. The Hessian belongs to the loss. With the logistic link and
the log score they are equal, but for an l2 term, which only the loss has; with any other link or score they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.losses import Loss

__all__ = ["Link", "LogisticRegression"]
__dir__ = __all__.copy


SCORES = ("log", "brier")


class Link(NamedTuple):
    """p(z), p′(z), p″(z), and log p(z); both links here are odd about ½, so that 1 − p(z) = p(−z)."""

    chance: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    second_derivative: Callable[[Array], Array]
    log_chance: Callable[[Array], Array]


def _density(z: Array) -> Array:
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _logistic_slope(z: Array) -> Array:
    return scipy.special.expit(z) * scipy.special.expit(-z)


def _density_slope(z: Array) -> Array:
    return -z * _density(z)


def _logistic_bend(z: Array) -> Array:
    return -_logistic_slope(z) * np.tanh(z / 2)


LINKS = {
    "logistic": Link(scipy.special.expit, _logistic_slope, _logistic_bend, scipy.special.log_expit),
    "probit": Link(scipy.special.ndtr, _density, _density_slope, scipy.special.log_ndtr),
}


class LogisticRegression(Loss):
    r"""A linear classifier of two classes; D = number of features.

    .. math:: L(\theta) = \frac1N\sum_n s(z_n, y_n) + \tfrac\lambda2|\theta|^2,\qquad z_n = x_n^\top\theta

    with the log score :math:`s=-\log P(y\mid x)` or the Brier score :math:`s=\tfrac12(p(z)-y)^2`, which is half the
    squared error of the predicted probability. Both are smallest, on average, at the true probabilities.

    Args:
        x: features, shape (N, D); append a column of ones for an intercept.
        y: labels 0 or 1, shape (N,).
        l2: λ ≥ 0.
        link: p(z): "logistic", 1/(1+e^{−z}), or "probit", the normal distribution function.
        score: "log" or "brier".

    Raises:
        ValueError: naming the argument: shapes that do not fit, labels other than 0 and 1, an unknown link or score.

    Example:
        >>> model = LogisticRegression([[1.0], [2.0], [-1.0]], [1, 0, 0])
        >>> bool(np.allclose(model.hessian([0.3]), model.fisher([0.3])))
        True

    References:
        Amari (1998) for F as a metric; Vastola, Gershman, Rajan (2025), Sec. 4.
    """

    l2: float
    link: str
    score: str
    dim: int

    def __init__(self, x: ArrayLike, y: ArrayLike, l2: float = 0.0, link: str = "logistic", score: str = "log"):
        self._x = _checks.array("x", x, shape=(None, None))
        if 0 in self._x.shape:
            raise ValueError(f"x has shape {self._x.shape}, but it must have at least one row and one column")
        self._y = _checks.array("y", y, shape=(len(self._x),), truths=True)
        if not np.all((self._y == 0) | (self._y == 1)):
            raise ValueError(f"y = {_checks.shown(self._y)}, but its entries must be 0 or 1")
        self.l2 = _checks.finite("l2", l2, low=0.0)
        self.link, self.score = _checks.one_of("link", link, LINKS), _checks.one_of("score", score, SCORES)
        self._link = LINKS[self.link]
        self.dim = self._x.shape[1]

    def value(self, theta: ArrayLike) -> Any:
        theta = self._points(theta)
        z = theta @ self._x.T
        scores = -self._link.log_chance(self._side * z) if self.score == "log" else self._miss(z) ** 2 / 2
        value = scores.mean(-1) + self.l2 / 2 * (theta**2).sum(-1)
        return float(value) if theta.ndim == 1 else value

    def gradient(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        return self._slopes(theta @ self._x.T) @ self._x / len(self._x) + self.l2 * theta

    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L(θ), shape (..., D, D); with the Brier score it can be indefinite."""
        theta = self._points(theta)
        return self._gram(self._bends(theta @ self._x.T)) + self.l2 * np.eye(self.dim)

    def fisher(self, theta: ArrayLike) -> Array:
        """Return the Fisher information F(θ) of the model, per example, shape (..., D, D), without the l2 term.

        It does not depend on ``score`` nor on ``y``.
        """
        z = self._points(theta) @ self._x.T
        if self.link == "logistic":
            return self._gram(self._link.derivative(z))
        # p′²/(p(1−p)) as a product: far out, p or 1−p underflows and p′/p does not
        return self._gram(self._pull(z) * self._pull(-z))

    def accuracy(self, theta: ArrayLike) -> float:
        """Return the share of examples on the right side, for one θ of shape (D,)."""
        theta = _checks.array("theta", theta, shape=(self.dim,))
        return float(np.mean((theta @ self._x.T > 0) == (self._y == 1)))

    @property
    def _side(self) -> Array:
        return 2 * self._y - 1

    def _miss(self, z: Array) -> Array:
        """Return |p(z) − y| without cancellation: the chance that the model gives to the other class."""
        return self._link.chance(-self._side * z)

    def _slopes(self, z: Array) -> Array:
        """Return ds/dz, shape (..., N)."""
        if self.score == "brier":
            return -self._side * self._miss(z) * self._link.derivative(z)
        if self.link == "logistic":
            return -self._side * self._miss(z)
        return -self._side * self._pull(self._side * z)

    def _bends(self, z: Array) -> Array:
        """Return d²s/dz², shape (..., N)."""
        if self.score == "brier":
            return self._link.derivative(z) ** 2 - self._side * self._miss(z) * self._link.second_derivative(z)
        if self.link == "logistic":
            return self._link.derivative(z)
        own = self._side * z
        far = np.clip(own, -1e8, 0.0)  # before it is 1 up to rounding
        # On the wrong side pull + z cancels: it is pull·∫₀^∞ t e^{zt − t²/2}dt.
        wrong = self._pull(far) ** 2 * scipy.special.hyperu(1, 0.5, far**2 / 2) / 2
        return np.where(own < 0, wrong, self._pull(own) * (self._pull(own) + own))

    @staticmethod
    def _pull(u: Array) -> Array:
        """Return φ(u)/Φ(u) of the normal distribution, also where both underflow."""
        with np.errstate(over="ignore"):  # far on the right side erfcx is infinite, and the pull 0
            return np.sqrt(2 / np.pi) / scipy.special.erfcx(-u / np.sqrt(2))

    def _gram(self, weights: Array) -> Array:
        """Return Σ w_n x_n x_nᵀ / N, shape (..., D, D), for weights of shape (..., N)."""
        return np.swapaxes(self._x.T @ (weights[..., :, None] * self._x), -1, -2) / len(self._x)

    def __repr__(self) -> str:
        return f"LogisticRegression(N={len(self._x)}, dim={self.dim}, link={self.link!r}, score={self.score!r})"
