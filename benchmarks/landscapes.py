"""Landscapes as a user writes them: functions of arrays of shape (..., D), with or without their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lossnav as ln

Array = Any


def hills(height: float, width: float, centres: Any) -> ln.losses.Function:
    """Return |x|²/2 + height·Σ_c exp(−|x − c|²/width): a bowl behind hills, between which there are several ways."""
    places = np.asarray(centres, float)

    def bumps(x: Array) -> Array:
        return height * np.exp(-np.sum((x[..., None, :] - places) ** 2, axis=-1) / width)

    def gradient(x: Array) -> Array:
        pull = -2 / width * bumps(x)
        return x + np.einsum("...c,...ci->...i", pull, x[..., None, :] - places)

    def hessian(x: Array) -> Array:
        away, high = x[..., None, :] - places, bumps(x)
        bent = 4 / width**2 * np.einsum("...c,...ci,...cj->...ij", high, away, away)
        flat = 1 - 2 / width * high.sum(-1)
        return bent + flat[..., None, None] * np.eye(x.shape[-1])

    return ln.losses.Function(
        lambda x: np.sum(x**2, axis=-1) / 2 + bumps(x).sum(-1), gradient, hessian, dim=places.shape[1]
    )


def separable(
    value: Callable[[Array], Array], gradient: Callable[[Array], Array], bend: Callable[[Array], Array], dim: int
) -> ln.losses.Function:
    """Return Σ_i value(x_i): its J is the sum of those of one parameter."""
    return ln.losses.Function(
        lambda x: value(x).sum(-1), gradient, lambda x: bend(x)[..., None] * np.eye(x.shape[-1]), dim=dim
    )


def rastrigin(dim: int) -> ln.losses.Function:
    """Return Σ x² + 10(1 − cos 2πx)."""
    turn = 2 * np.pi
    return separable(
        lambda x: x**2 + 10 * (1 - np.cos(turn * x)),
        lambda x: 2 * x + 10 * turn * np.sin(turn * x),
        lambda x: 2 + 10 * turn**2 * np.cos(turn * x),
        dim,
    )


def styblinski_tang(dim: int) -> ln.losses.Function:
    """Return Σ (x⁴ − 16x² + 5x)/2."""
    return separable(
        lambda x: (x**4 - 16 * x**2 + 5 * x) / 2,
        lambda x: 2 * x**3 - 16 * x + 2.5,
        lambda x: 6 * x**2 - 16,
        dim,
    )


def quartic(dim: int) -> ln.losses.Function:
    """Return Σ (i + 1)·x_i²/2 + x_i⁴/4, convex."""
    weight = np.arange(1.0, dim + 1)
    return separable(
        lambda x: weight[: x.shape[-1]] * x**2 / 2 + x**4 / 4,
        lambda x: weight * x + x**3,
        lambda x: weight + 3 * x**2,
        dim,
    )


def himmelblau(scale: float) -> ln.losses.Function:
    """Return ((x² + y − 11)² + (x + y² − 7)²)·scale, its derivatives left to the package."""
    return ln.losses.Function(
        lambda x: scale * ((x[..., 0] ** 2 + x[..., 1] - 11) ** 2 + (x[..., 0] + x[..., 1] ** 2 - 7) ** 2), dim=2
    )


def softplus() -> ln.losses.Function:
    """Return ln(1 + e^{−x}): convex, and without a place to rest, as is cross-entropy on separable data."""
    return ln.losses.Function(
        lambda x: np.logaddexp(0, -x[..., 0]),
        lambda x: -1 / (1 + np.exp(x)),
        lambda x: (np.exp(-np.logaddexp(0, x) - np.logaddexp(0, -x)))[..., None],
        dim=1,
    )


def ring(tilt: float = 0.0) -> ln.losses.Function:
    """Return (|x|² − 1)² + tilt·x₁."""

    def off(x: Array) -> Array:
        return np.sum(x**2, axis=-1, keepdims=True) - 1

    return ln.losses.Function(
        lambda x: off(x)[..., 0] ** 2 + tilt * x[..., 0],
        lambda x: 4 * off(x) * x + tilt * np.array([1.0, 0.0]),
        lambda x: 4 * off(x)[..., None] * np.eye(2) + 8 * x[..., None] * x[..., None, :],
        dim=2,
    )


def polynomial(seed: int) -> ln.losses.Function:
    """Return |x|²/2 + x₁⁴/10 + x₂⁴/10 + a random cubic and a wave, of two parameters, its derivatives left out."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(-0.3, 0.3, size=3)
    wave = rng.normal(size=2)
    return ln.losses.Function(
        lambda x: (
            (x**2).sum(-1) / 2 + (x**4).sum(-1) / 10 + a * x[..., 0] ** 3 + b * x[..., 0] * x[..., 1] ** 2
            + c * np.sin(x @ wave) + 1
        ),
        dim=2,
    )  # fmt: skip


