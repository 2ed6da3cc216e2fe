"""``training.train`` for several seeds at once: the same curves, the same models, in a fraction of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from .._checks import finite, positive
from ..data import Dataset, Split
from ..training import History, pick_device
from .stacked import Ensemble, Loss, member_losses

Rule = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
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
    and its gradient is clipped by its own norm, so the two agree up to rounding. A member that diverges hurts no other:
    its history ends where it did, and its model is left with what it has become.

    Args:
        models: the members, with initial weights of their own.
        dataset: moved to ``device``.
        rule: from the (stacked) parameters to an optimizer that treats every weight by itself.
        epochs: number of passes, >= 1.
        batch_size: examples a step and member.
        seeds: of the order of the examples, one a member.
        clip: each member's gradient is scaled down to this 2-norm if it is longer; None for no clipping.
        device: as in ``training.train``.
        progress: show a bar on the terminal.
        loss: mean loss of one member's logits and labels.

    Returns:
        A history for each member. Its seconds are a member's share of the epoch's wall time; its settings have
        ``diverged``, the number of steps with a finite loss, if the member diverged.

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
    finite("epochs", epochs, low=1)
    finite("batch_size", batch_size, low=1)
    if clip is not None:
        positive("clip", clip)
    if len(seeds) != len(models):
        raise ValueError(f"seeds has {len(seeds)} entries, but there are {len(models)} models")
    place = pick_device(device)
    dataset = dataset.to(place)
    ensemble = Ensemble(models).to(place)
    optimizer = rule(ensemble.parameters())
    generators = [torch.Generator(place).manual_seed(seed) for seed in seeds]
    histories = [
        History(settings={
            "epochs": epochs, "batch_size": batch_size, "seed": seed, "clip": clip, "device": place.type,
            "data": dataset.provenance.label, "optimizer": type(optimizer).__name__, "together": len(seeds),
        })
        for seed in seeds
    ]  # fmt: skip
    steps = -(-len(dataset.train) // batch_size)
    with tqdm(total=epochs * steps, disable=not progress, unit="step") as bar:
        for _ in range(epochs):
            start = time.perf_counter()
            losses = _pass(ensemble, dataset.train, optimizer, generators, batch_size, clip, loss, bar)
            tests = _evaluate(ensemble, dataset.test, loss)
            seconds = (time.perf_counter() - start) / len(seeds)
            sizes = torch.full((steps,), float(batch_size), dtype=torch.float64)
            sizes[-1] = len(dataset.train) - batch_size * (steps - 1)
            for history, curve, found in zip(histories, losses.cpu(), tests, strict=True):
                _append(history, curve, sizes, found, seconds)
            bar.set_postfix(train_loss=f"{float(losses.nanmean()):.4f}")
    for index, model in enumerate(models):
        model.load_state_dict(ensemble.member(index).state_dict())
    return histories


def _pass(
    ensemble: Ensemble, split: Split, optimizer: torch.optim.Optimizer, generators: Sequence[torch.Generator],
    batch_size: int, clip: float | None, loss: Loss, bar: tqdm,
) -> Tensor:  # fmt: skip
    """Take one pass over the training split, each member in its own order; return the losses (S, steps)."""
    place = split.x.device
    orders = torch.stack([torch.randperm(len(split), generator=g, device=place) for g in generators])
    losses = []
    ensemble.train()
    for index in orders.split(batch_size, dim=1):
        x, y = split.batch(index.reshape(-1))
        values = ensemble.losses(x.unflatten(0, index.shape), y.view(index.shape), loss)
        optimizer.zero_grad(set_to_none=True)
        values.sum().backward()
        if clip is not None:
            ensemble.clip_grad_norm(clip)
        optimizer.step()
        losses.append(values.detach())
        bar.update()
    return torch.stack(losses, dim=1)


def _evaluate(ensemble: Ensemble, split: Split, loss: Loss) -> list[tuple[float, float]]:
    """Return mean loss and accuracy of each member on a split."""
    total = torch.zeros(ensemble.size, device=split.x.device)
    right = torch.zeros(ensemble.size, device=split.x.device)
    ensemble.eval()
    with torch.no_grad():
        for start in range(0, len(split), _EVALUATED):
            x, y = split.batch(slice(start, start + _EVALUATED))
            everyone = y.expand(ensemble.size, -1)
            logits = ensemble(x.expand(ensemble.size, *x.shape))
            total += member_losses(logits, everyone, loss) * len(y)
            right += (logits.argmax(-1) == everyone).sum(-1)
    return list(zip((total / len(split)).tolist(), (right / len(split)).tolist(), strict=True))


def _append(
    history: History, losses: Tensor, sizes: Tensor, tested: tuple[float, float], seconds: float
) -> None:
    """Add an epoch to a member's history, unless the member has diverged before; a broken epoch ends it."""
    if "diverged" in history.settings:
        return
    good = int(torch.isfinite(losses).long().cumprod(0).sum())
    history.step_loss.extend(losses[: good + 1].tolist())
    if good < len(losses):
        history.settings["diverged"] = len(history.step_loss) - 1
        return
    history.train_loss.append(float(losses.double() @ sizes / sizes.sum()))
    history.test_loss.append(tested[0])
    history.test_accuracy.append(tested[1])
    history.seconds.append(seconds)
