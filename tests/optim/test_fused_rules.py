"""The kernels: bits where IEEE fixes them, elsewhere units in the last place."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from drive import gradients, in_numpy

from lossnav.optim import Ballistic, Belief, Navigator

INF = math.inf
RATES = [(0.01, INF), (INF, 0.01), (0.01, 0.3), (0.01, 1e-13)]
REAL = {torch.float32: np.float32, torch.float64: np.float64}
pytestmark = pytest.mark.usefixtures("kernel")


BITS = [
    *((Ballistic, {"lr": 0.01, "beta": 0.97, "eps": 1e-6, **more}) for more in (
        {}, {"momentum": 0.9}, {"bias_correction": False, "maximize": True},
        {"momentum": 0.5, "bias_correction": False, "weight_decay": 0.1},
    )),
    *((Belief, {"lr": lr, "lr_overdamped": slow, "betas": (0.8, 0.95), "eps": 1e-6, "variance": kind})
      for (lr, slow), kind in itertools.product(RATES, ("uncentred", "centred", "innovation"))),
]  # fmt: skip


@pytest.mark.parametrize("dtype", list(REAL), ids=str)
@pytest.mark.parametrize(("rule", "options"), BITS)
def test_equals_ieee_arithmetic_bit_for_bit(rule, options, dtype):
    """The kernel is the text that the list operations run, in numpy, which rounds each operation once."""
    grads = gradients(20, 101).astype(REAL[dtype])
    parameter = torch.nn.Parameter(torch.ones(grads.shape[1], dtype=dtype))
    optimizer = rule([parameter], fused=True, **options)
    expected = in_numpy(optimizer, parameter.detach().numpy().copy(), grads)
    for g in grads:
        parameter.grad = torch.from_numpy(g)
        optimizer.step()
    assert np.array_equal(parameter.detach().numpy(), expected)


def exact_step(h, gamma, eta_k, lr):
    """Return φ = (1 − e^{−rΔt})/h of Eq. 6 with 60 digits."""
    with mpmath.workdps(60):
        h, gamma = mpmath.mpf(h), mpmath.mpf(gamma)
        rate = eta_k * h / (mpmath.sqrt(gamma**2 / 4 + eta_k * h) + gamma / 2)
        return float(-mpmath.expm1(-rate * lr) / h)


@pytest.mark.parametrize("dtype", list(REAL), ids=str)
@pytest.mark.parametrize("gamma", [0.0, 2.0])
@pytest.mark.parametrize("negative", ["absolute", "signed"])
def test_navigator_takes_the_step_of_eq_6_at_any_curvature(negative, gamma, dtype):
    """To a few units in the last place over thirty decades, and below zero down to where the minimiser ends."""
    sizes = np.logspace(-15, 15, 601)
    below = -sizes if negative == "absolute" else -np.linspace(0.01, 0.8, 40) * gamma**2 / 8 if gamma else []
    h = torch.from_numpy(np.concatenate([sizes, below])).to(dtype)
    parameter = torch.nn.Parameter(torch.zeros(len(h), dtype=dtype))
    parameter.grad = torch.ones_like(parameter)
    options = {"gamma": gamma, "eta_k": 2.0, "lr": 0.7, "beta": 0.0, "eps": 0.0, "negative": negative}
    Navigator([parameter], curvature=lambda p, g: h, fused=True, **options).step()
    used = h.abs() if negative == "absolute" else h
    expected = [-exact_step(x, gamma, 2.0, 0.7) for x in used.double().tolist()]
    np.testing.assert_allclose(parameter.detach().double().numpy(), expected, rtol=8 * torch.finfo(dtype).eps)


def test_a_saddle_so_steep_that_the_step_overflows_is_infinite_not_wrong():
    h = torch.tensor([-1e3, -1e4, -1e6], dtype=torch.float32)
    parameter = torch.nn.Parameter(torch.zeros(3))
    parameter.grad = torch.ones(3)
    Navigator([parameter], lr=1.0, gamma=INF, curvature=lambda p, g: h, negative="signed", beta=0.0, fused=True).step()
    assert torch.equal(parameter, torch.full((3,), -INF))


def cases():
    for variance, (lr, slow), scale, corrected in itertools.product(
        ("uncentred", "centred", "innovation"), RATES, (0.0, 5.0), (True, False)
    ):
        yield Belief, {"lr": lr, "lr_overdamped": slow, "variance": variance, "curvature_scale": scale,
                       "bias_correction": corrected, "maximize": corrected, "eps_inside": 1e-3 * scale}  # fmt: skip
    for look, negative, gamma, lr in itertools.product(
        ("second_moment", lambda p, g: g), ("absolute", "clip", "signed"), (0.0, 1.5, 1e20, INF), (0.01, 3.0)
    ):
        yield Navigator, {"lr": lr, "gamma": gamma, "curvature": look, "negative": negative, "eta_k": 2.0, "beta": 0.9,
                          "curvature_scale": 0.5, "eps": 1e-3, "maximize": lr > 1}  # fmt: skip


def walk(make, options, dtype, fused):
    """Walk along a fixed stream of gradients and return the weights in float64."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((30, 20), (7,), ())
    parameters = [torch.nn.Parameter(torch.randn(s, generator=generator, dtype=torch.float64)) for s in shapes]
    for p in parameters:
        p.data = p.data.float().to(dtype)
    optimizer = make(parameters, fused=fused, weight_decay=0.1, **options)
    for _ in range(10):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64).float().to(dtype)
        optimizer.step()
    return torch.cat([p.detach().double().flatten() for p in parameters])


@pytest.mark.parametrize("make", [Belief, Navigator])
def test_no_option_costs_accuracy(make):
    """In float32 the kernel is as near to the float64 result as the list operations are, a factor three allowed."""
    checked = 0
    for rule, options in cases():
        if rule is not make:
            continue
        exact = walk(rule, options, torch.float64, fused=False)
        plain, fused = (walk(rule, options, torch.float32, fused=f) for f in (False, True))
        bound = 3 * (plain - exact).abs().max() + torch.finfo(torch.float32).eps * exact.abs().max()
        assert (fused - exact).abs().max() <= bound, options
        checked += 1
    assert checked == 48
