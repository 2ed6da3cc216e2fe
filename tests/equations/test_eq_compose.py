"""M1–M9, M20–M23: what composes, relative prices, deadlines, and what noise adds. Others stand in tests/rules."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import torch
from direct import quadratic

import lossnav as ln
from lossnav.rules import keep_norm, prior_shrink, relative_step, shrink
from lossnav.trajectory import modes

ETA, K = 0.7, 1.3


def gain(objective, h, alpha):
    rule = ln.derive(
        objective, belief=ln.assume.Filter(0.0, fading=alpha), curvature=ln.assume.Known([[h]]), dt=1.0
    )  # fmt: skip
    return -float(rule([1.0], rule.init([0.0]), [0.0])[0][0])


@pytest.mark.parametrize(("gamma", "h", "alpha"), [(0.3, 1.4, 0.0), (0.3, 1.4, 0.8), (0.0, 0.5, 0.2)])
def test_the_gain_is_the_forecast_discounted_at_the_fast_rate(gamma, h, alpha):
    """v = −ηk∫e^{−s₊τ}E[a(τ)]dτ, by quadrature, with s₊ found as the growing root of λ² − γλ = ηkh."""
    fast = np.roots([1.0, -gamma, -ETA * K * h]).max()
    area, _ = scipy.integrate.quad(lambda t: np.exp(-fast * t) * np.exp(-alpha * t), 0, np.inf, epsabs=1e-13)
    assert gain(ln.Objective(ETA, K, gamma), h, alpha) == pytest.approx(ETA * K * area, rel=1e-9)


def test_where_nothing_asks_to_hold_a_growing_direction_the_least_root_is_meant():
    """M1 with H = 0, f = .8δ, γ = 𝐀 = 1: P = 0 costs less than the stabilising P = .6, and is what ``derive`` takes."""
    growth, gamma = 0.8, 1.0

    def cost(push):
        """J of θ̇ = .8δ − push·e^{−t}, from δ = 0, a = e^{−t}: a sum over time, no Riccati equation."""
        run = scipy.integrate.solve_ivp(
            lambda t, y: [
                growth * y[0] - push * np.exp(-t),
                np.exp(-gamma * t) * ((push * np.exp(-t)) ** 2 / 2 + np.exp(-t) * y[0]),
            ], (0, 40), [0.0, 0.0], rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        return run.y[1, -1]

    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear([[growth]], [0.0]))
    rule = ln.derive(objective, belief=ln.assume.Filter(0.0, fading=1.0), curvature=ln.assume.Known([[0.0]]), dt=1.0)
    taken = -float(rule([1.0], rule.init([0.0]), [0.0])[0][0])
    least, stabilising = (1 / (gamma - growth + P + 1) for P in (0.0, 2 * growth - gamma))
    assert taken == pytest.approx(least, rel=1e-9) and taken == pytest.approx(1 / 1.2, rel=1e-9)
    best = scipy.optimize.minimize_scalar(cost, bounds=(0.1, 2.0), method="bounded", options={"xatol": 1e-6}).x
    assert best == pytest.approx(least, rel=1e-4) and cost(stabilising) > cost(least) + 0.01

    backward = scipy.integrate.solve_ivp(lambda _, P: (2 * growth - gamma) * P - P**2, (0, 60), [0.0]).y[0, -1]
    assert backward == 0.0  # a free end begins at zero, and stays there


def test_without_a_negative_definite_root_an_indefinite_loss_has_no_plan():
    """P² + γP = ηkh: both roots negative at h > −γ²/4, none below, where the cost falls without bound."""
    for h, exists in ((-0.2, True), (-0.3, False)):
        roots = np.roots([1.0, 1.0, -h])
        assert (np.isrealobj(roots) and np.all(roots < 0)) == exists
        lowest = np.linalg.eigvalsh(_bowl_of_paths(h, gamma=1.0))[0]
        assert (lowest > 0) == exists
        options = {"belief": ln.assume.Filter(0.0), "curvature": ln.assume.Known([[h]]), "dt": 1.0}
        if exists:
            rule = ln.derive(ln.Objective(gamma=1.0), **options)
            step = float(rule([1.0], rule.init([0.0]), [0.0])[0][0])
            assert step == pytest.approx(-1 / (1.0 + roots.max()), rel=1e-9)  # the stabilising one
        else:
            with pytest.raises(ln.NoMinimiser):
                ln.derive(ln.Objective(gamma=1.0), **options)


def test_at_the_edge_a_negative_definite_root_is_not_enough():
    """h = −γ²/4: P = −γ/2 is negative definite and does not stabilise; its law is beaten by ways that come back."""
    gamma, fading = 1.0, 1.0
    P, share = -gamma / 2, 1 / (gamma / 2 + fading)

    def law(t, y):
        velocity = -P * y[0] - share * np.exp(-fading * t)
        running = (velocity**2 - (gamma * y[0] / 2) ** 2) / 2 + np.exp(-fading * t) * y[0]
        return [velocity, np.exp(-gamma * t) * running]

    run = scipy.integrate.solve_ivp(law, (0, 40), [0.0, 0.0], rtol=1e-10, atol=1e-12).y[1]

    def back(horizon, count=400):
        """The least cost of a way that is at zero again after the horizon."""
        times = (np.arange(count) + 0.5) * horizon / count
        bowl = _bowl_of_paths(-(gamma**2) / 4, gamma, horizon, count)[:-1, :-1]
        force = horizon / count * np.exp(-(fading + gamma / 2) * times)
        pull = (force[:-1] + force[1:]) / 2
        return -pull @ np.linalg.solve(bowl, pull) / 2

    costs = [back(horizon) for horizon in (10, 20, 40)]
    assert costs[0] > costs[1] > costs[2] and costs[0] < run[-1] - 0.03
    with pytest.raises(ln.NoMinimiser):
        options = {"belief": ln.assume.Filter(0.0, fading=fading), "curvature": ln.assume.Known([[-(gamma**2) / 4]])}
        ln.derive(ln.Objective(gamma=gamma), **options, dt=1.0)


def _bowl_of_paths(h, gamma, horizon=30.0, count=1500):
    """∫e^{−γt}{θ̇²/2 + hθ²/2}dt with θ(0) = 0 and a free end, as a matrix for y = e^{−γt/2}θ (so ẏ + γy/2 for θ̇)."""
    dt = horizon / count
    rise = (np.eye(count) - np.eye(count, k=-1)) / dt + gamma / 4 * (np.eye(count) + np.eye(count, k=-1))
    middle = (np.eye(count) + np.eye(count, k=-1)) / 2
    return dt * (rise.T @ rise + h * middle.T @ middle)


@pytest.mark.parametrize("seed", range(3))
def test_a_metric_enters_as_the_geometric_mean_and_not_as_two_roots(seed):
    rng = np.random.default_rng(seed)
    G, H = rng.normal(size=(2, 4, 4))
    G, H, m = G @ G.T + 0.3 * np.eye(4), H @ H.T + 0.3 * np.eye(4), rng.normal(size=4)
    rule = ln.derive(ln.Objective(ETA, K, metric=G), curvature=ln.assume.Known(H), dt=1.0)
    step = rule(m, rule.init(np.zeros(4)), np.zeros(4))[0]
    half = scipy.linalg.sqrtm(G)
    back = np.linalg.inv(half)
    mean = half @ scipy.linalg.sqrtm(back @ H @ back) @ half
    np.testing.assert_allclose(step, -np.sqrt(ETA * K) * np.linalg.solve(mean, m), rtol=1e-8)
    apart = -np.sqrt(ETA * K) * back @ np.linalg.inv(scipy.linalg.sqrtm(H)) @ m
    assert np.linalg.norm(step - apart) > 0.02 * np.linalg.norm(step)


def test_a_fisher_metric_makes_the_exponent_one_and_shampoos_a_quarter():
    V = np.array([0.01, 4.0])
    for s, exponent in ((0.0, -0.5), (1.0, -1.0), (-0.5, -0.25)):
        rule = ln.derive(ln.Objective(metric=np.diag(V**s)), curvature=ln.assume.Known(np.diag(V)), dt=1.0)
        step = rule([1.0, 1.0], rule.init([0.0, 0.0]), [0.0, 0.0])[0]
        assert np.log(step[1] / step[0]) / np.log(V[1] / V[0]) == pytest.approx(exponent, abs=1e-12)


# ------------------------------------------------------------------------------------------------------ relative price


def test_the_frozen_relative_step_is_that_of_a_constant_metric_and_lars():
    rng = np.random.default_rng(0)
    theta, g = rng.normal(size=(2, 5))
    size, c = float(theta @ theta), 2.0
    objective = ln.Objective(ETA, K)
    step = relative_step(objective, g, theta, c * float(g @ g), 0.1)
    lars = -0.1 * np.sqrt(ETA * K / c) * np.linalg.norm(theta) * g / np.linalg.norm(g)
    np.testing.assert_allclose(step, lars, rtol=1e-12)
    h = rng.uniform(0.1, 2, 5)
    damped = ln.Objective(ETA, K, gamma=0.6)
    fixed = ln.Objective(ETA, K, gamma=0.6, metric=np.eye(5) / size)
    rule = ln.derive(fixed, curvature=ln.assume.Known(np.diag(h)), dt=0.1)
    np.testing.assert_allclose(
        relative_step(damped, g, theta, h, 0.1), rule(g, rule.init(theta), theta)[0], rtol=1e-12
    )  # fmt: skip


def test_on_a_loss_of_directions_the_best_path_keeps_the_norm_and_turns_at_the_slow_rate():
    """J of a polygon in the plane, minimised from a perturbed circle: nothing of the library, no polar coordinates."""
    gamma, h, angle, horizon, count = 0.5, 2.0, 0.4, 8.0, 160
    dt = horizon / count
    start = torch.tensor([1.7 * np.cos(angle), 1.7 * np.sin(angle)])
    times = torch.arange(count, dtype=torch.float64) * dt
    weights = torch.exp(-gamma * (times + dt / 2)) * dt

    def cost(flat):
        x = torch.cat([start[None], flat.reshape(count, 2)])
        middle = (x[1:] + x[:-1]) / 2
        speed = ((x[1:] - x[:-1]) / dt).square().sum(1) / middle.square().sum(1)
        turned = torch.atan2(middle[:, 1], middle[:, 0])
        return (weights * (speed / (2 * ETA) + K * h * turned**2 / 2)).sum()

    def both(flat):
        x = torch.tensor(flat, requires_grad=True)
        value = cost(x)
        value.backward()
        return value.item(), x.grad.numpy()

    rng = np.random.default_rng(0)
    phases = angle * np.exp(-0.5 * np.arange(1, count + 1) * dt)
    first = 1.7 * np.stack([np.cos(phases), np.sin(phases)], 1) + 0.05 * rng.normal(size=(count, 2))
    best = scipy.optimize.minimize(
        both, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 4000, "maxfun": 8000, "ftol": 1e-15,
        "gtol": 1e-10, "maxcor": 40},
    )  # fmt: skip
    early = best.x.reshape(count, 2)[:40]
    lengths = np.linalg.norm(early, axis=1)
    np.testing.assert_allclose(lengths, 1.7, rtol=2e-4)
    rate = np.sqrt(gamma**2 / 4 + ETA * K * h) - gamma / 2
    turned = np.arctan2(early[:, 1], early[:, 0])
    np.testing.assert_allclose(turned, angle * np.exp(-rate * dt * np.arange(1, 41)), atol=2e-3)
    # the rule: small steps on this loss, whose gradient is hφ/|θ| along the tangent and whose curvature is h/|θ|²
    theta, step = start.numpy(), 1e-3
    for _ in range(2000):
        phase = np.arctan2(theta[1], theta[0])
        tangent = np.array([-theta[1], theta[0]]) / (theta @ theta)
        move = relative_step(ln.Objective(ETA, K, gamma), h * phase * tangent, theta, h / (theta @ theta), step)
        theta = theta + keep_norm(theta, move)
    assert np.linalg.norm(theta) == pytest.approx(1.7, rel=1e-12)
    assert np.arctan2(theta[1], theta[0]) == pytest.approx(angle * np.exp(-2 * rate), rel=3e-3)


def test_relative_steps_refuse_what_they_have_no_size_for():
    with pytest.raises(ValueError, match="theta = 0"):
        relative_step(ln.Objective(), [1.0], [0.0], 1.0, 0.1)
    with pytest.raises(ValueError, match="theta = 0"):
        keep_norm([0.0], [1.0])
    with pytest.raises(ValueError, match="curvature = 0 and gamma = 0"):
        relative_step(ln.Objective(), [1.0], [1.0], 0.0, 0.1)
    assert relative_step(ln.Objective(gamma=1e-9), [1.0], [1.0], 0.0, 1e-9) == pytest.approx(-1.0)


# ------------------------------------------------------------------------------------------------------ with a deadline


@pytest.mark.parametrize(("gamma", "h", "left"), [(0.0, 2.0, 1.5), (0.4, 1.0, 0.7), (0.8, 0.3, 6.0)])
def test_a_deadline_is_a_schedule_of_its_own_in_each_coordinate(gamma, h, left):
    m = 1.1
    gain = float(modes.speed(np.array(h), ETA * K, gamma, 0.0, left))
    S = np.sqrt(gamma**2 / 4 + ETA * K * h)
    closed = ETA * K * np.sinh(S * left) / (S * np.cosh(S * left) + gamma / 2 * np.sinh(S * left))
    assert gain == pytest.approx(closed, rel=1e-12)
    velocities = []
    for count in (1000, 2000):
        path = quadratic(
            np.array([[h]]), np.array([-m / h]), np.zeros(1), horizon=left, count=count, eta=ETA, k=K, gamma=gamma
        )
        dt = left / count
        x = path.positions[:4, 0]
        velocities.append((-11 * x[0] + 18 * x[1] - 9 * x[2] + 2 * x[3]) / (6 * dt))
    assert velocities[1] + (velocities[1] - velocities[0]) / 3 == pytest.approx(-gain * m, rel=1e-5)


def test_flat_directions_decay_linearly_and_steep_ones_only_at_the_end():
    left = np.array([2.0, 1.0, 0.5])
    flat = np.array([float(modes.speed(np.array(1e-9), 1.0, 0.0, 0.0, t)) for t in left])
    steep = np.array([float(modes.speed(np.array(400.0), 1.0, 0.0, 0.0, t)) for t in left])
    np.testing.assert_allclose(flat, left, rtol=1e-8)
    np.testing.assert_allclose(steep, 1 / 20, rtol=1e-4)


# ------------------------------------------------------------------------------------------------------ what noise adds


def test_under_a_prior_the_best_step_is_the_noiseless_one_on_the_shrunk_mean():
    """E J over posterior draws (prior draws, weighted by their likelihood), minimised as a path."""
    rng = np.random.default_rng(3)
    prior, noise, n, observed, h = 0.8, 2.0, 4, 0.9, 1.2
    draws = rng.normal(scale=np.sqrt(prior), size=400_000)
    likely = np.exp(-((observed - draws) ** 2) * n / (2 * noise))
    mean = float(np.sum(likely * draws) / np.sum(likely))
    path = quadratic(
        np.array([[h]]), np.array([-mean / h]), np.zeros(1), horizon=20.0, count=4000, eta=ETA, k=K, gamma=0.3
    )
    expected = path.positions[100, 0]  # t = 0.5
    s = float(prior_shrink(prior, noise, n))
    step = ln.update(ln.Objective(ETA, K, gamma=0.3), [s * observed], [[h]], 0.5)
    assert step[0] == pytest.approx(expected, rel=6e-3)
    assert abs(ln.update(ln.Objective(ETA, K, gamma=0.3), [observed], [[h]], 0.5)[0] - expected) > 0.3 * abs(expected)


def test_the_shrink_of_the_prior_is_the_linear_gain_of_least_risk():
    mu, noise, n = 0.7, 1.3, 5
    best = scipy.optimize.minimize_scalar(lambda s: (s - 1) ** 2 * mu**2 + s**2 * noise / n)
    assert best.x == pytest.approx(float(prior_shrink(mu**2, noise, n)), rel=1e-7)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 3.0])
def test_adam_shrinks_by_the_noise_of_one_gradient(ratio):
    rng = np.random.default_rng(1)
    weights = torch.nn.Parameter(torch.zeros(2000, dtype=torch.float64))
    optimizer = torch.optim.Adam([weights], lr=1.0, betas=(0.9, 0.999))
    steps = []
    for n in range(1500):
        weights.grad = torch.tensor(ratio + rng.normal(size=2000))
        before = weights.detach().clone()
        optimizer.step()
        if n >= 1300 and n % 20 == 0:
            steps.append((weights.detach() - before).numpy())
    moved = np.array(steps)
    if ratio == 0:
        assert np.sqrt(np.mean(moved**2)) == pytest.approx(np.sqrt(0.1 / 1.9), rel=0.02)
    else:
        assert -np.mean(moved) == pytest.approx((1 + ratio**-2) ** -0.5, rel=0.03)


RISKS = {  # of x√n = 0, 1, 2, 4
    "tensor": (0.01, 0.51, 0.81, 0.94),
    "coordinate": (0.47, 0.79, 1.18, 1.18),
    "positive": (0.34, 0.86, 1.45, 1.24),
}


@pytest.mark.parametrize("pool", RISKS)
def test_plug_ins_of_a_coordinate_lose_to_no_shrink_and_a_pooled_one_does_not(pool):
    rng = np.random.default_rng(2)
    n, noise, dim, replicas = 4, 2.5, 200, 400
    for x, expected in zip((0.0, 1.0, 2.0, 4.0), RISKS[pool], strict=True):
        mu = x * np.sqrt(noise / n)
        means = mu + rng.normal(scale=np.sqrt(noise / n), size=(replicas, dim))
        errors = [shrink(m, noise, n, pool=pool) * m - mu for m in means]
        risk = np.mean(np.square(errors)) / (noise / n)
        assert risk == pytest.approx(expected, abs=0.03)
        if pool == "tensor":
            assert risk < 1.0
            oracle = float(prior_shrink(mu**2, noise, n)) if x else 0.0
            assert risk == pytest.approx(oracle, abs=0.02)


def test_near_a_noise_floor_a_pooled_shrink_beats_adam_and_the_oracle_beats_both():
    """60 coordinates, h from 1e-2 to 1e2, noise covariance h: the loss of the second half, each at its best rate."""
    rng = np.random.default_rng(0)
    h = np.logspace(-2, 2, 60)
    beta, second = 0.9, 0.99
    f = (1 - beta) / (1 + beta)

    def run(kind, rate):
        theta, m, v = np.ones((8, 60)), np.zeros((8, 60)), np.zeros((8, 60))
        total = 0.0
        for n in range(1, 1001):
            true = h * theta
            g = true + np.sqrt(h) * rng.normal(size=theta.shape)
            off = g - m / max(1 - beta ** (n - 1), 1e-9) if n > 1 else g
            m = beta * m + (1 - beta) * g
            v = second * v + (1 - second) * (g * g if kind == "Adam" else off * off / (1 + f))
            mean, spread = m / (1 - beta**n), np.maximum(v / (1 - second**n), 1e-12)
            s = 1.0
            if kind == "pooled":
                s = np.array([shrink(a, b, 1 / f) for a, b in zip(mean, spread, strict=True)])
            elif kind == "oracle":
                s = true**2 / (true**2 + f * h)
            theta = theta - rate * s * mean / np.sqrt(spread)
            total += 0.5 * np.mean(np.sum(h * theta**2, axis=1)) if n > 500 else 0.0
        return total / 500

    rates = {"Adam": (0.003, 0.1), "pooled": (0.003, 0.1), "oracle": (0.01, 0.3)}
    best = {kind: min(run(kind, rate) for rate in np.geomspace(*ends, 10)) for kind, ends in rates.items()}
    assert 1.5 > best["Adam"] / best["pooled"] > 1.15 and best["pooled"] > 2.5 * best["oracle"]


def test_a_shrink_is_between_nothing_and_all():
    m = np.array([0.0, 1.0, -3.0])
    for pool in RISKS:
        s = shrink(m, 1.0, 2.0, pool=pool)
        assert np.all((s >= 0) & (s <= 1))
        assert np.all(shrink(m[1:].repeat(2), 1e-12, 2.0, pool=pool) > 1 - 1e-9)
    np.testing.assert_allclose(shrink([2.0, -2.0, 2.0, 1.0], 2.0, 3.0), 1 - (4 - 2) / (3 * 13 / 2))  # James–Stein
    with pytest.raises(ValueError, match="at least 3"):
        shrink([1.0, 2.0], 1.0, 2.0)
    assert shrink([1.0, 2.0], 1.0, 2.0, pool="positive").shape == (2,)
