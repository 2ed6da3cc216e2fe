"""Plans under beliefs: ends, certificates, refusals, the two rules and the dictionary of Adam."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav import belief
from lossnav.trajectory import riccati
from lossnav.trajectory.beliefs import Beliefs, Exact, Prior, Simplified


def model(**changes) -> Beliefs:
    options = {
        "eta": 2.0,
        "k": 0.8,
        "gamma": 0.5,
        "curvature_scale": 1.3,
        "mean": Prior(0.2, 1.1),
        "variance": Prior(0.1, 0.5),
        "observation": Simplified(0.3, 0.2),
        "weight": 1.7,
    }
    return Beliefs(**(options | changes))


def residual(path: belief.Plan, t: np.ndarray, step: float, **data) -> float:
    """Largest difference between a central difference of the velocity and the equation of motion."""
    second = (path.velocity(t + step) - path.velocity(t - step)) / (2 * step)
    return float(np.max(np.abs(second - path.model.acceleration(path(t), path.velocity(t), **data))))


def test_endless_plan_rests_and_goes_on_beyond_its_mesh() -> None:
    path = belief.plan(model(), 0.9, 0.7, gradient=0.6, square=1.1, tol=1e-9)
    assert path.converged and path.is_minimum and path.residual < 1e-8
    np.testing.assert_allclose(path(0.0), [0.0, 0.9, 0.7], atol=1e-12)
    assert residual(path, np.linspace(0.1, 0.9 * path.end, 50), 1e-4, gradient=0.6, square=1.1) < 1e-5
    np.testing.assert_allclose(model().pull(path.rest, 0.6, 1.1), 0.0, atol=1e-9)
    late = path.end * np.array([0.999999, 1.000001, 1.3])
    np.testing.assert_allclose(path(late)[:, 0], path(late)[:, 1], atol=1e-7)
    np.testing.assert_allclose(path(40 * path.end), path.rest, atol=1e-9)
    assert residual(path, path.end * np.array([1.1, 1.2]), 1e-4, gradient=0.6, square=1.1) < 1e-6


@pytest.mark.parametrize("horizon", [math.inf, 1.5])
def test_action_of_a_plan_is_its_value_function(horizon: float) -> None:
    """−∂J/∂V₀ is the momentum of V at the start, λ_b(V̇+α_V V)/σ_V²: only with the right condition at the end."""
    step, options = 1e-3, {"gradient": 0.6, "square": 1.1, "horizon": horizon, "tol": 1e-9}
    low, high = (belief.plan(model(), 0.9, v, **options).action for v in (0.7 - step, 0.7 + step))
    path = belief.plan(model(), 0.9, 0.7, **options)
    momentum = 1.7 / 0.5**2 * (path.velocity(0.0)[2] + 0.1 * 0.7)
    assert (high - low) / (2 * step) == pytest.approx(-momentum, rel=1e-4)


def test_plan_without_tilt_moves_the_beliefs_alone() -> None:
    """With a heavy posterior, m relaxes at the exact rate, and Eq. 12's weight to −m/cV."""
    path = belief.plan(model(weight=1e8), 2.0, 1.0, gradient=0.6, square=1.1, tol=1e-8)
    first, second = model().memories()
    t = np.linspace(0, 2, 9)
    for x, memory, start, datum in ((1, first, 2.0, 0.6), (2, second, 1.0, 1.1)):
        end = memory.gain * datum
        np.testing.assert_allclose(path(t)[x], end + (start - end) * np.exp(-memory.rate * t), rtol=1e-5)
    assert path.rest[0] == pytest.approx(-path.rest[1] / (1.3 * path.rest[2]), rel=1e-9)


