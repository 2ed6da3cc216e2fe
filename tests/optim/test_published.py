"""``explain`` against the optimizers that it reads: torch's, and those of a collection."""

from __future__ import annotations

import copy
import functools
import importlib
import math

import numpy as np
import pytest
import torch
from drive import drive, walk

import lossnav as ln
from lossnav.rules import relative_step, shrink
from lossnav.rules.derive.published import _RULES, TABLE, second_reading

START = np.array([[0.7, -1.2, 0.3], [1.5, 0.2, -0.4]])


@pytest.fixture(scope="module")
def collection():
    """It imports a library of transformers and much else: where these tests are run, not where they are collected."""
    return importlib.import_module("pytorch_optimizer")


def weights():
    return torch.nn.Parameter(torch.tensor(START))


def differ(theirs, optimizer, reading, steps=300):
    """Return how far the derived optimizer gets from the published one on the same gradients, beside the way."""
    ours = weights()
    derived = reading.rule.optimizer([ours])
    rng = np.random.default_rng(5)
    for _ in range(steps):
        g = torch.tensor(rng.normal(size=START.shape) * [[1.0, 0.1, 3.0], [0.5, 1.0, 0.01]] + 0.2)
        theirs.grad = g.clone()
        ours.grad = g + reading.penalty * ours.detach()
        optimizer.step()
        derived.step()
    way = (theirs.detach() - torch.tensor(START)).abs().max().item()
    assert way > 1e-3
    return (theirs - ours).abs().max().item() / max(way, 1.0)


