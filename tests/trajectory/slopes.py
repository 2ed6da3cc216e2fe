"""Gradient and Hessian of a discretised objective against central differences of what they are derivatives of."""

import numpy as np


def check_slopes(problem, atol):
    """Assert it on a random path of eight nodes in the plane; ``atol`` is that of the scaled Hessian."""
    path, step = np.random.default_rng(0).normal(size=(8, 2)), 1e-5
    weight = np.exp(-problem.objective.gamma * problem.times)[:, None]

    def along(function, n, i):
        plus, minus = path.copy(), path.copy()
        plus[n, i] += step
        minus[n, i] -= step
        return (function(plus) - function(minus)) / (2 * step)

    numeric = np.array([[along(problem.action, n, i) for i in range(2)] for n in range(8)])
    assert np.allclose(problem.gradient(path) * weight, numeric, rtol=1e-6, atol=1e-7)
    diagonal, below = problem.hessian(path)
    root = np.sqrt(weight)
    for n in range(8):
        for i in range(2):
            column = along(lambda x: problem.gradient(x) * weight, n, i)  # ∂(∂J)/∂θ_n,i
            scaled = column / root / root[n]
            assert np.allclose(scaled[n], diagonal[n][:, i], rtol=1e-5, atol=atol)
            if n < 7:
                assert np.allclose(scaled[n + 1], below[n][:, i], rtol=1e-5, atol=atol)
            assert np.allclose(scaled[n + 2 :], 0.0, atol=atol)