def test_optimism_is_where_the_direct_hessian_loses_its_sign() -> None:
    """Condition (c): the discretised J in (θ, m) at constant V, on a long horizon, is definite iff optimism < 1."""

    def lowest(noise: float, gamma: float, decay: float) -> float:
        eta, k, c, v, sigma, weight, span, count = 1.0, 1.0, 1.0, 0.5, 0.8, 1.3, 60.0, 450
        h = span / count
        d = np.diff(np.eye(count + 1), axis=0) / h
        mid = (np.eye(count + 1)[:-1] + np.eye(count + 1)[1:]) / 2
        slide, slip = d + gamma / 2 * mid, d + (decay + gamma / 2) * mid
        gram = mid.T @ mid
        theta = slide.T @ slide / eta + k * c * v * gram
        mean = weight * (slip.T @ slip / sigma**2 + gram / noise**2)
        hessian = np.block([[theta, k * gram], [k * gram, mean]]) * h
        keep = np.r_[1 : count + 1, count + 2 : 2 * count + 2]
        return float(np.linalg.eigvalsh(hessian[np.ix_(keep, keep)])[0])

    for gamma, decay in ((0.3, 0.0), (0.6, 0.25)):

        def believer(noise: float, gamma=gamma, decay=decay) -> Beliefs:
            return Beliefs(1.0, 1.0, gamma, 1.0, Prior(decay, 0.8), Prior(), Simplified(noise, 1.0), 1.3)

        noises = np.linspace(0.4, 2.0, 161)
        edge = noises[np.argmax([believer(s).optimism(0.5) >= 1 for s in noises])]
        assert lowest(0.93 * edge, gamma, decay) > 0 > lowest(1.07 * edge, gamma, decay)
        believer(0.93 * edge).require_evidence(0.5)
        with pytest.raises(ln.NoMinimiser, match=r"observation\.mean_noise = .*optimism"):
            believer(1.07 * edge).require_evidence(0.5)


def test_exact_model_is_unbounded_below_where_it_believes_its_data() -> None:
    """Pathology (b): m = g and V → 0; the stationary place of the data is a minimum in m and not in V."""
    exact = model(observation=Exact(), mean=Prior(), variance=Prior())
    falls = [float(exact.cost_rate([0.0, 1.0, v], np.zeros(3), 1.0)) for v in (1e-2, 1e-6, 1e-10)]
    assert falls[0] > falls[1] > falls[2]
    assert exact.optimism(1.0) == pytest.approx(model(observation=Simplified(1.0, 9.0), mean=Prior()).optimism(1.0))


def test_simplified_model_is_unbounded_below_for_negative_variance() -> None:
    """Pathology (a): with V < 0 the loss beats every price of the belief, far enough from θ₀."""
    rate = [float(model().cost_rate([d, 0.0, -1.0], np.zeros(3), 0.0, 1.0)) for d in (1.0, 10.0, 100.0)]
    assert rate[0] > rate[1] > rate[2] and rate[2] < -1000


@pytest.mark.parametrize(("noise", "falls"), [(0.5, True), (0.1, False)])
def test_a_plan_is_a_local_minimum_where_a_small_variance_lets_optimism_in(noise: float, falls: bool) -> None:
    """Drive V to 0, and let δ and m grow together as the discount allows: J falls with the square of their size."""
    slow = Prior(0.0, 0.7)
    beliefs = Beliefs(gamma=0.5, mean=slow, variance=slow, observation=Simplified(noise, 0.5))
    assert beliefs.optimism(1.5) < 1 and (beliefs.optimism(1e-9) > 1) is falls
    path = belief.plan(beliefs, 0.3, 1.5, gradient=0.2, square=1.5)
    assert path.converged and path.is_minimum
    t = np.linspace(0.0, 60.0, 12001)

    def excess(size: float) -> float:
        bump = size * np.sin(np.pi * np.clip(t - 2.0, 0.0, None) / 58.0) ** 2 * np.exp(0.25 * t)
        states = np.stack([-bump, 0.3 + 0.25 * bump, 1.5 - (1.5 - 1e-6) * np.clip(t / 2, 0.0, 1.0)])
        middles, velocities = (states[:, 1:] + states[:, :-1]) / 2, np.diff(states) / np.diff(t)
        rates = beliefs.cost_rate(middles, velocities, 0.2, 1.5)
        return float(np.sum(np.exp(-0.5 * (t[1:] + t[:-1]) / 2) * rates * np.diff(t)))

    costs = [excess(size) for size in (10.0, 100.0, 1000.0)]
    assert (costs[0] > costs[1] > costs[2] and costs[1] < path.action - 1000) is falls


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({"observation": Simplified(3.0, 0.1)}, (1.0, 1.0), "mean_noise"),
        ({}, (1.0, -1.0), "V > 0"),
        ({}, (30.0, 0.2), "square"),
    ],
)
def test_plans_that_cannot_be_are_refused(changes: dict, data: tuple[float, float], message: str) -> None:
    with pytest.raises(ln.NoMinimiser, match=message):
        belief.plan(model(**changes), 1.0, 1.0, gradient=data[0], square=data[1])


