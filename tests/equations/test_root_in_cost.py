"""Does the root matter? The study's known landscapes against direct minimisation and Lyapunov's equation."""

from __future__ import annotations

import direct
import numpy as np
import pytest
import scipy.linalg
from resources import RESULTS, recorded

from lossnav import records

SCRIPT = recorded("root")
KNOWN = records.load(RESULTS / "root-known.json")
RUNS = {(row["case"], row["gamma"], row["exponent"]): np.array(row["cost"]) for row in KNOWN.results}
H = SCRIPT.curvatures()


def test_without_discount_the_root_costs_the_least_that_any_path_costs_and_other_exponents_more():
    """The least over all paths by a sparse solve, which knows no policy; no rate of another p reaches it."""
    for place, seed in enumerate(SCRIPT.JUDGING[:2]):
        start = np.random.default_rng(seed).normal(size=len(H)) * H**-0.25
        coarse, fine = (
            direct.quadratic(np.diag(H), np.zeros(len(H)), start, horizon=40.0, count=count).action
            for count in (1000, 2000)
        )
        least = fine + (fine - coarse) / 3
        assert RUNS["quiet", 0.0, 0.5][place] == pytest.approx(least, rel=1e-3)
        for exponent in SCRIPT.EXPONENTS:
            assert exponent == 0.5 or RUNS["quiet", 0.0, exponent][place] > 1.02 * least


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
def test_the_noisy_landscape_costs_what_lyapunovs_equation_says(exponent):
    """State of a mode: θ − b and the filter's error; b walks, and the gradient at a fixed point is −hb."""
    (rate,) = {row["best"] for row in KNOWN.results if row["case"] == "noisy" and row["exponent"] == exponent}
    total = 0.0
    for h in H:
        gain, a = SCRIPT.WALK * np.sqrt(h / SCRIPT.NOISE), rate * h ** (1 - exponent)
        # x = θ − b, e = posterior mean + hb: ẋ = −a(x + e/h) − ḃ, ė = −gain·e + gain·noise + hḃ
        drift = np.array([[-a, -a / h], [0.0, -gain]])
        noise = np.array([[-SCRIPT.WALK, 0.0], [h * SCRIPT.WALK, gain * np.sqrt(SCRIPT.NOISE * h)]])
        spread = scipy.linalg.solve_continuous_lyapunov(drift, -noise @ noise.T)
        velocity = np.array([a, a / h])
        total += velocity @ spread @ velocity / 2 + h * spread[0, 0] / 2
    assert RUNS["noisy", 0.0, exponent].mean() == pytest.approx(total, rel=0.03)


def test_the_winner_of_each_seed_is_the_root_without_a_discount_and_falls_with_it():
    for case in ("quiet", "noisy"):
        costs = np.array([RUNS[case, 0.0, p] for p in SCRIPT.EXPONENTS])
        assert (costs.argmin(0) == SCRIPT.EXPONENTS.index(0.5)).all()
    best = [
        SCRIPT.EXPONENTS[int(np.mean([RUNS["quiet", gamma, p] for p in SCRIPT.EXPONENTS], axis=1).argmin())]
        for gamma in SCRIPT.GAMMAS
    ]
    assert best[0] == 0.5 and sorted(best, reverse=True) == best and best[-1] < 0.25
    assert all(row["inside"] for row in KNOWN.results)