def logistic_one_by_one(features: Array, labels: Array, penalty: float) -> ln.losses.Function:
    """Return the mean logistic loss with a penalty, written for one θ, as most do."""
    signed = features * (2.0 * labels - 1)[:, None]

    def value(x: Array) -> float:
        return float(np.mean(np.logaddexp(0, -signed @ x)) + penalty / 2 * (x @ x))

    def gradient(x: Array) -> Array:
        return -signed.T @ (1 / (1 + np.exp(signed @ x))) / len(signed) + penalty * x

    def hessian(x: Array) -> Array:
        p = 1 / (1 + np.exp(-signed @ x))
        return (signed * (p * (1 - p))[:, None]).T @ signed / len(signed) + penalty * np.eye(len(x))

    return ln.losses.Function(value, gradient, hessian, dim=features.shape[1])


def logistic(features: Array, labels: Array, penalty: float) -> ln.losses.Function:
    """Return the same loss, written for arrays of shape (..., D)."""
    signed = features * (2.0 * labels - 1)[:, None]

    def gradient(x: Array) -> Array:
        return -(1 / (1 + np.exp(x @ signed.T))) @ signed / len(signed) + penalty * x

    def hessian(x: Array) -> Array:
        p = 1 / (1 + np.exp(-x @ signed.T))
        return np.swapaxes((p * (1 - p))[..., None] * signed, -1, -2) @ signed / len(signed) + penalty * np.eye(
            x.shape[-1]
        )

    return ln.losses.Function(
        lambda x: np.logaddexp(0, -x @ signed.T).mean(-1) + penalty / 2 * (x**2).sum(-1),
        gradient,
        hessian,
        dim=features.shape[1],
    )


def synthetic(count: int, dim: int, seed: int) -> tuple[Array, Array]:
    """Return features, shape (count, dim), and labels of 0 and 1 that follow them up to noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, dim))
    labels = (features @ rng.normal(size=dim) + rng.normal(size=count) > 0).astype(float)
    return features, labels


def patients() -> tuple[Array, Array]:
    """Return scikit-learn's breast-cancer data, standardised, shape (569, 30), and labels of 0 and 1."""
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    return (features - features.mean(0)) / features.std(0), labels.astype(float)


def tanh_network(hidden: int = 3, seed: int = 0) -> ln.losses.Function:
    """Return the mean squared error of a network 1–hidden–1 with biases, 3·hidden + 1 weights, with a penalty."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-2, 2, 21)
    y = np.sin(2 * x) + 0.1 * rng.normal(size=21)

    def value(theta: Array) -> Array:
        w, b, v = (theta[..., i * hidden : (i + 1) * hidden] for i in range(3))
        out = np.einsum("...h,...nh->...n", v, np.tanh(w[..., None, :] * x[:, None] + b[..., None, :]))
        return ((out + theta[..., -1:] - y) ** 2).mean(-1) / 2 + 5e-3 * (theta**2).sum(-1)

    return ln.losses.Function(value, dim=3 * hidden + 1)
