"""Is there a best path, and one only? The ring's centre has a continuum, and without its hypotheses there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from rings import ring
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize_scalar

import lossnav as ln

ETA, K = 0.7, 1.3


def bill(objective, loss, t, theta, velocity):
    """J of a path that rests at no cost at its end, by Simpson's rule on equal steps."""
    rate = np.exp(-objective.gamma * t) * objective.cost_rate(loss, theta, velocity)
    return (t[1] - t[0]) / 3 * (rate[0] + 4 * rate[1:-1:2].sum() + 2 * rate[2:-2:2].sum() + rate[-1])


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_from_the_centre_of_a_ring_every_direction_is_the_beginning_of_a_best_path(gamma):
    """A path costs what its radius costs on a line, and what its turning costs beside: straight ones are the best.

    So the line's optimum is that of the ring, along each ray, and it leaves the centre at a speed that is not zero.
    """
    objective, valley = ln.Objective(eta=ETA, k=K, gamma=gamma), ring()
    line = ln.losses.Function(lambda x: (x[..., 0] ** 2 - 1) ** 2, lambda x: 4 * x * (x**2 - 1), dim=1)
    best = ln.solve(objective, ln.losses.DoubleWell(d=0.0), [0.0, 0.0])
    t = np.linspace(0.0, 24.0, 4001)
    along, speed = best(t)[:, 0], best.velocity(t)[:, 0]
    assert best.action < objective.k * line.value(np.zeros(1)) / gamma if gamma else math.isfinite(best.action)
    for angle in 2 * np.pi * np.arange(12) / 12:
        ray = np.array([np.cos(angle), np.sin(angle)])
        path = along[:, None] * ray, speed[:, None] * ray
        assert bill(objective, valley, t, *path) == pytest.approx(best.action, rel=1e-6)
    assert abs(speed[0]) > 1.0
    if not gamma:  # V' = −√(2kL/η): V falls along each ray by its integral, and the speed is √(2ηkL)
        assert best.action == pytest.approx(2 / 3 * math.sqrt(2 * K / ETA), rel=1e-8)
        assert abs(speed[0]) == pytest.approx(math.sqrt(2 * ETA * K), rel=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(20):  # any other: radius and angle of their own
        a, b, c = rng.uniform(0.4, 2.0), rng.normal(), rng.uniform(0.3, 2.0)
        radius, pace = np.tanh(a * t), a / np.cosh(a * t) ** 2
        angle, turn = b * np.exp(-c * t), -b * c * np.exp(-c * t)
        out, across = (np.stack(s, axis=1) for s in ((np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))))
        curve = radius[:, None] * out, pace[:, None] * out + (radius * turn)[:, None] * across
        straight = bill(objective, line, t, radius[:, None], pace[:, None])
        turning = bill(ln.Objective(eta=ETA, k=K, gamma=gamma), ln.losses.Function(lambda x: 0 * x[..., 0], dim=1),
                       t, radius[:, None], (radius * turn)[:, None])  # fmt: skip
        assert bill(objective, valley, t, *curve) == pytest.approx(straight + turning, rel=1e-9)
        assert best.action < straight


def test_without_a_lower_bound_there_is_no_least_cost():
    """J is quadratic on L = −½|h|θ²: one path from 0 of negative cost, made larger, pays without end."""
    gamma = 0.6

    def cost(h, size, slow):
        """J of size·e^{γt/2}·sin(πt/T), which is back at 0, for T = 1/slow."""
        w = math.pi * slow

        def rate(t):
            x, v = math.sin(w * t), gamma / 2 * math.sin(w * t) + w * math.cos(w * t)
            return size**2 * (v**2 / (2 * ETA) - K * h * x**2 / 2)

        return quad(rate, 0.0, 1 / slow, epsabs=1e-12)[0]

    edge = gamma**2 / (4 * ETA * K)
    assert cost(1.2 * edge, 1.0, 0.02) < 0
    assert cost(1.2 * edge, 1e3, 0.02) == pytest.approx(1e6 * cost(1.2 * edge, 1.0, 0.02), rel=1e-9)
    objective = ln.Objective(eta=ETA, k=K, gamma=gamma)
    with pytest.raises(ln.NoMinimiser):
        ln.solve(objective, ln.losses.Quadratic([[-1.2 * edge]], minimum=[0.0]), [1.0])
    # the hypothesis is not necessary: below the edge every such path costs something, and there is a best one
    assert min(cost(0.8 * edge, 1.0, slow) for slow in (0.3, 0.1, 0.02, 0.002)) > 0
    assert ln.solve(objective, ln.losses.Quadratic([[-0.8 * edge]], minimum=[0.0]), [1.0]).converged


