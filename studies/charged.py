"""Does it help networks what is charged? Averages of a walker, a memory that V sets, two ways of clipping.

    python studies/charged.py cnn      a small CNN on CIFAR-10 at 16×16 pixels           (about 10 minutes of one core)
    python studies/charged.py bytes    a causal transformer on the bytes of Python's manual        (about 25 minutes)
    python studies/charged.py swing    where a network is steepest, with curvature underestimated  (about 6 minutes)

Of the prices in the chapter *What is charged*. Each rule tries rates half a decade apart on two tuning seeds and, while
the best one is at an edge, up to three more; the best by validation loss is run on fresh seeds, which draw the weights
and the order of the data, so that all rules of a seed are compared in pairs. Averages of weights are read off runs that
they do not change, and each has its own best rate, from the same grid. What the rules were expected to do stands in
``PREDICTIONS``, which was written before any of them was run. The shorter averages of SGD's and Adam's weights were
read off the same runs later, as a control, and nothing was expected of them.

*cnn* learns the repository's sample of a JPEG copy of CIFAR-10, 9,000 images, and *bytes* the text of
``pydoc_data.topics``, with a transformer of two layers. What was cut so that one core can do it: the sizes, the lengths
(no rule converges, and none has a schedule), two memories of an average, one threshold for each way of clipping, chosen
so that it clips a half, and one β₂ = 0.99 for all.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

import lossnav as ln
from lossnav import assume, curvature, data, prices
from lossnav.lab.data.text import manual, provenance, stretches
from lossnav.lab.models.small import reader, strided
from lossnav.lab.study import Measurement, Study, main, six, widened
from lossnav.optim.finite import judged_elsewhere
from lossnav.rules.assumption import root

BETA, BETA2, FLOOR, DECAY = 0.9, 0.99, 1e-16, 0.1
LONG = 0.99  # the longer average of weights
TUNING, JUDGES, MOST = (100, 101), tuple(range(8)), 3
HELD = 1000  # examples, or stretches of text, that choose a rate


# ---------------------------------------------------------------------------------------------------------- predictions


@dataclass(frozen=True)
class Prediction:
    """What was expected of two rules before they were run: how much higher the test loss of the first is, in %.

    Attributes:
        question: "walker", "memory" or "clipping".
        rule, other: names, of rows of the record.
        low, high: ends of the interval in which the mean over seeds is to lie, on both networks.
        why: the reason, from the theory.
    """

    question: str
    rule: str
    other: str
    low: float
    high: float
    why: str


_LAW = "(W8): where nothing swings both are nearly one law, worth a percent of J at most"
_EDGE = "the same law, but the walker's step must stay below 2/h, the ball's below 2(1 + β)/(1 − β)h"
_NOISE = "noise is an average's second reason, and is filtered by its length, whatever moves below it"
_BETWEEN = "between W8 and the ball: no third law"
PREDICTIONS = (
    Prediction("walker", "SGD, β = 0, averaged .9", "SGD", -1.0, 10.0, _EDGE),
    Prediction("walker", "Adam, β₁ = 0, averaged .9", "Adam", -2.0, 2.0, _LAW),
    Prediction("walker", "Adam, averaged .99", "Adam", -10.0, -0.5, _NOISE),
    Prediction("walker", "Adam, β₁ = 0, averaged .99", "Adam, averaged .99", -1.0, 1.0, _NOISE),
    Prediction("walker", "SGD, β = 0, averaged .99", "SGD, averaged .99", -1.0, 10.0, _EDGE),
    Prediction("walker", "schedule-free AdamW", "Adam, averaged .99", -3.0, 3.0, _BETWEEN),
    Prediction("walker", "schedule-free SGD", "SGD, averaged .99", -3.0, 3.0, _BETWEEN),
    Prediction("memory", "β₁(V)", "Adam, p = ¾", -1.0, 1.0, "a velocity is worth a few % of J (W10), its length less"),
    Prediction("memory", "β₁(V)", "Adam", -3.0, 3.0, "what differs is V^−¾ for V^−½, and the root did not matter much"),
    Prediction("clipping", "AdamW, norm", "AdamW", -1.0, 1.0, "steps over √V do not know the size of gradients"),
    Prediction("clipping", "AdamW, box", "AdamW", -1.0, 1.0, "a patient learner with V is near the sign (W15)"),
    Prediction("clipping", "AdamW, box", "AdamW, norm", -1.5, 1.5, "the box is exact only on separable losses (W16)"),
)
# And these. Of "swing": from rest, along the steepest direction, the filter passes the minimum as (W11) says, within
# 2.5 % of the way, and the average of the walker by less than 1 %, however much the curvature is underestimated. Of the
# rates: half a decade above its best one the walker's average loses more than SGD with momentum, whose edge is farther.
WITHIN, NEVER = 2.5, 1.0


# ---------------------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class Examples:
    """What is learned: training batches by a generator, and examples that choose a rate and that judge it."""

    batch: Callable[[torch.Generator], tuple[Tensor, Tensor]]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Task:
    """What is learned, by which network, in how many steps; rates of gradients as they are, and divided by √V.

    Attributes:
        dataset: its name, "" for the text.
        examples: from the data.
        network: from a seed.
        steps: of a run.
        plain: where SGD's rates begin; with momentum it is a tenth.
        scaled: where Adam's do.
        about: what the record says of it.
    """

    dataset: str
    examples: Callable[[Any], Examples]
    network: Callable[[int], nn.Module]
    steps: int
    plain: tuple[float, ...]
    scaled: tuple[float, ...]
    about: Callable[[], dict[str, Any]]


def images(
    dataset: data.Dataset, size: int = 64, held: int = HELD, layout: torch.memory_format = torch.contiguous_format,
    pooled: int = 2,
) -> Examples:  # fmt: skip
    """Return CIFAR-10, at 16×16 pixels by default, in batches of ``size``, the last training images held out."""
    pairs = [part.batch(slice(None)) for part in (dataset.train, dataset.test)]
    (x, y), test = [(avg_pool2d(x, pooled).contiguous(memory_format=layout), y) for x, y in pairs]
    count = len(x) - held

    def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(count, (size,), generator=generator)
        return x[rows], y[rows]

    return Examples(batch, (x[count:], y[count:]), test)


def text(dataset: None, length: int = 64) -> Examples:
    """Return stretches of Python's manual, eight at a time; of its last tenth one half chooses and the other judges."""
    train, rest = manual()
    halves = [stretches(part, torch.Generator().manual_seed(1_000), HELD // 8, length) for part in rest.chunk(2)]
    return Examples(lambda generator: stretches(train, generator, 8, length), *halves)


TASKS = {
    "cnn": Task("cifar10", images, lambda seed: strided(16, 32, seed=seed), 800, (0.1, 0.3, 1.0), (1e-3, 3e-3, 1e-2),
                lambda: {"batch": 64}),
    "bytes": Task("", text, lambda seed: reader(seed=seed), 500, (0.1, 0.3, 1.0), (1e-3, 3e-3, 1e-2),
                  lambda: {**provenance(), "length": 64, "batch": 8}),
}  # fmt: skip


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean loss of images, or of the bytes that follow."""
    return cross_entropy(model(x).flatten(0, -2), y.flatten())


# ---------------------------------------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Typical:
    """What AdamW's run on a tuning seed shows: what is needed to make rules comparable, before they are tuned.

    Attributes:
        norm: median norm of its gradients.
        step: median of |m|/√V at the end.
        quarter: mean of V^¼ at the end.
    """

    norm: float
    step: float
    quarter: float


@dataclass(frozen=True)
class Steeper(assume.SecondMoment):
    """A curvature h = V^{3/2}: whoever has no discount divides by V^¾, as with a dear acceleration."""

    def term(self, believed: Any) -> Any:
        """Return (V + floor)^{3/2}."""
        h = super().term(believed)
        return h * root(h)


@dataclass(frozen=True)
class Rule:
    """One way to train.

    Attributes:
        make: from parameters, rate and what is typical to an optimizer.
        rates: the first ones of a task's grid.
        averages: β of the averages of weights that are read off beside the weights themselves.
        decay: decoupled, as AdamW's.
        clips: whether gradients longer than is typical are scaled down.
        free: whether the collection's class has its own average, and a switch to it.
    """

    make: Callable[[list[nn.Parameter], float, Typical], Any]
    rates: Callable[[Task], Sequence[float]] = lambda task: task.scaled
    averages: tuple[float, ...] = ()
    decay: float = 0.0
    clips: bool = False
    free: bool = False


def derived(lr: float, belief: Any = None, moment: type = assume.SecondMoment, scale: float = 1.0, **price: Any) -> Any:
    """Return the rule of a learner without a discount, on second moments, with steps of a time ``lr``."""
    believed = moment(BETA2, scale=scale, floor=FLOOR)
    return ln.derive(ln.Objective(**price), belief=belief, curvature=believed, dt=lr)


def dear(lr: float, typical: Typical) -> Any:
    """Return (W9) with c = 0: steps lr·V^−½ where V is typical, and there a memory 1 − β₁ = 1 − BETA.

    It has 1 − β₁ ≈ √2(h/m)^¼Δt and moves by Δt(h/m)^¼/√2h per gradient; with Δt = 1 these give m and h/V.
    """
    fresh = (1 - BETA) / typical.quarter
    scale = fresh / (2 * lr * typical.quarter)
    return derived(1.0, scale=scale, price=prices.Acceleration(m=scale * (2**0.5 / fresh) ** 4))


def steeper(lr: float, typical: Typical) -> Any:
    """Return Adam's average over V^¾, as long as Adam's steps where V is typical."""
    return derived(lr * typical.quarter, assume.Filter(BETA), Steeper)


def adam(params: Any, lr: float, typical: Any) -> Any:
    """Return Adam."""
    return torch.optim.Adam(params, lr, (BETA, BETA2))


def free(name: str, **options: Any) -> Callable[..., Any]:
    """Return a schedule-free rule of the collection."""
    return lambda params, lr, _: getattr(importlib.import_module("pytorch_optimizer"), name)(params, lr=lr, **options)


RULES = {
    "SGD, β = 0": Rule(lambda p, lr, _: torch.optim.SGD(p, lr), lambda task: task.plain, (BETA, LONG)),
    "SGD": Rule(
        lambda p, lr, _: torch.optim.SGD(p, lr, BETA), lambda task: [six(lr / 10) for lr in task.plain], (BETA, LONG)
    ),
    "Adam, β₁ = 0": Rule(lambda p, lr, _: derived(lr).optimizer(p), averages=(BETA, LONG)),
    "Adam": Rule(adam, averages=(BETA, LONG)),
    "schedule-free SGD": Rule(free("ScheduleFreeSGD", momentum=BETA), lambda task: task.plain, free=True),
    "schedule-free AdamW": Rule(free("ScheduleFreeAdamW", betas=(BETA, BETA2)), free=True),
    "Adam, p = ¾": Rule(lambda p, lr, typical: steeper(lr, typical).optimizer(p)),
    "β₁(V)": Rule(lambda p, lr, typical: dear(lr, typical).optimizer(p)),
    "AdamW": Rule(adam, decay=DECAY),
    "AdamW, norm": Rule(adam, decay=DECAY, clips=True),
    "AdamW, box": Rule(
        lambda p, lr, typical: derived(
            lr, assume.Filter(BETA), price=prices.Box(typical.step, eta=1.0)
        ).optimizer(p), decay=DECAY
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- training


def begun(
    task: Task, examples: Examples, rule: Rule, lr: float, seed: int, typical: Typical | None
) -> tuple[nn.Module, Any, Iterator[float]]:
    """Return a network, its optimizer and the steps that train it, each of which gives the gradient's norm."""
    model = task.network(seed)
    params = list(model.parameters())
    optimizer = rule.make(params, lr, typical)
    longest = typical.norm if rule.clips and typical else math.inf

    def steps() -> Iterator[float]:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(task.steps):
            optimizer.zero_grad()
            loss(model, *examples.batch(generator)).backward()
            norm = nn.utils.clip_grad_norm_(params, longest).item()
            with torch.no_grad():
                torch._foreach_mul_(params, 1 - lr * rule.decay)
            with judged_elsewhere():
                optimizer.step()
            yield norm

    return model, optimizer, steps()


def observed(task: Task, examples: Examples) -> Typical:
    """Return what is typical of AdamW at the middle one of its first rates."""
    _, optimizer, steps = begun(task, examples, RULES["AdamW"], task.scaled[1], TUNING[0], None)
    norms = list(steps)
    m, v = (
        torch.cat([state[name].flatten() for state in optimizer.state.values()]) / (1 - beta**task.steps)
        for name, beta in (("exp_avg", BETA), ("exp_avg_sq", BETA2))
    )
    ratio = (m.abs() / (v + FLOOR).sqrt())[v > 0]
    return Typical(six(np.median(norms)), six(ratio.median()), six(v.pow(0.25).mean()))


@torch.no_grad()
def judged(model: nn.Module, examples: Examples) -> dict[str, float]:
    """Return the losses on what chooses and on what judges, and the share that is right there."""
    found = {"validation": loss(model, *examples.validation), "test": loss(model, *examples.test)}
    x, y = examples.test
    right = (model(x).argmax(-1) == y).double().mean()
    return {name: six(torch.nan_to_num(value, nan=99.0, posinf=99.0)) for name, value in found.items()} | {
        "right": six(right)
    }


def trained(
    task: Task, examples: Examples, rule: Rule, lr: float, seed: int, typical: Typical
) -> dict[float, dict[str, float]]:
    """Train, and judge the weights at the end (0) and each average of them."""
    model, optimizer, steps = begun(task, examples, rule, lr, seed, typical)
    now = [p.detach() for p in model.parameters()]
    averages = {beta: [p.clone() for p in now] for beta in rule.averages}
    if rule.free:
        optimizer.train()
    for _ in steps:
        for beta, average in averages.items():
            torch._foreach_lerp_(average, now, 1 - beta)
    if rule.free:
        optimizer.eval()
    found = {0.0: judged(model, examples)}
    for beta, average in averages.items():
        torch._foreach_copy_(now, average)
        found[beta] = judged(model, examples)
    return found


def beyond(lr: float, way: int) -> float:
    """Return the next rate of a grid of half decades, upwards or downwards."""
    return float(f"{10 ** ((round(2 * math.log10(lr)) + way) / 2):.0e}")


def measured(dataset: Any, seed: tuple[int, ...], task: str, rule: str) -> list[dict[str, Any]]:
    """Tune a rule and each average of its weights, and run them on seeds that they were not tuned on."""
    torch.set_flush_denormal(True)
    one, how, kept = TASKS[task], RULES[rule], {}
    examples = one.examples(dataset)
    typical = observed(one, examples)

    def run(lr: float, seed: int) -> dict[float, dict[str, float]]:
        if (lr, seed) not in kept:
            kept[lr, seed] = trained(one, examples, how, lr, seed, typical)
            print(f"  {rule}, {lr:g}, seed {seed}: test {kept[lr, seed][0.0]['test']:.4f}", flush=True)
        return kept[lr, seed]

    found = []
    for beta in (0.0, *how.averages):

        def losses(rates: Sequence[float], beta: float = beta) -> list[float]:
            return [six(np.mean([run(lr, each)[beta]["validation"] for each in TUNING])) for lr in rates]

        tried = widened(losses, how.rates(one), beyond, MOST)
        best = min(tried, key=tried.__getitem__)
        runs = [{"seed": each, **run(best, each)[beta]} for each in seed]
        name = rule if beta == 0 else f"{rule}, averaged {f'{beta:g}'[1:]}"
        tuning = [list(pair) for pair in sorted(tried.items())]
        found.append({"task": task, "rule": rule, "name": name, "average": beta, "lr": best, "tuning": tuning,
                      "typical": vars(typical), "runs": runs})  # fmt: skip
    torch.set_flush_denormal(False)
    return found


# --------------------------------------------------------------------------------------------------------------- swings

BEGUN, SEEN, SHORT, LATE = 300, 512, 0.05, 160  # steps of Adam before; images; rΔt; steps that are watched
NUDGE, TIMES = 1e-3, (1.0, 2.0, 5.0)  # what the displacement costs; h over what is believed
LAWS = ("filter", "average", "raw average")


def swing(dataset: data.Dataset, seed: int) -> list[dict[str, Any]]:
    """Return how far each law passes the minimum along a network's steepest direction, in parts of the way, K = r.

    The response: two runs from places that differ by a small displacement along it, and the difference of the two.
    """
    task = TASKS["cnn"]
    examples = task.examples(dataset)
    model, _, steps = begun(replace(task, steps=BEGUN), examples, RULES["Adam"], task.scaled[1], seed, None)
    list(steps)
    model = model.double()
    seen = examples.validation[0][:SEEN].double(), examples.validation[1][:SEEN]
    pair = curvature.eigenpairs(curvature.Hessian(model, cross_entropy, seen), 1)
    h, axis = pair.values.item(), pair.vectors[0]
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    length, found = math.sqrt(2 * NUDGE / h), []

    def gradient(theta: Tensor) -> Tensor:
        nn.utils.vector_to_parameters(theta, model.parameters())
        slopes = torch.autograd.grad(cross_entropy(model(seen[0]), seen[1]), list(model.parameters()))
        return torch.cat([slope.flatten() for slope in slopes])

    for law in LAWS:
        for times in TIMES:
            paths = [places(law, gradient, start + length * way * axis, h / times) for way in (0.0, 1.0)]
            way = (paths[1] - paths[0]) @ axis / length
            found.append({"seed": seed, "law": law, "times": times, "curvature": six(h),
                          "beyond": six(max(0.0, -way.min().item())), "path": six(way[::4])})  # fmt: skip
    return found


def places(law: str, gradient: Callable[[Tensor], Tensor], theta: Tensor, h: float) -> Tensor:
    """Return where a law leads from rest, (steps, D), that believes in the curvature h, with K = r in units of time."""
    walker, believed, path = theta.clone(), torch.zeros_like(theta), []
    for _ in range(LATE):
        if law == "average":
            walker = walker - SHORT / h * gradient(walker)
            theta = theta + SHORT * (walker - theta)
        else:
            believed = believed + SHORT * (gradient(theta) - believed)
            moved = -SHORT / h * believed
            theta = theta + moved
            if law == "filter":  # it knows how its own move changes the gradient
                believed = believed + h * moved
        path.append(theta)
    return torch.stack(path)


# -------------------------------------------------------------------------------------------------------------- studies


def flat(found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what was measured, in a row."""
    return [one for record in found for one in record.results]


def network(name: str) -> Study:
    """Return the study of all rules on a task."""
    task = TASKS[name]
    wanted = [Measurement(task.dataset, JUDGES, measured, {"task": name, "rule": rule}) for rule in RULES]

    def about() -> dict[str, Any]:
        return {
            **task.about(), "steps": task.steps, "betas": [BETA, BETA2], "decay": DECAY, "tuning_seeds": list(TUNING),
            "most": MOST, "held": HELD, "floor": FLOOR, "predictions": [vars(one) for one in PREDICTIONS],
        }  # fmt: skip

    return Study(lambda: wanted, flat, {}, about)


STUDIES = {f"charged-{name}": network(name) for name in TASKS} | {
    "charged-swing": Study(
        lambda seeds: [Measurement("cifar10", seed, swing) for seed in range(seeds)], flat, {"seeds": 5},
        lambda **_: {"begun": BEGUN, "seen": SEEN, "short": SHORT, "late": LATE, "nudge": NUDGE, "times": TIMES,
                     "within": WITHIN, "never": NEVER},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(__file__, STUDIES)
