"""Rules read off recorded torch runs, and what is refused (theory: I22, I23 as corrected)."""

import math

import numpy as np
import pytest
import torch
from resources import recorded

import lossnav as ln
from lossnav.analysis.inference import rules

O, BLIND = torch.optim, recorded("blind")
SHAPES = [(16, 20), (5, 16)]


class Sign(O.Optimizer):
    """−lr·sign g, or Lion's −lr·sign of a mean."""

    def __init__(self, parameters, lr, betas=(0.0, 0.0)):
        super().__init__(parameters, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_((1 - b2) * p.grad)


class Turned(O.Optimizer):
    """Δ = −(lr/2)(I + O)g with an orthogonal O: inner products alone take it for gradient descent."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})
        count = sum(p.numel() for p in self.param_groups[0]["params"])
        drawn = torch.randn(count, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        self.turn = torch.linalg.qr(drawn)[0]

    @torch.no_grad()
    def step(self, closure=None):
        group = self.param_groups[0]
        g = torch.cat([p.grad.reshape(-1) for p in group["params"]])
        moved, at = group["lr"] / 2 * (g + self.turn @ g), 0
        for p in group["params"]:
            p.sub_(moved[at : at + p.numel()].view_as(p))
            at += p.numel()


def data(dtype):
    seeded = torch.Generator().manual_seed(0)
    x = torch.randn(512, 20, generator=seeded, dtype=torch.float64) * torch.linspace(0.3, 2, 20, dtype=torch.float64)
    y = torch.tanh(x @ torch.randn(20, 5, generator=seeded, dtype=torch.float64)).argmax(1)
    return x.to(dtype), y


def run(make, *, steps=100, clip=None, schedule=None, dtype=torch.float64, keep=None):
    """Return the recorded steps of a small net on noisy batches, and what was watched."""
    torch.manual_seed(0)
    x, y = data(dtype)
    net = torch.nn.Sequential(
        torch.nn.Linear(20, 16, bias=False), torch.nn.Tanh(), torch.nn.Linear(16, 5, bias=False)
    ).to(dtype)  # fmt: skip
    ps = list(net.parameters())
    optimizer, seeded, weights, gradients = make(ps), torch.Generator().manual_seed(1), [], []
    rate = schedule(optimizer) if schedule else None
    flat = lambda tensors: torch.cat([t.detach().reshape(-1) for t in tensors]).double().numpy().copy()
    with ln.watch(optimizer, keep=keep) as watch:
        for _ in range(steps):
            batch = torch.randint(0, 512, (32,), generator=seeded)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(ps, clip)
            weights.append(flat(ps))
            gradients.append(flat([p.grad for p in ps]))
            optimizer.step()
            if rate:
                rate.step()
    weights.append(flat(ps))
    return ln.infer.Steps(np.array(weights), np.array(gradients), SHAPES), watch


RULES = {
    "gradient descent": (lambda p: O.SGD(p, 0.1), {"lr": 0.1}),
    "heavy ball": (lambda p: O.SGD(p, 0.05, momentum=0.9), {"lr": 0.05, "beta": 0.9}),
    "Nesterov momentum": (lambda p: O.SGD(p, 0.05, momentum=0.9, nesterov=True), {"lr": 0.05, "beta": 0.9}),
    "heavy ball, weight decay": (
        lambda p: O.SGD(p, 0.05, momentum=0.9, weight_decay=0.01), {"lr": 0.05, "beta": 0.9, "lr·decay": 5e-4},
    ),
    "Adam": (lambda p: O.Adam(p, 1e-3), {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "p": 0.5, "eps": 1e-8}),
    "Adam (W)": (
        lambda p: O.AdamW(p, 2e-3, betas=(0.8, 0.95), weight_decay=0.1),
        {"lr": 2e-3, "beta1": 0.8, "beta2": 0.95, "p": 0.5, "lr·decay": 2e-4},
    ),
    "RMSprop": (lambda p: O.RMSprop(p, 1e-3), {"lr": 1e-3, "beta1": 0.0, "beta2": 0.99, "p": 0.5}),
    "Adagrad": (lambda p: O.Adagrad(p, 0.01), {"lr": 0.01, "beta1": 0.0, "beta2": 1.0, "p": 0.5}),
    "sign descent": (lambda p: Sign(p, 1e-3), {"lr": 1e-3, "beta1": 0.0, "beta2": 0.0, "p": 0.5}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_i22_rules_are_read_blind(name):
    make, truth = RULES[name]
    reading = ln.infer(run(make)[0], family="rule")
    assert reading.rule.startswith(name.split(" (")[0]) and not reading.fit.refuted
    for key, number in truth.items():
        assert reading.estimates[key].value == pytest.approx(number, rel=1e-4, abs=1e-6)
    assert ("lr·decay" in reading.estimates) == ("lr·decay" in truth)


def test_i22_any_hyperparameters_are_read_blind():
    """Sixty runs on noisy quadratics: dampening is a part of lr, and decay goes through Nesterov's buffer, too."""
    rng = np.random.default_rng(0)
    for i in range(60):
        lr, beta, decay = 10 ** rng.uniform(-3.5, -1.5), rng.uniform(0.3, 0.95), 10 ** rng.uniform(-3, 1)
        options, truth = (
            ({"weight_decay": decay}, {"lr": lr, "lr·decay": lr * decay}),
            ({"momentum": beta, "dampening": 0.3}, {"lr": 0.7 * lr, "beta": beta}),
            ({"momentum": beta, "nesterov": True, "weight_decay": decay},
             {"lr": lr, "beta": beta, "lr·decay": lr * decay}),
        )[i % 3]  # fmt: skip
        steps = BLIND.walked(lambda p, lr=lr, options=options: O.SGD(p, lr, **options), rng)
        reading = ln.infer(steps, family="rule")
        assert {name: estimate.value for name, estimate in reading.estimates.items()} == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-20, 1e-6, 1e3, 1e6])
