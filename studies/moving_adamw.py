"""Does AdamW move as SGD does in its own coordinates? Three networks that nobody tuned for, three to five seeds.

    python studies/moving_adamw.py perceptron     with LayerNorm, on MNIST                (about 2 minutes of one core)
    python studies/moving_adamw.py cnn            a small one, on CIFAR-10 at 16×16       (about half an hour)
    python studies/moving_adamw.py bytes          a causal transformer, Python's manual   (about 90 minutes, 3 seeds)

Each network is trained by AdamW with torch's β's and a decay of .1, until it goes on at a constant rate. What it then
does is predicted by ``moving.analyse``, with nothing fitted, and measured. All settings are the first that came to
mind. Of the transformer's stretches of text, each of which has as many losses as bytes, a sixth is measured for
curvature and noise: with all of them it takes ten minutes a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lossnav import data, moving
from lossnav.lab.data.text import manual, provenance, stretches
from lossnav.lab.models.small import reader, strided
from lossnav.lab.models.weights import seeded
from lossnav.lab.moving.sweeps import rested
from lossnav.lab.study import Measurement, Study, main, six

EXAMPLES, LENGTH = 6000, 32  # bytes of a stretch
DECAY, BATCH, RATES = 0.1, 64, ((3e-3, 10_000), (1e-3, 20_000))  # rate, steps; at rest where they end
STEPS, BURN, MODES = 3000, 4000, 20


@dataclass(frozen=True)
class Task:
    """What is learned, from the data set of this name or none, by which network and loss, and what is measured.

    ``few``: examples of which curvature and noise are measured, None for all; ``seeds``: how many are asked for by
    default; ``about``: what the record says of it.
    """

    dataset: str
    examples: Callable[[Any], tuple[Tensor, Tensor]]
    network: Callable[[int], nn.Module]
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    few: int | None = None
    seeds: int = 5
    about: Callable[[], dict[str, Any]] = dict


def pictures(dataset: data.Dataset) -> tuple[Tensor, Tensor]:
    """Return the first training images, averaged over 2×2 pixels, and their labels."""
    x, y = dataset.train.batch(slice(0, EXAMPLES))
    return avg_pool2d(x, 2), y


def perceptron(seed: int) -> nn.Module:
    """Return a perceptron whose first layer stands before a normalisation."""
    return seeded(
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(196, 24), nn.LayerNorm(24), nn.Tanh(), nn.Linear(24, 10)), seed
    )


def text(_: None) -> tuple[Tensor, Tensor]:
    """Return stretches of the manual, and the bytes that follow each of theirs."""
    return stretches(manual()[0], torch.Generator().manual_seed(0), EXAMPLES, LENGTH)


def bytewise(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of a byte, as a mean."""
    return cross_entropy(outputs.flatten(0, 1), targets.flatten())


TASKS = {
    "perceptron": Task("mnist", pictures, perceptron),
    "cnn": Task("cifar10", pictures, lambda seed: strided(8, 16, seed=seed)),
    "bytes": Task("", text, lambda seed: reader(LENGTH, width=32, layers=1, seed=seed), bytewise, 1000, 3,
                  lambda: {**provenance(), "length": LENGTH, "few": 1000}),
}  # fmt: skip


def measured(dataset: Any, seed: int, task: str) -> dict[str, Any]:
    """Train a network and put what is predicted of it beside what it does."""
    one = TASKS[task]
    pair = one.examples(dataset)
    training = [(moving.Setting.adamw(rate, batch=BATCH, weight_decay=DECAY), steps) for rate, steps in RATES]
    model, setting = rested(one.network(seed), pair, training, seed=seed, loss=one.loss), training[-1][0]
    found = moving.analyse(
        model, pair, setting, loss=one.loss, steps=STEPS, burn=BURN, modes=MODES, examples=one.few, seed=seed,
        anyway=True,
    )  # fmt: skip
    return {
        "task": task, "seed": seed, "weights": len(found.run.final), "loss": six(found.run.loss.mean()),
        "rows": [[row.name, six(row.predicted), six(row.measured)] for row in found.rows],
        "at_mean": six(found.basin.values), "along": six(found.basin.along), "traces": six(found.basin.traces),
        "notes": list(found.notes),
    }  # fmt: skip


def study(name: str) -> Study:
    """Return the study of a network."""
    task = TASKS[name]
    told = {
        "decay": DECAY, "batch": BATCH, "rates": [list(one) for one in RATES], "burn": BURN, "examples": EXAMPLES,
        **task.about(),
    }  # fmt: skip
    return Study(
        lambda seeds: [Measurement(task.dataset, seed, measured, {"task": name}) for seed in range(seeds)],
        options={"seeds": task.seeds}, config=lambda **_: told,
    )  # fmt: skip


STUDIES = {f"moving-adamw-{name}": study(name) for name in TASKS}

if __name__ == "__main__":
    main(__file__, STUDIES)
