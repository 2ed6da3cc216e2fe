"""Rules derived from assumptions against torch's optimizers and ours, on the same noisy gradients for 300 steps."""

from __future__ import annotations

import re
import traceback

import numpy as np
import pytest
import torch
from drive import drive, walk

import lossnav as ln
from lossnav import assume

ADAM = {"belief": assume.Filter(0.9, fading=1e-8), "curvature": assume.SecondMoment(0.999)}
START = np.array([[0.7, -1.2, 0.3], [1.5, 0.2, -0.4]])


def adamw(gamma):
    """lr = ηkΔt/(γ + j) and jΔt = lr·λ, with lr = 1e-3 and λ = 0.1, under the metric √V + ε and without curvature."""
    j = 1e-4
    objective = ln.Objective(eta=1e-3 * (gamma + j), gamma=gamma, drift=ln.drifts.weight_decay(j))
    return ln.derive(objective, belief=assume.Filter(0.9), metric=assume.RootMeanSquare(0.999, eps=1e-8), dt=1.0)


def of(optimizer, **options):
    return lambda params: optimizer(params, **options)


PLAIN, DISCOUNTED = ln.Objective(), ln.Objective(gamma=0.04)
PAIRS = {
    "SGD": (ln.derive(ln.Objective(eta=0.01, gamma=1.0), dt=1.0), of(torch.optim.SGD, lr=0.01)),
    "SGD with momentum": (
        ln.derive(ln.Objective(eta=0.1, gamma=1.0), belief=assume.Filter(0.9, corrected=False), dt=1.0),
        of(torch.optim.SGD, lr=0.01, momentum=0.9),
    ),
    "SGD, weight decay apart": (
        ln.derive(ln.Objective(eta=0.01, gamma=1.0, drift=ln.drifts.weight_decay(0.1)), dt=1.1),
        of(ln.optim.Belief, lr=0.01, discount=float("inf"), betas=(0.0, 0.9), weight_decay=11.0),
    ),
    "RMSprop": (
        ln.derive(
            PLAIN, belief=assume.Filter(0.0, fading=1e-8), curvature=assume.SecondMoment(0.99, corrected=False), dt=1e-3
        ),
        of(torch.optim.RMSprop, lr=1e-3, alpha=0.99, eps=1e-8),
    ),
    "Adam": (ln.derive(PLAIN, **ADAM, dt=1e-3), of(torch.optim.Adam, lr=1e-3)),
    "Adam in other units": (
        ln.derive(
            ln.Objective(eta=4.0, k=9.0), belief=assume.Filter(0.9, fading=0.15 * 6 * 2),
            curvature=assume.SecondMoment(0.999, scale=4.0), dt=1e-3,
        ),
        of(torch.optim.Adam, lr=3e-3, eps=0.15),
    ),
    "AdamW": (adamw(0.3), of(torch.optim.AdamW, lr=1e-3, weight_decay=0.1)),
    "AdamW of another discount": (adamw(7.0), of(torch.optim.AdamW, lr=1e-3, weight_decay=0.1)),
    "Ballistic": (
        ln.derive(PLAIN, curvature=assume.SecondMoment(0.99, floor=1e-6, corrected=False), dt=1e-3),
        of(ln.optim.Ballistic, lr=1e-3, beta=0.99, eps=1e-6, bias_correction=False),
    ),
    "Belief, centred, discounted": (
        ln.derive(
            DISCOUNTED, belief=assume.Filter(0.9), curvature=assume.SecondMoment(0.999, centred=True), dt=1e-3
        ),
        of(ln.optim.Belief, lr=1e-3, discount=0.02, variance="centred"),
    ),
    "Belief, finite time": (
        ln.derive(DISCOUNTED, belief=assume.Filter(0.9), curvature=assume.SecondMoment(0.999), dt=0.3, exact=True),
        of(ln.optim.Belief, lr=0.3, discount=0.02, curvature_scale=1.0),
    ),
}  # fmt: skip


def gradients(count=300):
    rng = np.random.default_rng(3)
    return rng.normal(size=(count, *START.shape)) * [[1.0, 0.1, 3.0], [0.5, 1.0, 0.01]] + 0.2