def test_a_search_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lossnav.trajectory.mesh._MOST_STEPS", 512)  # to give up early
    bad = model(observation=Simplified(0.7, 0.9), mean=Prior(0.2, 1.0), weight=1.0)
    options = {"gradient": 1.0, "square": -5.0, "horizon": 3.0}
    with pytest.raises(ln.NotConverged, match=r"residual.*square"):
        belief.plan(bad, 1.0, 1.0, **options)
    path = belief.plan(bad, 1.0, 1.0, **options, throw=False)
    assert not path.converged and path.reason and not path.is_minimum


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"square": None}, "square = None"),
        ({"gradient": np.sin}, "gradient is a function of time"),
        ({"model": model(observation=Exact())}, "square = 1.0"),
        ({"model": model(observation=Exact()), "square": None}, "horizon = inf"),
    ],
)
def test_bad_arguments_of_a_plan_are_named(options: dict, message: str) -> None:
    good = {"model": model(), "mean": 1.0, "variance": 1.0, "gradient": 0.5, "square": 1.0}
    with pytest.raises(ValueError, match=message):
        belief.plan(**(good | options))


def test_times_outside_a_plan_are_refused() -> None:
    path = belief.plan(model(), 0.9, 0.7, gradient=0.6, square=1.1, horizon=1.0)
    assert path(np.array([[0.0, 0.5], [0.7, 1.0]])).shape == (3, 2, 2)
    for t in (-0.1, 1.1):
        with pytest.raises(ValueError, match="t = "):
            path(t)


def test_resting_places_balance_the_equations() -> None:
    for gradient, square in ((0.6, 1.1), (-2.0, 3.0)):
        places = belief.resting_places(model(), gradient, square)
        assert len(places) >= 1
        for place in places:
            np.testing.assert_allclose(model().pull(place, gradient, square), 0.0, atol=1e-8)
    with pytest.raises(ValueError, match="simplified"):
        belief.resting_places(model(observation=Exact()), 1.0, 1.0)


def test_rules_agree_with_the_displacement_of_a_known_quadratic() -> None:
    """Beliefs that never change are a loss known for sure: the finite rule is Eq. 6 with g = m and H = cV."""
    beliefs, dt = model(), 0.7
    for v in (0.0, 0.4, 30.0):
        known = ln.update(ln.Objective(2.0, 0.8, 0.5), [0.9], [[1.3 * v]], dt)[0]
        assert float(beliefs.step(0.9, v, dt, rule="finite")) == pytest.approx(known, rel=1e-12)
    short = beliefs.step(np.array([0.9]), np.array([0.4]), 1e-6) / beliefs.step([0.9], [0.4], 1e-6, rule="finite")
    assert short[0] == pytest.approx(1.0, abs=1e-6)
    ballistic = beliefs.step(0.9, 0.4, 0.1, rule="ballistic")
    assert float(ballistic) == pytest.approx(-math.sqrt(1.6 / (1.3 * 0.4)) * 0.09, rel=1e-12)
    assert float(model(gamma=1e-9).step(0.9, 0.4, 0.1)) == pytest.approx(float(ballistic), rel=1e-8)
    for variance, rule in ((-1.0, "discounted"), (0.0, "ballistic")):
        with pytest.raises(ValueError, match="variance = "):
            beliefs.step(0.9, variance, 0.1, rule=rule)
    with pytest.raises(ValueError, match="rule = "):
        beliefs.step(0.9, 1.0, 0.1, rule="adam")


