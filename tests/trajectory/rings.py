"""A ring-shaped valley, tilted or not: the landscape on which optimal paths need not rest."""

import numpy as np

import lossnav as ln
from benchmarks import landscapes


def ring(tilt=0.0, height=1.0):
    """height·(|θ|² − 1)² + tilt·θ₁."""
    unit_ring = landscapes.ring(tilt / height)
    asked = (lambda x, ask=ask: height * ask(x) for ask in (unit_ring.value, unit_ring.gradient, unit_ring.hessian))
    return ln.losses.Function(*asked, dim=2)


def loop(points=32, radius=1.0):
    t = 2 * np.pi * np.arange(points) / points
    return radius * np.stack([np.cos(t), np.sin(t)], axis=1)
