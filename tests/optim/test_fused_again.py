"""A fused launch is repeated as long as nothing but gradients, counters and rate change, and never otherwise."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch

import lossnav as ln
from lossnav import assume
from lossnav.optim import _fused

DERIVED = ln.derive(
    ln.Objective(), belief=assume.Filter(0.9, fading=1e-8), curvature=assume.SecondMoment(0.99), dt=0.01
)
RULES = {
    "derived": lambda params: DERIVED.optimizer(params, fused=True),
    "ballistic": lambda params: ln.optim.Ballistic(params, lr=0.01, bias_correction=True, fused=True),
    "belief": lambda params: ln.optim.Belief(params, lr=0.01, fused=True),
    "navigator": lambda params: ln.optim.Navigator(params, lr=0.01, gamma=1.0, fused=True),
}


def turned_in_place(params, optimizer):
    params[0].data = params[0].data.view(6, 4)
    params[0].grad = params[0].grad.view(6, 4)
    for name, value in optimizer.state[params[0]].items():
        if name != "step":
            optimizer.state[params[0]][name] = value.view(6, 4)


def averages(params, optimizer):
    return {name: value for name, value in optimizer.state[params[0]].items() if name != "step"}


CHANGES = {
    "nothing": lambda params, optimizer: None,
    "other options": lambda params, optimizer: optimizer.param_groups[0].update(maximize=True),
    "other rate": lambda params, optimizer: optimizer.param_groups[0].update(lr=0.03),
    "other storage": lambda params, optimizer: setattr(params[0], "data", params[0].data + 1),
    "other order": lambda params, optimizer: setattr(params[0], "data", params[0].data.t().contiguous().t()),
    "turned in place": turned_in_place,
    "other gradient order": lambda params, optimizer: setattr(params[0], "grad", params[0].grad.t().contiguous().t()),
    "behind a minus": lambda params, optimizer: setattr(params[1], "grad", torch._neg_view(params[1].grad)),
    "no gradient": lambda params, optimizer: setattr(params[1], "grad", None),
    "other memory": lambda params, optimizer: optimizer.state[params[0]].update(
        {name: 2 * value for name, value in averages(params, optimizer).items()}
    ),
    "moved memory": lambda params, optimizer: [
        setattr(value, "data", 2 * value) for value in averages(params, optimizer).values()
    ],
    "other count": lambda params, optimizer: optimizer.state[params[1]].update(step=torch.tensor(7.0)),
    "count in place": lambda params, optimizer: optimizer.state[params[1]]["step"].fill_(7.0),
    "begun anew": lambda params, optimizer: optimizer.state.clear(),
    "loaded": lambda params, optimizer: optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict())),
    "one less": lambda params, optimizer: optimizer.param_groups[0]["params"].pop(),
    "one more": lambda params, optimizer: optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(3))]}),
    "unfused": lambda params, optimizer: optimizer.param_groups[0].update(fused=False),
    "with momentum": lambda params, optimizer: optimizer.param_groups[0].update(
        {name: 0.5 for name in optimizer.param_groups[0] if name == "momentum"}
    ),
}


def walk(make, change):
    generator = torch.Generator().manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((4, 6), (5,), ())]
    optimizer = make(params)
    for n in range(8):
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator)
        if n == 4:
            change(params, optimizer)
        optimizer.step()
    return [*params, *(value for p in params for value in optimizer.state[p].values())]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", RULES)
def test_what_changes_between_steps_is_seen(kernel, monkeypatch, name, change):
    repeated = walk(RULES[name], CHANGES[change])
    monkeypatch.setattr(_fused, "again", lambda rule, group: False)
    for cached, fresh in zip(repeated, walk(RULES[name], CHANGES[change]), strict=True):
        assert torch.equal(cached, fresh)


@pytest.mark.parametrize("name", RULES)
def test_ordinary_steps_are_repeats(kernel, monkeypatch, name):
    answers, again = [], _fused.again
    monkeypatch.setattr(_fused, "again", lambda rule, group: answers.append(again(rule, group)) or answers[-1])
    walk(RULES[name], CHANGES["nothing"])
    assert answers == [False] + 7 * [True]


def test_a_state_that_was_replaced_is_let_go(kernel):
    weight = torch.nn.Parameter(torch.ones(5))
    optimizer = RULES["ballistic"]([weight])
    for _ in range(2):
        weight.grad = torch.ones(5)
        optimizer.step()
    old = weakref.ref(optimizer.state[weight]["v"])
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()
    gc.collect()
    assert old() is None


def test_a_sparse_gradient_is_refused_after_dense_ones(kernel):
    weight = torch.nn.Parameter(torch.ones(5, 2))
    optimizer = RULES["ballistic"]([weight])
    for _ in range(2):
        weight.grad = torch.ones(5, 2)
        optimizer.step()
    weight.grad = torch.eye(5, 2).to_sparse()
    with pytest.raises(RuntimeError, match="sparse gradient"):
        optimizer.step()
