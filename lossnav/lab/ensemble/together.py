"""``training.train`` for several seeds at once: the same curves, the same models, in a fraction of the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from lossnav._checks import counts, flag, function, instance, positive
from lossnav._checks import seeds as check_seeds
from lossnav._tensors import modules
from lossnav._tensors import optimizer as check_optimizer
from lossnav.lab.data import Dataset, Split
from lossnav.lab.ensemble.loop import learn
from lossnav.lab.ensemble.stacked import Ensemble, Loss, member_losses, places
from lossnav.lab.training import History, pick_device
from lossnav.lab.training.arithmetic import Arithmetic
from lossnav.lab.training.steps import check_splits, epoch_mean, steps_of

Rule = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
_ARITHMETIC = Arithmetic(reason="float32; contiguous: several models together")
_CHECK_EVERY = 100  # steps between two looks at the weights, as in training.train
_EVALUATED = 500  # test images of each member at a time


def train(
    models: Sequence[nn.Module],
    dataset: Dataset,
    rule: Rule,
    *,
    epochs: int,
    batch_size: int = 128,
    seeds: Sequence[int],
    clip: float | None = 5.0,
    device: Any = "auto",
    progress: bool = True,
    loss: Loss = cross_entropy,
) -> list[History]:
    """Train models of one architecture together, in place, and return the history of each.

    Member s sees the examples in the order that ``training.train(models[s], …, seed=seeds[s])`` would show them to it,
    and its gradient is clipped by its own norm, so the two agree up to rounding, in float32. A member that diverges
    hurts no other: its history ends where it did, and its model is left as it has become.

    Args:
        models: the members, with initial weights of their own.
        dataset: moved to ``device``.
        rule: from parameters to an optimizer of them, which must treat every weight by itself, as SGD, Adam and
            ``optim.Ballistic`` do: it steps the stack of all members.
        epochs: number of passes, >= 1.
        batch_size: examples a step and member.
        seeds: of the order of the examples, one a member.
        clip: each member's gradient is scaled down to this 2-norm if it is longer; None for no clipping.
        device: as in ``training.train``.
        progress: show a bar on the terminal.
        loss: mean loss of one member's logits and labels.

    Returns:
        A history for each member. Its seconds are a member's share of the epoch's wall time; its settings have
        ``together``, the number of members, and, if it diverged, ``diverged``, the number of steps that went well.

    Raises:
        ValueError: the models differ in more than their weights, or there are more or fewer seeds than models.

    Example:
        >>> from lossnav import data, models, optim
        >>> digits = data.load("digits")
        >>> members = [models.mlp(digits.inputs, (32,), seed=s) for s in range(8)]
        >>> histories = train(members, digits, lambda p: optim.Ballistic(p, lr=5e-3), epochs=5, seeds=range(8),
        ...                   progress=False)
        >>> min(history.test_accuracy[-1] for history in histories) > 0.9
        True
    """
    modules("models", models)
    instance("dataset", dataset, Dataset, "a data.Dataset")
    check_splits(dataset)
    function("rule", rule)
    function("loss", loss)
    flag("progress", progress)
    counts(epochs=epochs, batch_size=batch_size)
    check_seeds("seeds", seeds, "whole numbers, one a model")
    if clip is not None:
        positive("clip", clip)
    if len(seeds) != len(models):
        raise ValueError(f"seeds has {len(seeds)} entries, but there are {len(models)} models")
    place = pick_device(device)
    dataset = dataset.to(place)
    ensemble = Ensemble(models).to(place)
    optimizer = rule(list(ensemble.parameters()))
    check_optimizer("rule", optimizer, ensemble.parameters(), "the ensemble")
    histories = [
        History(settings={
            "epochs": epochs, "batch_size": batch_size, "seed": seed, "clip": clip, "device": place.type,
            "data": dataset.provenance.label, "optimizer": type(optimizer).__name__,
            "augment": None, "processes": 1, **_ARITHMETIC.settings(), "together": len(seeds),
        })
        for seed in seeds
    ]  # fmt: skip
    generators = [torch.Generator(place).manual_seed(seed) for seed in seeds]
    run = _Run(ensemble, dataset, optimizer, generators, batch_size, clip, loss)
    with tqdm(total=epochs * steps_of(dataset.train, batch_size), disable=not progress, unit="step") as run.bar:
        for _ in range(epochs):
            run.epoch(histories)
    for index, model in enumerate(models):
        for tensor, trained in zip(places(model).values(), places(ensemble.member(index)).values(), strict=True):
            tensor.data.copy_(trained)
    return histories


@dataclass
class _Run:
    """Everything that a pass over the data reads or changes."""

    ensemble: Ensemble
    dataset: Dataset
    rule: torch.optim.Optimizer
    generators: Sequence[torch.Generator]
    batch_size: int
    clip: float | None
    loss: Loss
    bar: Any = None

    def epoch(self, histories: Sequence[History]) -> None:
        """Take one pass over the training split, each member in its own order, and evaluate."""
        start = time.perf_counter()
        losses, broken = self._pass()
        tests = _evaluate(self.ensemble, self.dataset.test, self.loss)
        seconds = (time.perf_counter() - start) / len(histories)
        for member in zip(histories, losses.cpu(), broken.tolist(), tests, strict=True):
            _append(*member, epoch_mean(member[1], len(self.dataset.train), self.batch_size), seconds)
        self.bar.set_postfix(train_loss=f"{float(losses.nanmean()):.4f}")

    def _pass(self) -> tuple[Tensor, Tensor]:
        """Take the steps of an epoch.

        Returns:
            The losses (S, steps), and the steps (S,) after which weights were first seen not to be finite (steps + 1
            for never); one looks as often as ``training.train`` does, so that both say the same.
        """
        steps = steps_of(self.dataset.train, self.batch_size)
        losses = torch.zeros(self.ensemble.size, steps, device=self.dataset.device)
        never = steps + 1
        broken = torch.full((self.ensemble.size,), never, device=self.dataset.device)
        self.ensemble.train()
        outcomes = learn(self.ensemble, self.rule, self._batches(), self.loss, self.clip)
        for n, (_, values) in enumerate(outcomes, start=1):
            losses[:, n - 1] = values
            if n % _CHECK_EVERY == 0 or n == steps:
                broken_at_n = torch.where(self.ensemble.finite_members(), never, n)
                broken = torch.minimum(broken, broken_at_n)
            self.bar.update()
        return losses, broken

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the images (S, B, …) and labels (S, B) of an epoch, each member's in its own order."""
        count, place = len(self.dataset.train), self.dataset.device
        orders = [torch.randperm(count, generator=generator, device=place) for generator in self.generators]
        for index in torch.stack(orders).split(self.batch_size, dim=1):
            x, y = self.dataset.train.batch(index.flatten())
            yield x.unflatten(0, index.shape), y.view(index.shape)


