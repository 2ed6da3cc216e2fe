"""Which optimizer, and which discount, after thousands of steps with a schedule? Two networks, five fresh seeds.

    python studies/practice.py cnn             nine rules, a small CNN, all of CIFAR-10 at 16×16   (about 60 minutes)
    python studies/practice.py bytes           six rules, a causal transformer, Python's manual    (about 90 minutes)
    python studies/practice.py discount-cnn    eight discounts of one rule, the same CNN           (about 40 minutes)
    python studies/practice.py discount-bytes  the same of the transformer                         (about 70 minutes)
    python studies/practice.py parts-cnn       one thing changed at a time in a rule, the CNN      (about 40 minutes)
    python studies/practice.py parts-bytes     the same of the transformer                         (about 60 minutes)
    python studies/practice.py bases-bytes     what knows both bases, the transformer              (about 30 minutes)
    python studies/practice.py paper           three rules, the paper's CNN, 32×32                 (about 90 minutes)

The times are those of one core. Every run warms its rate up and lets it fall linearly to zero. Each rule tries five
rates, half a decade apart, on a tuning seed, all for the full length, and, while the best one is at an edge, up to two
more, a discount up to four; the best by validation loss is run on fresh seeds, which draw the weights and the order of
the data, so that all rules of a seed are compared in pairs. Of the rules, each then tries two amounts of decoupled
decay at that rate; if one of them is better, it is run on the fresh seeds, too. An amount is what the whole run does to
a weight that no gradient moves, e^(−amount), and so means the same for all rules; vectors do not decay.

Rules for matrices leave the head, embeddings and vectors to Adam at the same rate, all as ``optim.split`` has it, and
see a convolution as the matrix of its filters. A discount γ is that of ``optim.Belief``, told by ε/√V, where √V is the
median over weights in the middle of a run of Adam; its rates are counted in steps at that V, so that all discounts try
the same lengths. What was expected stands in ``PREDICTIONS`` and ``EXPECTED``, written before any of these was run.

"polar, a fifth" was added when the others were known of the CNN, and nothing was expected of it there: Muon's steps for
matrices, of which the root mean square is a fifth of the rate, beside Adam's at the whole rate. Ours give both one rate
otherwise. Of the transformer, which came last, ``LATER`` says what was expected of it.

"parts" changes one thing at a time in "polar, a fifth", and in Muon its look ahead: the length that knows the noise,
embeddings and head as matrices, the memory, the exact root, and a discount, told by ε over the median of the square
roots of C's eigenvalues. Each tries three rates around that of the whole rule, and one more at an edge, all with the
decay of the whole rule, and runs on its seeds. "bases" and "paper" are tried likewise: on the transformer the
rules that find the bases of rows and columns, and on the paper's CNN AdamW, Muon and our default, each around the rate
and with the decay that it has on the small one.

What was cut so that two cores can do it: one tuning seed, one length for each network, one pair of β's, of the
transformer the steps of "polar" at the whole rate, and of the paper's CNN all but 600 steps of 64 images, three rules
and three seeds.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from charged import Examples, Prediction, beyond, flat, images, judged, loss, text
from matrices import BETAS, TURNS, AsMatrices, adam, muon
from torch import nn

from lossnav import data, models, optim
from lossnav.lab.data.text import provenance
from lossnav.lab.models.small import reader
from lossnav.lab.models.weights import seeded
from lossnav.lab.study import Measurement, Study, main, six, widened
from lossnav.optim.finite import judged_elsewhere

WARM, POINTS, MOST = 0.05, 50, {"rule": 2, "discount": 4}
TUNING, JUDGES = 100, tuple(range(5))
BATCH, HELD, LENGTH = 128, 5000, 128  # images of a step; that choose; bytes of a stretch
DECAYS = (0.5, 2.0)
DISCOUNTS = (0.0, 0.01, 0.063, 0.4, 2.5, 16.0, 100.0, math.inf)  # ε/√V
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

# ---------------------------------------------------------------------------------------------------------- predictions

_SHAPE = "rows and columns share their curvature, which pays most where layers are wide"
_SAME = "the same belief, found otherwise"
PREDICTIONS = (  # % of test loss that the first rule ends above the second, mean over seeds, of both networks
    Prediction("matrices", "polar", "AdamW", -10.0, 0.0, _SHAPE),
    Prediction("matrices", "eigenbasis", "AdamW", -10.0, 0.0, _SHAPE),
    Prediction("matrices", "polar", "Muon", -1.5, 1.5, _SAME),
    Prediction("matrices", "eigenbasis", "SOAP", -1.5, 1.5, _SAME),
    Prediction("matrices", "kronecker", "eigenbasis", 0.0, 4.0, "scales in the bases are not products"),
    Prediction("matrices", "polar", "eigenbasis", -3.0, 3.0, "exchangeable inputs, or axes of their own: both lead"),
    Prediction("matrices", "Lion", "AdamW", -3.0, 3.0, "a sign of an average is Adam's step up to its size"),
)
LATER = (  # likewise, of the transformer alone: written when those of the CNN were known
    Prediction("matrices", "polar, a fifth", "AdamW", -8.0, 0.0, "what it won on the CNN, for wider layers"),
    Prediction("matrices", "polar, a fifth", "Muon", -1.5, 1.5, _SAME),
    Prediction("matrices", "polar", "polar, a fifth", 0.0, 15.0, "its mean sees no noise, so it steps too far"),
)
# The discount. A weight of relaxation time τ steps has ε/√V = γ/2√(ηkh) = γτ/2, and a learner who plans to the end of n
# steps has γ of about 1/n: so ε/√V of about τ/2n, a hundredth where τ is some tens of steps. What is smaller than that
# changes nothing; what is larger gives up the flat directions; √V is spread over decades, and no one discount is right
# for all weights. So: no discount pays.
EXPECTED: dict[str, tuple[float, float]] = {  # of ε/√V against none, in % of test loss; of both networks
    "0.01": (-1.0, 1.0), "0.063": (-1.0, 1.0), "0.4": (-1.0, 3.0), "inf": (2.0, 60.0),
}  # fmt: skip
BEST_BELOW, AT_MOST = 0.4, 2.0  # where the best discount is, and the % by which it leads none
CHANGES = (  # of one thing, on both networks: written when all rules and the discounts of the CNN were known
    Prediction("parts", "noise known", "polar, a fifth", -1.5, 1.5, "the same length in the long run"),
    Prediction("parts", "all matrices", "polar, a fifth", -1.0, 6.0, "rows that a batch does not show move as far"),
    Prediction("parts", "β₁ = 0.95", "polar, a fifth", -1.5, 1.5, "rates are tuned, and noise is averaged either way"),
    Prediction("parts", "Muon, no look ahead", "Muon", -1.0, 1.5, "a share of the last gradient is a shorter memory"),
    Prediction("parts", "exact root", "polar, a fifth", -1.0, 1.0, "few singular values are below a thousandth"),
    Prediction("parts", "ε = 0.1", "polar, a fifth", -1.5, 1.5, "no discount pays, as for single weights"),
    Prediction("parts", "ε = 1", "polar, a fifth", -1.0, 4.0, "it gives up the flat directions"),
)
BASES = (  # of the transformer: written when all rules and parts above were known
    Prediction("bases", "eigenbasis", "polar, a fifth", -1.0, 3.0, "as SOAP stands beside it there"),
    Prediction("bases", "eigenbasis", "SOAP", -1.5, 1.5, _SAME),
    Prediction("bases", "kronecker", "eigenbasis", -1.0, 4.0, "scales in the bases are not products"),
)
# Of the paper's CNN: likewise, for 500 steps of 128 images. Those were too long for two cores; by then the losses of
# "noise known" alone were known, at three rates.
LARGER = (
    Prediction("paper", "noise known", "AdamW", -15.0, -2.0, "wider layers, and a run in which none has converged"),
    Prediction("paper", "noise known", "Muon", -2.0, 2.0, _SAME),
)


# ---------------------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class Task:
    """What is learned, by which network, in how many steps, the first rates of SGD, and what was expected.

    ``about``: what the record says of it; ``whole``: rate and decay of "polar, a fifth", ``of``: of other rules, where
    they are known; ``without``: rules that are not tried.
    """

    dataset: str
    examples: Callable[[Any], Examples]
    network: Callable[[int], nn.Module]
    steps: int
    plain: tuple[float, ...]
    about: Callable[[], dict[str, Any]]
    predictions: tuple[Prediction, ...] = PREDICTIONS
    whole: tuple[float, float] = (0.003, 2.0)
    of: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    without: tuple[str, ...] = ()


def small(seed: int) -> nn.Module:
    """Return a CNN for (3, 16, 16) with 16, 32 and 32 channels."""

    def build() -> nn.Module:
        layers: list[nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    return seeded(build, seed)


def photographs(dataset: data.Dataset, size: int = BATCH, pooled: int = 2) -> Examples:
    """Return CIFAR-10, averaged over so many pixels each way, channels last, which is faster."""
    return images(dataset, size, HELD, torch.channels_last, pooled)


TASKS = {
    "cnn": Task("cifar10", photographs, small, 3500, (0.01, 0.03, 0.1, 0.3, 1.0),
                lambda: {"batch": BATCH, "held": HELD}),
    "bytes": Task("", partial(text, length=LENGTH), lambda seed: reader(LENGTH, seed=seed), 2500,
                  (0.01, 0.03, 0.1, 0.3, 1.0), lambda: {**provenance(), "batch": 8, "length": LENGTH},
                  (*PREDICTIONS, *LATER), (0.03, 0.5), without=("polar", "eigenbasis", "kronecker")),
    "paper": Task("cifar10", partial(photographs, size=BATCH // 2, pooled=1), lambda seed: models.cnn(seed=seed), 600,
                  (), lambda: {"batch": BATCH // 2, "held": HELD},
                  of={"AdamW": (0.003, 0.5), "Muon": (0.003, 2.0)}),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- rules

Made = Callable[[nn.Module, float], Any]
FIFTH = 0.2  # the root mean square of Muon's steps in units of the rate
LOW, MIDDLE = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3), (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def ours(model: nn.Module, lr: float, part: float = 1.0, beta: float = BETAS[0], **belief: Any) -> Any:
    """Return our rule for matrices, at a part of the rate, beside a belief about each of the other weights.

    Unless told otherwise, it takes its mean for the gradient: that it may be noise was learned from these runs.
    """
    matrices, rest = optim.split(model)
    return optim.BallisticMatrix([matrices | {"noise": False, **belief, "lr": part * lr}, rest], lr, (beta, BETAS[1]))


def together(model: nn.Module, lr: float) -> Any:
    """Return our rule with embeddings and head among the matrices."""
    groups: list[list[Any]] = [[p for p in model.parameters() if (p.ndim > 1) is thick] for thick in (True, False)]
    matrices = {"params": groups[0], "noise": False, "lr": FIFTH * lr}
    return optim.BallisticMatrix([matrices, {"params": groups[1], "curvature": "diagonal"}], lr, BETAS)


def theirs(model: nn.Module, lr: float, make: Callable[..., Any], **options: Any) -> Any:
    """Return another's rule for matrices, beside Adam for the rest."""
    both = [[p for _, p in group["params"]] for group in optim.split(model)]
    return AsMatrices(*both, lambda part: make(part, lr, **options), lambda part: adam(part, lr))


