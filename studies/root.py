"""Does the root matter? Rules that divide by V^p, each at its own best rate, where H is known and on four networks.

    python studies/root.py known          quadratic landscapes with known curvature and noise    (about a minute)
    python studies/root.py mnist          a perceptron                                           (about seven minutes)
    python studies/root.py cifar10        a small convolutional network, with two values of ε    (about six minutes)
    python studies/root.py residual       a small residual network on CIFAR-10                   (about half an hour)
    python studies/root.py transformer    a small vision transformer, with two values of ε       (about half an hour)

on one core. θ ← θ − lr·m/(√V + ε)^{2p}, m and V the averages of Adam, for seven p. For every p the rate is tuned over
an equal grid, half decades around a guess, on three seeds, and the grid is extended while the best is at its edge; what
is reported are fresh seeds at the best rate, five on MNIST, eight on CIFAR-10. A long run begins its grid around the
best rate of the short one. It is long enough if the best exponent's training loss ends below ``CONVERGED``.

What was cut so that one core can do it: CIFAR-10 is learned at 16×16 pixels, and only its first images, 500 of them by
the residual network and the transformer; these have 19 thousand weights each; a second ε is not tried on the residual
network, which takes longest. MNIST and CIFAR-10 are found or downloaded as by ``lossnav.data.load``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lossnav import data, models, records
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.ensemble.loop import learn
from lossnav.lab.models.small import strided
from lossnav.lab.study import Measurement, Study, main, six, widened

EXPONENTS = (0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)
TUNING, JUDGING = (0, 1, 2), (100, 101, 102, 103, 104)  # seeds
SHORT_GRID, LONG_GRID = (-3, -2, -1, 0, 1, 2, 3), (-2, -1, 0, 1)  # half decades
MOST = 12  # rates that a grid is extended by
BETAS, TESTED = (0.9, 0.999), 2000
EPSILONS = (1e-8, 1e-3)  # one that hardly counts, and one that does, at √V of a few thousandths
CONVERGED = 0.05 * math.log(10)  # a twentieth of the loss of who has not learned anything about ten classes
GUESS = (3e-3, 3e-3)  # the rate at p = ½, and the √V with which it is carried over to other p


# ------------------------------------------------------------------------------------------------------------ networks


class Root:
    """θ ← θ − lr·m̂/(√v̂ + ε)^{2p} for the members of an ensemble, each at a rate of its own.

    Args:
        ensemble: S members.
        exponent: p.
        rates: of the members.
        eps: ε, in the units of √v.

    Attributes:
        energy: Σ|Δθ|² so far, shape (S,).
    """

    def __init__(self, ensemble: Ensemble, exponent: float, rates: Sequence[float], eps: float) -> None:
        self._params, self._exponent, self._eps, self._count = list(ensemble.parameters()), exponent, eps, 0
        self._m, self._v = ([torch.zeros_like(p) for p in self._params] for _ in BETAS)
        self._rates = [torch.tensor(rates).view(-1, *[1] * (p.ndim - 1)) for p in self._params]
        self.energy = torch.zeros(len(rates))

    @torch.no_grad()
    def step(self) -> None:
        """Move the members."""
        self._count += 1
        beta1, beta2 = BETAS
        grads = [p.grad for p in self._params]
        torch._foreach_lerp_(self._m, grads, 1 - beta1)
        torch._foreach_mul_(self._v, beta2)
        torch._foreach_addcmul_(self._v, grads, grads, 1 - beta2)
        divisor = list(torch._foreach_div(self._v, 1 - beta2**self._count))
        torch._foreach_sqrt_(divisor)
        torch._foreach_add_(divisor, self._eps)
        torch._foreach_pow_(divisor, 2 * self._exponent)
        moves = list(torch._foreach_div(self._m, divisor))
        torch._foreach_mul_(moves, self._rates)
        torch._foreach_div_(moves, 1 - beta1**self._count)
        torch._foreach_sub_(self._params, moves)
        self.energy += sum(move.square().flatten(1).sum(1) for move in moves)


def perceptron(seed: int) -> nn.Module:
    """Return the perceptron 784-64-32-10."""
    return models.mlp(784, (64, 32), seed=seed)


def convolutional(seed: int) -> nn.Module:
    """Return two convolutions of stride 2 and two full layers, for (3, 16, 16)."""
    return strided(8, 16, seed=seed)


def residual(seed: int) -> nn.Module:
    """Return a residual network with one block of two convolutions in each of three stages, 8, 16 and 32 channels."""
    return models.resnet(blocks=1, width=8, seed=seed)


def transformer(seed: int) -> nn.Module:
    """Return two blocks of attention and perceptron on the 16 patches of (3, 16, 16), with vectors of length 32."""
    return models.vit(size=16, width=32, depth=2, heads=2, seed=seed)


class Task(NamedTuple):
    """What is learned, by which network, on how many images in which batches; numbers of steps, seeds, values of ε."""

    dataset: str
    network: Callable[[int], nn.Module]
    examples: int
    batch: int
    lengths: tuple[int, ...]
    judging: tuple[int, ...]
    epsilons: tuple[float, ...] = EPSILONS[:1]


MORE = tuple(range(100, 108))  # seeds
TASKS = {
    "mlp": Task("mnist", perceptron, 5000, 64, (150, 3000), JUDGING),
    "cnn": Task("cifar10", convolutional, 1000, 32, (150, 1000), MORE, EPSILONS),
    "residual": Task("cifar10", residual, 500, 32, (150, 1000), MORE),
    "transformer": Task("cifar10", transformer, 500, 32, (150, 1000), MORE, EPSILONS),
}


class Images(NamedTuple):
    """Images and labels that networks learn from, and those that they are tested on."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor


