"""``lossnav analyse`` on a torch model that is written here, through the real command line."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import fresh
import pytest
import torch

from lossnav.cli import main

MINE = '''
import torch
from torch import nn


class Net(nn.Module):
    """A layer that a normalisation makes scale-invariant, and a residual one."""

    def __init__(self, width):
        super().__init__()
        self.inner, self.norm = nn.Linear(12, width, bias=False), nn.LayerNorm(width, elementwise_affine=False)
        self.outer = nn.Linear(width, 3)

    def forward(self, x):
        h = torch.tanh(self.norm(self.inner(x)))
        return self.outer(h + torch.sin(h))


def network(width=10):
    torch.manual_seed(3)
    return Net(width)


def normalised(width=10):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(12, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 3))


def examples():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(800, 12, generator=draw)
    return x, (x @ torch.randn(12, 3, generator=draw) / 2 + torch.randn(800, 3, generator=draw)).argmax(1)


def rows():
    return torch.utils.data.TensorDataset(*examples())


def nothing():
    return []


def loss(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets)
'''
SETTING = ["--eta", "0.02", "--beta", "0.9", "--batch-size", "32", "--decay", "0.005"]
DATA = "--data mine_analysed:examples"
MODEL = "network.pt --model mine_analysed:network"
QUICK = ["--steps", "1000", "--burn", "500", "--modes", "5", "--examples", "500"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, its data, and weights of both networks: fresh and trained."""
    place = tmp_path_factory.mktemp("analyse")
    (place / "mine_analysed.py").write_text(MINE)
    sys.path.insert(0, str(place))
    mine = importlib.import_module("mine_analysed")
    x, y = mine.examples()
    for name in ("network", "normalised"):
        model, draw = getattr(mine, name)(), torch.Generator().manual_seed(1)
        torch.save(model.state_dict(), place / f"{name}-fresh.pt")
        for eta, steps in ((0.1, 1000), (0.02, 1500)):  # by torch's own SGD
            rule = torch.optim.SGD(model.parameters(), lr=eta, momentum=0.9, weight_decay=0.005)
            for _ in range(steps):
                index = torch.randint(800, (32,), generator=draw)
                rule.zero_grad()
                mine.loss(model(x[index]), y[index]).backward()
                rule.step()
        checkpoint = {"model": model.state_dict(), "optimizer": rule.state_dict()}
        torch.save(checkpoint if name == "network" else model.state_dict(), place / f"{name}.pt")
    other = torch.optim.RMSprop(mine.network().parameters(), lr=0.01, momentum=0.9, weight_decay=0.1)
    torch.save({"model": mine.network().state_dict(), "optimizer": other.state_dict()}, place / "rmsprop.pt")
    torch.save(model, place / "whole.pt")
    yield place
    sys.path.remove(str(place))


def analyse(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return fresh.lossnav("analyse", *words, cwd=folder)


def rows_of(done: subprocess.CompletedProcess) -> dict[str, tuple[float, float]]:
    """Return the table that was printed: what was predicted and what was measured, by name."""
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(\S.*?)  +(\S+)  +(\S+)  +\S+$", done.stdout.split("predicted")[1], re.MULTILINE)
    return {name: (float(predicted), float(measured)) for name, predicted, measured in rows}


@pytest.mark.slow
def test_prediction_meets_measurement_on_a_users_own_network(folder):
    """η, β and λ come from the optimizer in the checkpoint; everything is predicted before the run."""
    done = analyse(folder, "network.pt", "--model", "mine_analysed:network", "--data", "mine_analysed:rows",
                   "--batch-size", "32", "--loss", "mine_analysed:loss", *QUICK)  # fmt: skip
    assert "setting        η = 0.02, β = 0.9, S = 32, λ = 0.005;" in done.stdout
    rows = rows_of(done)
    ratios = {name: measured / predicted for name, (predicted, measured) in rows.items()}
    assert 0.85 < ratios["speed |δ|² per step"] < 1.15
    assert 0.97 < ratios["angle per step of inner.weight"] < 1.03
    assert all(0.6 < ratio < 1.5 for name, ratio in ratios.items() if name.startswith("|θ(k+n)"))
    predicted, measured = next(row for name, row in rows.items() if name.startswith("exponent"))
    assert abs(measured - predicted) < 0.15 and predicted < 0.6
    assert 0.7 < next(ratio for name, ratio in ratios.items() if name.startswith("equipartition")) < 1.4


@pytest.mark.slow
def test_a_network_of_adamw_turns_as_its_setting_says(folder):
    """lr, betas and λ come from torch's own AdamW; the angle is √(2 lr λ(1−β₁)/(1+β₁))."""
    mine = sys.modules["mine_analysed"]
    model, (x, y), draw = mine.network(), mine.examples(), torch.Generator().manual_seed(2)
    rule = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.8, 0.99), weight_decay=1.0)
    for _ in range(3000):
        index = torch.randint(800, (32,), generator=draw)
        rule.zero_grad()
        mine.loss(model(x[index]), y[index]).backward()
        rule.step()
    torch.save({"model": model.state_dict(), "optimizer": rule.state_dict()}, folder / "adamw.pt")
    done = analyse(folder, "adamw.pt", "--model", "mine_analysed:network", "--data", "mine_analysed:examples",
                   "--batch-size", "32", *QUICK)  # fmt: skip
    rows = rows_of(done)
    assert "setting        AdamW, lr = 0.001, β₂ = 0.99: SGD in its coordinates with η = 0.0002," in done.stdout
    predicted, measured = rows["angle per step of inner.weight"]
    assert predicted == pytest.approx((2 * 1e-3 * 0.2 / 1.8) ** 0.5, rel=1e-3)
    assert 0.97 < measured / predicted < 1.03
    predicted, measured = rows["speed |δ|² per step"]
    assert 0.7 < measured / predicted < 1.4


