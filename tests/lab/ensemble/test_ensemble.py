"""An ensemble is its members: outputs, gradients, steps, clipping and copies equal those of separate models."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from lossnav import models, optim
from lossnav.lab.ensemble import Ensemble, StackedLinear, member_losses
from lossnav.lab.models.weights import seeded

SIZE = 8


def mlps(size=SIZE):
    return [models.mlp(64, (32, 32), seed=s) for s in range(size)]


def cnns():
    return [seeded(convolutional, seed) for seed in range(3)]


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


class Residual(nn.Module):
    """Tied weights, a skip connection, normalisation with buffers: nothing that a Sequential could express."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(6, 6)
        self.again = self.first
        self.other = nn.Linear(6, 6)
        self.other.weight = self.first.weight
        self.norm = nn.BatchNorm1d(6)
        self.last = nn.Linear(6, 3, bias=False)

    def forward(self, x):
        return self.last(self.norm(x + torch.tanh(self.other(self.again(self.first(x))))))


class Scaled(nn.Linear):
    """What its picture does not show, and a buffer that a state_dict does not have."""

    def __init__(self, factor, shift=0.0):
        super().__init__(6, 3)
        self.factor = factor
        self.register_buffer("shift", torch.tensor(shift), persistent=False)

    def forward(self, x):
        return super().forward(x) * self.factor + self.shift


def residuals():
    with torch.random.fork_rng():
        return [Residual(seed) for seed in range(3)]


def batch(size, shape, classes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, 16, *shape, generator=generator)
    return x, torch.randint(classes, (size, 16), generator=generator)


FAMILIES = {"mlp": (mlps, (64,), 10), "cnn": (cnns, (1, 8, 8), 10), "residual": (residuals, (6,), 3)}


@pytest.fixture(params=FAMILIES)
def family(request):
    make, shape, classes = FAMILIES[request.param]
    return make(), shape, classes


RULES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=3e-3),
    "ballistic": lambda p: optim.Ballistic(p, lr=2e-3, bias_correction=True),
}


