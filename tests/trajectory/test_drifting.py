"""Drift: closed forms against Riccati, direct minimisation and collocation, on random problems of every kind."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from resources import draws

import lossnav as ln

KINDS = ("none", "decay", "rotation", "skew", "general")


def problem(seed, kind, dim):
    """A random convex quadratic with a metric that does not commute with its Hessian."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, dim, dim))
    hessian, metric = a @ a.T / dim + 0.4 * np.eye(dim), b @ b.T / dim + 0.4 * np.eye(dim)
    skew = rng.normal(size=(dim, dim))
    skew = 0.4 * (skew - skew.T)
    drift = None
    if kind == "decay":
        drift = ln.drifts.weight_decay(float(rng.uniform(0.1, 1.0)))
    elif kind == "rotation":
        drift, hessian, metric = ln.drifts.Linear(skew), float(rng.uniform(0.5, 2)) * np.eye(dim), np.eye(dim)
    elif kind == "skew":
        drift = ln.drifts.Linear(skew, 0.3 * rng.normal(size=dim))
    elif kind == "general":
        drift = ln.drifts.Linear(0.3 * rng.normal(size=(dim, dim)), 0.3 * rng.normal(size=dim))
    objective = ln.Objective(
        eta=float(rng.uniform(0.5, 2)),
        k=float(rng.uniform(0.5, 2)),
        gamma=float(rng.uniform(0.2, 1.5)),
        metric=metric,
        drift=drift,
    )
    return objective, ln.losses.Quadratic(hessian, minimum=rng.normal(size=dim), offset=1.0), rng.normal(size=dim)


@pytest.mark.slow
@settings(deadline=None, max_examples=draws(10), derandomize=True)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), dim=st.integers(1, 6))
def test_four_methods_agree(seed, kind, dim):
    objective, loss, theta0 = problem(seed, kind, dim)
    exact = ln.solve(objective, loss, theta0)
    assert exact.method == "closed_form" or kind in ("skew", "general")
    assume(np.all(np.isfinite(exact.asymptote)))  # a general drift may be optimal to follow to infinity
    t = np.linspace(0.0, 6.0, 25)
    size, tol = max(1.0, float(np.max(np.abs(exact(t))))), 1e-7 if kind == "none" else 1e-6
    for method in ("riccati", "action", "bvp"):
        other = ln.solve(objective, loss, theta0, method=method)
        assert other.method == method and other.converged
        assert other.action == pytest.approx(exact.action, rel=tol)
        assert np.max(np.abs(other(t) - exact(t))) < tol * size
        assert np.max(np.abs(other.velocity(t) - exact.velocity(t))) < 10 * tol * size
        assert np.allclose(other.asymptote, exact.asymptote, atol=tol * size)