def test_i22_a_rule_without_a_scale_is_read_in_any_unit_of_the_gradient(unit):
    g = np.random.default_rng(0).normal(size=(40, 6))
    for scaled in (True, False):
        weights = torch.nn.Parameter(torch.zeros(6, dtype=torch.float64))
        adam = O.Adam([weights], 0.01, betas=(0.9, 0.99), eps=0.1 * unit)
        optimizer, places = adam if scaled else O.SGD([weights], 0.01), [np.zeros(6)]
        for step in unit * g:
            weights.grad = torch.tensor(step)
            optimizer.step()
            places.append(weights.detach().numpy().copy())
        reading = ln.infer(ln.infer.Steps(np.array(places), unit * g), family="rule")
        assert not reading.fit.refuted and reading.estimates["lr"].value == pytest.approx(0.01, rel=1e-6)
        if scaled:
            assert reading.estimates["eps"].value == pytest.approx(0.1 * unit, rel=1e-4)


def walked(make, dtype, *, count, rate, seed=0):
    """Return the steps of an optimizer on drawn gradients, and its rate."""
    rng = np.random.default_rng(seed)
    weights = torch.nn.Parameter(torch.tensor(rng.normal(size=3), dtype=dtype))
    optimizer, places, gradients = make([weights], rate), [weights.detach().numpy().copy()], []
    for g in rng.normal(size=(count, 3)):
        weights.grad = torch.tensor(g, dtype=dtype)
        gradients.append(weights.grad.numpy().copy())
        optimizer.step()
        places.append(weights.detach().numpy().copy())
    return ln.infer.Steps(np.array(places, float), np.array(gradients, float))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_i22_small_steps_of_single_precision_are_read_as_far_as_their_rounding_lets_them(name):
    """Weights of size 1 that move by 1e-4 are rounded to 1e-3 of a step; ranges have the true options."""
    kinds = {"SGD": "gradient descent", "AdamW": "Adam"}
    for seed in range(10):
        steps = walked(lambda p, lr: getattr(O, name)(p, lr), torch.float32, count=40, rate=1e-4, seed=seed)
        reading = ln.infer(steps, family="rule")
        assert reading.rule.startswith(kinds.get(name, name)) and not reading.fit.refuted
        truth = {"lr": 1e-4, "beta1": 0.9, "beta2": 0.999} if "Adam" in name else {"lr": 1e-4}
        for key, number in truth.items():
            assert reading.estimates[key].low <= number <= reading.estimates[key].high


def test_i22_a_short_record_says_how_far_options_are_open():
    steps = walked(lambda p, lr: O.Adam(p, lr), torch.float64, count=8, rate=1e-3)
    eps = ln.infer(steps, family="rule").estimates["eps"]
    assert eps.low <= 1e-8 <= eps.high and eps.high > eps.low


