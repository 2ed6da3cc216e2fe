"""An experiment as plain values: what ``lossnav train`` runs once and ``lossnav sweep`` runs many times."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from lossnav._checks import flag, instance, one_of, path, positive, sequence, shown, whole
from lossnav.lab import records
from lossnav.lab.registry import OPTIMIZERS, RULES

if TYPE_CHECKING:
    import torch
    from torch import nn

    from lossnav.lab.data import Dataset
    from lossnav.lab.training import History

DATA = ("mnist", "digits", "cifar10")
INPUTS, OUTPUTS = {"mnist": 784, "digits": 64, "cifar10": 3072}, 10
MODELS = ("mlp", "cnn", "resnet", "vit")
RETIRED: Mapping[str, Any] = {"cuda_graphs": False}  # settings of old records, and the value at which they do nothing


@dataclass(frozen=True)
class Experiment:
    """One run, by values that can be written down: equal experiments give equal curves.

    Attributes:
        data: name of the data set.
        model: "mlp" or "resnet" (of any data); "cnn" or "vit" (of square images whose side is a multiple of 4, or of
            another patch).
        optimizer: "sgd", "adam", "adamw", "rmsprop" of torch, or "ballistic", "belief", "navigator", "uncertain": the
            rules of ``lab.registry`` that are optimizers.
        lr: learning rate; None for the rule's own default.
        options: further arguments of the optimizer.
        model_options: further arguments of the model.
        epochs, batch_size, clip, precision, memory_format, compile, device: as in ``training.train``.
        seed: of the initial weights, the order of the examples and the augmentation.
        augment: random crops and flips, ``data.CropFlip()``.
        train_size, test_size: take the first so many examples; None for all.

    Raises:
        ValueError: a value is not allowed; names it.

    Example:
        >>> run = Experiment(data="digits", optimizer="ballistic", lr=5e-3, model_options={"hidden": [32]})
        >>> run.command()
        "lossnav train --data digits --lr 0.005 --model-option 'hidden=[32]'"
    """

    data: str = "mnist"
    model: str = "mlp"
    optimizer: str = "ballistic"
    lr: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model_options: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 1
    batch_size: int = 128
    clip: float | None = 5.0
    seed: int = 0
    augment: bool = False
    precision: str = "auto"
    memory_format: str = "auto"
    compile: bool = False
    train_size: int | None = None
    test_size: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        one_of("data", self.data, DATA)
        one_of("model", self.model, MODELS)
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        one_of("precision", self.precision, ("auto", "float32", "bfloat16"))
        one_of("memory_format", self.memory_format, ("auto", "contiguous", "channels_last"))
        for name in ("lr", "clip"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        for name in ("epochs", "batch_size", "train_size", "test_size"):
            if getattr(self, name) is not None or name in ("epochs", "batch_size"):
                whole(name, getattr(self, name), low=1)
        whole("seed", self.seed, low=0, high=2**63 - 1)  # what a generator takes
        for name in ("options", "model_options"):
            for key in instance(name, getattr(self, name), Mapping, "a mapping from names to values"):
                instance(f"a name in {name}", key, str, "a string")
        for where, name in (("options", "lr"), ("model_options", "seed")):
            if name in getattr(self, where):
                raise ValueError(f"{where} has {name!r}, but that is a setting of its own: {name}=…, or --{name} …")
        for name in ("augment", "compile"):
            flag(name, getattr(self, name))
        if not instance("device", self.device, str, "the name of a device"):
            raise ValueError("device = '', but it must be the name of a device")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a mapping, e.g. ``Record.config``; names that no experiment has are an error.

        A setting that earlier versions had is left out where it did nothing.
        """
        values = _without_retired(instance("values", values, Mapping, "a mapping from settings to values"))
        known = [entry.name for entry in fields(cls)]
        for name in values:
            one_of("setting", name, tuple(known))
        decoded: dict[str, Any] = {
            name: {key: _decoded(entry) for key, entry in value.items()} if isinstance(value, Mapping) else value
            for name, value in values.items()
        }
        return cls(**decoded)

    def config(self) -> dict[str, Any]:
        """Return all settings as values that JSON can hold (an infinite option becomes "inf")."""
        return json.loads(json.dumps(_encoded(asdict(self)), allow_nan=False))

    def key(self) -> str:
        """Return 16 digits that tell this experiment from all others: of the SHA-256 of its settings.

        The retired ones count, too, so that runs of earlier versions keep their names.
        """
        settings = {**RETIRED, **self.config()}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    def command(self) -> str:
        """Return what to type in a shell to run it."""
        words = ["lossnav", "train"]
        for entry in fields(self):
            value = getattr(self, entry.name)
            flag = "--" + entry.name.replace("_", "-")
            if isinstance(value, Mapping):
                for key, option in value.items():
                    words += [flag.removesuffix("s"), f"{key}={option}"]
            elif value != entry.default:
                words += [flag] if value is True else [flag, "none" if value is None else str(value)]
        return shlex.join(words)


