"""The loop, against a plain one written here, and what it does when a run goes wrong."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from lossnav import data, models, optim, training


def small(seed=0):
    return models.mlp(64, (32,), 10, seed=seed)


def weights(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def run(model, digits, *, lr=0.1, **options):
    options = {"epochs": 2, "batch_size": 50, "seed": 0, "progress": False, **options}
    return training.train(model, digits, torch.optim.SGD(model.parameters(), lr=lr), **options)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_equals_a_plain_loop(digits, clip):
    model, plain = small(), small()
    history = run(model, digits, clip=clip)
    x, y = digits.train.batch(slice(None))
    generator = torch.Generator().manual_seed(0)
    step_loss, epoch_loss, accuracy = [], [], []
    for _ in range(2):
        total = 0.0
        for index in torch.randperm(1437, generator=generator).split(50):
            value = nn.functional.cross_entropy(plain(x[index]), y[index])
            gradient = torch.autograd.grad(value, list(plain.parameters()))
            norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in gradient))
            scale = 1.0 if clip is None or norm <= clip else clip / norm
            with torch.no_grad():
                for p, g in zip(plain.parameters(), gradient, strict=True):
                    p -= 0.1 * scale * g
            step_loss.append(value.item())
            total += value.item() * len(index)
        epoch_loss.append(total / 1437)
        with torch.no_grad():
            tx, ty = digits.test.batch(slice(None))
            accuracy.append((plain(tx).argmax(1) == ty).double().mean().item())
    torch.testing.assert_close(weights(model), weights(plain), rtol=1e-4, atol=1e-5)
    assert history.step_loss == pytest.approx(step_loss, rel=1e-4)
    assert history.train_loss == pytest.approx(epoch_loss, rel=1e-4)
    assert history.test_accuracy == pytest.approx(accuracy, abs=1.5 / 360)
    assert len(history.seconds) == 2 and min(history.seconds) > 0


def test_augmented_training_equals_a_plain_loop(digits):
    """The order is drawn first, then all shifts of the epoch; batch k gets rows 50k … of the shifts."""
    augment = data.CropFlip(pad=1)
    model, plain = small(), small()
    history = run(model, digits, augment=augment, clip=None)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(2):
        order = torch.randperm(1437, generator=generator)
        shifts = augment.draw(1437, generator)
        images = augment(digits.train.x[order], shifts)
        x = (images.float() / 16 - digits.train.mean[0]) / digits.train.std[0]
        for a, b in zip(x.split(50), digits.train.y[order].split(50), strict=True):
            value = nn.functional.cross_entropy(plain(a), b)
            gradient = torch.autograd.grad(value, list(plain.parameters()))
            with torch.no_grad():
                for p, g in zip(plain.parameters(), gradient, strict=True):
                    p -= 0.1 * g
            losses.append(value.item())
    assert history.step_loss == pytest.approx(losses, rel=1e-4)
    assert history.settings["augment"] == "CropFlip(pad=1, flip=True)"
    torch.testing.assert_close(weights(model), weights(plain), rtol=1e-4, atol=1e-5)


def test_a_seed_fixes_the_run_whatever_torch_s_global_generator_does(digits):
    results = []
    for seed, disturbance in ((0, 1), (0, 2), (1, 1)):
        torch.manual_seed(disturbance)
        model = small()
        results.append((run(model, digits, seed=seed).step_loss, weights(model)))
    assert results[0][0] == results[1][0] and torch.equal(results[0][1], results[1][1])
    assert results[0][0] != results[2][0]


def test_workers_do_not_change_results(digits):
    def job(seed):
        model = small(seed)
        rule = optim.Ballistic(model.parameters(), lr=1e-3)
        history = training.train(model, digits, rule, epochs=2, seed=seed, progress=False)
        return history.step_loss, weights(model)

    threads = torch.get_num_threads()
    alone = training.in_parallel(job, range(4), workers=1)
    together = training.in_parallel(job, range(4), workers=4)
    assert torch.get_num_threads() == threads
    for (a, v), (b, w) in zip(alone, together, strict=True):
        assert a == b and torch.equal(v, w)


def test_workers_run_at_the_same_time_in_order_and_raise():
    meet = threading.Barrier(3, timeout=600)

    def job(k):
        meet.wait()
        return k * k

    assert training.in_parallel(job, range(3), workers=3) == [0, 1, 4]
    with pytest.raises(ZeroDivisionError):
        training.in_parallel(lambda k: 1 / k, [1, 0, 2], workers=2)
    with pytest.raises(ValueError, match="workers = 0"):
        training.in_parallel(abs, [1], workers=0)


def test_a_run_that_diverges_stops_with_its_history_and_its_last_good_weights(digits):
    model, twin = small(), small()
    with pytest.raises(training.Diverged, match=r"SGD with lr = 1e\+30 diverged: after step \d+ the loss is") as caught:
        run(model, digits, lr=1e30, clip=None)
    error = caught.value
    assert error.good_step == 0 and torch.equal(weights(model), weights(twin))
    assert len(error.history.step_loss) == error.step + 1
    assert math.isfinite(error.history.step_loss[0]) and not math.isfinite(error.history.step_loss[-1])
    assert error.history.train_loss == []


def test_a_late_divergence_goes_back_to_the_last_check(digits):
    """The loss turns NaN in step 180 of 288 a pass (batches of 5): the state is that of step 100, bit for bit."""
    calls = 0

    def poisoned(logits, labels):
        nonlocal calls
        calls += 1
        value = nn.functional.cross_entropy(logits, labels)
        return value * math.nan if calls == 181 else value

    def momentum(model):
        return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    model, twin = small(), small()
    optimizer = momentum(model)
    with pytest.raises(training.Diverged) as caught:
        training.train(model, digits, optimizer, epochs=1, batch_size=5, seed=0, progress=False, loss=poisoned)
    assert (caught.value.step, caught.value.good_step) == (180, 100)
    assert len(caught.value.history.step_loss) == 181

    index = torch.randperm(1437, generator=torch.Generator().manual_seed(0))[:500]
    twin_optimizer = momentum(twin)
    for batch in index.split(5):
        x, y = digits.train.batch(batch)
        twin_optimizer.zero_grad()
        nn.functional.cross_entropy(twin(x), y).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 5.0)
        twin_optimizer.step()
    assert torch.equal(weights(model), weights(twin))
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(optimizer.state[p]["momentum_buffer"], twin_optimizer.state[q]["momentum_buffer"])


def test_weights_that_overflow_in_the_last_step_are_noticed(digits):
    """All losses are finite, but the step after the last one is not."""
    model = small()
    with pytest.raises(training.Diverged, match="after step 1 a weight is not finite"):
        run(model, digits, lr=math.inf, clip=None, batch_size=2000)
    assert torch.isfinite(weights(model)).all()


def test_a_test_loss_that_is_not_finite_ends_the_run_before_the_epoch(digits):
    """Training losses and weights are finite, but a record could hold no such curve."""

    class Overflows(nn.Sequential):
        def forward(self, x):
            return super().forward(x) * (1.0 if self.training else math.inf)

    model = Overflows(nn.Flatten(), nn.Linear(64, 10))
    before = weights(model)
    with pytest.raises(training.Diverged, match=r"after step 29 the test loss is nan\. .* back at step 0") as caught:
        run(model, digits)
    assert (caught.value.step, caught.value.good_step) == (29, 0) and torch.equal(weights(model), before)
    history = caught.value.history
    assert len(history.step_loss) == 29 and history.train_loss == history.test_loss == history.seconds == []


def test_no_gradient_takes_memory_during_the_forward_pass(digits):
    class Watching(nn.Sequential):
        def forward(self, x):
            assert not self.training or all(p.grad is None for p in self.parameters())
            return super().forward(x)

    run(Watching(nn.Flatten(), nn.Linear(64, 10)), digits)


def test_a_rule_that_asks_for_the_loss_is_refused(digits):
    model = small()
    with pytest.raises(ValueError, match=r"^optimizer = LBFGS asks for the loss"):
        training.train(model, digits, torch.optim.LBFGS(model.parameters()), epochs=1, seed=0, progress=False)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_that_a_generator_does_not_take_is_named(digits, seed):
    with pytest.raises(ValueError, match=f"^seed = {seed}, but it must be"):
        run(small(), digits, seed=seed)


def test_empty_splits_are_named(digits):
    for name in ("train", "test"):
        split = getattr(digits, name)
        empty = replace(digits, **{name: replace(split, x=split.x[:0], y=split.y[:0])})
        with pytest.raises(ValueError, match=rf"^dataset\.{name} has no examples"):
            run(small(), empty)


def test_one_example_one_class_and_a_batch_that_is_larger_than_the_split(digits):
    single = digits.head(1, 1)
    history = run(small(), single, batch_size=10**6)
    assert len(history.step_loss) == 2 and history.train_loss == history.step_loss
    model = models.mlp(64, (8,), 1, seed=0)
    alone = replace(digits, train=replace(digits.train, y=torch.zeros_like(digits.train.y)))
    alone = replace(alone, test=replace(digits.test, y=torch.zeros_like(digits.test.y)))
    history = run(model, alone)
    assert history.test_accuracy == [1.0, 1.0] and history.test_loss == [0.0, 0.0]


def test_numpy_s_numbers_are_numbers(digits):
    history = run(small(), digits, epochs=np.int64(1), batch_size=np.int32(50), seed=np.uint8(3), clip=np.float32(5))
    assert history.step_loss == run(small(), digits, epochs=1, seed=3).step_loss
    assert json.loads(json.dumps(history.settings)) == history.settings


def test_dropout_is_on_in_training_and_off_in_evaluation(digits):
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 10))
    history = run(model, digits)
    assert model.training
    x, y = digits.test.batch(slice(None))
    logits = model.eval()(x)
    assert history.test_loss[-1] == pytest.approx(nn.functional.cross_entropy(logits, y).item(), rel=1e-5)
    assert history.test_accuracy[-1] == pytest.approx((logits.argmax(1) == y).double().mean().item())


def test_the_bar_goes_to_stderr_and_can_be_off(digits, capfd):
    run(small(), digits)
    assert capfd.readouterr() == ("", "")
    run(small(), digits, progress=True)
    out, err = capfd.readouterr()
    assert out == "" and "58/58" in err and "test_accuracy" in err


def test_settings_and_record(digits):
    history = run(small(), digits, seed=7)
    assert history.settings == {
        "epochs": 2, "batch_size": 50, "seed": 7, "clip": 5.0, "device": training.pick_device().type,
        "data": "scikit-learn digits (8×8)", "optimizer": "SGD", "augment": None, "processes": 1,
        "precision": "float32", "memory_format": "contiguous", "compile": False,
        "arithmetic": "float32: no convolutions; contiguous: no convolutions",
    }  # fmt: skip
    record = history.record()
    assert record["test_accuracy"] == [round(a, 6) for a in history.test_accuracy] and "step_loss" not in record
