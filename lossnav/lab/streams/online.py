"""An online run: every batch is first predicted, which is the score, and then learned from; once, in its order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from lossnav._checks import counts, duration, finite, flag, function, instance, methods, paths, positive, shown
from lossnav._tensors import optimizer as check_optimizer
from lossnav._tensors import tensor
from lossnav._writing import check_place
from lossnav.lab.ensemble import Ensemble, Loss
from lossnav.lab.ensemble.loop import Stepper, learn
from lossnav.lab.streams.tasks import Stream
from lossnav.lab.training import checkpoint as checkpoints
from lossnav.lab.training import generator as generators
from lossnav.lab.training.identity import describe

Score = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Online:
    """What an online run has seen.

    Attributes:
        scores: (S, tasks), the mean score over each task, of predictions made before learning from them.
        finite: (S,), whether all parameters are finite at the end. If not, the member diverged, and its later scores
            are those of a broken network.
        seconds: wall time.
    """

    scores: Tensor
    finite: Tensor
    seconds: float

    def first(self, share: float = 0.1) -> Tensor:
        """Return each member's mean score over the first ``share`` of the tasks, (S,)."""
        return self.scores[:, : self._count(share)].mean(1)

    def last(self, share: float = 0.1) -> Tensor:
        """Return each member's mean score over the last ``share`` of the tasks, (S,)."""
        return self.scores[:, -self._count(share) :].mean(1)

    def _count(self, share: float) -> int:
        finite("share", share, low=0.0, high=1.0, open_low=True)
        return max(1, round(share * self.scores.shape[1]))


def accuracy(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the share of right answers, (…): logits (…, B, C), labels (…, B)."""
    _check_pair(outputs, y, 1)
    return (outputs.argmax(-1) == y).float().mean(-1)


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the mean squared error, (…): outputs and targets (…, B, D)."""
    _check_pair(outputs, y, 0)
    return (outputs - y).square().mean((-2, -1))


def _check_pair(outputs: Tensor, y: Tensor, classes: int) -> None:
    tensor("outputs", outputs, "a tensor of floats (…, B, D)", floating=True)
    tensor("y", y, "a tensor of targets")
    if outputs.ndim < 2 or outputs.shape[: outputs.ndim - classes] != y.shape:
        raise ValueError(f"y has shape {tuple(y.shape)}, which does not fit outputs of shape {tuple(outputs.shape)}")


def run(
    ensemble: Ensemble,
    rule: Stepper,
    stream: Stream,
    *,
    tasks: int,
    loss: Loss = cross_entropy,
    score: Score = accuracy,
    clip: float | None = None,
    progress: bool = True,
    checkpoint: str | Path | None = None,
    every: float = 60.0,
) -> Online:
    """Let an ensemble learn a stream of tasks, each example once, and return its online score in each task.

    Nothing tells the rule that a task has ended. One that learns from draws of the weights is scored at its draws.

    Args:
        ensemble: one member a seed of the stream; trained in place.
        rule: steps the ensemble's parameters.
        stream: where the tasks come from.
        tasks: how many of them.
        loss: mean loss of one member's outputs and targets.
        score: of outputs (steps, S, B, …) and targets (steps, S, B, …) to (steps, S).
        clip: per-member clipping of the gradient's 2-norm; None for none.
        progress: show a bar on the terminal.
        checkpoint: file to save the run in, and to go on from if it is there and is of the same run: the same network
            with the same first weights, rule, stream, loss, score and clip. There may be more tasks than before.
        every: seconds between two saves.

    Returns:
        The scores.

    Raises:
        ValueError: the ensemble and the stream disagree about the number of members, or the checkpoint is damaged or
            of another run, and then says in what they differ.
    """
    instance("ensemble", ensemble, Ensemble, "an ensemble.Ensemble")
    if isinstance(rule, torch.optim.Optimizer):
        check_optimizer("rule", rule, ensemble.parameters(), "ensemble")
    methods("rule", rule, ("step", "state_dict", "load_state_dict"), "an optimizer or step like one")
    for name in ("seeds", "task"):
        if not hasattr(stream, name):
            raise ValueError(f"stream = {shown(stream)} has no {name}, but it must be a stream of tasks")
    counts(tasks=tasks)
    function("loss", loss)
    function("score", score)
    if clip is not None:
        positive("clip", clip)
    flag("progress", progress)
    paths(checkpoint=checkpoint)
    duration("every", every, zero=True)
    if ensemble.size != len(stream.seeds):
        raise ValueError(f"the ensemble has {ensemble.size} members, but the stream has {len(stream.seeds)} seeds")
    device = next(ensemble.parameters()).device
    # Go on from the checkpoint, if there is one of this run.
    scores = torch.full((ensemble.size, tasks), math.nan)
    begun, spent = 0, 0.0
    if checkpoint is not None:
        checkpoint = Path(checkpoint)
        exists = checkpoints.is_there(checkpoint, resume=True)
        check_place(checkpoint)
        identity = describe({
            "stream": stream, "rule": rule, "loss": loss, "score": score, "clip": clip, "network": ensemble,
        })  # fmt: skip
        if exists:
            content = checkpoints.read(checkpoint, identity, tasks, "tasks")
            begun, spent = content["done"], content["seconds"]
            scores[:, :begun] = content["scores"]
            ensemble.load_state_dict(content["ensemble"])
            rule.load_state_dict(content["rule"])
            generators.restore(device, content["global_generator"])
    start = saved = time.perf_counter()
    with tqdm(total=tasks, initial=begun, disable=not progress, unit="task") as bar:
        for number in range(begun, tasks):
            # Each batch is predicted before it is learned from: the score is of what was not seen.
            inputs, targets = (tensor.to(device) for tensor in stream.task(number))
            batches = zip(inputs.unbind(), targets.unbind(), strict=True)
            outputs = torch.stack([prediction for prediction, _ in learn(ensemble, rule, batches, loss, clip)])
            scores[:, number] = score(outputs, targets).mean(0)
            bar.set_postfix(score=f"{scores[:, number].mean():.3f}", refresh=False)
            bar.update()
            if checkpoint is not None and (time.perf_counter() - saved > every or number == tasks - 1):
                saved = time.perf_counter()
                checkpoints.write(checkpoint, identity, number + 1, {
                    "scores": scores[:, : number + 1].clone(), "seconds": spent + saved - start,
                    "ensemble": ensemble.state_dict(), "rule": rule.state_dict(),
                    "global_generator": generators.state(device),
                })  # fmt: skip
    return Online(scores, ensemble.finite_members().cpu(), spent + time.perf_counter() - start)
