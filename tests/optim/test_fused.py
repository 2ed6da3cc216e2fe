"""``fused=True``: the compiled step, whatever the layout and the threads."""

from __future__ import annotations

import pytest
import torch
from launches import random, walk

from lossnav.optim import Ballistic

OPTIONS = [
    {},
    {"momentum": 0.9},
    {"bias_correction": True, "maximize": True},
    {"momentum": 0.5, "bias_correction": True, "weight_decay": 0.1},
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_differs_from_foreach_by_rounding_only(kernel, options, dtype):
    fused, plain = ([torch.nn.Parameter(random(40, 30, dtype=dtype))] for _ in range(2))
    walk(fused, steps=100, fused=True, **options)
    walk(plain, steps=100, fused=False, **options)
    unit = torch.finfo(dtype).eps * plain[0].abs().max()
    assert (fused[0] - plain[0]).abs().max() <= 20 * unit  # 100 steps of random half units, and room for a factor four


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_neither_threads_nor_cuts_between_tensors_change_a_bit(kernel, threads):
    values, steps = random(100_003), [random(100_003, seed=k + 1) for k in range(3)]

    def run(pieces):
        parameters = [torch.nn.Parameter(x.clone()) for x in values.split(pieces)]
        optimizer = Ballistic(parameters, momentum=0.9, bias_correction=True, weight_decay=0.1, fused=True)
        for g in steps:
            for p, part in zip(parameters, g.split(pieces), strict=True):
                p.grad = part.clone()
            optimizer.step()
        return torch.cat([p.detach() for p in parameters])

    before = torch.get_num_threads()
    expected = run([100_003])
    try:
        torch.set_num_threads(threads)
        assert torch.equal(run([100_003]), expected)
        assert torch.equal(run([1, 0, 70_001, 17, 29_984]), expected)
    finally:
        torch.set_num_threads(before)


def layouts():
    square = random(6, 4, 5, 5)
    yield "channels last", square.contiguous(memory_format=torch.channels_last), square
    yield "transposed", square.transpose(0, 3), square.transpose(0, 3)
    yield "gradient in another order", square, square.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    yield "with gaps", random(6, 8)[:, ::2], random(6, 4)
    yield "one gradient for all", random(6, 8), random(1, 8).expand(6, 8)
    yield "gradient behind a minus sign", random(6), torch._neg_view(random(6, seed=3))
    yield "empty", random(0, 3), random(0, 3)
    yield "no dimensions", random(), random(seed=4)


@pytest.mark.parametrize(("value", "gradient"), [pytest.param(p, g, id=name) for name, p, g in layouts()])
def test_any_layout_in_memory_gives_the_same_bits(kernel, value, gradient):
    odd, even = torch.nn.Parameter(value.clone()), torch.nn.Parameter(value.contiguous().clone())
    odd.data = value  # a Parameter made from a clone may be laid out afresh
    ours, plain = (Ballistic([p], momentum=0.9, fused=True) for p in (odd, even))
    strides = odd.stride()
    for _ in range(3):
        odd.grad, even.grad = gradient, gradient.resolve_neg().contiguous()
        ours.step()
        plain.step()
    assert torch.equal(odd, even)
    assert odd.stride() == strides
    assert not torch.equal(odd, torch.zeros_like(odd)) or odd.numel() == 0


def test_a_state_in_another_order_is_laid_out_anew(kernel):
    """As when a model goes to channels_last after its first steps."""
    odd, even = ([torch.nn.Parameter(random(4, 3, 5, 5))] for _ in range(2))
    ours, plain = (walk(p, steps=2, fused=True) for p in (odd, even))
    odd[0].data = odd[0].data.contiguous(memory_format=torch.channels_last)
    for p, optimizer in ((odd, ours), (even, plain)):
        p[0].grad = random(4, 3, 5, 5, seed=9)
        optimizer.step()
    assert torch.equal(odd[0], even[0])
    assert torch.equal(ours.state[odd[0]]["v"], plain.state[even[0]]["v"])


def test_autograd_hears_of_the_step(kernel):
    """A backward pass through values that the step has overwritten must fail, not give wrong gradients."""
    weight = torch.nn.Parameter(random(5))
    value = (weight**2).sum()
    value.backward(retain_graph=True)
    Ballistic([weight], fused=True).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_nan_and_infinite_gradients_stay_in_their_coordinate(kernel):
    weight = torch.nn.Parameter(torch.ones(100))
    weight.grad = torch.ones(100)
    weight.grad[3], weight.grad[40] = torch.nan, torch.inf
    rule = Ballistic([weight], fused=True)
    rule.check_gradients = False
    rule.step()
    bad = torch.zeros(100, dtype=torch.bool)
    bad[[3, 40]] = True
    assert torch.equal(weight.isnan(), bad)