def collected(name: str) -> Callable[..., Any]:
    """Return a class of the collection."""
    return getattr(importlib.import_module("pytorch_optimizer"), name)


def soap(params: Any, lr: float) -> Any:
    """Return the collection's SOAP, whose bases turn as often as ours."""
    return collected("SOAP")(params, lr=lr, betas=BETAS, weight_decay=0.0, precondition_frequency=TURNS)


RULES: dict[str, Made] = {
    "SGD": lambda m, lr: torch.optim.SGD(m.parameters(), lr, momentum=BETAS[0]),
    "AdamW": lambda m, lr: adam(m.parameters(), lr),
    "Lion": lambda m, lr: collected("Lion")(list(m.parameters()), lr=lr, betas=BETAS, weight_decay=0.0),
    "Muon": lambda m, lr: theirs(m, lr, muon),
    "SOAP": lambda m, lr: theirs(m, lr, soap),
    "polar": ours,
    "eigenbasis": lambda m, lr: ours(m, lr, curvature="eigenbasis"),
    "kronecker": lambda m, lr: ours(m, lr, curvature="kronecker"),
    "polar, a fifth": lambda m, lr: ours(m, lr, FIFTH),
}
PARTS: dict[str, Made] = {
    "noise known": lambda m, lr: ours(m, lr, noise=True),
    "all matrices": together,
    "β₁ = 0.95": lambda m, lr: ours(m, lr, FIFTH, 0.95),
    "Muon, no look ahead": lambda m, lr: theirs(m, lr, muon, nesterov=False),
    "exact root": lambda m, lr: ours(m, lr, FIFTH, root="exact"),
}


