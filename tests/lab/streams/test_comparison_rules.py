"""Shrink and perturb, and continual backprop against one written unit by unit for one plain model."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lossnav import models
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.streams import ContinualBackprop, ShrinkAndPerturb, networks
from lossnav.lab.streams.undecayed import Undecayed


def batches(size, count, inputs=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, size, 8, inputs, generator=generator)
    return x, torch.randint(4, (count, size, 8), generator=generator)


class Literal:
    """Algorithm 1 of Dohare et al. for one Sequential, with loops; ``draws`` hands it the new weights."""

    def __init__(self, model, rate, maturity, decay):
        self.linear = [m for m in model if isinstance(m, nn.Linear)]
        self.rate, self.maturity, self.decay = rate, maturity, decay
        self.units = [[{"u": 0.0, "mean": 0.0, "age": 0} for _ in range(m.out_features)] for m in self.linear[:-1]]
        self.saved = [0.0 for _ in self.units]

    def step(self, features):
        """Return (layer, unit) of what was replaced; new incoming weights are left to the caller."""
        replaced = []
        for number, units in enumerate(self.units):
            before, after, h = self.linear[number], self.linear[number + 1], features[number]
            for i, unit in enumerate(units):
                unit["age"] += 1
                unit["mean"] = self.decay * unit["mean"] + (1 - self.decay) * h[:, i].mean().item()
                mean = unit["mean"] / (1 - self.decay ** unit["age"])
                heard = sum(abs(w) for w in after.weight[:, i].tolist())
                cost = sum(abs(w) for w in before.weight[i].tolist())
                contribution = (h[:, i] - mean).abs().mean().item() * heard / cost
                unit["u"] = self.decay * unit["u"] + (1 - self.decay) * contribution
            mature = [i for i, unit in enumerate(units) if unit["age"] > self.maturity]
            self.saved[number] += self.rate * len(mature)
            worth = {i: units[i]["u"] / (1 - self.decay ** units[i]["age"]) for i in mature}
            for i in sorted(mature, key=worth.get):
                if self.saved[number] >= 1:
                    self.saved[number] -= 1
                    mean = units[i]["mean"] / (1 - self.decay ** units[i]["age"])
                    with torch.no_grad():
                        after.bias += after.weight[:, i] * mean
                        after.weight[:, i] = 0
                        before.bias[i] = 0
                    units[i] = {"u": 0.0, "mean": 0.0, "age": 0}
                    replaced.append((number, i))
        return replaced


@pytest.mark.parametrize("rate", [0.013, 0.2])  # a unit now and then, and several at once
def test_continual_backprop_does_what_the_algorithm_says(rate):
    size, steps = 3, 60
    several = networks.perceptrons(12, (9, 7), 4, seeds=range(size)).double()
    plain = [several.member(s) for s in range(size)]
    rule = ContinualBackprop(several, torch.optim.SGD(several.parameters(), 0.1), rate=rate, maturity=6, decay=0.9,
                             seed=0)  # fmt: skip
    literal = [Literal(model, rate, 6, 0.9) for model in plain]
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in plain]
    count = [0] * size
    for x, y in zip(*batches(size, steps), strict=True):
        x = x.double()
        rule.zero_grad()
        several.losses(x, y).sum().backward()
        rule.step()
        for s, model in enumerate(plain):
            features = [model[:3](x[s]).detach(), model[:5](x[s]).detach()]
            optimizers[s].zero_grad()
            cross_entropy(model(x[s]), y[s]).backward()
            optimizers[s].step()
            for number, unit in literal[s].step(features):
                count[s] += 1
                with torch.no_grad():  # the draw, which the algorithm leaves to chance
                    literal[s].linear[number].weight[unit] = rule._linear[number].weight[s, unit]
            for mine, theirs in zip(several.parameters(), model.parameters(), strict=True):
                torch.testing.assert_close(mine[s].detach(), theirs.detach(), rtol=1e-6, atol=1e-7)
    assert rule.replaced.tolist() == count and min(count) > 5


def test_a_replaced_unit_is_drawn_from_where_it_came_and_is_not_heard():
    several = networks.perceptrons(50, (40, 40), 4, seeds=(0, 1))
    sgd = torch.optim.SGD(several.parameters(), 0.0)
    rule = ContinualBackprop(several, sgd, rate=1.0, maturity=0, decay=0.9, seed=3)
    x = torch.ones(2, 5, 50)  # constant features: the next layer's bias takes over all that they said
    before = several(x).detach()
    several.losses(x, torch.zeros(2, 5, dtype=torch.int64)).sum().backward()
    rule.step()
    assert rule.replaced.tolist() == [80, 80]
    for first in (1, 3):
        fresh = several.stacked[first].weight
        bound = math.sqrt(6 / fresh.shape[2])
        assert 0.95 * bound < fresh.abs().max() <= 1.02 * bound
        assert fresh.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert several.stacked[5].weight.abs().max() == 0
    torch.testing.assert_close(several(x).detach(), before, rtol=1e-4, atol=1e-5)


def test_replacement_clears_the_optimizers_memory_of_a_unit():
    several = networks.perceptrons(12, (6,), 4, seeds=(0,))
    adam = torch.optim.Adam(several.parameters(), 1e-2)
    rule = ContinualBackprop(several, adam, rate=1 / 6, maturity=3, seed=0)
    for x, y in zip(*batches(1, 4), strict=True):  # one of six units becomes due in the fourth step
        rule.zero_grad()
        several.losses(x, y).sum().backward()
        rule.step()
    assert rule.replaced.tolist() == [1]
    gone = [i for i in range(6) if several.stacked[3].weight[0, :, i].abs().max() == 0]
    assert len(gone) == 1
    into, out = adam.state[several.stacked[1].weight], adam.state[several.stacked[3].weight]
    assert adam.state[several.stacked[1].bias]["exp_avg_sq"][0, gone[0]] == 0
    for i in range(6):
        for key in ("exp_avg", "exp_avg_sq"):
            assert (into[key][0, i].abs().max() == 0) == (i in gone)
            assert (out[key][0, :, i].abs().max() == 0) == (i in gone)


def test_no_unit_is_replaced_before_it_is_mature_or_at_rate_zero():
    for rate, maturity in ((1.0, 10), (0.0, 0)):
        several = networks.perceptrons(12, (6,), 4, seeds=(0, 1))
        rule = ContinualBackprop(several, torch.optim.SGD(several.parameters(), 0.1), rate=rate, maturity=maturity,
                                 seed=0)  # fmt: skip
        for x, y in zip(*batches(2, 10), strict=True):
            rule.zero_grad()
            several.losses(x, y).sum().backward()
            rule.step()
        assert rule.replaced.tolist() == [0, 0]


def test_an_evaluation_is_not_learned_from():
    several = networks.perceptrons(12, (6,), 4, seeds=(0,))
    rule = ContinualBackprop(several, torch.optim.SGD(several.parameters(), 0.1), rate=0.1, seed=0)
    (x,), (y,) = batches(1, 1)
    several.losses(x, y).sum().backward()
    with torch.no_grad():
        several(100 * x)
    rule.step()
    mean = several.member(0)[:3](x[0]).mean(0)
    assert rule._mean.max() < 0.1 * mean.max() + 0.1


@pytest.mark.parametrize(
    "model", [nn.Sequential(nn.Linear(3, 2)), nn.Sequential(nn.Linear(3, 2, bias=False), nn.ReLU(), nn.Linear(2, 2)),
              models.cnn(1, 4, seed=0)]
)  # fmt: skip
def test_continual_backprop_needs_hidden_units(model):
    several = Ensemble([model])
    with pytest.raises(ValueError, match="ensemble must hold multilayer perceptrons"):
        ContinualBackprop(several, torch.optim.SGD(several.parameters(), 0.1), rate=0.1, seed=0)


def test_continual_backprop_has_to_listen_first():
    several = networks.perceptrons(12, (6,), 4, seeds=(0,))
    sgd = torch.optim.SGD(several.parameters(), 0.1)
    with pytest.raises(RuntimeError, match="before any forward pass"):
        ContinualBackprop(several, sgd, rate=0.1, seed=0).step()


def test_shrink_and_perturb_is_sgd_with_decay_plus_noise():
    start = torch.randn(5000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gradient = torch.randn(5000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    w = nn.Parameter(start.clone())
    idle = nn.Parameter(start.clone())  # has no gradient, so it must not move
    w.grad = gradient
    ShrinkAndPerturb([w, idle], lr=0.2, weight_decay=0.5, noise=0.03, seed=0).step()
    noise = w.detach() - (0.9 * start - 0.2 * gradient)
    assert noise.std().item() == pytest.approx(0.03, rel=0.05) and abs(noise.mean().item()) < 0.002
    assert abs((noise @ start).item()) < 0.03 * 4 * math.sqrt(5000)
    assert torch.equal(idle, start)


def test_shrink_and_perturb_without_noise_is_sgd():
    ends = []
    for make in (lambda p: ShrinkAndPerturb(p, 0.1, 0.01, 0.0, seed=0), lambda p: torch.optim.SGD(p, 0.1,
                 weight_decay=0.01)):  # fmt: skip
        model = models.mlp(12, (6,), 4, seed=0)
        optimizer = make(model.parameters())
        for x, y in zip(*batches(1, 5), strict=True):
            optimizer.zero_grad()
            cross_entropy(model(x[0]), y[0]).backward()
            optimizer.step()
        ends.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert torch.equal(*ends)


def test_a_step_without_gradients_moves_nothing():
    weight = nn.Parameter(torch.ones(3))
    ShrinkAndPerturb([weight], 0.1, noise=1.0, seed=0).step()
    assert torch.equal(weight.detach(), torch.ones(3))


def test_the_noise_is_its_own():
    def walk(seed):
        w = nn.Parameter(torch.zeros(4))
        w.grad = torch.zeros(4)
        ShrinkAndPerturb([w], 0.1, noise=1.0, seed=seed).step()
        return w.detach()

    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert torch.equal(walk(1), walk(1)) and not torch.equal(walk(1), walk(2))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("closure", [False, True])
def test_without_decay_a_weight_that_nothing_pulls_stays(maximize, closure):
    weight, unused = (nn.Parameter(torch.randn(50, generator=torch.Generator().manual_seed(0))) for _ in range(2))
    start = weight.detach().clone()
    rule = Undecayed([weight, unused], lr=1e-2, clip=None, maximize=maximize)

    def backward():
        rule.zero_grad()
        (loss := (0.0 * weight).sum()).backward()
        return loss

    for _ in range(20):
        if closure:
            assert rule.step(backward) == 0.0
        else:
            backward()
            rule.step()
    assert torch.equal(weight.detach(), start) and torch.equal(unused.detach(), start)
