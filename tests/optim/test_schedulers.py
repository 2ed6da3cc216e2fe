"""Each of torch's schedulers on each optimizer: a step has the rate that the schedule says, also where that is 0."""

from __future__ import annotations

import math

import pytest
import torch
from optim_problem import advance, network, vector
from references import BallisticReference, BeliefReference, NavigatorReference, UncertainReference
from torch.optim import lr_scheduler as schedules
from torch.optim.swa_utils import SWALR

from lossnav import optim

STEPS, PEAK = 12, 0.02


def _sequence(optimizer):
    warm = schedules.LinearLR(optimizer, start_factor=1e-9, total_iters=4)
    return schedules.SequentialLR(optimizer, [warm, schedules.CosineAnnealingLR(optimizer, T_max=8)], milestones=[4])


def _chain(optimizer):
    warm = schedules.ConstantLR(optimizer, factor=0.1, total_iters=3)
    return schedules.ChainedScheduler([warm, schedules.ExponentialLR(optimizer, 0.8)], optimizer=optimizer)


SCHEDULES = {
    "warm-up from 0": lambda o: schedules.LambdaLR(o, lambda n: min(1.0, n / 5)),
    "LambdaLR to 0": lambda o: schedules.LambdaLR(o, lambda n: max(0.0, 1 - n / 6)),
    "MultiplicativeLR by 0": lambda o: schedules.MultiplicativeLR(o, lambda n: 0.0 if n == 7 else 0.9),
    "StepLR": lambda o: schedules.StepLR(o, step_size=3, gamma=0.1),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, milestones=[2, 9]),
    "ConstantLR": lambda o: schedules.ConstantLR(o, factor=0.5, total_iters=4),
    "LinearLR to 0": lambda o: schedules.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=8),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, gamma=0.7),
    "PolynomialLR to 0": lambda o: schedules.PolynomialLR(o, total_iters=9, power=2.0),
    "CosineAnnealingLR to 0": lambda o: schedules.CosineAnnealingLR(o, T_max=8),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, T_0=4),
    "CyclicLR from 0": lambda o: schedules.CyclicLR(o, 0.0, PEAK, step_size_up=4, cycle_momentum=False),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, PEAK, total_steps=STEPS, cycle_momentum=False),
    "OneCycleLR to 0": lambda o: schedules.OneCycleLR(
        o, PEAK, total_steps=STEPS, cycle_momentum=False, final_div_factor=math.inf
    ),
    "ReduceLROnPlateau": lambda o: schedules.ReduceLROnPlateau(o, factor=0.5, patience=0),
    "SequentialLR": _sequence,
    "ChainedScheduler": _chain,
    "SWALR": lambda o: SWALR(o, swa_lr=1e-3, anneal_epochs=6),
}

BELIEF = (optim.Belief, BeliefReference)
SGD = {"lr": PEAK, "discount": math.inf, "betas": (0.0, 0.9), "weight_decay": 0.1}
RULES = {
    "ballistic": (optim.Ballistic, BallisticReference, {"lr": PEAK, "beta": 0.9, "weight_decay": 0.1}),
    "ballistic with momentum, fused": (
        optim.Ballistic, BallisticReference,
        {"lr": PEAK, "beta": 0.9, "momentum": 0.8, "bias_correction": True, "fused": True},
    ),
    "belief": (*BELIEF, {"lr": PEAK}),
    "belief, SGD": (*BELIEF, SGD),
    "belief, SGD, a tensor rate": (*BELIEF, {**SGD, "lr": torch.tensor(PEAK, dtype=torch.float64)}),
    "belief, SGD, fused": (*BELIEF, {**SGD, "betas": (0.9, 0.9), "fused": True}),
    "belief, SGD, older spelling": (*BELIEF, {**SGD, "lr": math.inf, "lr_overdamped": PEAK, "discount": None}),
    "belief, SGD, finite step": (*BELIEF, {**SGD, "curvature_scale": 3.0}),
    "belief, discounted": (*BELIEF, {"lr": PEAK, "discount": 0.3, "variance": "innovation"}),
    "belief, discounted, fused": (*BELIEF, {"lr": PEAK, "discount": 0.3, "curvature_scale": 3.0, "fused": True}),
    "belief, both rates": (*BELIEF, {"lr": PEAK, "lr_overdamped": 0.1, "weight_decay": 0.1}),
    "navigator": (optim.Navigator, NavigatorReference, {"lr": PEAK, "gamma": 2.0, "weight_decay": 0.1}),
    "navigator, no foresight, fused": (
        optim.Navigator, NavigatorReference, {"lr": PEAK, "gamma": math.inf, "fused": True},
    ),
    "uncertain": (optim.Uncertain, UncertainReference, {"lr": PEAK, "temperature": 0.1}),
}  # fmt: skip


