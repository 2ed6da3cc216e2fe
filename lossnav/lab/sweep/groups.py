"""Which experiments are trained together: those that differ by nothing but their seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lossnav._checks import is_whole, shown
from lossnav.lab.experiment import INPUTS, OUTPUTS, Experiment, why_alone
from lossnav.lab.experiment.settings import IID
from lossnav.lab.sweep.worker import Job

AUTO = "auto"
_MOST = 16  # seeds that "auto" puts together: more gain little, and all of them appear at once or not at all
_PRODUCTS = 4e6  # weights times images of a step up to which eight seeds together took at most 2/3 of the time


def check(together: Any, wanted: Sequence[Experiment], checkpoints: object) -> None:
    """Raise ``ValueError`` unless ``together`` is a number that the experiments allow, or "auto"."""
    if isinstance(together, str) and together == AUTO:
        return
    if not is_whole(together) or together < 1:
        raise ValueError(f"together = {shown(together)}, but it must be a whole number >= 1, or 'auto'")
    if together == 1:
        return
    if checkpoints is not None and any(experiment.stream == IID for experiment in wanted):
        raise ValueError(
            f"together = {together}, but with checkpoints each seed is trained alone: a checkpoint holds the state of "
            "one run. Leave one of the two out"
        )
    for seeds in _families(wanted):
        reason = why_alone(seeds[0])
        if len(seeds) > 1 and reason:
            raise ValueError(f"together = {together}, but {reason}. 'auto' trains such seeds one by one")


def jobs(pending: Iterable[Experiment], together: int | str, checkpoints: object, workers: int) -> list[Job]:
    """Return the pending experiments as jobs for the workers.

    Args:
        pending: different experiments.
        together: the largest number of seeds in a job. "auto": up to 16 where that is possible and pays, but no
            fewer jobs than workers.
        checkpoints: not None if each run keeps its state, which one of several together cannot,
            unless they learn a stream of tasks.
        workers: number of workers.
    """
    if together == 1:
        return [(experiment,) for experiment in pending]
    if together != AUTO:
        return [job for seeds in _families(pending) for job in _split(seeds, int(together))]
    found = [
        job
        for seeds in _families(pending)
        for job in _split(seeds, _MOST if (checkpoints is None or seeds[0].stream != IID) and _pays(seeds[0]) else 1)
    ]
    while found and len(found) < workers and len(largest := max(found, key=len)) > 1:
        place = found.index(largest)
        found[place : place + 1] = _split(largest, -(-len(largest) // 2))
    return found


def _families(experiments: Iterable[Experiment]) -> list[Job]:
    """Group experiments that differ by their seeds alone; equal ones count once."""
    families: dict[str, dict[str, Experiment]] = {}
    for experiment in experiments:
        alike = experiment if isinstance(experiment.seed, tuple) else replace(experiment, seed=0)
        families.setdefault(alike.key(), {})[experiment.key()] = experiment
    return [tuple(members.values()) for members in families.values()]


def _split(seeds: Job, most: int) -> list[Job]:
    """Cut into parts of at most ``most``, as equal as can be."""
    parts = -(-len(seeds) // most)
    return [seeds[len(seeds) * k // parts : len(seeds) * (k + 1) // parts] for k in range(parts)]


def _pays(experiment: Experiment) -> bool:
    """Whether seeds of an experiment are trained much faster together than one after the other.

    So it is where the surroundings of the arithmetic take the time, and the arithmetic is little. The threshold is
    that of a processor; on other devices it was not measured, and ``together=n`` says what is wanted there.
    """
    if why_alone(experiment) or experiment.model != "mlp":
        return False
    hidden = _widths(experiment.model_options)
    if hidden is None or experiment.data not in INPUTS:
        return False
    weights = sum(a * b for a, b in pairwise([INPUTS[experiment.data], *hidden, OUTPUTS]))
    return weights * experiment.batch_size <= _PRODUCTS


def _widths(options: Mapping[str, Any]) -> list[int] | None:
    """Return the widths of the hidden layers, or None if they are not what they must be (the run will say so)."""
    found = options.get("hidden", (512, 256))
    good = isinstance(found, (list, tuple)) and all(isinstance(width, int) for width in found)
    return list(found) if good else None
