"""Rules read without the gradients that they got (theory: I24, I25): coverage, and what is refuted."""

import numpy as np
import pytest
import scipy
import torch

import lossnav as ln

RUNS, STEPS, DIM, LR = 200, 200, 8, 0.02
H = np.geomspace(0.1, 3.0, DIM)


def simulated(seed, *, beta=0.9, rank=DIM, epoch=None, ahead=0.0, decay=0.0):
    """Return weights, gradients of all examples, and two of other batches, of many runs on noisy bowls side by side."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(RUNS, DIM, rank)) / np.sqrt(rank)
    noise = lambda: np.einsum("rdk,rk->rd", mixed, rng.normal(size=(RUNS, rank)))
    theta, moved, last, drawn = 2 * rng.normal(size=(RUNS, DIM)), 0.0, 0.0, []
    weights, full, other, third = [theta], [], [], []
    for _ in range(STEPS):
        if epoch and not drawn:  # each example once: the noise of an epoch is zero in all
            drawn = list((own := rng.normal(size=(epoch, RUNS, DIM))) - own.mean(axis=0))
        g = H * theta
        gradient = g + (drawn.pop() if epoch else noise()) + decay * theta
        moved = beta * moved - LR * ((1 + ahead) * gradient - ahead * last)
        theta, last = theta + moved, gradient
        for history, value in zip((weights, full, other, third), (theta, g, g + noise(), g + noise()), strict=True):
            history.append(value)
    return (np.stack(part, axis=1) for part in (weights, full, other, third))


def read(weights, gradients, instruments=None):
    partners = [None] * RUNS if instruments is None else instruments
    every = zip(weights, gradients, partners, strict=True)
    return [ln.infer(ln.infer.Steps(*pair, own=False, instruments=z), family="rule") for *pair, z in every]


def share(found, name, truth):
    return np.mean([inference.estimates[name].low <= truth <= inference.estimates[name].high for inference in found])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "by_others"), [({}, False), ({"rank": 1}, False), ({"beta": 0.0}, False), ({}, True)]
)
def test_i24_intervals_hold_the_truth_as_often_as_they_say(options, by_others):
    weights, full, other, third = simulated(1, **options)
    inferences = read(weights, other, third) if by_others else read(weights, full)
    beta = options.get("beta", 0.9)
    # 95 %, give or take three standard deviations of a share of 200
    assert min(share(inferences, "beta", beta), share(inferences, "lr", LR)) > 0.9
    assert np.mean([inference.fit.refuted for inference in inferences]) < 0.1
    assert np.mean([inference.rule == ("heavy ball" if beta else "gradient descent") for inference in inferences]) > 0.9


@pytest.mark.slow
def test_i24_the_gradient_of_another_batch_misleads_and_is_refuted():
    weights, _, other, _ = simulated(2)
    results = read(weights, other)
    assert share(results, "lr", LR) == 0 and np.median([result.estimates["lr"].value for result in results]) < LR / 2
    assert all(result.fit.refuted for result in results)


@pytest.mark.parametrize("options", [{"ahead": 0.9}, {"decay": 0.5}, {"epoch": 8}, {"epoch": 20}], ids=str)
def test_i24_what_is_no_heavy_ball_with_batches_of_its_own_is_refuted(options):
    weights, full, _, _ = simulated(3, **options)
    inferences = read(weights, full)
    assert np.mean([inference.fit.refuted for inference in inferences]) > 0.9
    assert "tells more of a step" in inferences[0].fit.because


def network(make, steps=300, seed=0):
    """Return the record of a small network trained on batches of 32 of 512 examples, with gradients of others."""
    drawn = torch.Generator().manual_seed(seed)
    normal = lambda *shape: torch.randn(*shape, generator=drawn, dtype=torch.float64)
    x = normal(512, 20)
    y = torch.tanh(x @ normal(20, 5)).argmax(1)
    weights = [(0.2 * normal(16, 20)).requires_grad_(), (0.2 * normal(5, 16)).requires_grad_()]
    optimizer, record = make(weights), [[], [], [], []]

    def gradient(batch):
        loss = torch.nn.functional.cross_entropy(torch.tanh(x[batch] @ weights[0].T) @ weights[1].T, y[batch])
        return torch.autograd.grad(loss, weights)

    flat = lambda parts: torch.cat([part.detach().reshape(-1) for part in parts]).numpy().copy()
    for _ in range(steps):
        batches = [slice(None), *torch.randint(0, 512, (3, 32), generator=drawn)]
        every, other, third, own = map(gradient, batches)
        for history, parts in zip(record, (weights, every, other, third), strict=True):
            history.append(flat(parts))
        for p, g in zip(weights, own, strict=True):
            p.grad = g
        optimizer.step()
    record[0].append(flat(weights))
    return record


def test_i25_a_networks_momentum_is_read_without_its_gradients():
    weights, every, other, third = network(lambda p: torch.optim.SGD(p, 0.05, momentum=0.9))
    for gradients, instruments in ((every, None), (other, third)):
        inference = ln.infer(ln.infer.Steps(weights, gradients, own=False, instruments=instruments), family="rule")
        beta, lr = inference.estimates["beta"], inference.estimates["lr"]
        assert beta.low < 0.9 < beta.high and beta.high - beta.low < 0.05
        assert lr.low < 0.05 < lr.high
    misled = ln.infer(ln.infer.Steps(weights, other, own=False), family="rule")
    assert misled.fit.refuted and misled.estimates["lr"].high < 0.025


def test_i25_adam_is_refuted():
    weights, every, _, _ = network(lambda p: torch.optim.Adam(p, 1e-2))
    assert ln.infer(ln.infer.Steps(weights, every, own=False), family="rule").fit.refuted


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_where_all_examples_are_the_batch_nothing_is_refuted_but_rounding(unit):
    theta, moved, weights, gradients = 2.0 - H, 0.0, [], []
    for _ in range(STEPS):
        weights.append(unit * theta)
        gradients.append(H * theta / unit)
        moved = 0.9 * moved - LR * H * theta
        theta = theta + moved
    inference = ln.infer(ln.infer.Steps([*weights, unit * theta], gradients, own=False), family="rule")
    assert inference.estimates["beta"].value == pytest.approx(0.9) and not inference.fit.refuted


def test_refusals():
    weights, full, other, _ = (part[0] for part in simulated(4))
    with pytest.raises(ValueError, match="own must be False"):
        ln.infer.Steps(weights, full, instruments=other)
    with pytest.raises(ValueError, match="instruments has shape"):
        ln.infer.Steps(weights, full, own=False, instruments=other[1:])
    with pytest.raises(ValueError, match="own"):
        ln.infer.Steps(weights, full, own=0)
    with pytest.raises(ValueError, match="gradients has 8 steps, but without the rule's own"):
        ln.infer(ln.infer.Steps(weights[:9], full[:8], own=False), family="rule")


def test_i24_errors_are_those_of_leaving_out_each_step():
    """Steps of a descent differ much in size, and the errors of few of them are no larger than what each one moves."""
    rng, theta, weights, gradients = np.random.default_rng(3), np.array([2.0, -1.0]), [], []
    for _ in range(31):
        weights.append(theta)
        gradients.append(theta * [1.0, 4.0])
        theta = theta - 0.1 * (gradients[-1] + rng.normal(size=2))
    found = ln.infer(ln.infer.Steps([*weights, theta], gradients, own=False), family="rule")
    moved = np.diff([*weights, theta], axis=0)
    x = np.stack([moved[:-1], np.array(gradients[1:])], axis=2)

    def fitted(steps):
        return np.linalg.lstsq(x[steps].reshape(-1, 2), moved[1:][steps].ravel(), rcond=None)[0]

    steps = np.arange(30)
    apart = np.array([fitted(steps != left_out) - fitted(steps >= 0) for left_out in steps])
    widths = np.sqrt(np.sum(apart**2, axis=0)) * scipy.stats.t.ppf(0.975, 25)
    for name, width in zip(("beta", "lr"), widths, strict=True):
        assert found.estimates[name].high - found.estimates[name].value == pytest.approx(width, rel=1e-8)
