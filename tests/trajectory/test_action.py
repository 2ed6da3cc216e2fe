"""The action solver: derivatives, order, certificates, candidates, and the paper's double well."""

import numpy as np
import pytest
import scipy.linalg

import lossnav as ln
from lossnav.trajectory import action, blocks, newton, phase_plane
from lossnav.trajectory.mesh import Clock, Even
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

WELL = ln.losses.DoubleWell()


SWIRL = ln.drifts.Function(
    lambda x: np.array([np.sin(x[1]), x[0] * x[1] / 3]),
    lambda x: np.array([[0.0, np.cos(x[1])], [x[1] / 3, x[0] / 3]]),
    dim=2,
)
TAIL = LocalValue(
    np.array([0.3, -0.1]), np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.4, -0.2]), 0.7, 0.0,
    *np.zeros((1, 2, 2)), *np.zeros((2, 2)),
)  # fmt: skip


def tilted(theta):
    x, y = theta
    return [[2 + x**2, x * y / 2], [x * y / 2, 1 + y**4]]


@pytest.mark.parametrize("metric", [[[2.0, 0.3], [0.3, 1.0]], tilted, ln.metrics.Relative(2)])
@pytest.mark.parametrize("drift", [None, ln.drifts.rotation(0.7), SWIRL])
@pytest.mark.parametrize(("mesh", "end"), [(Even(), None), (Clock(0.1, 2.0), TAIL)])
@pytest.mark.parametrize("halfway", [False, True])
def test_gradient_and_hessian_against_differences(metric, drift, mesh, end, halfway):
    """On a random path of eight nodes, against central differences of what they are derivatives of."""
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, metric=metric, drift=drift)
    problem = Transcription(objective, ln.losses.Rosenbrock(1.0, 2.0), 4.0, 7, mesh=mesh, terminal=end, halfway=halfway)
    path, step = np.random.default_rng(0).normal(size=(8, 2)), 1e-5
    weight = np.exp(-0.4 * problem.times)[:, None]

    def along(function, n, i):
        plus, minus = path.copy(), path.copy()
        plus[n, i] += step
        minus[n, i] -= step
        return (function(plus) - function(minus)) / (2 * step)

    numeric = np.array([[along(problem.action, n, i) for i in range(2)] for n in range(8)])
    assert np.allclose(problem.gradient(path) * weight, numeric, rtol=1e-6, atol=1e-7)
    diagonal, below = problem.hessian(path)
    root = np.sqrt(weight)
    for n in range(8):
        for i in range(2):
            column = along(lambda x: problem.gradient(x) * weight, n, i)  # ∂(∂J)/∂θ_n,i
            scaled = column / root / root[n]
            assert np.allclose(scaled[n], diagonal[n][:, i], rtol=1e-5, atol=1e-4)
            if n < 7:
                assert np.allclose(scaled[n + 1], below[n][:, i], rtol=1e-5, atol=1e-4)
            assert np.allclose(scaled[n + 2 :], 0.0, atol=1e-4)


def test_second_order_then_fourth_by_extrapolation():
    """log-error on log-step: the scheme's declared order, and Richardson's."""
    loss = ln.losses.Quadratic([[2.0, 0.5], [0.5, 1.0]], minimum=[1.0, -1.0])
    objective = ln.Objective(gamma=0.6, horizon=3.0)
    exact = ln.solve(objective, loss, [0.0, 0.0], method="closed_form")
    raw, extrapolated = [], []
    for steps in (16, 32, 64):
        p = Transcription(objective, loss, 3.0, steps)
        path = newton.minimise(p, np.zeros((steps + 1, 2)))
        raw.append(abs(path.action - exact.action))
        extrapolated.append(
            abs(ln.solve(objective, loss, [0.0, 0.0], method="action", steps=2 * steps).action - exact.action)
        )
    assert np.allclose(np.log2(np.divide(raw[:-1], raw[1:])), 2.0, atol=0.05)
    assert np.allclose(np.log2(np.divide(extrapolated[:-1], extrapolated[1:])), 4.0, atol=0.2)


