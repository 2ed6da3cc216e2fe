"""What scripts of studies compute by themselves, against torch, the library, and equations solved otherwise."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from resources import RESULTS, real, recorded
from scipy.linalg import solve_continuous_are
from torch.nn.functional import cross_entropy

import lossnav as ln
from lossnav import records
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.study import widened

script = functools.cache(recorded)


@functools.cache
def rows():
    pytest.importorskip("pytorch_optimizer")
    return {(row["place"], row["name"]): row for row in records.load(RESULTS / "atlas.json").results}


def test_every_class_of_the_atlas_has_a_law_or_a_reason():
    assert list(rows()) == script("atlas").names()
    for row in rows().values():
        fingerprint = row.get("fingerprint")
        assert ": " in row["failed"] if fingerprint is None else (
            bool(fingerprint["law"]) + bool(fingerprint["nearest"]) + bool(fingerprint["refused"]) == 1
        )  # fmt: skip
    own = [row["fingerprint"] for (place, _), row in rows().items() if place == "torch.optim"]
    assert (sum(bool(result["law"]) for result in own), sum(bool(result["refused"]) for result in own)) == (13, 2)


@pytest.mark.parametrize("name", ["RMSprop", "AdamW"])
def test_a_row_of_the_atlas_is_what_is_measured_again(name):
    atlas, stored = script("atlas"), rows()["torch.optim", name]["fingerprint"]
    measured = atlas.rounded(ln.fingerprint(atlas.maker("torch.optim", name), timed=False).to_dict())
    for key in ("family", "law", "rate", "decay", "reach", "counts", "refused"):
        assert measured[key] == stored[key]
    assert measured["gain"] == pytest.approx(stored["gain"], rel=1e-3)


def test_a_regret_of_the_atlas_is_that_of_its_path():
    """``ln.regret`` has it from the squared error of the velocity; the study from costs."""
    atlas, stored = script("atlas"), rows()["torch.optim", "Adam"]["landscapes"]["five curvatures"]
    loss, start, steps, _ = atlas.landscapes()["five curvatures"]
    low = atlas.ARRIVED * float(loss.value(start))
    path = atlas.descended(atlas.maker("torch.optim", "Adam", lr=stored["lr"]), loss, start, steps, low)
    assert ln.regret(path, ln.Objective(), loss).relative == pytest.approx(stored["regret"], rel=1e-5)


@pytest.mark.parametrize(("best", "tried"), [(0.1, 3), (0.03, 4), (0.3, 4), (1e-4, 5), (100.0, 5)])
def test_a_rule_goes_on_beyond_an_edge_at_most_twice(best, tried):
    beyond, ways = script("matrices").beyond, []
    scores = widened(
        lambda rates: [abs(np.log(lr / best)) for lr in rates], (0.03, 0.1, 0.3),
        lambda place, way: ways.append(way) or beyond(place, way), 2,
    )  # fmt: skip
    assert len(scores) == tried
    assert ways == [1 if best > 0.1 else -1] * (tried - 3)
    nearest = min(scores, key=scores.__getitem__)
    assert (min(scores) < nearest < max(scores)) == (tried < 5)


@pytest.mark.parametrize("how", ["Muon", "SOAP"])
def test_rules_for_matrices_move_a_convolution_as_the_matrix_of_its_filters(how):
    rng = torch.Generator().manual_seed(0)
    kernel, bias = torch.randn(4, 3, 2, 2, generator=rng), torch.randn(4, generator=rng)
    wide, flat = ([torch.nn.Parameter(x.clone()) for x in (w, bias)] for w in (kernel, kernel.flatten(1)))
    rules = [script("matrices").rule(how, params, 0.01) for params in (wide, flat)]
    for _ in range(3):
        gradient = torch.randn(4, 3, 2, 2, generator=rng)
        for params, shape in ((wide, (4, 3, 2, 2)), (flat, (4, 12))):
            params[0].grad, params[1].grad = gradient.reshape(shape).clone(), torch.ones(4)
        for rule in rules:
            rule.step()
    assert torch.equal(wide[0].flatten(1), flat[0]) and torch.equal(wide[1], flat[1])
    assert not torch.equal(wide[0], kernel) and not torch.equal(wide[1], bias)


@pytest.mark.slow
def test_the_recorded_root_is_what_torchs_adam_makes_of_one_network():
    """The short run at p = ½ with its first seed, without ensemble and rule of the study; sums are rounded apart."""
    root, record = script("root"), records.load(RESULTS / "root-residual.json")
    case = (0.5, record.config["lengths"][0], root.EPSILONS[0])
    (run,) = (run for run in record.results if (run["exponent"], run["steps"], run["eps"]) == case)
    task, then = root.TASKS["residual"], run["judged"][0]
    network = task.network(then["seed"])
    optimizer = torch.optim.Adam(network.parameters(), then["lr"], root.BETAS, run["eps"])
    images, losses = root.pictures(real("cifar10"), task.examples), []
    for x, y in root.batches(images, task.batch, [then["seed"]], run["steps"]):
        loss = cross_entropy(network(x[0]), y[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses) == pytest.approx(then["path"], rel=2e-3)
    assert np.mean(losses[-run["steps"] // 10 :]) == pytest.approx(then["train"], rel=0.03)


def test_an_exponent_of_zero_is_momentum():
    """The rule of the study against torch's, on one member; at one half it is Adam (above)."""
    root = script("root")
    ensemble, single = Ensemble([root.perceptron(0)]), root.perceptron(0)
    rule = root.Root(ensemble, 0.0, [1e-3], 1e-8)
    theirs = torch.optim.SGD(single.parameters(), 1e-3 * (1 - root.BETAS[0]), root.BETAS[0])
    generator = torch.Generator().manual_seed(0)
    for count in range(1, 6):
        grads = [torch.randn(p.shape, generator=generator) for p in single.parameters()]
        for ours, reference, g in zip(ensemble.parameters(), single.parameters(), grads, strict=True):
            ours.grad, reference.grad = g[None].clone(), g.clone()
        rule.step()
        # the study corrects the average's bias, torch's momentum does not
        theirs.param_groups[0]["lr"] = 1e-3 * (1 - root.BETAS[0]) / (1 - root.BETAS[0] ** count)
        theirs.step()
    for ours, reference in zip(ensemble.parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(ours[0].detach(), reference.detach(), rtol=1e-4, atol=1e-6)


def test_where_nothing_is_discounted_the_root_costs_what_the_riccati_equation_says():
    record, h = records.load(RESULTS / "root-known.json"), script("root").curvatures()
    cost = solve_continuous_are(np.zeros((len(h),) * 2), np.eye(len(h)), np.diag(h), np.eye(len(h)))
    starts = np.stack([np.random.default_rng(seed).normal(size=len(h)) for seed in record.seeds]) * h**-0.25
    least = 0.5 * np.einsum("si,ij,sj->s", starts, cost, starts)
    by_exponent = {
        run["exponent"]: np.array(run["cost"])
        for run in record.results
        if (run["case"], run["gamma"]) == ("quiet", 0.0)
    }
    np.testing.assert_allclose(by_exponent[0.5], least, rtol=1e-5)
    assert all((costs > 1.01 * least).all() for p, costs in by_exponent.items() if p != 0.5)


def test_the_summary_of_precisions_follows_from_the_runs():
    """By another road: numpy, from a table of seeds."""
    record = records.load(RESULTS / "precision.json")
    runs, summary = record.results["runs"], record.results["summary"]
    table = {(run["precision"], run["seed"]): run["test_accuracy"][-1] for run in runs}
    last = np.array([[table[precision, seed] for seed in record.seeds] for precision in ("float32", "bfloat16")])
    np.testing.assert_allclose(list(summary["accuracy"].values()), last.mean(1), atol=1e-4)
    np.testing.assert_allclose(list(summary["spread"].values()), last.std(1, ddof=1), atol=1e-4)
    assert abs(summary["difference"]) <= max(summary["spread"].values())


def test_nodes_put_together_keep_their_mean():
    draw = np.random.default_rng(0)
    nodes, weights = draw.normal(size=500), draw.random(500)
    fewer, fewer_weights = script("moving_network").binned(nodes, weights)
    assert len(fewer) <= 41 and sum(fewer_weights) == pytest.approx(weights.sum(), rel=1e-5)
    assert np.dot(fewer, fewer_weights) == pytest.approx(nodes @ weights, rel=1e-4)
