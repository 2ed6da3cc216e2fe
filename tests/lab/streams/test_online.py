"""Online runs: scored before learning, each example once, resumed bit for bit, alike in any company."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from lossnav import optim
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.streams import BitFlipping, ContinualBackprop, Permuted, ShrinkAndPerturb, networks, online, run


def setup(digits, seeds=(0, 1)):
    stream = Permuted(digits, seeds, examples=320)
    return stream, networks.perceptrons(stream.inputs, (16, 16), 10, seeds=seeds)


RULES = {
    "sgd": lambda e: torch.optim.SGD(e.parameters(), lr=0.1),
    "adam": lambda e: torch.optim.Adam(e.parameters(), lr=3e-3),
    "uncertain": lambda e: optim.Uncertain(e.parameters()),
    "uncertain, sampled": lambda e: optim.Uncertain(e.parameters(), sample=True),
    "shrink and perturb": lambda e: ShrinkAndPerturb(e.parameters(), 0.1, 0.01, 1e-3, seed=0),
    "continual backprop": lambda e: ContinualBackprop(
        e, torch.optim.Adam(e.parameters(), 3e-3), rate=0.02, maturity=5, seed=0
    ),
}


def test_score_is_that_of_predictions_made_before_learning(digits):
    """Against a loop over one plain model, written out."""
    stream, ensemble = setup(digits, (4, 7))
    plain = ensemble.member(1)
    result = run(ensemble, RULES["sgd"](ensemble), stream, tasks=3, clip=1.0, progress=False)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    for number in range(3):
        right = count = 0
        x, y = stream.task(number)
        for images, labels in zip(x[:, 1], y[:, 1], strict=True):
            outputs = plain(images)
            right, count = right + (outputs.argmax(1) == labels).sum().item(), count + len(labels)
            optimizer.zero_grad()
            cross_entropy(outputs, labels).backward()
            torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
            optimizer.step()
        assert count == 320
        assert result.scores[1, number].item() == pytest.approx(right / count, abs=2 / count)
    assert result.finite.all() and result.scores.shape == (2, 3)


def test_what_learns_from_draws_is_scored_and_learns_at_its_draws(digits):
    stream, ensemble = setup(digits, (4,))
    twin = networks.perceptrons(stream.inputs, (16, 16), 10, seeds=(4,))
    result = run(ensemble, RULES["uncertain, sampled"](ensemble), stream, tasks=2, progress=False)
    optimizer, scores = RULES["uncertain, sampled"](twin), []
    for number in range(2):
        for x, y in zip(*stream.task(number), strict=True):
            with optimizer.sampled():
                outputs = twin(x)
                optimizer.zero_grad()
                cross_entropy(outputs[0], y[0]).backward()
            optimizer.step()
            scores.append((outputs[0].argmax(1) == y[0]).float().mean())
    assert result.scores[0].mean().item() == pytest.approx(torch.stack(scores).mean().item(), abs=1e-6)
    for one, other in zip(ensemble.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other)


def test_regression_is_scored_by_its_squared_error():
    stream = BitFlipping((0, 1), period=200)
    ensemble = networks.perceptrons(20, (5,), 1, seeds=(0, 1))
    frozen = torch.optim.SGD(ensemble.parameters(), lr=0.0)
    result = run(ensemble, frozen, stream, tasks=2, loss=mse_loss, score=online.squared_error, progress=False)
    x, y = stream.task(1)
    for s in range(2):
        error = (ensemble.member(s)(x[:, s, 0]) - y[:, s, 0]).square().mean()
        assert result.scores[s, 1].item() == pytest.approx(error.item(), rel=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_an_interrupted_run_goes_on_bit_for_bit(digits, tmp_path, rule):
    stream, uninterrupted = setup(digits)
    scores = run(uninterrupted, RULES[rule](uninterrupted), stream, tasks=6, progress=False).scores
    path = tmp_path / "run.pt"
    for tasks in (2, 6):  # two processes: nothing but the file is handed on
        _, ensemble = setup(digits)
        result = run(ensemble, RULES[rule](ensemble), stream, tasks=tasks, progress=False, checkpoint=path, every=0.0)
    assert torch.equal(result.scores, scores)
    for mine, theirs in zip(ensemble.parameters(), uninterrupted.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_an_interrupted_run_of_networks_with_dropout_goes_on_bit_for_bit(digits, tmp_path):
    stream, runs = setup(digits)[0], []
    for path, lengths in (("whole", [4]), ("parts", [2, 4])):
        for tasks in lengths:
            torch.manual_seed(3)
            nets = [nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.Dropout(0.5)) for _ in range(2)]
            ensemble = Ensemble(nets)
            runs.append(trained(stream, ensemble, RULES["sgd"](ensemble), tmp_path / path, tasks).scores)
    assert torch.equal(runs[0], runs[2])


def test_a_finished_run_is_read_from_its_checkpoint(digits, tmp_path):
    stream, ensemble = setup(digits)
    first = run(ensemble, RULES["sgd"](ensemble), stream, tasks=2, progress=False, checkpoint=tmp_path / "run.pt")
    _, untrained = setup(digits)
    again = run(untrained, RULES["sgd"](untrained), stream, tasks=2, progress=False, checkpoint=tmp_path / "run.pt")
    assert torch.equal(again.scores, first.scores) and again.seconds == pytest.approx(first.seconds, abs=0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def trained(stream, ensemble, rule, path, tasks=2, **options):
    return run(ensemble, rule, stream, tasks=tasks, progress=False, checkpoint=path, **options)


def shifted(outputs, y):
    return online.accuracy(outputs, y) + 1


class Tempered:
    """A loss that is an object with a setting."""

    def __init__(self, temperature):
        self.temperature = temperature

    def __call__(self, outputs, y):
        return cross_entropy(outputs / self.temperature, y)


def closing_over(factor):
    return lambda outputs, y: factor * cross_entropy(outputs, y)


CHANGES = {
    "rule.param_groups.0.lr = 0.1 there, 0.2": {"rule": lambda e: torch.optim.SGD(e.parameters(), lr=0.2)},
    "rule.param_groups.0.momentum = 0 there, 0.9": {
        "rule": lambda e: torch.optim.SGD(e.parameters(), lr=0.1, momentum=0.9)
    },
    "rule.class = 'torch.optim.sgd.SGD' there, 'torch.optim.adam.Adam'": {
        "rule": lambda e: torch.optim.Adam(e.parameters(), lr=0.1)
    },
    "rule.noise = nothing there, 0.001": {"rule": RULES["shrink and perturb"]},
    "network.modules = ": {"hidden": (16, 16, 16)},
    "network.tensors.stacked.1.weight = 'float32 (2, 16, 64) ": {"scale": 2.0},
    "2 tasks there, 1 here": {"options": {"tasks": 1}},
    "stream.seeds.1 = 1 there, 2": {"seeds": (0, 2)},
    "stream.batch_size = 16 there, 8": {"stream": {"batch_size": 8}},
    "stream.steps = 20 there, 10": {"stream": {"examples": 160}},
    "stream.relabel = True there, False": {"stream": {"relabel": False}},
    "stream._x = 'float32 (1797, 64) ": {"pixels": 3},
    "loss.class = nothing there, 'test_online.Tempered'": {"options": {"loss": Tempered(2.0)}},
    "loss.function = nothing there, 'test_online.closing_over": {"options": {"loss": closing_over(2.0)}},
    "score = 'lossnav.lab.streams.online.accuracy' there, nothing here": {"options": {"score": shifted}},
    "clip = None there, 1.0": {"options": {"clip": 1.0}},
}


@pytest.mark.parametrize("named", CHANGES)
def test_a_run_that_would_give_other_numbers_is_not_continued(digits, tmp_path, named):
    """Each of them was resumed with the other run's scores before."""
    path, change = tmp_path / "run.pt", CHANGES[named]
    stream, ensemble = setup(digits)
    first = trained(stream, ensemble, RULES["sgd"](ensemble), path)
    before = path.read_bytes()
    images = digits
    if "pixels" in change:
        images = replace(digits, train=replace(digits.train, x=digits.train.x + change["pixels"]))
    stream = Permuted(images, change.get("seeds", (0, 1)), **{"examples": 320, **change.get("stream", {})})
    changed = networks.perceptrons(64, change.get("hidden", (16, 16)), 10, seeds=(0, 1))
    with torch.no_grad():
        changed.stacked[1].weight *= change.get("scale", 1.0)
    rule = change.get("rule", RULES["sgd"])(changed)
    with pytest.raises(ValueError, match=r"run\.pt' belongs to another run: .*" + re.escape(named)):
        trained(stream, changed, rule, path, **{"tasks": 3, **change.get("options", {})})
    assert path.read_bytes() == before
    stream, same = setup(digits)
    assert torch.equal(trained(stream, same, RULES["sgd"](same), path).scores, first.scores)


