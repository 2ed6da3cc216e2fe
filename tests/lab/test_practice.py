"""The study of rules and discounts under a schedule: what it tries, and what its records hold."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from resources import RESULTS, recorded
from torch import nn

from lossnav import optim, records
from lossnav.lab.models.small import reader

STUDY = recorded("practice")
KEPT = sorted(RESULTS.glob("practice-*.json"))


@pytest.mark.parametrize("ratio", STUDY.DISCOUNTS)
def test_all_discounts_make_steps_of_one_length_where_the_gradient_is_typical(ratio):
    model, typical = nn.Linear(3, 1, bias=False).double(), 0.02
    start = model.weight.detach().clone()
    optimizer = STUDY.discounted(ratio, typical)(model, 1e-3)
    for _ in range(5):
        model.weight.grad = torch.full_like(start, typical)
        optimizer.step()
    torch.testing.assert_close(start - model.weight.detach(), torch.full_like(start, 5e-3), rtol=1e-6, atol=0)


def test_an_amount_of_decay_is_what_a_run_leaves_of_a_weight_that_nothing_moves():
    network = nn.Linear(2, 2)
    examples = STUDY.Examples(
        lambda generator: (torch.zeros(1, 2), torch.zeros(1, dtype=torch.long)),
        *[(torch.zeros(1, 2), torch.zeros(1).long())] * 2,
    )
    task = STUDY.Task("", lambda _: examples, lambda seed: network, 400, (), dict)
    start, bias = network.weight.detach().clone(), network.bias.detach().clone()
    STUDY.trained(task, examples, lambda m, lr: torch.optim.SGD(m.parameters(), lr), 0.0, seed=0, decay=0.5)
    torch.testing.assert_close(network.weight.detach(), start * math.exp(-0.5), rtol=2e-3, atol=0)
    assert torch.equal(network.bias, bias)


@pytest.mark.parametrize("task", ["cnn", "bytes"])
def test_the_weight_decay_that_the_book_names_is_the_amount_that_was_measured(task):
    notebook = json.loads((RESULTS.parent / "choose.ipynb").read_text(encoding="utf-8"))
    named = {
        output["metadata"]["scrapbook"]["name"]: output["data"]["application/papermill.record/text/plain"].strip("'")
        for cell in notebook["cells"] for output in cell.get("outputs", []) if "scrapbook" in output.get("metadata", {})
    }  # fmt: skip
    record = records.load(RESULTS / f"practice-parts-{task}.json")
    (known,) = (result for result in record.results if result["rule"] == "noise known")
    weight, steps = nn.Parameter(torch.ones(2, 2)), STUDY.TASKS[task].steps
    optimizer = optim.BallisticMatrix([weight], known["lr"], weight_decay=float(named[f"k_{task}_decay"]))
    for step in range(steps):
        weight.grad = torch.zeros(2, 2)
        optimizer.param_groups[0]["lr"] = known["lr"] * STUDY.factor(step, steps)
        optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.full((2, 2), math.exp(-known["decay"])), rtol=0.02, atol=0)


def test_the_rate_rises_and_falls_to_nothing():
    factors = [STUDY.factor(step, 200) for step in range(200)]
    assert np.argmax(factors) == 9 and 0 < factors[0] < 0.2 and 0 < factors[-1] < 0.01
    np.testing.assert_allclose(np.diff(factors[10:]), -1 / 200)


@pytest.mark.parametrize("name", STUDY.RULES)
def test_embeddings_heads_and_vectors_are_adams_under_every_rule_for_matrices(name):
    """Of a transformer two steps, beside Adam's at the same rate; SGD and Lion have rules of their own for all."""
    moved = {}
    for rule in (name, "AdamW"):
        model = reader(8, seed=0)
        optimizer = STUDY.RULES[rule](model, 1e-3)
        draw = torch.Generator().manual_seed(0)
        for _ in range(2):
            for p in model.parameters():
                p.grad = torch.randn(p.shape, generator=draw)
            optimizer.step()
        moved[rule] = {key: p.detach() for key, p in model.named_parameters()}
    same = {key for key, p in moved[name].items() if torch.allclose(p, moved["AdamW"][key], rtol=0, atol=1e-6)}
    left = {key for key, p in moved[name].items() if p.ndim < 2 or key.split(".")[0] in ("tokens", "places", "head")}
    assert same == {"AdamW": set(moved[name]), "SGD": set(), "Lion": set()}.get(name, left)