def adam_by_hand(weights, gradients, lr, beta1, beta2, power, eps, decay, *, corrected):
    m, v, steps = 0.0, 0.0, []
    for t, (theta, g) in enumerate(zip(weights, gradients, strict=False), start=1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        top, square = (m / (1 - beta1**t), v / (1 - beta2**t)) if corrected else (m, v)
        steps.append(-lr * top / (square**power + eps) - decay * theta)
    return np.array(steps)


@pytest.mark.parametrize(("unit", "corrected"), [(1e-3, False), (7.0, False), (1e4, True)])
def test_ranges_are_those_of_the_options_own_derivatives(unit, corrected):
    """To first order, from differences of steps written out by hand, in a unit that is no power of two."""
    rng = np.random.default_rng(0)
    g = unit * rng.normal(size=(30, 6)) * np.exp(rng.normal(size=(30, 6)))
    names = ["lr", "beta1", "beta2", "p", "eps", "lr·decay"]
    truth = np.array([0.01 * unit**-0.2, 0.8, 0.95, 0.4, 0.01 * unit**0.8, 1e-3])
    weights = rng.normal(size=(1, 6))
    for t in range(1, 31):
        step = adam_by_hand(weights, g[:t], *truth, corrected=corrected)[-1]
        weights = np.vstack([weights, weights[-1] + step])
    reading = ln.infer(ln.infer.Steps(weights, g), family="rule")
    shifts = np.diag(1e-6 * np.where(np.isin(names, ["lr", "eps"]), truth, 1.0))
    up, down = (
        np.stack([adam_by_hand(weights, g, *(truth + sign * shift), corrected=corrected).ravel() for shift in shifts])
        for sign in (1, -1)
    )
    slopes = (up - down) / (2 * np.diag(shifts)[:, None])
    size = np.linalg.norm(slopes, axis=1)
    spread = np.sqrt(np.diag(np.linalg.inv((slopes / size[:, None]) @ (slopes / size[:, None]).T))) / size
    rounding = reading.fit.expected * np.linalg.norm(np.diff(weights, axis=0))
    for name, value, width in zip(names, truth, spread * rounding, strict=True):
        estimate = reading.estimates[name]
        assert (estimate.high - estimate.low) / 2 == pytest.approx(width, rel=1e-3), name
        assert estimate.low < value < estimate.high


def test_i22_a_rate_that_falls_and_a_decay_are_no_sum_of_squares():
    """ASGD in float64 misses the nearest average by 1e-7, which is no rounding."""
    reading = ln.infer(walked(lambda p, lr: O.ASGD(p, lr), torch.float64, count=8, rate=3e-3), family="rule")
    assert reading.fit.refuted and not reading.estimates


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("make", "rule", "decay"), [
    (lambda p: O.AdamW(p, 0.01, weight_decay=0.1), "Adam, with a schedule", 0.1),
    (lambda p: O.SGD(p, 0.01, momentum=0.9, weight_decay=0.02), "heavy ball with a schedule", 0.02),
    (lambda p: O.AdamW(p, 0.01, weight_decay=0.0), "Adam, with a schedule", None),
    (lambda p: O.RMSprop(p, 0.01), "RMSprop, with a schedule", None),
])  # fmt: skip
def test_i22_a_decay_goes_with_the_schedule_and_a_warm_up_is_no_missing_correction(make, rule, decay, dtype):
    warm = lambda o: O.lr_scheduler.LinearLR(o, 0.05, 1.0, 10)
    watch = run(make, schedule=warm, dtype=dtype, steps=30, keep=40)[1]
    found = ln.infer(watch, family="rule")
    assert found.rule == rule and found.estimates["lr"].value == pytest.approx(0.01, rel=1e-3)
    decays = {name: one.value for name, one in found.estimates.items() if "decay" in name}
    assert decays == ({"lr·decay": pytest.approx(0.01 * decay, rel=1e-2)} if decay else {})


