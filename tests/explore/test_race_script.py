"""The race's script against torch's optimizers, the library's solver, and itself in the mirror."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import torch
from oracles.landscape import edge_starts

import lossnav as ln

STARTS = [(-1.2, 0.8), (-1.6, -1.0), (0.3, -0.4), (1.6, 0.6)]
TILTS_OF_PLANS = [-1.2, -0.5, 0.07, 0.8]
PLANS = [(gamma, tilt, start) for gamma in (0.05, 0.3, 0.9, 10.0) for tilt in TILTS_OF_PLANS for start in STARTS[::2]]


def trained(make, tilt: float, start) -> np.ndarray:
    """Where a torch optimizer is after 0, 1, … 250 steps."""
    theta = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer, places = make([theta]), [np.array(start)]
    for _ in range(250):
        optimizer.zero_grad()
        ((theta[0] ** 2 - 1) ** 2 + theta[1] ** 2 + tilt * theta[0]).backward()
        optimizer.step()
        places.append(theta.detach().numpy().copy())
    return np.array(places)


MAKERS = {
    "descent": lambda p: torch.optim.SGD(p, lr=0.02),
    "heavy": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
}


@pytest.mark.parametrize("tilt", [-0.5, 1.1])
@pytest.mark.parametrize("start", STARTS)
def test_the_step_rules_are_those_of_torch(race, tilt, start):
    tracks = race("M.stepRules(M.landOf({ tilt: given[0], dug: [0, 0] }), given[1])", [tilt, start])
    twin = oracles.Race(start=start, tilt=tilt).tracks()
    for name, make in MAKERS.items():
        places = trained(make, tilt, start)
        np.testing.assert_allclose(tracks[name], places, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(twin[name], places, atol=1e-9, err_msg=name)


@pytest.mark.slow
def test_the_planner_follows_the_optimal_path(race):
    expression = """given.map(([gamma, tilt, start]) => {
        const planner = M.racePlanner(gamma, { tilt, dug: [0, 0] });
        const { tracks, action } = M.runRace(planner, start);
        return [tracks.planner, action, M.trackAction(gamma, planner.well, tracks.planner)];
    })"""
    t = np.arange(251) * 0.02
    for (gamma, tilt, start), (track, action, summed) in zip(PLANS, race(expression, PLANS), strict=True):
        best = ln.solve(ln.Objective(gamma=gamma), ln.losses.DoubleWell(d=tilt), start)
        np.testing.assert_allclose(track, best(t), atol=3e-4, err_msg=str((gamma, tilt, start)))
        assert action == pytest.approx(best.action, abs=1e-5)
        if gamma < 10 or tilt == TILTS_OF_PLANS[0]:  # Python's integrals are stiff there
            twin = oracles.Race(start=start, gamma=gamma, tilt=tilt).tracks()["planner"]
            np.testing.assert_allclose(twin, track, atol=3e-4, err_msg=str((gamma, tilt, start)))
        if gamma == 0.9:  # at rest within the time of the race, whose pieces are short enough for the sum
            assert summed == pytest.approx(action, abs=2e-3)


def test_nobody_is_cheaper_than_the_planner(race):
    expression = """given.map(([gamma, tilt, start]) => {
        const planner = M.racePlanner(gamma, { tilt, dug: [0, 0] });
        const { tracks, action } = M.runRace(planner, start);
        const cost = (name) => M.trackAction(gamma, planner.well, tracks[name]);
        return [action, ...["descent", "heavy", "adam"].map(cost)];
    })"""
    for case, (best, *others) in zip(PLANS, race(expression, PLANS), strict=True):
        assert best < min(others), case


def test_the_cost_of_a_track_is_the_integral(race):
    gamma, tilt, start = 0.7, -0.5, [-1.2, 0.8]
    track = oracles.Race(start, gamma, tilt).tracks()["heavy"]
    cost = "M.trackAction(given[0], M.landOf({ tilt: given[1], dug: [0, 0] }), given[2])"
    action = race(cost, [gamma, tilt, track.tolist()])
    t = np.linspace(0, 5, 250 * 40 + 1)
    places = np.stack([np.interp(t, np.arange(251) * 0.02, x) for x in track.T], axis=-1)
    middle, speed = (places[1:] + places[:-1]) / 2, np.linalg.norm(np.diff(places, axis=0), axis=1) / (t[1] - t[0])
    loss = ln.losses.DoubleWell(d=tilt).value
    spent = np.exp(-gamma * (t[1:] + t[:-1]) / 2) * (speed**2 / 2 + loss(middle))
    exact = np.sum(spent) * (t[1] - t[0]) + np.exp(-gamma * 5) * loss(places[-1]) / gamma
    assert action == pytest.approx(exact, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [-1.2, -0.5, -0.1, 0.0, 0.6])
def test_how_many_starts_reach_the_deep_well(race, tilt):
    rates = [0.05, 0.4, 0.55, 0.8, 2.0, 5.0]
    expression = """given[1].map((gamma) => {
        const planner = M.racePlanner(gamma, { tilt: given[0], dug: [0, 0] }), starts = M.edgeStarts();
        return [M.deepEnds(planner, starts), starts.filter((start) => M.planFrom(planner, start[0]).deep).length,
                planner.threshold];
    })"""
    for gamma, (rules, planned, threshold) in zip(rates, race(expression, [tilt, rates]), strict=True):
        twin = oracles.Race(gamma=gamma, tilt=tilt)
        assert {**rules, "planner": planned} == twin.deep_ends()
        assert threshold == pytest.approx(twin.threshold(), abs=1e-8)
        if tilt:  # crossing is optimal from everywhere if and only if γ is below γ_het
            assert (planned == 26) == (gamma < threshold) or abs(tilt) < 0.2


def test_starts_are_those_of_the_twin(race):
    np.testing.assert_allclose(race("M.edgeStarts()"), edge_starts(), atol=1e-15)


def test_solver_and_script_divide_the_starts_alike(race):
    cases = [(0.6, -0.5), (0.9, 0.5), (1.3, -1.2)]
    for gamma, tilt in cases:
        expression = """M.edgeStarts().map(([x]) =>
            M.planFrom(M.racePlanner(given[0], { tilt: given[1], dug: [0, 0] }), x).deep)"""
        deep = race(expression, [gamma, tilt])
        starts = edge_starts()
        for start, is_deep in list(zip(starts, deep, strict=True))[::3]:
            best = ln.solve(ln.Objective(gamma=gamma), ln.losses.DoubleWell(d=tilt), start)
            assert (best.asymptote[0] * -tilt > 0) == is_deep, (gamma, tilt, start)


@pytest.mark.parametrize(("gamma", "tilt"), [(0.1, -0.5), (0.3, 0.9), (3.0, -0.5)])
def test_the_mirror_changes_nothing(race, gamma, tilt):
    expression = """given.map(([gamma, tilt, start]) =>
        M.runRace(M.racePlanner(gamma, { tilt, dug: [0, 0] }), start).tracks)"""
    right, left = race(expression, [(gamma, tilt, [-1.1, 0.5]), (gamma, -tilt, [1.1, 0.5])])
    for name, track in right.items():
        np.testing.assert_allclose(np.array(track) * [-1, 1], left[name], atol=1e-9, err_msg=name)


@pytest.mark.slow
def test_equal_wells_divide_at_the_barrier(race):
    expression = """given.map(([gamma, x]) => {
        const { tracks, action } = M.runRace(M.racePlanner(gamma, { tilt: 0, dug: [0, 0] }), [x, 0.5]);
        return [tracks.planner.at(-1)[0], action];
    })"""
    cases = [(0.3, 0.0), (0.3, -1e-3), (9.0, 0.0)]
    wells = [1.0, -1.0, 0.0]  # an overdamped planner rests on the barrier
    for (gamma, x), well, (end, action) in zip(cases, wells, race(expression, cases), strict=True):
        assert end == pytest.approx(well, abs=2e-3)
        along, across = ln.losses.Section(ln.losses.DoubleWell(d=0.0)), ln.losses.Quadratic([[2.0]], minimum=[0.0])
        costs = [ln.solve(ln.Objective(gamma=gamma), *at).action for at in ((along, [x]), (across, [0.5]))]
        assert action == pytest.approx(sum(costs), abs=1e-5)  # θ₂ separates; both at once cost ten seconds


def test_the_rule_near_rest(race):
    near_rest = race("((p) => M.nearRest(p, M.planFrom(p, 1).to))(M.racePlanner(0.3, { tilt: -0.5, dug: [0, 0] }))")
    minimum = ln.losses.DoubleWell().stationary_points()[-1]
    curvatures = np.diag(ln.losses.DoubleWell().hessian(minimum))
    rates = ln.rules.rates(ln.Objective(gamma=0.3), np.diag(curvatures))
    np.testing.assert_allclose(sorted(near_rest["rates"]), np.sort(rates), rtol=1e-12)
    assert near_rest["ballistic"] == pytest.approx(max(np.sqrt(curvatures) / near_rest["rates"] - 1), rel=1e-12)
    assert near_rest["descent"] == pytest.approx(max(curvatures / 0.3 / near_rest["rates"] - 1), rel=1e-12)


DUG = [(0.05, 0.95), (-1.3, 1.2), (0.7, -0.8), (-0.4, 0.4), (0.3, 1.5), (1.0, 0.7)]
TILTS = [-0.7, 0.0, 0.3]


@pytest.mark.slow
@pytest.mark.parametrize(("tilt", "dug"), [(TILTS[n // 2], dug) for n, dug in enumerate(DUG)])
def test_where_something_is_dug_the_planner_ends_where_python_says(race, dug, tilt):
    """The script follows orbits in time; the library integrates the squared speed over θ."""
    rates = [[0.1, 1.0], [0.5, 3.0]][(DUG.index(dug) + TILTS.index(tilt)) % 2]
    x = np.linspace(-1.6, 1.6, 9)
    if DUG.index(dug) == 2 * TILTS.index(tilt):  # Python's integrals are stiff there: each tilt once
        rates.append(9.0)
    expression = """given[1].map((gamma) => {
        const planner = M.racePlanner(gamma, { tilt: given[0], dug: given[2] });
        const plans = given[3].map((x) => M.planFrom(planner, x)), starts = M.edgeStarts();
        return [planner.basins.map(({ minimum }) => minimum), plans.map(({ to }) => to?.minimum ?? null),
                plans.map(({ action }) => action), M.deepEnds(planner, starts),
                starts.filter(([x]) => M.planFrom(planner, x).deep).length];
    })"""
    for gamma, answer in zip(rates, race(expression, [tilt, rates, dug, x.tolist()]), strict=True):
        minima, ends, actions, rules, planned = answer
        twin = oracles.Race(gamma=gamma, tilt=tilt, dug=dug)
        np.testing.assert_allclose(minima, twin.minima(), atol=1e-12)
        for start, end, action in zip(x, ends, actions, strict=True):
            twin.start = (start, 0.0)
            assert action == pytest.approx(twin.action(), abs=1e-6), (gamma, start)
            assert np.nan_to_num(twin.target(), nan=9) == pytest.approx(9 if end is None else end), (gamma, start)
        assert {**rules, "planner": planned} == twin.deep_ends(), gamma


def test_no_other_path_through_a_dug_landscape_is_cheaper():
    """Minimised from several sides in two dimensions, away from the phase plane."""
    for gamma, tilt, dug, start in [(0.6, -0.3, (0.05, 0.95), (-1.2, 0.5)), (1.5, 0.2, (0.5, -0.6), (1.3, -0.4))]:
        widget = oracles.Race(start, gamma, tilt, dug=dug)
        path = ln.solve(ln.Objective(gamma=gamma), widget.loss(), start)
        assert widget.action() == pytest.approx(path.action, abs=1e-5)
        assert path.asymptote == pytest.approx([widget.target(), 0.0], abs=1e-4)


def test_what_is_dug_has_the_slope_and_the_bend_of_its_loss(race):
    loss = oracles.Race(tilt=0.3, dug=(0.4, -0.6)).loss()
    bare = ln.losses.Function(loss.value, dim=2)
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (20, 2))
    np.testing.assert_allclose(loss.gradient(points), bare.gradient(points), atol=1e-8)
    np.testing.assert_allclose(loss.hessian(points), bare.hessian(points), atol=1e-5)
    values = race("given.map((p) => M.raceLoss(M.landOf({ tilt: 0.3, dug: [0.4, -0.6] }), p))", points.tolist())
    np.testing.assert_allclose(values, loss.value(points), atol=1e-12)
