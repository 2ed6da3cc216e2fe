"""A ring-shaped valley, tilted or not: the landscape on which optimal paths need not rest."""

import numpy as np

import lossnav as ln


def ring(tilt=0.0, height=1.0):
    """height·(|θ|² − 1)² + tilt·θ₁."""

    def value(x):
        return height * (np.sum(x**2, axis=-1) - 1) ** 2 + tilt * x[..., 0]

    def gradient(x):
        return 4 * height * (np.sum(x**2, axis=-1, keepdims=True) - 1) * x + tilt * np.array([1.0, 0.0])

    def hessian(x):
        flat = (np.sum(x**2, axis=-1) - 1)[..., None, None] * np.eye(2)
        return 4 * height * flat + 8 * height * x[..., :, None] * x[..., None, :]

    return ln.losses.Function(value, gradient, hessian, dim=2)


def loop(points=32, radius=1.0):
    t = 2 * np.pi * np.arange(points) / points
    return radius * np.stack([np.cos(t), np.sin(t)], axis=1)
