"""The kernel of forgetting (L9) against the dense matrices of a small network."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import nn
from torch.nn.functional import mse_loss

from lossnav.analysis.curvature import GradientCovariance, Hessian, noise_kernel

X = torch.randn(12, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
Y = torch.randn(12, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.slow
def test_it_is_the_trace_of_the_matrices():
    """Of the samples' own covariance to all digits; test_noise_spectrum.py holds that against the gradients'."""
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1).double()
    hessian = Hessian(net, torch.nn.functional.mse_loss, (X, Y)).dense().numpy()
    covariance = GradientCovariance(net, torch.nn.functional.mse_loss, (X, Y))
    drawn = covariance.sample(300, seed=5).numpy()
    found = noise_kernel(net, torch.nn.functional.mse_loss, (X, Y), probes=300, steps=4, batch=3, seed=5)
    assert found.dropped == 0
    for u in (0.0, 0.1, 1.0):
        forgotten = hessian @ scipy.linalg.expm(-2 * u * hessian)
        assert found(u) == pytest.approx(np.trace(drawn.T @ drawn / 300 @ forgotten) / 3, rel=1e-9)
        assert found(u) == pytest.approx(np.trace(covariance.dense().numpy() @ forgotten) / 3, rel=0.15)  # random signs
    assert np.all(np.diff(found(np.linspace(0, 3, 20))) < 0)


def test_there_must_be_noise_that_is_forgotten():
    net = torch.nn.Linear(3, 1).double()
    same = X[:1].expand(4, 3), Y[:1].expand(4, 1)
    with pytest.raises(ValueError, match="same gradient"):
        noise_kernel(net, torch.nn.functional.mse_loss, same)
    torch.manual_seed(0)
    deep = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    for dtype in (torch.float32, torch.float64):  # what rounding leaves of equal gradients is no noise
        equal = X[:1].repeat(7, 1).to(dtype), Y[:1].repeat(7, 1).to(dtype)
        with pytest.raises(ValueError, match="same gradient"):
            noise_kernel(deep.to(dtype), torch.nn.functional.mse_loss, equal)
    with pytest.raises(ValueError, match="curvature > 0"):
        noise_kernel(net, lambda out, y: -torch.nn.functional.mse_loss(out, y), (X, Y))


def test_examples_that_are_alike_have_a_covariance_that_is_not_rounding():
    torch.manual_seed(0)
    model, x = nn.Linear(20, 1), torch.randn(1, 20) + 1e-4 * torch.randn(64, 20)
    pair = x, torch.full((64, 1), 10.0)
    single, double = (GradientCovariance(model, mse_loss, pair, dtype=d) for d in (None, torch.float64))
    assert single.exact_trace() == pytest.approx(double.exact_trace(), rel=1e-3)
    assert single.dense().trace().item() == pytest.approx(double.exact_trace(), rel=1e-2)


def test_a_model_that_torch_cannot_batch_by_example_is_named():
    class Last(nn.GRU):
        def forward(self, x):
            return super().forward(x)[0][:, -1]

    with pytest.raises(ValueError, match="example by example: Batching rule"):
        GradientCovariance(Last(3, 1, batch_first=True), mse_loss, (torch.randn(6, 4, 3), torch.randn(6, 1)))
    # Forwards torch cannot differentiate the norm of a row of weights, which only a product asks for.
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    sigma = GradientCovariance(model, mse_loss, (torch.randn(6, 3), torch.randn(6, 2)))
    with pytest.raises(ValueError, match="example by example: Trying to use forward AD with _weight_norm"):
        sigma.matvec(torch.ones(sigma.dim))