TORCH = {
    "SGD": ("SGD", {"lr": 0.01}),
    "SGD, decay": ("SGD", {"lr": 0.01, "weight_decay": 0.1}),
    "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    "Nesterov": ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    "RMSprop": ("RMSprop", {"lr": 1e-3, "alpha": 0.95, "weight_decay": 0.1}),
    "Adam": ("Adam", {"lr": 1e-3}),
    "Adam, other": ("Adam", {"lr": 3e-3, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.3}),
    "Adam, decoupled": ("Adam", {"lr": 1e-3, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    "AdamW": ("AdamW", {"lr": 1e-3, "weight_decay": 0.5}),
    "AdamW, no decay": ("AdamW", {"lr": 1e-3, "weight_decay": 0.0}),
}
OTHERS = {
    "SGDW": ("SGDW", {"momentum": 0.0, "weight_decay": 0.1}, 1e-12),
    "SGDW, Nesterov": ("SGDW", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, 1e-12),
    "SGDW, L2": ("SGDW", {"momentum": 0.9, "weight_decay": 0.1, "weight_decouple": False}, 1e-12),
    "Lion": ("Lion", {"weight_decay": 0.0}, 1e-12),
    "SignSGD": ("SignSGD", {"momentum": 0.0}, 1e-12),
    "Signum": ("SignSGD", {"momentum": 0.9}, 1e-12),
    "AdaBelief": ("AdaBelief", {}, 1e-10),
    "AdaBelief, L2": ("AdaBelief", {"weight_decay": 0.1, "weight_decouple": False}, 1e-10),
}
UNLIKE = {  # what would make the rule of a reading another one, and words of the refusal
    "SGDW": {"dampening": "first gradient"}, "Lion": {"use_gc": "centred", "cautious": "left out", "adanorm": "length"},
    "AdaBelief": {"ams_bound": "maximum", "rectify": "step number", "adanorm": "length", "fixed_decay": "rate"},
    "SOAP": {"normalize_gradient": "length", "merge_dims": "other matrices"},
}  # fmt: skip


@pytest.mark.parametrize("name", TORCH)
def test_the_rule_of_a_reading_is_torchs_optimizer(name):
    kind, options = TORCH[name]
    theirs = weights()
    optimizer = getattr(torch.optim, kind)([theirs], **options)
    (reading,) = ln.explain(optimizer)
    assert reading.assumptions and reading.optimizer == ("AdamW" if "decoupled_weight_decay" in options else kind)
    assert differ(theirs, optimizer, reading) < 1e-12


@pytest.mark.parametrize("name", OTHERS)
def test_the_rule_of_a_reading_is_that_of_a_collection(name, collection):
    kind, options, most = OTHERS[name]
    theirs = weights()
    optimizer = getattr(collection, kind)([theirs], lr=0.01, **options)
    (reading,) = ln.explain(optimizer)
    assert reading.rule is not None and differ(theirs, optimizer, reading, 100) < most
    if kind == "Lion":
        assert reading.rule.belief.share == pytest.approx(1 / 11)


@pytest.mark.parametrize(("kind", "option"), [(kind, option) for kind, options in UNLIKE.items() for option in options])
def test_an_option_that_makes_another_rule_is_no_reading(kind, option, collection):
    """With each of them the rule without it is off by 3e-3 and more of the way, measured below for two."""
    options = {"momentum": 0.9, "dampening": 0.5} if kind == "SGDW" else {option: True, "weight_decay": 0.1}
    (reading,) = ln.explain(getattr(collection, kind)([weights()], lr=0.01, **options))
    assert reading.rule is None and not reading.assumptions and UNLIKE[kind][option] in reading.why
    assert reading.penalty == 0
    if option in ("dampening", "cautious"):
        theirs = weights()
        plain = {"momentum": 0.9} if kind == "SGDW" else {}
        (without,) = ln.explain(getattr(collection, kind)([theirs], lr=0.01, **plain))
        optimizer = getattr(collection, kind)([theirs], lr=0.01, **{**options, "weight_decay": 0.0})
        assert differ(theirs, optimizer, without, 60) > 3e-3


@pytest.mark.parametrize(("kind", "option"), [("SGD", "momentum"), ("RMSprop", "alpha"), ("Muon", "momentum")])
def test_what_forgets_nothing_is_no_average(kind, option):
    (reading,) = ln.explain(getattr(torch.optim, kind)([weights()], lr=0.1, **{option: 1.0}))
    assert reading.rule is None and f"With {option} = 1.0 (what forgets nothing" in reading.why


def test_an_average_without_memory_has_no_deviations(collection):
    (reading,) = ln.explain(collection.AdaBelief([weights()], lr=0.1, betas=(0.0, 0.99)))
    assert reading.rule is None and not reading.assumptions and "no deviation" in reading.why


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("lr", [0.1, 0.0])
def test_going_uphill_is_no_plan(kind, lr, collection):
    (reading,) = ln.explain(getattr(torch.optim, kind)([weights()], lr=lr, maximize=True))
    assert reading.rule is None and "downhill" in reading.why
    (reading,) = ln.explain(collection.Lion([weights()], lr=0.1, maximize=True))
    assert reading.rule is None and "downhill" in reading.why


@pytest.mark.parametrize(
    ("kind", "options"), [("AdaBelief", {"weight_decay": 0.1}), ("SignSGD", {"weight_decay": 0.1})]
)
def test_a_decoupled_decay_that_no_rule_here_has_leaves_the_reading_without_a_rule(kind, options, collection):
    (reading,) = ln.explain(getattr(collection, kind)([weights()], lr=0.1, **options))
    assert reading.assumptions and reading.rule is None


def stepped(theirs, optimizer, g):
    """Return the published optimizer's step on a gradient."""
    before = theirs.detach().numpy().copy()
    theirs.grad = torch.tensor(g)
    optimizer.step()
    return theirs.detach().numpy() - before


def gradients(count, shape=START.shape):
    return np.random.default_rng(11).normal(size=(count, *shape)) * 0.3 + 0.1


def test_lars_is_ballistic_under_the_relative_metric(collection):
    theirs, trust = weights(), 0.02
    optimizer = collection.LARS([theirs], lr=0.5, momentum=0.0, trust_coefficient=trust)
    assert "relative metric" in ln.explain(optimizer)[0].assumptions
    for g in gradients(20):
        before = theirs.detach().numpy().copy()
        wanted = relative_step(ln.Objective(), g, before, (g**2).sum(), 0.5 * trust)
        np.testing.assert_allclose(stepped(theirs, optimizer, g), wanted, rtol=0, atol=1e-14)


def test_lamb_is_ballistic_under_the_relative_metric_with_a_fresh_scale_of_the_curvature(collection):
    theirs, (b1, b2), mean, square = weights(), (0.8, 0.95), np.zeros(START.shape), np.zeros(START.shape)
    optimizer = collection.Lamb([theirs], lr=0.01, betas=(b1, b2), eps=0.0)
    assert "relative metric" in ln.explain(optimizer)[0].assumptions
    for k, g in enumerate(gradients(30), 1):
        mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g * g
        before = theirs.detach().numpy().copy()
        assert np.linalg.norm(before) < collection.Lamb.clamp  # beyond that length it is no longer relative
        dt = 0.01 / (1 - b1**k)  # the collection's rate begins larger
        wanted = relative_step(ln.Objective(), mean, before, (mean**2 / square).sum() * square, dt)
        np.testing.assert_allclose(stepped(theirs, optimizer, g), wanted, rtol=0, atol=1e-13)


def test_m_svag_is_a_discounted_plan_on_the_plug_in_posterior_mean(collection):
    theirs, beta, mean, square = weights(), 0.8, np.zeros(START.shape), np.zeros(START.shape)
    optimizer = collection.MSVAG([theirs], lr=0.1, beta=beta)
    assert "posterior mean" in ln.explain(optimizer)[0].assumptions
    plan = ln.Objective(gamma=1.0)
    for k, g in enumerate(gradients(30), 1):
        mean, square = beta * mean + (1 - beta) * g, beta * square + (1 - beta) * g * g
        step = stepped(theirs, optimizer, g)
        if k == 1:
            continue  # one gradient has no variance
        weight = beta ** np.arange(k)  # of an average of k gradients, whose squares say of how many it is the mean
        count = weight.sum() ** 2 / (weight**2).sum()
        m, v = mean / (1 - beta**k), square / (1 - beta**k)
        noise = (v - m * m) / (1 - 1 / count)
        believed = (shrink(m, noise, count, pool="coordinate") * m).ravel()
        wanted = ln.update(plan, believed, np.zeros((6, 6)), 0.1).reshape(START.shape)
        np.testing.assert_allclose(step, wanted, rtol=0, atol=1e-13)


SHAMPOOS = {  # options, what of the products is kept and taken in a step, words of the reading
    "Shampoo": ({}, 1.0, 1.0, "L^½ ⊗ R^½"),
    "ScalableShampoo": (
        {"betas": (0.0, 0.9), "preconditioning_compute_steps": 1, "start_preconditioning_step": 1, "graft_type": 0,
         "nesterov": False, "use_svd": True, "shape_interpretation": False}, 0.9, 0.1, "averages",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAMPOOS)
def test_published_shampoos_are_ballistic_for_the_bound_of_their_products(kind, collection):
    """On random gradients, of full rank after a few: L and R begin at ε."""
    options, past, share, words = SHAMPOOS[kind]
    eps, theirs = 1e-2, torch.nn.Parameter(torch.zeros((3, 4), dtype=torch.float64))
    optimizer = getattr(collection, kind)([theirs], lr=0.1, matrix_eps=eps, **options)
    reading, (L, R) = ln.explain(optimizer)[0], (eps * np.eye(n) for n in theirs.shape)
    assert words in reading.assumptions and reading.rule is None
    for g in gradients(12, (3, 4)):
        L, R = past * L + share * g @ g.T, past * R + share * g.T @ g
        wanted = 0.1 * ballistic_step(g, np.kron(root(L, 0.5), root(R, 0.5)))
        np.testing.assert_allclose(stepped(theirs, optimizer, g), wanted, rtol=0, atol=1e-8)
    assert "steps" in ln.explain(collection.Shampoo([theirs], lr=0.1, momentum=0.9))[0].why


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_published_soap_takes_the_readings_steps_where_its_bases_stay(decay, collection):
    """Products of the gradients keep their eigenvectors: three patterns of one entry in each row and column.

    With a decay the published rule shrinks the step, too, which it has just made.
    """
    rng = np.random.default_rng(9)
    left, right = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    theirs, sizes = torch.nn.Parameter(torch.zeros((3, 3), dtype=torch.float64)), np.diag([4.0, 2.0, 1.0])
    options = {"betas": (0.8, 0.9), "eps": 1e-12, "precondition_frequency": 5, "weight_decay": decay}
    optimizer = collection.SOAP([theirs], lr=0.1, **options)
    (reading,) = ln.explain(optimizer)
    state = reading.rule.init(theirs.detach().numpy())
    for k in range(20):
        g = left @ np.roll(sizes, k % 3, axis=1) @ right.T * rng.uniform(0.5, 2.0)
        before = theirs.detach().numpy().copy()
        wanted, state = reading.rule(g, state, before)
        wanted = wanted - 0.1 * decay * (wanted + 0.1 * decay * before)
        step = stepped(theirs, optimizer, g)
        if k > 3:  # from when V has seen all entries; its bases turn in float32
            np.testing.assert_allclose(step, wanted, rtol=0, atol=1e-5)


def test_published_soap_is_the_reading_until_bases_turn_and_near_it_afterwards(collection):
    """On random gradients the first move is the same; after turns the steps differ by a tenth of their size or so."""
    theirs, apart = torch.nn.Parameter(torch.zeros((3, 4), dtype=torch.float64)), []
    options = {"betas": (0.8, 0.9), "eps": 1e-12, "precondition_frequency": 5, "weight_decay": 0.0}
    optimizer = collection.SOAP([theirs], lr=0.1, **options)
    rule = ln.explain(optimizer)[0].rule
    state = rule.init(theirs.detach().numpy())
    for g in gradients(40, (3, 4)):
        wanted, state = rule(g, state, theirs.detach().numpy())
        step = stepped(theirs, optimizer, g)
        apart.append(np.linalg.norm(step - wanted) / max(np.linalg.norm(step), 1e-12))
    assert apart[0] == 0 and apart[1] < 1e-6
    assert 0.05 < np.mean(apart[10:]) < 0.3


class Lion(torch.optim.SGD):
    """Another rule of that name."""


def test_the_class_is_read_and_not_its_name():
    with pytest.raises(ValueError, match=r"^optimizer is a test_published\.Lion, but it must be of lossnav\.optim or"):
        ln.explain(Lion([weights()], lr=0.1))


OURS = {
    "Ballistic": (ln.optim.Ballistic, {"lr": 0.01}),
    "Ballistic, the paper's": (ln.optim.Ballistic, {"lr": 0.01, "bias_correction": False, "eps": 1e-3}),
    "Ballistic with momentum": (ln.optim.Ballistic, {"lr": 0.01, "momentum": 0.8}),
    "Belief": (ln.optim.Belief, {"lr": 0.01, "eps": 1e-3}),
    "Belief, innovation": (ln.optim.Belief, {"lr": 0.01, "variance": "innovation"}),
    "Belief, centred": (ln.optim.Belief, {"lr": 0.01, "variance": "centred", "eps_inside": 0.1}),
    "Belief, discounted": (ln.optim.Belief, {"lr": 0.01, "discount": 0.3}),
    "Belief, overdamped": (ln.optim.Belief, {"lr": 0.01, "discount": math.inf}),
    "Belief, two rates": (ln.optim.Belief, {"lr": 0.01, "lr_overdamped": 0.1}),
    "Belief, long steps": (ln.optim.Belief, {"lr": 0.3, "discount": 0.2, "curvature_scale": 4.0}),
    "Navigator": (ln.optim.Navigator, {"lr": 0.4, "gamma": 1.5, "eta_k": 2.0, "curvature_scale": 3.0, "eps": 1e-3}),
    "matrix": (ln.optim.BallisticMatrix, {"lr": 0.01}),
    "matrix, discounted": (ln.optim.BallisticMatrix, {"lr": 0.01, "curvature": "kronecker", "discount": 0.1}),
    "matrix, eigenbasis": (ln.optim.BallisticMatrix, {"lr": 0.01, "curvature": "eigenbasis", "eps": 0.1}),
    "matrix, diagonal": (ln.optim.BallisticMatrix, {"lr": 0.01, "curvature": "diagonal"}),
}


@pytest.mark.parametrize("name", OURS)
def test_ours_return_the_derived_rule_of_their_steps(name):
    kind, options = OURS[name]
    (reading,) = ln.explain(kind([weights()], **options))
    assert reading.assumptions and reading.optimizer == kind.__name__
    theta = walk(reading.rule, gradients(40), START)[0][-1]
    theirs = drive(kind, gradients(40), start=START, **options)[-1]
    np.testing.assert_allclose(theirs, theta, rtol=0, atol=1e-10)
    assert np.abs(theta - START).max() > 1e-2


@pytest.mark.parametrize(
    "assumed",
    [{}, {"curvature": ln.assume.Kronecker(0.9, scale=2.0)}, {"metric": ln.assume.Polar(scale=3.0)}],
    ids=["SGD", "curvature", "metric"],
)
def test_an_optimizer_that_is_made_of_a_rule_returns_it_at_its_rate_also_when_it_was_copied(assumed):
    rule, theirs = ln.derive(ln.Objective(gamma=1.0), **assumed, dt=0.1), weights()
    optimizer = rule.optimizer([theirs])
    assert ln.explain(optimizer)[0].rule is rule
    assert ln.explain(copy.deepcopy(optimizer))[0].rule.dt == 0.1
    optimizer.param_groups[0]["lr"] *= 3  # as a scheduler does
    (reading,) = ln.explain(optimizer)
    for g in gradients(3):  # the first may find bases, and move nothing
        stepped(theirs, optimizer, g)
    theta = walk(reading.rule, gradients(3), START)[0][-1]
    np.testing.assert_allclose(theirs.detach().numpy(), theta, rtol=0, atol=1e-10)


TREND = ln.derive(ln.Objective(gamma=1.0), belief=ln.assume.Filter(0.9, trend=0.9), dt=0.1)


@pytest.mark.parametrize("make", [*dict.fromkeys(kind for kind, _ in OURS.values()), TREND.optimizer])
@pytest.mark.parametrize(("option", "words"), [({"lr": 0.0}, "lr = 0 makes no step"), ({"maximize": True}, "downhill")])
def test_ours_have_no_rule_uphill_or_without_a_step(make, option, words):
    (reading,) = ln.explain(make([weights()], **option))
    assert reading.rule is None and reading.assumptions and words in reading.why


def test_a_slope_in_time_is_that_of_the_rules_own_steps():
    (reading,) = ln.explain(TREND.optimizer([weights()], lr=0.3))
    assert reading.rule is None and "steps of 0.1, and they take 0.3 now" in reading.why


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (ln.optim.Uncertain, {}, "no uncertain weights"),
        (ln.optim.Belief, {"variance": "innovation", "betas": (0.0, 0.9)}, "Without memory"),
        (ln.optim.Belief, {"curvature_scale": 1.0}, "fades"),
        (ln.optim.Belief, {"weight_decay": 0.1}, "without it"),
        (ln.optim.Belief, {"discount": math.inf, "curvature_scale": 1.0}, "limit of a large discount"),
        (ln.optim.Navigator, {"gamma": math.inf}, "limit"),
        (ln.optim.Navigator, {"curvature": "hutchinson", "negative": "clip"}, "sign"),
        (ln.optim.BallisticMatrix, {"block": 2}, "blocks"),
    ],
)
def test_ours_without_a_derived_rule_say_why(kind, options, words):
    (reading,) = ln.explain(kind([weights()], **options))
    assert reading.rule is None and reading.assumptions and words in reading.why


def test_adagrad_is_a_discounted_plan_under_the_metric_of_the_sum():
    theirs, theta, total = weights(), START.ravel(), np.zeros(6)
    optimizer = torch.optim.Adagrad([theirs], lr=0.1)
    (reading,) = ln.explain(optimizer)
    assert "metric" in reading.assumptions and reading.rule is None
    for g in np.random.default_rng(1).normal(size=(50, 6)):
        theirs.grad = torch.tensor(g.reshape(START.shape))
        optimizer.step()
        total += g * g
        rule = ln.derive(ln.Objective(gamma=1.0, metric=np.diag(np.sqrt(total) + 1e-10)), dt=0.1)
        theta = theta + rule(g, rule.init(theta), theta)[0]
    np.testing.assert_allclose(theirs.detach().numpy().ravel(), theta, rtol=0, atol=1e-12)


def test_adamws_second_reading_keeps_the_decay_and_less_of_the_gradient():
    w = 0.01
    for V, expected in ((1e-4, 0.618034), (1.0, 0.995), (100.0, 0.9995)):
        j, share = second_reading(w, V)
        assert share == pytest.approx(expected, abs=6e-5)
        rule = ln.derive(ln.Objective(drift=ln.drifts.weight_decay(j)), curvature=ln.assume.Known([[V]]), dt=1.0)
        theta = np.array([1.0])
        assert rule([0.0], rule.init(theta), theta)[0] == pytest.approx(-w, rel=1e-12)
        assert rule([1.0], rule.init([0.0]), [0.0])[0] == pytest.approx(-share / math.sqrt(V), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("NAdam", {}, "share"), ("RAdam", {}, "step number"), ("Adamax", {}, "maximum"), ("Adadelta", {}, "own"),
        ("Rprop", {}, "signs"), ("ASGD", {}, "averages iterates"), ("Adafactor", {}, "I-divergence"),
        ("Adam", {"amsgrad": True}, "maximum over time"), ("RMSprop", {"centered": True}, "no average"),
        ("SGD", {"momentum": 0.9, "dampening": 0.5}, "first gradient"),
        ("RMSprop", {"momentum": 0.9}, "averages steps"),
    ],
)  # fmt: skip
def test_what_none_of_the_listed_assumptions_give_says_so_with_the_reason(kind, options, words):
    (reading,) = ln.explain(getattr(torch.optim, kind)([weights()], lr=0.1, **options))
    assert reading.rule is None and not reading.assumptions
    assert words in reading.why and "none of the listed" in str(reading)