@pytest.mark.slow
def test_a_table_for_people_and_a_network_with_batch_normalisation(folder):
    done = analyse(folder, "normalised.pt", "--model", "mine_analysed:normalised", "--model-option", "width=10",
                   "--data", "mine_analysed:examples", *SETTING, *QUICK)  # fmt: skip
    ratios = {name: measured / predicted for name, (predicted, measured) in rows_of(done).items()}
    assert 0.85 < ratios["speed |δ|² per step"] < 1.15 and 0.9 < ratios["angle per step of 0.weight"] < 1.1
    assert not any(name.startswith("exponent") for name in ratios) and "note: no curvature" in done.stdout


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.module.", "net."])
def test_what_wrappers_put_before_each_name_is_taken_off(folder, monkeypatch, capsys, prefix):
    state = torch.load(folder / "normalised.pt", weights_only=True)
    torch.save({"state_dict": {prefix + name: value for name, value in state.items()}}, folder / "wrapped.pt")
    monkeypatch.chdir(folder)
    words = f"wrapped.pt --model mine_analysed:normalised --model-option width=10 {DATA}"
    assert main(["analyse", *shlex.split(words)]) == 2
    assert "--batch-size" in capsys.readouterr().err  # is asked for once the weights fit


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (MODEL, 2, "data = None, but it must be one of"),
        (f"{MODEL} --data mine_analysed:nothing", 2, "data = 'mine_analysed:nothing' returned"),
        (f"{MODEL} {DATA}", 2, "--batch-size: not given"),
        (f"network.pt --model mine_analysed:net {DATA}", 2, "model = 'mine_analysed:net' is not found"),
        (f"network.pt --model elsewhere:net {DATA}", 2, "model = 'elsewhere:net' is not found"),
        (f"network.pt --model network {DATA}", 2, "model = 'network', but it must be one of"),
        (f"network.pt --model mlp {DATA}", 2, "with your data, name your own"),
        (f"network.pt --model mine_analysed:loss {DATA}", 2, "cannot be called so"),
        (f"network.pt --model mine_analysed:examples {DATA}", 2, "must be a torch module"),
        (f"network.pt --model mine_analysed:normalised {DATA}", 2, "does not fit --model"),
        (f"whole.pt --model mine_analysed:normalised {DATA}", 2, "save model.state_dict()"),
        (f"none.pt --model mine_analysed:network {DATA}", 1, "none.pt"),
        (f"{MODEL} {DATA} --train-size=-100", 2, "--train-size = -100, but it must be a whole number >= 1 and <= 800"),
        (f"{MODEL} {DATA} --train-size 801", 2, "--train-size = 801, but it must be"),
        (f"rmsprop.pt --model mine_analysed:network {DATA} --batch-size 8", 2, "--eta, --beta, --decay: not given"),
        (f"{MODEL} {DATA} --batch-size 8 --eta 9", 2, "unstable"),
        (f"{MODEL} {DATA} --batch-size 8 --beta 1", 2, "beta = 1.0"),
        (f"network-fresh.pt --model mine_analysed:network {DATA} --eta 0.002 --beta 0.9 --batch-size 64 --decay 0.005 "
         "--steps 600 --burn 64 --modes 3", 3, "the network is not at rest yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_analysed_says_why(folder, monkeypatch, capsys, words, code, message):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LOSSNAV_DATA", "")
    assert main(["analyse", *shlex.split(words)]) == code
    out, err = capsys.readouterr()
    assert message in err and out == "" and err.count("\n") == 1, err