FEW = {"warm-up from 0", "OneCycleLR to 0", "ReduceLROnPlateau"}  # for every rule; every schedule for one of a kind
KINDS = {"ballistic", "belief, SGD, a tensor rate", "belief, discounted, fused", "navigator", "uncertain"}
FOLLOWED = [(name, plan) for name in RULES for plan in SCHEDULES if name in KINDS or plan in FEW]


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*")
@pytest.mark.parametrize(("name", "plan"), FOLLOWED)
def test_a_schedule_is_followed_as_by_torch(name, plan):
    """The rates are those that torch's SGD gets of the same schedule, and the steps those of the literal reference."""
    fast, plain, options = RULES[name]
    model, expected, twin = network(), network(), network()
    cloned = {key: value.clone() if torch.is_tensor(value) else value for key, value in options.items()}
    rule = fast(model.parameters(), **cloned)
    literal = plain(expected.parameters(), **{k: v for k, v in options.items() if k != "fused"})
    torchs = torch.optim.SGD(twin.parameters(), lr=PEAK)
    own, theirs = SCHEDULES[plan](rule), SCHEDULES[plan](torchs)
    rates = []
    for step in range(STEPS):
        before = vector(model).clone()
        rate = float(rule.param_groups[0]["lr"])
        literal.param_groups[0]["lr"] = torchs.param_groups[0]["lr"]
        advance(model, rule, [step])
        advance(expected, literal, [step])
        torchs.step()
        torch.testing.assert_close(rate, torchs.param_groups[0]["lr"], rtol=1e-12, atol=1e-18)
        torch.testing.assert_close(vector(model), vector(expected), rtol=1e-9, atol=1e-11)
        assert rate != 0 or torch.equal(vector(model), before), "a step of rate 0 moved"
        value = 1.0 + (step % 3 == 0)
        for schedule in (own, theirs):
            schedule.step(*([value] if isinstance(schedule, schedules.ReduceLROnPlateau) else []))
        rates.append(rate)
    assert len(set(rates)) > 1
    assert (min(rates) == 0) == (" 0" in plan), rates


@pytest.mark.parametrize("name", RULES)
def test_a_resumed_schedule_goes_on(name):
    """State dicts of optimizer and scheduler, loaded into new ones, continue bit for bit."""
    fast, _, options = RULES[name]
    model, twin = network(), network(seed=1)
    rule = fast(model.parameters(), **options)
    plan = schedules.CosineAnnealingLR(rule, T_max=8)
    for step in range(4):
        advance(model, rule, [step])
        plan.step()
    second = fast(twin.parameters(), **options)
    later = schedules.CosineAnnealingLR(second, T_max=8)
    twin.load_state_dict(model.state_dict())
    second.load_state_dict(rule.state_dict())
    later.load_state_dict(plan.state_dict())
    for step in range(4, 10):
        for net, optimizer, schedule in ((model, rule, plan), (twin, second, later)):
            advance(net, optimizer, [step])
            schedule.step()
    assert torch.equal(vector(model), vector(twin))


def test_the_older_spelling_of_sgd_is_read_in_every_place():
    """Defaults, groups, groups added later and state dicts older than ``discount``: one rate, for schedulers."""
    model = network()
    groups = [
        {"params": model[0].weight},
        {"params": model[0].bias, "lr": math.inf, "lr_overdamped": 0.3},
        {"params": model[2].weight, "lr": 0.01},
    ]
    rule = optim.Belief(groups, lr=math.inf, lr_overdamped=0.1)
    rule.add_param_group({"params": model[2].bias, "lr_overdamped": 0.2})
    triples = [(g["lr"], g["lr_overdamped"], g["discount"]) for g in rule.param_groups]
    sgd = [(rate, math.inf, math.inf) for rate in (0.1, 0.3, 0.2)]
    assert triples == [*sgd[:2], (0.01, 0.1, None), sgd[2]]

    older = optim.Belief(network().parameters(), lr=0.1).state_dict()
    del older["param_groups"][0]["discount"]
    older["param_groups"][0].update(lr=math.inf, lr_overdamped=0.3, initial_lr=math.inf)
    for options in ({}, {"discount": math.inf}, {"lr_overdamped": 0.3}):
        rule = optim.Belief(network().parameters(), **options)
        rule.load_state_dict(older)
        (group,) = rule.param_groups
        assert (group["lr"], group["initial_lr"], group["lr_overdamped"], group["discount"]) == (
            0.3, 0.3, math.inf, math.inf,
        )  # fmt: skip
    older["param_groups"][0].update(lr=0.01, lr_overdamped=0.3)  # both rates: a state that has no discount
    rule = optim.Belief(network().parameters(), discount=0.5)
    rule.load_state_dict(older)
    assert rule.param_groups[0]["discount"] is None