def test_one_weight_tells_no_schedule_and_one_multiple_no_decay():
    """A step of one entry is a gradient times some rate, whatever made it."""
    rng = np.random.default_rng(0)
    walk = ln.infer.Steps(np.cumsum(rng.normal(size=(41, 1)), 0), rng.normal(size=(40, 1)))
    reading = ln.infer(walk, family="rule")
    assert reading.fit.refuted and reading.rule == "none of the listed" and "equal in size" not in reading.fit.because
    places, gradients = [np.array([1.0, -2.0])], []
    for _ in range(30):
        gradients.append(2 * places[-1])
        places.append(places[-1] - 0.01 * (gradients[-1] + 0.5 * places[-1]))
    (warning,) = ln.infer(ln.infer.Steps(np.array(places), np.array(gradients)), family="rule").warnings
    assert "lr and a weight decay are not told apart" in warning
    assert not ln.infer(run(lambda p: O.SGD(p, 0.1), steps=10)[0], family="rule").warnings
    still = ln.infer.Steps(np.cumsum(rng.normal(size=(41, 3)), 0), np.zeros((40, 3)))
    assert ln.infer(still, family="rule").rule == "none of the listed"


def steps_of_one_weight(make, start, slopes=None, dtype=torch.float32):
    """Return 60 steps of one weight on cosh, or along given slopes."""
    weight = torch.nn.Parameter(torch.full((1 if slopes is None else slopes.shape[1],), start, dtype=dtype))
    optimizer, places, gradients = make([weight]), [weight.detach().clone()], []
    for n in range(60):
        weight.grad = 2 * torch.sinh(weight.detach()) if slopes is None else slopes[n]
        gradients.append(weight.grad.clone())
        optimizer.step()
        places.append(weight.detach().clone())
    return ln.infer.Steps(torch.stack(places).double().numpy(), torch.stack(gradients).double().numpy())


def test_i22_what_forgets_nothing_is_a_sum_of_squares_in_single_precision():
    for start in (-2.5, 1.0, 4.0):
        found = ln.infer(steps_of_one_weight(lambda p: O.Adagrad(p, lr=0.1), start), family="rule")
        assert found.rule.startswith("Adagrad") and found.estimates["lr"].value == pytest.approx(0.1, rel=1e-2)


def test_i22_steps_that_repeat_each_other_are_no_heavy_ball():
    slopes = 0.1 + torch.rand(60, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    record = steps_of_one_weight(lambda p: Sign(p, 0.01, (0.9, 0.99)), 0.3, slopes, torch.float64)
    assert ln.infer(record, family="rule").rule.startswith("sign descent")


@pytest.mark.slow
def test_i22_schedules_are_read_as_such():
    clipped = ln.infer(run(lambda p: O.SGD(p, 0.1), clip=0.5)[0], family="rule")
    assert "schedule" in clipped.rule or clipped.estimates["lr"].value == pytest.approx(0.1)
    cosine = lambda o: O.lr_scheduler.CosineAnnealingLR(o, 150)
    reading = ln.infer(run(lambda p: O.SGD(p, 0.1), schedule=cosine)[0], family="rule")
    rate = reading.estimates["lr"]
    assert reading.rule == "gradient descent with a schedule"
    assert rate.low == pytest.approx(0.05 * (1 + math.cos(math.pi * 99 / 150)), rel=1e-6)
    assert rate.high == pytest.approx(0.05 * (1 + math.cos(math.pi / 150)), rel=1e-6)
    adam = ln.infer(run(lambda p: O.Adam(p, 1e-3), schedule=cosine)[0], family="rule")
    assert adam.rule == "Adam, with a schedule" and adam.estimates["beta2"].value == pytest.approx(0.999, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "constant"),
    [
        (lambda p: Sign(p, 1e-3, betas=(0.9, 0.99)), "all entries of a step are equal in size"),
        (lambda p: O.Muon(p, 0.02, weight_decay=0.0), "singular values of a 16×20 step"),
    ],
    ids=["lion", "muon"],
)
def test_i22_lion_and_muon_are_refuted_with_what_is_constant(make, constant):
    reading = ln.infer(run(make)[0], family="rule")
    assert reading.fit.refuted and not reading.estimates and constant in reading.fit.because
    assert reading.fit.residual > 0.3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_i23_inner_products_tell_sgd_and_the_heavy_ball_and_nothing_else(dtype):
    plain = ln.infer(run(lambda p: O.SGD(p, 0.1), dtype=dtype)[1], family="rule")
    assert plain.rule == "gradient descent" and plain.estimates["lr"].value == pytest.approx(0.1, rel=1e-5)
    ball = ln.infer(run(lambda p: O.SGD(p, 0.05, momentum=0.9), dtype=dtype)[1], family="rule")
    assert ball.estimates["lr"].value == pytest.approx(0.05, rel=1e-5)
    assert ball.estimates["beta"].value == pytest.approx(0.9, rel=1e-5)
    assert repr(ball).startswith("Inference(rule: heavy ball; lr = 0.05") and ball.fit.refuted is False
    others = [
        lambda p: O.SGD(p, 0.05, momentum=0.9, nesterov=True), lambda p: O.Adam(p, 1e-3),
        lambda p: O.SGD(p, 0.05, momentum=0.9, weight_decay=0.01), lambda p: O.Muon(p, 0.02), lambda p: Sign(p, 1e-3),
        lambda p: Sign(p, 1e-3, betas=(0.9, 0.99)), lambda p: O.RMSprop(p, 1e-3),
    ]  # fmt: skip
    for make in others:
        assert ln.infer(run(make, steps=60, dtype=dtype)[1], family="rule").fit.refuted


