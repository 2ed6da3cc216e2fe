"""One training loop for all experiments: data on the device, explicit seeds, and a clean stop when a run diverges."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from ._checks import NotConverged, finite, positive
from .data import Dataset, Split

Item = TypeVar("Item")
Result = TypeVar("Result")
_CHECK_EVERY = 100  # steps between two looks at the losses: each look makes the host wait for the device


@dataclass
class History:
    """What a run has seen so far: one entry an epoch, and the training loss of every step.

    Attributes:
        train_loss: mean training loss over the epoch's examples, while the weights move.
        test_loss, test_accuracy: on the test split, at the end of the epoch; the accuracy is a fraction.
        seconds: wall time of the epoch, evaluation included.
        step_loss: training loss of each batch, before the step that it causes.
        settings: epochs, batch_size, seed, clip, device, data — what the loop was told.
    """

    train_loss: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    step_loss: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def record(self, *, steps: bool = False) -> dict[str, Any]:
        """Return the history as plain numbers for a record; ``steps`` keeps the loss of every step."""
        kept = {"train_loss": self.train_loss, "test_loss": self.test_loss, "test_accuracy": self.test_accuracy}
        entries: dict[str, Any] = {key: [round(x, 6) for x in values] for key, values in kept.items()}
        entries["seconds"] = round(sum(self.seconds), 2)
        if steps:
            entries["step_loss"] = [round(x, 6) for x in self.step_loss]
        return entries


class Diverged(NotConverged):
    """The loss or a weight became infinite or NaN.

    The model and the optimizer are back at the last state that was found good.

    Attributes:
        history: the run so far, with the losses of the steps that led here.
        step: number of steps of the run that went well: the loss of the next one, or the weights after it, were not
            finite.
        good_step: the step whose state the model now holds.
    """

    def __init__(self, message: str, history: History, step: int, good_step: int) -> None:
        super().__init__(message)
        self.history, self.step, self.good_step = history, step, good_step


def train(
    model: nn.Module,
    dataset: Dataset,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    batch_size: int = 128,
    seed: int,
    clip: float | None = 5.0,
    device: Any = "auto",
    progress: bool = True,
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
) -> History:
    """Train ``model`` in place and return what happened.

    Each epoch visits the training images once, in an order drawn on the device from ``seed``, in batches (the last one
    may be smaller). Losses stay on the device; the host looks at them every 100 steps, and stops the run if one is not
    finite.

    Args:
        model: gives logits (B, classes); moved to ``device``.
        dataset: moved to ``device`` as uint8; normalised batch by batch.
        optimizer: of the model's parameters.
        epochs: number of passes, >= 1.
        batch_size: examples a step.
        seed: of the order of the examples. The initial weights have their own (see ``models``).
        clip: the gradient is scaled down to this 2-norm if it is longer; None for no clipping.
        device: "auto" (CUDA, else Apple's MPS, else CPU) or anything ``torch.device`` takes.
        progress: show a bar on the terminal.
        loss: mean loss of logits and labels, a scalar.

    Returns:
        The history of the run.

    Raises:
        Diverged: a loss or weight is not finite; carries the history, and the model holds its last good weights.

    Example:
        >>> from lossnav import data, models, optim
        >>> digits = data.load("digits")
        >>> model = models.mlp(digits.inputs, (32,), seed=0)
        >>> rule = optim.Ballistic(model.parameters(), lr=5e-3)
        >>> train(model, digits, rule, epochs=5, seed=0, progress=False).test_accuracy[-1] > 0.9
        True
    """
    finite("epochs", epochs, low=1)
    finite("batch_size", batch_size, low=1)
    if clip is not None:
        positive("clip", clip)
    place = pick_device(device)
    model.to(place)
    dataset = dataset.to(place)
    history = History(settings={
        "epochs": epochs, "batch_size": batch_size, "seed": seed, "clip": clip, "device": place.type,
        "data": dataset.provenance.label,
    })  # fmt: skip
    generator = torch.Generator(place).manual_seed(seed)
    with tqdm(total=epochs * -(-len(dataset.train) // batch_size), disable=not progress, unit="step") as bar:
        run = _Run(model, dataset, optimizer, batch_size, clip, loss, generator, history, bar)
        for _ in range(epochs):
            start = time.perf_counter()
            run.epoch()
            run.evaluate()
            history.seconds.append(time.perf_counter() - start)
    return history


def evaluate(
    model: nn.Module, split: Split, *, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy, batch_size: int = 2000
) -> tuple[float, float]:
    """Return mean loss and accuracy (a fraction) of the model on a split; the model's mode is left as it was."""
    was_training = model.training
    model.eval()
    total = torch.zeros((), device=split.x.device)
    right = torch.zeros((), device=split.x.device, dtype=torch.int64)
    with torch.no_grad():
        for start in range(0, len(split), batch_size):
            x, y = split.batch(slice(start, start + batch_size))
            logits = model(x)
            total += loss(logits, y) * len(y)
            right += (logits.argmax(1) == y).sum()
    model.train(was_training)
    return total.item() / len(split), right.item() / len(split)


def pick_device(device: Any = "auto") -> torch.device:
    """Return the device to train on; "auto" takes CUDA, else Apple's MPS, else the CPU."""
    if not isinstance(device, str) or device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed by threads that use one core each.

    Small models gain more from one run a core than from several cores a run; torch lets go of Python's lock in its
    kernels, so threads do (measured: 1.9 × on two cores for the paper's MLP), and a notebook can use them without
    spawning processes. Runs must not share models or generators; ``train`` and ``models`` touch no global state, so
    the results do not depend on ``workers``.

    Args:
        function: called once an item, in any order.
        items: what to call it with.
        workers: number of threads; by default one a core, or one alone when there is a GPU.

    Returns:
        The results in the order of the items. The first exception, if any, is raised, and no new run is begun.
    """
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        workers = workers if pick_device().type == "cpu" else 1
    finite("workers", workers, low=1)
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        return list(pool.map(function, items))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


@dataclass
class _Run:
    """The moving parts of a run: everything that the loop reads or changes between two steps."""

    model: nn.Module
    dataset: Dataset
    optimizer: torch.optim.Optimizer
    batch_size: int
    clip: float | None
    loss: Callable[[Tensor, Tensor], Tensor]
    generator: torch.Generator
    history: History
    bar: tqdm

    def epoch(self) -> None:
        """Take one pass over the training split and append its mean loss to the history."""
        split, place = self.dataset.train, self.dataset.device
        batches = torch.randperm(len(split), generator=self.generator, device=place).split(self.batch_size)
        losses = torch.empty(len(batches), device=place)
        self.model.train()
        good, checked = self._snapshot(), 0
        for n, index in enumerate(batches, start=1):
            losses[n - 1] = self._step(*split.batch(index))
            if n % _CHECK_EVERY == 0 or n == len(batches):
                self._check(losses[checked:n], good)
                good, checked = self._snapshot(), n
        sizes = torch.tensor([len(index) for index in batches], dtype=torch.float64)
        self.history.train_loss.append(float(losses.double().cpu() @ sizes / sizes.sum()))

    def evaluate(self) -> None:
        """Append loss and accuracy on the test split to the history."""
        test_loss, accuracy = evaluate(self.model, self.dataset.test, loss=self.loss)
        self.history.test_loss.append(test_loss)
        self.history.test_accuracy.append(accuracy)
        self.bar.set_postfix(train_loss=f"{self.history.train_loss[-1]:.4f}", test_accuracy=f"{accuracy:.4f}")

    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        value = self.loss(self.model(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        value.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self._parameters(), self.clip)
        self.optimizer.step()
        return value.detach()

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _check(self, losses: Tensor, good: tuple[Any, Any]) -> None:
        """Look at the losses since the last check: the only moment at which the host waits for the device."""
        largest = torch.stack([p.detach().abs().amax() for p in self._parameters() if p.numel()])
        seen = losses.cpu()
        steps = self.history.step_loss
        good_step = len(steps)
        finite_losses = int(torch.isfinite(seen).long().cumprod(0).sum())
        steps.extend(seen[: finite_losses + 1].tolist())
        self.bar.update(len(seen))
        if finite_losses == len(seen) and bool(torch.isfinite(largest).all()):
            return
        self.model.load_state_dict(good[0])
        self.optimizer.load_state_dict(good[1])
        step = good_step + finite_losses
        rates = ", ".join(f"{float(group['lr']):g}" for group in self.optimizer.param_groups)
        what = f"the loss is {steps[-1]}" if finite_losses < len(seen) else "a weight is not finite"
        raise Diverged(
            f"{type(self.optimizer).__name__} with lr = {rates} diverged: after step {step} {what}. The model and the "
            f"optimizer are back at step {good_step}. A smaller learning rate or a smaller clip may help",
            self.history, step, good_step,
        )  # fmt: skip

    def _snapshot(self) -> tuple[Any, Any]:
        return copy.deepcopy(self.model.state_dict()), copy.deepcopy(self.optimizer.state_dict())