@pytest.mark.parametrize("rule", RULES)
def test_trained_together_equals_trained_alone(family, rule):
    separate, shape, classes = family
    separate = [model.double() for model in separate]  # so that rounding, which training amplifies, stays below 1e-9
    several = Ensemble(separate)
    together = RULES[rule](several.parameters())
    alone = [RULES[rule](model.parameters()) for model in separate]
    for step in range(10 if len(shape) == 3 else 40):
        x, y = batch(len(separate), shape, classes, seed=step % 6)
        x = x.double()
        losses = several.losses(x, y)
        together.zero_grad()
        losses.sum().backward()
        together.step()
        for index, (model, optimizer) in enumerate(zip(separate, alone, strict=True)):
            loss = cross_entropy(model(x[index]), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            assert losses[index].item() == pytest.approx(loss.item(), abs=1e-9)
    for index, model in enumerate(separate):
        for mine, theirs in zip(several.member(index).parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-9)


def test_an_mlp_runs_as_batched_products_and_agrees_with_vmap():
    several = Ensemble(mlps())
    assert several.batched
    assert sum(isinstance(m, StackedLinear) for m in several.modules()) == 3

    class Wrapped(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    general = Ensemble([Wrapped(model) for model in mlps()])
    assert not general.batched
    x, _ = batch(SIZE, (64,), 10)
    torch.testing.assert_close(several(x), general(x))


def test_linear_layers_without_bias_and_on_sequences():
    layers = [nn.Sequential(nn.Linear(4, 5, bias=False), nn.Tanh(), nn.Linear(5, 2)) for _ in range(3)]
    x = torch.randn(3, 6, 7, 4, generator=torch.Generator().manual_seed(0))
    outputs = Ensemble(layers)(x)
    for s, layer in enumerate(layers):
        torch.testing.assert_close(outputs[s], layer(x[s]))


def test_clipping_is_by_member():
    separate = mlps(3)
    several = Ensemble(separate)
    x, y = batch(3, (64,), 10)
    x[0] *= 10  # a long gradient, which must not shorten the others
    several.losses(x, y).sum().backward()
    norms = several.clip_grad_norm(0.8)
    for index, model in enumerate(separate):
        cross_entropy(model(x[index]), y[index]).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.8)
        assert norms[index].item() == pytest.approx(norm.item(), rel=1e-5)
        for stacked, p in zip(several.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(stacked.grad[index], p.grad, rtol=1e-5, atol=1e-7)
    assert norms[0] > 0.8 > norms[1:].max()
    several.zero_grad()
    assert several.clip_grad_norm(1.0).tolist() == [0.0] * 3


def test_a_member_is_a_copy_of_the_plain_module():
    several = Ensemble(residuals()).double().eval()
    plain = several.member(1)
    assert type(plain) is Residual and not plain.training and plain.again is plain.first
    assert plain.other.weight is plain.first.weight
    assert plain.last.weight.dtype == torch.float64
    before = several.stacked.last.weight.detach().clone()
    plain.last.weight.data.zero_()
    assert torch.equal(several.stacked.last.weight, before)
    assert plain.last.weight.requires_grad


def test_buffers_belong_to_members():
    several = Ensemble(residuals())
    x, _ = batch(3, (6,), 3)
    x[2] += 5
    several(x)
    alone = residuals()[2]
    alone(x[2])
    torch.testing.assert_close(several.member(2).norm.running_mean, alone.norm.running_mean)
    assert several.member(2).norm.num_batches_tracked == 1
    shifted = Ensemble([Scaled(2.0, shift) for shift in (0.0, 1.0)])
    assert [shifted.member(index).shift.item() for index in range(2)] == [0.0, 1.0]


def test_frozen_parameters_stay_frozen():
    frozen = mlps(2)
    for model in frozen:
        model[1].weight.requires_grad_(False)
    several = Ensemble(frozen)
    several.losses(*batch(2, (64,), 10)).sum().backward()
    assert several.stacked[1].weight.grad is None and several.stacked[1].bias.grad is not None
    assert not several.member(0)[1].weight.requires_grad


def test_the_models_are_copied_and_the_state_travels():
    originals = mlps(2)
    several = Ensemble(originals)
    several.stacked[1].weight.data.zero_()
    assert originals[0][1].weight.abs().sum() > 0
    restored = Ensemble(mlps(3)[1:])
    restored.load_state_dict(several.state_dict())
    x, _ = batch(2, (64,), 10)
    for copied in (restored, copy.deepcopy(several), pickle.loads(pickle.dumps(several))):
        assert torch.equal(copied(x), several(x))


@pytest.mark.parametrize("loss", [cross_entropy, mse_loss, nn.functional.smooth_l1_loss])
def test_losses_are_means_over_each_members_batch(loss):
    generator = torch.Generator().manual_seed(0)
    outputs, y = torch.randn(2, 3, 7, 4, generator=generator)
    if loss is cross_entropy:
        y = torch.randint(4, (3, 7), generator=generator)
    losses = member_losses(outputs, y, loss)
    for s in range(3):
        torch.testing.assert_close(losses[s], loss(outputs[s], y[s]))


def test_a_member_that_is_not_finite_is_named():
    several = Ensemble(mlps(3))
    several.stacked[3].bias.data[1, 4] = float("nan")
    assert several.finite_members().tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ([], "models is empty"),
        ([models.mlp(4, (3,), seed=0), models.mlp(4, (5,), seed=0)], r"models\[1\] differs from models\[0\] \(.*5"),
        ([nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 2), nn.Tanh())], "Tanh"),
        ([Scaled(1.0), Scaled(2.0)], r"models\[1\] differs from models\[0\] \(\('', 'factor', '1\.0'\)"),
    ],
)
def test_models_must_be_alike(members, match):
    with pytest.raises(ValueError, match=match):
        Ensemble(members)


def test_inputs_must_have_a_batch_for_each_member():
    several = Ensemble(mlps(2))
    with pytest.raises(ValueError, match=r"x has shape \(16, 64\), but it must be \(S, B, …\) with S = 2"):
        several(torch.zeros(16, 64))
    with pytest.raises(ValueError, match="index = 2"):
        several.member(2)
    with pytest.raises(ValueError, match="max_norm = 0"):
        several.clip_grad_norm(0)
