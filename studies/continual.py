"""Studies of the continual-learning chapter: every rule tuned with one budget, then judged on fresh seeds.

    python studies/continual.py digits   permuted and relabelled digits                       (about 30 minutes)
    python studies/continual.py parts    the same without parts of Uncertain; needs the first (about 3 minutes)
    python studies/continual.py mnist    online permuted MNIST                                (about 20 minutes)
    python studies/continual.py bits     regression on bits that change slowly                (about 15 minutes)

on one core. Each rule tries the same number of settings (a Latin hypercube in its own ranges, see
``lossnav.continual.contenders``) on tuning seeds; the one with the best mean score is run on seeds and tasks that no
rule has met. Finished runs are kept in a file until the record is written, so an interrupted study goes on where it
was. MNIST is found or downloaded as by ``lossnav.data.load``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import mse_loss

from lossnav import data, optim, records
from lossnav.lab.continual import contenders, networks, online, tasks
from lossnav.lab.continual.study import Plan, compare, finished
from lossnav.lab.members import Ensemble

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
FIRST_SEED = 100  # of the evaluation
BRIEF = {name: rule for name, rule in contenders.CONTENDERS.items() if name not in ("belief", "adamw")}
PARTS: dict[str, dict[str, Any]] = {  # what is changed about ``Uncertain`` to see what it is good for
    "all of it": {},
    "curvature off": {"curvature_scale": 0.0},
    "no limit on a step": {"clip": None},
    "no decay": {},
    "with resets": {"reset": (1e-4, 0.1, 1000.0)},
}


@dataclass(frozen=True)
class Study:
    """What to run, on what, and how the record describes it."""

    plan: Plan
    rules: Mapping[str, contenders.Contender]
    data: dict[str, Any]
    description: dict[str, Any]


def digits() -> Study:
    """Return the study on permuted and relabelled digits."""
    images = data.load("digits")
    plan = Plan(
        stream=lambda seeds: tasks.Permuted(images, seeds, batch_size=16),
        network=lambda seeds: networks.perceptrons(images.inputs, (32, 32, 32), images.classes, seeds=seeds),
        settings=20, tuning_seeds=(0, 1, 2), tuning_tasks=150,
        seeds=tuple(range(FIRST_SEED, FIRST_SEED + 10)), tasks=300,
    )  # fmt: skip
    what = {"task": "new permutation of pixels and of labels, one pass over all images", "batch_size": 16,
            "model": "mlp 64-32-32-32-10, ReLU, He-uniform", "score": "online accuracy"}  # fmt: skip
    return Study(plan, contenders.CONTENDERS, images.provenance.record(), what)


def mnist() -> Study:
    """Return the study on online permuted MNIST."""
    images, examples = data.load("mnist"), 5000
    plan = Plan(
        stream=lambda seeds: tasks.Permuted(images, seeds, batch_size=16, examples=examples, relabel=False),
        network=lambda seeds: networks.perceptrons(images.inputs, (100, 100, 100), images.classes, seeds=seeds),
        settings=6, tuning_seeds=(0,), tuning_tasks=40,
        seeds=tuple(range(FIRST_SEED, FIRST_SEED + 5)), tasks=100,
    )  # fmt: skip
    what = {"task": f"new permutation of pixels, one pass over {examples} images drawn anew", "batch_size": 16,
            "model": "mlp 784-100-100-100-10, ReLU, He-uniform", "score": "online accuracy"}  # fmt: skip
    return Study(plan, BRIEF, images.provenance.record(), what)


def bits() -> Study:
    """Return the study on slowly changing regression."""
    period = 1000
    plan = Plan(
        stream=lambda seeds: tasks.BitFlipping(seeds, period=period),
        network=lambda seeds: networks.perceptrons(20, (5,), 1, seeds=seeds),
        settings=12, tuning_seeds=tuple(range(10)), tuning_tasks=20,
        seeds=tuple(range(FIRST_SEED, FIRST_SEED + 20)), tasks=200,
        lower_is_better=True, loss=mse_loss, score=online.squared_error,
    )  # fmt: skip
    what = {"task": f"15 of 20 bits drawn anew, then {period} examples", "batch_size": 1,
            "model": "mlp 20-5-1, ReLU, He-uniform", "score": "squared error"}  # fmt: skip
    return Study(plan, BRIEF, {"label": "bit flipping, generated"}, what)


class Undecayed(optim.Uncertain):
    """``Uncertain`` whose means are not drawn to the prior: its pull, Tμ/v_p, is taken off the gradient beforehand.

    (The curvature is then taken from that gradient, too; the pull is small beside its noise.)
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Cancel the pull, then step."""
        for group in self.param_groups:
            for weight in group["params"]:
                variance = self._state_of(weight, group)["prior_variance"]
                weight.grad.sub_(weight, alpha=group["temperature"] / variance)
        return super().step(closure)


def parts() -> Study:
    """Return the study that takes parts of ``Uncertain`` away, at its best setting of the study on digits."""
    whole = digits()
    best = records.load(RESULTS / "continual-digits.json").results["uncertain"]["best"]

    def changed(name: str) -> contenders.Contender:
        def build(ensemble: Ensemble, setting: contenders.Setting, seed: int) -> optim.Uncertain:
            rule = Undecayed if name == "no decay" else optim.Uncertain
            return rule(ensemble.parameters(), **{**setting, **PARTS[name]}, seed=seed)

        return contenders.Contender("Uncertain", build, {name: (value, value) for name, value in best.items()})

    plan = replace(whole.plan, settings=1, tuning_seeds=(0,), tuning_tasks=10)  # there is nothing to tune
    rules = {name: changed(name) for name in PARTS}
    return Study(plan, rules, whole.data, {**whole.description, "parts": {k: repr(v) for k, v in PARTS.items()}})


STUDIES: dict[str, Callable[[], Study]] = {"digits": digits, "parts": parts, "mnist": mnist, "bits": bits}


def main() -> None:
    """Run a study and write its record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--settings", type=int, help="settings that each rule may try")
    parser.add_argument("--tasks", type=int, help="tasks of the evaluation")
    parser.add_argument("--output", type=Path, help="default: book/results/continual-<study>.json")
    parser.add_argument("--store", type=Path, help="finished runs; default: _build/continual-<study>.jsonl")
    arguments = parser.parse_args()
    output = arguments.output or RESULTS / f"continual-{arguments.study}.json"
    store = arguments.store or Path("_build") / f"continual-{arguments.study}.jsonl"

    torch.set_num_threads(1)  # the networks are too small for more
    torch.set_flush_denormal(True)  # the weights of a dead network decay into numbers that processors are slow with
    study = STUDIES[arguments.study]()
    plan = replace(
        study.plan, settings=arguments.settings or study.plan.settings, tasks=arguments.tasks or study.plan.tasks
    )
    results = compare(plan, study.rules, store)
    numbers = ("settings", "tuning_seeds", "tuning_tasks", "tasks", "block", "lower_is_better", "search")
    config = {
        **{name: getattr(plan, name) for name in numbers}, **study.description,
        "steps_per_task": plan.stream((0,)).steps,
        "spaces": {name: dict(rule.space) for name, rule in study.rules.items()},
    }  # fmt: skip
    spent = sum(entry["seconds"] for entry in finished(store))
    record = records.new(
        command=f"python studies/continual.py {arguments.study}", config=config, seeds=list(plan.seeds),
        data=study.data, results=results, duration=spent, device=records.processor(),
    )  # fmt: skip
    records.save(output, record)
    store.unlink()
    print(f"{len(results)} rules in {spent:.0f} s -> {output}")


if __name__ == "__main__":
    main()
