"""Precision and memory format: what "auto" chooses and says, and that neither changes what is computed."""

from __future__ import annotations

import pytest
import torch
from resources import need_torchs_compiler
from torch import nn

from lossnav import data, models, training
from lossnav.lab.models.weights import seeded
from lossnav.lab.training import arithmetic

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def digits():
    return data.load("digits").head(400, 200)


def network(seed):
    return seeded(lambda: nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10),
    ), seed)  # fmt: skip


def train(digits, seed=0, rule=torch.optim.Adam, lr=3e-3, **options):
    model = network(seed)
    optimizer = rule(model.parameters(), lr=lr)
    return model, training.train(
        model, digits, optimizer, epochs=4, batch_size=50, seed=seed, progress=False, device="cpu", **options
    )


@pytest.mark.parametrize(
    ("found", "name"), [({"avx512_bf16": True, "amx_bf16": True}, "AMX"), ({"avx512_bf16": True}, "AVX512-BF16")]
)
def test_auto_takes_bfloat16_for_convolutions_where_the_processor_has_it(monkeypatch, found, name):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    chosen = arithmetic.choose(models.cnn(seed=0), CPU, "auto", "auto", False)
    assert (chosen.precision, chosen.memory_format) == ("bfloat16", "channels_last") and name in chosen.reason
    dense = arithmetic.choose(models.mlp(seed=0), CPU, "auto", "auto", False)
    assert (dense.precision, dense.memory_format) == ("float32", "contiguous") and "no convolutions" in dense.reason


@pytest.mark.parametrize("found", [{}, {"avx512_bf16": False}, {"avx512_f": True}])
def test_auto_stays_in_float32_on_other_processors(monkeypatch, found):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    chosen = arithmetic.choose(models.cnn(seed=0), CPU, "auto", "auto", False)
    assert (chosen.precision, chosen.memory_format) == ("float32", "channels_last")
    assert "no units for bfloat16" in chosen.reason


def test_the_flags_agree_with_the_kernel_s():
    """Against another witness: what Linux says that the processor can do."""
    from pathlib import Path

    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists() or not hasattr(torch.cpu, "get_capabilities"):
        pytest.skip("this machine tells its flags otherwise")
    flags = next((line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), "").split()
    assert (training.bfloat16_units(CPU) is not None) == ("avx512_bf16" in flags or "amx_bf16" in flags)


@pytest.mark.slow
def test_channels_last_in_float32_is_the_same_run(digits):
    """With SGD: Adam's first steps are ±lr whatever the gradient's size, so they magnify how sums are rounded."""
    options = {"rule": torch.optim.SGD, "lr": 0.05, "precision": "float32"}
    plain, first = train(digits, memory_format="contiguous", **options)
    reordered, second = train(digits, memory_format="channels_last", **options)
    assert reordered[2].weight.is_contiguous(memory_format=torch.channels_last) and plain[2].weight.is_contiguous()
    assert first.step_loss == pytest.approx(second.step_loss, rel=1e-3)
    assert (second.settings["precision"], second.settings["memory_format"]) == ("float32", "channels_last")
    optimizer = torch.optim.SGD(reordered.parameters(), lr=0.05)
    again = training.train(
        reordered, digits, optimizer, epochs=1, seed=0, progress=False, device="cpu", memory_format="contiguous"
    )
    assert again.settings["memory_format"] == "contiguous" and reordered[2].weight.is_contiguous()


def test_convolutions_of_two_and_of_three_dimensions_in_one_model(digits):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.flat, self.deep, self.last = nn.Conv2d(1, 2, 3), nn.Conv3d(1, 2, 1), nn.Linear(144, 10)

        def forward(self, x):
            return self.last(self.deep(self.flat(x).unsqueeze(1)).flatten(1))

    model = Both()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = training.train(model, digits, optimizer, epochs=1, seed=0, progress=False, device="cpu")
    assert history.settings["memory_format"] == "channels_last"
    assert model.flat.weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.slow
def test_bfloat16_products_keep_weights_gradients_and_accuracy(digits):
    """Products round to 8 bits, 0.4 %: the losses differ by about that, and the accuracy by less than over seeds."""
    dtypes = set()

    class Watching(torch.optim.Adam):
        def step(self, closure=None):
            dtypes.update((p.dtype, p.grad.dtype) for group in self.param_groups for p in group["params"])
            return super().step(closure)

    model = network(0)
    optimizer = Watching(model.parameters(), lr=3e-3)
    history = training.train(
        model, digits, optimizer, epochs=4, batch_size=50, seed=0, progress=False, device="cpu", precision="bfloat16"
    )
    assert dtypes == {(torch.float32, torch.float32)}
    _, exact = train(digits, precision="float32")
    assert history.step_loss != exact.step_loss
    assert history.step_loss[:8] == pytest.approx(exact.step_loss[:8], rel=0.02)
    accuracies = [train(digits, seed, precision="float32")[1].test_accuracy[-1] for seed in (1, 2, 3)]
    spread = max([*accuracies, exact.test_accuracy[-1]]) - min([*accuracies, exact.test_accuracy[-1]])
    assert abs(history.test_accuracy[-1] - exact.test_accuracy[-1]) <= max(spread, 0.02)


def test_products_in_bfloat16_use_the_weights_of_this_step(digits):
    """Autocast remembers rounded weights as long as its context lasts: a stale one would freeze the model."""
    model, history = train(digits, precision="bfloat16")
    x, y = digits.test.batch(slice(None))
    fresh = nn.functional.cross_entropy(model(x), y).item()
    assert fresh == pytest.approx(history.test_loss[-1], rel=0.05)
    assert history.test_loss[-1] < 0.5 * history.step_loss[0]


@pytest.mark.slow
def test_compiled_training_is_the_same_run(digits):
    """Through the compiler of the machine; all batches are of one size, so that it has one graph to compile."""
    need_torchs_compiler()
    subset = digits.head(384, 200)
    small = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    state = {name: value.clone() for name, value in small.state_dict().items()}
    curves = []
    for compiled in (False, True):
        small.load_state_dict(state)
        optimizer = torch.optim.SGD(small.parameters(), lr=0.1)
        history = training.train(
            small, subset, optimizer, epochs=2, batch_size=64, seed=0, progress=False, device="cpu", compile=compiled
        )
        curves.append(history)
    assert curves[1].step_loss == pytest.approx(curves[0].step_loss, rel=1e-4)
    assert curves[1].settings["compile"] and len(curves[1].step_loss) == 12