def test_limits_of_speed_are_prices(collection):
    (reading,) = ln.explain(collection.SophiaH([weights()], lr=0.1))
    assert "price Box" in reading.assumptions and "every discount" in reading.why
    (reading,) = ln.explain(collection.SCION([weights()], lr=0.1))
    assert "price Norm" in reading.assumptions and reading.rule is None


def test_of_two_classes_of_one_name_the_one_that_is_meant_is_read(collection):
    """The collection's ASGD adapts its rate, and averages nothing."""
    with pytest.raises(ValueError, match=r"optimizer is a pytorch_optimizer\..*ASGD"):
        ln.explain(collection.ASGD([weights()], lr=0.1))


def ballistic_step(gradient, curvature):
    """Return the first-order step of a plan without discount, per unit of time, of a matrix; curvature in row-major."""
    step = ln.update(ln.Objective(), gradient.ravel(), curvature, 1e-9) / 1e-9
    return step.reshape(gradient.shape)


CONVERGES = {"ns_coefficients": (1.875, -1.25, 0.375), "ns_steps": 25}  # torch computes it in bfloat16


@pytest.mark.parametrize("shape", [(3, 8), (5, 5)], ids=str)
def test_muon_is_the_plan_on_the_one_sided_curvature_of_its_mean(shape):
    """torch's, with coefficients whose iteration converges."""
    rng, momentum, lr = np.random.default_rng(3), 0.8, 0.01
    theta = torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64))
    optimizer = torch.optim.Muon(
        [theta], lr=lr, momentum=momentum, nesterov=False, weight_decay=0.0, adjust_lr_fn="match_rms_adamw",
        **CONVERGES,
    )  # fmt: skip
    assert "one-sided" in ln.explain(optimizer)[0].assumptions
    mean = np.zeros(shape)
    for _ in range(4):
        g = rng.normal(size=shape)
        mean = momentum * mean + (1 - momentum) * g
        before = theta.detach().numpy().copy()
        theta.grad = torch.tensor(g)
        optimizer.step()
        believed = np.kron(mean @ mean.T / shape[1], np.eye(shape[1]))
        wanted = 0.2 * lr * ballistic_step(mean, believed)  # whose entries have RMS 1, which Adam's have about 0.2 of
        np.testing.assert_allclose(theta.detach().numpy() - before, wanted, rtol=0, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("nesterov", [False, True])
def test_the_rule_of_muons_reading_takes_muons_steps(nesterov, decay, adjust, monkeypatch):
    """torch's Muon, kept from rounding to bfloat16 in between, on means of full rank: the rule has a floor of 1e-6."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())
    rng, shapes = np.random.default_rng(6), ((3, 8), (6, 3), (5, 5))
    thetas = [torch.nn.Parameter(torch.tensor(rng.normal(size=shape))) for shape in shapes]
    optimizer = torch.optim.Muon(
        thetas, lr=0.1, momentum=0.8, nesterov=nesterov, weight_decay=decay, adjust_lr_fn=adjust,
        **{**CONVERGES, "ns_steps": 60},
    )  # fmt: skip
    readings = ln.explain(optimizer)
    widths = {reading.why.split()[-2]: reading.rule for reading in readings if adjust is None}
    assert len(readings) == (3 if adjust is None else 1)
    rules = [widths[str(n)] if adjust is None else readings[0].rule for _, n in shapes]
    states = [rule.init(theta.detach().numpy()) for rule, theta in zip(rules, thetas, strict=True)]
    for _ in range(5):
        before = [theta.detach().numpy().copy() for theta in thetas]
        for theta in thetas:
            theta.grad = torch.tensor(0.3 * rng.normal(size=theta.shape) + np.eye(*theta.shape))
        optimizer.step()
        for k, theta in enumerate(thetas):
            step, states[k] = rules[k](theta.grad.numpy(), states[k], before[k])
            most = 1e-4 * np.abs(step).max()
            np.testing.assert_allclose(theta.detach().numpy() - before[k], step, rtol=0, atol=most)


@pytest.mark.parametrize("decay", [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "weight_decouple": False}])
@pytest.mark.parametrize(("adjusted", "nesterov"), [(True, False), (False, True)])
def test_the_rule_of_its_reading_takes_the_steps_of_the_collections_muon(
    adjusted, nesterov, decay, monkeypatch, collection
):
    base = importlib.import_module("pytorch_optimizer.optimizer.muon.base")
    exact = functools.partial(base.zero_power_via_newton_schulz_5, dtype=torch.float64)
    monkeypatch.setattr(base, "zero_power_via_newton_schulz_5", exact)
    rng = np.random.default_rng(6)
    theta = torch.nn.Parameter(torch.tensor(rng.normal(size=(6, 3))))
    optimizer = collection.Muon(
        [{"params": [theta], "use_muon": True}], lr=0.1, momentum=0.8, nesterov=nesterov, **decay,
        use_adjusted_lr=adjusted, ns_coeffs=CONVERGES["ns_coefficients"], ns_steps=60,
    )  # fmt: skip
    (reading,) = ln.explain(optimizer)
    state = reading.rule.init(theta.detach().numpy())
    for _ in range(5):
        before, g = theta.detach().numpy().copy(), 0.3 * rng.normal(size=(6, 3)) + np.eye(6, 3)
        wanted, state = reading.rule(g + reading.penalty * before, state, before)
        np.testing.assert_allclose(stepped(theta, optimizer, g), wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())
    (adam,) = ln.explain(collection.Muon([{"params": [theta], "use_muon": False}], lr=0.1))
    assert adam.rule is None


def root(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


def test_shampoos_reading_is_its_two_roots(collection):
    """On gradients with rows and columns whose bases stay, which the rule's averages in the bases then know exactly."""
    rng, (b1, b2), lr = np.random.default_rng(7), (0.8, 0.9), 0.1
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (2, 2))
    theta = torch.nn.Parameter(torch.zeros(2, 2))
    (reading,) = ln.explain(collection.Shampoo([theta], lr=lr))
    assert "fit='bound'" in reading.assumptions and reading.rule is None  # sums
    curvature = ln.assume.Kronecker(b2, "bound", every=1, watch=1)
    rule = ln.derive(ln.Objective(), belief=ln.assume.Filter(b1), curvature=curvature, dt=lr)
    state, mean, L, R = rule.init(np.zeros((2, 2))), *np.zeros((3, 2, 2))
    for k in range(30):
        size = rng.uniform(0.5, 2.0)  # row and column norms that differ, products that stay diagonal
        g = left @ (size * np.array([[3.0, 0.0], [0.0, 1.0]] if k % 2 == 0 else [[0.0, 2.0], [0.5, 0.0]])) @ right.T
        step, state = rule(g, state, np.zeros((2, 2)))
        if k == 0:
            continue  # the first gradient finds the bases
        mean, L, R = b1 * mean + (1 - b1) * g, b2 * L + (1 - b2) * g @ g.T, b2 * R + (1 - b2) * g.T @ g
        if k > 4:
            share = 1 - b2**k
            wanted = -lr / (1 - b1**k) * root(L / share, -0.25) @ mean @ root(R / share, -0.25)
            np.testing.assert_allclose(step, wanted, rtol=2e-3, atol=1e-4)  # the rule has a floor of 1e-3