def test_dictionary_of_adam() -> None:
    """The believed step is torch's Adam with these settings, ε apart, whatever decay and gains the beliefs have."""
    dt, rng = 0.3, np.random.default_rng(3)
    beliefs = model(gamma=1e-9, mean=Prior(0.1, 0.8), variance=Prior(0.2, 0.1), observation=Simplified(1.0, 1.0))
    settings = belief.adam(beliefs, dt)
    first, second = beliefs.memories(dt)
    assert first.gain < 0.999 and second.gain < 0.5
    g = rng.normal(0.5, 1.0, size=300)
    m, v = first.filter(g), second.filter(g**2)
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    adam = torch.optim.Adam([weight], lr=settings["lr"], betas=settings["betas"], eps=settings["eps"])
    path = []
    for value in g:
        weight.grad = torch.full((1,), value, dtype=torch.float64)
        adam.step()
        path.append(weight.item())
    n = np.arange(1, 301)
    corrected = (1 - settings["betas"][0] ** n), (1 - settings["betas"][1] ** n)
    believed = np.cumsum([float(beliefs.step(a / x, b / y, dt)) for a, b, x, y in zip(m, v, *corrected, strict=True)])
    np.testing.assert_allclose(path, believed, rtol=1e-6)


def test_epsilon_of_the_dictionary_is_the_discount() -> None:
    """lr/(√(v+ε²)+ε) is the discounted step to the last digit; Adam's lr/(√v+ε) meets it for large v."""
    beliefs, dt = model(variance=Prior(0.2, 0.4)), 0.3
    settings, (_, second) = belief.adam(beliefs, dt), beliefs.memories(dt)
    v = np.geomspace(1e-4, 1e6, 11)
    exact = settings["lr"] / (np.sqrt(v + settings["eps"] ** 2) + settings["eps"])
    first_gain = beliefs.memories(dt)[0].gain
    np.testing.assert_allclose(exact, [-float(beliefs.step(first_gain, second.gain * x, dt)) for x in v], rtol=1e-12)
    assert settings["lr"] / (math.sqrt(v[-1]) + settings["eps"]) == pytest.approx(exact[-1], rel=1e-6)


def test_second_variation_at_rest_agrees_with_differences_of_the_cost() -> None:
    for kind in (Exact(), Simplified(0.4, 0.6)):
        beliefs = model(observation=kind)
        data = (1.4,) if isinstance(kind, Exact) else (1.4, 0.5)
        x, step = np.array([-0.4, 0.9, 0.6]), 1e-4

        def potential(y: np.ndarray, beliefs=beliefs, data=data) -> float:
            at_rest = float(beliefs.cost_rate(y, np.zeros(3), *data))
            prior = beliefs.weight * (float(beliefs.mean.cost(y[1], 0.0)) + float(beliefs.variance.cost(y[2], 0.0)))
            return at_rest - prior

        e = step * np.eye(3)
        numeric = [
            [
                (potential(x + a + b) - potential(x + a - b) - potential(x - a + b) + potential(x - a - b))
                / (4 * step**2)
                for b in e
            ]
            for a in e
        ]
        np.testing.assert_allclose(beliefs.second_derivative(x, *data), numeric, atol=1e-5)


@pytest.mark.parametrize(("decay", "stable"), [(0.5, True), (0.0, False)])
def test_rests_are_minima_where_the_discretised_cost_is_convex(decay: float, stable: bool) -> None:
    """Second variation of J along a rest of 40 time units, summed on a mesh: is it positive for every variation?"""
    gamma, h, steps = 1.0, 0.1, 400
    here = model(
        eta=1.0,
        k=1.0,
        gamma=gamma,
        curvature_scale=1.0,
        weight=1.0,
        mean=Prior(decay, 1.0),
        variance=Prior(0.0, 0.5),
        observation=Simplified(10.0, 1.0),
    )
    rest = np.array([0.0, 0.0, 1.0])
    fade = np.exp(-gamma * h * (np.arange(steps) + 0.5) / 2)  # e^{−γt} once from the left and once from the right
    difference = fade[:, None] * (np.eye(steps) - np.eye(steps, k=-1))
    middle = fade[:, None] * (np.eye(steps) + np.eye(steps, k=-1)) / 2
    total = np.kron(here.second_derivative(rest, 0.0, 1.0), middle.T @ middle)
    for i, (mass, slip) in enumerate(zip(here.masses, here.decays, strict=True)):
        rate = difference / h + slip * middle
        block = slice(i * steps, (i + 1) * steps)
        total[block, block] += mass * rate.T @ rate
    grow = np.tile(np.exp(gamma * h * np.arange(1, steps + 1) / 2), 3)  # X = e^{−γt/2}x: the same sign, well scaled
    convex = np.linalg.eigvalsh(grow[:, None] * total * grow)[0] > 0
    assert convex == here.is_minimum(rest, 0.0, 1.0) == stable


