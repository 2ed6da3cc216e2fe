"""The double well's script against two channels: scipy's integration of dp/dθ, and direct minimisation of J."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import lossnav as ln

GRID = [(gamma, start) for gamma in (0.1, 0.3, 0.6, 0.8, 2.0) for start in (-1.3, -0.6, -0.2, 0.1, 1.3)]


def loss(x):
    return (x**2 - 1) ** 2 - x / 2


def slope(x):
    return 4 * x * (x**2 - 1) - 0.5


LEFT, BARRIER, RIGHT = (
    scipy.optimize.brentq(slope, *bracket, xtol=1e-15) for bracket in ((-1.5, -0.7), (-0.5, 0.3), (0.7, 1.5))
)


def manifold(gamma: float, minimum: float, edge: float):
    """q = p²/2 over θ from the minimum towards ``edge``; ends where the speed vanishes."""
    side = np.sign(edge - minimum)
    curvature = 4 * (3 * minimum**2 - 1)
    r = np.sqrt(gamma**2 / 4 + curvature) - gamma / 2

    def law(x, q):
        return [-gamma * side * np.sqrt(2 * max(q[0], 0.0)) + slope(x)]

    def stop(x, q):
        return q[0] - 1e-13

    stop.terminal = True
    first = minimum + side * 1e-5
    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-16, "dense_output": True, "events": stop}
    return scipy.integrate.solve_ivp(law, (first, edge), [(r * 1e-5) ** 2 / 2], **options)


def action(gamma: float, minimum: float, start: float) -> float | None:
    """J from γJ = L(θ₀) − p₀²/2, or None where the orbit turns before ``start``."""
    orbit = manifold(gamma, minimum, start)
    return None if orbit.status == 1 else (loss(start) - orbit.y[0, -1]) / gamma


def scripted(double_well, cases: list[tuple[float, float]]) -> list[dict]:
    """Both paths, from the script, for each (γ, start)."""
    expression = """given.map(([gamma, start]) => {
        const plans = M.policy(gamma);
        return ["stay", "cross"].map((name) => M.pathFrom(M.branch(plans[name], start), start));
    })"""
    return [dict(zip(("stay", "cross"), pair, strict=True)) for pair in double_well(expression, cases)]


def test_stationary_points_are_the_roots_of_the_slope(double_well):
    points = double_well("M.stationary()")
    np.testing.assert_allclose([points["left"], points["barrier"], points["right"]], [LEFT, BARRIER, RIGHT], atol=1e-14)


def test_both_costs_agree_with_the_phase_plane(double_well):
    for (gamma, start), paths in zip(GRID, scripted(double_well, GRID), strict=True):
        for name, minimum in (("stay", LEFT), ("cross", RIGHT)):
            expected = action(gamma, minimum, start)
            assert (paths[name] is None) == (expected is None), (gamma, start, name)
            if expected is not None:
                assert paths[name]["action"] == pytest.approx(expected, abs=2e-7), (gamma, start, name)


def test_both_costs_agree_with_direct_minimisation(double_well):
    # The discretised J knows nothing of orbits or saddles. θ₂ = 0 adds nothing to it.
    cases = [(0.3, -0.6), (0.7, -0.6), (0.8, -0.2)]
    for (gamma, start), paths in zip(cases, scripted(double_well, cases), strict=True):
        best = ln.solve(ln.Objective(gamma=gamma), ln.losses.DoubleWell(), [start, 0.0], method="action")
        for name, minimum in (("stay", LEFT), ("cross", RIGHT)):
            path = next(c for c in best.candidates if abs(c.asymptote[0] - minimum) < 1e-3)
            assert paths[name]["action"] == pytest.approx(path.action, abs=1e-5)


def test_the_table_of_the_theory(double_well):
    table = {
        0.1: (4.949810, -3.037537), 0.3: (1.722638, 0.212316), 0.5: (1.073049, 0.720094), 0.6: (0.909429, 0.803218),
        0.7: (0.791893, 0.837340), 0.8: (0.703182, 0.839736), 1.0: (0.577717, None),
    }  # fmt: skip
    pairs = scripted(double_well, [(gamma, -0.6) for gamma in table])
    for (stay, cross), paths in zip(table.values(), pairs, strict=True):
        assert paths["stay"]["action"] == pytest.approx(stay, abs=1e-6)
        assert paths["cross"] is None if cross is None else paths["cross"]["action"] == pytest.approx(cross, abs=1e-6)


def test_cost_by_quadrature_keeps_the_energy_identity(double_well):
    # The script sums the excess along the orbit; γJ = L(θ₀) − p₀²/2 is what the sum must come to.
    for (gamma, start), paths in zip(GRID, scripted(double_well, GRID), strict=True):
        for path in filter(None, paths.values()):
            assert gamma * path["action"] == pytest.approx(loss(start) - path["speed"] ** 2 / 2, abs=1e-7)


def test_indifference_point(double_well):
    rates = [0.54, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0]
    points = double_well("given.map((gamma) => M.policy(gamma).indifference)", rates)
    for gamma, point in zip(rates, points, strict=True):

        def lead(x, gamma=gamma):
            return action(gamma, LEFT, x) - action(gamma, RIGHT, x)

        far = manifold(gamma, LEFT, 1.0).t[-1] - 1e-6
        near = manifold(gamma, RIGHT, LEFT - 0.1).t[-1] + 1e-6
        assert point == pytest.approx(scipy.optimize.brentq(lead, near, far, xtol=1e-10), abs=1e-6)


@pytest.mark.parametrize(("gamma", "expected"), [(0.3, None), (0.53, None), (3.95, BARRIER), (5.0, BARRIER)])
def test_indifference_at_both_ends_of_the_range(double_well, gamma, expected):
    # Below γ_het crossing always wins; from 2√|h_b| = 3.9019 on the barrier divides, as for gradient descent.
    found = double_well("M.policy(given).indifference", gamma)
    assert found is None if expected is None else found == pytest.approx(expected, abs=1e-12)


def test_heteroclinic_discount(double_well):
    def overshoot(gamma):
        # Positive where the crossing orbit still moves at the shallow minimum, negative by how far short it turns.
        orbit = manifold(gamma, RIGHT, LEFT)
        return orbit.y[0, -1] if orbit.status == 0 else LEFT - orbit.t[-1]

    expected = scipy.optimize.brentq(overshoot, 0.4, 0.7, xtol=1e-12)
    assert double_well("M.heteroclinic()") == pytest.approx(expected, abs=1e-8)
    assert expected == pytest.approx(0.5390310809, abs=1e-8)


@pytest.mark.parametrize(("gamma", "start", "name"), [(0.3, -0.6, "cross"), (0.3, -0.6, "stay"), (2.0, 0.4, "cross")])
def test_course_solves_the_euler_lagrange_equation(double_well, gamma, start, name):
    expression = """(() => {
        const found = M.branch(M.policy(given[0])[given[2]], given[1]);
        return M.course(found, M.pathFrom(found, given[1]), given[1], 4, 1);
    })()"""
    t, x = np.array(double_well(expression, [gamma, start, name])).T
    assert (t[0], x[0]) == (0.0, start)
    assert t[-1] == 4.0
    inner = slice(2, -2)
    step = np.diff(t)[2]
    velocity = np.gradient(x[inner], step)[1:-1]
    acceleration = np.diff(x[inner], 2) / step**2
    residual = acceleration - gamma * velocity - slope(x[inner][1:-1])
    assert np.max(np.abs(residual)) < 5e-3 * max(1.0, np.max(np.abs(acceleration)))  # second-order differences


def test_a_start_at_a_minimum_rests_there(double_well):
    path = scripted(double_well, [(0.5, LEFT)])[0]["stay"]
    assert path["action"] == pytest.approx(loss(LEFT) / 0.5, abs=1e-9)
    assert abs(path["speed"]) < 1e-9


@pytest.mark.parametrize(("gamma", "start"), [(0.05, -1.4), (0.3, -0.6), (1.0, 0.3), (5.0, 1.4), (5.0, 0.2)])
def test_gradient_flow_and_what_it_costs(double_well, gamma, start):
    descent = double_well("M.gradientFlow(given[0], given[1], 4)", [gamma, start])

    def flow(t, y):
        p = -slope(y[0]) / gamma
        return [p, np.exp(-gamma * t) * (p**2 / 2 + loss(y[0]))]

    end = LEFT if start < BARRIER else RIGHT
    until = 60.0
    exact = scipy.integrate.solve_ivp(
        flow, (0, until), [start, 0], method="LSODA", rtol=1e-10, atol=1e-13, dense_output=True
    )
    assert descent["end"] == pytest.approx(end, abs=1e-12)
    tail = np.exp(-gamma * until) * loss(end) / gamma
    assert descent["action"] == pytest.approx(exact.y[1, -1] + tail, rel=2e-6, abs=2e-6)
    t, x = np.array(descent["points"]).T
    assert t[-1] == 4
    np.testing.assert_allclose(x, exact.sol(t)[0], atol=2e-5)
    # No path is cheaper than the optimum.
    best = min(path["action"] for path in scripted(double_well, [(gamma, start)])[0].values() if path)
    assert descent["action"] >= best - 1e-9


def test_a_place_on_the_way_is_read_off_at_its_time(double_well):
    path = [[0.0, 3.0], [0.1, 2.5], [1.0, -1.0], [4.0, 0.5]]
    times = [0.0, 0.05, 0.1, 0.7, 1.0, 3.9, 4.0, 9.0]
    places = double_well("given[1].map((t) => M.atTime(given[0], t))", [path, times])
    np.testing.assert_allclose(np.ravel(places), np.interp(times, *np.transpose(path)), atol=1e-12)