def test_a_schedule_moves_the_time_of_a_step_and_not_the_discount():
    """With ``discount`` half the rate is half the step, whatever V is; with ``lr_overdamped`` ε has moved too."""
    steps = {}
    for name, options in {"tied": {"discount": 0.5}, "apart": {"lr_overdamped": 0.01 / (2 * 0.5)}}.items():
        for rate in (0.01, 0.005):
            model = network()
            before = vector(model).clone()
            advance(model, optim.Belief(model.parameters(), lr=rate, **options), [0])
            steps[name, rate] = vector(model) - before
    torch.testing.assert_close(steps["tied", 0.01], steps["apart", 0.01], rtol=1e-10, atol=1e-15)
    torch.testing.assert_close(steps["tied", 0.005], steps["tied", 0.01] / 2, rtol=1e-10, atol=1e-15)
    assert ((steps["apart", 0.005] / steps["apart", 0.01]).abs() > 0.55).any()


def test_a_schedule_cannot_make_an_uncertain_mean_diverge():
    model = network()
    rule = optim.Uncertain(model.parameters(), lr=0.1)
    schedule = schedules.OneCycleLR(rule, max_lr=3.0, total_steps=4, pct_start=0.5, cycle_momentum=False)
    with pytest.raises(ValueError, match=r"lr = .* < 1\.594"):
        for step in range(4):
            advance(model, rule, [step])
            schedule.step()


CYCLES = {
    "OneCycleLR": lambda o, **more: schedules.OneCycleLR(o, PEAK, total_steps=STEPS, **more),
    "CyclicLR": lambda o, **more: schedules.CyclicLR(o, 0.0, PEAK, step_size_up=4, **more),
}


@pytest.mark.parametrize("cycle", CYCLES)
def test_momentum_is_cycled_where_there_is_one(cycle):
    """As torch cycles its own: β₁ of Adam, the momentum of SGD; with the literal reference as the yardstick."""
    pairs = (
        (optim.Ballistic, BallisticReference, {"momentum": 0.9}, torch.optim.SGD, {"lr": 1.0, "momentum": 0.9}),
        (optim.Belief, BeliefReference, {}, torch.optim.Adam, {}),
        (optim.Belief, BeliefReference, {**SGD, "betas": (0.9, 0.9)}, torch.optim.Adam, {"betas": (0.9, 0.9)}),
    )
    for fast, plain, options, torchs, theirs in pairs:
        model, expected, twin = network(), network(), network()
        trio = fast(model.parameters(), **options), torchs(twin.parameters(), **theirs)
        literal = plain(expected.parameters(), **options)
        plans = [CYCLES[cycle](optimizer) for optimizer in trio]
        for step in range(STEPS - 1):
            ours, torchs_group = (optimizer.param_groups[0] for optimizer in trio)
            key = "momentum" if "momentum" in ours else "betas"
            assert ours[key] == torchs_group[key] and ours["lr"] == torchs_group["lr"]
            literal.param_groups[0].update({key: ours[key], "lr": ours["lr"]})
            advance(model, trio[0], [step])
            advance(expected, literal, [step])
            trio[1].step()
            torch.testing.assert_close(vector(model), vector(expected), rtol=1e-10, atol=1e-12)
            for plan in plans:
                plan.step()


@pytest.mark.parametrize("cycle", CYCLES)
def test_a_cycle_gives_no_momentum_to_a_rule_without(cycle):
    """It made momentum=None .95 without a word; now the scheduler refuses, and takes cycle_momentum=False."""
    for make in (optim.Ballistic, BallisticReference, optim.Navigator, optim.Uncertain):
        model = network()
        rule = make(model.parameters())
        with pytest.raises(ValueError, match="must support momentum or beta1"):
            CYCLES[cycle](rule)
        assert rule.param_groups[0].get("momentum") is None
        CYCLES[cycle](rule, cycle_momentum=False)
        advance(model, rule, range(2))
    rule.add_param_group({"params": [torch.nn.Parameter(torch.randn(2))]})


def test_momentum_none_lives_through_copies_and_groups():
    import copy

    rule = optim.Ballistic([torch.nn.Parameter(torch.ones(2))])
    rule.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "momentum": 0.5})
    rule.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    twin = copy.deepcopy(rule)
    twin.load_state_dict(rule.state_dict())
    assert [group["momentum"] for group in twin.param_groups] == [None, 0.5, None]
    assert "momentum" not in twin.defaults