def pictures(dataset: data.Dataset, examples: int) -> Images:
    """Return the first training and test images, those with colours averaged over 2×2 pixels."""
    parts: list[Tensor] = []
    for split, count in ((dataset.train, examples), (dataset.test, TESTED)):
        x, y = split.batch(slice(0, count))
        parts += [avg_pool2d(x, 2) if x.shape[1:2] == (3,) else x, y]
    return Images(*parts)


def batches(images: Images, size: int, seeds: Sequence[int], steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images (S, B, …) and labels (S, B), in the order of each member's seed, epoch after epoch."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    whole = len(images.y) // size
    for n in range(steps):
        if n % whole == 0:
            order = torch.stack([torch.randperm(len(images.y), generator=one) for one in generators])
        index = order[:, n % whole * size : (n % whole + 1) * size]
        yield images.x[index], images.y[index]


def trained(
    images: Images, task: Task, exponent: float, eps: float, jobs: Sequence[tuple[float, int]], steps: int
) -> list[dict[str, Any]]:
    """Train networks, one for each (rate, seed), and return what became of each.

    Returns:
        For each its ``train``, the mean loss of the last tenth of the steps; ``path``, that of all; ``energy``, the
        mean of |Δθ|²; ``test``, the loss on test images; ``accuracy`` there. None where a number is not finite.
    """
    rates, seeds = zip(*jobs, strict=True)
    ensemble = Ensemble([task.network(seed) for seed in seeds])
    rule = Root(ensemble, exponent, rates, eps)
    shown = batches(images, task.batch, seeds, steps)
    losses = torch.stack([each for _, each in learn(ensemble, rule, shown, cross_entropy, None)])
    with torch.no_grad():
        x, y = (part.expand(len(jobs), *part.shape) for part in (images.test_x, images.test_y))
        test, right = torch.zeros(len(jobs)), torch.zeros(len(jobs))
        for low in range(0, TESTED, 500):
            logits, labels = ensemble(x[:, low : low + 500]), y[:, low : low + 500]
            test += torch.stack([cross_entropy(*pair) for pair in zip(logits, labels, strict=True)]) * 500 / TESTED
            right += (logits.argmax(-1) == labels).sum(1) / TESTED
    columns = {"train": losses[-steps // 10 :].mean(0), "path": losses.mean(0), "energy": rule.energy / steps,
               "test": test, "accuracy": right}  # fmt: skip
    finite = torch.stack(list(columns.values())).isfinite().all(0)
    return [
        {"lr": rate, "seed": seed, **{name: six(column[i]) if finite[i] else None for name, column in columns.items()}}
        for i, (rate, seed) in enumerate(jobs)
    ]


def tuned(train: Callable[[Sequence[tuple[float, int]]], list[dict[str, Any]]], middle: float, grid: Sequence[int],
          judging: Sequence[int]) -> dict[str, Any]:  # fmt: skip
    """Try a grid of rates, extend it while the best is at its edge, and judge the best on fresh seeds."""
    tried: dict[int, list[dict[str, Any]]] = {}

    def losses(places: Sequence[int]) -> list[float]:
        found = train([(rate(middle, place), seed) for place in places for seed in TUNING])
        for i, place in enumerate(places):
            tried[place] = found[i * len(TUNING) : (i + 1) * len(TUNING)]
        return [score(tried[place]) for place in places]

    found = widened(losses, grid, operator.add, MOST)
    best = min(found, key=found.__getitem__)
    return {
        "tried": [one for place in sorted(tried) for one in tried[place]], "best": rate(middle, best),
        "inside": min(tried) < best < max(tried), "judged": train([(rate(middle, best), seed) for seed in judging]),
    }  # fmt: skip


def rate(middle: float, half_decades: int) -> float:
    """Return a rate of a grid."""
    return six(middle * 10 ** (half_decades / 2))


def score(runs: Sequence[dict[str, Any]]) -> float:
    """Return what the rate is chosen by: the mean training loss at the end; inf if a run left the numbers."""
    return math.inf if any(run["train"] is None for run in runs) else float(np.mean([run["train"] for run in runs]))


def compared(
    dataset: data.Dataset, seed: tuple[int, ...], network: str, exponent: float, eps: float, lengths: Sequence[int]
) -> list[dict[str, Any]]:
    """Tune and judge one exponent on one network, at each length."""
    torch.set_flush_denormal(True)
    task = TASKS[network]
    images, found = pictures(dataset, task.examples), []
    middle, grid = GUESS[0] * GUESS[1] ** (2 * exponent - 1), SHORT_GRID
    for steps in lengths:

        def train(jobs: Sequence[tuple[float, int]], steps: int = steps) -> list[dict[str, Any]]:
            return trained(images, task, exponent, eps, jobs, steps)

        one = tuned(train, middle, grid, seed)
        found.append({"network": network, "exponent": exponent, "eps": eps, "steps": steps, **one})
        middle, grid = one["best"], LONG_GRID
    torch.set_flush_denormal(False)
    return found


def network(name: str) -> Study:
    """Return the study of all exponents on a network of ``TASKS``."""
    task = TASKS[name]
    wanted = [
        Measurement(task.dataset, task.judging, compared, {"network": name, "exponent": exponent, "eps": eps,
                                                           "lengths": list(task.lengths)})
        for eps in task.epsilons for exponent in EXPONENTS
    ]  # fmt: skip
    about = {
        "exponents": list(EXPONENTS), "tuning_seeds": list(TUNING), "betas": list(BETAS),
        "examples": task.examples, "tested": TESTED, "batch": task.batch, "grids": [list(SHORT_GRID), list(LONG_GRID)],
        "most": MOST,
    }  # fmt: skip
    return Study(lambda: wanted, results, {}, lambda: about)


# ---------------------------------------------------------------------------------------------------- known landscapes

MODES, SPREAD = 40, 1.5  # of curvatures 10^{−SPREAD … SPREAD}
GAMMAS = (0.0, 0.3, 3.0, 30.0)
DT, TIME, WALK, NOISE = 0.02, 400.0, 0.3, 1.0  # of the noisy landscape
KNOWN_RATES = tuple(10 ** (k / 20) for k in range(-60, 61))


def curvatures() -> np.ndarray:
    """Return h of each mode; V = h."""
    return np.logspace(-SPREAD, SPREAD, MODES)


def quiet(dataset: None, seed: tuple[int, ...], gamma: float) -> list[dict[str, Any]]:
    """Return J of θ̇ = −s h^{−p} g with exact gradients, η = k = 1, at the best s of other seeds, for each p.

    A mode that goes at the rate a from θ₀ costs θ₀²(a² + h)/(2(2a + γ)). The starts are drawn so that on average each
    mode costs the same at γ = 0.
    """
    h, found = curvatures(), []

    def costs(exponent: float, seeds: Sequence[int]) -> np.ndarray:
        starts = np.stack([np.random.default_rng(s).normal(size=MODES) for s in seeds]) * h**-0.25
        a = np.array(KNOWN_RATES)[:, None] * h ** (1 - exponent)
        return ((a * a + h) / (2 * (2 * a + gamma))) @ (starts**2).T

    for exponent in EXPONENTS:
        best = int(costs(exponent, TUNING).mean(1).argmin())
        judged = costs(exponent, seed)[best]
        found.append({"case": "quiet", "gamma": gamma, "exponent": exponent, "best": six(KNOWN_RATES[best]),
                      "inside": 0 < best < len(KNOWN_RATES) - 1, "cost": six(judged)})  # fmt: skip
    return found


def noisy(dataset: None, seed: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the average cost of θ̇ = −s h^{−p}·(posterior mean of the gradient), η = k = 1, γ = 0, for each p.

    The minimum of each mode is a random walk, the gradient is seen with white noise of intensity h (a known multiple of
    the curvature), and the posterior mean is the stationary Kalman–Bucy filter's.
    """
    rates, found = np.array(KNOWN_RATES[::6]), []
    h = curvatures()
    for exponent in EXPONENTS:
        tuning = simulated(h, exponent, rates, TUNING).mean(1)
        best = int(np.nanargmin(tuning))
        judged = simulated(h, exponent, rates[best : best + 1], seed)[0]
        found.append({"case": "noisy", "gamma": 0.0, "exponent": exponent, "best": six(rates[best]),
                      "inside": 0 < best < len(rates) - 1, "cost": six(judged)})  # fmt: skip
    return found


def simulated(h: np.ndarray, exponent: float, rates: np.ndarray, seeds: Sequence[int]) -> np.ndarray:
    """Return the mean over time of u²/2 + L, summed over modes, (rates, seeds); NaN where steps are too long."""
    generators = [np.random.default_rng(1000 + s) for s in seeds]
    gain = WALK * np.sqrt(h / NOISE)  # √(Q/R): the gradient at a fixed point walks with Q = (h·WALK)², R = NOISE·h
    decay = rates[:, None, None] * h ** (1 - exponent)
    shape = (len(rates), len(seeds), len(h))
    theta, total, count = np.zeros(shape), np.zeros(shape[:2]), 0
    minimum, slope = np.zeros(shape[1:]), np.zeros(shape[1:])  # slope: posterior mean of the gradient at θ = 0
    factor = -np.expm1(-decay * DT) / decay  # exact over a step, for the belief of its beginning
    steps, burn = round(TIME / DT), round(0.2 * TIME / DT)
    for n in range(steps):
        walk, seen = np.moveaxis(np.stack([one.normal(size=(2, len(h))) for one in generators]), 1, 0)
        velocity = -decay * (theta + slope / h) * (factor / DT)
        if n >= burn:
            total += (velocity**2 / 2 + h * (theta - minimum) ** 2 / 2).sum(-1)
            count += 1
        theta = theta + DT * velocity
        slope = slope + gain * (DT * (-h * minimum - slope) + np.sqrt(NOISE * h * DT) * seen)
        minimum = minimum + WALK * np.sqrt(DT) * walk
    return total / count


def known() -> list[Measurement]:
    """Return the measurements on landscapes with known curvature and noise."""
    cases = [Measurement("", JUDGING, quiet, {"gamma": gamma}) for gamma in GAMMAS]
    return [*cases, Measurement("", JUDGING, noisy)]


# ------------------------------------------------------------------------------------------------------------- studies


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return what was measured, in a row."""
    return [one for record in found for one in record.results]


def known_config(**_: int) -> dict[str, Any]:
    """Return how the record of the known landscapes describes them."""
    return {
        "exponents": list(EXPONENTS), "tuning_seeds": list(TUNING), "modes": MODES, "spread": SPREAD,
        "gammas": list(GAMMAS), "dt": DT, "time": TIME, "walk": WALK, "noise": NOISE,
    }  # fmt: skip


STUDIES = {
    "root-known": Study(known, results, {}, known_config),
    "root-mnist": network("mlp"),
    "root-cifar10": network("cnn"),
    "root-residual": network("residual"),
    "root-transformer": network("transformer"),
}

if __name__ == "__main__":
    main(__file__, STUDIES)
