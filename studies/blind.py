"""Are assumptions read as often as intervals say, and rules exactly? Two hundred learners of each family.

    python studies/blind.py rules       seven optimizers, options drawn anew in each run (about 5 minutes of one core)
    python studies/blind.py planners    six families of assumptions, noise on the path   (about 6 minutes)

An optimizer walks a noisy quadratic of 40 weights for 60 steps; ``ln.infer`` gets weights and gradients, and the
reading is right if its rule is the one that walked, every number is within 10⁻⁴, none is missing and none too many.

A learner of a family walks a bowl of curvatures 1, 10 and 100, or, in a current that turns, a plane of curvature 10
whose minimum is beside the eye, and 30 of its places are given with noise of two percent of the way. Its path is made
by ``ln.solve``; that of memory by the matrix exponential, that of falling impatience from roots of (I10). Counted is
how many intervals of 95 % hold the truth, how many have no end, how many numbers are called unidentified, and how many
readings are refuted, which should be five percent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
import torch

import lossnav as ln
from lossnav.lab.study import Measurement, Study, main

RUNS, WEIGHTS, STEPS, EXACT = 200, 40, 60, 1e-4
CURVATURES, PLACES, NOISE, LEVEL = np.array([1.0, 10.0, 100.0]), 30, 0.02, 0.95
Draw = np.random.Generator


# ---------------------------------------------------------------------------------------------------------------- rules


def power(rng: Draw, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(10 ** rng.uniform(low, high))


def plain(rng: Draw, **options: Any) -> tuple[Any, dict[str, float]]:
    """Return SGD with a decay, and what is to be read."""
    lr, decay = power(rng, -3.5, -1.5), power(rng, -3, -1)
    truth = {"lr": lr, "lr·decay": lr * decay}
    if options:
        truth["beta"] = options["momentum"] = float(rng.uniform(0.3, 0.95))
    return lambda p: torch.optim.SGD(p, lr, weight_decay=decay, **options), truth


def scaled(rng: Draw, make: Callable[..., Any], betas: int, decays: bool = False) -> tuple[Any, dict[str, float]]:
    """Return a rule that divides by a root, with none, one or two factors of averages, and what is to be read."""
    lr, first, second = power(rng, -4, -2), float(rng.uniform(0.5, 0.95)), float(1 - power(rng, -3, -1))
    truth = {"lr": lr, "beta1": first if betas == 2 else 0.0, "beta2": second if betas else 1.0, "p": 0.5}
    options: dict[str, Any] = {2: {"betas": (first, second)}, 1: {"alpha": second}, 0: {}}[betas]
    if decays:
        options["weight_decay"] = power(rng, -1.5, 0)
        truth["lr·decay"] = lr * options["weight_decay"]
    return lambda p: make(p, lr, **options), truth


RULES: dict[str, Callable[[Draw], tuple[Any, dict[str, float]]]] = {
    "gradient descent": plain,
    "heavy ball": lambda rng: plain(rng, momentum=0.0),
    "Nesterov momentum": lambda rng: plain(rng, momentum=0.0, nesterov=True),
    "RMSprop": lambda rng: scaled(rng, torch.optim.RMSprop, 1),
    "Adagrad": lambda rng: scaled(rng, torch.optim.Adagrad, 0),
    "Adam": lambda rng: scaled(rng, torch.optim.Adam, 2),
    "Adam, weight decay": lambda rng: scaled(rng, torch.optim.AdamW, 2, decays=True),
}


def walked(make: Callable[[Any], Any], rng: Draw) -> ln.infer.Steps:
    """Return the recorded steps of an optimizer on a noisy quadratic."""
    weights = torch.nn.Parameter(torch.tensor(rng.normal(size=WEIGHTS)))
    h, places, gradients = torch.tensor(10 ** rng.uniform(-1, 1, WEIGHTS)), [], []
    optimizer = make([weights])
    for _ in range(STEPS):
        weights.grad = h * weights.detach() + 0.3 * torch.tensor(rng.normal(size=WEIGHTS))
        places.append(weights.detach().numpy().copy())
        gradients.append(weights.grad.numpy().copy())
        optimizer.step()
    return ln.infer.Steps(np.array([*places, weights.detach().numpy()]), np.array(gradients))


def is_read(found: Any, name: str, truth: dict[str, float]) -> bool:
    """Whether a reading is of the rule that walked, with all its numbers."""
    numbers = {key: one.value for key, one in found.estimates.items() if key != "eps"}
    said = not found.fit.refuted and found.rule.startswith(name.split(",")[0]) and numbers.keys() == truth.keys()
    return said and all(math.isclose(numbers[key], truth[key], rel_tol=EXACT, abs_tol=1e-6) for key in truth)


def rules(_: Any, seed: int, rule: str) -> dict[str, Any]:
    """Read each of the runs of a rule."""
    rng, right = np.random.default_rng(seed), 0
    for _ in range(RUNS):
        make, truth = RULES[rule](rng)
        right += is_read(ln.infer(walked(make, rng), family="rule"), rule, truth)
    return {"rule": rule, "runs": RUNS, "right": right}


# ------------------------------------------------------------------------------------------------------------- planners

Learner = tuple[Callable[[np.ndarray], np.ndarray], dict[str, float]]  # the place of each mode, (N, 3), and the truth
BOWL = ln.losses.Quadratic(np.diag(CURVATURES), minimum=np.zeros(3))
PLANE = ln.losses.Quadratic(10 * np.eye(2), minimum=[1.0, 0.0])  # a rotation is told by where a path ends


def planned(start: np.ndarray, loss: Any = BOWL, **options: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the path that is optimal for these assumptions, η = 1."""
    return ln.solve(ln.Objective(**options), loss, start)


