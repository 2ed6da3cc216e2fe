"""Four solvers with different mathematics must find the same optimum; perturbed paths must cost more."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

import lossnav as ln
from lossnav.trajectory.modes import decompose
from lossnav.trajectory.regret import alignment
from lossnav.trajectory.status import Status


def quadratic(rng, dim, definite=0.3):
    a, b = rng.normal(size=(2, dim, dim))
    loss = ln.losses.Quadratic(a @ a.T + definite * np.eye(dim), minimum=rng.normal(size=dim), offset=rng.normal())
    return loss, b @ b.T + 0.3 * np.eye(dim), rng.normal(size=dim)


def cost_by_quadrature(traj, end):
    """J up to ``end`` by adaptive quadrature of the running cost along the trajectory."""
    objective = traj.objective

    def rate(t):
        return math.exp(-objective.gamma * t) * float(objective.cost_rate(traj.loss, traj(t), traj.velocity(t)))

    return scipy.integrate.quad(rate, 0.0, end, epsabs=1e-12, epsrel=1e-10, limit=400)[0]


@pytest.mark.parametrize("gamma", [0.0, 0.7])
@pytest.mark.parametrize("end", ["free", "fixed"])
@pytest.mark.parametrize("curvature", [(2.0, 0.4), (1.0, -0.1)])
def test_all_methods_agree_on_a_deadline(gamma, end, curvature):
    loss = ln.losses.Quadratic(np.diag(curvature), minimum=[1.0, -0.5], offset=0.3)
    horizon, extra = 2.0, {}
    if end == "free":
        objective = ln.Objective(gamma=gamma, metric=[[2.0, 0.5], [0.5, 1.0]], horizon=horizon)
        methods = ("riccati", "action", "bvp")
    else:
        objective = ln.Objective(gamma=gamma, metric=[[2.0, 0.5], [0.5, 1.0]])
        extra, methods = {"horizon": horizon, "endpoint": [0.2, 0.9]}, ("action", "bvp")
    exact = ln.solve(objective, loss, [0.0, 1.0], method="closed_form", **extra)
    t = np.linspace(0.0, horizon, 17)
    assert exact.action == pytest.approx(cost_by_quadrature(exact, horizon), rel=1e-9)
    for method in methods:
        path = ln.solve(objective, loss, [0.0, 1.0], method=method, **extra)
        assert path.action == pytest.approx(exact.action, rel=1e-7)
        assert np.allclose(path(t), exact(t), atol=1e-7)
    if end == "free":
        assert np.allclose(exact.velocity(horizon), 0.0, atol=1e-12)  # transversality
    else:
        assert np.allclose(exact(horizon), [0.2, 0.9], atol=1e-12)


@pytest.mark.parametrize("method", ["closed_form", "riccati", "action", "bvp"])
def test_action_is_the_integral_along_the_path(method):
    loss = ln.losses.Quadratic([[2.0, 0.3], [0.3, 1.0]], minimum=[1.0, 0.0], offset=0.4)
    objective = ln.Objective(eta=1.1, k=0.8, gamma=0.9)
    traj = ln.solve(objective, loss, [-0.3, 1.0], method=method)
    assert traj.action == pytest.approx(cost_by_quadrature(traj, 45.0), rel=1e-8)
    assert traj.excess == pytest.approx(traj.action - 0.8 * 0.4 / 0.9, rel=1e-7)


@pytest.fixture(scope="module")
def crossing():
    traj = ln.solve(ln.Objective(gamma=0.3), ln.losses.DoubleWell(), [-0.6, 0.4])
    t = np.linspace(0.0, 20.0, 4001)
    return traj, t, traj(t), traj.velocity(t)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_no_perturbed_path_is_cheaper(crossing, seed):
    """The certificate, from outside: add a smooth bump that leaves the start alone, and J must rise."""
    rng = np.random.default_rng(seed)
    traj, t, path, velocity = crossing
    centre, width = rng.uniform(0.5, 6.0), rng.uniform(0.2, 1.5)
    bump = rng.normal(size=2)[None, :] * (np.exp(-((t - centre) ** 2) / width**2) * np.tanh(t))[:, None]
    bump_rate = np.gradient(bump, t, axis=0, edge_order=2)

    def cost(scale):
        rate = traj.objective.cost_rate(traj.loss, path + scale * bump, velocity + scale * bump_rate)
        return scipy.integrate.simpson(np.exp(-0.3 * t) * rate, x=t)

    assert cost(0.02) > cost(0.0) and cost(-0.02) > cost(0.0)
    derivative = (cost(1e-3) - cost(-1e-3)) / 2e-3
    assert abs(derivative) < 1e-4  # stationary to first order


def test_singular_hessian_with_discounting():
    loss = ln.losses.Quadratic(np.diag([0.0, 2.0]), gradient=[1.0, -1.0], offset=0.5)
    objective = ln.Objective(gamma=0.8)
    exact, by_feedback = (ln.solve(objective, loss, [0.3, 0.1], method=m) for m in ("closed_form", "riccati"))
    assert exact.action == pytest.approx(cost_by_quadrature(exact, 60.0), rel=1e-8)
    assert by_feedback.action == pytest.approx(exact.action, rel=1e-10)
    assert np.all(np.isnan(exact.asymptote))  # the flat direction is slid down for ever
    assert np.allclose(exact(3.0)[0], 0.3 - 3.0 / 0.8)


def test_a_flat_direction_has_no_sign_by_rounding():
    """In one of twenty of these Hessians an eigenvalue had been left with one, mostly a plus."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        dim = int(rng.integers(2, 7))
        rank = int(rng.integers(1, dim))
        factor = 10.0 ** rng.uniform(-3, 3, size=(dim, 1)) * rng.normal(size=(dim, rank))
        assert np.sum(decompose(factor @ factor.T).curvature == 0) == dim - rank
        loss, path = ln.losses.Quadratic(factor @ factor.T, minimum=np.zeros(dim)), rng.normal(size=(5, dim))
        assert np.all(np.isfinite(alignment(path, ln.Objective(), loss, [0.0, 1.0], dt=0.1)))


