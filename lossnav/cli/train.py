"""train a model once and record it

The settings decide the curve; --root, --checkpoint and the like do not. MODULE:FUNCTION is a function of yours that is
looked for from the current folder on: --model's returns a torch module (--model-option gives it arguments), --data's
inputs and labels, of which every fifth is for testing, or a data.Dataset, and --optimizer's an optimizer of parameters
(--option gives it arguments). "derive:" begins what is assumed of a rule. A run with --checkpoint that was interrupted,
or killed, goes on with the same command and --resume. Under torchrun all processes share the run.

examples:
  lossnav train --data digits --optimizer ballistic --lr 5e-3 --epochs 5
  lossnav train --data cifar10 --model cnn --augment --optimizer ballistic --lr 5e-4 --option beta=0.9 \\
      --epochs 25 --checkpoint run.ckpt --resume --output run.json
  lossnav train --data digits --optimizer navigator --lr 0.1 --option curvature=hutchinson --option every=10
  lossnav train --data digits --optimizer belief --lr 0.1 --option discount=inf --option "betas=(0, 0.999)"
  lossnav train --data digits --stream permuted --tasks 20 --batch-size 16 --optimizer adam --lr 3e-3 --seed 0,1,2
  lossnav train --data mine:examples --model mine:network --optimizer torch.optim:AdamW --lr 1e-3
  lossnav train --data digits --optimizer "derive:gamma=1e-3,dt=0.01,belief=Filter(0.9),curvature=SecondMoment(0.999)"
  torchrun --nproc-per-node 2 -m lossnav train --data cifar10 --model cnn --epochs 25
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

from lossnav._writing import check_place
from lossnav.cli.output import say
from lossnav.cli.values import number_or_none, pair, value
from lossnav.lab.experiment import DATA, LOSSES, MODELS, OPTIMIZERS, STREAMS, Experiment

_HELP = {
    "data": f"{', '.join(DATA)} or MODULE:FUNCTION",
    "stream": ", ".join(STREAMS),
    "model": f"{', '.join(MODELS)} or MODULE:FUNCTION",
    "loss": ", ".join(LOSSES),
    "optimizer": f"{', '.join(OPTIMIZERS)}, MODULE:CLASS or derive:NAME=VALUE,…",
    "lr": "learning rate; the rule's own default if left out",
    "epochs": "passes over the training images",
    "batch_size": "images a step",
    "clip": "longest gradient, or none",
    "seed": "of weights, order and augmentation; of a stream of tasks also several: 0,1,2",
    "tasks": "of a stream of tasks",
    "validation": "test on the last so many training images, which are left out, instead of the test images",
    "augment": "random crops and flips",
    "precision": "auto, float32 or bfloat16",
    "memory_format": "auto, contiguous or channels_last",
    "compile": "use torch.compile",
    "train_size": "take only the first so many training images",
    "test_size": "take only the first so many test images",
    "device": "auto, cpu, cuda, mps",
}


def add_settings(parser: argparse.ArgumentParser, names: Collection[str] = tuple(Experiment.__annotations__)) -> None:
    """Add the settings of an experiment, all or some of them."""
    group = parser.add_argument_group("settings")
    for entry in (entry for entry in fields(Experiment) if entry.name in names):
        flag = "--" + entry.name.replace("_", "-")
        if entry.name.endswith("options"):
            what = entry.name.removesuffix("options").rstrip("_") or "optimizer"
            group.add_argument(
                flag.removesuffix("s"), dest=entry.name, type=pair, action="append", default=[], metavar="NAME=VALUE",
                help=f"further argument of the {what}; may be repeated",
            )  # fmt: skip
        elif entry.default is False:
            group.add_argument(flag, action="store_true", help=_HELP[entry.name])
        else:
            kind = number_or_none if entry.name in ("lr", "clip") else value  # 1 is the number 1.0 there
            group.add_argument(flag, type=kind, default=entry.default, metavar="X", help=_HELP[entry.name])


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add where the data are."""
    parser.add_argument("--root", metavar="FOLDER", help="folder with the data; nothing else is looked at")
    parser.add_argument("--no-download", action="store_true", help="never use the network")


def settings(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of an experiment as a mapping."""
    entries = {entry.name: getattr(parsed, entry.name) for entry in fields(Experiment)}
    return {name: dict(entry) if name.endswith("options") else entry for name, entry in entries.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav train``."""
    add_settings(parser)
    add_places(parser)
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the record there (JSON)")
    parser.add_argument("--checkpoint", metavar="FILE", help="keep the state of the run there")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if it is there")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, and of the epochs only the last")


def run(parsed: argparse.Namespace) -> int:
    """Train, print the curves, write the record; 3 if the run diverged."""
    experiment = Experiment.of(settings(parsed))
    if parsed.resume and parsed.checkpoint is None:
        raise ValueError("--resume needs --checkpoint FILE")
    if parsed.output is not None:
        check_place(parsed.output)
    from lossnav.lab import experiment as experiments
    from lossnav.lab import records, training

    together = "LOCAL_RANK" in os.environ
    with training.process_group(experiment.device) if together else nullcontext(None) as device:
        record = experiments.run(
            experiment, root=parsed.root, download=not parsed.no_download, progress=not parsed.quiet,
            checkpoint=parsed.checkpoint, resume=parsed.resume, distributed=together, device=device,
        )  # fmt: skip
    if together and os.environ["RANK"] != "0":
        return 0
    text = summary(record, last=parsed.quiet)
    if parsed.output is not None:
        records.save(parsed.output, record)
        text += f"\nrecord         {parsed.output}"
    say(text)
    if where := diverged(record):
        print(f"lossnav: the run diverged {where}", file=sys.stderr)
    return 3 if where else 0


def diverged(record: Any) -> str:
    """Return where a run diverged, or "" if it did not."""
    if "scores" in record.results[0]:
        broken = [str(result["seed"]) for result in record.results if not result["finite"]]
        return f"of the seeds {', '.join(broken)}" if broken else ""
    step = record.results[0].get("diverged")
    return "" if step is None else f"after step {step}"


def summary(record: Any, last: bool) -> str:
    """Return provenance and curves of a record of one run, or of the curves the last row."""
    if record.config.get("tasks") is not None:
        return "\n".join([str(record), *(_scores(result) for result in record.results)])
    curves = record.results[0]
    lines = [str(record), f"arithmetic     {curves['settings']['arithmetic']}"]
    rows = zip(curves["train_loss"], curves["test_loss"], curves["test_accuracy"], strict=True)
    epochs = [
        f"epoch {n:<8} train loss {train:.4f}   test loss {test:.4f}   test accuracy {accuracy:.4f}"
        for n, (train, test, accuracy) in enumerate(rows, start=1)
    ]
    return "\n".join(lines + epochs[-1 if last else 0 :])


def _scores(result: dict[str, Any]) -> str:
    """Return the score of one seed in the first and the last tenth of its tasks, and over all."""
    from lossnav.lab.streams.contenders import first_tenth, last_tenth

    scores = result["scores"]
    mean = sum(scores) / len(scores)
    tenths = f"first tenth {first_tenth(scores):.4f}   last tenth {last_tenth(scores):.4f}"
    return f"seed {result['seed']:<9} {tenths}   mean score {mean:.4f}"
