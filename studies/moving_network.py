"""How does a trained network move, and does the theory of a quadratic basin know it beforehand? MNIST, three seeds.

    python studies/moving_network.py [--seeds 3]

A perceptron is trained until its loss stands still. It is then continued at one base setting, and from there over
sweeps of η, S and β, at the same λ. Of each run the record holds how it moved, and what was measured at the points that
it visited: tr Σ, and how the noise is spread over the spectrum of the Hessian. Predictions are made by the reader of
the record. MNIST is found or downloaded as by ``lossnav.data.load``. A seed takes about four minutes of one core.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d
from torch.nn.utils import vector_to_parameters

from lossnav import data, moving, records
from lossnav.analysis import series
from lossnav.lab.models.weights import seeded
from lossnav.lab.moving.sweeps import around, ended, rested
from lossnav.lab.study import Measurement, Study, main, six

EXAMPLES, HIDDEN = 6000, 24
BASE = moving.Setting(eta=0.01, beta=0.9, batch=64, decay=2e-3)
TRAINING = ((replace(BASE, eta=0.05), 4000), (BASE, 20000))  # setting, steps; at rest where they end
SWEEPS: dict[str, tuple[float, ...]] = {
    "eta": (0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03),
    "batch": (8, 16, 24, 32, 48, 64, 96, 128, 192, 256),
    "beta": (0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99),
}
STEPS, BURN, LONG = 3000, 1000, 10000  # recorded, before them, and recorded at the base
POINTS, MODES = 4, 20  # where tr Σ is measured, eigenpairs
TWINS, TOGETHER = 4, 5000  # walks from one start, and their steps
LAGS = tuple(range(0, 61, 2))  # of autocorrelations
PLANES, PICTURED = (1, 10, 20), 250  # modes whose phase planes are kept, and for how many steps


def pictures(dataset: data.Dataset, count: int = EXAMPLES) -> tuple[Tensor, Tensor]:
    """Return the first training images, averaged over 2×2 pixels, (N, 196), and their labels."""
    x, y = dataset.train.batch(slice(0, count))
    return avg_pool2d(x, 2).flatten(1), y


def network(seed: int) -> nn.Sequential:
    """Return a perceptron with tanh; its second derivatives exist everywhere."""
    return seeded(lambda: nn.Sequential(nn.Linear(196, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 10)), seed)


def run(
    model: nn.Module, images: tuple[Tensor, Tensor], setting: moving.Setting, seed: int, **how: Any
) -> dict[str, Any]:
    """Continue a network and measure where it has been; everything that the record keeps of a run without modes."""
    found = moving.walk(model, images, setting, seed=seed, **how)
    points = found.points[:: max(1, len(found.points) // POINTS)][:POINTS]
    basin = moving.measure(model, images, points, mean=found.mean, modes=0, draws=POINTS, nodes=30, seed=seed)
    nodes, weights = binned(basin.nodes, basin.weights)
    half = found.velocity_squared.reshape(2, -1).mean(1)
    change = series.drift(found.loss)
    return {
        "setting": asdict(setting), "seed": seed, "steps": found.steps, "burn": found.burn, "speed": six(found.speed),
        "halves": six(setting.eta**2 * half), "loss": six(found.loss.mean()),
        "drift": six([change.change, change.error]), "traces": six(basin.traces), "lags": found.lags.tolist(),
        "displacement": six(found.displacement.mean(0)), "nodes": nodes, "weights": weights,
        "uphill": six(basin.uphill(setting.decay)),
    }  # fmt: skip


def modes(model: nn.Module, images: tuple[Tensor, Tensor], seed: int) -> dict[str, Any]:
    """Return what single modes do at the base: variances, circulation, memory, and pieces of their phase planes."""
    pilot = moving.walk(model, images, BASE, steps=LONG, burn=0, seed=100 + seed, starts=POINTS)
    basin = moving.measure(model, images, pilot.points, mean=pilot.mean, modes=MODES, nodes=30)
    found = moving.walk(model, images, BASE, steps=LONG, burn=0, seed=200 + seed, directions=basin.vectors)
    planes, memory = {}, series.autocorrelation(found.velocities - found.velocities.mean(0), LAGS)
    for mode in PLANES:
        theta, v = found.positions[:, mode - 1], found.velocities[:, mode - 1]
        planes[str(mode)] = {"position": six((theta - theta.mean())[:PICTURED]), "velocity": six(v[:PICTURED])}
    return {
        "seed": seed, "curvatures": six(basin.values), "noises": six(basin.noises), "trace": six(basin.trace),
        "position_variances": six(found.positions.var(axis=0)), "velocity_variances": six(found.velocities.var(axis=0)),
        "circulations": six(series.circulation(found.positions, found.velocities, eta=BASE.eta)),
        "autocorrelations": six(memory[:, [mode - 1 for mode in PLANES]]),
        "planes": planes, "twins": twins(model, images, pilot.final, seed), "accuracy": accuracy(model, images),
    }  # fmt: skip


def twins(model: nn.Module, images: tuple[Tensor, Tensor], start: Tensor, seed: int) -> dict[str, float]:
    """Return how far walks from one start get, on different batches, and how much of it they have in common."""
    vector_to_parameters(start, model.parameters())
    ways = [ended(model, images, BASE, TOGETHER, seed=300 + 10 * seed + k) - start for k in range(TWINS)]
    products = torch.stack(ways).double() @ torch.stack(ways).double().T
    own, all_of_it = products.diagonal().sum().item(), products.sum().item()
    return {"far": six(own / TWINS), "common": six((all_of_it - own) / (TWINS * (TWINS - 1)))}


@torch.no_grad()
def accuracy(model: nn.Module, images: tuple[Tensor, Tensor]) -> float:
    """Return the share of the training images that are classified."""
    return six((model(images[0]).argmax(1) == images[1]).double().mean().item())


def binned(nodes: np.ndarray, weights: np.ndarray, count: int = 40) -> tuple[list[float], list[float]]:
    """Return a quadrature with fewer nodes: those close to each other put together, at their mean."""
    edges = np.concatenate([[-np.inf, -1e-2, -1e-3, 0.0], np.geomspace(1e-3, max(nodes.max(), 1e-2) * 1.01, count - 3)])
    place = np.digitize(nodes, edges)
    kept = [k for k in np.unique(place) if weights[place == k].sum() > 0]
    totals = [weights[place == k].sum() for k in kept]
    means = [(weights * nodes)[place == k].sum() / total for k, total in zip(kept, totals, strict=True)]
    return six(means), six(totals)


def measured(dataset: data.Dataset, seed: int) -> dict[str, Any]:
    """Train a network, continue it at every setting, and measure."""
    images = pictures(dataset)
    model = rested(network(seed), images, TRAINING, seed=seed)
    found = {
        "modes": modes(model, images, seed),
        "runs": [{"sweep": "base", **run(model, images, BASE, seed, steps=LONG, burn=BURN, starts=40)}],
    }
    for name, setting in around(BASE, SWEEPS):
        long = {"steps": LONG, "starts": 40} if name == "epochs" else {"steps": STEPS}
        found["runs"].append({"sweep": name, **run(model, images, setting, seed, burn=BURN, **long)})
    return found


def wanted(seeds: int) -> list[Measurement]:
    """Return a measurement for each seed."""
    return [Measurement("mnist", seed, measured) for seed in range(seeds)]


def results(found: list[records.Record]) -> dict[str, Any]:
    """Return the runs of all seeds, and what single modes do in each."""
    return {
        "runs": [run for one in found for run in one.results["runs"]],
        "modes": [one.results["modes"] for one in found],
    }


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "examples": EXAMPLES, "model": f"196-{HIDDEN}-10, tanh; 14×14 pixels", "base": asdict(BASE),
        "training": [[asdict(setting), steps] for setting, steps in TRAINING], "sweeps": SWEEPS, "lags": LAGS,
        "twins": [TWINS, TOGETHER],
    }  # fmt: skip


STUDIES = {"moving-network": Study(wanted, results, {"seeds": 3}, config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