def test_reported_error_bounds_the_true_one():
    traj = ln.solve(ln.Objective(gamma=0.3), WELL, [-0.6, 0.0])
    section = ln.losses.Section(WELL)
    _, _, deep = WELL.stationary_points()[:, 0]
    law = phase_plane.feedback(ln.Objective(gamma=0.3), section, deep, (-2.0, 3.0))
    assert abs(traj.action - float(law.action(-0.6))) <= 10 * traj.error + 1e-9


@pytest.mark.parametrize("steps", [8, 16, 32, 64])
@pytest.mark.parametrize("gamma", [4.0, 10.0, 30.0, 100.0])
def test_the_error_of_long_steps_is_said_or_they_are_not_claimed(gamma, steps):
    """Beyond γΔt = 1 the scheme is of first order, and two grids cannot tell: Riccati's equation knows J."""
    drift = ln.drifts.Linear([[0.3, 1.0], [-1.0, 0.2]], [0.5, -0.3])
    objective = ln.Objective(eta=10.0, gamma=gamma, horizon=10.0, drift=drift)
    loss, start = ln.losses.Quadratic([[1.5, 0.4], [0.4, 0.8]], minimum=[1.0, -0.5]), [0.7, 0.3]
    traj = ln.solve(objective, loss, start, method="action", steps=steps, throw=False)
    exact = ln.solve(objective, loss, start, method="riccati").action
    assert traj.status is Status.GRID_TOO_COARSE or abs(traj.action - exact) <= traj.error


def test_where_no_crossing_extremal_exists_it_is_not_invented():
    traj = ln.solve(ln.Objective(gamma=1.0), WELL, [-0.6, 0.0])
    assert traj.action == pytest.approx(0.577717, abs=6e-7)
    crossing = next(c for c in traj.candidates if c.asymptote[0] > 0)
    assert crossing.status is Status.NO_EXTREMAL


@pytest.mark.slow
def test_two_hundred_thousand_points():
    traj = ln.solve(ln.Objective(gamma=0.1), WELL, [-0.6, 0.5], steps=200_000)
    reference = ln.solve(ln.Objective(gamma=0.1), WELL, [-0.6, 0.5])
    assert traj.converged and traj.is_minimum
    assert traj.action == pytest.approx(reference.action, rel=1e-8)


def test_conjugate_point_is_not_certified():
    """On −θ²/2 without discount, past t = π the stationary path between fixed ends is a saddle of J."""
    hill = ln.losses.Function(lambda x: -(x[..., 0] ** 2) / 2, dim=1)
    short = ln.solve(ln.Objective(), hill, [0.3], horizon=3.0, endpoint=[0.2])
    assert short.is_minimum
    long = ln.solve(ln.Objective(), hill, [0.3], horizon=3.4, endpoint=[0.2], throw=False)
    assert not long.converged
    with pytest.raises(ln.NotConverged):
        ln.solve(ln.Objective(), hill, [0.3], horizon=3.4, endpoint=[0.2])


def test_loss_without_any_minimum():
    """θ̈ = γθ̇ + ηk·L′ with L′ = −1: with a discount θ̇ = ηk/γ for ever, with a deadline θ̇ = (1 − e^{γ(t−T)})·ηk/γ."""
    ramp = ln.losses.Function(lambda x: -x[..., 0], dim=1)
    with pytest.raises(ln.NoMinimiser, match="no lower bound"):
        ln.solve(ln.Objective(), ramp, [0.0])
    traj = ln.solve(ln.Objective(gamma=1.0), ramp, [0.0])
    assert traj.action == pytest.approx(-0.5, rel=1e-8) and traj.velocity(2.0)[0] == pytest.approx(1.0, rel=1e-6)
    assert traj.at_infinity == "moves on" and traj.is_minimum
    traj = ln.solve(ln.Objective(gamma=1.0, horizon=2.0), ramp, [0.0])
    assert traj.velocity(0.5)[0] == pytest.approx(1 - np.exp(-1.5), rel=1e-7)


def test_unconverged_is_data_when_asked_for():
    traj = ln.solve(ln.Objective(gamma=0.3), WELL, [-0.6, 0.0], steps=4, throw=False)
    assert traj.status is Status.ENERGY_BROKEN
    assert not traj.converged and traj.reason == f"{traj.status.value}: {traj.detail}"
    assert f"converged=False ({traj.reason})" in repr(traj)