def run(
    experiment: Experiment,
    *,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    dataset: Dataset | None = None,
    progress: bool = False,
    steps: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    distributed: bool = False,
    device: Any = None,
) -> records.Record:
    """Run an experiment and return its record; a run that diverges has a record, too.

    Args:
        experiment: what to run.
        root, download: where the data are, as in ``data.load``.
        dataset: the data, if they are loaded already.
        progress: show a bar.
        steps: keep the loss of every step.
        checkpoint, checkpoint_every, resume, distributed: as in ``training.train``.
        device: of this process, where it is not for the experiment to say.

    Returns:
        The record. Its ``results`` has one entry: the curves (``History.record()``), ``settings`` with what the loop
        chose, and, if the run diverged, ``diverged``: the number of steps that went well.
    """
    from lossnav.lab import data, training

    _check_how(root, download, dataset, progress, steps)
    instance("experiment", experiment, Experiment, "an Experiment")
    start = time.perf_counter()
    dataset = _cut(data.load(experiment.data, root, download) if dataset is None else dataset, experiment)
    model = make_model(experiment, dataset)
    place = training.pick_device(experiment.device if device is None else device)
    optimizer = make_optimizer(experiment, model.to(place).parameters())
    diverged = None
    try:
        history = training.train(
            model, dataset, optimizer, epochs=experiment.epochs, batch_size=experiment.batch_size,
            seed=experiment.seed, clip=experiment.clip, device=place, progress=progress,
            augment=data.CropFlip() if experiment.augment else None, precision=experiment.precision,
            memory_format=experiment.memory_format, compile=experiment.compile,
            checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume, distributed=distributed,
        )  # fmt: skip
    except training.Diverged as error:
        history, diverged = error.history, error.step
    return _record(experiment, dataset, history, diverged, time.perf_counter() - start, place, steps)


def run_together(
    seeds: Sequence[Experiment],
    *,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    dataset: Dataset | None = None,
    progress: bool = False,
    steps: bool = False,
    device: Any = None,
) -> list[records.Record]:
    """Run experiments that differ by their seeds alone as one ensemble, and return the record of each.

    The losses are those of ``run`` up to rounding. A record says how many were trained ``together``, and its duration
    is a share of theirs. A seed that diverges has its own record, too, and hurts no other.

    Args:
        seeds: the experiments, at least one.
        root, download, dataset, progress, steps, device: as in ``run``.

    Raises:
        ValueError: the experiments differ by more than their seeds, or cannot be trained together, which names the
            setting.
    """
    from lossnav.lab import data, training
    from lossnav.lab import members as ensemble

    _check_how(root, download, dataset, progress, steps)
    if not len(sequence("seeds", seeds, "experiments")):
        raise ValueError("seeds is empty, but there must be one experiment at least")
    for index, seed in enumerate(seeds):
        instance(f"seeds[{index}]", seed, Experiment, "an Experiment")
    start = time.perf_counter()
    first = seeds[0]
    for other in seeds:
        if replace(other, seed=first.seed) != first:
            raise ValueError(f"seeds: {other.command()!r} and {first.command()!r} differ by more than their seeds")
    if reason := why_alone(first):
        raise ValueError(f"{len(seeds)} seeds together, but {reason}")
    dataset = _cut(data.load(first.data, root, download) if dataset is None else dataset, first)
    place = training.pick_device(first.device if device is None else device)
    histories = ensemble.train(
        [make_model(seed, dataset) for seed in seeds], dataset, lambda weights: make_optimizer(first, weights),
        epochs=first.epochs, batch_size=first.batch_size, seeds=[seed.seed for seed in seeds], clip=first.clip,
        device=place, progress=progress, augment=data.CropFlip() if first.augment else None,
        elementwise=first.optimizer != "uncertain",  # its prior is the spread of a whole tensor
    )  # fmt: skip
    share = (time.perf_counter() - start) / len(seeds)
    return [
        _record(seed, dataset, history, history.settings.pop("diverged", None), share, place, steps)
        for seed, history in zip(seeds, histories, strict=True)
    ]


