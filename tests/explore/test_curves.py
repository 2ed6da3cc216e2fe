"""Explorables of lines over one axis: each script's lines are Python's, whose numbers come from the library."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from stand import limits

import lossnav as ln
from lossnav import explore
from lossnav.explore._curves import Curves
from lossnav.trajectory import alignment

CURVES = [
    made for name in explore.__all__ if issubclass(made := getattr(explore, name), Curves)
]  # what is written with curves.js


def states(make: type[Curves], count: int) -> list[dict[str, float]]:
    """The first state, the ends of all ranges, and some in between."""
    rng = np.random.default_rng(3)
    ranges = {name: limits(make().traits()[name]) for name in make()._state_names()}
    found = [{name: getattr(make(), name) for name in ranges}]
    for share in (0.0, 1.0, *rng.random(count)):
        bent = {
            name: low + (high - low) * (share if share in (0, 1) else rng.random() ** 3)
            for name, (low, high, _) in ranges.items()
        }
        found.append({name: int(value) if ranges[name][2] else value for name, value in bent.items()})
    return found


@pytest.mark.parametrize("make", CURVES)
def test_the_script_draws_the_lines_of_python(module, make):
    given = states(make, 4)
    for state, found in zip(given, module(make)("given.map((state) => M.curves(state))", given), strict=True):
        lines = make(**state).lines()
        assert set(lines) == set(found) == set(make._shared["lines"])
        for name, points in lines.items():
            drawn = np.array(
                [[math.nan if v == "Infinity" else v for v in point] for point in found[name]], dtype=float
            )
            np.testing.assert_allclose(drawn, points, rtol=1e-6, atol=1e-6, err_msg=f"{name} at {state}")


# Independent ways to the same numbers: what the library did not use to draw the line.
def test_a_filter_that_is_run_has_these_gains():
    beta, power, gains = 0.9, 1e12, []
    for _ in range(50):
        power += (1 - beta) ** 2 / beta
        gains.append(power / (power + 1))
        power = gains[-1]  # in units of the noise, what is left is the gain
    lines = explore.FilterGains(beta=beta).lines()
    n = np.rint(10 ** lines["exact"][:, 0]).astype(int)
    np.testing.assert_allclose(10 ** lines["exact"][n <= 50, 1], np.array(gains)[n[n <= 50] - 1], rtol=1e-6)


def test_a_decaying_weight_rests_where_the_solver_says():
    valley = ln.losses.Quadratic([[0.7]], minimum=[1.0])
    path = ln.solve(ln.Objective(gamma=2.0, drift=ln.drifts.weight_decay(1.5)), valley, [0.0])
    lines = explore.DecayShrinks(1.5, 2.0).lines()
    share, rate = (np.interp(math.log10(0.7), *lines[name].T) for name in ("share", "rate"))
    assert share == pytest.approx(path.asymptote[0], abs=1e-3)
    left = (path(3.0) - path.asymptote) / (path(2.0) - path.asymptote)
    assert 10**rate == pytest.approx(-math.log(left[0]), rel=1e-3)


def test_steps_of_sgd_have_the_width_and_the_tilt_that_are_drawn():
    theta, v = ln.sgd.simulate(2.0, 60_000, eta=1.0, beta=0.5, batch=1, noise=1.0, start=0.0, seed=0)
    x, u = theta[0, 2000:, 0], v[0, 2000:, 0]
    smooth = 1.0 / (2 * (1 - 0.5))  # η σ² / 2(1 − β)
    lines = explore.CloudEdge(0.5).lines()
    assert np.var(x) / smooth == pytest.approx(np.interp(2.0, *lines["spread"].T), rel=0.05)
    assert np.corrcoef(x, u)[0, 1] == pytest.approx(np.interp(2.0, *lines["tilt"].T), abs=0.02)


def test_a_weight_grows_certain_as_its_equation_says():
    t, v, left = 0.0, 1.0, 1.0
    while t < 3.0:
        v, left, t = v + 1e-4 * (0.8 * v - 2.0 * v**2), left - 1e-4 * 2.0 * v * left, t + 1e-4
    lines = explore.Certainty(2.0, 0.8).lines()
    assert 10 ** np.interp(3.0, *lines["forgets"].T) == pytest.approx(v, rel=1e-3)
    assert np.interp(3.0, *lines["left"].T) == pytest.approx(left, rel=1e-2)


def test_the_pulled_weight_settles_where_the_drawn_sum_is_lowest():
    widget = explore.PullBack(3.0, 1.0)
    theta, cost = widget.lines()["both"].T
    assert "−0.500" in widget.description() and theta[np.argmin(cost)] == pytest.approx(-0.5, abs=0.02)


def test_a_layer_turns_by_half_of_its_angle_after_a_drop_to_a_quarter():
    lines = explore.RateDrop(4.0, 100.0).lines()
    assert lines["angle"][0, 1] == pytest.approx(0.25) and lines["law"][0, 1] == pytest.approx(0.5)
    np.testing.assert_allclose(
        2 * lines["angle"][:, 1], (1 + 3 * np.exp(-lines["angle"][:, 0] / 100)) ** -0.5, rtol=1e-6
    )


def test_modes_that_walk_need_the_steps_that_are_drawn():
    for name, rule in (("gradient descent", "descent"), ("nesterov", "nesterov")):
        walk = ln.acceleration.tuned(name, 0.01, 1.0).walk([0.01], [1.0], 4000)[:, 0]
        rate = -np.polyfit(np.arange(200, 400), np.log(np.abs(walk[200:400])), 1)[0]
        drawn = 10 ** np.interp(2.0, *explore.KappaSteps(6.0).lines()[rule].T)
        assert 6 * math.log(10) / (2 * rate) == pytest.approx(drawn, rel=0.06)  # a double root needs a little more


def test_in_the_window_a_ball_swings_and_keeps_the_root_of_beta():
    lines = explore.MomentumWindow(0.5).lines()
    walk = ln.acceleration.Method(1.0, 0.5).walk([1.0], [1.0], 60)[:, 0]
    assert np.any(walk < 0) and np.any(walk[5:] > 0)
    fall = np.max(np.abs(walk[40:60])) / np.max(np.abs(walk[:20]))
    assert fall ** (1 / 40) == pytest.approx(np.interp(1.0, *lines["heavy"].T), abs=0.02)


def test_a_discount_leaves_the_speed_of_a_whole_plan():
    memory = ln.belief.from_beta(math.exp(-1e-4), gamma=2.0, noise=1e-3)
    slow = ln.belief.Prior(0.0, memory.diffusion)
    model = ln.belief.Beliefs(gamma=2.0, mean=slow, variance=slow, observation=ln.belief.Simplified(1e-3, 1e-3))
    drawn = 10 ** np.interp(0.0, *explore.DiscountedRoot(1.0).lines()["planned"].T)
    assert -ln.belief.plan(model, 1.0, 1.0, gradient=1.0, square=1.0).velocity(0.0)[0] == pytest.approx(drawn, rel=0.02)


def test_the_exact_step_is_that_of_a_derived_rule():
    for gamma, fading, dt in ((0.0, 0.0, 2.5), (2.0, 0.5, 0.3), (0.0, 1.0, 40.0), (10.0, 2.0, 7.0)):
        believed = ln.assume.Filter(0.0, fading=fading), ln.assume.Known([[1.0]])
        lines = explore.ExactStep(gamma, fading, dt).lines()
        for exact, name in ((True, "exact"), (False, "euler")):
            objective = ln.Objective(gamma=gamma)
            rule = ln.derive(objective, belief=believed[0], curvature=believed[1], dt=dt, exact=exact)
            step = rule([-1.0], rule.init([0.0]), [0.0])[0][0]
            assert step == pytest.approx(np.interp(math.log10(dt), *lines[name].T), rel=2e-3, abs=1e-6)


def test_the_summed_forecast_is_an_integral_and_ends_at_adams_step():
    size, epsilon = 0.7, 0.4
    lines = explore.FadingBelief(epsilon, size).lines()
    part = quad(lambda tau: math.exp(-size * tau) * math.exp(-epsilon * tau), 0, 2)[0]
    assert size * part == pytest.approx(np.interp(2.0, *lines["planned"].T), rel=1e-4)
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    weight.grad = torch.tensor([size], dtype=torch.float64)
    torch.optim.Adam([weight], lr=1.0, eps=epsilon).step()
    assert -weight.item() == pytest.approx(lines["adam"][0, 1], rel=1e-12)
    whole = quad(lambda tau: math.exp(-(size + epsilon) * tau), 0, math.inf)[0]
    assert size * whole == pytest.approx(-weight.item(), rel=1e-9)


def test_a_walk_of_sgd_gets_as_far_as_is_drawn():
    theta, _ = ln.sgd.simulate(0.05, 100_000, eta=1.0, beta=0.5, batch=1, noise=1.0, start=0.0, seed=1)
    x = theta[0, 2000:, 0]
    lines = explore.ModeMemory(0.05, 0.5).lines()
    far = np.mean((x[20:] - x[:-20]) ** 2) / np.mean((x[1:] - x[:-1]) ** 2)
    assert far == pytest.approx(10 ** np.interp(math.log10(20), *lines["mode"].T), rel=0.08)


def test_a_learner_that_plans_again_and_again_goes_as_is_drawn():
    deadline, gain, error = 4.0, [], [1.0]
    for n in range(9000):
        t = n / 1000
        if n % 500 == 0 and deadline > t:
            deadline = 4 + 0.4 * t
        gain.append(math.tanh(max(deadline - t, 0.0)))
        error.append(error[-1] + 1e-3 * (0.1 * gain[-1] ** 2 - 2 * gain[-1] * error[-1]))
    widget = explore.Postponed(0.4, 0.5)
    lines = widget.lines()
    assert gain[math.floor(1000 * widget.ends()) - 2] > 0 == gain[-1] and widget.ends() < 9
    for when in (3.7, 5.2, 8.9):
        at = round(1000 * when)
        assert np.interp(when, *lines["rate"].T) == pytest.approx(gain[at], abs=1e-3)
        assert 10 ** np.interp(when, *lines["error"].T) == pytest.approx(error[at], rel=5e-3)


def test_the_noise_of_a_spectrum_ends_as_is_drawn():
    """300 modes whose noise is forgotten like u^−½ over the range of the run, stepped through the exact recursion."""
    h = np.geomspace(1e-4, 1e3, 300)
    noise = h ** (0.5 - 1)  # κ(u) = Σ σ²h e^{−2hu}
    s = 1 - (np.arange(4000) + 0.5) / 4000
    left = []
    for shape in (s ** (1 / 3), np.tanh(5 * s)):
        m = np.zeros_like(h)
        for a in shape / shape.sum():  # a sum of 1: curvatures reach far beyond 1 and below it
            m = np.exp(-2 * a * h) * m + a * a * noise
        left.append(float(h @ m))
    widget = explore.ForgottenNoise(0.5, 5.0)
    assert left[1] / left[0] == pytest.approx(widget.noise(), rel=5e-3)
    u = np.cumsum((np.tanh(5 * s) / np.tanh(5 * s).sum())[::-1])[::-1]
    kappa = np.exp(-2 * np.outer(u, h)) @ (noise * h)
    drawn = 10 ** np.interp(1 - s[:3000], *widget.lines()["late"].T)
    mine = (np.tanh(5 * s) ** 2 * kappa)[:3000]
    np.testing.assert_allclose(mine / mine[0], drawn / drawn[0], rtol=0.01)


@pytest.mark.parametrize("gamma", [0.5, 2.0, 6.0])
def test_a_ball_that_is_rolled_and_a_path_that_is_minimised_go_as_drawn(gamma):
    lines, theta, p, step = explore.PushAndBrake(gamma).lines(), -1.0, 0.0, 1e-4
    for _ in range(30_000):
        p -= step * (gamma * p + theta)
        theta += step * p
    drawn = [np.interp(3.0, *lines[name].T) for name in ("ball", "gathered")]
    assert drawn == pytest.approx([theta, p], abs=1e-3)
    valley = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    best = ln.solve(ln.Objective(gamma=gamma), valley, [-1.0], method="action")
    assert best(3.0)[0] == pytest.approx(np.interp(3.0, *lines["path"].T), abs=1e-4)


@pytest.mark.parametrize(("gamma", "line", "sign"), [(0.6, "cross", 1), (0.8, "stay", -1)])
def test_the_gap_under_the_loss_is_what_the_best_plan_costs(gamma, line, sign):
    well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
    best = ln.solve(ln.Objective(gamma=gamma), well, [-0.6], method="action")
    assert np.sign(best.asymptote[0]) == sign
    lines = explore.FollowedBack(gamma).lines()
    gap = np.interp(-0.6, *lines["loss"].T) - np.interp(-0.6, *lines[line].T)
    deep = well.value([well.stationary_points()[-1, 0]])
    assert gap == pytest.approx(gamma * best.action - deep, abs=1e-3)


def test_steps_under_other_names_follow_the_drawn_paths():
    M, H = np.array([[1.0, -1.0], [0.0, 4.0]]), np.array([[1.0, 0.4], [0.4, 2.0]])
    lines = explore.Renamed(4.0, -1.0, 2.0).lines()
    psi = np.linalg.solve(M, [2.0, 1.0])
    for _ in range(400):
        psi = psi - 1e-4 * M.T @ H @ M @ psi
    assert np.min(np.linalg.norm(lines["descent"] - M @ psi, axis=1)) < 5e-3
    for rule, moved in {"descent": True, "half": True, "natural": False, "ballistic": False, "newton": False}.items():
        old = explore.Renamed(1.0, 0.0, 2.0).lines()[rule]
        assert bool(np.max(np.abs(old - lines[rule])) > 0.1) is moved, rule


def test_a_path_run_at_a_pace_has_the_regret_that_is_drawn():
    bend, power, pace, dt = 2.0, 0.25, 1.6, 1e-3
    y, path = 1.0, []
    while y > 0:
        path.append((y, y**bend))
        for part in (0.5, 1.0):  # the midpoint rule
            z = path[-1][0] if part == 0.5 else y
            speed = pace * math.sqrt(11) * ((z**2 + 10 * z ** (2 * bend)) / 11) ** power
            y = path[-1][0] - part * dt * speed / math.hypot(1, bend * z ** (bend - 1))
    bowl = ln.losses.Quadratic(np.diag([1.0, 10.0]), minimum=[0.0, 0.0])
    found = ln.regret(np.array(path), ln.Objective(), bowl, dt=dt)
    least = ln.value(ln.Objective(), bowl, [1.0, 1.0])
    lines = explore.PathPace(power, bend).lines()
    drawn = {name: np.interp(math.log10(pace), *line.T) for name, line in lines.items()}
    assert found.speed / least == pytest.approx(drawn["speed"], rel=5e-3)
    assert found.timing / least == pytest.approx(drawn["speed"], rel=5e-3)
    assert found.direction / least == pytest.approx(drawn["direction"], rel=5e-3)


@pytest.mark.parametrize("gamma", [0.3, 3.0])
def test_a_recorded_path_has_the_regret_and_the_alignment_that_are_drawn(gamma):
    bowl = ln.losses.Quadratic(np.diag([1.0, 25.0]), minimum=[0.0, 0.0])
    path = np.exp(-np.outer(2e-3 * np.arange(8000), np.array([1.0, 25.0]) ** 0.25))
    lines = explore.WhichDiscount(0.25, 25.0).lines()
    drawn = {name: np.interp(math.log10(gamma), *line.T) for name, line in lines.items()}
    found = ln.regret(path, ln.Objective(gamma=gamma), bowl)
    assert found.relative == pytest.approx(10 ** drawn["own"], rel=5e-3)
    assert alignment(path, ln.Objective(), bowl, [gamma], dt=1e-9) == pytest.approx(drawn["ownC"], rel=1e-3)
    waits = ln.regret([[1.0, 1.0], [1.0, 1.0]], ln.Objective(gamma=gamma), bowl, dt=40 / gamma)
    assert waits.relative == pytest.approx(10 ** drawn["still"], rel=2e-3)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 7.0])
def test_the_exponent_is_the_slope_of_the_root_of_a_riccati_equation(gamma):
    def gain(h):  # a² + γa = h for the value ½aθ²: its slope is a/h of the gradient hθ
        return max(np.roots([1.0, gamma, -h]).real) / h

    lines = explore.DiscountExponent(gamma).lines()
    for h in (1e-3, 0.75 * gamma**2, 4.0, 1e3):
        drawn = {name: np.interp(math.log10(h), *lines[name].T) for name in ("gain", "exponent")}
        step = -ln.update(ln.Objective(gamma=gamma), [1.0], [[h]], 1e-7)[0]
        assert [gain(h), step / 1e-7] == pytest.approx([10 ** drawn["gain"]] * 2, rel=1e-3)
        slope = math.log(gain(1.001 * h) / gain(h / 1.001)) / (2 * math.log(1.001))
        assert slope == pytest.approx(drawn["exponent"], abs=2e-4)
    assert np.interp(lines["crossing"][0, 0], *lines["exponent"].T) == pytest.approx(-0.25, abs=2e-4)


def test_singular_values_of_a_matrix_that_is_multiplied_go_as_drawn():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    start = [0.002, 0.3, 0.9, 1.26, 1.3, 1.35]
    made = [explore.MuonQuintic(sigma, before=1).lines()["cubic"][:20, 1] for sigma in start]
    X = U * start @ V.T
    for n in range(20):
        np.testing.assert_allclose(np.diag(U.T @ X @ V), [values[n] for values in made], atol=1e-9)
        gram = X @ X.T
        a, b, c = inspect.signature(torch.optim.Muon).parameters["ns_coefficients"].default
        X = (3 * X - gram @ X) / 2 if n else a * X + (b * gram + c * gram @ gram) @ X
    assert [round(values[-1]) for values in made] == [1, 1, 1, 1, 1, -1]  # beyond √3 the cubic may turn a direction


def test_a_step_of_torchs_muon_has_the_singular_values_of_the_quintic():
    weight = torch.zeros(4, 4, requires_grad=True)
    size = torch.tensor([1.0, 0.5, 0.1, 0.02])
    weight.grad = torch.diag(size)
    torch.optim.Muon([weight], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0).step()
    for got, sigma in zip(-weight.detach().diag(), size / size.norm(), strict=True):
        drawn = explore.MuonQuintic(float(sigma)).lines()["quintic"][5, 1]
        assert float(got) == pytest.approx(drawn, abs=0.03)  # torch's are in bfloat16


def test_the_quintic_stays_below_its_largest_fixed_point_and_the_cubic_is_bounded_by_the_root_of_five():
    edge = explore.MuonQuintic().lines()["edge"][0, 1]
    for sigma in np.geomspace(1e-3, edge - 1e-9, 60):
        values = explore.MuonQuintic(sigma).lines()["quintic"][:, 1]
        assert np.all((values > 0) & (values < edge)) and 0.1 < np.max(np.abs(1 - values[-6:])) < 0.32
    assert np.all(explore.MuonQuintic(edge + 1e-9).lines()["quintic"][-1, 1] > 1000)
    for sigma in np.linspace(edge + 1e-3, 1.4, 60):
        values = explore.MuonQuintic(sigma, before=1).lines()["cubic"][:, 1]
        assert (abs(values[-1]) > 1000) == (values[1] > math.sqrt(5))
        assert (abs(values[-1] - 1) < 1e-9) >= (values[1] < math.sqrt(3))


@pytest.mark.parametrize("gamma", [0.0, 0.7, 2.0])
def test_the_value_between_its_bounds_is_the_librarys(gamma):
    lines = explore.ValueBounds(gamma).lines()
    soft = ln.losses.Function(lambda x: np.sum(np.logaddexp(x, -x) - np.log(2) + 0.05 * x**2, axis=-1), dim=1)
    plan = ln.Objective(gamma=gamma)
    assert np.all(np.diff(lines["bend"][:, 1]) < 0)  # so that M is needed at the minimum, and μ at the start
    for start in (0.15, 1.0, 8.0):
        drawn = {name: 10 ** np.interp(math.log10(start), *lines[name].T) for name in ("value", "lower", "upper")}
        told = [ln.value(plan, soft, [start]), *ln.value_bounds(plan, soft, [start], smoothness=1.1, pl=0.1)]
        assert [float(x / soft.value([start])) for x in told] == pytest.approx([*drawn.values()], rel=1e-4)
        assert explore.ValueBounds(gamma, start=start).bounds()[1] == pytest.approx(told[0], rel=1e-7)


@pytest.mark.parametrize(("beta", "delta", "h"), [(0.1, 0.99, 0.05), (0.6, 0.8, 0.7)])
def test_each_planner_replies_best_to_what_its_later_selves_leave(beta, delta, h):
    shares = explore.OtherSelves(beta, delta, h).shares()

    def paid(first, later, weight):  # all later steps leave the same share; 4000 of them are all of them
        left, total = first, (1 - first) ** 2 + h * first**2
        for n in range(1, 4000):
            total += weight * delta**n * left**2 * ((1 - later) ** 2 + h * later**2)
            left *= later
        return total

    for who, expected, weight in (("committed", "committed", 1), ("naive", "committed", beta),
                                  ("sophisticated", "sophisticated", beta)):  # fmt: skip
        m, around = shares[who], np.array([-1e-4, 0.0, 1e-4])
        costs = [paid(m + d, shares[expected], weight) for d in around]
        assert costs[1] < min(costs[0], costs[2]) and costs[0] - costs[2] == pytest.approx(0, abs=1e-9)