def test_i23_what_passes_the_scalar_identity_is_refuted_by_the_two_more_numbers():
    """Δ = −(lr/2)(I + O)g has |Δ|² = −lr⟨g, Δ⟩ exactly, as gradient descent has."""
    watch = run(lambda p: Turned(p, 0.1), steps=40)[1]
    products = watch.record()
    gap = products.steps + 0.1 * products.with_step
    assert np.max(np.abs(gap / products.steps)) < 1e-12, "the identity holds"
    assert ln.infer(watch, family="rule").fit.refuted


def test_kept_entries_are_those_of_the_run_and_are_read():
    steps, watch = run(lambda p: O.Adam(p, 1e-3), steps=60, keep=48)
    entries = watch.record()
    assert entries.weights.shape == (61, 48) and entries.gradients.shape == (60, 48)
    columns = [int(np.argmin(np.abs(steps.weights - entries.weights[:, [i]]).sum(axis=0))) for i in range(48)]
    assert len(set(columns)) == 48
    np.testing.assert_array_equal(steps.weights[:, columns], entries.weights)
    np.testing.assert_array_equal(steps.gradients[:, columns], entries.gradients)
    reading = ln.infer(watch, family="rule")
    assert reading.rule == "Adam" and reading.estimates["beta2"].value == pytest.approx(0.999, abs=1e-6)


def test_inner_products_are_those_of_the_run():
    steps, watch = run(lambda p: O.SGD(p, 0.05, momentum=0.9), steps=20)
    products, moved = watch.record(), np.diff(steps.weights, axis=0)
    np.testing.assert_allclose(products.gradients, (steps.gradients**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(products.step_last[1:], (moved[1:] * moved[:-1]).sum(1), rtol=1e-9)
    np.testing.assert_allclose(products.with_last[1:], (steps.gradients[1:] * moved[:-1]).sum(1), rtol=1e-9)
    assert math.isnan(products.step_last[0]) and math.isnan(products.with_last[0])


def test_rank_before_estimate_in_single_precision():
    """Plain descent's last step is a multiple of its last gradient: no β is read from what is left of rounding."""
    reading = ln.infer(run(lambda p: O.SGD(p, 0.1), dtype=torch.float32)[0], family="rule")
    assert reading.rule == "gradient descent" and "beta" not in reading.estimates


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize(("each", "takes"), [(True, True), (True, False), (False, True)])
def test_deviations_are_searched_along_their_own_derivatives(corrected, each, takes):
    rng = np.random.default_rng(3)
    g, theta = rng.normal(size=(12, 7)), np.cumsum(rng.normal(size=(13, 7)), axis=0)
    moved, x, h = np.diff(theta, axis=0), np.array([0.7, 0.9, 0.4, math.log(0.03)]), 1e-6
    away = lambda y: rules._project(theta, g, moved, y, corrected, each, takes)[0]
    differences = np.stack([(away(x + e) - away(x - e)) / (2 * h) for e in h * np.eye(4)], axis=1)
    slopes = rules._project(theta, g, moved, x, corrected, each, takes)[1]
    np.testing.assert_allclose(slopes, differences, rtol=1e-5, atol=1e-8)


def test_refusals():
    steps = run(lambda p: O.SGD(p, 0.1), steps=6)[0]
    with pytest.raises(ValueError, match="recorded steps are read by family 'rule'"):
        ln.infer(steps)
    with pytest.raises(ValueError, match="shapes have"):
        ln.infer.Steps(steps.weights, steps.gradients, [(3,)])
    with pytest.raises(ValueError, match="weights do not move"):
        ln.infer.Steps(np.ones((7, 2)), np.ones((6, 2)))
