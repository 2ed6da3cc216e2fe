"""A model, data and an optimizer of the user's own: named by MODULE:FUNCTION, or by what is assumed."""

from __future__ import annotations

import shlex
import sys

import pytest
import torch

from lossnav import experiment, records
from lossnav.cli import main
from lossnav.lab.experiment import Experiment

MINE = """
import torch
from torch import nn

def network(width=6):
    return nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 3))

def dropping():
    return nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5), nn.Linear(6, 3))

def examples():
    x = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    return x, x[:, :3].argmax(1)

def rows():
    return list(zip(*examples()))

def targets():
    x, _ = examples()
    return x, x

def fewer():
    x, y = examples()
    return x, y[:150]

def signs():
    x, y = examples()
    return x, 2 * (y > 0).long() - 1

def wrong():
    return len(3)

number = 3
"""
WORDS = (
    "--data mine_own:examples --model mine_own:network --model-option width=8 --optimizer torch.optim:Adagrad --lr 0.1"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine_own.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_train_sweep_and_analyse_take_them(folder, capsys):
    train = ["train", *shlex.split(WORDS), "--epochs", "3", "--output", "run.json", "--checkpoint", "run.ckpt"]
    assert main([*train, "--quiet"]) == 0
    record = records.load("run.json")
    assert record.data["label"] == "mine_own:examples" and len(record.data["sha256"]["mine_own:examples"]) == 64
    assert record.results[0]["settings"]["optimizer"] == "Adagrad" and record.results[0]["test_accuracy"][-1] > 0.5
    assert shlex.split(record.command)[:2] == ["lossnav", "train"]
    again = experiment.run(Experiment.of(record.config))
    assert again.results[0]["train_loss"] == record.results[0]["train_loss"]
    assert main(["sweep", *shlex.split(WORDS), "--epochs", "3", "--seeds", "0,1", "--output", "runs", "--workers", "1",
                 "--quiet"]) == 0  # fmt: skip
    swept = sorted((records.load(path) for path in (folder / "runs").glob("*.json")), key=lambda run: run.seeds)
    assert swept[0].results[0]["train_loss"] == record.results[0]["train_loss"] != swept[1].results[0]["train_loss"]
    capsys.readouterr()
    analyse = ["analyse", "run.ckpt", "--data", "mine_own:rows", "--model", "mine_own:network", "--model-option"]
    assert main([*analyse, "width=8"]) == 2
    error = capsys.readouterr().err
    assert "run of Adagrad" in error and "--eta, --beta" in error and error.count("\n") == 1


def test_the_seed_fixes_a_network_with_dropout_and_torch_s_own_generator_stays(folder):
    dropping = Experiment(data="mine_own:examples", model="mine_own:dropping", optimizer="sgd", lr=0.1)
    curves = []
    for disturbance in (1, 2):
        torch.manual_seed(disturbance)
        curves.append(experiment.run(dropping).results[0]["train_loss"])
        drawn = torch.rand(3)
        assert torch.equal(drawn, torch.rand(3, generator=torch.Generator().manual_seed(disturbance)))
    assert curves[0] == curves[1]


def test_what_is_assumed_may_be_endless_a_number_or_a_list():
    from lossnav.lab.experiment.own import assumptions

    assert assumptions("derive:horizon=inf,gamma=-1.5,belief=[2, 'a']") == {
        "horizon": float("inf"), "gamma": -1.5, "belief": [2, "a"]
    }  # fmt: skip


def test_a_rule_is_derived_of_what_is_assumed():
    settings = Experiment(data="digits", optimizer="derive:gamma=1e-3,dt=0.01,belief=Filter(0.9)", train_size=100)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = experiment.make_optimizer(settings, [weight])
    import lossnav as ln

    rule = ln.derive(ln.Objective(gamma=1e-3), dt=0.01, belief=ln.assume.Filter(0.9))
    twin = torch.nn.Parameter(torch.ones(3))
    known = rule.optimizer([twin])
    for step in range(3):
        weight.grad = twin.grad = torch.tensor([1.0, -2.0, float(step)])
        optimizer.step()
        known.step()
    assert torch.equal(weight, twin) and not torch.equal(weight, torch.ones(3))


def test_an_optimizer_alone_is_looked_for_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "mine_alone.py").write_text("from torch.optim import SGD as rule")
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    weights = [torch.nn.Parameter(torch.ones(2))]
    made = experiment.make_optimizer(Experiment(optimizer="mine_alone:rule", lr=0.3), weights)
    assert type(made) is torch.optim.SGD and made.defaults["lr"] == 0.3
    for name in ("mine_alone:none", "nowhere:rule", "nowhere.at_all:rule"):
        with pytest.raises(ValueError, match=f"optimizer = '{name}' is not found from"):
            experiment.make_optimizer(Experiment(optimizer=name), weights)


def test_an_mlp_learns_inputs_of_any_shape_and_the_others_ask_for_images(folder):
    record = experiment.run(Experiment(data="mine_own:examples", optimizer="adam", lr=1e-2, epochs=3))
    assert record.results[0]["test_accuracy"][-1] > 0.5
    for name in ("cnn", "resnet", "vit"):
        with pytest.raises(ValueError, match=rf"model = '{name}' needs .*images .* shape \(5,\)"):
            experiment.run(Experiment(data="mine_own:examples", model=name))


@pytest.mark.parametrize(("values", "message"), [
    ({"optimizer": "lion"}, "optimizer = 'lion', but it must be one of .*'adam'.*MODULE:FUNCTION"),
    ({"model": "mine_own:"}, "model = 'mine_own:', but it must be one of"),
    ({"model": "mine_own:nothing"}, "model = 'mine_own:nothing' is not found from"),
    ({"model": "nowhere:network"}, "model = 'nowhere:network' is not found from"),
    ({"model": "mine_own:number"}, "is a int, but it must be a function"),
    ({"model": "mine_own:examples"}, "returned a tuple, but it must be a torch module"),
    ({"model": "mine_own:network", "model_options": {"depth": 3}}, "cannot be called so: .*depth"),
    ({"data": "mine_own:network"}, "data = 'mine_own:network' returned a Sequential, but it must be a pair"),
    ({"data": "mine_own:targets"}, r"targets \(200, 5\) of torch.float32, but .* labels \(N,\)"),
    ({"data": "mine_own:fewer"}, r"inputs \(200, 5\) and targets \(150,\) of torch.int64, but .* labels \(N,\)"),
    ({"data": "mine_own:signs"}, r"the label -1, but classes are counted from 0"),
    ({"optimizer": "torch.optim:Adagrad", "options": {"beta": 1}}, "options has 'beta', but Adagrad takes"),
    ({"optimizer": "derive:gamma=open('x')"}, "gamma=open.*derive:NAME=VALUE"),
    ({"optimizer": "derive:gamma"}, "must be derive:NAME=VALUE"),
    ({"optimizer": "derive:slope=1"}, "must be one of 'belief'"),
    ({"optimizer": "derive:gamma=1"}, "dt = None"),
])  # fmt: skip
def test_what_is_not_there_or_is_something_else_is_named(folder, values, message):
    with pytest.raises(ValueError, match=message):
        experiment.run(Experiment.of({"data": "digits", "train_size": 50, "test_size": 20, **values}))


def test_a_type_error_of_the_user_s_own_is_told_as_it_is(folder):
    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        experiment.run(Experiment(data="digits", model="mine_own:wrong"))