def planner(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw a discount."""
    gamma = power(rng, -0.5, 1.0)
    return planned(start, gamma=gamma), {"gamma": gamma, "a": 1.0}


def decaying(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw a discount and a decay."""
    gamma, rate = power(rng, -0.5, 1.0), power(rng, -0.7, 0.5)
    path = planned(start, gamma=gamma, drift=ln.drifts.weight_decay(rate))
    return path, {"gamma": gamma, "a": 1.0, "j": rate}


def turning(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw a discount and a rotation."""
    gamma, rate = power(rng, -0.5, 1.0), float(rng.choice([-1.0, 1.0])) * power(rng, -0.7, 0.5)
    path = planned(start, PLANE, gamma=gamma, drift=ln.drifts.rotation(rate))
    return path, {"gamma": gamma, "a": 1.0, "q": rate}


def dated(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw a discount, a deadline behind the record, and its charge."""
    gamma, horizon, charge = power(rng, -0.5, 1.0), end * float(rng.uniform(1.02, 1.6)), float(rng.uniform(0.0, 1.0))
    path = planned(start, gamma=gamma, horizon=horizon, terminal=charge)
    return path, {"gamma": gamma, "a": 1.0, "T": horizon, "c": charge}


def remembering(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw the friction and the gain of a heavy ball that begins at rest."""
    friction, gain = power(rng, 0.3, 1.3), power(rng, -0.5, 0.5)
    flows = [np.array([[0.0, 1.0], [-gain * h, -friction]]) for h in CURVATURES]

    def path(t: np.ndarray) -> np.ndarray:
        return start * np.array([[scipy.linalg.expm(flow * time)[0, 0] for flow in flows] for time in t])

    return path, {"friction": friction, "b": gain}


def impatient(rng: Draw, start: np.ndarray, end: float) -> Learner:
    """Draw how fast impatience falls, and solve (I10) for each rate."""
    alpha = power(rng, 0.0, 2.0)

    def missed(r: float, h: float) -> float:
        x = 2 * r / alpha
        transform = scipy.special.exp1(x) * math.exp(x) / alpha if x < 500 else 1 / (2 * r)
        return transform * (r * r + h) - r

    rates = np.array([scipy.optimize.brentq(missed, 1e-9, math.sqrt(h) * (1 + 1e-9), args=(h,)) for h in CURVATURES])
    return lambda t: start * np.exp(-np.outer(t, rates)), {"alpha": alpha, "a": 1.0}


FAMILIES: dict[str, Callable[[Draw, np.ndarray, float], Learner]] = {
    "planner": planner, "+decay": decaying, "+rotation": turning, "deadline": dated, "memory": remembering,
    "hyperbolic": impatient,
}  # fmt: skip


def planners(_: Any, seed: int, family: str) -> dict[str, Any]:
    """Read each of the noisy paths of a family, and count what intervals hold."""
    rng, end, loss = np.random.default_rng(seed), 3.0, PLANE if family == "+rotation" else BOWL
    t = np.concatenate([[0.0], np.geomspace(0.01, end, PLACES - 1)])
    counts: dict[str, dict[str, int]] = {}
    refuted = unread = 0
    for _ in range(RUNS):
        start = rng.choice([-1.0, 1.0], loss.dim) * rng.uniform(0.5, 1.5, loss.dim)
        path, truth = FAMILIES[family](rng, start, end)
        seen = path(t) + NOISE * rng.normal(size=(PLACES, loss.dim))
        found = ln.infer(seen, loss, times=t, family=family, noise=NOISE, level=LEVEL)
        refuted += found.fit.refuted
        for name, value in truth.items():
            count = counts.setdefault(name, {"told": 0, "held": 0, "open": 0})
            if name in found.estimates:
                one = found.estimates[name]
                count["told"] += 1
                count["held"] += one.low <= value <= one.high
                count["open"] += math.isinf(one.high) or math.isinf(one.low)
            unread += name not in found.estimates
    return {"family": family, "runs": RUNS, "refuted": refuted, "unidentified": unread, "numbers": counts}


def study(measure: Callable[..., Any], what: str, of: Any, told: dict[str, Any]) -> Study:
    """Return the study of all rules, or of all families."""
    return Study(lambda: [Measurement("", 0, measure, {what: name}) for name in of], config=lambda **_: told)


STUDIES = {
    "blind-rules": study(rules, "rule", RULES, {"weights": WEIGHTS, "steps": STEPS, "exact": EXACT}),
    "blind-planners": study(
        planners, "family", FAMILIES,
        {"curvatures": CURVATURES.tolist(), "places": PLACES, "noise": NOISE, "level": LEVEL},
    ),
}  # fmt: skip

if __name__ == "__main__":
    main(__file__, STUDIES)