@pytest.mark.parametrize("method", ["closed_form", "riccati", "action", "bvp"])
def test_negative_curvature_that_discounting_tames(method):
    """−γ/2 < r < 0: the path runs away, is still the minimiser, and J = r·x₀²/2η < 0 (theory §7.3)."""
    traj = ln.solve(ln.Objective(gamma=1.1), ln.losses.Quadratic([[-0.25]], minimum=[0.0]), [1.0], method=method)
    rate = math.sqrt(1.1**2 / 4 - 0.25) - 0.55
    assert traj.action == pytest.approx(rate / 2, rel=1e-7)
    assert traj(2.0)[0] == pytest.approx(math.exp(-2 * rate), rel=1e-6)


def test_undiscounted_action_is_infinite_unless_resting_is_free():
    start = [0.5]
    make = lambda offset: ln.losses.Quadratic([[4.0]], minimum=[0.0], offset=offset)
    assert ln.value(ln.Objective(), make(0.0), start) == pytest.approx(2.0 * 0.25 / 2)  # r x₀²/2η
    assert ln.value(ln.Objective(), make(0.1), start) == math.inf
    assert ln.value(ln.Objective(), make(-0.1), start) == -math.inf
    assert ln.solve(ln.Objective(), make(-0.1), start).excess == pytest.approx(0.25)


