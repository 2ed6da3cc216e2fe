"""Does a small residual network on CIFAR-10 move as predicted? Speed, distance, and angles of its invariant layers.

    python studies/moving_residual.py [--seeds 1] [--output book/results/moving-residual.json]

A residual network with group normalisation is trained on images of 16×16 pixels until its loss stands still, at a
weight decay that lets the lengths of its layers settle. ``moving.analyse`` then predicts it and measures it.
CIFAR-10 is found or downloaded as by ``lossnav.data.load``. A seed takes about five minutes of one core; the
record is written anew after each setting.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d
from torch.nn.utils import vector_to_parameters

from lossnav import data, models, moving, records

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
EXAMPLES, BLOCKS, WIDTH = 2000, 1, 8
BASE = moving.Setting(eta=0.02, beta=0.9, batch=64, decay=5e-3)
TRAINING = ((replace(BASE, eta=0.1), 4000), (BASE, 4000))
CHANGES: tuple[dict[str, float], ...] = ({},)  # of the base; each takes some three minutes
STEPS, BURN, CURVED, MODES = 2000, 1500, 1000, 5


def pictures(dataset: data.Dataset) -> tuple[Tensor, Tensor]:
    """Return the first training images, averaged over 2×2 pixels, (N, 3, 16, 16), and their labels."""
    x, y = dataset.train.batch(slice(0, EXAMPLES))
    return avg_pool2d(x, 2), y


def train(images: tuple[Tensor, Tensor], seed: int) -> nn.Module:
    """Return the network where its training ends."""
    model = models.resnet(blocks=BLOCKS, width=WIDTH, seed=seed)
    for setting, steps in TRAINING:
        done = moving.walk(model, images, setting, steps=2, burn=steps - 2, seed=seed, starts=1, longest=1)
        vector_to_parameters(done.final, model.parameters())
    return model


def save(
    output: Path, dataset: data.Dataset, seeds: list[int], results: list[dict[str, Any]], start: float, worked: float
) -> None:
    """Write the record of what is finished."""
    weights = sum(p.numel() for p in models.resnet(blocks=BLOCKS, width=WIDTH, seed=0).parameters())
    config = {
        "examples": EXAMPLES, "curved": CURVED, "model": f"resnet, blocks = {BLOCKS}, width = {WIDTH}",
        "weights": weights,
        "base": asdict(BASE), "training": [[asdict(setting), steps] for setting, steps in TRAINING], "steps": STEPS,
        "burn": BURN, "processor_seconds": round(time.process_time() - worked),
    }  # fmt: skip
    record = records.new(
        command="python studies/moving_residual.py", config=config, seeds=seeds, data=dataset.provenance.record(),
        results=results, duration=time.perf_counter() - start, device=records.processor(),
    )  # fmt: skip
    records.save(output, record)


def main() -> None:
    """Train, predict, measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS / "moving-residual.json")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    start, worked = time.perf_counter(), time.process_time()
    dataset, seeds = data.load("cifar10"), list(range(arguments.seeds))
    images, results = pictures(dataset), []
    for seed in seeds:
        model = train(images, seed)
        print(f"seed {seed} trained, {time.process_time() - worked:.0f} s", flush=True)
        for change in CHANGES:
            setting: Any = replace(BASE, **change)
            found = moving.analyse(
                model, images, setting, steps=STEPS, burn=BURN, modes=MODES, examples=CURVED, seed=seed, anyway=True
            )
            rows = [{"name": row.name, "predicted": row.predicted, "measured": row.measured} for row in found.rows]
            results.append({
                "seed": seed, "setting": asdict(setting), "loss": float(found.run.loss.mean()),
                "traces": found.basin.traces.tolist(), "curvatures": found.basin.values.tolist(), "rows": rows,
                "notes": list(found.notes),
            })  # fmt: skip
            print(f"seed {seed}, {setting}, {time.process_time() - worked:.0f} s", flush=True)
            save(arguments.output, dataset, seeds[: seed + 1], results, start, worked)


if __name__ == "__main__":
    main()
