"""The paper's networks; and of all: their seeds, and that they leave torch's global generator alone."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from lossnav import models
from lossnav.lab.models import weights


def test_the_mlp_of_the_paper():
    model = models.mlp(seed=0)
    assert [tuple(p.shape) for p in model.parameters()] == [(512, 784), (512,), (256, 512), (256,), (10, 256), (10,)]
    x = torch.randn(3, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    w1, b1, w2, b2, w3, b3 = (p.detach() for p in model.parameters())
    hidden = (x.flatten(1) @ w1.T + b1).clamp(min=0)
    by_hand = (hidden @ w2.T + b2).clamp(min=0) @ w3.T + b3
    torch.testing.assert_close(model(x).detach(), by_hand, rtol=1e-4, atol=1e-5)


def test_the_cnn_of_the_paper():
    model = models.cnn(seed=0)
    convolutions = [layer for layer in model if isinstance(layer, nn.Conv2d)]
    assert [(c.in_channels, c.out_channels, c.kernel_size) for c in convolutions] == [
        (3, 64, (3, 3)), (64, 64, (3, 3)), (64, 128, (3, 3)), (128, 128, (3, 3)),
    ]  # fmt: skip
    assert sum(isinstance(layer, nn.MaxPool2d) for layer in model) == 2
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    by_hand = sum(a * b * 9 + b for a, b in [(3, 64), (64, 64), (64, 128), (128, 128)]) + 8192 * 256 + 256 + 2570
    assert sum(p.numel() for p in model.parameters()) == by_hand
    assert models.cnn(channels=1, size=28, seed=0)(torch.zeros(1, 1, 28, 28)).shape == (1, 10)


@pytest.mark.parametrize("make", [models.mlp, models.cnn, models.resnet, models.vit])
def test_seeds(make):
    before = torch.get_rng_state()
    one, same, other = (nn.utils.parameters_to_vector(make(seed=s).parameters()) for s in (3, 3, 4))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_fill_torch_s_default_range():
    layer = models.mlp(400, (500,), 10, seed=0)[1]
    bound = 1 / math.sqrt(400)
    torch.manual_seed(0)
    default = nn.Linear(400, 500)
    for ours, theirs in ((layer.weight, default.weight), (layer.bias, default.bias)):
        assert ours.abs().max() <= bound and theirs.abs().max() <= bound
        assert ours.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.08)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.08)


def test_a_layer_without_a_rule_is_refused_rather_than_left_as_memory_was():
    with pytest.raises(TypeError, match="no rule for the initial weights of BatchNorm1d"):
        weights.seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), 0)
