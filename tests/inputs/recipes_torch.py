"""Recipes of what works on torch's tensors: models, data, training, ensembles, streams, curvature, optimizers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from bad_values import (
    INF,
    NAN,
    Argument,
    Odd,
    array,
    file,
    flag,
    function,
    items,
    number,
    positive,
    rate,
    tensor,
    text,
    thing,
    whole,
    word,
)
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from walk import Recipe

import lossnav as ln
from lossnav import continual, curvature, data, ensemble, models, moving, optim, training
from lossnav.lab import paired
from lossnav.lab.streams import contenders, networks

PIXELS = torch.arange(6 * 16, dtype=torch.uint8).view(6, 1, 4, 4)
LABELS = torch.tensor([0, 1, 0, 1, 0, 1])
SPLIT = data.Split(PIXELS, LABELS, 255.0, (0.5,), (0.2,))
WHERE = data.Provenance("made here", "nowhere", "none")
SET = data.Dataset("tiny", SPLIT, SPLIT, 2, WHERE)
MODEL = models.mlp(16, (4,), 2, seed=0)
OTHER = models.mlp(16, (4,), 2, seed=0)
SGD = torch.optim.SGD(MODEL.parameters(), lr=0.1)
STRANGE = torch.optim.SGD(OTHER.parameters(), lr=0.1)
PAIR = (torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), LABELS)
LINE = nn.Linear(4, 2)
HESSIAN = curvature.Hessian(LINE, cross_entropy, PAIR)
SIGMA = curvature.GradientCovariance(LINE, cross_entropy, PAIR)
MATRIX = curvature.Matrix(torch.eye(10))
PAIRS = curvature.eigenpairs(HESSIAN, 1)
SEVERAL = ensemble.Ensemble([models.mlp(16, (4,), 2, seed=s) for s in range(2)])
STACK = torch.optim.SGD(SEVERAL.parameters(), lr=0.1)
BITS = continual.BitFlipping((0, 1), inputs=4, slow=2, period=8, hidden=3)
SHUFFLED = continual.Permuted(SET, (0, 1), batch_size=2)
BITES = ensemble.Ensemble([models.mlp(4, (3,), 1, seed=s) for s in range(2)])
BITE = torch.optim.SGD(BITES.parameters(), lr=0.1)
ONLINE = continual.Online(torch.ones(2, 10), torch.ones(2, dtype=torch.bool), 0.0)
CROP = data.CropFlip(pad=1)
CHOICES = CROP.draw(2, torch.Generator().manual_seed(0))

seed = whole(0, low=-(2**63), high=2**64 - 1)
count = whole(2)
loss = function(cross_entropy)
device = Argument("cpu", [
    "x", "", b"cpu", "cpu:x", "cuda", "mps", "cuda:0", -1, 1.5, NAN, True, 1j, [], ["cpu"], (), {}, Odd(), len, int,
    10**400, torch.ones(2), Ellipsis,
])  # fmt: skip
optimizer = thing(SGD)
optimizer = Argument(optimizer.good, [*optimizer.bad, STRANGE])
batches = items([PAIR], bad=[[], [(PAIR[0], PAIR[1][:2])], [(PAIR[0][:0], PAIR[1][:0])], [PAIR[0]], PAIR[0]])
seeds = items((0, 1), bad=[(), (0.7, 1), (0, True), (0, 1j), (0, NAN), (0, -1), (0, "1")])
numbers = Argument((0, 1), [*seeds.bad[:-2], (0, 10**400), (0, "1")])


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {
        **_models(), **_data(), **_training(), **_ensembles(), **_streams(), **_studies(), **_operators(),
        **_moving(),
        **_optimizers()
    }  # fmt: skip


def _models() -> dict[str, Recipe]:
    sizes = {"channels": count, "outputs": count, "seed": seed}
    hidden = items((4, 3), bad=[(0,), (2, -1), (1.5,), (NAN,), (True,), (2, "3"), (10**5000 * -1,)])
    square = {"size": Argument(8, [*whole(8).bad, 6, 7])}
    return {
        "models.mlp": Recipe(models.mlp, {
            "inputs": count, "hidden": hidden, "outputs": count, "initial": word("he"), "seed": seed,
        }),
        "models.cnn": Recipe(models.cnn, sizes | square),
        "models.resnet": Recipe(models.resnet, sizes | {
            "blocks": whole(1), "width": Argument(4, [*whole(4).bad, 3]), "groups": Argument(2, [*whole(2).bad, 3])
        }),
        "models.vit": Recipe(models.vit, sizes | square | {
            "patch": Argument(4, [*whole(4).bad, 3]), "width": Argument(4, [*whole(4).bad, 3]), "depth": whole(1),
            "heads": Argument(2, [*whole(2).bad, 3]),
        }),
    }  # fmt: skip


def _data() -> dict[str, Recipe]:
    generator = thing(torch.Generator())
    numbers = [(), (1.0, 2.0), (NAN,), (INF,), ("0.5",), (1j,), (True,), (10**400,)]
    index = tensor(torch.tensor([0, 1]), bad=[torch.ones(2), 1j * torch.ones(2)])
    index = Argument(index.good, [value for value in index.bad if not isinstance(value, slice)])
    return {
        "data.Split": Recipe(data.Split, {
            "x": tensor(PIXELS, also=("y",), bad=[PIXELS[:3], PIXELS[0], PIXELS.flatten(), PIXELS.flatten(1)]),
            "y": tensor(LABELS, bad=[LABELS[:4], LABELS.float(), LABELS[:, None], LABELS.to(torch.complex64),
            LABELS[0]]),
            "scale": positive(255.0), "mean": items((0.5,), bad=numbers), "std": items((0.2,), bad=[*numbers, (0.0,),
            (-1.0,)]),
        }),
        "data.Split.batch": Recipe(SPLIT.batch, {"index": index, "change": function(None, none=True)}),
        "data.Split.head": Recipe(SPLIT.head, {"count": whole(2, high=6)}),
        "data.Split.to": Recipe(SPLIT.to, {"device": device}), "data.Dataset.to": Recipe(SET.to, {"device": device}),
        "data.Dataset": Recipe(data.Dataset, {
            "name": text("tiny"), "train": thing(SPLIT), "test": thing(SPLIT), "classes": count,
            "provenance": thing(WHERE)
        }),
        "data.Dataset.head": Recipe(SET.head, {"train": whole(2, high=6), "test": whole(2, high=6)}),
        "data.CropFlip": Recipe(data.CropFlip, {"pad": whole(1, low=0), "flip": flag(True)}),
        "data.CropFlip.draw": Recipe(CROP.draw, {"count": whole(2, low=0), "generator": generator}),
        "data.CropFlip.__call__": Recipe(CROP, {
            "pixels": tensor(PIXELS[:2], also=("choices",), bad=[PIXELS[0], PIXELS[:3]]),
            "choices": tensor(CHOICES, bad=[CHOICES[:1], CHOICES[:, :2], CHOICES.float(), CHOICES[0]]),
        }),
        "data.load": Recipe(data.load, {
            "name": word("digits"), "root": file(None), "download": flag(False),
            "cache": file(None),
        }),
    }  # fmt: skip


def _training() -> dict[str, Recipe]:
    module = thing(MODEL, but=(type,))
    augment = Argument(None, [*function(None, none=True).bad, len, int, Odd()])
    return {
        "training.train": Recipe(_train, {
            "model": module, "dataset": thing(SET), "optimizer": optimizer, "epochs": whole(1), "batch_size": count,
            "seed": whole(0, low=-(2**63), high=2**63 - 1), "clip": positive(5.0, none=True), "device": device,
            "progress": flag(False), "loss": loss, "augment": augment, "precision": word("float32"),
            "memory_format": word("contiguous"), "compile": flag(False),
            "checkpoint": file(None), "resume": flag(False), "distributed": flag(False),
        }),
        "training.pick_device": Recipe(training.pick_device, {"device": device}),
        "training.bfloat16_units": Recipe(training.bfloat16_units, {"place": thing(torch.device("cpu"))}),
        "training.in_parallel": Recipe(training.in_parallel, {
            "function": function(abs), "items": Argument([1, 2], [0, 1.5, NAN, True, None, 1j, Odd(), len, int,
            10**400]),
            "workers": whole(1, none=True),
        }),
    }  # fmt: skip


def _train(**arguments: Any) -> Any:
    return training.train(**arguments)


def _ensembles() -> dict[str, Recipe]:
    x, y = torch.zeros(2, 3, 16), torch.zeros(2, 3, dtype=torch.int64)
    linear = [nn.Linear(2, 3), nn.Linear(2, 3)]
    members = items([models.mlp(16, (4,), 2, seed=s) for s in range(2)], also=("seeds",), bad=[
        [], [MODEL, nn.Linear(2, 2)], [MODEL, 1.0], [None, MODEL], [nn.Linear],
    ])  # fmt: skip
    inputs, targets = tensor(x, bad=[x[:1], x[0, 0]]), tensor(y, bad=[y[:1], y[:, 0], y[:, :2]])
    index = whole(0, low=0, high=1)
    rule = function(lambda p: torch.optim.SGD(p, lr=0.1))
    return {
        "ensemble.Ensemble": Recipe(ensemble.Ensemble, {"models": members}),
        "ensemble.Ensemble.forward": Recipe(SEVERAL.forward, {"x": inputs}),
        "ensemble.Ensemble.losses": Recipe(SEVERAL.losses, {"x": inputs, "y": targets, "loss": loss}),
        "ensemble.Ensemble.clip_grad_norm": Recipe(SEVERAL.clip_grad_norm, {"max_norm": positive(1.0)}),
        "ensemble.Ensemble.member": Recipe(SEVERAL.member, {"index": index}),
        "ensemble.StackedLinear": Recipe(ensemble.StackedLinear, {
            "layers": items(linear, bad=[[], [nn.Linear(2, 3), nn.Linear(3, 2)], [MODEL], [nn.Linear(2, 2), 1.0],
                                         [nn.Linear(2, 2), nn.Linear(2, 2, bias=False)]])
        }),
        "ensemble.member_losses": Recipe(ensemble.member_losses, {
            "outputs": tensor(torch.zeros(2, 3, 2), also=("y",), bad=[torch.zeros(1, 3, 2), torch.zeros(2),
            torch.zeros(2, 4, 2)]),
            "y": targets, "loss": loss,
        }),
        "ensemble.train": Recipe(ensemble.train, {
            "models": members, "dataset": thing(SET),
            "rule": Argument(rule.good, [*rule.bad, lambda p: STRANGE, lambda p: None, len]), "epochs": whole(1),
            "batch_size": count, "seeds": numbers, "clip": positive(5.0, none=True), "device": device,
            "progress": flag(False), "loss": loss,
        }),
    }  # fmt: skip


def _streams() -> dict[str, Recipe]:
    parameters = items([nn.Parameter(torch.ones(2))], bad=[[]])
    stepper = thing(BITE)
    return {
        "continual.BitFlipping": Recipe(continual.BitFlipping, {
            "seeds": seeds, "inputs": whole(4, also=("slow",)), "slow": whole(2, low=0, high=4), "period": count,
            "hidden": count, "beta": number(0.7, low=0.0, high=1.0),
        }),
        "continual.BitFlipping.task": Recipe(BITS.task, {"number": whole(0, low=0)}),
        "continual.Permuted": Recipe(continual.Permuted, {
            "dataset": thing(SET), "seeds": seeds, "batch_size": whole(2, high=4), "examples": whole(4, high=12,
            none=True),
            "relabel": flag(True),
        }),
        "continual.Permuted.task": Recipe(SHUFFLED.task, {"number": whole(0, low=0)}),
        "continual.ContinualBackprop": Recipe(continual.ContinualBackprop, {
            "ensemble": Argument(SEVERAL, [*thing(SEVERAL).bad, MODEL]),
            "optimizer": Argument(STACK, [*thing(STACK).bad, STRANGE]), "rate": number(0.1, low=0.0, high=1.0),
            "maturity": whole(10, low=0), "decay": number(0.9, low=0.0, high=1.0, open_high=True), "seed": seed,
        }),
        "continual.ShrinkAndPerturb": Recipe(continual.ShrinkAndPerturb, {
            "params": Argument(parameters.good, [value for value in parameters.bad if value is not None]),
            "lr": rate(0.1),
            "weight_decay": rate(0.0), "noise": rate(0.1), "seed": seed,
        }),
        "continual.UtilityPerturbed": Recipe(continual.UtilityPerturbed, {
            "ensemble": Argument(SEVERAL, [*thing(SEVERAL).bad, MODEL]), "lr": rate(0.1), "noise": rate(0.1),
            "protect": flag(False), "decay": number(0.9, low=0.0, high=1.0, open_high=True), "seed": seed,
        }),
        "continual.Online.first": Recipe(ONLINE.first, {"share": number(0.1, low=0.0, high=1.0, open_low=True)}),
        "continual.Online.last": Recipe(ONLINE.last, {"share": number(0.1, low=0.0, high=1.0, open_low=True)}),
        "continual.run": Recipe(continual.run, {
            "ensemble": Argument(BITES, [*thing(BITES).bad, MODEL]), "rule": Argument(BITE, [*stepper.bad, STRANGE]),
            "stream": thing(BITS), "tasks": whole(1), "loss": function(mse_loss),
            "score": function(continual.online.squared_error), "clip": positive(1.0, none=True),
            "progress": flag(False),
            "checkpoint": file(None), "every": rate(60.0, infinite=True),
        }),
    }  # fmt: skip


def _studies() -> dict[str, Recipe]:
    adam = contenders.CONTENDERS["adam"]
    untuned = Argument({}, ["x", 0, 1.5, None, Odd(), len, {1: 2}, [1.0]])
    setting = Argument({"lr": 0.1}, ["x", 0, 1.5, None, Odd(), len, [1.0], True])
    scores = array([[1.0, 2.0]], any_shape=True, bad=[1.0, []])
    return {
        "lab.paired.interval": Recipe(paired.interval, {
            "differences": array([0.1, 0.2], any_shape=True, bad=[1.0, [1.0], [[1.0, 2.0]]]),
            "level": number(0.9, low=0.0, high=1.0, open_low=True, open_high=True),
        }),
        "lab.paired.percent": Recipe(paired.percent, dict.fromkeys(
            ("ours", "theirs"), array([0.1, 0.2], any_shape=True, bad=[1.0, [1.0], [[1.0, 2.0]], [0.0, 1.0]])
        )),
        "lab.paired.words": Recipe(paired.words, {"found": Argument((1.0, 0.5, 1.5), [])}),
        "continual.contenders.Contender": Recipe(contenders.Contender, {
            "label": text("Adam"), "optimizer": word("adam"), "options": untuned,
            "space": Argument({"lr": (0.1, 1.0)}, [
                *thing({}).bad[:1], 0, 1.5, None, Odd(), len, {"lr": (1.0, 0.1)}, {"lr": (0.0, 1.0)}, {"lr": (NAN,
                1.0)},
                {"lr": (0.1, INF)}, {"lr": 1.0}, {"lr": (1.0,)}, {"lr": ("0.1", "1")}, {1: (0.1, 1.0)}, {},
            ]),
        }),
        "continual.contenders.Contender.chosen": Recipe(adam.chosen, {"setting": setting}),
        "continual.contenders.Contender.build": Recipe(adam.build, {
            "ensemble": Argument(SEVERAL, [*thing(SEVERAL).bad, MODEL]), "setting": setting, "seed": whole(0, low=0),
        }),
        "continual.contenders.Contender.settings": Recipe(adam.settings, {"count": count, "seed": whole(0, low=0)}),
        "continual.networks.perceptrons": Recipe(networks.perceptrons, {
            "inputs": count, "hidden": items((4,), bad=[(0,), (1.5,), (True,)]), "outputs": count, "seeds": numbers
        }),
        "continual.contenders.first_tenth": Recipe(contenders.first_tenth, {"scores": scores}),
        "continual.contenders.last_tenth": Recipe(contenders.last_tenth, {"scores": scores}),
    }  # fmt: skip


def _operators() -> dict[str, Recipe]:
    dtype = Argument(
        None, [torch.float16, torch.int64, torch.complex64, "float32", 0, 1.5, True, float, [], {}, Odd(), len, 1j]
    )
    names = Argument(None, [[], ["x"], [0], [None], "x", "", 0, 1.5, True, 1j, Odd(), len, NAN, {"x"}, 10**400])
    of = {
        "model": Argument(LINE, [*thing(LINE).bad, nn.ReLU(), nn.Linear]), "loss": loss, "batches": batches,
        "parameters": names, "dtype": dtype,
    }  # fmt: skip
    vector = torch.ones(10)
    vectors = tensor(vector, bad=[torch.ones(9), torch.ones(2, 9), torch.ones(1, 1, 10), torch.ones(()),
        vector.double(),
                                  vector.long(), vector + 0j])  # fmt: skip
    weights = {"weight": torch.ones(2, 4), "bias": torch.ones(2)}
    tensors = Argument(weights, [
        "x", 0, 1.5, None, [], {}, Odd(), {"weight": torch.ones(2, 4)}, {**weights, "bias": torch.ones(3)},
        {**weights, "bias": 1.0}, {**weights, "more": torch.ones(1)}, torch.ones(10), 1j, len,
    ])  # fmt: skip
    operator = thing(HESSIAN)
    by_name = {
        "curvature.Hessian": Recipe(curvature.Hessian, of | {"memory": rate(1e9), "vmap": flag(False)}),
        "curvature.GradientCovariance": Recipe(curvature.GradientCovariance, of | {"centred": flag(True)}),
        "curvature.GradientCovariance.gradients": Recipe(SIGMA.gradients, {
            "batch": items(PAIR, bad=[(PAIR[0], PAIR[1][:2]), (PAIR[0],), (PAIR[0][:0], PAIR[1][:0]), [1.0, 2.0]])
        }),
        "curvature.GradientCovariance.exact_trace": Recipe(SIGMA.exact_trace, {"chunk": whole(2)}),
        "curvature.GradientCovariance.sample": Recipe(SIGMA.sample, {"count": count, "seed": whole(0, low=0)}),
        "curvature.noise_kernel": Recipe(curvature.noise_kernel, {
            "model": thing(LINE), "loss": function(cross_entropy), "batches": thing(PAIR), "batch": whole(2),
            "probes": whole(1), "steps": whole(2), "parameters": of["parameters"],
            "seed": whole(0, low=0),
        }),
        "curvature.NoiseKernel.__call__": Recipe(curvature.NoiseKernel(np.ones(1), np.ones(1), 0.0), {
            "u": array([0.0, 1.0], any_shape=True, scalars=True, below=0.0),
        }),
        "curvature.quadrature": Recipe(curvature.quadrature, {
            "operator": operator, "vectors": tensor(vector, bad=[
                torch.ones(9), torch.ones(2, 9), torch.zeros(10), torch.full((10,), NAN), torch.ones(1, 1, 10),
                torch.ones(()), vector.long(), vector + 0j,
            ]), "steps": whole(3),
        }),
        "curvature.Matrix": Recipe(curvature.Matrix, {
            "matrix": tensor(torch.eye(2), bad=[
                torch.ones(2), torch.ones(2, 3), torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.full((2, 2), NAN),
                torch.eye(2) + 0j, torch.eye(2).long(), torch.eye(2).bfloat16(), torch.ones(0, 0), torch.eye(2,
                dtype=bool),
            ])
        }),
        "curvature.eigenpairs": Recipe(curvature.eigenpairs, {
            "operator": operator, "count": whole(1, high=10), "which": word("largest"), "seed": whole(0, low=0),
            "tolerance": positive(1e-4), "basis": whole(None, none=True), "block": whole(1), "copies": whole(0, low=0),
            "max_products": whole(None, none=True), "throw": flag(True), "progress": flag(False),
        }),
        "curvature.trace": Recipe(curvature.trace, {
            "operator": operator, "probes": whole(2, low=2), "seed": whole(0, low=0),
            "pairs": Argument(None, [*thing(PAIRS, none=True).bad,
            curvature.eigenpairs(curvature.Matrix(torch.eye(2)), 1)]),
            "block": whole(1),
        }),
    }  # fmt: skip
    for name, instance in (("Hessian", HESSIAN), ("GradientCovariance", SIGMA), ("Matrix", MATRIX)):
        by_name[f"curvature.{name}.matvec"] = Recipe(instance.matvec, {"vectors": vectors})
        by_name[f"curvature.{name}.dense"] = Recipe(instance.dense, {"block": whole(1)})
        if name != "Matrix":
            by_name[f"curvature.{name}.flatten"] = Recipe(instance.flatten, {"tensors": tensors})
            by_name[f"curvature.{name}.unflatten"] = Recipe(instance.unflatten, {
                "vector": tensor(vector, bad=[torch.ones(9), torch.ones(2, 9), torch.ones(1, 1, 10), torch.ones(())])
            })  # fmt: skip
    return by_name


BETAS = items((0.9, 0.99), bad=[(0.9,), (1.0, 0.9), (0.9, 1.0), (-0.1, 0.5), (NAN, 0.5), (0.5, "0.5"), (0.1, 0.2, 0.3)])


def _moving() -> dict[str, Recipe]:
    setting, epochs = moving.Setting(0.1, batch=2), moving.Setting(0.1, batch=2, sampling="epochs")
    pair = items(PAIR, bad=[(PAIR[0], PAIR[1][:2]), (PAIR[0],), (PAIR[0][:0], PAIR[1][:0]), [1.0, 2.0]])
    model = Argument(LINE, [*thing(LINE).bad, nn.ReLU(), nn.Linear, nn.Linear(4, 2).requires_grad_(False)])
    short = [torch.ones(9), torch.ones(2, 9), torch.ones(()), torch.ones(1, 10).long(), torch.ones(1, 10) + 0j]
    of = {"model": model, "data": pair, "loss": loss}
    path = moving.walk(LINE, PAIR, setting, steps=8, burn=0, seed=0, directions=torch.eye(2, 10))
    basin = moving.measure(LINE, PAIR, path.points, modes=2)
    expected = moving.forecast(basin, setting)
    directions = Argument(None, [*thing(torch.eye(2, 10), none=True).bad, torch.ones(1, 9), *short[2:]])
    centre = Argument(None, [*directions.bad, torch.ones(9), torch.ones(1, 10)])
    points = {"points": tensor(path.points, bad=[torch.ones(2, 9), *short])}
    draws = {"examples": whole(6), "count": whole(1), "generator": Argument(
        torch.Generator(), [0, 1.5, "x", None, True, [], Odd(), torch.Generator], ("generator",))}  # fmt: skip
    return {
        "moving.Setting": Recipe(moving.Setting, {
            "eta": positive(0.1), "beta": number(0.9, low=0.0, high=1.0, open_high=True), "batch": whole(2),
            "decay": rate(0.0), "sampling": word("independent"), "eps": rate(1e-8),
            "second": number(None, none=True, low=0.0, high=1.0, open_high=True),
        }),
        "moving.Setting.adamw": Recipe(moving.Setting.adamw, {
            "lr": positive(1e-3), "betas": BETAS, "batch": whole(2), "weight_decay": rate(0.0), "eps": rate(1e-8),
            "sampling": word("independent"),
        }),
        "moving.Setting.population": Recipe(epochs.population, {"examples": whole(6, low=2)}),
        "moving.Setting.noise_factor": Recipe(epochs.noise_factor, {"examples": whole(6, low=2)}),
        "moving.Setting.draw": Recipe(setting.draw, draws),
        "moving.walk": Recipe(moving.walk, {
            **of, "setting": thing(setting), "steps": whole(8, low=2), "burn": whole(0, low=0), "seed": seed,
            "directions": directions, "starts": whole(2), "longest": whole(None, none=True),
            "families": items([], bad=[[nn.Linear(4, 2)]]),
        }),
        "moving.Walk.equipartition": Recipe(path.equipartition, {"curvatures": array([1.0, 2.0])}),
        "moving.measure": Recipe(moving.measure, {
            **of, **points, "mean": centre, "modes": whole(1, low=0), "draws": whole(1),
            "nodes": whole(2), "examples": whole(None, low=2, none=True), "seed": seed,
        }),
        "moving.measure_batches": Recipe(moving.measure_batches, {
            **of, **points, "setting": thing(setting), "pairs": whole(1), "seed": seed,
        }),
        "moving.forecast": Recipe(moving.forecast, {"basin": thing(basin), "setting": thing(setting)}),
        "moving.Forecast.displacement": Recipe(expected.displacement, {
            "lags": array([1.0, 2.0], any_shape=True, below=0.0, also=("n", "t")), "form": word("sde"),
        }),
        "moving.Forecast.exponent": Recipe(expected.exponent, {"lags": array([1.0, 2.0], also=("n",))}),
        "moving.analyse": Recipe(moving.analyse, {
            **of, "setting": thing(setting), "steps": whole(64, low=64), "burn": whole(64, low=64), "modes": whole(1),
            "examples": whole(None, low=2, none=True), "seed": seed, "anyway": flag(True),
        }),
        "moving.per_example": Recipe(moving.per_example, of),
        "moving.Basin.uphill": Recipe(basin.uphill, {"decay": rate(0.0)}),
    }  # fmt: skip


def _optimizers() -> dict[str, Recipe]:
    weight = nn.Parameter(torch.ones(2))
    decay = number(0.9, low=0.0, high=1.0, open_high=True)
    params = items([weight], bad=[[], [nn.Parameter(torch.ones(2) + 0j)]])
    lr = rate(0.1, tensor=True)
    flags = {"maximize": flag(False), "foreach": flag(False, none=True)}
    fused = flags | {"fused": flag(False, none=True)}
    free = rate(0.0, tensor=True)  # a 0-dim tensor is not read: a schedule may live on the device
    ballistic = {"params": params, "lr": lr, "beta": decay, "eps": free, "weight_decay": free,
                 "momentum": number(None, low=0.0, high=1.0, open_high=True, none=True),
                 "bias_correction": flag(True)}  # fmt: skip
    belief = {
        "params": params, "lr": rate(0.1, tensor=True), "discount": rate(None, infinite=True, none=True),
        "lr_overdamped": rate(INF, infinite=True),
        "betas": BETAS,
        "eps": free, "eps_inside": free, "variance": word("uncentred"), "bias_correction": flag(True),
        "curvature_scale": free, "weight_decay": free,
    }  # fmt: skip
    curve = word("second_moment")
    navigator = {
        "params": params, "lr": lr, "gamma": rate(0.0, infinite=True),
        "curvature": Argument(curve.good, [value for value in curve.bad if not callable(value)]), "beta": decay,
        "eta_k": positive(1.0), "curvature_scale": positive(1.0), "eps": free, "negative": word("clip"),
        "every": whole(1), "probes": whole(1), "seed": whole(0, low=0), "weight_decay": free,
    }  # fmt: skip
    reset = Argument(None, [
        "x", 0, 1.5, True, Odd(), len, (), (2.0, 0.1, 1), (0.1, -1.0, 1), (0.1, 0.1, -1), (NAN,
        0.1, 1),
        ("0.1", 0.1, 1), (0.1, 0.1, 1j), {"x": 1}, [1, 2, 3, 4], 1j, NAN,
    ])  # fmt: skip
    share = number("init", low=0.0, open_low=True)
    uncertain = {
        "params": params, "lr": lr, "forgetting": rate(None, none=True), "temperature": positive(3e-4),
        "prior_variance": share,
        "clip": positive(0.1, none=True), "prior_mean": number(None, none=True), "curvature_scale": free,
        "speed": free, "speed_beta": decay, "sample": flag(False), "reset": reset, "seed": whole(0, low=0),
    }  # fmt: skip
    matrix = {
        **{key: belief[key] for key in ("params", "lr", "lr_overdamped", "betas", "eps", "discount", "weight_decay")},
        "curvature": word("eigenbasis"),
        "every": whole(20),
        "watch": whole(4),
        "max_dim": whole(1024),
        "block": whole(128, none=True),
        "long": word("polar"),
        "noise": flag(True),
        "root": word("auto"),
        "eps_relative": number(None, none=True, low=0.0),
    }
    descent = ln.derive(ln.Objective(gamma=1.0), dt=0.1)
    by_name = {"LearningRule.optimizer": Recipe(descent.optimizer, {
        "params": params, "lr": rate(0.1, tensor=True, none=True), **(flags | fused)
    }), "explain": Recipe(ln.explain, {"optimizer": thing(torch.optim.Adam([weight]))})}  # fmt: skip
    for name, arguments in (("Ballistic", ballistic | fused), ("Belief", belief | fused), ("Navigator",
        navigator | fused), ("BallisticMatrix", matrix | flags),
                            ("Uncertain", uncertain | fused)):  # fmt: skip
        kind = getattr(optim, name)
        taken = set(_options(kind))
        known = {key: value for key, value in arguments.items() if key in taken}
        by_name[f"optim.{name}"] = Recipe(kind, known, rest=frozenset({"process_group"}))
    by_name["optim.Uncertain.sampled"] = Recipe(_sampled, {"again": flag(False)})
    by_name["optim.deadline_schedule"] = Recipe(optim.deadline_schedule, {
        "optimizer": thing(SGD), "total_steps": whole(5), "kind": word("kernel"), "stiffness": rate(5.0),
        "discount": rate(0.1), "terminal": rate(0.0), "power": positive(1.0),
        "kernel": function(lambda u: 1 / (1 + u)), "cooldown": number(0.2, low=0.0, high=1.0, open_low=True),
    })  # fmt: skip
    network = nn.Sequential(OrderedDict(table=nn.Embedding(4, 3), line=nn.Linear(3, 2)))
    by_name["optim.split"] = Recipe(optim.split, {
        "model": Argument(network, [*thing(network).bad, nn.ReLU()]),
        "leave": items(["line"], bad=[["no such name"], [1]], but=[type(None)]),
    })  # fmt: skip
    by_name["optim.watch"] = Recipe(_watched, {
        "optimizer": thing(SGD), "loss": function(lambda: WATCHED.square().sum(), none=True), "every": whole(2),
        "lanczos": whole(4), "keep": whole(2, none=True),
    })  # fmt: skip
    by_name["fingerprint"] = Recipe(ln.fingerprint, {"make_optimizer": function(torch.optim.SGD), "timed": flag(False)})
    read = ln.fingerprint(torch.optim.SGD, timed=False)
    by_name["Fingerprint.plot"] = Recipe(read.plot, {"ax": thing(None, none=True)})
    return by_name | _seen()


def _watched(*args: Any, **options: Any) -> None:
    with optim.watch(*args, **options):
        pass


WATCHED = nn.Parameter(torch.ones(2))


def _seen() -> dict[str, Recipe]:
    """What a watch says after two steps."""
    plain = torch.optim.SGD([WATCHED], lr=0.1)
    with optim.watch(plain, lambda: WATCHED.square().sum(), every=1) as watch:
        for _ in range(2):
            loss = WATCHED.square().sum()
            WATCHED.grad = 2 * WATCHED.detach()
            watch.note(loss)
            plain.step()
    bound = number(0.0)
    return {
        "optim.Watch.plot": Recipe(watch.plot, {"ax": thing(None, none=True)}),
        "optim.Watch.note": Recipe(watch.note, {"loss": tensor(torch.tensor(1.0), bad=[torch.ones(2)])}),
        "optim.Watch.timing": Recipe(watch.timing, {"lowest": bound}),
        "optim.Watch.regret": Recipe(watch.regret, {"lowest": bound, "eta": positive(1.0), "k": positive(1.0)}),
        "optim.Watch.alignment": Recipe(watch.alignment, {
            "gamma": array([0.0, 1.0], finite=False, any_shape=True, bad=[1.0, [NAN, 1.0], [-1.0]]),
        }),
    }  # fmt: skip


def _sampled(again: Any) -> None:
    with optim.Uncertain([nn.Parameter(torch.ones(2))], prior_variance=1.0).sampled(again):
        pass


def _options(kind: type) -> list[str]:
    import inspect

    return list(inspect.signature(kind).parameters)


TORCH = "torch's own method with torch's own errors; the contract tests of optimizers ask for it"
_RULES = [name for name in optim.__all__ if hasattr(getattr(optim, name), "load_state_dict")]
EXEMPT = {
    **{f"optim.{name}.{method}": TORCH for name in _RULES
       for method in ("add_param_group", "load_state_dict", "step")},
    **dict.fromkeys((
        "continual.ContinualBackprop.load_state_dict", "continual.ContinualBackprop.zero_grad",
        "continual.ShrinkAndPerturb.load_state_dict", "continual.ShrinkAndPerturb.step",
        "continual.UtilityPerturbed.load_state_dict", "continual.UtilityPerturbed.step", "optim.Navigator.observe",
        "optim.Navigator.zero_grad",
        "ensemble.StackedLinear.forward",
    ), TORCH),
    **dict.fromkeys((
        "continual.Online", "curvature.Eigenpairs", "curvature.NoiseKernel", "curvature.Quadrature", "curvature.Trace",
        "optim.Watch", "moving.Analysis", "moving.Basin", "moving.Forecast", "moving.Row",
        "moving.Walk", "training.History", "data.Provenance",
    ), "a result, which the library makes"),
    "curvature.Operator.matvec": "walked with the operators that there are", "curvature.Operator.dense": "as matvec",
    "optim.Reset": "a tuple of numbers; the rule that takes it checks them",
    "training.process_group": "reads torchrun's environment before its argument, which pick_device checks",
}  # fmt: skip
