"""What an experiment is made of: its model, its stream of tasks and its rule, from the settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lossnav._checks import instance
from lossnav.lab.experiment import own
from lossnav.lab.experiment.settings import IID, Experiment

if TYPE_CHECKING:
    import torch
    from torch import nn

    from lossnav.lab.data import Dataset
    from lossnav.lab.ensemble import Ensemble
    from lossnav.lab.streams import Stream
    from lossnav.lab.streams.online import Stepper


def make_model(experiment: Experiment, dataset: Dataset | None) -> nn.Module:
    """Return the model for the data, with weights drawn from the experiment's first seed.

    Args:
        experiment: which one.
        dataset: of the experiment's ``data``; None for data that their stream draws.
    """
    from lossnav.lab import data, models

    instance("experiment", experiment, Experiment, "an Experiment")
    if own.is_own(experiment.model):
        return own.model(experiment.model, experiment.model_options, experiment.seeds[0])
    if experiment.data != "bits" or dataset is not None:
        instance("dataset", dataset, data.Dataset, "a data.Dataset")
    maker: Any = getattr(models, experiment.model)
    options, parameters = dict(experiment.model_options), inspect.signature(maker).parameters
    if dataset is None:
        facts = {"inputs": make_stream(replace(experiment, seed=experiment.seeds[0]), None).inputs, "outputs": 1}
    else:
        shape, images = dataset.shape, "channels" in parameters
        if images and (len(shape) != 3 or ("size" in parameters and shape[1] != shape[2])):
            what = f"{'square ' if 'size' in parameters else ''}images (channels, height, width)"
            raise ValueError(
                f"model = {experiment.model!r} needs {what}, but the inputs of {experiment.data} have shape {shape}"
            )
        facts = {"inputs": dataset.inputs, "outputs": dataset.classes}
        facts |= {"channels": shape[0], "size": shape[1]} if images else {}
    _check_names("model_options", options, maker, {*facts, "seed"})
    known = {name: value for name, value in facts.items() if name in parameters}
    return maker(**known, seed=experiment.seeds[0], **options)


def load_data(name: str, root: str | os.PathLike[str] | None, download: bool) -> Dataset:
    """Return a data set by the name that experiments have for it, ours or that of a function of the user's."""
    from lossnav.lab import data

    return own.dataset(name) if own.is_own(name) else data.load(name, root, download)


def make_stream(experiment: Experiment, dataset: Dataset | None) -> Stream:
    """Return the stream of tasks of an experiment, for all of its seeds.

    Args:
        experiment: what to run, with ``stream`` "permuted" or "bits".
        dataset: whose images are permuted; None for bits, which need none.

    Raises:
        ValueError: the experiment has no tasks, or the stream does not take an option; names it.
    """
    from lossnav.lab import streams

    instance("experiment", experiment, Experiment, "an Experiment")
    if experiment.stream == IID:
        raise ValueError("experiment.stream = 'iid', but it must be a stream of tasks")
    options = dict(experiment.stream_options)
    if experiment.stream == "bits":
        _check_names("stream_options", options, streams.BitFlipping, {"seeds"})
        return streams.BitFlipping(experiment.seeds, **options)
    _check_names("stream_options", options, streams.Permuted, {"dataset", "seeds", "batch_size"})
    return streams.Permuted(dataset, experiment.seeds, batch_size=experiment.batch_size, **options)  # type: ignore[arg-type]


def make_optimizer(experiment: Experiment, parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
    """Return the optimizer of a model's parameters, with the rate and the options of an experiment.

    Args:
        experiment: what to run.
        parameters: of the model.

    Raises:
        ValueError: the rule does not take an option, or is for streams of tasks alone; names it.

    Example:
        >>> import torch
        >>> experiment = Experiment(data="digits", optimizer="sgd", lr=0.1, epochs=1)
        >>> make_optimizer(experiment, torch.nn.Linear(2, 1).parameters()).defaults["lr"]
        0.1
    """
    from lossnav._tensors import parameters as check_parameters

    instance("experiment", experiment, Experiment, "an Experiment")
    parameters = check_parameters("parameters", parameters)
    maker, options = _rule(experiment)
    if "ensemble" in inspect.signature(maker).parameters:
        raise ValueError(f"optimizer = {experiment.optimizer!r} is for streams of tasks: stream = 'permuted' or 'bits'")
    try:
        return maker(parameters, **options)
    except TypeError as error:  # what torch's own rules make of a number in the place of a pair
        raise ValueError(f"options = {options}, but {experiment.optimizer} does not take them: {error}") from None


def make_stepper(experiment: Experiment, ensemble: Ensemble) -> Stepper:
    """Return the rule that steps all members of an ensemble; what it draws, it draws from the first seed.

    Args:
        experiment: names the rule, its rate and its options.
        ensemble: what is stepped.

    Returns:
        The rule's optimizer, or what wraps one for each member: with ``step``, ``state_dict``, ``load_state_dict``.

    Raises:
        ValueError: the rule does not take an option; names it.
    """
    from lossnav.lab.ensemble import Ensemble

    instance("experiment", experiment, Experiment, "an Experiment")
    instance("ensemble", ensemble, Ensemble, "an ensemble.Ensemble")
    _, options = _rule(experiment)
    return own.rule(experiment.optimizer).over(ensemble, options, experiment.seeds[0])


def _rule(experiment: Experiment) -> tuple[Any, dict[str, Any]]:
    """Return the class of the optimizer and its options."""
    rule = own.rule(experiment.optimizer)
    maker, options = rule.maker(), {**rule.given, **experiment.options}
    _check_names("options", experiment.options, maker, {"params", "ensemble", "lr"})
    if experiment.lr is not None:
        options["lr"] = experiment.lr
    return maker, options


def _check_names(argument: str, options: Mapping[str, Any], maker: Any, taken: set[str]) -> None:
    parameters = inspect.signature(maker).parameters
    if any(entry.kind is entry.VAR_KEYWORD for entry in parameters.values()):
        return  # it looks for itself
    allowed = sorted(set(parameters) - taken)
    for name in options:
        if name not in allowed:
            known = ", ".join(allowed) or "none"
            raise ValueError(f"{argument} has {name!r}, but {maker.__name__} takes: {known}")