def _evaluate(ensemble: Ensemble, split: Split, loss: Loss) -> list[tuple[float, float]]:
    """Return mean loss and accuracy of each member on a split."""
    total = torch.zeros(ensemble.size, device=split.x.device)
    correct = torch.zeros(ensemble.size, device=split.x.device)
    ensemble.eval()
    with torch.no_grad():
        for start in range(0, len(split), _EVALUATED):
            x, y = split.batch(slice(start, start + _EVALUATED))
            labels = y.expand(ensemble.size, -1)
            logits = ensemble(x.expand(ensemble.size, *x.shape))
            total += member_losses(logits, labels, loss) * len(y)
            correct += (logits.argmax(-1) == labels).sum(-1)
    return list(zip((total / len(split)).tolist(), (correct / len(split)).tolist(), strict=True))


def _append(
    history: History, losses: Tensor, broken: int, tested: tuple[float, float], mean: float, seconds: float
) -> None:
    """Add an epoch to a member's history, unless the member has diverged before; a broken epoch ends it."""
    if "diverged" in history.settings:
        return
    good = min(int(torch.isfinite(losses).long().cumprod(0).sum()), broken)
    if good < len(losses) or broken == good or not math.isfinite(tested[0]):
        history.settings["diverged"] = len(history.step_loss) + good
        history.step_loss.extend(losses[: good + (good < broken)].tolist())  # the loss that ended it, if one did
        return
    history.step_loss.extend(losses.tolist())
    history.train_loss.append(mean)
    history.test_loss.append(tested[0])
    history.test_accuracy.append(tested[1])
    history.seconds.append(seconds)
