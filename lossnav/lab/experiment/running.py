"""Running an experiment: from its settings to its record."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnav._checks import flag, instance, paths, whole
from lossnav.lab import records
from lossnav.lab.experiment import own
from lossnav.lab.experiment.building import load_data, make_model, make_optimizer, make_stepper, make_stream
from lossnav.lab.experiment.settings import IID, Experiment

if TYPE_CHECKING:
    import torch

    from lossnav.lab.data import Dataset

_SAVE_EVERY = 2.0  # seconds between two checkpoints of a stream of tasks; one takes milliseconds
_LARGEST = 3e38  # in the place of an error that overflowed or is no number: JSON has neither


def run(
    experiment: Experiment,
    *,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    dataset: Dataset | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
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
        checkpoint, resume, distributed: as in ``training.train``. A stream of tasks is run by one process, and kept
            every two seconds.
        device: of this process, where it is not for the experiment to say.

    Returns:
        The record. Of epochs its ``results`` has one entry: the curves (``History.record()``), ``settings`` with what
        the loop chose, and, if the run diverged, ``diverged``: the number of steps that went well. Of a stream of tasks
        it has an entry for each seed: ``scores``, the mean of each task before learning from it, to all digits,
        ``finite``, whether all weights are at the end, and ``seed``, ``seconds``, ``settings``.
    """
    from lossnav.lab import data, training
    from lossnav.lab.training.generator import seeded
    from lossnav.lab.training.team import team

    instance("experiment", experiment, Experiment, "an Experiment")
    paths(root=root)
    if dataset is not None:
        instance("dataset", dataset, data.Dataset, "a data.Dataset")
    flag("download", download)
    flag("progress", progress)
    flag("distributed", distributed)
    if own.is_own(experiment.model):
        experiment = experiment.settled()
    start = time.perf_counter()
    place = training.pick_device(experiment.device if device is None else device)
    if dataset is None and experiment.data != "bits":
        dataset = load_data(experiment.data, root, download)
    if experiment.stream != IID:
        if distributed:
            raise ValueError(f"distributed = True, but a stream of tasks is run by one process: {experiment.stream!r}")
        with seeded(place, experiment.seeds[0]):
            return _online(experiment, dataset, place, progress, checkpoint, resume)
    dataset = _cut(dataset, experiment)  # type: ignore[arg-type]
    model = make_model(experiment, dataset)
    optimizer = make_optimizer(experiment, model.to(place).parameters())
    ended = {}
    try:
        with seeded(place, experiment.seeds[0] + team(distributed).rank):  # processes drop other units each
            history = training.train(
                model, dataset, optimizer, epochs=experiment.epochs, batch_size=experiment.batch_size,
                seed=experiment.seeds[0], clip=experiment.clip, device=place, progress=progress,
                augment=data.CropFlip() if experiment.augment else None, precision=experiment.precision,
                memory_format=experiment.memory_format, compile=experiment.compile,
                checkpoint=checkpoint, resume=resume, distributed=distributed,
            )  # fmt: skip
    except training.Diverged as error:
        history, ended = error.history, {"diverged": error.step}
    if experiment.model != "mlp":  # whose precision "auto" leaves to the device
        experiment = replace(experiment, precision=history.settings["precision"])
    results = [{**history.record(), "settings": history.settings, **ended}]
    return _record(experiment, dataset, results, time.perf_counter() - start, place)


def _online(
    experiment: Experiment, dataset: Dataset | None, place: torch.device, progress: bool,
    checkpoint: str | os.PathLike[str] | None, resume: bool,
) -> records.Record:  # fmt: skip
    """Learn a stream of tasks with all seeds of an experiment together, and return one record."""
    from torch.nn.functional import cross_entropy, mse_loss

    from lossnav.lab.ensemble import Ensemble
    from lossnav.lab.streams import online
    from lossnav.lab.training.checkpoint import is_there

    start = time.perf_counter()
    is_there(None if checkpoint is None else Path(checkpoint), resume)
    stream = make_stream(experiment, dataset)
    ensemble = Ensemble([make_model(replace(experiment, seed=seed), dataset) for seed in experiment.seeds]).to(place)
    classes = experiment.loss == "cross_entropy"
    with _flushed():
        outcome = online.run(
            ensemble, make_stepper(experiment, ensemble), stream, tasks=experiment.length, clip=experiment.clip,
            loss=cross_entropy if classes else mse_loss, score=online.accuracy if classes else online.squared_error,
            progress=progress, checkpoint=None if checkpoint is None else Path(checkpoint), every=_SAVE_EVERY,
        )  # fmt: skip
    settings = {"steps_per_task": stream.steps, "device": place.type, "precision": "float32", "together": ensemble.size}
    scores = outcome.scores.nan_to_num(nan=_LARGEST, posinf=_LARGEST)
    results = [
        {"seed": seed, "scores": row, "finite": finite,
         "seconds": round(outcome.seconds / ensemble.size, 2), "settings": settings}
        for seed, row, finite in zip(experiment.seeds, scores.tolist(), outcome.finite.tolist(), strict=True)
    ]  # fmt: skip
    return _record(experiment, dataset, results, time.perf_counter() - start, place)


@contextmanager
def _flushed() -> Iterator[None]:
    """Take numbers below 1e-38 for zero: dead networks' weights decay into them, and processors are slow with them."""
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _cut(dataset: Dataset, experiment: Experiment) -> Dataset:
    """Return the part of the data that an experiment takes."""
    train = dataset.train
    if experiment.validation is not None:
        cut = len(train) - whole("validation", experiment.validation, low=1, high=len(train) - 1)
        dataset = replace(dataset, train=train.head(cut), test=replace(train, x=train.x[cut:], y=train.y[cut:]))
    sizes = []
    for name, split in (("train_size", dataset.train), ("test_size", dataset.test)):
        size = getattr(experiment, name)
        sizes.append(len(split) if size is None else whole(name, size, low=1, high=len(split)))
    return dataset.head(*sizes)


def _record(
    experiment: Experiment, dataset: Dataset | None, results: list[dict[str, Any]], duration: float, place: torch.device
) -> records.Record:
    import torch

    provenance = dataset.provenance.record() if dataset is not None else {"label": "bit flipping, generated"}
    return records.new(
        command=experiment.command(), config=experiment.config(), seeds=list(experiment.seeds), data=provenance,
        results=results, duration=duration,
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else records.processor(),
    )  # fmt: skip
