"""Does a small residual network on CIFAR-10 move as predicted? Speed, distance, and angles of its invariant layers.

    python studies/moving_residual.py [--seeds 1] [--modes 5] [--sweeps]

A residual network with group normalisation is trained on images of 16×16 pixels until its loss stands still, at a
weight decay that lets the lengths of its layers settle. ``moving.analyse`` then predicts it and measures it. With
``--sweeps`` it is continued at ten learning rates, batches and momenta, too, and on shuffled epochs; there, the noise
is measured at the points of each run, its speed and angles are predicted, and curvature is left out.
CIFAR-10 is found or downloaded as by ``lossnav.data.load``. A seed takes about five minutes of one core, and fifteen
with the sweeps and thirty modes.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy
from torch.nn.utils import vector_to_parameters

from lossnav import curvature, data, models, moving, noether, sgd
from lossnav.analysis import series
from lossnav.lab.moving.sweeps import around, rested
from lossnav.lab.study import Measurement, Study, main

EXAMPLES, BLOCKS, WIDTH = 2000, 1, 8
BASE = moving.Setting(eta=0.02, beta=0.9, batch=64, decay=5e-3)
TRAINING = ((replace(BASE, eta=0.1), 4000), (BASE, 4000))
SWEEPS: dict[str, tuple[float, ...]] = {
    "eta": (0.002, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08),
    "batch": (8, 16, 24, 32, 48, 64, 96, 128, 192, 256),
    "beta": (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98),
}
STEPS, BURN, CURVED = 2000, 1500, 1000
_TRAINED: dict[int, nn.Module] = {}
SHORT, REST, POINTS = 1000, 400, 6  # of a run of the sweeps: recorded, before them, and where noise is measured


def pictures(dataset: data.Dataset) -> tuple[Tensor, Tensor]:
    """Return the first training images, averaged over 2×2 pixels, (N, 3, 16, 16), and their labels."""
    x, y = dataset.train.batch(slice(0, EXAMPLES))
    return avg_pool2d(x, 2), y


def base(model: nn.Module, images: tuple[Tensor, Tensor], seed: int, modes: int) -> dict[str, Any]:
    """Return what the record keeps of the base: ``moving.analyse``, and distances at all lags."""
    found = moving.analyse(
        model, images, BASE, steps=STEPS, burn=BURN, modes=modes, examples=CURVED, seed=seed, anyway=True
    )
    rows = [{"name": row.name, "predicted": row.predicted, "measured": row.measured} for row in found.rows]
    return {
        "sweep": "base", "seed": seed, **measured(found.run), "traces": found.basin.traces.tolist(),
        "curvatures": found.basin.values.tolist(), "rows": rows, "notes": list(found.notes),
    }  # fmt: skip


def run(
    model: nn.Module, images: tuple[Tensor, Tensor], sweep: str, setting: moving.Setting, seed: int
) -> dict[str, Any]:
    """Continue a network at one setting; return its speed and angles, predicted from noise alone, and measured."""
    probe = (images[0][:64], images[1][:64])
    families = [family for family in noether.find_symmetries(model, cross_entropy, probe) if family.kind == "scale"]
    steps, longest = (STEPS, STEPS // 2) if sweep == "epochs" else (SHORT, SHORT // 10)
    found = moving.walk(
        model, images, setting, steps=steps, burn=REST, seed=seed, starts=POINTS, longest=longest, families=families
    )
    traces = [noise(model, images, point) for point in found.points]
    given = {"eta": setting.eta, "beta": setting.beta}
    rows = [{
        "name": "speed |δ|² per step", "measured": found.speed,
        "predicted": float(sgd.speed(0.0, gradient_variance=np.mean(traces), batch=setting.batch, **given)),
    }]  # fmt: skip
    angle = setting.eta * noether.limiting_angular_speed(decay=setting.decay, **given)
    rows += [
        {"name": f"angle per step of {name}", "predicted": angle, "measured": float(np.sqrt(np.mean(angles**2)))}
        for name, angles in found.angles.items()
    ]
    return {"sweep": sweep, "seed": seed, **measured(found), "traces": traces, "rows": rows}


def measured(found: moving.Walk) -> dict[str, Any]:
    """Return what the record keeps of any run: its loss and how it drifts, distances, and how lengths change."""
    change = series.drift(found.loss)
    return {
        "setting": told(found.setting), "loss": float(found.loss.mean()), "drift": [change.change, change.error],
        "lags": found.lags.tolist(), "displacement": found.displacement.mean(axis=0).tolist(),
        "radii": {name: float(radii[-1] / radii[0]) for name, radii in found.radii.items()},
    }  # fmt: skip


def noise(model: nn.Module, images: tuple[Tensor, Tensor], point: Tensor) -> float:
    """Return tr Σ at flat weights, over all examples; the model's own weights are what they were."""
    kept = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    vector_to_parameters(point, model.parameters())
    parts = list(zip(images[0].split(256), images[1].split(256), strict=True))
    trace = curvature.GradientCovariance(model, cross_entropy, parts).exact_trace(256)
    vector_to_parameters(kept, model.parameters())
    return float(trace)


def trained(dataset: data.Dataset, seed: int) -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """Return the network of a seed, trained once for all measurements that continue it, and the images."""
    if seed not in _TRAINED:
        _TRAINED.clear()
        model = models.resnet(blocks=BLOCKS, width=WIDTH, seed=seed)
        _TRAINED[seed] = rested(model, pictures(dataset), TRAINING, seed=seed)
    return _TRAINED[seed], pictures(dataset)


def at_base(dataset: data.Dataset, seed: int, modes: int) -> dict[str, Any]:
    """Predict and measure at the base."""
    return base(*trained(dataset, seed), seed, modes)


def told(setting: moving.Setting) -> dict[str, Any]:
    """Return the numbers of a setting of SGD."""
    return {name: value for name, value in asdict(setting).items() if name not in ("second", "eps")}


def along(dataset: data.Dataset, seed: int, sweep: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Predict and measure at one setting of a sweep."""
    return run(*trained(dataset, seed), sweep, moving.Setting(**setting), seed)


def wanted(seeds: int, modes: int, sweeps: bool) -> list[Measurement]:
    """Return the measurements, seed by seed."""
    found = []
    for seed in range(seeds):
        found.append(Measurement("cifar10", seed, at_base, {"modes": modes}))
        for sweep, setting in around(BASE, SWEEPS) if sweeps else ():
            found.append(Measurement("cifar10", seed, along, {"sweep": sweep, "setting": told(setting)}))
    return found


def config(sweeps: bool, **_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    weights = sum(p.numel() for p in models.resnet(blocks=BLOCKS, width=WIDTH, seed=0).parameters())
    return {
        "examples": EXAMPLES, "curved": CURVED, "model": f"resnet, blocks = {BLOCKS}, width = {WIDTH}",
        "weights": weights, "base": told(BASE), "training": [[told(setting), steps] for setting, steps in TRAINING],
        "steps": STEPS, "burn": BURN, "sweeps": SWEEPS if sweeps else {}, "short": [REST, SHORT], "points": POINTS,
    }  # fmt: skip


OPTIONS = {"seeds": 1, "modes": 5, "sweeps": False}
STUDIES = {"moving-residual": Study(wanted, options=OPTIONS, config=config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
