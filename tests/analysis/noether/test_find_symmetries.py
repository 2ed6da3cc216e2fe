"""The finder against networks whose symmetries are known, and against networks that have none."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lossnav import models, noether

X = torch.randn(32, 10, generator=torch.Generator().manual_seed(0))
Y = torch.arange(32) % 5
PICTURES = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(1))
LABELS = torch.arange(16) % 5


def seeded(*layers):
    """A network of layers that are made here, with weights that are all different."""
    network, generator = nn.Sequential(*layers), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for value in network.parameters():
            value.copy_(0.4 * torch.randn(value.shape, generator=generator))
            if value.ndim == 1:
                value.abs_().add_(0.3)  # all units fire
    return network


def found(network, x=X, y=Y, loss=F.cross_entropy, **options):
    return {(f.kind, f.names, f.partner_names): f for f in noether.find_symmetries(network, loss, (x, y), **options)}


def moved(network, family, index):
    """A copy in float64 with one group mapped, by hand: what the loss then does is the test."""
    network = copy.deepcopy(network).double()
    values = dict(network.named_parameters())
    with torch.no_grad():
        for block in family.groups[index]:
            part = values[block.name].narrow(block.axis, block.start, block.stop - block.start)
            part.add_(0.3) if family.kind == "translation" else part.mul_(1.7)
        for block in family.partners[index] if family.partners else ():
            values[block.name].narrow(block.axis, block.start, block.stop - block.start).div_(1.7)
    return network


NETWORKS = {
    "relu": lambda: seeded(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5)),
    "batch": lambda: seeded(nn.Linear(10, 8), nn.BatchNorm1d(8, eps=1e-16), nn.ReLU(), nn.Linear(8, 5)),
    "layer": lambda: seeded(nn.Linear(10, 8), nn.LayerNorm(8, eps=1e-16), nn.Tanh(), nn.Linear(8, 5)),
    "group": lambda: seeded(nn.Linear(10, 8), nn.GroupNorm(2, 8, eps=1e-16), nn.Tanh(), nn.Linear(8, 5)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_each_group_alone_leaves_the_loss_and_its_own_map_does_something(name):
    network = NETWORKS[name]()
    before = F.cross_entropy(copy.deepcopy(network).double()(X.double()), Y).item()
    families = found(network).values()
    assert families
    for family in families:
        assert family.violation < 1e-12 and family.change < 1e-12
        for index in range(len(family.groups)):
            mapped = moved(network, family, index)
            assert abs(F.cross_entropy(mapped(X.double()), Y).item() - before) < 1e-12 * before
            assert any(
                not torch.equal(a.double(), b) for a, b in zip(network.parameters(), mapped.parameters(), strict=True)
            )


def test_a_parameter_that_the_loss_does_not_use_takes_no_symmetry_away():
    network = NETWORKS["relu"]()
    alone = found(network)
    network.register_parameter("idle", nn.Parameter(torch.ones(3)))
    with_idle = found(network)
    assert set(alone) == set(with_idle)
    pair = alone["rescale", ("0.weight", "0.bias"), ("2.weight",)]
    assert repr(pair).startswith("Family(rescale: 0.weight + 0.bias against 2.weight, 8 groups, violation=")


def test_what_a_relu_network_has():
    network = NETWORKS["relu"]()
    with torch.no_grad():
        network[2].bias[3] = -100.0  # a unit that never fires is not felt
    families = found(network)
    assert set(families) == {
        ("rescale", ("0.weight", "0.bias"), ("2.weight",)), ("rescale", ("2.weight", "2.bias"), ("4.weight",)),
        ("translation", ("4.weight",), ()), ("translation", ("4.bias",), ()),
    }  # fmt: skip
    last = families["rescale", ("2.weight", "2.bias"), ("4.weight",)]
    assert [group[0].start for group in last.groups] == [0, 1, 2, 4, 5]
    for group, partner in zip(last.groups, last.partners, strict=True):
        assert (group[0].axis, partner[0].axis) == (0, 1) and group[0].start == group[1].start == partner[0].start


def test_normalisations_split_the_weights_before_them():
    sizes = {"batch": [1] * 8, "group": [4, 4], "layer": [8]}
    for name, wanted in sizes.items():
        families = found(NETWORKS[name]())
        scaled = [family for family in families.values() if family.kind == "scale"]
        assert len(scaled) == 1
        assert [group[0].stop - group[0].start for group in scaled[0].groups] == wanted
        # BatchNorm takes the bias away; the others see it, so that it has to move along
        assert scaled[0].names == (("0.weight",) if name == "batch" else ("0.weight", "0.bias"))
    assert ("rescale", ("1.weight", "1.bias"), ("3.weight",)) in found(NETWORKS["batch"]())
    assert ("translation", ("0.weight",), ()) in found(NETWORKS["layer"]())


def test_batch_norm_is_no_normalisation_in_evaluation():
    network = NETWORKS["batch"]()
    with torch.no_grad():
        network[1].running_mean.normal_(generator=torch.Generator().manual_seed(3))
    assert not [key for key in found(network, training=False) if key[0] == "scale"]


def test_the_epsilon_is_seen():
    for epsilon in (1e-5, 1e-2):
        network = NETWORKS["batch"]()
        network[1].eps = epsilon
        (family,) = (family for family in found(network).values() if family.kind == "scale")
        values = network.double()[0](X.double()).var(0, unbiased=False)
        assert 0.01 * epsilon / values.max() < family.violation < epsilon / values.min()
        assert network[1].eps == epsilon


def test_softmax_is_a_property_of_the_loss():
    network = NETWORKS["relu"]()
    square = found(network, y=torch.randn(32, 5), loss=F.mse_loss)
    assert {key[0] for key in square} == {"rescale"}


def test_smooth_units_have_no_symmetry():
    network = seeded(nn.Linear(10, 8), nn.GELU(), nn.Linear(8, 5))
    assert not found(network, y=torch.randn(32, 5), loss=F.mse_loss)


def test_convolutions_and_flattened_channels():
    network = seeded(
        nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 3, groups=6), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.3), nn.Flatten(), nn.Linear(24, 5),
    )  # fmt: skip
    families = found(network, PICTURES, LABELS)
    assert len(families["scale", ("0.weight",), ()].groups) == 6
    assert len(families["rescale", ("1.weight", "1.bias"), ("3.weight",)].groups) == 6
    flat = families["rescale", ("3.weight", "3.bias"), ("8.weight",)]
    assert [(p[0].start, p[0].stop) for p in flat.partners] == [(4 * i, 4 * i + 4) for i in range(6)]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 5)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x, x, x, need_weights=False)[0]).mean(1))


def test_queries_and_keys_values_and_projection():
    torch.manual_seed(4)
    network = Attention()
    families = found(network, torch.randn(16, 6, 8), LABELS)
    inner = ("inner.in_proj_weight", "inner.in_proj_bias")
    queries = families["rescale", inner, inner]
    pairs = [(g[0].start, p[0].start) for g, p in zip(queries.groups, queries.partners, strict=True)]
    assert pairs == [(i, 8 + i) for i in range(8)]
    values = families["rescale", inner, ("inner.out_proj.weight",)]
    pairs = [(g[0].start, p[0].start) for g, p in zip(values.groups, values.partners, strict=True)]
    assert pairs == [(16 + i, i) for i in range(8)]


def test_values_that_agree_before_training_are_no_symmetry():
    network = models.resnet(3, 5, blocks=1, width=8, groups=2, seed=0)  # scales 1, shifts 0
    families = found(network, PICTURES, LABELS)
    assert ("scale", ("3.branch.1.weight",), ()) not in families  # true at this point only: its shift is 0
    assert ("scale", ("3.branch.1.weight", "3.branch.1.bias"), ()) in families
    norms = sum(isinstance(layer, nn.GroupNorm) for layer in network.modules())
    assert sum(key[0] == "scale" and key[1][0].endswith("0.weight") for key in families) >= norms // 2


def test_the_model_is_left_alone():
    network = NETWORKS["batch"]().eval()
    state = {name: value.clone() for name, value in network.state_dict().items()}
    random = torch.get_rng_state()
    found(network)
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    assert not network.training and torch.equal(random, torch.get_rng_state())
    assert all(value.grad is None for value in network.parameters())


def test_a_model_that_does_not_depend_on_its_weights_is_refused():
    class Still(nn.Linear):
        def forward(self, x):
            return x

    with pytest.raises(ValueError, match="model"):
        noether.find_symmetries(Still(5, 5), F.mse_loss, (X[:, :5], X[:, :5]))
    with pytest.raises(ValueError, match="loss"):
        noether.find_symmetries(nn.Linear(10, 5), lambda a, b: a.sum() * math.nan, (X, Y))


def test_a_recorder_sees_what_the_weights_do():
    network = NETWORKS["batch"]().double()
    families = found(network)
    scaled = families["scale", ("0.weight",), ()]
    pair = families["rescale", ("1.weight", "1.bias"), ("3.weight",)]
    rows, joint, pairs = (
        noether.Recorder(network, scaled), noether.Recorder(network, scaled, together=True),
        noether.Recorder(network, pair),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    path = []
    for _ in range(4):
        path.append({name: value.detach().numpy().copy() for name, value in network.named_parameters()})
        optimizer.zero_grad()
        F.cross_entropy(network(X.double()), Y).backward()
        optimizer.step()
        for recorder in (rows, joint, pairs):
            recorder.update()
    path.append({name: value.detach().numpy() for name, value in network.named_parameters()})
    w = np.stack([state["0.weight"] for state in path])
    np.testing.assert_allclose(rows.size, (w**2).sum(2))
    np.testing.assert_allclose(joint.size[:, 0], (w**2).sum((1, 2)))
    np.testing.assert_allclose(rows.step, (np.diff(w, axis=0) ** 2).sum(2))
    np.testing.assert_allclose(rows.along, (w[1:] * np.diff(w, axis=0)).sum(2))
    unit = w / np.linalg.norm(w, axis=2, keepdims=True)
    np.testing.assert_allclose(rows.angle, np.arccos((unit[1:] * unit[:-1]).sum(2)), rtol=1e-6)
    first = np.stack([state["1.weight"] ** 2 + state["1.bias"] ** 2 for state in path])
    second = np.stack([(state["3.weight"] ** 2).sum(0) for state in path])
    order = [group[0].start for group in pair.groups]
    np.testing.assert_allclose(pairs.size, (first - second)[:, order], atol=1e-14)
    with pytest.raises(ValueError, match="family"):
        _ = pairs.angle
