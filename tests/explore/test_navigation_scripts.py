"""The explorables beside the algebra of the first chapter: scripts against Python, and Python against sums."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from scipy.integrate import quad
from scipy.linalg import solveh_banded

import lossnav as ln
from lossnav import explore

STEPS = [{"gamma": gamma, "dt": dt} for gamma in (0.0, 0.5, 4.0) for dt in (0.05, 0.7, 2.0)]
PATHS = [
    {"growing": c, "gamma": gamma, "horizon": T} for c in (-0.45, 0.0, 0.2) for gamma in (0.0, 1.3) for T in (0.25, 2.0)
]


def test_factors_and_costs_of_steps_are_pythons(module):
    expression = """given.map((s) => { const m = [M.plannedFactor(s), M.myopicFactor(s)];
      return [...m, ...m.map((one) => M.sumCost(s, one)), M.limitRate(s.gamma)]; })"""
    for setting, found in zip(STEPS, module(explore.PlannedSteps)(expression, STEPS), strict=True):
        widget = oracles.PlannedSteps(**setting)
        m, J = widget.factors(), widget.costs()
        wanted = [m["planned"], m["myopic"], J["planned"], J["myopic"], widget.rate()]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("setting", STEPS)
def test_planned_steps_minimise_their_sum(setting):
    widget, dt = oracles.PlannedSteps(**setting), setting["dt"]
    count = int(min(800, 300 / (setting["gamma"] * dt + 1e-9)))  # before the weights vanish
    weight = np.exp(-setting["gamma"] * dt * np.arange(count))
    diagonal = weight * (1 + dt**2)
    diagonal[:-1] += weight[1:]
    best = solveh_banded(np.stack([np.r_[0.0, -weight[1:]], diagonal]), np.eye(count)[0])

    def cost(ends):
        steps, faded = np.diff(np.r_[1.0, ends]), np.exp(-setting["gamma"] * dt * np.arange(len(ends)))
        return float(np.sum(faded * dt * ((steps / dt) ** 2 + ends**2) / 2))

    assert best[0] == pytest.approx(widget.factors()["planned"], rel=1e-9)
    assert cost(best) == pytest.approx(widget.costs()["planned"], rel=1e-9)
    myopic = widget.factors()["myopic"] ** np.arange(1, 6001)
    assert cost(myopic) == pytest.approx(widget.costs()["myopic"], rel=1e-6)
    assert widget.costs()["planned"] < widget.costs()["myopic"]


def test_extremals_are_pythons(module):
    expression = """given.map((s) => [M.extremalCost(s), M.bestGrowing(s.gamma, s.horizon),
      ...[0, 0.7, 3].map((t) => M.extremal(s.growing, s.gamma, t))])"""
    for setting, found in zip(PATHS, module(explore.Extremals)(expression, PATHS), strict=True):
        widget = oracles.Extremals(**setting)
        wanted = [widget.cost(widget.growing), widget.best(), *widget.path(widget.growing, [0, 0.7, 3])]
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("setting", PATHS)
def test_costs_of_extremals_are_those_of_the_integral(setting):
    widget, gamma, small = oracles.Extremals(**setting), setting["gamma"], 1e-5

    def price(t):
        behind, now, ahead = widget.path(widget.growing, [t, t + small, t + 2 * small])
        return np.exp(-gamma * t) * (((ahead - behind) / (2 * small)) ** 2 + now**2) / 2

    assert quad(price, 0, setting["horizon"])[0] == pytest.approx(widget.cost(widget.growing), rel=1e-3)
    objective = ln.Objective(gamma=gamma, horizon=setting["horizon"])
    direct = ln.solve(objective, ln.losses.Quadratic([[1.0]], minimum=[0.0]), [1.0], method="action")
    assert direct.action == pytest.approx(widget.cost(widget.best()), rel=1e-4)
