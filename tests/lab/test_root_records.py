"""The recorded study of the root: complete, fairly tuned, and right where an oracle knows the answer."""

from __future__ import annotations

import numpy as np
import pytest
from resources import RESULTS, real, recorded
from scipy.linalg import solve_continuous_are

from lossnav import records

NETWORKS = sorted(path.stem for path in RESULTS.glob("root-*.json") if path.stem != "root-known")


@pytest.fixture(scope="module")
def script():
    return recorded("root")


def mean(runs):
    return np.inf if any(run["train"] is None for run in runs) else np.mean([run["train"] for run in runs])


@pytest.mark.parametrize("name", NETWORKS)
def test_every_exponent_had_the_same_budget_and_is_judged_on_seeds_that_it_was_not_tuned_on(script, name):
    record = records.load(RESULTS / f"{name}.json")
    cases = [(run["eps"], run["exponent"], run["steps"]) for run in record.results]
    assert cases == [
        (one.settings["eps"], one.settings["exponent"], steps)
        for one in script.STUDIES[name].wanted()
        for steps in one.settings["lengths"]
    ]
    assert {case[1] for case in cases} == {0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0}
    tuning, grids = record.config["tuning_seeds"], record.config["grids"]
    assert len(record.seeds) >= 5 and not set(record.seeds) & set(tuning)
    for run in record.results:
        tried = {}
        for one in run["tried"]:
            tried.setdefault(one["lr"], []).append(one)
        assert all([one["seed"] for one in runs] == tuning for runs in tried.values())
        first = grids[0] if run["steps"] == record.config["lengths"][0] else grids[1]
        assert len(first) <= len(tried) <= len(first) + record.config["most"]
        steps = np.diff(np.log10(sorted(tried)))
        np.testing.assert_allclose(steps, 0.5, atol=1e-4)  # half decades, without a gap
        best = min(tried, key=lambda rate: mean(tried[rate]))
        assert run["best"] == best and run["inside"] == (min(tried) < best < max(tried))
        if not run["inside"]:  # then the grid was extended as far as it goes
            assert len(tried) == len(first) + record.config["most"]
        assert [one["seed"] for one in run["judged"]] == record.seeds
        assert {one["lr"] for one in run["judged"]} == {best}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_long_run_goes_on_until_the_best_exponent_has_learned_its_images(script, name):
    record = records.load(RESULTS / f"{name}.json")
    long = [run for run in record.results if run["steps"] == record.config["lengths"][1]]
    for eps in {run["eps"] for run in long}:
        best = min((run for run in long if run["eps"] == eps), key=lambda run: mean(run["judged"]))
        assert mean(best["judged"]) < script.CONVERGED < 0.12  # of log 10 = 2.3, the loss of a guess


@pytest.mark.slow
@pytest.mark.parametrize("name", ["residual", "transformer"])
def test_the_recorded_root_is_what_torchs_adam_makes_of_one_network(script, name):
    """The short run at p = ½ with its first seed, without ensemble and rule of the study; sums are rounded apart."""
    import torch
    from torch.nn.functional import cross_entropy

    record = records.load(RESULTS / f"root-{name}.json")
    case = (0.5, record.config["lengths"][0], script.EPSILONS[0])
    (run,) = (run for run in record.results if (run["exponent"], run["steps"], run["eps"]) == case)
    task, then = script.TASKS[name], run["judged"][0]
    network = task.network(then["seed"])
    optimizer = torch.optim.Adam(network.parameters(), then["lr"], script.BETAS, run["eps"])
    images = script.pictures(real("cifar10"), task.examples)
    losses = []
    for x, y in script.batches(images, task.batch, [then["seed"]], run["steps"]):
        loss = cross_entropy(network(x[0]), y[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses) == pytest.approx(then["path"], rel=2e-3)
    assert np.mean(losses[-run["steps"] // 10 :]) == pytest.approx(then["train"], rel=0.03)


def test_where_nothing_is_discounted_the_root_costs_what_the_riccati_equation_says(script):
    record = records.load(RESULTS / "root-known.json")
    h = script.curvatures()
    cost = solve_continuous_are(np.zeros((len(h),) * 2), np.eye(len(h)), np.diag(h), np.eye(len(h)))
    starts = np.stack([np.random.default_rng(seed).normal(size=len(h)) for seed in record.seeds]) * h**-0.25
    least = 0.5 * np.einsum("si,ij,sj->s", starts, cost, starts)
    found = {
        run["exponent"]: np.array(run["cost"])
        for run in record.results
        if (run["case"], run["gamma"]) == ("quiet", 0.0)
    }
    np.testing.assert_allclose(found[0.5], least, rtol=1e-5)
    assert all((costs > 1.01 * least).all() for p, costs in found.items() if p != 0.5)


def test_an_exponent_of_one_half_is_adam_and_zero_is_momentum(script):
    """The rule of the study against torch's, on one member."""
    import torch

    from lossnav.lab.ensemble import Ensemble

    for exponent, make in (
        (0.5, lambda params: torch.optim.Adam(params, 1e-3, script.BETAS)),
        (0.0, lambda params: torch.optim.SGD(params, 1e-3 * (1 - script.BETAS[0]), script.BETAS[0])),
    ):
        ensemble, single = Ensemble([script.perceptron(0)]), script.perceptron(0)
        rule, theirs = script.Root(ensemble, exponent, [1e-3], 1e-8), make(single.parameters())
        generator = torch.Generator().manual_seed(0)
        for count in range(1, 6):
            grads = [torch.randn(p.shape, generator=generator) for p in single.parameters()]
            for ours, one, g in zip(ensemble.parameters(), single.parameters(), grads, strict=True):
                ours.grad, one.grad = g[None].clone(), g.clone()
            rule.step()
            if exponent == 0.0:  # the study corrects the average's bias, torch's momentum does not
                theirs.param_groups[0]["lr"] = 1e-3 * (1 - script.BETAS[0]) / (1 - script.BETAS[0] ** count)
            theirs.step()
        for ours, one in zip(ensemble.parameters(), single.parameters(), strict=True):
            torch.testing.assert_close(ours[0].detach(), one.detach(), rtol=1e-4, atol=1e-6)
