"""Streams of digits at settings known beforehand: six rules of the chapter on them, and SGD with noise alone.

    python studies/continual_known.py [--tasks 150] [--workers 2]

The same three seeds for all: those on which ``studies/continual.py digits`` tunes. The default takes about five minutes
of one core.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from lossnav import continual, data, records, training
from lossnav.lab.continual import contenders, networks

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
SEEDS, HIDDEN, BATCH, BLOCK = (0, 1, 2), (32, 32, 32), 16, 5
SETTINGS: dict[str, dict[str, float]] = {
    "sgd": {"lr": 0.1},
    "adam": {"lr": 3e-3},
    "l2": {"lr": 0.1, "weight_decay": 0.01},
    "shrink and perturb": {"lr": 0.1, "weight_decay": 0.01, "noise": 1e-4},
    "continual backprop": {"lr": 0.1, "rate": 0.01},
    "uncertain": {"lr": 1e-3, "temperature": 3e-4, "clip": 0.1},
}
NOISE = {  # where it falls → its strengths; SGD's rate is that of the settings
    "on all weights": (1e-5, 1e-4, 1e-3),
    "on useless ones": (1e-4, 1e-3),
    "and hold the useful": (0.0, 1e-4),
}


def learn(rule: str, noise: float | None, tasks: int) -> continual.Online:
    """Let three networks learn their own streams together, by a rule or, if there is ``noise``, by SGD with it."""
    stream = continual.Permuted(data.load("digits"), SEEDS, batch_size=BATCH)
    nets = networks.perceptrons(stream.inputs, HIDDEN, stream.classes, seeds=SEEDS)
    lr = SETTINGS["sgd"]["lr"]
    optimizer: Any
    if noise is None:
        optimizer = contenders.CONTENDERS[rule].build(nets, SETTINGS[rule], 0)
    elif rule == "on all weights":
        setting = {"lr": lr, "weight_decay": 0.0, "noise": noise}
        optimizer = contenders.CONTENDERS["shrink and perturb"].build(nets, setting, 0)
    else:
        optimizer = continual.UtilityPerturbed(nets, lr=lr, noise=noise, protect=rule == "and hold the useful", seed=0)
    return continual.run(nets, optimizer, stream, tasks=tasks, progress=False)


def main() -> None:
    """Run all, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=150)
    parser.add_argument("--workers", type=int, default=None, help="threads, one core each; default: all cores")
    parser.add_argument("--output", type=Path, default=RESULTS / "continual-known.json")
    arguments = parser.parse_args()

    jobs = [(rule, None) for rule in SETTINGS] + [(how, noise) for how in NOISE for noise in NOISE[how]]
    runs = training.in_parallel(lambda job: learn(*job, arguments.tasks), jobs, arguments.workers)
    results = []
    for (rule, noise), run in zip(jobs, runs, strict=True):
        blocks = run.scores.double().view(len(SEEDS), -1, BLOCK).mean(-1)
        scores = [[round(x, 5) for x in row] for row in blocks.tolist()]
        results.append({"rule": rule, "noise": noise, "scores": scores, "finite": run.finite.tolist()})
    config = {
        "settings": SETTINGS, "noise": NOISE, "tasks": arguments.tasks, "block": BLOCK, "batch_size": BATCH,
        "task": "new permutation of pixels and of labels, one pass over all images",
        "model": "mlp 64-32-32-32-10, ReLU, He-uniform", "score": "online accuracy",
    }  # fmt: skip
    record = records.new(
        command="python studies/continual_known.py", config=config, seeds=list(SEEDS),
        data=data.load("digits").provenance.record(), results=results,
        duration=math.fsum(run.seconds for run in runs), device=records.processor(),
    )  # fmt: skip
    records.save(arguments.output, record)
    print(f"{len(results)} runs, {record.duration:.0f} s of work -> {arguments.output}")


if __name__ == "__main__":
    main()