def discounted(ratio: float, typical: float) -> Made:
    """Return ``Belief`` with ε = ratio·typical, from a rate that is the length of its step at a typical √V."""
    if ratio == math.inf:
        return lambda m, lr: optim.Belief(m.parameters(), lr / typical, BETAS, discount=math.inf)
    return lambda m, lr: optim.Belief(m.parameters(), lr / shorter(ratio), BETAS, discount=ratio * typical)


def shorter(ratio: float) -> float:
    """Return the length of a step with a discount in units of that without, (√(V + ε²) − ε)/√V, for ε/√V."""
    return math.hypot(1.0, ratio) - ratio


# ------------------------------------------------------------------------------------------------------------- training


def factor(step: int, steps: int) -> float:
    """Return the rate in parts of its peak: it rises over the first steps, and falls linearly to zero."""
    return min(1.0, (step + 1) / (WARM * steps)) * (1.0 - step / steps)


def trained(
    task: Task, examples: Examples, make: Made, lr: float, seed: int, decay: float = 0.0, seen: Any = None
) -> dict[str, Any]:
    """Train; return the curve of the training loss, its seconds, and what became of it on held-out and test data.

    ``seen`` gets the optimizer in the middle of the run. A run that diverges ends there.
    """
    model, generator = task.network(seed), torch.Generator().manual_seed(seed)
    optimizer, thick = make(model, lr), [p.data for p in model.parameters() if p.ndim > 1]
    peaks = [group["lr"] for group in optimizer.param_groups]
    total = math.fsum(factor(step, task.steps) for step in range(task.steps))
    each, seconds, updates, kept, curve, times = task.steps // POINTS, 0.0, 0.0, [], [], []
    for step in range(task.steps):
        inputs, labels = examples.batch(generator)
        part = factor(step, task.steps)
        start = time.process_time()
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * part
        optimizer.zero_grad()
        value = loss(model, inputs, labels)
        kept.append(value.item())
        if not math.isfinite(kept[-1]):
            break
        value.backward()
        before = time.process_time()
        torch._foreach_mul_(thick, 1 - decay * part / total)
        with judged_elsewhere():
            optimizer.step()
        end = time.process_time()
        seconds, updates = seconds + end - start, updates + end - before
        if len(kept) == each:
            curve.append(math.fsum(kept) / each)
            times.append(seconds)
            kept.clear()
        if seen and step == task.steps // 2:
            seen(optimizer)
    return {"seed": seed, "loss": six(curve), "seconds": six(times), "updates": six(updates), **judged(model, examples)}