@pytest.mark.parametrize("name", PAIRS)
def test_assumptions_give_the_optimizer_on_arrays_and_generated(name):
    rule, make = PAIRS[name]
    theta, theirs = walk(rule, gradients(), START)[0][-1], drive(make, gradients(), start=START)[-1]
    ours = (drive(rule.optimizer, gradients(), start=START, fused=fused)[-1] for fused in (False, True))
    moved = np.abs(theta - START).max()
    assert moved > 1e-2
    for found in (theta, *ours):
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-12 * max(1.0, moved))


@pytest.mark.parametrize("seed", range(24))
def test_random_assumptions_generate_the_step_on_arrays(seed):
    rng = np.random.default_rng(seed)

    def sometimes(value):
        return value if rng.random() < 0.6 else 0.0

    decay, metric = sometimes(rng.uniform(0.1, 1)), None
    objective = ln.Objective(
        *rng.uniform(0.5, 2, 2), gamma=sometimes(rng.uniform(0.1, 1)), drift=ln.drifts.Linear(-decay) if decay else None
    )
    trend = 0.7 if seed % 4 == 1 else None
    belief = assume.Filter(0.8, fading=rng.uniform(0.1, 1), corrected=bool(seed % 2), trend=trend)
    curvature = assume.SecondMoment(
        0.9, centred=trend is None and rng.random() < 0.5, scale=rng.uniform(0.5, 2), floor=sometimes(0.3),
        corrected=rng.random() < 0.5,
    )  # fmt: skip
    if rng.random() < 0.5:
        metric = assume.RootMeanSquare(0.7, eps=0.1, corrected=rng.random() < 0.5)
    rule = ln.derive(
        objective, belief=belief, curvature=curvature if seed % 3 else None, metric=metric, dt=0.02,
        exact=trend is None and rng.random() < 0.5,
    )  # fmt: skip
    theta = walk(rule, gradients(60), START)[0][-1]
    for sign, options in ((1, {"fused": False}), (1, {"fused": True}), (-1, {"maximize": True})):
        weights = drive(rule.optimizer, sign * gradients(60), start=START, **options)[-1]
        np.testing.assert_allclose(weights, theta, rtol=0, atol=1e-12)
    assert np.abs(theta - START).max() > 1e-2


UNITLESS = {
    "ballistic": ln.derive(PLAIN, belief=assume.Filter(0.9), curvature=assume.SecondMoment(0.999), dt=1e-3),
    "metric": ln.derive(
        ln.Objective(gamma=1.0), belief=assume.Filter(0.9), metric=assume.RootMeanSquare(0.999), dt=1e-3
    ),
    "trend": ln.derive(PLAIN, belief=assume.Filter(0.9, trend=0.9), curvature=assume.SecondMoment(0.999), dt=1e-3),
}  # fmt: skip


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}, {"foreach": False}], ids=str)
@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 1e-14), (torch.float64, 1e-60)], ids=str)
@pytest.mark.parametrize("name", UNITLESS)
def test_a_step_does_not_depend_on_the_unit_of_a_loss_as_far_as_squares_are_held(name, dtype, unit, options):
    """A trend's ṁ/s² has the loss in it once more below than above: with a unit of 1, 1/unit of it is the same step."""
    rule = UNITLESS[name]
    weights = drive(rule.optimizer, unit * gradients(60), start=0.0, dtype=dtype, **options)[-1]
    theta = walk(rule, unit * gradients(60), np.zeros_like(START))[0][-1]
    scale = np.abs(theta).max()
    np.testing.assert_allclose(weights / scale, theta / scale, rtol=0, atol=1e-4)


@pytest.mark.parametrize("options", [{"fused": True}, {"fused": False}], ids=str)
@pytest.mark.parametrize(
    "rule",
    [
        ln.derive(PLAIN, belief=assume.Filter(0.9, fading=1e-30), curvature=assume.SecondMoment(0.999), dt=1.0),
        ln.derive(ln.Objective(gamma=1e-30), curvature=assume.SecondMoment(0.999), dt=1.0),
    ],
)
def test_a_gradient_whose_square_is_lost_is_not_divided_by_less(rule, options):
    """Float32 holds no 10⁻⁴⁸: V is 0, and beside it no α and no γ may take the place of √V."""
    weights = torch.nn.Parameter(torch.zeros(3))
    weights.grad = torch.full((3,), 1e-24)
    rule.optimizer([weights], **options).step()
    assert 0 < weights.abs().max() <= 1