def test_a_failed_twin_does_not_displace_the_good_candidate():
    """From 0.72 the search for a path to the left ends on the path to the right: it must not count as a rival."""
    section = ln.losses.Section(WELL)
    traj = ln.solve(ln.Objective(gamma=0.3), section, [0.72])
    law = phase_plane.feedback(ln.Objective(gamma=0.3), section, section.stationary_points()[2, 0], (0.0, 3.0))
    assert traj.converged and traj.action == pytest.approx(float(law.action(0.72)), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "start"), [(30.0, -0.6), (40.0, 1.5)])
def test_overdamped_paths_against_the_phase_plane(gamma, start):
    """Large γ: e^{−γt} underflows long before the path arrives, and must not matter."""
    section = ln.losses.Section(WELL)
    low, barrier, high = section.stationary_points()[:, 0]
    target, span = (low, (-2.0, 0.0)) if start < barrier else (high, (0.0, 2.0))
    traj = ln.solve(ln.Objective(gamma=gamma), section, [start])
    law = phase_plane.feedback(ln.Objective(gamma=gamma), section, target, span)
    assert traj.asymptote[0] == pytest.approx(target, abs=1e-8)
    assert traj.action == pytest.approx(float(law.action(start)), rel=1e-7)
    assert traj.velocity(0.0)[0] == pytest.approx(float(law.speed(start)), rel=1e-4)
    assert traj.velocity(2.0)[0] == pytest.approx(float(law.speed(traj(2.0)[0])), rel=1e-5)


@pytest.mark.parametrize("discount", ["none", "even", "uneven"])
@pytest.mark.parametrize(("count", "dim"), [(1, 3), (2, 1), (5, 2), (4, 3)])
def test_banded_solver_against_dense(count, dim, discount):
    rng = np.random.default_rng(5)
    diagonal, below = rng.normal(size=(count, dim, dim)), rng.normal(size=(count - 1, dim, dim))
    diagonal = diagonal @ np.swapaxes(diagonal, 1, 2) + 8 * np.eye(dim)
    half = {"none": 1.0, "even": 1.7, "uneven": 1 + rng.uniform(size=(count - 1, 1, 1))}[discount]
    half = half * np.ones((count - 1, 1, 1))
    right = rng.normal(size=(count, dim))
    dense = scipy.linalg.block_diag(*diagonal)
    for n, (block, ratio) in enumerate(zip(below, np.ravel(half), strict=True)):
        here, there = slice(n * dim, (n + 1) * dim), slice((n + 1) * dim, (n + 2) * dim)
        dense[there, here], dense[here, there] = block * ratio, block.T / ratio
    factored = blocks.factor(blocks.banded(diagonal, below))
    solutions = [blocks.solve_discounted(factored, half, right)]
    solutions += [blocks.solve(factored, right)] if discount == "none" else []
    for solution in solutions:
        np.testing.assert_allclose(solution.ravel(), np.linalg.solve(dense, right.ravel()), rtol=1e-12, atol=1e-13)
    assert blocks.factor(blocks.banded(-diagonal, below)) is None


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [3.95, 8.0])
@pytest.mark.parametrize("height", [0.0, 1.5])
def test_on_top_of_the_barrier_staying_is_optimal_when_overdamped(gamma, height):
    """Above 2√(ηk|h_b|) = 3.9019 paths leave the barrier no faster than they like; from its very top none leaves."""
    loss = ln.losses.DoubleWell()
    barrier = loss.stationary_points()[1]
    top = barrier + np.array([0.0, height])
    objective = ln.Objective(gamma=gamma)
    traj = ln.solve(objective, loss, top)
    np.testing.assert_allclose(traj.asymptote, barrier, atol=1e-12)
    np.testing.assert_allclose(traj(100.0), traj.asymptote, atol=1e-6)
    across = ln.solve(objective, ln.losses.Quadratic([[2.0]], minimum=[0.0]), [height])  # θ₂ separates
    np.testing.assert_allclose(traj.action, loss.value(traj.asymptote) / gamma + across.action, rtol=1e-8)
    beside = ln.value(objective, loss, top + np.array([1e-7, 0.0]))  # V is continuous: there the path does leave
    np.testing.assert_allclose(traj.action, beside, rtol=1e-6)


