"""The ballistic rule on CIFAR-10: the runs of the chapter, one study at a time, on a laptop, a GPU or a cluster.

    python studies/cifar10.py paper    the paper's Fig. 2f: three rules at its settings, three seeds
    python studies/cifar10.py rates    equal grids of learning rates for three rules on three networks
    python studies/cifar10.py gammas   the optimal step for discounts between the ballistic rule's and SGD's

Each study is a sweep. Its runs are kept in ``--runs`` as they finish, with a checkpoint after each epoch, so that a
study that was cut off goes on where it was, and ``paper --epochs 25`` goes on from ``paper --epochs 5``. When all runs
of a study are there, its record is written beside this file as ``cifar10-<study>.json``. CIFAR-10 is found or
downloaded as by ``lossnav.data.load``; a record says which copy it was.

One epoch of one network takes a minute to a minute and a half of a core with bfloat16 units, and two seconds or so on a
data-centre GPU.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lossnav import records, sweep
from lossnav.lab.experiment import Experiment

BASE = {"data": "cifar10", "batch_size": 128, "clip": 5.0}
BETA = 0.9
PAPER = {"sgd": 0.1, "adam": 5e-4, "ballistic": 5e-4}  # learning rates, App. B
OPTIONS: dict[str, dict[str, Any]] = {"sgd": {}, "adam": {}, "ballistic": {"beta": BETA}}
NETWORKS = ("cnn", "resnet", "vit")
STEPS = (-2, -1, 0, 1, 2)  # half decades around the paper's rate
RATES_SIZE = 25_600  # images of a run of ``rates`` and ``gammas``: 200 steps
GAMMAS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, math.inf)
RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"


def paper(epochs: int, seeds: list[int]) -> list[Experiment]:
    """Return the paper's three rules at its rates."""
    return [
        Experiment(**BASE, model="cnn", optimizer=rule, lr=lr, options=OPTIONS[rule], epochs=epochs, seed=seed)
        for seed in seeds
        for rule, lr in PAPER.items()
    ]


def rate(rule: str, half_decades: int) -> float:
    """Return a learning rate of the grid."""
    return float(f"{PAPER[rule] * 10 ** (half_decades / 2):.6g}")


def rates(epochs: int, seeds: list[int]) -> list[Experiment]:
    """Return equal grids for each rule and network."""
    return [
        Experiment(
            **BASE, model=model, optimizer=rule, lr=rate(rule, n), options=OPTIONS[rule], epochs=epochs, seed=seed,
            train_size=RATES_SIZE,
        )
        for seed in seeds
        for model in NETWORKS
        for rule in PAPER
        for n in STEPS
    ]  # fmt: skip


def gammas(epochs: int, seeds: list[int]) -> list[Experiment]:
    """Return Eq. 6 from the ballistic rule (γ = 0) to SGD (γ = ∞), each end with the paper's learning rate.

    With ηk = 1 and a short Δt the step is Δt g / (γ/2 + √(γ²/4 + v)). Δt = lr_ballistic + γ lr_sgd makes it the
    ballistic step of rate lr_ballistic at γ = 0, and SGD's of rate lr_sgd as γ → ∞, where ``Navigator`` reads
    ``eta_k`` as ηk/γ.
    """
    found = []
    for seed in seeds:
        for gamma in GAMMAS:
            lr = PAPER["sgd"] if math.isinf(gamma) else PAPER["ballistic"] + gamma * PAPER["sgd"]
            found.append(Experiment(
                **BASE, model="cnn", optimizer="navigator", lr=float(f"{lr:.6g}"),
                options={"gamma": gamma, "beta": BETA}, epochs=epochs, seed=seed, train_size=RATES_SIZE,
            ))  # fmt: skip
    return found


STUDIES = {"paper": (paper, 25, 3), "rates": (rates, 1, 2), "gammas": (gammas, 1, 3)}  # name → grid, epochs, seeds


def entry(finished: sweep.Finished) -> dict[str, Any]:
    """Return the numbers of a run, with what tells it from the others of its study."""
    run, record = finished.experiment, finished.record
    assert record is not None
    kept = {"model": run.model, "rule": run.optimizer, "lr": run.lr, "seed": run.seed, **run.config()["options"]}
    settings = record.results[0]["settings"]
    curves = {key: value for key, value in record.results[0].items() if key != "settings"}
    return {**kept, **curves, "precision": settings["precision"], "revision": record.revision}


def merged(study: str, command: str, finished: list[sweep.Finished]) -> records.Record:
    """Return one record of a study from those of its runs, which must have seen the same data on one kind of device."""
    found = [one.record for one in finished if one.record is not None]
    shared = {key: value for key, value in found[0].config.items() if all(r.config[key] == value for r in found)}
    for name in ("data", "device", "versions"):
        if any(getattr(record, name) != getattr(found[0], name) for record in found):
            raise SystemExit(f"cifar10: the runs of {study} differ in their {name}: use another --runs folder")
    results = [entry(one) for one in finished]
    return records.Record(
        command, {"study": study, **shared}, sorted({s for r in found for s in r.seeds}), found[0].data, results,
        round(math.fsum(run["seconds"] for run in results), 1), found[0].device, found[-1].revision,
        found[0].versions,
    )  # fmt: skip


def main() -> None:
    """Run what is missing of a study, and write its record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--epochs", type=int, help="default: 25 for paper, 1 for the others")
    parser.add_argument("--seeds", type=int, help="default: 3; 2 for rates")
    parser.add_argument("--workers", type=int, help="processes of one core each; default: all cores, one for a GPU")
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler, tcp://host:port")
    parser.add_argument("--runs", type=Path, default=RESULTS / "runs", help="folder of single runs and checkpoints")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()

    make, epochs, seeds = STUDIES[arguments.study]
    wanted = make(arguments.epochs or epochs, list(range(arguments.seeds or seeds)))
    command = f"python studies/cifar10.py {arguments.study}"
    for name, default in (("epochs", epochs), ("seeds", seeds)):
        given = getattr(arguments, name)
        command += f" --{name} {given}" if given not in (None, default) else ""
    folder = arguments.runs / f"cifar10-{arguments.study}"
    results = sweep.run(
        wanted, folder, workers=arguments.workers, cluster=arguments.cluster, checkpoints=folder / "checkpoints"
    )
    finished = {}
    for one in tqdm(results, total=len(wanted), unit="run"):
        finished[one.experiment.key()] = one
        if one.record is None:
            raise SystemExit(f"cifar10: {one.experiment.command()}: {one.error}")
    record = merged(arguments.study, command, [finished[experiment.key()] for experiment in wanted])
    output = arguments.output or RESULTS / f"cifar10-{arguments.study}.json"
    records.save(output, record)
    print(f"{len(finished)} runs, {record.duration:.0f} s of work -> {output}")


if __name__ == "__main__":
    main()
