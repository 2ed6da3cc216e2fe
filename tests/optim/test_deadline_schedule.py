"""Schedules to a deadline: limits, the law itself, and resuming in the middle of a cooldown."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav.optim import deadline_schedule


def _factors(steps, lr=0.1, **options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=lr)
    scheduler = deadline_schedule(optimizer, steps, **options)
    factors = []
    for _ in range(steps):
        factors.append(scheduler.get_last_lr()[0] / lr)
        optimizer.step()
        scheduler.step()
    return np.array(factors)


MIDDLE = (np.arange(200) + 0.5) / 200


def test_two_limits():
    np.testing.assert_allclose(_factors(200, stiffness=0.01), (1 - MIDDLE) / (1 - MIDDLE[0]), atol=1e-4)
    np.testing.assert_allclose(_factors(200, stiffness=1e3)[:198], 1.0, atol=1e-4)
    np.testing.assert_allclose(_factors(20, stiffness=1e-200), _factors(20, stiffness=0.0), rtol=1e-12)
    np.testing.assert_allclose(_factors(20, stiffness=1e100), 1.0, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^stiffness = 1e\+101"):
        _factors(20, stiffness=1e101)


def test_it_is_tanh():
    expected = np.tanh(5 * (1 - MIDDLE))
    np.testing.assert_allclose(_factors(200), expected / expected[0], rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"stiffness": 0.0}, {"discount": 3.0}, {"terminal": 0.01}, {"stiffness": 0.0, "discount": 2.0},
     {"kind": "power", "power": 2.0}, {"kind": "power", "cooldown": 1.0},
     {"kind": "kernel", "kernel": lambda u: 1 / (1 + 50 * u)}],
    ids=["tanh", "flat", "discounted", "charged", "flat and discounted", "squares", "linear", "kernel"],
)  # fmt: skip
def test_falling_within_bounds(options):
    factors = _factors(200, **options)
    assert np.all(np.diff(factors) <= 1e-12) and factors[0] <= 1 and 0 < factors[-1] < 0.5


def test_a_large_charge_makes_it_rise():
    """L3: above c = k/s₊ the rate rises to the deadline, and the largest is the last."""
    factors = _factors(200, terminal=2.0)
    assert np.all(np.diff(factors) > -1e-12) and factors[-1] == pytest.approx(1.0) and factors[0] < 0.9


def test_a_kernel_that_falls_as_one_over_u_gives_a_linear_cooldown():
    """κ ∝ 1/u ⇒ linear in the time left (L8), from a plateau."""
    factors = _factors(1000, kind="kernel", kernel=lambda u: 1 / (1e-7 + u), cooldown=0.5)
    assert np.all(factors[:495] == 1.0)
    left = 1 - (np.arange(1000) + 0.5) / 1000
    np.testing.assert_allclose(factors[520:], left[520:] / 0.5, atol=0.02)


def test_resumed_in_the_middle_it_is_bit_for_bit_the_same():
    def start():
        torch.manual_seed(0)
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.Adam([{"params": [net.weight]}, {"params": [net.bias], "lr": 0.5}], lr=0.1)
        return net, optimizer, deadline_schedule(optimizer, 60, kind="kernel", kernel=lambda u: np.exp(-3 * u) + 0.1)

    def train(net, optimizer, scheduler, count):
        for _ in range(count):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).square().mean().backward()
            optimizer.step()
            scheduler.step()
        return copy.deepcopy(net.state_dict()), scheduler.get_last_lr()

    unbroken = train(*start(), 58)
    net, optimizer, scheduler = start()
    train(net, optimizer, scheduler, 52)
    file = io.BytesIO()
    torch.save([part.state_dict() for part in (net, optimizer, scheduler)], file)
    file.seek(0)
    again = start()
    for part, state in zip(again, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    resumed = train(*again, 6)
    assert unbroken[1] == resumed[1] and unbroken[1][1] == pytest.approx(5 * unbroken[1][0])
    assert all(torch.equal(unbroken[0][k], resumed[0][k]) for k in unbroken[0])


def test_what_is_refused():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    with pytest.raises(ValueError, match="kernel must be given"):
        deadline_schedule(optimizer, 10, kind="kernel")
    with pytest.raises(ValueError, match="kernel rises"):
        deadline_schedule(optimizer, 10, kind="kernel", kernel=lambda u: 1 + u)
    with pytest.raises(ValueError, match="cooldown"):
        deadline_schedule(optimizer, 10, kind="power", cooldown=0.0)


def test_any_cooldown_beats_none_on_the_digits():
    """Two seeds, one epoch count, the same peak: the test loss with a cooldown lies below the constant rate's."""
    digits = ln.data.load("digits")
    train, test = digits.train, digits.test
    x, y = (torch.as_tensor(np.asarray(part)) for part in (train.x, train.y))
    x, held = x.float().reshape(len(x), -1), torch.as_tensor(np.asarray(test.x)).float().reshape(len(test.x), -1)
    scale = x.max()
    losses = {name: [] for name in ("constant", "deadline", "power")}
    for seed in (0, 1):
        for name in losses:
            net = ln.models.mlp(x.shape[1], (32,), 10, seed=seed)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.08, momentum=0.9)
            generator = torch.Generator().manual_seed(seed)
            steps = 300
            scheduler = None if name == "constant" else deadline_schedule(optimizer, steps, kind=name)
            for _ in range(steps):
                batch = torch.randint(len(x), (4,), generator=generator)
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(net(x[batch] / scale), y[batch]).backward()
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
            with torch.no_grad():
                losses[name].append(
                    torch.nn.functional.cross_entropy(net(held / scale), torch.as_tensor(np.asarray(test.y))).item()
                )
    for name in ("deadline", "power"):
        assert all(cooled < flat for cooled, flat in zip(losses[name], losses["constant"], strict=True)), losses