def tuned(
    task: Task, examples: Examples, make: Made, rates: Sequence[float], told: str, most: int, decay: float = 0.0
) -> dict[float, float]:
    """Return the validation losses of the rates that a rule tries."""

    def losses(some: Sequence[float]) -> list[float]:
        found = [trained(task, examples, make, lr, TUNING, decay)["validation"] for lr in some]
        print(f"  {told}: {dict(zip(some, found, strict=True))}", flush=True)
        return found

    return widened(losses, rates, beyond, most)


def measured(dataset: Any, seed: tuple[int, ...], task: str, rule: str) -> list[dict[str, Any]]:
    """Tune a rule, without decay and then with it, and run it on seeds that it was not tuned on."""
    torch.set_flush_denormal(True)
    one, make = TASKS[task], RULES[rule]
    examples = one.examples(dataset)
    tried = tuned(one, examples, make, {"SGD": one.plain, "Lion": LOW}.get(rule, MIDDLE), rule, MOST["rule"])
    best = min(tried, key=tried.__getitem__)
    decays = {0.0: tried[best]} | {
        decay: trained(one, examples, make, best, TUNING, decay)["validation"] for decay in DECAYS
    }
    found = []
    for decay in sorted({0.0, min(decays, key=decays.__getitem__)}):
        runs = [trained(one, examples, make, best, each, decay) for each in seed]
        print(f"  {rule}, decay {decay:g}: {[run['test'] for run in runs]}", flush=True)
        found.append({"task": task, "rule": rule, "lr": best, "decay": decay, "decays": list(map(list, decays.items())),
                      "tuning": sorted(map(list, tried.items())), "runs": runs})  # fmt: skip
    torch.set_flush_denormal(False)
    return found


def spread(task: Task, examples: Examples) -> list[float]:
    """Return quantiles of √V over weights in the middle of a run of Adam."""
    return middle(task, examples, "AdamW", MIDDLE[2], lambda state: state["exp_avg_sq"].sqrt())


def middle(task: Task, examples: Examples, rule: str, lr: float, read: Callable[[Any], torch.Tensor]) -> list[float]:
    """Return quantiles of what is read off the states of a rule in the middle of a run."""
    found: list[torch.Tensor] = []

    def seen(optimizer: Any) -> None:
        found.extend(read(state).flatten() for state in optimizer.state.values())

    trained(task, examples, RULES[rule], lr, TUNING, seen=seen)
    every = torch.cat(found).double()
    return [six(every.quantile(level)) for level in QUANTILES]


