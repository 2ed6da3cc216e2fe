"""Gauss's quadrature against powers of dense matrices; samples of the noise against the covariance of its gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from curvature_cases import CASES, differences, gradients

from lossnav.analysis.curvature import GradientCovariance, Hessian, Matrix, quadrature

TANH = CASES[0]


def symmetric(values) -> tuple[Matrix, np.ndarray]:
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(len(values), len(values))))[0]
    dense = (axes * values) @ axes.T
    return Matrix(torch.from_numpy((dense + dense.T) / 2)), dense


def test_polynomials_up_to_the_degree_of_gauss_are_exact_and_the_next_is_not():
    operator, dense = symmetric(np.linspace(-1.0, 2.0, 12))
    z = np.random.default_rng(4).normal(size=(2, 12))
    rule = quadrature(operator, torch.from_numpy(z), steps=4)
    assert rule.products == 8 and (np.diff(rule.nodes) > 0).all() and (rule.weights > 0).all()
    for degree in range(9):
        exact = np.einsum("vi,ij,vj->v", z, np.linalg.matrix_power(dense, degree), z)
        by_nodes = np.sum(rule.weights * rule.nodes**degree, axis=1)
        if degree <= 7:
            np.testing.assert_allclose(by_nodes, exact, rtol=1e-11)
        else:
            assert (np.abs(by_nodes - exact) > 1e-4 * np.abs(exact)).all()


def test_a_krylov_space_that_ends_early_leaves_the_rest_without_weight():
    operator, _ = symmetric(np.repeat([1.0, 3.0], 5))
    z = torch.from_numpy(np.random.default_rng(5).normal(size=10))
    rule = quadrature(operator, z, steps=6)
    assert rule.products == 2
    np.testing.assert_allclose(rule.nodes[0, :2], [1, 3], rtol=1e-12)
    np.testing.assert_allclose(rule.weights.sum(), float(z @ z), rtol=1e-12)
    assert (rule.weights[0, 2:] == 0).all()


@pytest.mark.slow
def test_samples_have_the_covariance_of_the_gradients():
    model = TANH.model()
    sigma = GradientCovariance(model, TANH.loss, TANH.batches)
    dense = np.cov(gradients(TANH, model).numpy().T, bias=True)
    samples = sigma.sample(200, seed=2).numpy()
    assert np.abs(samples.mean(0)).max() < 5 * np.sqrt(dense.diagonal().max() / 200)
    axes = np.linalg.eigh(dense)[1][:, -3:]
    variances, exact = np.mean((samples @ axes) ** 2, axis=0), np.diag(axes.T @ dense @ axes)
    np.testing.assert_allclose(variances, exact, rtol=5 * np.sqrt(2 / 200))
    assert np.mean(np.sum(samples**2, axis=1)) == pytest.approx(np.trace(dense), rel=0.2)
    assert (sigma.sample(3, seed=2).numpy() == samples[:3]).all()


@pytest.mark.slow
def test_noise_over_the_spectrum_is_the_trace_of_a_product():
    model = TANH.model()
    hessian = Hessian(model, TANH.loss, TANH.batches)
    sigma = GradientCovariance(model, TANH.loss, TANH.batches)
    rule = quadrature(hessian, sigma.sample(60, seed=1), steps=20)
    dense = np.cov(gradients(TANH, model).numpy().T, bias=True)
    values, axes = np.linalg.eigh(differences(TANH).numpy())
    along = np.diag(axes.T @ dense @ axes)
    for f in (np.ones_like, lambda rho: 1 / (rho + 1), np.tanh):
        each = np.sum(rule.weights * f(rule.nodes), axis=1)
        assert abs(each.mean() - along @ f(values)) < 5 * each.std() / np.sqrt(60)
