"""Experiments as values: round trips, commands that mean themselves, and runs equal to the loop called directly."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest

from lossnav import data, experiment, models, optim, records, training
from lossnav.cli.entry import parser
from lossnav.cli.train import settings
from lossnav.lab.experiment import Experiment

CASES = [
    Experiment(),
    Experiment(data="digits", optimizer="sgd", lr=0.1, options={"momentum": 0.9, "nesterov": True}, seed=7, clip=None),
    Experiment(optimizer="belief", options={"betas": (0.9, 0.99), "variance": "centred", "lr_overdamped": math.inf}),
    Experiment(
        data="cifar10", model="cnn", augment=True, epochs=25, precision="bfloat16", memory_format="channels_last"
    ),
    Experiment(model_options={"hidden": [64, 32]}, train_size=500, test_size=100, device="cpu", compile=True),
    Experiment(data="digits", stream="permuted", stream_options={"relabel": False}, tasks=3, seed=(0, 4), clip=None),
    Experiment(data="bits", stream="bits", loss="squared_error", tasks=2, batch_size=1, seed=(5,), validation=None),
    Experiment(data="digits", validation=200),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command())
def test_the_command_and_the_config_mean_the_same_experiment(case):
    words = shlex.split(case.command())
    assert words[0] == "lossnav"
    parsed = Experiment.of(settings(parser().parse_args(words[1:])))
    stored = Experiment.of(json.loads(json.dumps(case.config(), allow_nan=False)))
    assert parsed.key() == stored.key() == case.key()
    assert parsed.command() == case.command()


def test_keys_tell_experiments_apart():
    cases = [
        Experiment(seed=1), Experiment(lr=0.1), Experiment(options={"beta": 0.9}), Experiment(options={"beta": 0.99}),
        Experiment(model_options={"hidden": [4]}), Experiment(clip=None), *CASES,
    ]  # fmt: skip
    assert len({case.key() for case in cases}) == len(cases)
    numbers = Experiment(lr=1, clip=np.float32(1), seed=np.int64(1), epochs=np.int32(2))
    assert numbers.key() == Experiment(lr=1.0, clip=1.0, seed=1, epochs=2).key()
    assert Experiment(options={"a": 1, "b": 2}).key() == Experiment(options={"b": 2, "a": 1}).key()


CNN = Experiment(data="digits", model="cnn", train_size=64, test_size=20)
SAME = [
    (Experiment(), Experiment(device="cpu")),
    (Experiment(), Experiment(precision="float32", memory_format="contiguous")),
    (CNN, replace(CNN, memory_format="channels_last", device="cpu")),
    (CNN, CNN.settled()),
    (CASES[-2], replace(CASES[-2], seed=5)),
]


@pytest.mark.parametrize("pair", SAME)
def test_what_changes_no_number_is_no_part_of_the_identity(pair):
    first, second = pair
    assert first != second and first.identity() == second.identity() and first.key() == second.key()


def test_the_precision_is_the_one_that_was_used():
    assert CNN.settled().precision in ("float32", "bfloat16") and Experiment().settled() == Experiment()
    keys = {replace(CNN, precision=precision).key() for precision in ("float32", "bfloat16")}
    assert len(keys) == 2 and CNN.key() in keys
    record = experiment.run(CNN)
    assert record.config["precision"] == record.results[0]["settings"]["precision"] == CNN.settled().precision
    assert Experiment.of(record.config).key() == CNN.key()


@pytest.mark.parametrize("model", experiment.MODELS)
def test_only_models_with_convolutions_leave_the_precision_to_the_device(model):
    network = experiment.make_model(Experiment(data="digits", model=model), data.load("digits"))
    convolutions = any(type(layer).__name__ == "Conv2d" for layer in network.modules())
    assert (Experiment(data="digits", model=model).settled().precision != "auto") == convolutions


def test_validation_is_the_end_of_the_training_images():
    digits = data.load("digits")
    case = Experiment(data="digits", validation=137, train_size=1000, model_options={"hidden": [16]})
    split = replace(
        digits,
        train=digits.train.head(1000),
        test=replace(digits.train, x=digits.train.x[-137:], y=digits.train.y[-137:]),
    )
    plain = experiment.run(replace(case, validation=None, train_size=None), dataset=split).results[0]
    validated = experiment.run(case, dataset=digits).results[0]
    assert {**validated, "seconds": 0} == {**plain, "seconds": 0}
    with pytest.raises(ValueError, match=r"validation = 1437, but it must be .* <= 1436"):
        experiment.run(replace(case, validation=1437))


def test_a_run_is_the_loop_with_these_settings():
    case = Experiment(
        data="digits", optimizer="ballistic", lr=2e-3, options={"beta": 0.99}, model_options={"hidden": [16]}, epochs=2,
        batch_size=50, seed=3, augment=True, train_size=400, test_size=100,
    )  # fmt: skip
    record = experiment.run(case)
    digits = data.load("digits").head(400, 100)
    model = models.mlp(64, (16,), 10, seed=3)
    rule = optim.Ballistic(model.parameters(), lr=2e-3, beta=0.99, bias_correction=False, fused=False)
    history = training.train(
        model, digits, rule, epochs=2, batch_size=50, seed=3, augment=data.CropFlip(), progress=False
    )
    (result,) = record.results
    assert result["train_loss"] == [round(x, 6) for x in history.train_loss]
    assert result["test_accuracy"] == [round(x, 6) for x in history.test_accuracy]
    assert result["settings"] == history.settings and "diverged" not in result
    assert record.config == case.config() and record.seeds == [3] and record.command == case.command()
    assert record.data["label"] == digits.provenance.label


def test_a_run_that_diverges_has_a_record_that_can_be_stored(tmp_path):
    case = Experiment(data="digits", optimizer="sgd", lr=1e30, clip=None, train_size=400)
    record = experiment.run(case)
    assert record.results[0]["diverged"] >= 1 and record.results[0]["test_accuracy"] == []
    records.save(tmp_path / "run.json", record)
    assert records.load(tmp_path / "run.json") == record


@pytest.mark.parametrize("name", experiment.OPTIMIZERS)
def test_every_optimizer_can_be_named(name):
    of_streams = {"continual backprop": {"rate": 0.1}, "utility perturbed": {"noise": 1e-3}}
    if name in of_streams:
        case = Experiment(data="digits", optimizer=name, options=of_streams[name], lr=0.1)
        with pytest.raises(ValueError, match=f"optimizer = '{name}' is for streams of tasks"):
            experiment.run(case)
        streamed = experiment.run(replace(case, stream="permuted", tasks=1, batch_size=16))
        assert streamed.results[0]["finite"] and len(streamed.results[0]["scores"]) == 1
        return
    options = {"lr": 0.1, "options": {"seed": 0}} if name == "shrink and perturb" else {}
    record = experiment.run(Experiment(data="digits", optimizer=name, train_size=200, test_size=50, **options))
    assert record.results[0]["settings"]["optimizer"].lower() == name.replace("shrink and", "shrinkand").replace(
        " ", ""
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [("mlp", {"hidden": [16]}), ("cnn", {}), ("resnet", {"blocks": 1, "width": 8}), ("vit", {"depth": 1, "width": 16})],
)
def test_every_model_can_be_named(name, options):
    case = Experiment(data="digits", model=name, model_options=options, epochs=2, train_size=200, test_size=50)
    digits = data.load("digits").head(200, 50)
    model = experiment.make_model(case, digits)
    assert model(digits.test.batch(slice(None))[0]).shape == (50, 10)
    curves = experiment.run(case).results[0]
    assert curves["train_loss"][1] < curves["train_loss"][0] and "diverged" not in curves


def test_only_models_that_need_square_images_ask_for_them():
    digits = data.load("digits").head(20, 20)
    flat = replace(digits, train=replace(digits.train, x=digits.train.x[:, :, :4]))
    assert experiment.make_model(Experiment(model="resnet"), flat)(flat.train.batch(slice(None))[0]).shape == (20, 10)
    for name in ("cnn", "vit"):
        with pytest.raises(ValueError, match=f"model = '{name}' needs square images .* mnist have shape .1, 4, 8"):
            experiment.make_model(Experiment(model=name), flat)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"data": "imagenet"}, "data = 'imagenet'.*'mnist'"),
        ({"optimizer": "lion"}, "optimizer = 'lion'.*'ballistic'"),
        ({"model": "rnn"}, "model = 'rnn'.*'resnet', 'vit'"),
        ({"seed": 2**63}, "seed = 9223372036854775808, but it must be .* <= 9223372036854775807"),
        ({"rate": 0.1}, "setting = 'rate'.*'lr'"),
        ({"tasks": 3}, "tasks = 3, but stream = 'iid' has no tasks"),
        ({"seed": [0, 1]}, r"seed = \(0, 1\).*whole number for stream = 'iid'"),
        ({"seed": [0, 0], "stream": "permuted", "tasks": 1}, "its entries must differ"),
        ({"stream": "permuted"}, "tasks = None.*whole number"),
        ({"stream": "permuted", "tasks": 1, "epochs": 2}, "epochs = 2, but it must be 1 for stream = 'permuted'"),
        ({"stream": "permuted", "tasks": 1, "model": "cnn"}, "model = 'cnn', but it must be mlp for stream"),
        ({"stream": "permuted", "tasks": 1, "loss": "squared_error"}, "loss = 'squared_error'.*'cross_entropy'"),
        ({"stream": "bits", "tasks": 1, "loss": "squared_error"}, "data = 'mnist', but it must be 'bits'"),
        ({"data": "bits"}, "data = 'bits', but it must be 'bits' for stream = 'bits' and for no other"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        Experiment.of(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"options": {"beta1": 0.9}}, "options has 'beta1', but Ballistic takes: beta"),
        ({"model_options": {"depth": 3}}, "model_options has 'depth', but mlp takes: hidden"),
        ({"model_options": {"hidden": 5}}, "hidden = 5, but it must be a list of widths"),
        ({"model_options": {"hidden": [8, 2.5]}}, r"hidden\[1\] = 2.5"),
        ({"train_size": 99_999}, "train_size = 99999, but it must be a whole number >= 1 and <= 1437"),
        ({"test_size": 361}, "test_size = 361, but it must be .* <= 360"),
    ],
)
def test_what_the_run_cannot_use_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        experiment.run(Experiment(data="digits", **values))
