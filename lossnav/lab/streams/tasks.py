"""Streams of tasks: each has the same difficulty as the one before, and nothing of it can be reused as it is.

A stream serves several members at once (see ``lossnav.ensemble``), each with tasks of its own. Task n of a member
depends on the member's seed and on n alone, so that a stream can be entered anywhere and a member meets the same tasks
in any company.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from lossnav._checks import finite, flag, instance, whole
from lossnav._checks import seeds as check_seeds
from lossnav.lab.data import Dataset


class Stream(Protocol):
    """What an online run asks of a stream.

    Attributes:
        seeds: one a member.
        inputs: number of input values of an example.
        steps: number of batches in a task.
    """

    seeds: tuple[int, ...]
    inputs: int
    steps: int

    def task(self, number: int) -> tuple[Tensor, Tensor]:
        """Return inputs (steps, S, B, inputs) and targets (steps, S, B, …) of one task, in the order of learning."""


class Permuted:
    """Images whose pixels, and by default labels too, are permuted anew for each task.

    To a fresh network whose initial weights are drawn alike for all pixels (and for all outputs, where labels are
    permuted) every task is as hard as the first, averaged over its draws. What a network loses over tasks is therefore
    its own loss. With new labels not even the last layer is of use again.

    Args:
        dataset: where the images come from; both splits are used, since online accuracy needs no test set.
        seeds: one a member.
        batch_size: images a step.
        examples: images a task, drawn anew for each task without repetition; None for all of them. What does not fill
            a batch is left out.
        relabel: permute the labels too.

    Raises:
        ValueError: ``examples`` or ``batch_size`` are more than there are images, or there is no seed.

    Example:
        >>> from lossnav import data
        >>> stream = Permuted(data.load("digits"), seeds=(0, 1, 2))
        >>> x, y = stream.task(0)
        >>> tuple(x.shape), tuple(y.shape)
        ((112, 3, 16, 64), (112, 3, 16))

    References:
        Online permuted MNIST: Dohare et al. (2024), "Loss of plasticity in deep continual learning". Relabelling is
        ours.
    """

    seeds: tuple[int, ...]
    batch_size: int
    inputs: int
    classes: int
    steps: int
    relabel: bool

    def __init__(
        self, dataset: Dataset, seeds: Sequence[int], *, batch_size: int = 16, examples: int | None = None,
        relabel: bool = True,
    ) -> None:  # fmt: skip
        instance("dataset", dataset, Dataset, "a data.Dataset")
        self.seeds = _seeds(seeds)
        parts = [split.batch(slice(None)) for split in (dataset.train, dataset.test)]
        self._x = torch.cat([x.flatten(1) for x, _ in parts])
        self._y = torch.cat([y for _, y in parts])
        available = len(self._y)
        wanted = available if examples is None else whole("examples", examples, low=1, high=available)
        self.batch_size = whole("batch_size", batch_size, low=1, high=wanted)
        self.inputs, self.classes = self._x.shape[1], dataset.classes
        self.steps = wanted // self.batch_size
        self.relabel = flag("relabel", relabel)

    def task(self, number: int) -> tuple[Tensor, Tensor]:
        """Return images (steps, S, B, pixels) and labels (steps, S, B) of a task."""
        whole("number", number, low=0)
        shape = (self.steps, len(self.seeds), self.batch_size)
        x = self._x.new_empty(*shape, self.inputs)
        y = self._y.new_empty(shape)
        for member, seed in enumerate(self.seeds):
            generator = _generator(seed, number)
            pixels = torch.randperm(self.inputs, generator=generator).to(x.device)
            labels = torch.randperm(self.classes, generator=generator).to(x.device)
            order = torch.randperm(len(self._y), generator=generator)[: self.steps * self.batch_size].to(x.device)
            x[:, member] = self._x[order][:, pixels].view(self.steps, self.batch_size, -1)
            names = self._y[order]
            y[:, member] = (labels[names] if self.relabel else names).view(self.steps, self.batch_size)
        return x, y


class BitFlipping:
    """Regression on bits, some of which change slowly: the target stays, and the part of it that matters moves.

    Of ``inputs`` bits the first ``slow`` are constant during a task and change between tasks; the others are drawn anew
    for each example. The target is a fixed random network of linear threshold units::

        y = Σ_i a_i · 1[ w_i·x + b_i > θ_i ],   θ_i = (inputs + 1) β − n_i,   a_i, w_ij, b_i ∈ {−1, +1},

    with n_i the number of −1 among w_i and b_i. It is too rich for a small learner, which must follow it.

    Args:
        seeds: one a member; also of its target network.
        inputs: number of bits.
        slow: how many of them change slowly.
        period: examples a task, each a batch of one.
        hidden: number of threshold units of the target.
        beta: β, sets the thresholds: a unit is on if more than a share β of its inputs have its sign.

    Raises:
        ValueError: more slow bits than bits.

    Example:
        >>> x, y = BitFlipping(seeds=(0, 1), period=100).task(3)
        >>> tuple(x.shape), tuple(y.shape), sorted(x.unique().tolist())
        ((100, 2, 1, 20), (100, 2, 1, 1), [0.0, 1.0])

    References:
        Dohare et al. (2024), "slowly changing regression", where one slow bit flips between tasks: all are drawn anew
        here, which moves faster.
    """

    seeds: tuple[int, ...]
    inputs: int
    slow: int
    steps: int
    hidden: int
    beta: float

    def __init__(
        self, seeds: Sequence[int], *, inputs: int = 20, slow: int = 15, period: int = 10_000, hidden: int = 100,
        beta: float = 0.7,
    ) -> None:  # fmt: skip
        self.seeds = _seeds(seeds)
        self.inputs = whole("inputs", inputs, low=1)
        self.slow = whole("slow", slow, low=0, high=self.inputs)
        self.steps = whole("period", period, low=1)
        self.hidden = whole("hidden", hidden, low=1)
        self.beta = finite("beta", beta, low=0.0, high=1.0)
        targets = [self._target(seed) for seed in self.seeds]
        self._weight, self._threshold, self._output = (torch.stack(part) for part in zip(*targets, strict=True))

    def task(self, number: int) -> tuple[Tensor, Tensor]:
        """Return bits (period, S, 1, inputs) and targets (period, S, 1, 1) of a task."""
        whole("number", number, low=0)
        x = torch.empty(len(self.seeds), self.steps, self.inputs)
        for member, seed in enumerate(self.seeds):
            generator = _generator(seed, number + 1)
            x[member] = torch.randint(2, (self.steps, self.inputs), generator=generator)
            x[member, :, : self.slow] = torch.randint(2, (self.slow,), generator=_generator(seed, number + 1, 1))
        active = torch.einsum("stn,shn->sth", x, self._weight) > self._threshold.unsqueeze(1)
        y = torch.einsum("sth,sh->st", active.to(x.dtype), self._output)
        return x.transpose(0, 1).unsqueeze(2), y.T.reshape(self.steps, -1, 1, 1)

    def _target(self, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return input weights, thresholds (with the bias absorbed) and output weights of one target network."""
        generator = _generator(seed, 0)
        signs = 2.0 * torch.randint(2, (self.hidden, self.inputs + 1), generator=generator) - 1.0
        output = 2.0 * torch.randint(2, (self.hidden,), generator=generator) - 1.0
        weight, bias = signs[:, :-1], signs[:, -1]
        threshold = (self.inputs + 1) * self.beta - (signs < 0).sum(1) - bias
        return weight, threshold, output


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    member = "one for each member"
    return check_seeds("seeds", seeds, f"whole numbers, {member}", low=0, none=f"there must be {member}")


def _generator(*key: Any) -> torch.Generator:
    """Return a generator for a tuple of numbers: streams of neighbouring seeds and tasks are unrelated."""
    state = np.random.SeedSequence(key).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(state) >> 1)
