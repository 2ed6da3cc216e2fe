"""Beliefs on MNIST: SGD, RMSprop, Adam, and Belief with four discounts and three variances, tuned alike.

    python studies/beliefs_mnist.py [--epochs 3] [--output book/results/beliefs-mnist.json]

Every rule gets seven rates, half a decade apart, and three seeds, on 50,000 training images; the rate with the lowest
mean cross-entropy on the other 10,000 is kept. Then every rule is trained at its rate with five new seeds, and only
these runs see the test images. MNIST is found or downloaded as by ``lossnav.data.load``. The default takes about 12
minutes of one core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

from lossnav import data, models, optim, records, training

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
STEPS = (-3, -2, -1, 0, 1, 2, 3)  # half decades around a rule's usual rate
SEEDS, FRESH = (0, 1, 2), (100, 101, 102, 103, 104)
HIDDEN, BATCH, HELD_OUT = (128,), 128, 10_000
EPSILONS = (0.0, 1e-4, 1e-3, 1e-2)  # γ/(2√(ηkc)), in the units of a gradient; the median of √V is near 1e-3
RULES: dict[str, dict[str, Any]] = {
    "sgd": {"usual": 0.1},
    "rmsprop": {"usual": 1e-3},
    **{
        f"{variance}, ε = {epsilon:g}": {
            # Adam's rate, or the one at which the cap lr/2ε is SGD's
            "usual": max(1e-3, 0.2 * epsilon), "variance": variance, "epsilon": epsilon,
        }
        for variance, epsilon in product(optim.belief.VARIANCES, EPSILONS)
    },
}  # fmt: skip
ADAM = "uncentred, ε = 0"


def make(rule: str, params: Iterable[torch.nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """Return the optimizer of a rule. Belief without a discount keeps Adam's ε of 1e-8."""
    if rule == "sgd":
        return torch.optim.SGD(params, lr=lr)
    if rule == "rmsprop":
        return torch.optim.RMSprop(params, lr=lr, alpha=0.999)
    if rule == ADAM:
        return torch.optim.Adam(params, lr=lr)
    epsilon = RULES[rule]["epsilon"]
    cap = lr / (2 * epsilon) if epsilon else math.inf
    return optim.Belief(params, lr=lr, lr_overdamped=cap, variance=RULES[rule]["variance"])


def run(dataset: data.Dataset, rule: str, lr: float, seed: int, epochs: int) -> dict[str, Any]:
    """Train once; a run that diverges is a result too."""
    model = models.mlp(dataset.inputs, HIDDEN, seed=seed)
    optimizer = make(rule, model.parameters(), lr)
    entry: dict[str, Any] = {"rule": rule, "lr": float(f"{lr:.6g}"), "seed": seed}
    try:
        history = training.train(
            model, dataset, optimizer, epochs=epochs, batch_size=BATCH, seed=seed, clip=None, device="cpu",
            progress=False,
        )  # fmt: skip
    except training.Diverged as error:
        return {**entry, "diverged": error.step}
    return {**entry, **history.record()}


def split(dataset: data.Dataset) -> data.Dataset:
    """Return the data set with its last training images in the place of the test images."""
    count = len(dataset.train) - HELD_OUT
    held_out = replace(dataset.train, x=dataset.train.x[count:], y=dataset.train.y[count:])
    return replace(dataset, train=dataset.train.head(count), test=held_out)


def chosen(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return for each rule the rate with the lowest mean loss on the held-out images; none that diverges."""
    table: dict[str, dict[float, list[float]]] = {}
    for entry in runs:
        loss = math.inf if "diverged" in entry else entry["test_loss"][-1]
        table.setdefault(entry["rule"], {}).setdefault(entry["lr"], []).append(loss)
    return {rule: min(rates, key=lambda lr: sum(rates[lr])) for rule, rates in table.items()}


def main() -> None:
    """Tune, train afresh and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None, help="threads, one core each; default: all cores")
    parser.add_argument("--output", type=Path, default=RESULTS / "beliefs-mnist.json")
    arguments = parser.parse_args()

    start = time.perf_counter()
    dataset = data.load("mnist")
    tuning = split(dataset)
    rates = {(rule, k): options["usual"] * 10 ** (k / 2) for rule, options in RULES.items() for k in STEPS}
    jobs = [(rule, lr, seed) for ((rule, _), lr), seed in product(rates.items(), SEEDS)]
    tuned = training.in_parallel(lambda job: run(tuning, *job, arguments.epochs), jobs, arguments.workers)
    best = chosen(tuned)
    final = replace(tuning, test=dataset.test)
    jobs = [(rule, lr, seed) for (rule, lr), seed in product(best.items(), FRESH)]
    tested = training.in_parallel(lambda job: run(final, *job, arguments.epochs), jobs, arguments.workers)
    config = {
        "epochs": arguments.epochs, "batch_size": BATCH, "clip": None, "model": "mlp 784-128-10, ReLU",
        "betas": [0.9, 0.999], "rmsprop alpha": 0.999, "rules": RULES, "grid": "usual × 10^(k/2), k = -3 … 3",
        "training images": len(tuning.train), "held-out images": HELD_OUT, "tuning seeds": list(SEEDS),
    }  # fmt: skip
    record = records.new(
        command="python studies/beliefs_mnist.py", config=config, seeds=list(FRESH),
        data=dataset.provenance.record(), results={"tuned": tuned, "chosen": best, "tested": tested},
        duration=time.perf_counter() - start, device=records.processor(),
    )  # fmt: skip
    records.save(arguments.output, record)
    print(f"{len(tuned) + len(tested)} runs in {record.duration:.0f} s -> {arguments.output}")


if __name__ == "__main__":
    main()