def lengths(optimizer_of, lr):
    """The root mean square of the steps that a rule makes on noise, of matrices and of what it leaves to Adam."""
    model, draw, rms = reader(8, seed=0), torch.Generator().manual_seed(0), []
    optimizer, names = optimizer_of(model, lr), [name for name, _ in model.named_parameters()]
    for _ in range(60):
        before = [p.detach().clone() for p in model.parameters()]
        for p in model.parameters():
            p.grad = torch.randn(p.shape, generator=draw)
        optimizer.step()
        rms.append(
            [
                float((p.detach() - old).square().mean().sqrt()) / lr
                for p, old in zip(model.parameters(), before, strict=True)
            ]
        )
    late = dict(zip(names, np.mean(rms[-20:], axis=0), strict=True))
    return late["blocks.layers.0.linear1.weight"], late["head.weight"]


def test_one_thing_is_changed_at_a_time():
    """Of steps on noise: their length knows it or is a fifth, the head is a matrix, the memory is longer."""
    matrix, head = lengths(STUDY.RULES["polar, a fifth"], 1e-3)
    assert matrix == pytest.approx(0.2, rel=0.02) and head == pytest.approx(math.sqrt(1 / 19), rel=0.05)
    assert lengths(STUDY.PARTS["noise known"], 1e-3)[0] == pytest.approx(math.sqrt(1 / 19), rel=0.02)
    assert lengths(STUDY.PARTS["all matrices"], 1e-3)[1] == pytest.approx(0.2, rel=0.02)
    long = math.sqrt((1 + 0.95**50) / (1 - 0.95**50) / 39)  # (M25) after some fifty steps
    assert lengths(STUDY.PARTS["β₁ = 0.95"], 1e-3)[1] == pytest.approx(long, rel=0.05)
    assert lengths(STUDY.PARTS["exact root"], 1e-3)[0] == pytest.approx(0.2, rel=1e-3)


def tries(name):
    """How many seeds, rates and further rates each row of a record has."""
    if "discount" in name:
        return 5, 5, STUDY.MOST["discount"]
    if name in ("practice-cnn", "practice-bytes"):
        return 5, 5, STUDY.MOST["rule"]
    return (3 if name == "practice-paper" else 5), 3, 1


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_record_holds_what_the_study_asks_for(path):
    record, study = records.load(path), STUDY.STUDIES[path.stem]
    task, (seeds, rates, more) = STUDY.TASKS[record.config["task"]], tries(path.stem)
    varied = "ratio" if "discount" in path.stem else "rule"
    values = list(dict.fromkeys(row[varied] for row in record.results))
    assert values == [measurement.settings[varied] for measurement in study.wanted()]
    assert record.config["predictions"] == study.config()["predictions"]
    assert record.seeds == list(STUDY.JUDGES)[:seeds] and record.config["steps"] == task.steps
    for row in record.results:
        tried = dict(map(tuple, row["tuning"]))
        assert len(tried) >= rates and tried[row["lr"]] == min(tried.values())
        if row["lr"] in (min(tried), max(tried)):  # an edge, after all that may be tried beyond it
            assert len(tried) == rates + more
        if "decays" in row and row["decay"]:
            decays = dict(map(tuple, row["decays"]))
            assert decays[row["decay"]] == min(decays.values()) and row["lr"] == next(
                other["lr"] for other in record.results if other["rule"] == row["rule"]
            )
        assert [run["seed"] for run in row["runs"]] == record.seeds
        ended = [run for run in row["runs"] if run["test"] < 99]  # others diverged
        assert all(len(run["loss"]) == len(run["seconds"]) == STUDY.POINTS for run in ended)
        assert len(ended) == len(row["runs"]) or (row["rule"] == "SGD" and row["decay"] > 0)


@pytest.mark.parametrize("name", STUDY.TASKS)
def test_a_change_is_beside_the_rule_that_was_chosen(name):
    """Rates and decays around which a few rules are tried are those of the record of all rules, or of the small CNN."""
    rows = records.load(RESULTS / f"practice-{'cnn' if name == 'paper' else name}.json").results
    chosen = {row["rule"]: (row["lr"], row["decay"]) for row in rows}
    task = STUDY.TASKS[name]
    assert {"polar, a fifth": task.whole} | dict(task.of) == {
        rule: chosen[rule] for rule in ("polar, a fifth", *task.of)
    }