def why_alone(experiment: Experiment) -> str:
    """Return why seeds of an experiment cannot be trained together, naming the setting; "" if they can."""
    instance("experiment", experiment, Experiment, "an Experiment")
    if experiment.compile:
        return "compile = True is for one model at a time"
    if experiment.precision not in ("auto", "float32"):
        return f"precision = {experiment.precision!r}, and several models are trained in float32 alone"
    if experiment.precision == "auto" and experiment.model != "mlp":
        return "precision = 'auto' may be bfloat16 for convolutions: say precision = 'float32'"
    if experiment.memory_format == "channels_last":
        return "memory_format = 'channels_last' is for the convolutions of one model"
    if experiment.options.get("curvature") == "hutchinson":
        return "curvature = 'hutchinson' looks at the weights of a model together"
    if experiment.options.get("sample"):
        return "sample = True draws the weights of a model together"
    return ""


def _check_how(root: Any, download: Any, dataset: Any, progress: Any, steps: Any) -> None:
    from lossnav.lab import data

    if root is not None:
        path("root", root)
    flag("download", download)

    if dataset is not None:
        instance("dataset", dataset, data.Dataset, "a data.Dataset")
    flag("progress", progress)
    flag("steps", steps)


def _cut(dataset: Dataset, experiment: Experiment) -> Dataset:
    """Return the part of the data that an experiment takes."""
    sizes = []
    for name, split in (("train_size", dataset.train), ("test_size", dataset.test)):
        size = getattr(experiment, name)
        sizes.append(len(split) if size is None else whole(name, size, low=1, high=len(split)))
    return dataset.head(*sizes)


def _record(
    experiment: Experiment, dataset: Dataset, history: History, diverged: int | None, duration: float,
    place: torch.device, steps: bool,
) -> records.Record:  # fmt: skip
    """Return the record of a run; ``diverged`` is the number of steps that went well, if not all did."""
    for epoch, loss in enumerate(history.test_loss):
        if not math.isfinite(loss):  # finite weights, but so large that a product with a test image is not
            for curve in (history.train_loss, history.test_loss, history.test_accuracy, history.seconds):
                del curve[epoch:]
            diverged = (epoch + 1) * -(-len(dataset.train) // experiment.batch_size)
            break
    ended = {} if diverged is None else {"diverged": diverged}
    history.step_loss = [loss for loss in history.step_loss if math.isfinite(loss)]
    return records.new(
        command=experiment.command(), config=experiment.config(), seeds=[experiment.seed],
        data=dataset.provenance.record(), duration=duration, device=_name(place),
        results=[{**history.record(steps=steps), "settings": history.settings, **ended}],
    )  # fmt: skip


def make_model(experiment: Experiment, dataset: Dataset) -> nn.Module:
    """Return the model for the data, with weights drawn from the experiment's seed."""
    from lossnav.lab import data, models

    instance("experiment", experiment, Experiment, "an Experiment")
    instance("dataset", dataset, data.Dataset, "a data.Dataset")
    maker: Any = getattr(models, experiment.model)
    options = dict(experiment.model_options)
    channels, height, width = dataset.shape
    facts = {"inputs": dataset.inputs, "channels": channels, "size": height, "outputs": dataset.classes}
    _check_names("model_options", options, maker, {*facts, "seed"})
    wanted = inspect.signature(maker).parameters
    if "size" in wanted and height != width:
        what = f"those of {experiment.data} are {height}×{width}"
        raise ValueError(f"model = {experiment.model!r} needs square images, but {what}")
    known = {name: value for name, value in facts.items() if name in wanted}
    return maker(**known, seed=experiment.seed, **options)


def make_optimizer(experiment: Experiment, parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
    """Return the optimizer of a model's parameters."""

    from lossnav._tensors import parameters as check_parameters

    instance("experiment", experiment, Experiment, "an Experiment")
    parameters = check_parameters("parameters", parameters)
    maker = RULES[experiment.optimizer].maker()
    options = dict(experiment.options)
    _check_names("options", options, maker, {"params", "lr"})
    if experiment.lr is not None:
        options["lr"] = experiment.lr
    return maker(parameters, **options)


def _check_names(argument: str, options: Mapping[str, Any], maker: Any, taken: set[str]) -> None:
    allowed = sorted(set(inspect.signature(maker).parameters) - taken)
    for name in options:
        if name not in allowed:
            known = ", ".join(allowed) or "none"
            raise ValueError(f"{argument} has {name!r}, but {maker.__name__} takes: {known}")


def _without_retired(values: Mapping[str, Any]) -> dict[str, Any]:
    for name, off in RETIRED.items():
        if name in values and values[name] is not off:
            raise ValueError(f"{name} = {shown(values[name])}, but it must be {off} or left out: it is no longer there")
    return {name: value for name, value in values.items() if name not in RETIRED}


def _encoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _encoded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _decoded(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value


def _name(place: torch.device) -> str:
    import torch

    return torch.cuda.get_device_name(place) if place.type == "cuda" else records.processor()