@pytest.mark.parametrize("loss", [Tempered, closing_over])
def test_settings_within_a_loss_are_compared_too(digits, tmp_path, loss):
    stream, ensemble = setup(digits)
    trained(stream, ensemble, RULES["sgd"](ensemble), tmp_path / "run.pt", loss=loss(2.0))
    stream, ensemble = setup(digits)
    with pytest.raises(ValueError, match=r"another run: loss\..* = 2\.0 there, 3\.0 here"):
        trained(stream, ensemble, RULES["sgd"](ensemble), tmp_path / "run.pt", loss=loss(3.0))
    stream, ensemble = setup(digits)
    trained(stream, ensemble, RULES["sgd"](ensemble), tmp_path / "run.pt", loss=loss(2.0))


def test_a_member_that_diverges_is_reported_and_hurts_no_other(digits):
    stream, ensemble = setup(digits)
    with torch.no_grad():
        ensemble.stacked[1].weight[0] *= 1e30
    result = run(ensemble, RULES["sgd"](ensemble), stream, tasks=2, progress=False)
    assert result.finite.tolist() == [False, True]
    _, alone = setup(digits)
    assert torch.equal(run(alone, RULES["sgd"](alone), stream, tasks=2, progress=False).scores[1], result.scores[1])


def test_first_and_last_are_means_over_tenths():
    scores = torch.arange(40.0).view(2, 20)
    result = online.Online(scores, torch.tensor([True, True]), 1.0)
    assert result.first().tolist() == [0.5, 20.5] and result.last().tolist() == [18.5, 38.5]
    assert result.last(0.01).tolist() == [19.0, 39.0]
    with pytest.raises(ValueError, match="share = 0"):
        result.first(0.0)


def test_members_and_seeds_must_agree(digits):
    stream, _ = setup(digits)
    _, larger = setup(digits, (0, 1, 2))
    with pytest.raises(ValueError, match="the ensemble has 3 members, but the stream has 2 seeds"):
        run(larger, RULES["sgd"](larger), stream, tasks=1, progress=False)


def test_networks_are_he_uniform():
    ensemble = networks.perceptrons(64, (400, 30), 10, seeds=(0, 1, 2))
    for layer, inputs in zip((1, 3, 5), (64, 400, 30), strict=True):
        weight = ensemble.stacked[layer].weight
        bound = math.sqrt(6 / inputs)
        assert 0.97 * bound < weight.abs().max() <= bound * (1 + 1e-6)
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert ensemble.stacked[layer].bias.abs().max() == 0
    assert not torch.equal(ensemble.stacked[1].weight[0], ensemble.stacked[1].weight[1])