@pytest.mark.parametrize("included", [True, False])
def test_a_loss_that_is_not_lower_semicontinuous_has_no_closest_place_to_stop(included):
    """From −1, with γ = 0: the loss is 1 before 0 and 0 beyond; at 0 it is 1 (not semicontinuous) or 0."""
    objective = ln.Objective(eta=ETA, k=K)
    loss = ln.losses.Function(
        lambda x: np.where(x[..., 0] > 0, 0.0, 1.0) if included else np.where(x[..., 0] >= 0, 0.0, 1.0),
        lambda x: np.zeros_like(x), lambda x: np.zeros((*x.shape, 1)), dim=1,
    )  # fmt: skip

    def leg(start, end, speed):
        """What a straight piece costs: its rate is constant."""
        middle = np.array([(start + end) / 2])
        return float(objective.cost_rate(loss, middle, np.array([speed]))) * (end - start) / speed

    best = minimize_scalar(lambda speed: leg(-1.0, 0.0, speed), bounds=(0.1, 10.0), method="bounded")
    least = math.sqrt(2 * K / ETA)  # of getting to 0, at any pace: v/2η + k/v ≥ √(2k/η)
    assert best.fun == pytest.approx(least, rel=1e-9)
    beyond = [best.fun + leg(0.0, reach, 1.0) for reach in (1e-1, 1e-3, 1e-6)]
    assert all(cost > least for cost in beyond) and sorted(beyond, reverse=True) == beyond
    assert beyond[-1] == pytest.approx(least, rel=1e-5)  # so that the infimum is that of getting to 0 …
    resting = float(objective.cost_rate(loss, np.zeros(1), np.zeros(1)))
    assert resting == (K if included else 0.0)  # … where to stop costs k for ever, or nothing


def test_a_price_that_grows_no_faster_than_speed_lets_the_best_path_be_a_jump():
    """∫|θ̇| is the length, 1 from 1 to 0, at any pace: what the loss adds vanishes with the time, and is never 0."""
    costs = [quad(lambda t, T=T: 1 / T + K * (1 - t / T) ** 2 / 2, 0.0, T)[0] for T in (1.0, 1e-2, 1e-4)]
    assert costs == pytest.approx([1 + K * T / 6 for T in (1.0, 1e-2, 1e-4)], rel=1e-12)
    assert min(costs) > 1.0 and costs[-1] < 1.0001


def test_a_price_that_is_not_convex_makes_the_finest_zigzag_the_best():
    """(|θ̇|² − 1)² is 0 at speed 1: on ½θ² the zigzag of N teeth in a unit of time costs k/24N², and rest 1."""
    costs = []
    for teeth in (1, 10, 100):
        t = (np.arange(2 * teeth * 500) + 0.5) / (2 * teeth * 500)
        theta = np.abs((t * teeth + 0.5) % 1 - 0.5) / teeth  # slopes ±1, tops at 1/2N
        costs.append(K * np.mean(theta**2) / 2)
    assert costs == pytest.approx([K / (24 * teeth**2) for teeth in (1, 10, 100)], rel=1e-5)
    assert 0 < min(costs) < 1e-4  # what they tend to is θ = 0, whose speed is 0 and whose price is 1


def test_a_metric_that_fades_is_escaped_at_a_finite_price_in_a_finite_time():
    """G = e^{−2θ} on L = e^{−θ}, γ = 0, η = k = 1: V(0) = ∫√(2LG)dθ = 2√2/3, by a path that is at infinity at √2.

    Paths for all times follow it to n and go on as 2 ln t: they come as near as one likes, and stay above.
    """
    price = quad(lambda x: math.sqrt(2 * math.exp(-3 * x)), 0.0, math.inf)[0]
    time = quad(lambda x: math.exp(-x / 2) / math.sqrt(2), 0.0, math.inf)[0]
    assert price == pytest.approx(2 * math.sqrt(2) / 3, rel=1e-9) and time == pytest.approx(math.sqrt(2), rel=1e-9)

    def lasting(n):
        def rate(t):  # θ = n + 2 ln(1 + t)
            x, v = n + 2 * math.log1p(t), 2 / (1 + t)
            return math.exp(-2 * x) * v**2 / 2 + math.exp(-x)

        return quad(lambda x: math.sqrt(2 * math.exp(-3 * x)), 0.0, n)[0] + quad(rate, 0.0, math.inf)[0]

    costs = [lasting(n) for n in (0.0, 2.0, 6.0, 12.0)]
    assert costs == sorted(costs, reverse=True)
    assert all(cost > price for cost in costs) and costs[-1] - price < 1e-5


