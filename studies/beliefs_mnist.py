"""Beliefs on MNIST: SGD, RMSprop, Adam, and Belief with four discounts and three variances, tuned alike.

    python studies/beliefs_mnist.py [--epochs 3]

Every rule gets seven rates, half a decade apart, and three seeds, on 50,000 training images; the rate with the lowest
mean cross-entropy on the other 10,000 is kept. Then every rule is trained at its rate with five new seeds, and only
these runs see the test images. MNIST is found or downloaded as by ``lossnav.data.load``. The default takes about 12
minutes of one core.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from lossnav import optim, records
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Study, main
from lossnav.lab.sweep import Comparison, Tuned

STEPS = (-3, -2, -1, 0, 1, 2, 3)  # half decades around a rule's usual rate
SEEDS, FRESH = (0, 1, 2), (100, 101, 102, 103, 104)
IMAGES, HELD_OUT, BATCH = 60_000, 10_000, 128
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
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {}), "rmsprop": ("rmsprop", {"alpha": 0.999}), ADAM: ("adam", {}),
}  # fmt: skip


def one(rule: str, lr: float, epochs: int) -> Experiment:
    """Return the run of a rule at a rate. Belief without a discount keeps Adam's ε of 1e-8."""
    if rule in PLAIN:
        optimizer, options = PLAIN[rule]
    else:
        epsilon = RULES[rule]["epsilon"]
        cap = lr / (2 * epsilon) if epsilon else math.inf
        optimizer, options = "belief", {"lr_overdamped": cap, "variance": RULES[rule]["variance"]}
    return Experiment(
        data="mnist", optimizer=optimizer, lr=lr, options=options, model_options={"hidden": [128]}, epochs=epochs,
        batch_size=BATCH, clip=None,
    )  # fmt: skip


def held_out_loss(record: records.Record) -> float | None:
    """Return the last loss on the images that were held out."""
    return None if "diverged" in record.results[0] else float(record.results[0]["test_loss"][-1])


def comparison(epochs: int) -> Comparison:
    """Return what is tuned, and on what it is judged."""
    rates = {rule: [float(f"{told['usual'] * 10 ** (k / 2):.6g}") for k in STEPS] for rule, told in RULES.items()}
    return Comparison(
        {rule: [one(rule, lr, epochs) for lr in table] for rule, table in rates.items()}, SEEDS, FRESH,
        tuning={"validation": HELD_OUT}, judging={"train_size": IMAGES - HELD_OUT}, score=held_out_loss,
        lower_is_better=True,
    )  # fmt: skip


def results(found: dict[str, Tuned]) -> dict[str, Any]:
    """Return the curves of all runs, and the rate that each rule was judged at."""

    def entry(rule: str, record: records.Record) -> dict[str, Any]:
        curves = {key: value for key, value in record.results[0].items() if key != "settings"}
        return {"rule": rule, "lr": record.config["lr"], "seed": record.seeds[0], **curves}

    return {
        "tuned": [entry(rule, run) for rule, one in found.items() for seeds in one.trials for run in seeds],
        "chosen": {rule: one.judged[0].config["lr"] for rule, one in found.items()},
        "tested": [entry(rule, run) for rule, one in found.items() for run in one.judged],
    }


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "model": "mlp 784-128-10, ReLU", "betas": [0.9, 0.999], "rmsprop alpha": 0.999, "rules": RULES,
        "grid": "usual × 10^(k/2), k = -3 … 3", "training images": IMAGES - HELD_OUT, "held-out images": HELD_OUT,
        "tuning seeds": list(SEEDS),
    }  # fmt: skip


STUDIES = {"beliefs-mnist": Study(comparison, results, {"epochs": 3}, config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