def test_hamilton_jacobi_bellman():
    """γV = kL + f·∇V − (η/2)|∇V|²_{G⁻¹} with ∇V by differences of value(), and the policy it implies."""
    rng = np.random.default_rng(3)
    loss, metric, theta = quadratic(rng, 3)
    drift = ln.drifts.Linear(0.2 * rng.normal(size=(3, 3)), rng.normal(size=3))
    objective = ln.Objective(eta=0.7, k=1.4, gamma=0.6, metric=metric, drift=drift)
    step = 1e-4
    gradient = np.array(
        [
            (ln.value(objective, loss, theta + step * e) - ln.value(objective, loss, theta - step * e)) / (2 * step)
            for e in np.eye(3)
        ]
    )
    pull = np.linalg.solve(metric, gradient)
    right = 1.4 * loss.value(theta) + drift(theta) @ gradient - 0.35 * gradient @ pull
    assert 0.6 * ln.value(objective, loss, theta) == pytest.approx(right, rel=1e-7)
    assert np.allclose(ln.optimal_velocity(objective, loss, theta), drift(theta) - 0.7 * pull, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda o, q: ln.solve(o, q, [0.0, 0.0]), ValueError, r"theta0 has shape \(2,\)"),
        (lambda o, q: ln.solve(o, q, [0.0], method="magic"), ValueError, "method = 'magic'.*'action'"),
        (lambda o, q: ln.solve(o, q, [0.0], endpoint=[1.0]), ValueError, "endpoint is given, but horizon is not"),
        (lambda o, q: ln.solve(o, q, [0.0], method="action", steps=10**7), ValueError, "steps = 10000000"),
        (
            lambda o, q: ln.solve(ln.Objective(metric=np.eye(2)), q, [0.0]),
            ValueError,
            r"metric has shape \(2, 2\), but the problem has 1",
        ),
        (
            lambda o, q: ln.solve(ln.Objective(drift=ln.drifts.rotation(1.0)), q, [0.0]),
            ValueError,
            "drift acts on 2 parameters",
        ),
        (lambda o, q: ln.solve(ln.Objective(metric=lambda x: x), q, [0.0]), ValueError, "metric.*positive definite"),
        (lambda o, q: ln.solve(o, ln.losses.DoubleWell(), [0, 0], method="riccati"), ValueError, "needs a losses.Quad"),
        (lambda o, q: ln.solve(o, q, [0.0])([-1.0]), ValueError, r"t = \[-1.0\]"),
        (lambda o, q: ln.solve(o, q, [0.0], horizon=1.0, endpoint=[1.0])(1.5), ValueError, r"t = 1.5.*\[0, 1\]"),
        (
            lambda o, q: ln.solve(ln.Objective(gamma=1.0), ln.losses.Quadratic([[-1.0]], minimum=[0.0]), [1.0]),
            ln.NoMinimiser,
            "raise gamma above 2",
        ),
        (
            lambda o, q: ln.solve(ln.Objective(), ln.losses.Quadratic([[0.0]], gradient=[1.0]), [1.0]),
            ln.NoMinimiser,
            "flat direction",
        ),
        (
            lambda o, q: ln.solve(
                ln.Objective(horizon=2.0), ln.losses.Quadratic(-np.eye(2), minimum=[0, 0]), [1, 0], method="riccati"
            ),  # in both directions at once
            ln.NoMinimiser,
            "focal",
        ),
        (
            lambda o, q: ln.solve(ln.Objective(gamma=1.0, horizon=1e9), q, [0.0], method="riccati"),
            ln.NotConverged,
            "the deadline is 2e\\+09 times",
        ),
        (
            lambda o, q: ln.solve(
                ln.Objective(), ln.losses.Quadratic([[-1.0]], minimum=[0.0]), [1.0], horizon=3.2, endpoint=[0.0]
            ),
            ln.NoMinimiser,
            "conjugate point at t = 3.14",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call(ln.Objective(gamma=1.0), ln.losses.Quadratic([[1.0]], minimum=[1.0]))


def test_a_path_that_breaks_the_energy_identity_is_data_when_asked_for(monkeypatch):
    from lossnav.trajectory import action

    true = action.solve
    monkeypatch.setattr(action, "solve", lambda *a, **b: replace(true(*a, **b), action=1.0))
    problem = ln.Objective(gamma=0.5), ln.losses.DoubleWell(), [0.5, 0.5]
    traj = ln.solve(*problem, throw=False)
    assert traj.status is Status.ENERGY_BROKEN and not traj.converged
    with pytest.raises(ln.NotConverged, match="gamma·J"):
        ln.solve(*problem)


def test_a_start_where_the_loss_is_not_finite_is_said():
    with pytest.raises(ValueError, match=r"loss.value\(theta0\) = nan"):
        ln.solve(ln.Objective(gamma=1.0), ln.losses.Function(lambda x: float("nan"), dim=1), [1.0])


@pytest.mark.parametrize("method", ["action", "auto"])
@pytest.mark.parametrize(
    ("loss", "drift"),
    [
        (ln.losses.DoubleWell(), None),
        (ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0]), None),
        (ln.losses.Quadratic(np.diag([1.0, 2.0]), minimum=[0.0, 0.0]), ln.drifts.rotation(0.3)),
    ],
)
def test_a_discount_beyond_all_scales_is_solved_or_named(loss, drift, method):
    objective = ln.Objective(gamma=1e300, drift=drift)
    try:
        path = ln.solve(objective, loss, [-0.6, 0.5], method=method)
    except ValueError as error:
        assert "gamma = 1e+300" in str(error) and "gradient flow" in str(error)
    else:
        assert path.action == pytest.approx(loss.value([-0.6, 0.5]) / 1e300)


def test_a_number_of_any_library_is_a_deadline():
    import torch

    for number in (torch.tensor(1.0), np.float32(1.0), np.array(1.0)):
        path = ln.solve(ln.Objective(gamma=0.1, horizon=number), ln.losses.DoubleWell(), [-0.6, 0.5])
        assert path.end == 1.0 and math.isfinite(path.action)
    with pytest.raises(ValueError, match=r"horizon = tensor\(1., requires_grad=True\), but it must be a number"):
        ln.Objective(horizon=torch.tensor(1.0, requires_grad=True))


def test_a_path_of_many_parameters_is_shown_in_one_line():
    path = ln.solve(ln.Objective(gamma=1.0), ln.losses.Quadratic(np.eye(50), minimum=np.arange(50.0)), np.zeros(50))
    assert "asymptote=[ 0.  1.  2. ... 47. 48. 49.]" in repr(path) and "\n" not in repr(path)
