"""Traces against sums of diagonals, their errors against the spread of many estimates; the covariance of gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from curvature_cases import CASES, differences, gradients
from torch import nn
from torch.nn.functional import mse_loss

from lossnav.analysis.curvature import GradientCovariance, Hessian, Matrix, eigenpairs, trace


def steep(size: int = 60) -> Matrix:
    """A matrix whose norm is in three directions."""
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0]
    spectrum = np.concatenate([[100.0, -50.0, 30.0], np.linspace(-0.5, 1, size - 3)])
    product = (axes * spectrum) @ axes.T
    return Matrix(torch.from_numpy((product + product.T) / 2))


def test_a_hessians_trace_is_the_sum_of_its_diagonal(case):
    exact = differences(case).diagonal().sum().item()
    hessian = Hessian(case.model(), case.loss, case.batches)
    estimate = trace(hessian, 200, seed=1, block=16)
    assert abs(estimate.value - exact) < 4 * estimate.error
    assert estimate.products == hessian.products == len(estimate.samples) == 200
    assert estimate.value == pytest.approx(estimate.samples.mean().item(), rel=1e-12)


@pytest.mark.slow
def test_the_mean_is_unbiased_and_the_error_is_the_spread_of_estimates():
    operator = steep()
    exact, squares = operator.matrix.trace().item(), operator.matrix.square()
    spread = math.sqrt(2 * (squares.sum() - squares.diagonal().sum()).item() / 8)  # Hutchinson's, for eight signs
    estimates = [trace(operator, 8, seed=seed) for seed in range(2000)]
    values = np.array([estimate.value for estimate in estimates])
    assert abs(values.mean() - exact) < 4 * spread / math.sqrt(2000)
    assert values.std() == pytest.approx(spread, rel=0.1)
    assert math.sqrt(np.mean([estimate.error**2 for estimate in estimates])) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("tolerance", [1e-8, 0.5], ids=["converged", "rough"])
def test_known_pairs_are_taken_out_without_bias(tolerance):
    operator = steep()
    exact = operator.matrix.trace().item()
    pairs = eigenpairs(operator, 3, which="magnitude", tolerance=tolerance)
    estimates = [trace(operator, 8, seed=seed, pairs=pairs) for seed in range(500)]
    values = np.array([estimate.value for estimate in estimates])
    assert values.std() < 0.2 * np.std([trace(operator, 8, seed=seed).value for seed in range(500)])
    assert abs(values.mean() - exact) < 4 * values.std() / math.sqrt(500)


def test_signs_are_exact_for_a_diagonal_and_do_not_depend_on_the_block():
    spectrum = torch.arange(10.0)
    assert trace(Matrix(torch.diag(spectrum)), 2).value == 45.0
    single, blocks, reseeded = (trace(steep(), 7, seed=s, block=b) for s, b in ((3, 1), (3, 4), (4, 1)))
    torch.testing.assert_close(single.samples, blocks.samples, rtol=1e-12, atol=0)
    assert single.value != reseeded.value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator": torch.eye(3)}, r"operator = tensor.*, but it must be an Operator"),
        ({"probes": 1}, "probes = 1, but it must be a whole number >= 2"),
        ({"block": 0}, "block = 0, but it must be a whole number >= 1"),
        ({"seed": 0.5}, r"seed = 0.5, but it must be a whole number >= 0"),
        ({"pairs": eigenpairs(Matrix(torch.eye(4)), 1)}, "pairs has vectors of length 4, but it must be D = 3"),
    ],
)
def test_arguments_of_trace_are_named(change, message):
    arguments = {"operator": Matrix(torch.eye(3)), "probes": 2, **change}
    with pytest.raises(ValueError, match=message):
        trace(**arguments)


@pytest.mark.parametrize("centred", [True, False])
def test_the_covariance_is_that_of_gradients_taken_one_by_one(case, centred):
    per_example = gradients(case, case.model())
    mean = per_example.mean(0)
    expected = per_example.T @ per_example / len(per_example) - (torch.outer(mean, mean) if centred else 0)
    sigma = GradientCovariance(case.model(), case.loss, case.batches, centred=centred)
    torch.testing.assert_close(sigma.mean, mean, rtol=1e-10, atol=1e-13)
    vectors = torch.randn(8, sigma.dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(sigma.matvec(vectors), vectors @ expected, rtol=1e-9, atol=1e-12)
    assert sigma.exact_trace(chunk=2) == pytest.approx(expected.trace().item(), rel=1e-10)
    rows = torch.cat([sigma.gradients(batch) for batch in case.batches])
    torch.testing.assert_close(rows, per_example, rtol=1e-10, atol=1e-13)


def test_the_covariances_largest_directions():
    case = CASES[0]
    sigma = GradientCovariance(case.model(), case.loss, case.batches)
    spectrum = np.linalg.eigvalsh(np.cov(gradients(case, case.model()).numpy().T, bias=True))[::-1]
    pairs = eigenpairs(sigma, 16, tolerance=1e-8)  # fifteen examples: rank fourteen
    np.testing.assert_allclose(pairs.values.numpy(), spectrum[:16], rtol=1e-10, atol=1e-13)
    assert pairs.values[13] > 1e-6 and pairs.values[14].abs() < 1e-13


def test_a_linear_models_noise_is_its_residual_times_its_hessian():
    """y = x·θ + noise of variance s²: at the true weights the gradients −2εx have the covariance 2s² H."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(20_000, 3, generator=draw).double() * torch.tensor([1.0, 0.5, 2.0]).double()
    model = nn.Linear(3, 1, bias=False).double()
    y = model(x).detach() + 0.3 * torch.randn(20_000, 1, generator=draw).double()
    hessian, sigma = (kind(model, mse_loss, (x, y)).dense() for kind in (Hessian, GradientCovariance))
    assert (sigma - 2 * 0.3**2 * hessian).abs().max() < 0.03 * sigma.abs().max()


def test_chosen_parameters_of_the_covariance():
    case = CASES[0]
    model = case.model()
    dense = GradientCovariance(model, case.loss, case.batches).dense()
    part = GradientCovariance(model, case.loss, case.batches, parameters=["2.bias"])
    assert part.names == ["2.bias"]
    assert [*part.unflatten(part.mean)] == ["2.bias"] and torch.equal(part.flatten({"2.bias": part.mean}), part.mean)
    torch.testing.assert_close(part.dense(), dense[-3:, -3:], rtol=1e-10, atol=1e-13)
    with pytest.raises(ValueError, match="chunk = 0, but it must be a whole number >= 1"):
        part.exact_trace(0)
