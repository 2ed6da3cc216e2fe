"""A walk against torch's own SGD, and what it writes down against the weights themselves."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector

from lossnav import moving
from lossnav.analysis.noether.networks import Block, Family


def network(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def examples(count: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return torch.randn(count, 5, generator=draw).double(), torch.randint(3, (count,), generator=draw)


def rows(name: str, count: int, kind: str = "scale") -> Family:
    return Family(kind, tuple((Block(name, 0, k, k + 1),) for k in range(count)), (), 0.0, 0.0)


def by_torch(model, data, setting, steps, seed):
    """Yield weights (before the first step and after each) and the velocity of ``torch.optim.SGD``."""
    model = copy.deepcopy(model)
    rule = torch.optim.SGD(model.parameters(), lr=setting.eta, momentum=setting.beta, weight_decay=setting.decay)
    draw, rows = torch.Generator().manual_seed(seed), []
    yield parameters_to_vector(model.parameters()).detach().clone()
    for _ in range(steps):
        rows = rows or list(setting.draw(len(data[0]), 256, draw))
        index = rows.pop(0)
        rule.zero_grad()
        cross_entropy(model(data[0][index]), data[1][index]).backward()
        rule.step()
        yield parameters_to_vector(model.parameters()).detach().clone()


@pytest.mark.parametrize("sampling", ["independent", "distinct", "epochs"])
def test_a_walk_is_torchs_sgd_and_its_record_is_that_of_the_weights(sampling):
    model, data = network(), examples()
    setting = moving.Setting(0.1, 0.8, 16, 0.01, sampling)
    directions = torch.linalg.qr(torch.randn(39, 2, generator=torch.Generator().manual_seed(3)).double())[0].T
    before = parameters_to_vector(model.parameters()).detach().clone()
    with torch.no_grad():  # a walk takes its own gradients
        walk = moving.walk(model, data, setting, steps=60, burn=20, seed=5, directions=directions, starts=3, longest=30,
                           families=[rows("0.weight", 4)])  # fmt: skip
    path = torch.stack(list(by_torch(model, data, setting, 80, 5)))[20:].numpy()
    moves = np.diff(path, axis=0)
    assert torch.equal(parameters_to_vector(model.parameters()), before)
    np.testing.assert_allclose(walk.final.numpy(), path[-1], rtol=1e-12)
    np.testing.assert_allclose(walk.mean.numpy(), path[1:].mean(0), rtol=1e-10)
    np.testing.assert_allclose(walk.positions, path @ directions.numpy().T, rtol=1e-10)
    np.testing.assert_allclose(walk.velocities[1:], moves @ directions.numpy().T / 0.1, rtol=1e-8)
    np.testing.assert_allclose(walk.velocity_squared, np.sum(moves**2, 1) / 0.1**2, rtol=1e-9)
    assert walk.speed == pytest.approx(np.mean(np.sum(moves**2, 1)), rel=1e-9)
    assert walk.points.shape == (3, 39) and walk.displacement.shape == (3, len(walk.lags))
    for row, begin in enumerate((0, 15, 30)):
        np.testing.assert_allclose(walk.points[row].numpy(), path[begin], rtol=1e-12)
        far = np.sum((path[begin + walk.lags] - path[begin]) ** 2, 1)
        np.testing.assert_allclose(walk.displacement[row], far, rtol=1e-9)
    weights = path[:, :20]
    np.testing.assert_allclose(walk.radii["0.weight"], np.linalg.norm(weights, axis=1), rtol=1e-10)
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    turned = np.arccos(np.clip(np.sum(unit[1:] * unit[:-1], 1), -1, 1))
    np.testing.assert_allclose(walk.angles["0.weight"], turned, rtol=1e-4)


def test_batches_are_drawn_as_their_name_says():
    draw = torch.Generator().manual_seed(0)
    repeats = moving.Setting(0.1, 0.9, 30).draw(40, 50, draw)
    assert any(len(set(row.tolist())) < 30 for row in repeats)
    distinct = moving.Setting(0.1, 0.9, 30, sampling="distinct").draw(40, 50, draw)
    assert all(len(set(row.tolist())) == 30 for row in distinct) and len(distinct) == 50
    epoch = moving.Setting(0.1, 0.9, 15, sampling="epochs").draw(40, 50, draw)
    assert epoch.shape == (2, 15) and len(set(epoch.flatten().tolist())) == 30


def test_the_factor_of_a_batch_is_the_variance_of_its_mean():
    values = torch.randn(12, generator=torch.Generator().manual_seed(2)).double()
    draw = torch.Generator().manual_seed(3)
    for sampling in ("independent", "distinct"):
        setting = moving.Setting(0.1, 0.9, 5, sampling=sampling)
        means = values[setting.draw(12, 20_000, draw)].mean(1)
        exact = setting.noise_factor(12) * values.var(correction=0).item()
        assert means.var().item() == pytest.approx(exact, rel=0.05)


def test_equipartition_is_one_for_the_right_curvature_alone():
    """A quadratic loss of one weight, with targets that differ: the noise does not depend on the weight."""
    model = nn.Linear(1, 1, bias=False).double()
    data = (torch.ones(50, 1).double(), torch.linspace(-1, 1, 50).double().unsqueeze(1))
    walk = moving.walk(model, data, moving.Setting(0.1, 0.5, 4), steps=6_000, burn=200, seed=1,
                       loss=nn.functional.mse_loss, directions=torch.ones(1, 1))  # fmt: skip
    assert walk.equipartition([2.0])[0] == pytest.approx(1.0, abs=0.05)
    assert walk.equipartition([1.0])[0] == pytest.approx(0.5, abs=0.03)


def test_what_runs_away_is_an_error():
    model, data = nn.Linear(1, 1).double(), (torch.ones(50, 1).double(), torch.zeros(50, 1).double())
    with pytest.raises(moving.Unstable, match=r"not finite after step .* η = 50"):
        moving.walk(model, data, moving.Setting(50.0), steps=900, burn=0, seed=0, loss=nn.functional.mse_loss)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: moving.walk(network(), examples()[0], moving.Setting(0.1), steps=9, burn=0, seed=0), "data = "),
        (lambda: moving.walk(network(), examples(0), moving.Setting(0.1), steps=9, burn=0, seed=0), "at least one"),
        (lambda: moving.walk(network(), examples(9), moving.Setting(0.1, sampling="epochs"), steps=9, burn=0, seed=0),
         "batches of 64"),
        (lambda: moving.walk(network(), examples(), moving.Setting(0.1), steps=9, burn=0, seed=0,
                             directions=torch.ones(1, 3)), "directions has shape"),
        (lambda: moving.walk(network(), examples(), moving.Setting(0.1), steps=9, burn=0, seed=0,
                             families=[rows("0.weight", 4, "translation")]), "of the kind 'translation'"),
        (lambda: moving.walk(network().requires_grad_(False), examples(), moving.Setting(0.1), steps=9, burn=0, seed=0),
         "requires a gradient"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