def test_soaps_reading_is_torchs_adam_in_its_bases(collection):
    rng, shape = np.random.default_rng(8), (3, 4)
    theta, turned = (torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for _ in range(2))
    options = {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "precondition_frequency": 100}
    (reading,) = ln.explain(collection.SOAP([theta], **options, weight_decay=0.0))
    gradients = rng.normal(size=(3, *shape))
    first = gradients[0]
    left, right = np.linalg.eigh(first @ first.T)[1], np.linalg.eigh(first.T @ first)[1]
    right[:, 0] = np.linalg.svd(first)[2][-1]
    adam, state = torch.optim.Adam([turned], lr=0.1, betas=(0.8, 0.9), eps=0.01), reading.rule.init(np.zeros(shape))
    _, state = reading.rule(first, state, np.zeros(shape))
    step, state = reading.rule(gradients[1], state, np.zeros(shape))
    turned.grad = torch.tensor(left.T @ gradients[1] @ right)
    adam.step()
    np.testing.assert_allclose(step, left @ turned.detach().numpy() @ right.T, rtol=0, atol=1e-7)
    decayed = ln.explain(collection.SOAP([theta], **options, weight_decay=0.1))[0].rule
    state = decayed.init(np.zeros(shape))
    assert np.allclose(decayed(first, state, np.ones(shape))[0], -0.01)
    assert "memory of their own" in ln.explain(collection.SOAP([theta], **options, shampoo_beta=0.5))[0].why