def test_without_a_discount_a_drift_can_leave_no_path_of_finite_cost():
    """f = 1 on ½kθ², γ = 0: a path that stays near 0 pays for the slip, one that does not for the loss, for ever."""
    objective = ln.Objective(eta=ETA, k=K, drift=ln.drifts.Linear(0.0, [1.0]))
    bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    spans = np.array([10.0, 20.0, 40.0, 80.0])
    costs = np.array([ln.solve(replace(objective, horizon=span), bowl, [0.0]).action for span in spans])
    assert np.diff(costs) / np.diff(spans) == pytest.approx(1 / (2 * ETA), rel=1e-6)  # resting at 0 costs as much
    attempt = ln.solve(objective, bowl, [0.0], throw=False)
    assert math.isinf(attempt.action)


def test_a_drift_that_grows_faster_than_linearly_can_leave_no_best_path():
    """ż = z² in the plane, L = 0: from 1 it blows up at t = 1, and a hair beside it leads round a circle to 0.

    In w = 1/z the drift is −1 and the price e^{−γt}|ẇ + 1|²|z|⁴/2η. The path w = 1 − t + iεh(t), where h rises from 0
    to 1 within [0, ½], pays ε² there and nothing later. Only following the drift is free, and from 1 none does so.
    """

    def square(x):
        return np.stack([x[..., 0] ** 2 - x[..., 1] ** 2, 2 * x[..., 0] * x[..., 1]], axis=-1)

    gamma, swirl = 0.5, ln.drifts.Function(square, dim=2)
    objective = ln.Objective(eta=ETA, k=K, gamma=gamma, drift=swirl)
    nothing = ln.losses.Function(lambda x: 0 * x[..., 0], dim=2)

    def paid(eps):
        def rate(t):
            h, speed = (12 * t**2 - 16 * t**3, 24 * t - 48 * t**2) if t < 0.5 else (1.0, 0.0)
            w = complex(1 - t, eps * h)
            z, pace = 1 / w, -complex(-1, eps * speed) / w**2
            place, velocity = np.array([z.real, z.imag]), np.array([pace.real, pace.imag])
            return math.exp(-gamma * t) * float(objective.cost_rate(nothing, place, velocity))

        return quad(rate, 0.0, 0.5)[0] + quad(rate, 0.5, 2.0, points=[1.0])[0]

    costs = [paid(eps) for eps in (1e-1, 1e-2, 1e-3)]
    assert costs[0] > 0 and np.array(costs[1:]) / costs[:-1] == pytest.approx(1e-2, rel=0.1)
    free = solve_ivp(lambda _, x: swirl(x), (0.0, 1.0), [1.0, 0.0], rtol=1e-10, atol=1e-10)
    assert not free.success or np.max(np.abs(free.y)) > 1e6


def test_a_drift_that_jumps_can_leave_no_best_path():
    """f = 0 but for f(0) = 1, L = 0: from 0 to ε within a moment costs ε², whoever stays pays 1/2ηγ, and J > 0."""
    gamma, moment = 0.5, 0.1
    lonely = ln.drifts.Function(lambda x: np.where(x == 0.0, 1.0, 0.0), lambda x: np.zeros((*x.shape, 1)), dim=1)
    objective = ln.Objective(eta=ETA, k=K, gamma=gamma, drift=lonely)
    nothing = ln.losses.Function(lambda x: 0 * x[..., 0], dim=1)

    def paid(reach):
        place, pace = np.array([reach / 2]), np.array([reach / moment])  # the first instant weighs nothing
        return float(objective.cost_rate(nothing, place, pace)) * -math.expm1(-gamma * moment) / gamma

    staying = float(objective.cost_rate(nothing, np.zeros(1), np.zeros(1))) / gamma
    assert staying == pytest.approx(1 / (2 * ETA * gamma))
    costs = [paid(reach) for reach in (1e-1, 1e-3, 1e-5)]
    assert 0 < costs[2] < costs[1] < costs[0] < staying and costs[2] < 1e-8
