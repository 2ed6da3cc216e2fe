"""The study of rules that know rows and columns: how it tunes, and what its records hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from resources import RESULTS, recorded

from lossnav import records
from lossnav.lab.study import widened

STUDY = recorded("matrices")
LEARNED = ("learned", "learned-paper", "learned-transformer")
LATER = ("paper", "transformer", *LEARNED)


@pytest.mark.parametrize(("best", "tried"), [(0.1, 3), (0.03, 4), (0.3, 4), (1e-4, 5), (100.0, 5)])
def test_a_rule_goes_on_beyond_an_edge_at_most_twice(best, tried):
    found = widened(lambda rates: [abs(np.log(lr / best)) for lr in rates], (0.03, 0.1, 0.3), STUDY.beyond, 2)
    assert len(found) == tried
    nearest = min(found, key=found.__getitem__)
    assert (min(found) < nearest < max(found)) == (tried < 5)


@pytest.mark.parametrize("name", LATER)
def test_every_rule_had_the_same_budget_and_was_judged_on_other_seeds(name):
    record = records.load(RESULTS / f"matrices-{name}.json")
    assert len(record.revision) == 40
    task = STUDY.TASKS[name]
    assert [one["rule"] for one in record.results] == list(task.rules) and "SOAP" in task.rules
    for one in record.results:
        tuning = dict(one["tuning"])
        assert set(task.rates[one["rule"] != "SGD"]) <= set(tuning) and len(tuning) <= 3 + task.extra
        assert one["lr"] == min(tuning, key=tuning.__getitem__)
        assert [run["seed"] for run in one["runs"]] == list(range(5)) and STUDY.TUNING_SEED not in range(5)
        for run in one["runs"]:
            assert len(run["loss"]) == one["steps"] // STUDY.EVERY and 0 < run["updates"] < run["seconds"][-1]


def test_one_thing_at_a_time_is_changed_between_our_eigenbasis_and_muon():
    record = records.load(RESULTS / "matrices-bases.json")
    assert len(record.revision) == 40
    assert {one["rule"]: one["lr"] for one in record.results} == STUDY.ABLATED
    assert all([run["seed"] for run in one["runs"]] == [0, 1, 2] and not one["tuning"] for one in record.results)
    paper = {one["rule"]: one["lr"] for one in records.load(RESULTS / "matrices-paper.json").results}
    assert all(STUDY.ABLATED[name] == paper[name] for name in ("Muon", "eigenbasis"))
    model = STUDY.TASKS["bases"].network(0)
    sides = [(len(p), p[0].numel()) for p in model.parameters() if p.ndim > 1]
    assert sorted(max(pair) for pair in sides if max(pair) > STUDY.LONGEST_SIDE) == [1152, 2048]
    for name, count in (("eigenbasis", 2), ("max_dim=1152", 1), ("polar on long sides", 2), ("polar", 6)):
        rule = STUDY.rule(name, list(model.parameters()), STUDY.ABLATED[name])
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        rule.step()
        matrices = [rule.state[p] for p in model.parameters() if p.ndim > 1]
        assert sum(("left" in state) + ("right" in state) < 2 for state in matrices) == count


def test_what_changed_at_the_papers_size_is_one_option():
    """The same seeds, images, batches, steps and rate as the eigenbasis had there."""
    new, old = (records.load(RESULTS / f"matrices-{name}.json") for name in ("long", "paper"))
    assert len(new.revision) == 40
    told = ("batch", "betas", "train", "test", "steps", "tail", "every", "seeds")
    assert [new.config[name] for name in told] == [old.config[name] for name in told]
    (one,) = new.results
    (eigenbasis,) = (one for one in old.results if one["rule"] == "eigenbasis")
    assert one["lr"] == eigenbasis["lr"]
    assert [run["seed"] for run in one["runs"]] == [run["seed"] for run in eigenbasis["runs"]] == list(range(5))


@pytest.mark.parametrize("name", LEARNED)
def test_the_long_runs_go_on_until_adam_has_learned_its_images(name):
    """In the mean of the last steps, in which each image comes 4.8 times on all three networks."""
    record = records.load(RESULTS / f"matrices-{name}.json")
    rules = {one["rule"]: one for one in record.results}
    assert "Shampoo" in rules or name == "learned-paper"
    points = 4.8 * record.config["train"] / record.config["batch"] / STUDY.EVERY
    assert points == round(points)
    assert all(np.mean(run["loss"][-round(points) :]) < STUDY.LEARNED < 0.12 for run in rules["Adam"]["runs"])


@pytest.mark.parametrize("how", ["Muon", "SOAP"])
def test_rules_for_matrices_move_a_convolution_as_the_matrix_of_its_filters(how):
    rng = torch.Generator().manual_seed(0)
    kernel, bias = torch.randn(4, 3, 2, 2, generator=rng), torch.randn(4, generator=rng)
    wide, flat = ([torch.nn.Parameter(x.clone()) for x in (w, bias)] for w in (kernel, kernel.flatten(1)))
    rules = [STUDY.rule(how, params, 0.01) for params in (wide, flat)]
    for _ in range(3):
        slope = torch.randn(4, 3, 2, 2, generator=rng)
        for params, shape in ((wide, (4, 3, 2, 2)), (flat, (4, 12))):
            params[0].grad, params[1].grad = slope.reshape(shape).clone(), torch.ones(4)
        for one in rules:
            one.step()
    assert torch.equal(wide[0].flatten(1), flat[0]) and torch.equal(wide[1], flat[1])
    assert not torch.equal(wide[0], kernel) and not torch.equal(wide[1], bias)


def test_cheaper_bases_had_the_budget_of_whole_ones_and_adam_three_times_the_steps():
    record = records.load(RESULTS / "matrices-blocks.json")
    assert len(record.revision) == 40
    assert [(one["rule"], one["steps"]) for one in record.results] == [
        *((name, 100) for name in ("Adam", "eigenbasis", *STUDY.CHEAPER)), ("Adam", 300),
    ]  # fmt: skip
    for one in record.results:
        tuning = dict(one["tuning"])
        assert len(tuning) == 3 and one["lr"] == min(tuning, key=tuning.__getitem__)
        assert [run["seed"] for run in one["runs"]] == list(range(5))