def discount(dataset: Any, seed: tuple[int, ...], task: str, ratio: float | str) -> list[dict[str, Any]]:
    """Tune one discount, and run it on seeds that it was not tuned on."""
    torch.set_flush_denormal(True)
    one = TASKS[task]
    examples = one.examples(dataset)
    roots = spread(one, examples)
    make = discounted(float(ratio), roots[QUANTILES.index(0.5)])
    found = anew(one, examples, make, MIDDLE, f"ε/√V = {ratio}", MOST["discount"], seed)
    torch.set_flush_denormal(False)
    return [{"task": task, "ratio": ratio, "roots": roots, **found}]


def anew(
    task: Task, examples: Examples, make: Made, rates: Sequence[float], told: str, most: int, seeds: Sequence[int],
    decay: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Tune a rule, and run it on seeds that it was not tuned on."""
    tried = tuned(task, examples, make, rates, told, most, decay)
    best = min(tried, key=tried.__getitem__)
    runs = [trained(task, examples, make, best, each, decay) for each in seeds]
    print(f"  {told}: {[run['test'] for run in runs]}", flush=True)
    return {"lr": best, "tuning": sorted(map(list, tried.items())), "runs": runs}


def roots_of_c(state: Any) -> torch.Tensor:
    """Return the square roots of C's eigenvalues, which "polar" reads off the mean of a matrix; none for a vector."""
    return torch.linalg.svdvals(state["m"]) / math.sqrt(max(state["m"].shape)) if "v" not in state else torch.empty(0)


def changed(dataset: Any, seed: tuple[int, ...], task: str, rule: str) -> list[dict[str, Any]]:
    """Tune a rule of which one thing is changed, and run it on seeds that it was not tuned on."""
    torch.set_flush_denormal(True)
    one = TASKS[task]
    examples, (rate, decay) = one.examples(dataset), one.of.get(rule, one.whole)
    if rule in PARTS | RULES:
        make = (PARTS | RULES)[rule]
    else:
        ratio = float(rule.removeprefix("ε = "))
        typical = middle(one, examples, "polar, a fifth", rate, roots_of_c)[QUANTILES.index(0.5)]
        make = lambda m, lr: ours(m, lr, FIFTH / shorter(ratio), discount=ratio * typical)  # noqa: E731
    found = anew(one, examples, make, (beyond(rate, -1), rate, beyond(rate, 1)), rule, 1, seed, decay)
    torch.set_flush_denormal(False)
    return [{"task": task, "rule": rule, "decay": decay, **found}]


# -------------------------------------------------------------------------------------------------------------- studies


def about(name: str, predictions: Any) -> Callable[..., dict[str, Any]]:
    """Return what the record says of a study beside its settings."""
    task = TASKS[name]
    return lambda: {
        **task.about(), "steps": task.steps, "betas": list(BETAS), "warm": WARM, "tuning_seed": TUNING, "most": MOST,
        "predictions": predictions,
    }  # fmt: skip


def rules(name: str) -> Study:
    """Return the study of all rules on a task."""
    made = [rule for rule in RULES if rule not in TASKS[name].without]
    wanted = [Measurement(TASKS[name].dataset, JUDGES, measured, {"task": name, "rule": rule}) for rule in made]
    return Study(lambda: wanted, flat, {}, about(name, [vars(one) for one in TASKS[name].predictions]))


def discounts(name: str) -> Study:
    """Return the study of all discounts on a task."""
    ratios = [ratio if math.isfinite(ratio) else "inf" for ratio in DISCOUNTS]  # JSON has no infinity
    wanted = [Measurement(TASKS[name].dataset, JUDGES, discount, {"task": name, "ratio": ratio}) for ratio in ratios]
    expected = {"of": {key: list(ends) for key, ends in EXPECTED.items()}, "best": BEST_BELOW, "at_most": AT_MOST}
    return Study(lambda: wanted, flat, {}, about(name, expected))


def few(name: str, expected: Sequence[Prediction], seeds: tuple[int, ...] = JUDGES) -> Study:
    """Return the study of the rules that something is expected of, around a rate that is known."""
    tried = dict.fromkeys(one.rule for one in expected) | dict.fromkeys(TASKS[name].of)
    wanted = [Measurement(TASKS[name].dataset, seeds, changed, {"task": name, "rule": rule}) for rule in tried]
    return Study(lambda: wanted, flat, {}, about(name, [vars(one) for one in expected]))


KINDS = {"": rules, "discount-": discounts, "parts-": partial(few, expected=CHANGES)}
STUDIES = {f"practice-{kind}{name}": made(name) for kind, made in KINDS.items() for name in ("cnn", "bytes")}
STUDIES |= {"practice-bases-bytes": few("bytes", BASES), "practice-paper": few("paper", LARGER, JUDGES[:3])}

if __name__ == "__main__":
    main(__file__, STUDIES)
