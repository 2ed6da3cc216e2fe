"""Do optimizers that know rows and columns learn faster, by the step and by the clock? Small networks, 3 or 5 seeds.

    python studies/matrices.py mnist          the paper's perceptron on MNIST             (about 5 minutes of one core)
    python studies/matrices.py paper          the paper's CNN on CIFAR-10 at 32×32 pixels (about 35 minutes)
    python studies/matrices.py transformer    a small one on CIFAR-10 at 32×32 pixels     (about 15 minutes)
    python studies/matrices.py bases          which bases the paper's CNN needs, 16×16    (about 4 minutes)
    python studies/matrices.py long           what "bases" found, at "paper"'s size       (about 2 minutes)
    python studies/matrices.py learned        400 images by heart, a small CNN            (about 6 minutes)
    python studies/matrices.py learned-paper        200 by heart, the paper's CNN         (about 80 minutes)
    python studies/matrices.py learned-transformer  200 by heart, the transformer         (about 20 minutes)
    python studies/matrices.py blocks         cheaper bases, the perceptron of "mnist"    (about 2 minutes)

Each rule tries three rates on a seed of its own, all for the full length, and the one with the least training loss at
the end is run on other seeds. Seconds are of the processor, forward, backward and step. On MNIST the rules that look at
one weight at a time run a second time, tuned again, six times as long: in 60 to 80 % of the others' seconds.

"paper" and "transformer" have SOAP of a collection beside our rules. A rule whose best rate is at an edge tries another
one beyond it, at most two. The seconds of the update are kept apart from those of the passes, which are the same for
all rules: on a machine with other work their ratio says more than seconds do. The lengths, 80 and 200 steps with 32
images each, are what an hour of one core allows. No rule has converged in them, Adam needs tens of times as many.

"bases" changes one thing at a time between our eigenbasis and Muon, at the rates that "paper" found; the polar's is a
fifth of Muon's, the length that its steps have there. "long" runs the best of them on the seeds of "paper".

"learned" goes on until Adam has learned its images: its training loss ends below ``LEARNED``. What was cut for that is
the size: 400 images of 16×16 pixels, one network of 22 thousand weights, 600 steps of 32. It has the collection's
Shampoo as well, exponents −¼ and −¼, each of its steps as long as RMSprop's.
"learned-paper" and "learned-transformer" do the same with the networks of "paper" and "transformer" and images of 32×32
pixels: 160 and 300 steps. Our forms have there what is their default since "long": polar on sides beyond 1024, which
the transformer has not. Shampoo takes no part on the CNN, where its update takes nearly as long as the passes.

"blocks" has our eigenbasis with both bases, with blocks of them, and with one for sides up to 512 alone, where a layer
has 784 inputs; Adam runs a second time, tuned again, three times as long.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lossnav import data, models, optim
from lossnav.lab.models.small import strided
from lossnav.lab.study import Measurement, Study, main, widened

BETAS, TUNING_SEED, EVERY = (0.9, 0.99), 100, 10  # steps that a point of a curve is the mean of
PLAIN = ("SGD", "Adam", "Ballistic")
MATRIX = ("Muon", "eigenbasis", "likelihood", "kronecker")
TURNS, LONGEST_SIDE = 20, 1024  # of SOAP's bases, as BallisticMatrix has them
LONG = "polar on long sides"
ABLATED = {  # rates of rules that have one thing changed
    "Muon": 3e-3, "polar": 6e-4, "eigenbasis": 1e-3, "max_dim=1152": 1e-3, LONG: 1e-3,
}  # fmt: skip
RMSPROP = 3  # the collection's number for steps of Shampoo as long as RMSprop's
LONGER, FACTOR = 6, 10**0.5
CHEAPER: dict[str, dict[str, Any]] = {
    "blocks of 128": {"block": 128}, "blocks of 64": {"block": 64}, "max_dim=512": {"max_dim": 512, "long": "identity"},
}  # fmt: skip
CHANGED = {LONG: {"long": "polar"}, "max_dim=1152": {"max_dim": 1152, "long": "identity"}, **CHEAPER}
LEARNED = 0.05 * math.log(10)  # a twentieth of the loss of who has not learned anything about ten classes


@dataclass(frozen=True)
class Task:
    """What is learned, by which network, and how rules are tuned for it.

    Attributes:
        dataset: name of the data.
        network: from a seed.
        steps, batch: of a run.
        rules: their names.
        rates: of SGD, and of all others, on the tuning seed.
        extra: how many further rates a rule may try whose best one is at an edge.
        tail: points of the curve whose mean chooses.
        train, test: images.
        seeds: judged.
        pooled: average the images over 2×2 pixels.
        fixed: rates of rules that are not tuned.
        long: what our rules do with a side that is too long for a basis.
    """

    dataset: str
    network: Callable[[int], nn.Module]
    steps: int
    batch: int = 128
    rules: tuple[str, ...] = (*PLAIN, *MATRIX)
    rates: tuple[tuple[float, ...], tuple[float, ...]] = ((0.03, 0.1, 0.3), (1e-3, 3e-3, 1e-2))
    extra: int = 0
    tail: int = 1
    train: int = 20000
    test: int = 4000
    seeds: int = 3
    pooled: bool = False
    fixed: Mapping[str, float] = field(default_factory=dict)
    long: str = "identity"


LATER: dict[str, Any] = {
    "batch": 32, "rules": (*PLAIN, "Muon", "SOAP", *MATRIX[1:]), "extra": 2, "tail": 2, "train": 10000, "test": 1000,
    "seeds": 5,
}  # fmt: skip
WHOLE = {**LATER, "rules": (*PLAIN, "Muon", "Shampoo", "SOAP", *MATRIX[1:]), "tail": 6, "train": 400, "pooled": True}
TASKS = {
    "mnist": Task("mnist", lambda seed: models.mlp(seed=seed), 100),
    "paper": Task(
        "cifar10", lambda seed: models.cnn(seed=seed), 80, rates=((0.01, 0.03, 0.1), (3e-4, 1e-3, 3e-3)), **LATER
    ),
    "transformer": Task("cifar10", lambda seed: models.vit(width=64, depth=3, seed=seed), 200, **LATER),
    "bases": Task(
        "cifar10",
        lambda seed: models.cnn(size=16, seed=seed),
        80,
        **{**LATER, "rules": tuple(ABLATED), "seeds": 3},
        fixed=ABLATED,
        pooled=True,
    ),
    "long": Task(
        "cifar10", lambda seed: models.cnn(seed=seed), 80, **{**LATER, "rules": (LONG,)}, fixed={LONG: ABLATED[LONG]}
    ),
    "learned": Task("cifar10", lambda seed: strided(16, 32, seed=seed), 600, **WHOLE),
    "learned-paper": Task(
        "cifar10",
        lambda seed: models.cnn(seed=seed),
        160,
        rates=((0.01, 0.03, 0.1), (3e-4, 1e-3, 3e-3)),
        **{**WHOLE, "rules": (*PLAIN, "Muon", "SOAP", *MATRIX[1:]), "train": 200, "test": 500, "pooled": False},
        long="polar",
    ),
    "learned-transformer": Task(
        "cifar10",
        lambda seed: models.vit(width=64, depth=3, seed=seed),
        300,
        **{**WHOLE, "train": 200, "pooled": False},
        long="polar",
    ),
    "blocks": Task(
        "mnist", lambda seed: models.mlp(seed=seed), 100, rules=("Adam", "eigenbasis", *CHEAPER), tail=2, seeds=5
    ),
}


class AsMatrices:
    """Rules for matrices alone, given what has two axes or more as matrices, and one for the rest at the same rate."""

    def __init__(
        self, matrices: list[nn.Parameter], rest: list[nn.Parameter], *makers: Callable[[list[nn.Parameter]], Any]
    ) -> None:
        self.params = [*matrices, *rest]
        self.matrices = [(p, nn.Parameter(p.detach().flatten(1))) for p in matrices]  # the same memory
        parts = [x for _, x in self.matrices], rest
        self.parts = [make(part) for make, part in zip(makers, parts, strict=True)]
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        """Move all parameters."""
        for p, matrix in self.matrices:
            matrix.grad = None if p.grad is None else p.grad.flatten(1)
        for part in self.parts:
            part.step()


def adam(params: Any, lr: float) -> Any:
    """Return Adam."""
    return torch.optim.Adam(params, lr, BETAS)


def muon(params: Any, lr: float, **options: Any) -> Any:
    """Return torch's Muon, whose steps have the root mean square that Adam's were seen to have."""
    return torch.optim.Muon(params, lr, weight_decay=0.0, adjust_lr_fn="match_rms_adamw", **options)


def rule(name: str, params: list[nn.Parameter], lr: float, long: str = "identity") -> Any:
    """Return an optimizer by the name that it has in the record; ours with ``long`` for sides without a basis."""
    both = [p for p in params if p.ndim > 1], [p for p in params if p.ndim < 2]
    if name == "SGD":
        return torch.optim.SGD(params, lr, momentum=0.9)
    if name == "Adam":
        return adam(params, lr)
    if name == "Ballistic":
        return optim.Ballistic(params, lr, BETAS[1], momentum=BETAS[0], bias_correction=True)
    if name == "Muon":
        return AsMatrices(*both, lambda matrices: muon(matrices, lr), lambda rest: adam(rest, lr))
    if name in ("SOAP", "Shampoo"):
        collection = importlib.import_module("pytorch_optimizer")
        same = {"lr": lr, "betas": BETAS, "weight_decay": 0.0}
        kinds: dict[str, dict[str, Any]] = {
            "SOAP": {"precondition_frequency": TURNS, "max_precondition_dim": LONGEST_SIDE},
            "Shampoo": {
                "preconditioning_compute_steps": TURNS, "start_preconditioning_step": 1, "use_svd": True,
                "graft_type": RMSPROP,
            },
        }  # fmt: skip
        made = getattr(collection, {"Shampoo": "ScalableShampoo"}.get(name, name))
        return AsMatrices(*both, *[lambda part: made(part, **same, **kinds[name])] * 2)
    basis = {"curvature": name, "long": long} if name not in CHANGED else {"curvature": "eigenbasis", **CHANGED[name]}
    return optim.BallisticMatrix(params, lr, betas=BETAS, noise=False, **basis)


def images(dataset: data.Dataset, task: Task, train: bool) -> tuple[Tensor, Tensor]:
    """Return the first training images, or test images, and their labels."""
    part = dataset.train if train else dataset.test
    x, y = part.batch(slice(0, task.train if train else task.test))
    return (avg_pool2d(x, 2) if task.pooled else x), y


def trained(
    task: Task, parts: tuple[tuple[Tensor, Tensor], ...], how: str, lr: float, seed: int, steps: int
) -> dict[str, Any]:
    """Train, and return the curve of the training loss, its seconds, and how the network does on test images."""
    (x, y), (test_x, test_y) = parts
    model, generator = task.network(seed), torch.Generator().manual_seed(seed)
    optimizer, seconds, updates, losses, times = rule(how, list(model.parameters()), lr, task.long), 0.0, 0.0, [], []
    for _ in range(steps):
        rows = torch.randint(len(x), (task.batch,), generator=generator)
        inputs, labels = x[rows], y[rows]
        start = time.process_time()
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        before = time.process_time()
        optimizer.step()
        end = time.process_time()
        seconds, updates = seconds + end - start, updates + end - before
        losses.append(loss.item())
        times.append(seconds)
    with torch.no_grad():
        logits = model(test_x)
    curve = np.array(losses).reshape(-1, EVERY).mean(1)
    return {
        "lr": lr, "seed": seed, "loss": np.nan_to_num(curve, nan=1e9).round(4).tolist(),
        "seconds": np.array(times)[EVERY - 1 :: EVERY].round(3).tolist(), "updates": round(updates, 3),
        "test_loss": round(float(cross_entropy(logits, test_y)), 4),
        "accuracy": round(float((logits.argmax(1) == test_y).double().mean()), 4),
    }  # fmt: skip


def beyond(lr: float, way: int) -> float:
    """Return the next rate of a grid, upwards or downwards."""
    return float(f"{lr * FACTOR if way > 0 else lr / FACTOR:.0e}")


def measured(dataset: data.Dataset, seed: int, *, name: str, how: str, steps: int, seeds: int) -> dict[str, Any]:
    """Tune a rule, and run it on seeds that it was not tuned on."""
    task = TASKS[name]
    parts = (images(dataset, task, True), images(dataset, task, False))

    def loss(lr: float) -> float:
        curve = trained(task, parts, how, lr, TUNING_SEED, steps)["loss"]
        return round(float(np.mean(curve[-task.tail :])), 4)

    tried = {}
    if how not in task.fixed:
        tried = widened(lambda rates: [loss(lr) for lr in rates], task.rates[how != "SGD"], beyond, task.extra)
    best = min(tried, key=tried.__getitem__) if tried else task.fixed[how]
    runs = [trained(task, parts, how, best, seed + k, steps) for k in range(seeds)]
    return {"rule": how, "steps": steps, "lr": best, "tuning": [list(pair) for pair in tried.items()], "runs": runs}


def wanted(name: str, seeds: int) -> list[Measurement]:
    """Return a measurement for each rule and length."""
    task = TASKS[name]
    cases = [(how, task.steps) for how in task.rules]
    if name == "mnist":
        cases += [(how, LONGER * task.steps) for how in PLAIN]
    if name == "blocks":
        cases += [("Adam", 3 * task.steps)]
    return [
        Measurement(task.dataset, 0, measured, {"name": name, "how": how, "steps": count, "seeds": seeds})
        for how, count in cases
    ]


def study(name: str) -> Study:
    """Return the study of a task."""
    task = TASKS[name]
    told = {
        "batch": task.batch, "betas": BETAS, "tuning_seed": TUNING_SEED, "every": EVERY, "train": task.train,
        "test": task.test,
    }  # fmt: skip
    if task.extra:
        told |= {"tail": task.tail, "extra": task.extra}
    if task.long != "identity":
        told |= {"long": task.long}
    return Study(lambda seeds: wanted(name, seeds), options={"seeds": task.seeds}, config=lambda **_: told)


STUDIES = {f"matrices-{name}": study(name) for name in TASKS}

if __name__ == "__main__":
    main(__file__, STUDIES)