def test_at_the_threshold_the_top_of_the_barrier_is_not_called_insoluble():
    loss = ln.losses.DoubleWell()
    with pytest.raises(ln.NotConverged):  # crossing exists, but starts at a speed that rounding swamps
        ln.solve(ln.Objective(gamma=3.9), loss, loss.stationary_points()[1])


def test_nearly_flat_valley_takes_no_more_steps_than_its_way():
    """The rate is ηkh/γ = 1e-9: γΔt is some 1e7."""
    bowl = ln.losses.Quadratic([[1e-9]], minimum=[0.0])
    loss = ln.losses.Function(bowl.value, bowl.gradient, bowl.hessian, dim=1)
    path, timed = ln.solve(ln.Objective(gamma=1.0), loss, [1.0]), ln.Objective(gamma=1.0, horizon=20.0)
    exact = ln.solve(ln.Objective(gamma=1.0), bowl, [1.0])
    assert path.action == pytest.approx(exact.action, rel=1e-12) and len(path.times) <= 1025
    times = np.array([0.0, 1.0, 1e8, 1e9, 7e9])
    np.testing.assert_allclose(path(times), exact(times), rtol=0, atol=1e-8)
    np.testing.assert_allclose(path.velocity(times), exact.velocity(times), rtol=0, atol=1e-8 * 1e-9)
    np.testing.assert_allclose(ln.value(timed, loss, [1.0]), ln.value(timed, bowl, [1.0]), rtol=1e-8)


def test_a_discount_that_no_grid_resolves_is_said_where_a_drift_carries_the_path():
    bowl = ln.losses.Quadratic(np.diag([1.0, 2.0]), minimum=np.zeros(2))
    loss = ln.losses.Function(bowl.value, bowl.gradient, bowl.hessian, dim=2)
    path = ln.solve(ln.Objective(gamma=1e8, drift=ln.drifts.rotation(0.1)), loss, [1.0, 1.0], throw=False)
    assert path.status is Status.OVERDAMPED and "too few" in path.reason


def test_side_by_side_each_path_ends_where_it_ends_alone():
    """Of starts that lead to one minimum only one is followed: the rest must be as if each had been."""
    objective, stop = ln.Objective(gamma=0.3), np.array([0.09, -0.71])
    camel = ln.losses.Function(
        lambda x: (4 - 2.1 * x[0] ** 2 + x[0] ** 4 / 3) * x[0] ** 2 + x[0] * x[1] + (4 * x[1] ** 2 - 4) * x[1] ** 2,
        dim=2,
    )
    p = Transcription(objective, camel, 3.0, 49, endpoint=stop)
    u, rng = np.linspace(0.0, 1.0, 50)[:, None], np.random.default_rng(5)
    ends = np.array([1.2, -0.3]) * (1 - u) + stop * u
    starts = ends + np.sin(np.pi * u) * rng.normal(size=(8, 1, 2))
    together = newton.minimise_all(p, starts)
    alone = [newton.minimise(p, start) for start in starts]
    assert all(result.converged and result.definite for result in together + alone)
    for result, single in zip(together, alone, strict=True):
        np.testing.assert_allclose(result.path, single.path, rtol=0, atol=1e-9)
    assert 1 < len({round(result.action, 9) for result in alone}) <= len(set(together)) < len(starts)


def test_a_step_that_climbs_is_damped_from_the_first():
    """On a plateau's edge the Hessian is definite and the whole step overshoots: J must fall all the same."""
    loss = ln.losses.Function(lambda x: np.sqrt(1e-4 + x[0] ** 2), dim=1)
    p = Transcription(ln.Objective(gamma=0.5, horizon=8.0), loss, 8.0, 64)
    start = np.full((65, 1), 0.5)
    first = newton.minimise(p, start, limit=1)
    assert first.action < p.action(start)
    assert newton.minimise(p, start).converged


@pytest.mark.parametrize("gamma", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("terminal", [0.0, 3.0])
def test_what_a_path_pays_between_its_nodes_is_its_j(gamma, terminal):
    loss = ln.losses.Quadratic(np.diag([1.0, 4.0]), minimum=[0.0, 1.0], offset=0.2)
    path = ln.solve(ln.Objective(eta=0.5, k=2.0, gamma=gamma, horizon=3.0, terminal=terminal), loss, [1.0, -1.0])
    assert action._paid(path) == pytest.approx(path.action, rel=1e-9)
