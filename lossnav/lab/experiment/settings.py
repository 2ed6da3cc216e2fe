"""An experiment as plain values, and what tells its numbers from those of all others."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from lossnav._checks import check, flag, instance, one_of, positive, shown, whole
from lossnav.lab.experiment import own
from lossnav.lab.registry import OPTIMIZERS

IID = "iid"
DATA = ("mnist", "digits", "cifar10", "bits")
"""Names of the data sets."""
MODELS = ("mlp", "cnn", "resnet", "vit")
"""Names of the networks."""
STREAMS: Mapping[str, str] = MappingProxyType(
    {IID: "cross_entropy", "permuted": "cross_entropy", "bits": "squared_error"}
)
"""Name of a stream → the loss that its targets are for."""
LOSSES = tuple(dict.fromkeys(STREAMS.values()))
"""Names of the losses."""
_MAPPINGS = ("options", "model_options", "stream_options")
_IID_ONLY = ("epochs", "augment", "compile", "train_size", "test_size", "validation")


@dataclass(frozen=True)
class Experiment:
    """One run, by values that can be written down: equal experiments give equal curves.

    Attributes:
        data: name of the data set; "bits" are drawn at random by the stream of that name. Or MODULE:FUNCTION, which is
            looked for in the current folder, too, and returns a ``data.Dataset``, inputs and labels, or a torch data
            set; so may ``model`` (to a torch module) and ``optimizer`` (of parameters, e.g. "torch.optim:Adagrad"). The
            name stands for what it makes: a function that changes gets another name.
        stream: what the examples come as. "iid": epochs over a training split, and a test split. "permuted"
            (``continual.Permuted`` of the data) and "bits" (``continual.BitFlipping``): tasks one after the other,
            each example predicted first and then learned from, once.
        stream_options: further arguments of the stream of tasks.
        tasks: number of tasks; None for "iid".
        model: "mlp" (of any data); "resnet" (of images); "cnn" or "vit" (of square images whose side is a multiple of
            4, or of another patch). Streams of tasks are for "mlp".
        optimizer: "sgd", "adam", "adamw", "rmsprop" of torch, or "ballistic", "ballistic matrix", "belief",
            "navigator", "uncertain", and of streams of tasks more: the rules of ``lab.registry`` that are optimizers,
            with what it gives them (``Rule.given``) unless ``options`` say else: "ballistic" is the paper's,
            ``bias_correction`` False, and "uncertain" has ``prior_mean`` 0. Or what is assumed, "derive:gamma=1e-3,
            dt=0.01,belief=Filter(0.9),curvature=SecondMoment(0.999)": arguments of ``Objective`` and of ``derive``.
        lr: learning rate; None for the rule's own default.
        options: further arguments of the optimizer.
        model_options: further arguments of the model.
        loss: "cross_entropy", or "squared_error" for "bits".
        epochs, batch_size, clip, precision, memory_format, compile, device: as in ``training.train``.
        seed: of the initial weights, the order of the examples and the augmentation. Of a stream of tasks it may be a
            tuple: so many networks, each on a stream of its own, are stepped by one rule, which must treat each weight
            by itself.
        augment: random crops and flips, ``data.CropFlip()``.
        train_size, test_size: take the first so many examples; None for all.
        validation: leave the last so many training images out, and test on them instead of the test images: what a
            tuning may look at. None for the test images.

    Raises:
        ValueError: a value is not allowed; names it. What only the rule, the model or the data can judge, options among
            it, is refused when they are made.

    Example:
        >>> run = Experiment(data="digits", optimizer="ballistic", lr=5e-3, model_options={"hidden": [32]})
        >>> run.command()
        "lossnav train --data digits --lr 0.005 --model-option 'hidden=[32]'"
        >>> Experiment(device="cpu").key() == Experiment(precision="float32").key() != Experiment(seed=1).key()
        True
    """

    data: str = "mnist"
    stream: str = IID
    stream_options: Mapping[str, Any] = field(default_factory=dict)
    tasks: int | None = None
    model: str = "mlp"
    optimizer: str = "ballistic"
    lr: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model_options: Mapping[str, Any] = field(default_factory=dict)
    loss: str = "cross_entropy"
    epochs: int = 1
    batch_size: int = 128
    clip: float | None = 5.0
    seed: int | tuple[int, ...] = 0
    augment: bool = False
    precision: str = "auto"
    memory_format: str = "auto"
    compile: bool = False
    train_size: int | None = None
    test_size: int | None = None
    validation: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        own.check("data", self.data, DATA)
        one_of("stream", self.stream, tuple(STREAMS))
        one_of("loss", self.loss, LOSSES)
        own.check("model", self.model, MODELS)
        own.check("optimizer", self.optimizer, OPTIMIZERS)
        one_of("precision", self.precision, ("auto", "float32", "bfloat16"))
        one_of("memory_format", self.memory_format, ("auto", "contiguous", "channels_last"))
        for name in ("lr", "clip"):  # 1 and 1.0 are one setting, with one key
            if getattr(self, name) is not None:
                check(self, **{name: positive})
        for name in ("epochs", "batch_size", "tasks", "train_size", "test_size", "validation"):
            if getattr(self, name) is not None or name in ("epochs", "batch_size"):
                check(self, **{name: partial(whole, low=1)})
        check(self, seed=check_seed)
        for name in _MAPPINGS:
            for key in instance(name, getattr(self, name), Mapping, "a mapping from names to values"):
                instance(f"a name in {name}", key, str, "a string")
        for where, name in (
            ("options", "lr"), ("model_options", "seed"), ("stream_options", "seeds"), ("stream_options", "batch_size"),
        ):  # fmt: skip
            if name in getattr(self, where):
                name = name.removesuffix("s")
                raise ValueError(f"{where} has {name!r}, but that is a setting of its own: {name}=…, or --{name} …")
        for name in ("augment", "compile"):
            flag(name, getattr(self, name))
        if not instance("device", self.device, str, "the name of a device"):
            raise ValueError("device = '', but it must be the name of a device")
        self._check_stream()

    def _check_stream(self) -> None:
        """Raise unless the settings are those of one stream: what the other kind alone knows stays at its default."""
        if self.loss != STREAMS[self.stream]:
            problem = f"loss = {shown(self.loss)}, but it must be {STREAMS[self.stream]!r}"
            raise ValueError(f"{problem} for stream = {self.stream!r}")
        if (self.data == "bits") != (self.stream == "bits"):
            raise ValueError(f"data = {self.data!r}, but it must be 'bits' for stream = 'bits' and for no other")
        if self.stream == IID:
            for name, default in (("tasks", None), ("stream_options", {})):
                if getattr(self, name) != default:
                    raise ValueError(f"{name} = {shown(getattr(self, name))}, but stream = 'iid' has no tasks")
            if isinstance(self.seed, tuple):
                raise ValueError(f"seed = {shown(self.seed)}, but it must be a whole number for stream = 'iid'")
            return
        if self.tasks is None:
            raise ValueError(f"tasks = None, but it must be a whole number >= 1 for stream = {self.stream!r}")
        fixed = {entry.name: entry.default for entry in fields(self) if entry.name in _IID_ONLY}
        fixed |= {"model": "mlp"} | ({"batch_size": 1} if self.stream == "bits" else {})
        for name, required in fixed.items():
            if getattr(self, name) != required:
                problem = f"{name} = {shown(getattr(self, name))}, but it must be {required}"
                raise ValueError(f"{problem} for stream = {self.stream!r}")
        if self.precision == "bfloat16" or self.memory_format == "channels_last":
            problem = f"precision = {self.precision!r}, memory_format = {self.memory_format!r}"
            raise ValueError(f"{problem}, but streams of tasks are learned in float32, contiguous")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a mapping, e.g. ``Record.config``; names that no experiment has are an error."""
        instance("values", values, Mapping, "a mapping from settings to values")
        known = [entry.name for entry in fields(cls)]
        for name in values:
            one_of("setting", name, tuple(known))
        decoded: dict[str, Any] = {
            name: {key: _decoded(entry) for key, entry in value.items()} if isinstance(value, Mapping) else value
            for name, value in values.items()
        }
        if isinstance(decoded.get("seed"), list):
            decoded["seed"] = tuple(decoded["seed"])
        return cls(**decoded)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds; of most experiments one."""
        return self.seed if isinstance(self.seed, tuple) else (self.seed,)

    @property
    def length(self) -> int:
        """Number of epochs, or of tasks."""
        return self.epochs if self.tasks is None else self.tasks

    def begun(self) -> Experiment:
        """Return the shortest experiment that begins as this one does: of one epoch or one task."""
        return replace(self, epochs=1, tasks=None if self.tasks is None else 1)

    def config(self) -> dict[str, Any]:
        """Return all settings as values that JSON can hold (an infinite option becomes "inf")."""
        return json.loads(json.dumps(_encoded(asdict(self)), allow_nan=False))

    def settled(self) -> Experiment:
        """Return the experiment with the precision that "auto" means on its device.

        Only our models with convolutions leave it to the device; the rest is the same anywhere. Of a model of one's
        own nothing is known: it is float32.

        Raises:
            ValueError: this machine has no such device.
        """
        if self.precision != "auto" or self.model == "mlp":
            return self
        if own.is_own(self.model):
            return replace(self, precision="float32")
        from lossnav.lab.training import bfloat16_units, pick_device

        units = bfloat16_units(pick_device(self.device))
        return replace(self, precision="bfloat16" if units else "float32")

    def identity(self) -> dict[str, Any]:
        """Return what changes the numbers and nothing else: no device's name, precision as it is used.

        A default is not looked up: one that is written out (``lr``, options) makes another experiment of the same run.
        """
        settings = {**self.settled().config(), "device": "auto"}
        settings["seed"] = self.seed if len(self.seeds) > 1 else self.seeds[0]
        if self.model == "mlp":
            settings |= {"precision": "auto"} if self.precision == "float32" else {}
            settings |= {"memory_format": "auto"} if self.memory_format == "contiguous" else {}
        elif self.memory_format == "channels_last":
            settings["memory_format"] = "auto"
        return settings

    def key(self) -> str:
        """Return 16 digits that tell this experiment from all others: of the SHA-256 of its identity."""
        return digest(self.identity())

    def command(self) -> str:
        """Return what to type in a shell to run it."""
        words = ["lossnav", "train"]
        for entry in fields(self):
            value = getattr(self, entry.name)
            flag = "--" + entry.name.replace("_", "-")
            if isinstance(value, Mapping):
                for key, option in value.items():
                    words += [flag.removesuffix("s"), f"{key}={option}"]
            elif isinstance(value, tuple):
                words += [flag, ",".join(map(str, value)) + ("," if len(value) == 1 else "")]
            elif value != entry.default:
                words += [flag] if value is True else [flag, "none" if value is None else str(value)]
        return shlex.join(words)


def check_seed(name: str, value: Any) -> int | tuple[int, ...]:
    """Return the seed of a run, or the tuple of those of a stream's networks, or raise."""
    seeds = value if isinstance(value, tuple) else (value,)
    if not seeds:
        raise ValueError(f"{name} = (), but it must be a whole number, or a tuple of some")
    seeds = tuple(whole(name, seed, low=0, high=2**63 - 1) for seed in seeds)  # what a generator takes
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"{name} = {shown(value)}, but its entries must differ")
    return seeds if isinstance(value, tuple) else seeds[0]


def digest(settings: Mapping[str, Any]) -> str:
    """Return 16 digits of the SHA-256 of settings that JSON can hold."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _encoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _encoded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _decoded(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value
