"""AdamW is walked as torch walks it, and is SGD with momentum in its own coordinates."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.utils import parameters_to_vector

from lossnav import moving
from lossnav.analysis.noether.networks import find_symmetries
from lossnav.lab.moving.coordinates import plainly, scale_of, scaled

SETTING = moving.Setting.adamw(3e-3, (0.8, 0.95), batch=8, weight_decay=0.2, eps=1e-6)


def network() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    return model, (torch.randn(50, 3).double(), torch.randn(50, 1).double())


def test_a_walk_is_that_of_torch():
    """From a V that is given, and after so many steps that torch corrects no bias."""
    model, (x, y) = network()
    square = torch.rand(sum(p.numel() for p in model.parameters())).double() + 0.1
    walk = moving.walk(scaled(model, square, SETTING.eps), (x, y), SETTING, steps=40, burn=0, seed=5, loss=mse_loss)
    rule = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.8, 0.95), weight_decay=0.2, eps=1e-6)
    parts = square.split([p.numel() for p in model.parameters()])
    for p, part in zip(model.parameters(), parts, strict=True):
        rule.state[p] = {
            "step": torch.tensor(1e6), "exp_avg": torch.zeros_like(p), "exp_avg_sq": part.view_as(p).clone()
        }  # fmt: skip
    for index in SETTING.draw(50, 256, torch.Generator().manual_seed(5))[:40]:
        rule.zero_grad()
        mse_loss(model(x[index]), y[index]).backward()
        rule.step()
    scale = (square.sqrt() + SETTING.eps).sqrt()
    torch.testing.assert_close(walk.final / scale, parameters_to_vector(model.parameters()).detach())
    last = torch.cat([rule.state[p]["exp_avg_sq"].flatten() for p in model.parameters()])
    torch.testing.assert_close(walk.square, last)


def test_in_its_coordinates_a_step_is_that_of_sgd():
    """With V at rest, as β₂ near 1 leaves it, and the decay within what is left out, ηλ/(1−β)²."""
    model, data = network()
    square = torch.rand(sum(p.numel() for p in model.parameters())).double() + 0.1
    rescaled = scaled(model, square, 0.0)
    at_rest = moving.Setting.adamw(3e-3, (0.8, 1 - 1e-12), batch=8, weight_decay=1e-4, eps=0.0)
    plain = moving.Setting(3e-3 * 0.2, 0.8, 8, 1e-4)
    adamw, sgd = (
        moving.walk(rescaled, data, setting, steps=40, burn=0, seed=5, loss=mse_loss) for setting in (at_rest, plain)
    )
    moved = float((sgd.final - sgd.points[0]).norm())
    assert float((adamw.final - sgd.final).norm()) < 1e-3 * moved


def test_whatever_the_decay_it_is_sgd_of_a_shorter_memory():
    """On a slope, where v ← βv − g − λφ says of all steps what the same g is."""
    torch.manual_seed(0)
    model, x, square = nn.Linear(3, 1).double(), torch.ones(5, 3).double(), torch.rand(4).double() + 0.1
    setting = moving.Setting.adamw(1e-2, (0.9, 1 - 1e-12), batch=5, weight_decay=30.0, eps=0.0)
    walk = moving.walk(
        scaled(model, square, 0.0), (x, x), setting, steps=9, burn=1, seed=0, directions=torch.eye(4),
        loss=lambda outputs, _: outputs.mean(),
    )  # fmt: skip
    v = torch.from_numpy(walk.velocities)
    pull = setting.momentum * v[:-1] - setting.decay * torch.from_numpy(walk.positions[:-1]) - v[1:]
    assert setting.momentum == pytest.approx(0.9 * 0.7, rel=1e-12)
    torch.testing.assert_close(pull, pull[:1].expand_as(pull))


def test_a_weight_and_its_bias_are_scaled_together_in_other_coordinates_too():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 1)).double()
    square = torch.rand(sum(p.numel() for p in model.parameters())).double() + 0.1
    data = torch.randn(50, 3).double(), torch.randn(50, 1).double()
    for net in (model, scaled(model, square, 0.0)):
        (scaling,) = (family for family in find_symmetries(net, mse_loss, data) if family.kind == "scale")
        assert [plainly(name) for name in scaling.names] == ["0.weight", "0.bias"]


def test_a_model_is_the_same_function_in_other_coordinates():
    model, (x, _) = network()
    square = torch.rand(sum(p.numel() for p in model.parameters())).double() + 0.1
    rescaled = scaled(model, square, 1e-3)
    torch.testing.assert_close(rescaled(x), model(x))
    scale, stored = scale_of(rescaled)
    torch.testing.assert_close(stored, square)
    torch.testing.assert_close(
        parameters_to_vector(rescaled.parameters()) / scale, parameters_to_vector(model.parameters())
    )
    names, before = ([name for name, _ in net.named_parameters()] for net in (rescaled, model))
    assert list(map(plainly, names)) == before
    assert scale_of(model) is None


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"betas\[1\] = 1"):
        moving.Setting.adamw(1e-3, (0.9, 1.0))
    model, _ = network()
    model[0].weight = model[2].weight
    with pytest.raises(ValueError, match="share a parameter"):
        scaled(model, torch.ones(9).double(), 0.0)
