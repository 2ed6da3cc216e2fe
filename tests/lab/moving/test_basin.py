"""Curvature and noise of a basin, against gradients taken one by one and against batches themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_walk import examples, network
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lossnav import moving


def each_gradient(model, data):
    rows = []
    for x, y in zip(*data, strict=True):
        model.zero_grad()
        cross_entropy(model(x[None]), y[None]).backward()
        rows.append(parameters_to_vector([p.grad for p in model.parameters()]))
    return torch.stack(rows).numpy()


@pytest.mark.slow
def test_a_basin_is_what_single_gradients_say():
    model, data = network(), examples()
    centre = parameters_to_vector(model.parameters()).detach()
    points = centre + 0.1 * torch.randn(3, 39, generator=torch.Generator().manual_seed(0)).double()
    basin = moving.measure(model, data, points, mean=centre, modes=4, draws=60, nodes=15)
    vectors, traces, along, spread = basin.vectors.numpy(), [], [], []
    for point in points:
        vector_to_parameters(point, model.parameters())
        sigma = np.cov(each_gradient(model, data).T, bias=True)
        traces.append(np.trace(sigma))
        along.append(np.diag(vectors @ sigma @ vectors.T))
        spread.append(sigma)
    np.testing.assert_allclose(basin.traces, traces, rtol=1e-9)
    np.testing.assert_allclose(basin.noises, np.mean(along, axis=0), rtol=1e-9)
    assert basin.weights.sum() == pytest.approx(np.mean(traces), rel=1e-9)
    vector_to_parameters(centre, model.parameters())
    steps, columns = 1e-5, []
    for unit in np.eye(39):
        pair = []
        for sign in (1, -1):
            vector_to_parameters(centre + sign * steps * torch.from_numpy(unit), model.parameters())
            pair.append(each_gradient(model, data).mean(0))
        columns.append((pair[0] - pair[1]) / (2 * steps))
    hessian = np.array(columns)
    np.testing.assert_allclose(basin.values, np.linalg.eigvalsh(hessian)[:-5:-1], rtol=1e-4)
    exact = np.trace(np.mean(spread, axis=0) @ np.linalg.inv(np.eye(39) + hessian))
    assert np.sum(basin.weights / (1 + basin.nodes)) == pytest.approx(exact, rel=0.1)
    assert basin.uphill(0.0) == pytest.approx(np.sum(basin.weights[basin.nodes < 0]) / basin.trace)


def test_fewer_examples_are_a_random_part_of_them():
    model, data = network(), examples(200)
    points = parameters_to_vector(model.parameters()).detach()[None]
    whole, part = (moving.measure(model, data, points, modes=0, examples=n).trace for n in (None, 120))
    assert whole != part and part == pytest.approx(whole, rel=0.15)


@pytest.mark.slow
def test_batches_say_what_examples_say_where_both_can():
    model, data = network(), examples()
    points = parameters_to_vector(model.parameters()).detach()[None]
    exact = moving.measure(model, data, points, modes=0).trace
    for sampling in ("independent", "distinct"):
        setting = moving.Setting(0.1, 0.9, 8, sampling=sampling)
        basin = moving.measure_batches(model, data, points, setting, pairs=600)
        assert basin.trace == pytest.approx(exact, rel=0.1) and not basin.has_curvature and basin.uphill(0) == 0


def test_why_a_loss_is_not_that_of_single_examples():
    data = examples()
    assert moving.per_example(network(), data) == ""
    normalised = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    assert "batch normalisation" in moving.per_example(normalised, data)
    assert moving.per_example(normalised.eval(), data) == ""
    dropped = nn.Sequential(nn.Dropout(0.5), nn.Linear(5, 3)).double()
    assert "dropout" in moving.per_example(dropped, data)


def test_batches_of_all_examples_have_no_noise_to_measure():
    model, data = network(), examples(30)
    full = moving.Setting(0.1, 0.9, 30, sampling="distinct")
    points = parameters_to_vector(model.parameters()).detach()[None]
    with pytest.raises(ValueError, match="takes all 30 examples in each batch"):
        moving.measure_batches(model, data, points, full)
    with pytest.raises(ValueError, match="takes all 30 examples in each batch"):
        moving.forecast(moving.measure(model, data, points, modes=2), full)
    small = nn.Linear(3, 2, bias=False)
    few = moving.measure(small, (torch.randn(30, 3), torch.randint(0, 2, (30,))), torch.randn(1, 6))
    assert len(few.values) == 6


@pytest.mark.parametrize("modes", [2, 3])
def test_the_noise_of_modes_that_are_resolved_is_not_drawn(modes):
    """Of least squares all is known: with two modes of three the rest is one direction, which random vectors hit."""
    seeded = torch.Generator().manual_seed(0)
    x = torch.randn(150, 3, generator=seeded, dtype=torch.float64) * torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    y = torch.randn(150, 1, generator=seeded, dtype=torch.float64)
    model = torch.nn.Linear(3, 1, bias=False).double()
    point = model.weight.detach().clone()
    basin = moving.measure(model, (x, y), point, loss=torch.nn.functional.mse_loss, modes=modes, draws=2)
    curvatures, directions = np.linalg.eigh((2 * x.T @ x / len(x)).numpy())
    gradients = (2 * (x @ point.T - y) * x).numpy() @ directions
    assert (basin.weights / basin.nodes).sum() == pytest.approx((gradients.var(axis=0) / curvatures).sum(), rel=1e-6)
