"""``explain`` against the optimizers that it reads: torch's, and those of a collection where it is installed."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav.rules.derive.published import _RULES, TABLE, second_reading

START = np.array([[0.7, -1.2, 0.3], [1.5, 0.2, -0.4]])


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
    "AdamW": ("AdamW", {"lr": 1e-3, "weight_decay": 0.5}),
    "AdamW, no decay": ("AdamW", {"lr": 1e-3, "weight_decay": 0.0}),
}
OTHERS = {
    "SGDW": ({"lr": 0.01, "momentum": 0.0, "weight_decay": 0.1, "weight_decouple": True}, 1e-12),
    "Lion": ({"lr": 1e-3, "weight_decay": 0.0}, 1e-12),
    "AdaBelief": ({"lr": 1e-3, "eps": 1e-16, "rectify": False, "weight_decay": 0.0}, 1e-10),
}


@pytest.mark.parametrize("name", TORCH)
def test_the_rule_of_a_reading_is_torchs_optimizer(name):
    kind, options = TORCH[name]
    theirs = weights()
    optimizer = getattr(torch.optim, kind)([theirs], **options)
    (reading,) = ln.explain(optimizer)
    assert reading.assumptions and reading.optimizer == kind
    assert differ(theirs, optimizer, reading) < 1e-12


@pytest.mark.parametrize("name", OTHERS)
def test_the_rule_of_a_reading_is_that_of_a_collection(name):
    collection = pytest.importorskip("pytorch_optimizer")
    options, most = OTHERS[name]
    theirs = weights()
    optimizer = getattr(collection, name)([theirs], **options)
    (reading,) = ln.explain(optimizer)
    assert differ(theirs, optimizer, reading) < most


class Published(torch.optim.Optimizer):
    """Lion and Signum as their papers write them, for where no collection is installed."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                with torch.no_grad():
                    if type(self).__name__ == "Lion":
                        a, b = group["betas"]
                        p -= group["lr"] * torch.sign(a * m + (1 - a) * p.grad)
                        m.mul_(b).add_(p.grad, alpha=1 - b)
                    else:
                        m.mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                        p -= group["lr"] * torch.sign(m)


class Lion(Published):
    pass


class Signum(Published):
    pass


@pytest.mark.parametrize(("kind", "options"), [(Lion, {"betas": (0.9, 0.99)}), (Signum, {"momentum": 0.9})])
def test_signs_are_plans_on_the_curvature_of_a_moment(kind, options):
    theirs = weights()
    optimizer = kind([theirs], lr=1e-2, **options)
    (reading,) = ln.explain(optimizer)
    assert differ(theirs, optimizer, reading) < 1e-12
    if kind is Lion:
        assert reading.rule.belief.share == pytest.approx(1 / 11)


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
    for V, kept in ((1e-4, 0.618034), (1.0, 0.995), (100.0, 0.9995)):
        j, share = second_reading(w, V)
        assert share == pytest.approx(kept, abs=6e-5)
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


def root(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


class Shampoo(torch.optim.Optimizer):
    """L^{−1/4} m R^{−1/4} with averages of ggᵀ and gᵀg, as the paper writes it but for its sums."""

    def __init__(self, params, **options):
        super().__init__(params, options)


class SOAP(Shampoo):
    """Adam in the eigenbasis of Shampoo's first factors: the published rule until its bases turn."""


def test_shampoos_reading_is_its_two_roots():
    """On gradients with rows and columns whose bases stay, which the rule's averages in the bases then know exactly."""
    rng, (b1, b2), lr = np.random.default_rng(7), (0.8, 0.9), 0.1
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (2, 2))
    theta = torch.nn.Parameter(torch.zeros(2, 2))
    (reading,) = ln.explain(Shampoo([theta], lr=lr, betas=(b1, b2)))
    assert reading.rule.curvature.fit == "bound"
    assert ln.explain(Shampoo([theta], lr=lr))[0].rule is None  # sums
    state, mean, one, other = reading.rule.init(np.zeros((2, 2))), *np.zeros((3, 2, 2))
    for k in range(30):
        size = rng.uniform(0.5, 2.0)  # row and column norms that differ, products that stay diagonal
        g = left @ (size * np.array([[3.0, 0.0], [0.0, 1.0]] if k % 2 == 0 else [[0.0, 2.0], [0.5, 0.0]])) @ right.T
        step, state = reading.rule(g, state, np.zeros((2, 2)))
        if k == 0:
            continue  # the first gradient finds the bases
        mean, one, other = b1 * mean + (1 - b1) * g, b2 * one + (1 - b2) * g @ g.T, b2 * other + (1 - b2) * g.T @ g
        if k > 4:
            share = 1 - b2**k
            wanted = -lr / (1 - b1**k) * root(one / share, -0.25) @ mean @ root(other / share, -0.25)
            np.testing.assert_allclose(step, wanted, rtol=2e-3, atol=1e-4)  # the rule has a floor of 1e-3


def test_soaps_reading_is_torchs_adam_in_its_bases():
    rng, shape = np.random.default_rng(8), (3, 4)
    theta, turned = (torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for _ in range(2))
    options = {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "precondition_frequency": 100}
    (reading,) = ln.explain(SOAP([theta], **options))
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
    decayed = ln.explain(SOAP([theta], **options, weight_decay=0.1))[0].rule
    state = decayed.init(np.zeros(shape))
    assert np.allclose(decayed(first, state, np.ones(shape))[0], -0.01)
    assert "memory of their own" in ln.explain(SOAP([theta], **options, shampoo_beta=0.5))[0].why
    assert ln.explain(SOAP([theta], lr=0.1))[0].rule is None


def test_muons_own_polynomial_keeps_the_directions_and_misses_the_lengths_by_a_third():
    rng = np.random.default_rng(4)
    g = rng.normal(size=(6, 12))
    theta = torch.nn.Parameter(torch.zeros(6, 12, dtype=torch.float64))
    optimizer = torch.optim.Muon([theta], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0)
    theta.grad = torch.tensor(g)
    optimizer.step()
    u, _, vt = np.linalg.svd(g, full_matrices=False)
    seen = -u.T @ theta.detach().numpy() @ vt.T
    assert np.abs(seen - np.diag(np.diag(seen))).max() < 0.03
    assert np.diag(seen).min() > 0.65 and np.diag(seen).max() < 1.17
    assert np.abs(np.diag(seen) - 1).max() > 0.1


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


def test_what_is_no_optimizer_or_unknown_is_refused():
    with pytest.raises(ValueError, match="param_groups"):
        ln.explain(3)
    with pytest.raises(ValueError, match="is a Belief"):
        ln.explain(ln.optim.Belief([weights()]))
