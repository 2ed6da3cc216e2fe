"""Keep what is known of the cases of ``paths``: ``python -m benchmarks.reference`` writes ``reference.json``.

Where the solver is right, J, status and cost are its own, of the revision that the record names. A case for which
that was wrong then has its true J from ``truth`` or from a formula, and the status that it should end with.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import scipy.optimize
from tqdm import tqdm

import lossnav as ln
from benchmarks import landscapes
from benchmarks.cases import CASES, Case
from benchmarks.paths import KNOWN, SAME, known, measure
from benchmarks.truth import Ground, of_one_parameter, settled, through, towards
from lossnav import records

BY_NAME = {case.name: case for case in CASES}
NONE = "NoMinimiser"


def ground(case: Case, **options: bool) -> Ground:
    objective, loss = case.make()
    return Ground(loss, objective.gamma, objective.drift, **options)


def sum_of_wells(one: ln.losses.Loss, window: tuple[float, float]) -> Callable[[Case], float]:
    """Return what sums J over the parameters of equal losses."""
    return lambda case: sum(of_one_parameter(one, case.make()[0].gamma, x, window) for x in case.start)


def best_way(case: Case) -> float:
    """Return the least J of the ways past three hills: on both sides, and between each two."""
    gates = [[-2.0, b] for b in (-3.5, -1.5, -0.5, 1.5)]
    return min(settled(ground(case), case.start, through(case.start, gate, [0.0, 0.0]), 60.0) for gate in gates)


def ride(case: Case) -> float:
    """Return J of walking to the ring and going round with its current."""

    def way(t: Any) -> Any:
        angle = np.pi + np.maximum(t - 2, 0)
        on_ring = np.stack([3 + np.cos(angle), np.sin(angle)], axis=-1)
        return np.where((t < 2)[:, None], np.minimum(t, 2)[:, None] * [1.0, 0.0], on_ring)

    return settled(ground(case, rides=True), case.start, way, 30.0, rtol=1e-7)


def nearest_rests(case: Case, tries: int, rtol: float = 1e-10) -> float:
    """Return the least J of the paths to rests that descents from around the start find; e^{−30} is what is cut."""
    problem, rng = ground(case), np.random.default_rng(0)
    rests: list[Any] = []
    for n in range(tries):
        begin = np.asarray(case.start) + (n > 0) * rng.normal(size=len(case.start))
        descent = scipy.optimize.minimize(problem.loss.value, begin, jac=problem.loss.gradient, method="BFGS")
        if all(np.abs(descent.x - rest).max() > 1e-3 for rest in rests):
            rests.append(descent.x)
    rate = 1 / max(1.0, problem.gamma)
    guesses = [towards(case.start, rest, rate) for rest in rests]
    return min(settled(problem, case.start, guess, 30 / problem.gamma, pieces=2, rtol=rtol) for guess in guesses)


def by_rest(case: Case, rest: Any = (3.0, 2.0)) -> float:
    return settled(ground(case), case.start, towards(case.start, rest), 40.0, rtol=1e-6)


def growing(case: Case) -> float:
    """Return J of V = pθ²/2 with p² + γp = h, which holds for a hill that the discount forgives, too."""
    gamma, h = case.make()[0].gamma, -0.1
    return (math.sqrt(gamma**2 / 4 + h) - gamma / 2) * case.start[0] ** 2 / 2


def drawn(span: float) -> Callable[[Case], float]:
    """Return what walks from a start at rest to where the loss draws it, for a span of time."""
    return lambda case: settled(ground(case), case.start, lambda t: case.start[0] + 0.3 * t[:, None], span)


TRUE: dict[str, Callable[[Case], float | None]] = {
    "three hills": best_way,
    "Rastrigin, 3 parameters": sum_of_wells(landscapes.rastrigin(1), (-7.0, 7.0)),
    "Rastrigin, 4 parameters": sum_of_wells(landscapes.rastrigin(1), (-7.0, 7.0)),
    "Styblinski–Tang, 5 parameters": sum_of_wells(landscapes.styblinski_tang(1), (-6.0, 6.0)),
    "a ring of no loss, far off, with a current": ride,
    "softplus": drawn(60.0),
    "a line": lambda case: case.start[0] - 0.5,  # V = kθ/γ − ηk²/2γ³
    "|θ| at γ = 0": lambda case: 2 * math.sqrt(2) / 3,  # ∫√(2L)
    "θ₁⁴ + θ₂²/2 at γ = 0": lambda case: math.sqrt(2) / 3 + 0.5,
    "θ⁴/4 at γ = 0": lambda case: 1 / (3 * math.sqrt(2)),
    "θ⁴/4 at γ = 1": lambda case: settled(ground(case), case.start, towards(case.start, [0.0], 0.3), 40.0),
    "weak hill, as a function": growing,
    "no bottom, by e^θ": lambda case: None,
    "no bottom, by θ⁴": lambda case: None,
    "strong discount": lambda case: settled(ground(case), case.start, towards(case.start, [-0.93, 0.0], 0.05), 1.0),
    "tanh network": lambda case: nearest_rests(case, tries=2, rtol=1e-6),
    "convex logistic, strong discount": lambda case: nearest_rests(case, tries=1),
    "Himmelblau in a current": by_rest,
}
LOOSE = {"Himmelblau in a current": 1e-5, "a ring of no loss, far off, with a current": 1e-5, "tanh network": 1e-6}


def row(case: Case) -> dict[str, Any]:
    """Return what is known of a case."""
    outcome = measure(case)
    entry = asdict(outcome) | {"source": "lossnav", "rtol": max(SAME, case.options.get("rtol", 0.0))}
    entry |= {"action_then": outcome.action, "status_then": outcome.status}
    if case.name not in TRUE:
        return entry
    action = TRUE[case.name](case)
    corrected = replace(outcome, action=action, status=NONE if action is None else "CONVERGED", end=None)
    return entry | asdict(corrected) | {"source": "benchmarks/truth.py", "rtol": LOOSE.get(case.name, SAME)}


def main() -> None:
    """Add the rows that are not there; to make one anew, take it out first."""
    begin, old = time.perf_counter(), known() if KNOWN.exists() else {}
    entries: dict[str, Any] = {}
    for case in tqdm(CASES, desc="cases"):
        entries[case.name] = old.get(case.name) or row(case)
        record = records.new(
            command="python -m benchmarks.reference", config={"same": SAME}, seeds=[0], data={"label": "none"},
            results=old | entries, duration=time.perf_counter() - begin, device=records.processor(),
        )  # fmt: skip
        records.save(KNOWN, record)
    records.save(KNOWN, replace(record, results=entries))


if __name__ == "__main__":
    main()