def test_the_law_near_a_rest_is_the_linearised_equation_of_motion() -> None:
    """ẋ = −R(x − x*) solves ẍ = γẋ + K(x − x*) if R² + γR = K, with K by differences; here R mixes all three."""
    for beliefs in (model(), model(mean=Prior(0.7, 1.1), variance=Prior(0.4, 0.5), gamma=1.5)):
        path = belief.plan(beliefs, 0.9, 0.7, gradient=0.6, square=1.1)
        zero_velocity, step = np.zeros(3), 1e-5

        def force(x: np.ndarray, beliefs=beliefs, zero_velocity=zero_velocity) -> np.ndarray:
            return beliefs.acceleration(x, zero_velocity, 0.6, 1.1)

        stiffness = np.stack([force(path.rest + step * e) - force(path.rest - step * e) for e in np.eye(3)], axis=1)
        law = -riccati.local_value(beliefs.objective(), beliefs.loss(0.6, 1.1), path.rest).closed
        np.testing.assert_allclose(law @ law + beliefs.gamma * law, stiffness / (2 * step), rtol=1e-5, atol=1e-7)
        assert np.min(np.linalg.eigvals(law).real) > 0
        later = 1.2 * path.end  # and the plan obeys it beyond its mesh
        np.testing.assert_allclose(path.velocity(later), -law @ (path(later) - path.rest), rtol=1e-5)


def test_a_plan_is_a_trajectory_of_the_problem_that_the_beliefs_build() -> None:
    """J is the sum of what the beliefs cost, with slopes by differences; another solver finds the same path."""
    beliefs = model()
    objective, loss, start = beliefs.objective(), beliefs.loss(0.6, 1.1), [0.0, 0.9, 0.7]
    path = belief.plan(beliefs, 0.9, 0.7, gradient=0.6, square=1.1, tol=1e-9)
    solved = ln.solve(beliefs.objective(2.0), loss, start, method="bvp")
    dated = belief.plan(beliefs, 0.9, 0.7, gradient=0.6, square=1.1, horizon=2.0, tol=1e-9)
    t = np.linspace(0, 2, 9)
    np.testing.assert_allclose(dated(t), solved(t).T, atol=1e-7)
    assert dated.action == pytest.approx(solved.action, rel=1e-7)
    rng = np.random.default_rng(0)
    x, v = np.array([0.3, 0.8, 0.9]) + 0.1 * rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(objective.cost_rate(loss, x, v), beliefs.cost_rate(x.T, v.T, 0.6, 1.1), rtol=1e-13)
    step = 1e-5 * np.eye(3)
    gradients = np.stack([(loss.value(x + e) - loss.value(x - e)) / 2e-5 for e in step], axis=-1)
    hessians = np.stack([(loss.gradient(x + e) - loss.gradient(x - e)) / 2e-5 for e in step], axis=-1)
    np.testing.assert_allclose(loss.gradient(x), gradients, atol=1e-8)
    np.testing.assert_allclose(loss.hessian(x), hessians, atol=1e-8)
    assert path.trajectory.method == "timed" and path.trajectory.asymptote is path.rest
    assert np.isnan(model(observation=Exact()).loss(1.0).value([0.0, 1.0, -0.1]))


@pytest.mark.parametrize("eta", [100.0, 0.01])
def test_action_obeys_the_hamilton_jacobi_bellman_equation(eta: float) -> None:
    """γJ = k(L(x₀) − L(x*)) − ½|ẋ₀|²_M without drift: also for beliefs that take a hundred times 1/γ to change."""
    slow = Prior(0.0, 0.01)
    beliefs = model(eta=eta, gamma=1.0, mean=slow, variance=slow, observation=Simplified(0.1, 0.1))
    path = belief.plan(beliefs, 1.0, 1.0, gradient=1.5, square=1.2, tol=1e-8)
    height = beliefs.loss(1.5, 1.2)
    gap = 0.8 * float(height.value(path(0.0)) - height.value(path.rest))
    assert path.action == pytest.approx(gap - float(beliefs.masses @ path.velocity(0.0) ** 2) / 2, rel=1e-9)
