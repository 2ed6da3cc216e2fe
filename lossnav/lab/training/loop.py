"""The loop: data on the device, explicit seeds, a clean stop when a run diverges, and a state that can be resumed."""

from __future__ import annotations

import copy
import math
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from lossnav._checks import flag, function, instance, methods, one_of, paths, positive, whole
from lossnav._tensors import module
from lossnav._tensors import optimizer as check_optimizer
from lossnav._writing import check_place
from lossnav.lab.data import Augmentation, Dataset
from lossnav.lab.training import checkpoint as checkpoints
from lossnav.lab.training import generator as generators
from lossnav.lab.training.arithmetic import choose
from lossnav.lab.training.devices import pick_device
from lossnav.lab.training.history import Diverged, History
from lossnav.lab.training.identity import describe
from lossnav.lab.training.memory import keep_freed_memory
from lossnav.lab.training.steps import Loss, Step, check_splits, epoch_mean, evaluate, observes, steps_of
from lossnav.lab.training.team import Team, team

_CHECK_EVERY = 100  # steps between two looks at the losses: each look makes the host wait for the device


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
    loss: Loss = cross_entropy,
    augment: Augmentation | None = None,
    precision: str = "auto",
    memory_format: str = "auto",
    compile: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    distributed: bool = False,
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
        seed: of the order of the examples. The initial weights have their own (see ``models``), and layers such as
            dropout draw from torch's generator: call ``torch.manual_seed`` before.
        clip: the gradient is scaled down to this 2-norm if it is longer; None for no clipping.
        device: "auto" (CUDA, else Apple's MPS, else CPU) or anything ``torch.device`` takes.
        progress: show a bar on the terminal.
        loss: mean loss of logits and labels, a scalar.
        augment: changes the training images at random, e.g. ``data.CropFlip()``; drawn from ``seed``, too.
        precision: "float32"; "bfloat16" (products only; weights and steps stay in float32); "auto" takes bfloat16 for
            a model with convolutions where the hardware multiplies it directly, and float32 elsewhere.
        memory_format: "contiguous", "channels_last", or "auto": channels_last for a model with convolutions.
        compile: send forward and backward pass through ``torch.compile``.
        checkpoint: file that keeps the state of the run, written at the end of each epoch.
        resume: continue from ``checkpoint`` if it is there (else begin); on a CPU the curve is, bit for bit, that of a
            run without interruption. Model and optimizer are given as they were when the run began, or as the last
            epoch of it left them, and all else is as it was, but ``epochs`` may be larger.
        distributed: share each batch between the processes of ``process_group``; ``batch_size`` is that of all.

    Returns:
        The history of the run. Its ``settings`` tell what "auto" chose, and why.

    Raises:
        ValueError: an argument is out of range, the optimizer holds no parameter of the model, or the rule looks at the
            curvature of a compiled model; names the argument.
        Diverged: a loss or weight is not finite; carries the history, and the model holds its last good weights.
        OSError: no checkpoint can be written; said before the first step, if it can be known then.
        CheckpointError: ``checkpoint`` exists and is not to be resumed, is damaged, or belongs to another run. The file
            is left as it is.

    Example:
        >>> from lossnav import data, models, optim
        >>> digits = data.load("digits")
        >>> model = models.mlp(digits.inputs, (32,), seed=0)
        >>> rule = optim.Ballistic(model.parameters(), lr=5e-3)
        >>> train(model, digits, rule, epochs=5, seed=0, progress=False).test_accuracy[-1] > 0.9
        True
    """
    module("model", model)
    instance("dataset", dataset, Dataset, "a data.Dataset")
    check_optimizer("optimizer", optimizer, model.parameters(), "model")
    epochs, batch_size = whole("epochs", epochs, low=1), whole("batch_size", batch_size, low=1)
    seed = whole("seed", seed, low=-(2**63), high=2**63 - 1)
    clip = None if clip is None else positive("clip", clip)
    paths(checkpoint=checkpoint)
    function("loss", loss)
    if augment is not None:
        methods("augment", augment, ("draw", "__call__"), "None or like data.CropFlip()")
    flags = {"progress": progress, "compile": compile, "resume": resume, "distributed": distributed}
    for name, value in flags.items():
        flag(name, value)
    one_of("precision", precision, ("auto", "float32", "bfloat16"))
    one_of("memory_format", memory_format, ("auto", "contiguous", "channels_last"))
    check_splits(dataset)
    if observes(optimizer) and compile:
        raise ValueError(
            "compile = True, but it must be False for a rule with curvature = 'hutchinson': the compiled backward pass "
            "cannot be differentiated"
        )
    # Where and how it is computed, which the history records.
    group = team(distributed)
    place = pick_device(device)
    model.to(place)
    arithmetic = choose(model, place, precision, memory_format, compile)
    arithmetic.prepare(model)
    if place.type == "cpu" and arithmetic.memory_format == "channels_last":
        keep_freed_memory()
    history = History(settings={
        "epochs": epochs, "batch_size": batch_size, "seed": seed, "clip": clip, "device": place.type,
        "data": dataset.provenance.label, "optimizer": type(optimizer).__name__,
        "augment": None if augment is None else repr(augment), "processes": group.size, **arithmetic.settings(),
    })  # fmt: skip
    run = _Run(
        model, dataset.to(place), batch_size, augment, history, group,
        Step(arithmetic.compiled(group.wrapped(model)), optimizer, loss, clip, arithmetic, group),
        torch.Generator(place).manual_seed(seed), None if checkpoint is None else Path(checkpoint),
    )  # fmt: skip
    # From here on the state of the run is what a checkpoint holds.
    run.open_checkpoint(resume)
    if run.checkpoint is not None and group.rank == 0 and len(history.seconds) < epochs:
        check_place(run.checkpoint)
    hidden = not progress or group.rank > 0 or sys.stderr is None
    with tqdm(total=epochs * steps_of(dataset.train, batch_size), disable=hidden, unit="step") as run.bar:
        run.bar.update(len(history.step_loss))
        while len(history.seconds) < epochs:
            run.epoch()
    return history


@dataclass
class _Run:
    """The moving parts of a run: everything that the loop reads or changes between two steps."""

    model: nn.Module
    dataset: Dataset
    batch_size: int
    augment: Augmentation | None
    history: History
    team: Team
    step: Step
    generator: torch.Generator
    checkpoint: Path | None
    identity: dict[str, Any] = field(default_factory=dict)
    bar: tqdm = field(default_factory=lambda: tqdm(disable=True))

    def epoch(self) -> None:
        """Take one pass over the training split, evaluate, and add both to the history."""
        start = time.perf_counter()
        losses, good = self._pass()
        test_loss, accuracy = evaluate(self.model, self.dataset.test, self.step.loss, self.step.arithmetic, self.team)
        if not math.isfinite(test_loss):
            self._stop(good, len(self.history.step_loss), f"the test loss is {test_loss}")
        self.history.train_loss.append(epoch_mean(losses, len(self.dataset.train), self.batch_size))
        self.history.test_loss.append(test_loss)
        self.history.test_accuracy.append(accuracy)
        self.bar.set_postfix(train_loss=f"{self.history.train_loss[-1]:.4f}", test_accuracy=f"{accuracy:.4f}")
        self.history.seconds.append(time.perf_counter() - start)
        if self.checkpoint is not None:
            self._save()

    def _pass(self) -> tuple[Tensor, dict[str, Any]]:
        """Take the steps of an epoch; return their losses, and the last state in which all was seen to be finite."""
        split, place = self.dataset.train, self.dataset.device
        batches = torch.randperm(len(split), generator=self.generator, device=place).split(self.batch_size)
        choices = None if self.augment is None else self.augment.draw(len(split), self.generator)
        losses = torch.zeros(len(batches), device=place)
        checked = 0
        self.model.train()
        good = self._snapshot()
        for n, index in enumerate(batches, start=1):
            rows = None if choices is None else choices[(n - 1) * self.batch_size :][: len(index)]
            losses[n - 1] = self._step(index, rows)
            if n % _CHECK_EVERY == 0 or n == len(batches):
                self._check(self.team.sum(losses[checked:n]), good)
                checked = n
                if n < len(batches):
                    good = self._snapshot()
        return losses, good

    def _step(self, index: Tensor, rows: Tensor | None) -> Tensor:
        """Take a step on this process's part of a batch."""
        part, share = self.team.part(len(index)), 1.0
        if self.team.size > 1:
            share = (part.stop - part.start) / len(index)
            if part.start == part.stop:  # fewer examples than processes: this one takes part with weight zero
                part = slice(0, 1)
        if self.augment is None or rows is None:
            return self.step(*self.dataset.train.batch(index[part]), share)
        augment, chosen = self.augment, rows[part]
        return self.step(*self.dataset.train.batch(index[part], lambda pixels: augment(pixels, chosen)), share)

    def _check(self, losses: Tensor, good: dict[str, Any]) -> None:
        """Look at the losses since the last check: the only moment at which the host waits for the device."""
        largest = torch.stack([p.detach().abs().amax() for p in self.step.parameters() if p.numel()])
        sound = torch.isfinite(largest).all().to(losses.dtype)
        values, weights = torch.cat([losses, sound.reshape(1)]).cpu().split([len(losses), 1])  # in one message
        steps = self.history.step_loss
        finite_losses = int(torch.isfinite(values).long().cumprod(0).sum())
        steps.extend(values[: finite_losses + 1].tolist())
        self.bar.update(len(values))
        if finite_losses == len(values) and weights == 1:
            return
        step = len(steps) - (finite_losses < len(values))
        self._stop(good, step, f"the loss is {steps[-1]}" if finite_losses < len(values) else "a weight is not finite")

    def _stop(self, good: dict[str, Any], step: int, reason: str) -> NoReturn:
        """Go back to the last good state, and end the run."""
        optimizer = self.step.optimizer
        self._restore(good)
        rates = ", ".join(f"{float(group['lr']):g}" for group in optimizer.param_groups)
        raise Diverged(
            f"{type(optimizer).__name__} with lr = {rates} diverged: after step {step} {reason}. The model and the "
            f"optimizer are back at step {good['step']}. A smaller learning rate or a smaller clip may help",
            self.history, step, good["step"],
        )  # fmt: skip

    def _snapshot(self) -> dict[str, Any]:
        return copy.deepcopy({**self._state(), "step": len(self.history.step_loss)})

    def _state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.step.optimizer.state_dict()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.step.optimizer.load_state_dict(state["optimizer"])

    def open_checkpoint(self, resume: bool) -> None:
        """Continue from the checkpoint, if there is one and ``resume`` says so."""
        exists = checkpoints.is_there(self.checkpoint, resume)
        if self.checkpoint is None:
            return
        settings = dict(self.history.settings)
        length = settings.pop("epochs")  # a run may be prolonged
        del settings["arithmetic"]  # the reason's wording is no setting
        self.identity = describe({
            **settings, "examples": [len(self.dataset.train), len(self.dataset.test)],
            "sha256": dict(self.dataset.provenance.sha256), "loss": self.step.loss, "augment": self.augment,
            "model": self.model, "rule": self.step.optimizer, "train": self.dataset.train, "test": self.dataset.test,
        })  # fmt: skip
        seen = self.team.gather(torch.tensor(exists, dtype=torch.uint8), self.dataset.device)
        if not seen.any():
            return
        if not seen.all():
            raise checkpoints.CheckpointError(
                f"checkpoint = {str(self.checkpoint)!r} is seen by {int(seen.sum())} of {len(seen)} processes: name a "
                "file in a folder that they share"
            )
        content = checkpoints.read(self.checkpoint, self.identity, length, "epochs")
        self._restore(content)
        self.identity = content["identity"]
        for key, values in content["history"].items():
            if key != "settings":
                getattr(self.history, key)[:] = values
        self.generator.set_state(content["generator"])
        states = content["global_generator"]  # of each process, or of the only one
        state = states[self.team.rank].clone() if states.ndim > 1 else states  # torch misreads a state that is a view
        generators.restore(self.dataset.device, state)

    def _save(self) -> None:
        """Write the checkpoint of whole epochs."""
        states = self.team.gather(generators.state(self.dataset.device), self.dataset.device)
        if self.team.rank == 0 and self.checkpoint is not None:
            reached = describe({"model": self.model, "rule": self.step.optimizer})
            checkpoints.write(self.checkpoint, self.identity, len(self.history.seconds), {
                "reached": {**self.identity, **reached}, **self._state(), "history": asdict(self.history),
                "generator": self.generator.get_state(), "global_generator": states if len(states) > 1 else states[0],
            })  # fmt: skip
        self.team.wait()