def test_muons_own_polynomial_keeps_the_directions_and_misses_the_lengths_by_a_third():
    rng = np.random.default_rng(4)
    g = rng.normal(size=(6, 12))
    theta = torch.nn.Parameter(torch.zeros(6, 12, dtype=torch.float64))
    optimizer = torch.optim.Muon([theta], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0)
    theta.grad = torch.tensor(g)
    optimizer.step()
    u, _, vt = np.linalg.svd(g, full_matrices=False)
    in_bases = -u.T @ theta.detach().numpy() @ vt.T
    assert np.abs(in_bases - np.diag(np.diag(in_bases))).max() < 0.03
    assert np.diag(in_bases).min() > 0.65 and np.diag(in_bases).max() < 1.17
    assert np.abs(np.diag(in_bases) - 1).max() > 0.1


@pytest.mark.parametrize(("small", "low", "high"), [(3e-3, 0.65, 1.25), (1.5e-3, 0.65, 1.25), (5e-4, 0.1, 0.4)])
def test_muons_own_polynomial_misses_more_where_a_singular_value_is_below_its_share_of_the_whole(small, low, high):
    theta = torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))
    optimizer = torch.optim.Muon([theta], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0)
    theta.grad = torch.diag(torch.tensor([1.0, small], dtype=torch.float64))
    optimizer.step()
    assert 0.65 < -theta[0, 0].item() < 1.25 and low < -theta[1, 1].item() < high
    assert "below 0.0015 of |m|" in ln.explain(optimizer)[0].why