def test_numbers_stand_in_a_step_as_they_are_written():
    """0.0005 + 0.0001 − 0.0005 is no 0.00010000000000000005, and 0.1² no 0.010000000000000002."""
    objective = ln.Objective(gamma=1e-3, drift=ln.drifts.weight_decay(1e-3))
    slow = ln.derive(objective, belief=assume.Filter(0.9, fading=1e-4), curvature=assume.SecondMoment(0.9), dt=0.1)
    fast = ln.derive(ln.Objective(gamma=0.2), curvature=assume.SecondMoment(0.9), dt=0.1)
    written = set(re.findall(r"[\d.]+(?:e-\d+)?", slow.source + fast.source))
    assert {"0.0001", "2.25e-06", "0.01"} <= written and max(map(len, written)) < 9


def test_a_parameter_without_a_gradient_keeps_its_own_count():
    rule = PAIRS["Adam"][0]
    pairs = [[torch.nn.Parameter(torch.tensor(START)) for _ in range(2)] for _ in range(2)]
    optimizers = rule.optimizer(pairs[0]), torch.optim.Adam(pairs[1], lr=1e-3)
    for n, g in enumerate(gradients(20)):
        for pair, optimizer in zip(pairs, optimizers, strict=True):
            pair[0].grad, pair[1].grad = torch.tensor(g), torch.tensor(g) if n % 3 == 0 else None
            optimizer.step()
    torch.testing.assert_close(pairs[0], pairs[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("option", [{"weight_decay": 0.0}, {"eps": 1e-8}, {"betas": (0.5, 0.9)}, {"lrr": 1.0}])
def test_a_group_has_no_option_that_no_step_looks_at(option):
    (name, value), first, second = *option.items(), *(torch.nn.Parameter(torch.tensor(START)) for _ in range(2))
    words = rf"^a group of parameters has {name} = {re.escape(str(value))}, but .* whose decay is its drift"
    with pytest.raises(ValueError, match=words):
        PAIRS["AdamW"][0].optimizer([{"params": [first], **option}])
    optimizer = PAIRS["AdamW"][0].optimizer([first])
    with pytest.raises(ValueError, match=words):
        optimizer.add_param_group({"params": [second], **option})
    assert len(optimizer.param_groups) == 1


def test_a_group_has_what_is_its_own_and_what_schedules_add():
    parameters = [torch.nn.Parameter(torch.tensor(START)) for _ in range(2)]
    options = {"lr": 0.5, "maximize": True, "foreach": False, "fused": False, "initial_lr": 0.5, "swa_lr": 0.1}
    groups = [{"params": [("first", parameters[0])]}, {"params": [("second", parameters[1])], "name": "b", **options}]
    optimizer = PAIRS["AdamW"][0].optimizer(groups)
    torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 10, cycle_momentum=False)
    again = PAIRS["AdamW"][0].optimizer(groups)
    again.load_state_dict(optimizer.state_dict())
    assert again.param_groups[1]["max_lr"] == 0.1 and again.param_groups[1]["name"] == "b"


def test_a_traceback_shows_the_generated_line():
    rule = PAIRS["Adam"][0]
    weights = torch.nn.Parameter(torch.tensor(START))
    optimizer = rule.optimizer([weights], fused=False)
    weights.grad = torch.tensor(START)
    optimizer.step()
    optimizer.state[weights]["v"] = torch.zeros(7, dtype=torch.float64)
    with pytest.raises(RuntimeError) as caught:
        optimizer.step()
    shown = "".join(traceback.format_exception(caught.value))
    line = next(line for line in rule.source.splitlines() if "addcmul_(v, g, g" in line)
    assert line.strip() in shown and "derived step" in shown
    assert optimizer.source == rule.source


@pytest.mark.parametrize(
    ("words", "objective", "parts"),
    [
        (r"dt = None, .* derive\(\.\.\., dt=", PLAIN, {"dt": None}),
        (r"objective\.metric", ln.Objective(metric=np.eye(2)), {}),
        (r"objective\.drift is no", ln.Objective(gamma=1.0, drift=ln.drifts.rotation(1.0)), {}),
        (r"objective\.drift grows", ln.Objective(gamma=1.0, drift=ln.drifts.Linear(0.1)), {}),
        (r"belief\.fading", PLAIN, {"belief": assume.Filter(0.9, fading=[0.1, 0.2])}),
        (r"belief\.trend is set and exact", PLAIN, {"belief": assume.Filter(0.9, trend=0.5), "exact": True}),
        ("Hutchinson.*Navigator takes it", PLAIN, {"curvature": assume.Hutchinson(0.9)}),
        ("curvature is a Known", PLAIN, {"curvature": assume.Known(np.eye(2))}),
    ],
)
def test_what_has_no_generated_step_is_refused_by_name(words, objective, parts):
    rule = ln.derive(objective, **{"curvature": assume.SecondMoment(0.9), "dt": 0.1, **parts})
    with pytest.raises(ValueError, match=words):
        rule.optimizer([torch.nn.Parameter(torch.tensor(START))])


def test_a_curvature_from_outside_is_what_navigator_takes():
    rule = ln.derive(ln.Objective(gamma=0.5), curvature=assume.Hutchinson(0.9), dt=0.2, exact=True)
    curvatures = gradients(200)[100:] + 0.5  # of both signs
    looks = iter(curvatures)
    weights = drive(
        ln.optim.Navigator, gradients(100), start=START, lr=0.2, gamma=0.5, eta_k=1.0, beta=0.9, eps=0.0,
        curvature=lambda parameter, gradient: torch.tensor(next(looks)),
    )[-1]  # fmt: skip
    theta = walk(rule, gradients(100), START, curvatures)[0][-1]
    np.testing.assert_allclose(theta, weights, rtol=0, atol=1e-12 * np.abs(theta).max())
    with pytest.raises(ValueError, match="curvature is given"):
        PAIRS["Adam"][0](START, PAIRS["Adam"][0].init(START), START, curvature=START)


def test_an_optimizer_knows_its_regime_from_what_it_believes():
    rule = ln.derive(ln.Objective(gamma=1.0), belief=assume.Filter(0.999), curvature=assume.SecondMoment(0.999), dt=0.1)
    weights = torch.nn.Parameter(torch.tensor([1.0, 1.0], dtype=torch.float64))
    optimizer = rule.optimizer([weights])
    with pytest.raises(ValueError, match="no step"):
        optimizer.regime()
    weights.grad = torch.tensor([5.0, -8.0], dtype=torch.float64)
    optimizer.step()
    optimizer.step()  # one average of the same squares, of which a share of 1 − β² is there now
    found = optimizer.regime()
    assert found.holds and found.curvature == pytest.approx(5.0) and found[:3] == pytest.approx(rule.regime(25.0)[:3])
    assert found.quantiles == pytest.approx((5.0, 5.75, 6.5, 7.25, 8.0)) and found.share == 1.0


def test_the_regime_of_an_optimizer_with_an_averaged_metric():
    rule = ln.derive(
        ln.Objective(gamma=1.0), belief=assume.Filter(0.999), curvature=assume.SecondMoment(0.999, scale=2.0),
        metric=assume.RootMeanSquare(0.999, eps=0.0), dt=0.1,
    )  # fmt: skip
    weights = [torch.nn.Parameter(torch.ones(2, dtype=torch.float64)) for _ in range(2)]
    optimizer = rule.optimizer(weights)
    for p, g in zip(weights, ([50.0, 80.0], [100.0, 200.0]), strict=True):
        p.grad = torch.tensor(g, dtype=torch.float64)
    optimizer.step()
    regime = optimizer.regime()  # √(2g²/|g|)
    assert regime.holds and regime.quantiles[0] == pytest.approx(10.0) and regime.quantiles[-1] == pytest.approx(20.0)


@pytest.mark.parametrize("name", PAIRS)
def test_a_rule_reports_what_it_assumes_and_what_it_runs(name):
    rule = PAIRS[name][0]
    page = rule._repr_markdown_()
    assert rule.source in page and rule.latex[1] in page and f"γ = {rule.objective.gamma:g}" in page
    if name == "Adam":
        row = next(line for line in page.splitlines() if line.startswith("| Adam |"))
        assert all(float(cell) < 1e-12 for cell in row.split("|")[3:-1])  # its own limit, at every V


def test_a_rule_without_a_program_reports_the_reason():
    page = ln.derive(PLAIN, curvature=assume.Known(np.eye(2)), dt=0.1)._repr_markdown_()
    assert "curvature is a Known" in page and "```" not in page and r"\dot\theta = " in page
