"""Do optimizers that know rows and columns learn faster, by the step and by the clock? Small networks, three seeds.

    python studies/matrices.py cifar10    a small CNN on CIFAR-10 at 16×16 pixels    (about 2 minutes of one core)
    python studies/matrices.py mnist      the paper's perceptron on MNIST            (about 5 minutes)

Each rule tries three rates on a seed of its own, all for the full length, and the one with the least training loss at
the end is run on three other seeds. Seconds are of the processor, forward, backward and step. On MNIST the rules that
look at one weight at a time run a second time, tuned again, six times as long: in 60 to 80 % of the others' seconds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lossnav import data, models, optim, records
from lossnav.lab.study import Measurement, Study, main

BETAS, TUNING_SEED, EVERY = (0.9, 0.99), 100, 10  # steps that a point of a curve is the mean of
RATES = {"SGD": (0.03, 0.1, 0.3)}
OTHERS = (1e-3, 3e-3, 1e-2)
PLAIN = ("SGD", "Adam", "Ballistic")
MATRIX = ("Muon", "eigenbasis", "likelihood", "kronecker")
LENGTHS = {"cifar10": 200, "mnist": 100}
LONGER, BATCH = 6, 128


class Muon:
    """``torch.optim.Muon`` for what has two axes or more, as a matrix, and Adam at the same rate for the rest."""

    def __init__(self, params: list[nn.Parameter], lr: float) -> None:
        self.params = params
        self.matrices = [(p, nn.Parameter(p.detach().flatten(1))) for p in params if p.ndim > 1]  # the same memory
        self.parts = (
            torch.optim.Muon([x for _, x in self.matrices], lr, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
            torch.optim.Adam([p for p in params if p.ndim < 2], lr, BETAS),
        )

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        """Move all parameters."""
        for p, matrix in self.matrices:
            matrix.grad = p.grad.flatten(1)
        for part in self.parts:
            part.step()


def rule(name: str, params: list[nn.Parameter], lr: float) -> Any:
    """Return an optimizer by the name that it has in the record."""
    if name == "SGD":
        return torch.optim.SGD(params, lr, momentum=0.9)
    if name == "Adam":
        return torch.optim.Adam(params, lr, BETAS)
    if name == "Ballistic":
        return optim.Ballistic(params, lr, BETAS[1], momentum=BETAS[0], bias_correction=True)
    if name == "Muon":
        return Muon(params, lr)
    return optim.BallisticMatrix(params, lr, betas=BETAS, curvature=name)


def network(name: str, seed: int) -> nn.Module:
    """Return the network of a data set."""
    if name == "mnist":
        return models.mlp(seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def images(dataset: data.Dataset, name: str, train: bool) -> tuple[Tensor, Tensor]:
    """Return 20 000 training images, or 4000 test images, and their labels; those of CIFAR-10 at half the size."""
    part = dataset.train if train else dataset.test
    x, y = part.batch(slice(0, 20000 if train else 4000))
    return (avg_pool2d(x, 2) if name == "cifar10" else x), y


def trained(
    name: str, parts: tuple[tuple[Tensor, Tensor], ...], how: str, lr: float, seed: int, steps: int
) -> dict[str, Any]:
    """Train, and return the curve of the training loss, its seconds, and how the network does on test images."""
    (x, y), (test_x, test_y) = parts
    model, generator = network(name, seed), torch.Generator().manual_seed(seed)
    optimizer, seconds, losses, times = rule(how, list(model.parameters()), lr), 0.0, [], []
    for _ in range(steps):
        rows = torch.randint(len(x), (BATCH,), generator=generator)
        inputs, labels = x[rows], y[rows]
        start = time.process_time()
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        seconds += time.process_time() - start
        losses.append(loss.item())
        times.append(seconds)
    with torch.no_grad():
        logits = model(test_x)
    curve = np.array(losses).reshape(-1, EVERY).mean(1)
    return {
        "lr": lr, "seed": seed, "loss": np.nan_to_num(curve, nan=1e9).round(4).tolist(),
        "seconds": np.array(times)[EVERY - 1 :: EVERY].round(3).tolist(),
        "test_loss": round(float(cross_entropy(logits, test_y)), 4),
        "accuracy": round(float((logits.argmax(1) == test_y).double().mean()), 4),
    }  # fmt: skip


def measured(dataset: data.Dataset, seed: int, *, name: str, how: str, steps: int, seeds: int) -> dict[str, Any]:
    """Tune a rule, and run it on seeds that it was not tuned on."""
    parts = (images(dataset, name, True), images(dataset, name, False))
    tuned = {lr: trained(name, parts, how, lr, TUNING_SEED, steps)["loss"][-1] for lr in RATES.get(how, OTHERS)}
    best = min(tuned, key=tuned.__getitem__)
    runs = [trained(name, parts, how, best, seed + k, steps) for k in range(seeds)]
    return {"rule": how, "steps": steps, "lr": best, "tuning": [list(pair) for pair in tuned.items()], "runs": runs}


def wanted(name: str, seeds: int) -> list[Measurement]:
    """Return a measurement for each rule and length."""
    steps = LENGTHS[name]
    cases = [(how, steps) for how in (*PLAIN, *MATRIX)]
    if name == "mnist":
        cases += [(how, LONGER * steps) for how in PLAIN]
    return [
        Measurement(name, 0, measured, {"name": name, "how": how, "steps": count, "seeds": seeds})
        for how, count in cases
    ]


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return what each rule did."""
    return [one.results for one in found]


def study(name: str) -> Study:
    """Return the study on a data set."""
    told = {"batch": BATCH, "betas": BETAS, "tuning_seed": TUNING_SEED, "every": EVERY, "train": 20000, "test": 4000}
    return Study(lambda seeds: wanted(name, seeds), results, {"seeds": 3}, lambda **_: told)


STUDIES = {f"matrices-{name}": study(name) for name in LENGTHS}

if __name__ == "__main__":
    main(__file__, STUDIES)