def test_a_metric_of_two_factors_and_a_long_step_on_them_are_k_fac():
    rng = np.random.default_rng(5)
    a, b = (x @ x.T + np.eye(len(x)) for x in (rng.normal(size=(3, 3)), rng.normal(size=(4, 4))))
    g = rng.normal(size=(3, 4))
    k_fac = np.linalg.solve(a, g) @ np.linalg.inv(b)
    factors, flat = np.kron(a, b), np.zeros((12, 12))
    steep = ln.update(ln.Objective(), g.ravel(), factors, math.inf)
    priced = ln.update(ln.Objective(gamma=0.5, eta=0.5, metric=factors), g.ravel(), flat, 1.0)
    np.testing.assert_allclose(steep.reshape(3, 4), -k_fac, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(priced.reshape(3, 4), -k_fac, rtol=1e-9, atol=1e-12)


def test_every_optimizer_of_torch_is_in_the_table_once():
    names = [name for row in TABLE for name in row.names]
    assert len(set(names)) == len(names) and set(_RULES) <= set(names)
    base = torch.optim.Optimizer
    torchs = {name for name, kind in vars(torch.optim).items() if isinstance(kind, type) and issubclass(kind, base)}
    assert torchs - {"Optimizer"} <= set(names)
    assert importlib.import_module("lossnav").explain is ln.explain


def test_groups_that_differ_from_the_one_that_is_read_are_named():
    rule = ln.derive(ln.Objective(gamma=1.0), dt=0.1)
    for make, options, words in (
        (torch.optim.AdamW, {"weight_decay": 0.0, "betas": (0.5, 0.9), "foreach": True}, " betas, weight_decay"),
        (rule.optimizer, {"lr": 1.0}, " lr"),
        (torch.optim.AdamW, {"foreach": True}, ""),
    ):
        (reading,) = ln.explain(make([{"params": [weights()]}, {"params": [weights()], **options}]))
        assert reading.why.partition("from which others differ in")[2] == words


def test_a_rate_of_zero_makes_no_step_to_be_read():
    (reading,) = ln.explain(torch.optim.AdamW([weights()], lr=0.0))
    assert reading.rule is None and reading.assumptions and reading.why.startswith("lr = 0 makes no step")
    (reading,) = ln.explain(ln.optim.Belief([weights()], lr_overdamped=0.0))
    assert reading.rule is None and "goes nowhere" in reading.why


def test_what_is_no_optimizer_or_unknown_is_refused():
    with pytest.raises(ValueError, match="param_groups"):
        ln.explain(3)
    with pytest.raises(ValueError, match=r"is a .*LBFGSNew.*lossnav\.fingerprint reads any other"):
        ln.explain(type("LBFGSNew", (torch.optim.LBFGS,), {})([weights()]))
