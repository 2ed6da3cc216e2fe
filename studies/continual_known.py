"""Streams of digits at settings known beforehand: six rules of the chapter on them, and SGD with noise alone.

    python studies/continual_known.py [--tasks 150]

The same three seeds for all: those on which ``studies/continual.py digits`` tunes. The default takes about five minutes
of one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnav import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.streams.contenders import CONTENDERS
from lossnav.lab.study import Study, main

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


JOBS = [(rule, None) for rule in SETTINGS] + [(how, noise) for how, strengths in NOISE.items() for noise in strengths]


def one(rule: str, noise: float | None, tasks: int) -> Experiment:
    """Return the run of three networks on streams of their own, by a rule or, if there is ``noise``, by SGD with it."""
    lr = SETTINGS["sgd"]["lr"]
    if noise is None:
        chosen = CONTENDERS[rule].chosen(SETTINGS[rule])
    elif rule == "on all weights":
        chosen = CONTENDERS["shrink and perturb"].chosen({"lr": lr, "weight_decay": 0.0, "noise": noise})
    else:
        options = {"noise": noise, "protect": rule == "and hold the useful"}
        chosen = {"optimizer": "utility perturbed", "lr": lr, "options": options}
    return Experiment(
        data="digits", stream="permuted", tasks=tasks, batch_size=BATCH, clip=None, seed=SEEDS,
        model_options={"hidden": list(HIDDEN), "initial": "he"}, **chosen,
    )  # fmt: skip


def wanted(tasks: int) -> list[Experiment]:
    """Return all runs."""
    return [one(*job, tasks) for job in JOBS]


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return the mean scores of blocks of tasks, (S, tasks / BLOCK), of each run."""
    runs = []
    for (rule, noise), record in zip(JOBS, found, strict=True):
        scores = np.array([entry["scores"] for entry in record.results]).reshape(len(SEEDS), -1, BLOCK).mean(-1)
        finite = [entry["finite"] for entry in record.results]
        runs.append({"rule": rule, "noise": noise, "scores": scores.round(5).tolist(), "finite": finite})
    return runs


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "settings": SETTINGS, "noise": NOISE, "block": BLOCK,
        "task": "new permutation of pixels and of labels, one pass over all images",
        "model": "mlp 64-32-32-32-10, ReLU, He-uniform", "score": "online accuracy",
    }  # fmt: skip


STUDIES = {"continual-known": Study(wanted, results, {"tasks": 150}, config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
