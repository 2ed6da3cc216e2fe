"""Running an experiment: from its settings to its record."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnav._checks import flag, instance, path, sequence, whole
from lossnav.lab import records
from lossnav.lab.experiment import own
from lossnav.lab.experiment.building import load_data, make_model, make_optimizer, make_stepper, make_stream, why_alone
from lossnav.lab.experiment.settings import IID, Experiment

if TYPE_CHECKING:
    import torch

    from lossnav.lab.data import Dataset
    from lossnav.lab.training import History

_SAVE_EVERY = 2.0  # seconds between two checkpoints of a stream of tasks; one takes milliseconds
_LARGEST = 3e38  # in the place of an error that overflowed or is no number: JSON has neither


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
        checkpoint, checkpoint_every, resume, distributed: as in ``training.train``. A stream of tasks is run by one
            process, and kept every two seconds.
        device: of this process, where it is not for the experiment to say.

    Returns:
        The record. Of epochs its ``results`` has one entry: the curves (``History.record()``), ``settings`` with what
        the loop chose, and, if the run diverged, ``diverged``: the number of steps that went well. Of a stream of tasks
        it has an entry for each seed: ``scores``, the mean of each task before learning from it, to all digits,
        ``finite``, whether all weights are at the end, and ``seed``, ``seconds``, ``settings``.
    """
    from lossnav.lab import data, training

    _check_how(root, download, dataset, progress, steps)
    instance("experiment", experiment, Experiment, "an Experiment")
    if own.is_own(experiment.model):
        experiment = experiment.settled()
    start = time.perf_counter()
    place = training.pick_device(experiment.device if device is None else device)
    if dataset is None and experiment.data != "bits":
        dataset = load_data(experiment.data, root, download)
    if experiment.stream != IID:
        if distributed or steps or checkpoint_every is not None:
            raise ValueError(
                f"distributed, steps, checkpoint_every: none of them is for stream = {experiment.stream!r}"
            )
        return _online(experiment, dataset, place, progress, checkpoint, resume)
    dataset = _cut(dataset, experiment)  # type: ignore[arg-type]
    model = make_model(experiment, dataset)
    optimizer = make_optimizer(experiment, model.to(place).parameters())
    diverged = None
    try:
        history = training.train(
            model, dataset, optimizer, epochs=experiment.epochs, batch_size=experiment.batch_size,
            seed=experiment.seeds[0], clip=experiment.clip, device=place, progress=progress,
            augment=data.CropFlip() if experiment.augment else None, precision=experiment.precision,
            memory_format=experiment.memory_format, compile=experiment.compile,
            checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume, distributed=distributed,
        )  # fmt: skip
    except training.Diverged as error:
        history, diverged = error.history, error.step
    return _record(experiment, dataset, history, diverged, time.perf_counter() - start, place, steps)


def _online(
    experiment: Experiment, dataset: Dataset | None, place: torch.device, progress: bool,
    checkpoint: str | os.PathLike[str] | None, resume: bool,
) -> records.Record:  # fmt: skip
    """Learn a stream of tasks with all seeds of an experiment together, and return one record."""
    from torch.nn.functional import cross_entropy, mse_loss

    from lossnav.lab.ensemble import Ensemble
    from lossnav.lab.streams import online
    from lossnav.lab.training.checkpoint import check_resume

    start = time.perf_counter()
    check_resume(checkpoint, resume)
    stream = make_stream(experiment, dataset)
    ensemble = Ensemble([make_model(replace(experiment, seed=seed), dataset) for seed in experiment.seeds]).to(place)
    classes = experiment.loss == "cross_entropy"
    with _flushed():
        found = online.run(
            ensemble, make_stepper(experiment, ensemble), stream, tasks=experiment.length, clip=experiment.clip,
            loss=cross_entropy if classes else mse_loss, score=online.accuracy if classes else online.squared_error,
            progress=progress, checkpoint=None if checkpoint is None else Path(checkpoint), every=_SAVE_EVERY,
        )  # fmt: skip
    settings = {"steps_per_task": stream.steps, "device": place.type, "precision": "float32", "together": ensemble.size}
    scores = found.scores.nan_to_num(nan=_LARGEST, posinf=_LARGEST)
    results = [
        {"seed": seed, "scores": row, "finite": finite,
         "seconds": round(found.seconds / ensemble.size, 2), "settings": settings}
        for seed, row, finite in zip(experiment.seeds, scores.tolist(), found.finite.tolist(), strict=True)
    ]  # fmt: skip
    return _new(experiment, dataset, results, time.perf_counter() - start, place)


@contextmanager
def _flushed() -> Iterator[None]:
    """Take numbers below 1e-38 for zero: dead networks' weights decay into them, and processors are slow with them."""
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


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
    from lossnav.lab import data, ensemble, training

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
    if first.stream != IID:
        record = run(
            joined(seeds), root=root, download=download, dataset=dataset, progress=progress, steps=steps, device=device
        )
        return split(record, seeds)
    dataset = _cut(load_data(first.data, root, download) if dataset is None else dataset, first)
    place = training.pick_device(first.device if device is None else device)
    histories = ensemble.train(
        [make_model(seed, dataset) for seed in seeds], dataset, lambda weights: make_optimizer(first, weights),
        epochs=first.epochs, batch_size=first.batch_size, seeds=[seed.seeds[0] for seed in seeds], clip=first.clip,
        device=place, progress=progress, augment=data.CropFlip() if first.augment else None,
        elementwise=not own.rule(first.optimizer).mixes,
    )  # fmt: skip
    share = (time.perf_counter() - start) / len(seeds)
    return [
        _record(seed, dataset, history, history.settings.pop("diverged", None), share, place, steps)
        for seed, history in zip(seeds, histories, strict=True)
    ]


def joined(seeds: Sequence[Experiment]) -> Experiment:
    """Return the experiment that has all seeds of several."""
    return replace(seeds[0], seed=tuple(seed.seeds[0] for seed in seeds)) if len(seeds) > 1 else seeds[0]


def split(record: records.Record, seeds: Sequence[Experiment]) -> list[records.Record]:
    """Return the record of each of the experiments that were run as one; of one, it is the record itself."""
    if len(seeds) == 1:
        return [record]
    return [
        replace(record, command=one.command(), config=one.config(), seeds=list(one.seeds), results=[entry],
                duration=round(record.duration / len(seeds), 1))
        for one, entry in zip(seeds, record.results, strict=True)
    ]  # fmt: skip


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
    train = dataset.train
    if experiment.validation is not None:
        kept = len(train) - whole("validation", experiment.validation, low=1, high=len(train) - 1)
        dataset = replace(dataset, train=train.head(kept), test=replace(train, x=train.x[kept:], y=train.y[kept:]))
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
    if experiment.model != "mlp":  # whose precision "auto" leaves to the device
        experiment = replace(experiment, precision=history.settings["precision"])
    results = [{**history.record(steps=steps), "settings": history.settings, **ended}]
    return _new(experiment, dataset, results, duration, place)


def _new(
    experiment: Experiment, dataset: Dataset | None, results: list[dict[str, Any]], duration: float, place: torch.device
) -> records.Record:
    import torch

    where = dataset.provenance.record() if dataset is not None else {"label": "bit flipping, generated"}
    return records.new(
        command=experiment.command(), config=experiment.config(), seeds=list(experiment.seeds), data=where,
        results=results, duration=duration,
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else records.processor(),
    )  # fmt: skip
