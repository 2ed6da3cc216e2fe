"""What can be seen only where there is a GPU: run there by ``make test`` like all others, skipped elsewhere.

LOSSNAV_TEST_DEVICE=cpu runs those that also hold on a CPU there, to try the tests themselves.
"""

from __future__ import annotations

import os

import pytest
import torch

from lossnav import data, ensemble, models, optim, training

DEVICE = os.environ.get("LOSSNAV_TEST_DEVICE", "cuda" if torch.cuda.is_available() else "")
pytestmark = pytest.mark.skipif(not DEVICE, reason="no CUDA device")


@pytest.fixture(scope="module")
def digits():
    return data.load("digits").head(512, 256)


def train(digits, *, make=None, epochs=2, seed=0, precision="float32", **options):
    model = models.cnn(1, 8, 10, seed=seed) if make is None else make(seed)
    optimizer = optim.Ballistic(model.to(DEVICE).parameters(), lr=1e-3, bias_correction=True)
    history = training.train(
        model, digits, optimizer, epochs=epochs, batch_size=64, seed=seed, progress=False, device=DEVICE,
        precision=precision, **options,
    )  # fmt: skip
    return model, history


def test_data_and_order_stay_on_the_device(digits):
    on_device = digits.to(DEVICE)
    x, y = on_device.train.batch(torch.arange(5, device=DEVICE))
    assert x.device.type == y.device.type == on_device.train.x.device.type == torch.device(DEVICE).type
    assert torch.allclose(x.cpu(), digits.train.batch(torch.arange(5))[0], atol=1e-6)


def test_a_step_of_a_network_is_that_of_the_cpu(digits, monkeypatch):
    """One step in float32: longer runs see their examples in the device's own order, and drift apart by rounding."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # torch's default rounds to 10 bits there
    moves = []
    for place in ("cpu", DEVICE):
        model = models.cnn(1, 8, 10, seed=0).to(place)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        subset = digits.head(64, 10)
        with torch.no_grad():
            before = [p.clone().cpu() for p in model.parameters()]
        training.train(
            model, subset, optimizer, epochs=1, batch_size=64, seed=0, progress=False, device=place,
            precision="float32",
        )  # fmt: skip
        moves.append([(p.detach().cpu() - b) for p, b in zip(model.parameters(), before, strict=True)])
    for on_cpu, on_device in zip(*moves, strict=True):
        assert torch.allclose(on_cpu, on_device, rtol=1e-3, atol=1e-6)


def test_compiled_runs_give_the_curve_of_eager_ones(digits):
    eager, compiled = train(digits)[1], train(digits, compile=True)[1]
    assert compiled.settings["compile"] and len(compiled.step_loss) == 16
    assert torch.allclose(torch.tensor(eager.step_loss), torch.tensor(compiled.step_loss), rtol=5e-3, atol=5e-4)


def test_coarser_products_learn_the_same(digits):
    exact = [train(digits, seed=seed, epochs=4)[1].test_accuracy[-1] for seed in range(3)]
    coarse = [train(digits, seed=seed, epochs=4, precision="bfloat16")[1].test_accuracy[-1] for seed in range(3)]
    assert sum(exact) / 3 > 0.8 and abs(sum(exact) - sum(coarse)) / 3 < 0.05


def test_a_run_that_is_cut_off_is_continued(digits, tmp_path):
    whole = train(digits, epochs=3, augment=data.CropFlip(1))[1]
    path = tmp_path / "state.pt"
    train(digits, epochs=2, augment=data.CropFlip(1), checkpoint=path)
    rest = train(digits, epochs=3, augment=data.CropFlip(1), checkpoint=path, resume=True)[1]
    assert torch.allclose(torch.tensor(whole.step_loss), torch.tensor(rest.step_loss), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rule", [optim.Ballistic, optim.Belief, optim.Navigator], ids=lambda rule: rule.__name__)
def test_fused_steps_are_those_of_foreach(rule, recwarn):
    generator = torch.Generator().manual_seed(3)
    grads = [torch.randn(3, 257, generator=generator) for _ in range(30)]
    ends = []
    for fused in (False, True):
        weights = torch.nn.Parameter(torch.ones(3, 257, device=DEVICE))
        optimizer = rule([weights], lr=1e-2, fused=fused)
        for grad in grads:
            weights.grad = grad.to(DEVICE)
            optimizer.step()
        ends.append(weights.detach().cpu())
    assert torch.allclose(*ends, rtol=1e-5, atol=1e-6)
    assert not [w for w in recwarn if "unfused" in str(w.message)]


def test_seeds_trained_together_agree_with_one_after_the_other(digits):
    def rule(parameters):
        return torch.optim.SGD(parameters, lr=0.1)

    members = [models.mlp(digits.inputs, (32,), seed=seed) for seed in range(4)]
    together = ensemble.train(members, digits, rule, epochs=2, seeds=range(4), device=DEVICE, progress=False)
    for seed, history in enumerate(together):
        model = models.mlp(digits.inputs, (32,), seed=seed).to(DEVICE)
        alone = training.train(
            model, digits, rule(model.parameters()), epochs=2, seed=seed, device=DEVICE, progress=False,
            precision="float32",
        )  # fmt: skip
        assert torch.allclose(torch.tensor(history.step_loss), torch.tensor(alone.step_loss), atol=1e-5)
