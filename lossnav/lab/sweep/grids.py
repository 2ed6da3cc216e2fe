"""Which experiments: combinations of values, times seeds, from arguments or from a file."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnav._checks import instance, sequence, shown
from lossnav._checks import path as check_path
from lossnav.lab.experiment import Experiment
from lossnav.lab.experiment.settings import check_seed

_NESTED = {"option": "options", "model_option": "model_options", "stream_option": "stream_options"}


def grid(
    axes: Mapping[str, Sequence[Any]],
    seeds: Sequence[int | Sequence[int]] = (0,),
    base: Mapping[str, Any] | None = None,
) -> list[Experiment]:
    """Return the experiments of all combinations of values and seeds.

    Args:
        axes: setting → values; ``option.NAME``, ``model_option.NAME`` and ``stream_option.NAME`` are arguments of the
            optimizer, the model and the stream.
        seeds: each combination is run with all of them. A tuple of seeds is one run of several networks, of a stream.
        base: settings that all share.

    Raises:
        ValueError: a setting is unknown, or a value is not allowed.

    Example:
        >>> runs = grid({"optimizer": ["sgd", "adam"], "lr": [0.01, 0.1]}, seeds=range(3))
        >>> len(runs), runs[0].lr, runs[-1].optimizer
        (12, 0.01, 'adam')
    """
    for name, values in instance("axes", axes, Mapping, "a mapping from settings to lists of values").items():
        instance("a name in axes", name, str, "a string")
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"axes[{name!r}] = {shown(values)}, but it must be a list of values")
    if base is not None:
        instance("base", base, Mapping, "a mapping from settings to values")
    listed = [tuple(seed) if isinstance(seed, list) else seed for seed in sequence("seeds", seeds, "whole numbers")]
    checked = [check_seed(f"seeds[{index}]", seed) for index, seed in enumerate(listed)]
    if not checked:
        raise ValueError("seeds is empty, but a sweep needs at least one seed")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [_combined(base or {}, point, seed) for point in points for seed in checked]


def _combined(base: Mapping[str, Any], point: Mapping[str, Any], seed: int | tuple[int, ...]) -> Experiment:
    settings = {**base, "seed": seed}
    for name, value in point.items():
        outer, dot, inner = name.partition(".")
        if dot and outer in _NESTED:
            settings[_NESTED[outer]] = {**settings.get(_NESTED[outer], {}), inner: value}
        else:
            settings[name] = value
    return Experiment.of(settings)


def read_grids(path: str | os.PathLike[str]) -> list[Experiment]:
    """Return the experiments of a TOML file.

    Args:
        path: of the file: shared settings, ``seeds`` (by default [0]), and one or more tables ``[[grid]]``, whose
            entries are lists of values; each table is a product, as of ``grid``.

    Raises:
        ValueError: the file is not TOML, or a setting is not allowed; names the file.
        OSError: it cannot be read.
    """
    check_path("path", path)
    with Path(path).open("rb") as stream:
        try:
            content = tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
    grids, seeds = content.pop("grid", [{}]), content.pop("seeds", [0])
    if not isinstance(grids, list) or not grids or not all(isinstance(entry, dict) for entry in grids):
        raise ValueError(f"{path}: grids are tables, written as [[grid]]")
    if not isinstance(seeds, list):
        raise ValueError(f"{path}: seeds = {shown(seeds)}, but it must be a list")
    try:
        return [experiment for axes in grids for experiment in grid(axes, seeds, content)]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
