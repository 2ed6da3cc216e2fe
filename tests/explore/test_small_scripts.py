"""Explorables of staying, momentum and geometry: scripts against the library, and the map against its solvers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import oracles
import pytest
from javascript import PYTHON
from oracles import ring_lock
from oracles.common import fixed
from paths import EXPLORE, ROOT
from scipy.integrate import quad

import lossnav as ln
from lossnav import explore
from lossnav.trajectory import phase_plane

POINTS = [{"gamma": gamma, "start": start} for gamma in (0.3, 0.6, 0.8, 4.5) for start in (-1.4, -0.6, 0.3)]
STEPS = [
    {"gamma": gamma, "dt": dt, "curvature": h}
    for gamma in (0.01, 1.0, 1000.0) for dt in (1e-3, 30.0) for h in (1e-4, 3.0, 1e10)
]  # fmt: skip


def test_plans_of_the_map_are_pythons(module):
    expression = "given.map((s) => Object.values(M.bothPlans(M.plansAt(s.gamma), s.start)).map((plan) => plan?.action))"
    for setting, actions in zip(POINTS, module(explore.StayMap)(expression, POINTS), strict=True):
        wanted = list(oracles.StayMap(**setting).actions().values())
        np.testing.assert_allclose([np.nan if J is None else J for J in actions], wanted, atol=2e-6)


def test_a_path_that_is_still_on_its_way_ends_where_it_is(module):
    t, theta = module(explore.StayMap)("M.bothPlans(M.plansAt(5), -0.126).cross.points.at(-1)")
    path = ln.solve(ln.Objective(gamma=5.0), ln.losses.Section(ln.losses.DoubleWell(), axis=0), [-0.126])
    assert theta == pytest.approx(path(t)[0], abs=1e-4)


def test_the_line_of_the_map_is_where_both_plans_cost_the_same(module):
    line = json.loads((EXPLORE / "stay_map" / "constants.json").read_text(encoding="utf-8"))["border"]
    het, *rest = line
    well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
    assert het[0] == pytest.approx(phase_plane.heteroclinic_discount(ln.Objective(), well), abs=1e-5)
    assert het[1] == pytest.approx(well.stationary_points()[0, 0], abs=1e-5)
    points = module(explore.StayMap)("given.map(([gamma]) => M.plansAt(gamma).indifference)", rest)
    np.testing.assert_allclose(points, [theta for _, theta in rest], atol=2e-5)
    gamma, theta = rest[8]
    assert theta == pytest.approx(phase_plane.indifference_point(ln.Objective(gamma=gamma), well), abs=2e-5)


@pytest.mark.parametrize(("start", "verdict"), [(-0.52, "stay"), (-0.43, "cross")])
def test_the_map_says_what_direct_minimisation_says(start, verdict):
    well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
    best = ln.solve(ln.Objective(gamma=0.8), well, [start], method="action")
    assert oracles.StayMap(0.8, start).verdict() == verdict == ("cross" if best.asymptote[0] > 0 else "stay")


def test_the_ring_locks_where_its_line_says_and_shooting_finds(module):
    line = json.loads((EXPLORE / "ring_lock" / "constants.json").read_text(encoding="utf-8"))["threshold"]
    gammas, currents = zip(*line, strict=True)
    np.testing.assert_allclose(currents, [ring_lock.threshold(gamma) for gamma in gammas], atol=6e-5)
    sides = [{"gamma": gamma, "current": current + side} for gamma, current in line for side in (-2e-3, 2e-3)]
    assert module(explore.RingLock)("given.map(M.locks)", sides) == [True, False] * len(line)


def test_preconditioner_is_the_librarys(module):
    expression = """given.map((s) => [M.preconditioner(s), M.limits.descent(s), M.limits.ballistic(s),
      M.limits.newton(s), M.slopeThere(s)])"""
    for setting, row in zip(STEPS, module(explore.Preconditioner)(expression, STEPS), strict=True):
        *values, slope = row
        widget = oracles.Preconditioner(**setting)
        np.testing.assert_allclose(values, list(widget.values().values()), rtol=1e-11)
        near = [oracles.Preconditioner(**{**setting, "curvature": h}).values()["optimal"] for h in around(setting)]
        assert slope == pytest.approx(float(np.diff(np.log(near))[0] / np.log(1.01 / 0.99)), abs=2e-2)
        assert -1.0001 < slope < 1e-6


def around(setting):
    """Two curvatures beside the chosen one, within the range."""
    return np.clip(setting["curvature"], 1e-4 / 0.99, 1e10 / 1.01) * np.array([0.99, 1.01])


ENDS = [{"mu": mu, "sigma": sigma, "share": 0.5} for mu in (-1.5, 0.2, 2.0) for sigma in (0.15, 0.3, 2.0)]


def test_ways_between_normal_distributions_are_pythons(module):
    expression = """given.map((s) => Object.values(M.ways(s)).map((way) => [M.wayLength(way), ...way(0), ...way(1)]))"""
    for setting, rows in zip(ENDS, module(explore.NormalArcs)(expression, ENDS), strict=True):
        lengths = oracles.NormalArcs(**setting).lengths()
        ends = [-1.5, 0.3, setting["mu"], setting["sigma"]]
        np.testing.assert_allclose(rows, [[length, *ends] for length in lengths.values()], atol=1e-9)


@pytest.mark.parametrize("setting", ENDS)
def test_lengths_are_those_of_the_integral_and_the_arc_is_shortest(setting):
    lengths, velocity = oracles.NormalArcs(**setting).lengths(), (setting["mu"] + 1.5, setting["sigma"] - 0.3)

    def pace(share):
        return np.sqrt(velocity[0] ** 2 + 2 * velocity[1] ** 2) / (0.3 + velocity[1] * share)

    assert lengths["spread"] == pytest.approx(quad(pace, 0, 1)[0], rel=1e-3, abs=1e-9)
    assert lengths["arc"] <= min(lengths.values()) * (1 + 1e-9) + 1e-12


# What is said at the ends of what can be set, and where something is the matter.
SAID = [
    (explore.BallDecides(angle=0.0, gamma=4.0, norm=2, start=[0.05, 0.0]), "costs what the best path costs."),
    (explore.BrokenCharge((2.2, 0.0), 0.1, 0.9, 0.0, 1.0), "away: the steps are too long for this valley"),
    (explore.DecayShrinks(decay=0.0), "Without decay every direction reaches its minimum."),
    (explore.DoubleWell(gamma=1.0), "No path from here that meets the conditions of optimality crosses"),
    (explore.Horizon(start=[0.0, 0.0]), "At the minimum there is no step."),
    (explore.NoiseSpectrum(eta=0.1, beta=0.99, n=256), "c depends on n."),
    (explore.NoisyOscillator(eta=1.0, beta=0.0, rho=0.1), "is overdamped"),  # the three that its hint promises
    (explore.NoisyOscillator(eta=1.0, beta=0.0, rho=1.0), "is underdamped"),
    (explore.NoisyOscillator(eta=1.0, beta=0.0, rho=10.0), "SGD diverges"),
    (explore.NoisyValley(angle=45.0, ratio=8.0), "othing goes round"),
    (explore.OneMap(gamma=1.0, speed=1.0, start=[1.5, 0.0]), "Neither the best path swings nor the ball."),
    (explore.OneMap(gamma=1.0, speed=0.5, start=[0.0, 0.0]), "Neither the best path swings nor the ball."),
    (explore.Postponed(moved=0.0), "It ends at 4.00, as planned."),
    (explore.Race((0.1, 0.5), 5.0, 0.0, dug=(0.0, 0.9)), "the planner goes to a shallow well."),
    (explore.Race(tilt=-0.01, gamma=0.05), "Look ahead:"),
    (explore.Race(tilt=1.2, gamma=10.0), "Look near:"),
    (explore.RateDrop(n=1), "After 1 step it turns"),
    (explore.RegretRace(start=[0.0, 0.0]), "At the minimum nobody has anything to regret."),
    (explore.ScaleCone(eta=0.01, beta=0.9, decay=0.001, noise=0.5, start=1.0), "is 1.05 times the law's."),
    (explore.TunedRates(tries=0), "Each at one rate."),
]  # fmt: skip


@pytest.mark.parametrize(("widget", "sentence"), SAID)
def test_what_is_said_at_the_ends_holds(frame, widget, sentence):
    assert sentence in frame(widget)["words"]


def test_nobody_claims_more_from_below_than_from_above(frame):
    taken = frame(explore.ValueBounds(), hash="#explore=ValueBounds&pl=1&smoothness=0.3")["state"]
    assert taken["pl"] == taken["smoothness"] == 0.3
    with pytest.raises(ValueError, match="pl = 1"):
        explore.ValueBounds(pl=1.0, smoothness=0.3)


LINES = [
    explore.FollowedBack(),
    explore.DecayShrinks(decay=0.0),
    explore.TaskSwitch(switches=[(3.837094, 0.5, 2.0)], now=3.837094 + 13.0),
]


@pytest.mark.parametrize("widget", LINES, ids=lambda widget: type(widget).__name__)
def test_what_is_taken_away_runs_in_a_fresh_python(module, widget):
    lines = module(type(widget))(PYTHON, widget.get_state(widget._state_names()))
    subprocess.run([sys.executable, "-c", lines], check=True)


TOLD = [
    (explore.PathPace(power=0.0, bend=1.1, pace=1.7), 3),
    (explore.RateDrop(n=20), 3),
    (explore.ModeMemory(n=9), 2),
    (explore.TunedRates(tries=0, rate=2), None),
]


@pytest.mark.parametrize(("widget", "digits"), TOLD, ids=lambda given: type(given).__name__)
def test_what_is_taken_away_is_what_is_told(module, frame, monkeypatch, widget, digits):
    monkeypatch.chdir(ROOT)
    *lines, last, _ = module(type(widget))(PYTHON, widget.get_state(widget._state_names())).split("\n")
    room: dict[str, object] = {}
    exec("\n".join(lines), room)
    value = np.squeeze(eval(last, room))
    told = widget._shared["names"][str(value)] + " by" if digits is None else fixed(float(value), digits)
    assert told in frame(widget)["words"]


@pytest.mark.parametrize(
    "widget", [explore.MuonQuintic(sigma=1.4, n=9), explore.ValueBounds(smoothness=0.5, start=0.1)]
)
def test_what_is_taken_away_runs_where_something_is_lost(module, widget):
    exec(module(type(widget))(PYTHON, widget.get_state(widget._state_names())), {})


def test_the_rate_that_is_taken_away_is_zero_after_the_end(module):
    for now in (6.9, 7.2):  # each plan moves the date by half a unit of time, until t = 7
        widget = explore.Postponed(moved=0.5, every=1.0, now=now)
        *lines, last, _ = module(explore.Postponed)(PYTHON, widget.get_state(widget._state_names())).split("\n")
        room: dict[str, object] = {}
        exec("\n".join(lines), room)
        assert float(eval(last, room)) == pytest.approx(np.tanh(max(0.0, 7.0 - now)), abs=1e-9)


def test_the_learner_of_the_assumption_plot_is_a_planner_whose_rates_are_known_to_two_percent():
    learner = explore.AssumptionPlot._shared["learner"]
    h = np.array(learner["h"], dtype=float)
    truth = h * ln.rules.deadline_rate(ln.Objective(gamma=2.0), h, np.inf)
    noise = np.random.default_rng(0).normal(size=len(h))
    np.testing.assert_allclose(learner["r"], truth * (1 + 0.02 * noise), atol=5e-5)


def test_a_flat_mode_is_assumed_where_a_rate_begins(module):
    """None was said to have one there."""
    given = {"gamma": 0.5, "decay": 1.5, "friction": 12.0, "impatience": 4.0}
    begun, forgets = module(explore.AssumptionPlot)(
        "given.map(M.curvaturesAt)", [given | {"rate": 0.0}, given | {"rate": 1.5}]
    )
    assert begun == {"descent": 0, "memory": 0, "impatience": 0, "decay": None, "planner": 0}
    assert forgets["decay"] == 0 and forgets["planner"] == pytest.approx(3.0)
