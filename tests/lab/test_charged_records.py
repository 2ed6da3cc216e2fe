"""The study of prices on networks: what its rules are, how they were tuned, and what its records hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from resources import RESULTS, recorded

import lossnav as ln
from lossnav import records

STUDY = recorded("charged")
TYPICAL = STUDY.Typical(norm=1.0, step=0.1, quarter=0.05)
NETWORKS = sorted(STUDY.TASKS)


def stepped(rule, lr, gradients, averages=()):
    """Where a rule leads with these gradients, and β-averages of its weights."""
    weights = torch.nn.Parameter(torch.ones(gradients.shape[1], dtype=torch.float64))
    optimizer, averaged = STUDY.RULES[rule].make([weights], lr, TYPICAL), [torch.ones_like(weights) for _ in averages]
    for g in gradients:
        weights.grad = torch.tensor(g)
        optimizer.step()
        for beta, average in zip(averages, averaged, strict=True):
            average.lerp_(weights.detach(), 1 - beta)
    return weights.detach().numpy(), [average.numpy() for average in averaged]


def gradients(count=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 4)) * [1e-3, 1e-2, 0.1, 1.0]


def test_the_average_of_its_walker_is_the_rule_of_a_price_of_acceleration():
    """(W8), γ = 0, c = 1: b₀ = m^{−½}, so that β = e^{−lr·b₀}."""
    lr = 0.01
    price = ln.prices.Acceleration((lr / np.log(STUDY.BETA)) ** 2, speed=1.0)
    moment = ln.assume.SecondMoment(STUDY.BETA2, floor=STUDY.FLOOR)
    weights = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))
    optimizer = ln.derive(ln.Objective(price=price), curvature=moment, dt=lr, form="ema").optimizer([weights])
    for g in gradients():
        weights.grad = torch.tensor(g)
        optimizer.step()
    walker, (average,) = stepped("Adam, β₁ = 0", lr, gradients(), [STUDY.BETA])
    np.testing.assert_allclose(walker, weights.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(average, optimizer.average()[0].numpy(), rtol=1e-9)


def test_a_dear_acceleration_remembers_as_long_as_adam_where_v_is_typical_and_by_the_fourth_root_elsewhere():
    lr, g = 0.01, gradients()
    theta, v, V, beta2 = np.ones(4), np.zeros(4), np.zeros(4), STUDY.BETA2
    for n, each in enumerate(g, start=1):
        V = beta2 * V + (1 - beta2) * each**2
        quarter = (V / (1 - beta2**n) + STUDY.FLOOR) ** 0.25
        fresh = -np.expm1(-(1 - STUDY.BETA) * quarter / TYPICAL.quarter)
        rate = lr * TYPICAL.quarter / quarter**3  # Adam's, over √V where V is typical
        v = (1 - fresh) * v - fresh * rate * each
        theta = theta + v
    np.testing.assert_allclose(stepped("β₁(V)", lr, g)[0], theta, rtol=1e-9)


@pytest.mark.parametrize(("rule", "power"), [("Adam, p = ¾", 0.75), ("AdamW, box", 0.5)])
def test_adam_over_another_power_and_adam_in_a_box(rule, power):
    lr, theta, m, V = 0.01, np.ones(4), np.zeros(4), np.zeros(4)
    for n, g in enumerate(gradients(), start=1):
        m, V = STUDY.BETA * m + (1 - STUDY.BETA) * g, STUDY.BETA2 * V + (1 - STUDY.BETA2) * g**2
        h = V / (1 - STUDY.BETA2**n) + STUDY.FLOOR
        step = m / (1 - STUDY.BETA**n) / h**power
        bound = TYPICAL.step if rule.endswith("box") else np.inf
        theta = theta - lr * np.clip(step * (TYPICAL.quarter if power == 0.75 else 1.0), -bound, bound)
    np.testing.assert_allclose(stepped(rule, lr, gradients())[0], theta, rtol=1e-9)


@pytest.mark.parametrize(("law", "damping", "pull"), [
    ("filter", 2.0, 1.0), ("raw average", 1.0, 1.0), ("average", None, 1.0),
])  # fmt: skip
def test_on_a_quadratic_each_law_swings_as_its_equation_says(law, damping, pull):
    """s² + (K + r)s + rKh/ĥ of (W11), K = r = 1, and without the friction r for a raw average."""
    for times in STUDY.TIMES:
        path = STUDY.places(law, lambda theta: 3.0 * theta, torch.ones(1, dtype=torch.float64), 3.0 / times)
        below = max(0.0, -path.min().item())
        if damping is None or times * pull <= damping**2 / 4:
            assert below == 0.0
        else:
            expected = np.exp(-np.pi * damping / 2 / np.sqrt(times * pull - damping**2 / 4))
            assert below == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("name", NETWORKS)
def test_each_rule_and_each_average_had_the_same_budget_and_was_judged_on_fresh_seeds(name):
    record = records.load(RESULTS / f"charged-{name}.json")
    assert len(record.revision) == 40 and len(record.seeds) >= 5 and not {*record.seeds} & {*STUDY.TUNING}
    names = [row["name"] for row in record.results]
    assert len(names) == len({*names}) == sum(1 + len(rule.averages) for rule in STUDY.RULES.values())
    assert record.config["predictions"] == [vars(prediction) for prediction in STUDY.PREDICTIONS]
    assert {each for prediction in STUDY.PREDICTIONS for each in (prediction.rule, prediction.other)} <= {*names}
    for row in record.results:
        tuning = dict(map(tuple, row["tuning"]))
        first = STUDY.RULES[row["rule"]].rates(STUDY.TASKS[name])
        assert {*first} <= {*tuning} and len(first) <= len(tuning) <= len(first) + STUDY.MOST
        assert row["lr"] == min(tuning, key=tuning.__getitem__)
        inside = min(tuning) < row["lr"] < max(tuning)
        assert inside or len(tuning) == len(first) + STUDY.MOST
        np.testing.assert_allclose(np.diff(np.log10(sorted(tuning))), 0.5, atol=0.025)
        assert [run["seed"] for run in row["runs"]] == record.seeds
        assert row["typical"] == record.results[0]["typical"]
