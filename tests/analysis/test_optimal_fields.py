"""Which fields are optimal for anything (theory: N17–N20 as corrected), against the solver and Lyapunov's equation."""

import math

import numpy as np
import pytest
import scipy
import sympy

import lossnav as ln

X, Y = sympy.symbols("x y")
RING = ln.losses.Function((sympy.sqrt(X**2 + Y**2) - 1) ** 2 / 2)


def height(x):
    """Two wells, one deeper, with a valley between them that bends."""
    return (x[..., 0] ** 2 - 1) ** 2 / 4 + x[..., 1] ** 2 * (2 + x[..., 0]) / 2 + 0.1 * x[..., 0]


def slope(x):
    return np.stack([x[..., 0] * (x[..., 0] ** 2 - 1) + x[..., 1] ** 2 / 2 + 0.1, x[..., 1] * (2 + x[..., 0])], -1)


WELL = ln.losses.Function(height, slope, dim=2)
FAR = np.array([[1.5, 0.2], [-0.4, 1.9], [-1.1, -1.2]])
NEAR = np.array([[1.3, 0.4], [0.6, -0.5], [1.6, 0.7], [0.8, 0.3]])


def descent(loss, preconditioner=None):
    matrix = np.eye(2) if preconditioner is None else np.asarray(preconditioner)
    return lambda x: -loss.gradient(x) @ matrix.T


def linear(law):
    return lambda x: -x @ np.asarray(law).T


def test_n19_gradient_descent_is_optimal_for_the_loss_it_descends_where_its_root_is_a_distance():
    for gamma in (0.3, 2.0):
        verdict = ln.optimal_for(descent(RING), loss=RING, metric="identity", gamma=gamma, at=FAR)
        assert verdict.exists and verdict.objective.eta == pytest.approx(1 + gamma)  # r (r + γ) = a, r = 1
    best = ln.solve(verdict.objective, RING, FAR[0]).velocity(0.0)
    np.testing.assert_allclose(best, descent(RING)(FAR[0]), rtol=1e-5)
    assert ln.optimal_for(descent(RING), loss=RING, metric="identity", at=FAR).gamma == (0.0, math.inf)
    for loss in (WELL, ln.losses.Quadratic(np.diag([1.0, 2.0]), minimum=[0.0, 0.0])):
        assert not ln.optimal_for(descent(loss), loss=loss, metric="identity", at=NEAR).exists


@pytest.mark.parametrize("known", [{}, {"metric": np.eye(2)}])
def test_n19_says_why_a_law_is_optimal_for_no_discount_of_a_loss(known):
    other = ln.losses.Function(lambda x: x[..., 0] ** 4 + x[..., 1] ** 2 + x[..., 0] * x[..., 1], dim=2)
    bowl = ln.losses.Function(lambda x: np.cosh(x).sum(-1) + 0.3 * x[..., 0] ** 2 * x[..., 1] ** 2, dim=2)
    at = np.random.default_rng(0).normal(size=(12, 2))
    descent, climb = (lambda x: -bowl.gradient(x)), bowl.gradient
    for law, loss, why in (
        (descent, bowl, "is approached only as gamma grows without bound (N19)"),
        (climb, bowl, "is approached only as gamma grows without bound, and for no positive metric and loss (N19)"),
        (descent, other, "is missed by 0."),
    ):
        found = ln.optimal_for(law, at=at, loss=loss, **known)
        assert not found.exists and why in found.why
    at_once = ln.optimal_for(climb, at=at, loss=bowl, gamma=0.5, **known)
    assert not at_once.exists and "is missed by 0." in at_once.why
    # u = 0.2 θ: ∂u u − γu = −0.06 θ, of the wrong sign.
    round_bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    slow = ln.optimal_for(lambda x: 0.2 * x, at=at, loss=round_bowl, gamma=0.5, **known)
    assert not slow.exists and "holds, but for no positive metric and loss" in slow.why


def test_n19_reads_discount_and_gain_of_what_the_solver_does():
    """The best law on a bowl, of two curvatures and as a field, tells both; the root that runs away does not pass."""
    bowl, eta, gamma = ln.losses.Quadratic(np.diag([1.0, 9.0]), minimum=[0.0, 0.0]), 0.8, 1.3
    h = np.array([1.0, 9.0])
    rates = np.sqrt(gamma**2 / 4 + eta * h) - gamma / 2
    verdict = ln.optimal_for(linear(np.diag(rates)), loss=bowl, metric="identity", at=NEAR)
    assert verdict.exists and verdict.gamma[0] == pytest.approx(gamma, rel=1e-6)
    assert verdict.objective.eta == pytest.approx(eta, rel=1e-6)
    away = ln.optimal_for(linear(-np.diag(rates + gamma)), loss=bowl, metric="identity", gamma=gamma, at=NEAR)
    assert not away.exists and "does not settle" in away.why


def test_the_origin_is_a_point_like_any_other():
    bowl = ln.losses.Quadratic([[2.0]], minimum=[1.0])
    verdict = ln.optimal_for(lambda x: -(x - 1), loss=bowl, metric="identity", gamma=1.0, at=[[0.0]])
    assert verdict.exists and verdict.objective.eta == pytest.approx(1.0)  # r (r + γ) = 2a, r = 1


def test_n17_every_field_without_rotation_is_optimal_for_some_loss():
    """That loss is made here, and the solver asked for the field."""
    gamma, law = 0.7, descent(WELL)
    assert ln.optimal_for(law, metric="identity", gamma=gamma, at=NEAR).exists
    charged = ln.losses.Function(
        lambda x: gamma * WELL.value(x) + (WELL.gradient(x) ** 2).sum(-1) / 2,
        lambda x: gamma * WELL.gradient(x) + np.einsum("...ij,...j->...i", WELL.hessian(x), WELL.gradient(x)),
        dim=2,
    )
    best = ln.solve(ln.Objective(gamma=gamma), charged, NEAR[1]).velocity(0.0)
    np.testing.assert_allclose(best, law(NEAR[1]), rtol=1e-5, atol=1e-7)
    turned = ln.optimal_for(lambda x: law(x) + 0.1 * x[..., ::-1] * [1, -1], metric="identity", at=NEAR)
    assert not turned.exists and "N17" in turned.why


@pytest.mark.parametrize("seed", range(6))
def test_n18_two_points_give_the_metric_and_a_third_tests_it(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    metric = root @ root.T
    law = descent(WELL, np.linalg.inv(metric))
    verdict = ln.optimal_for(law, at=NEAR)
    assert verdict.exists, verdict.why
    recovered = verdict.objective.metric
    np.testing.assert_allclose(recovered / recovered[0, 0], metric / metric[0, 0], rtol=1e-5)
    mixed = rng.normal(size=(2, 2))
    perturbed = ln.optimal_for(lambda x: law(x) + np.sin(x @ mixed) * 0.3, at=NEAR)
    assert not perturbed.exists and "self-adjoint in a metric" in perturbed.why


@pytest.mark.parametrize("seed", range(8))
def test_a_law_that_is_made_optimal_is_recognised_in_any_unit(seed):
    """V first: −G⁻¹∇V is optimal for kL = γV + |∇V|²/2, by (N17), and so below the bound of every G(θ), by (N20)."""
    rng = np.random.default_rng(seed)
    dim, unit, time = int(rng.integers(1, 4)), *10.0 ** rng.choice([-6.0, 0.0, 5.0], size=2)
    gamma, metric = float(rng.choice([0.1, 1.0, 5.0])), "identity" if seed % 2 else "constant"
    root, quartic, wave = rng.normal(size=(dim, dim)), *rng.uniform(0, 1, (2, dim))
    bowl, inverse = root @ root.T + 0.3 * np.eye(dim), np.eye(dim)
    if metric == "constant":
        inverse += np.linalg.inv(np.cov(rng.normal(size=(dim, 9))) + np.eye(dim))

    def slope(x):
        return x @ bowl + quartic * x**3 - 0.3 * np.sin(x @ wave)[..., None] * wave

    def value(x):
        height = 0.5 * np.einsum("...i,ij,...j", x, bowl, x) + (quartic * x**4).sum(-1) / 4 + 0.3 * np.cos(x @ wave)
        return gamma * height + 0.5 * np.einsum("...i,ij,...j", slope(x), inverse, slope(x))

    def pull(x):
        hessian = bowl + 3 * (quartic * x**2)[..., None] * np.eye(dim)
        hessian = hessian - 0.3 * np.cos(x @ wave)[..., None, None] * np.outer(wave, wave)
        return gamma * slope(x) + np.einsum("...ij,...j->...i", hessian, slope(x) @ inverse)

    loss = ln.losses.Function(lambda x: value(x / unit), lambda x: pull(x / unit) / unit, dim=dim)
    law = lambda x: -slope(x / unit) @ inverse * unit / time
    at = unit * rng.normal(size=(6, dim))
    verdict = ln.optimal_for(law, loss=loss, metric=metric, at=at)
    assert verdict.exists and verdict.gamma[0] * time == pytest.approx(gamma, rel=1e-4)
    assert ln.optimal_for(law, metric=metric, at=at).exists
    anywhere = ln.optimal_for(law, loss=loss, metric="place", at=at)
    assert anywhere.exists and anywhere.gamma[1] * time > gamma


@pytest.mark.parametrize("law", [[[0.3, -1.0], [1.0, 0.3]], [[1.0, -6.0], [0.0, 2.0]]], ids=["spiral", "shear"])
def test_n20_the_largest_discount_of_a_metric_that_depends_on_the_place(law):
    """On a bowl V is a quadratic form by Lyapunov's equation, and H − γP has to be positive definite."""
    law, hessian = np.array(law), np.diag([1.0, 6.0]) if law[0][1] == -1 else np.eye(2)

    def margin(gamma):
        p = scipy.linalg.solve_continuous_lyapunov(-(law + gamma * np.eye(2)).T, -2 * hessian)
        return np.linalg.eigvalsh(hessian - gamma * p)[0]

    most = scipy.optimize.brentq(margin, 1e-3, 1.0)
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    bowl = ln.losses.Quadratic(hessian, minimum=[0.0, 0.0])
    verdict = ln.optimal_for(linear(law), loss=bowl, metric="place", at=around)
    assert verdict.exists and verdict.gamma[0] == 0
    assert most * (1 - 1e-4) < verdict.gamma[1] < most * 1.003  # from starts around, an upper bound
    assert ln.optimal_for(linear(law), loss=bowl, metric="place", gamma=0.95 * most, at=around).exists
    assert not ln.optimal_for(linear(law), loss=bowl, metric="place", gamma=1.02 * most, at=around).exists


def test_n20_a_law_that_does_not_settle_is_optimal_for_no_metric():
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    assert not ln.optimal_for(linear([[0.0, -1.0], [1.0, 0.0]]), loss=bowl, metric="place", at=NEAR).exists
    uphill = ln.optimal_for(
        linear(np.eye(2)), loss=ln.losses.Function(lambda x: -(x**2).sum(-1), dim=2), metric="place", at=NEAR
    )
    assert not uphill.exists and "no gamma" in uphill.why


def test_n20_over_two_basins_to_cross_between_them_costs_what_the_law_saves():
    """Whatever path leads across the ridge: J exceeds V by ∫e^{−γt}|θ̇ − u|²_G/2, since V does not jump there."""
    gamma, dt, mixed = 0.6, 0.04, np.array([[1.0, 0.5], [0.5, 1.5]])

    def pull(x):
        return -slope(x) @ mixed

    def value(theta):
        """V = 2∫e^{−2γt}L dt along the law's own path, by Runge–Kutta, and where that ends; also of complex numbers."""
        total, weight = 0.0, 1.0
        for _ in range(int(30 / dt)):
            a = pull(theta)
            b = pull(theta + dt / 2 * a)
            c = pull(theta + dt / 2 * b)
            after = theta + dt / 6 * (a + 2 * b + 2 * c + pull(theta + dt * c))
            middle = (theta + after) / 2 + dt / 8 * (a - pull(after))
            fade = np.exp(-gamma * dt)
            total = total + 2 * dt / 6 * weight * (height(theta) + 4 * fade * height(middle) + fade**2 * height(after))
            theta, weight = after, weight * fade**2
        return total + weight * height(theta) / gamma, theta

    rng, t = np.random.default_rng(0), np.linspace(0.0, 1.0, 601)
    apart = []
    for _ in range(3):
        start, end = np.array([-1.2, 0.0]) + 0.3 * rng.normal(size=2), np.array([1.2, 0.0]) + 0.3 * rng.normal(size=2)
        amplitude, phase = rng.normal(size=2), np.pi * t[:, None]
        path, speed = (
            start + t[:, None] * (end - start) + np.sin(phase) * amplitude,
            end - start + np.pi * np.cos(phase) * amplitude,
        )
        v, ends = value(path)
        assert ends[0, 0] < 0 < ends[-1, 0]
        p = -np.stack([value(path + 1e-30j * e)[0].imag / 1e-30 for e in np.eye(2)], axis=1)
        u = pull(path)
        np.testing.assert_allclose((u * p).sum(-1), 2 * (height(path) - gamma * v), rtol=1e-4, atol=1e-7)  # (N20)
        across = u[:, ::-1] * [1, -1]  # G is free where the law does not go

        def square(w, p=p, u=u, across=across):
            return (w * p).sum(-1) ** 2 / (u * p).sum(-1) + (w * across).sum(-1) ** 2 / (across**2).sum(-1)

        faded = np.exp(-gamma * t)
        paid = scipy.integrate.trapezoid(faded * (square(speed) / 2 + height(path)), t) + faded[-1] * v[-1]
        lost = scipy.integrate.trapezoid(faded * square(speed - u) / 2, t)
        apart.append((paid - v[0]) / lost - 1)
    assert np.max(np.abs(apart)) < 1e-2 and lost > 0


def test_n20_a_law_that_settles_on_a_slope_is_optimal_for_no_metric():
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    aside = ln.optimal_for(lambda x: -(x - 0.3), loss=bowl, metric="place", at=[[1.0, 1.0], [2.0, 0.5]])
    assert not aside.exists and "[0.3, 0.3]" in aside.why
    cosine = ln.losses.Function(lambda x: 1 + np.cos(x).sum(-1), lambda x: -np.sin(x), dim=1)
    assert ln.optimal_for(lambda x: np.pi - x, loss=cosine, metric="place", at=[[0.0]]).exists  # flat at the start, too
    verdict = ln.optimal_for(descent(WELL), loss=WELL, metric="place", at=[[-0.9, 0.4], [0.8, -0.3]])
    assert verdict.exists and verdict.gamma == (0.0, math.inf)


def test_a_curve_bounds_the_discount_by_its_own_future_average():
    """Against the average itself, by quadrature; no rise, no bound; below the last value none is left."""
    t = np.linspace(0.0, 30.0, 6001)
    loss = np.exp(-0.6 * t) * (1 + 0.8 * np.sin(2 * t))
    bound = ln.infer.Curve(t, loss).discount_bound()

    def excess(gamma):
        ahead = [scipy.integrate.simpson(2 * gamma * np.exp(-2 * gamma * (t[i:] - t[i])) * loss[i:], x=t[i:])
                 for i in range(0, 2001, 5)]  # fmt: skip
        return np.min(loss[:2001:5] / ahead - 1)

    assert excess(bound * 0.99) > 0 > excess(bound * 1.01)
    assert ln.infer.Curve(t, np.exp(-t)).discount_bound() == math.inf
    assert ln.infer.Curve(t, np.exp(-t) * np.cos(t)).discount_bound() == 0.0


def test_a_law_is_judged_in_any_unit_whose_square_is_a_number():
    loss = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    for unit in (1e-90, 1e90):
        verdict = ln.optimal_for(linear(unit * np.eye(2)), at=NEAR, loss=loss, gamma=unit)
        assert verdict.exists, verdict.why
        (a, _), (_, b) = verdict.objective.metric_matrix(2)  # r(r + γ) = h/G
        assert a == pytest.approx(0.5 / unit**2) and b == pytest.approx(0.5 / unit**2)
    with pytest.raises(ValueError, match=r"^law has the size 1e\+120"):
        ln.optimal_for(linear(1e120 * np.eye(2)), at=NEAR)


def test_what_points_cannot_tell_is_refused_by_name():
    for options, argument in (
        ({"at": NEAR, "dt": 1.0}, "at"), ({"at": NEAR, "metric": "place"}, "metric"),
        ({"at": [[0.0, 0.0]]}, "at"), ({"at": NEAR, "gamma": 0.0}, "gamma"), ({"at": np.zeros((0, 2))}, "at"),
        ({"at": [[0.0, 1.0]], "loss": ln.losses.Quadratic(np.diag([1.0, 0.0]), minimum=[0.0, 0.0])}, "loss is flat"),
        ({"at": NEAR, "loss": ln.task.Phases([(0.0, ln.losses.DoubleWell())])}, "loss = .*depends on time"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{argument}"):
            ln.optimal_for(linear(np.eye(2)), **options)
    with pytest.raises(ValueError, match=r"^metric"):
        ln.optimal_for(np.eye(2), metric="place")


@pytest.mark.parametrize(
    "law",
    [lambda x: -x / np.linalg.norm(x, axis=-1, keepdims=True), lambda x: -np.sign(x) - 0.1 * x, lambda x: -np.sqrt(x)],
)
def test_a_law_that_rests_in_a_finite_time_ends_the_search(law):
    """Integrators chatter where it arrives, or ask beyond where it is defined."""
    with np.errstate(all="ignore"):
        verdict = ln.optimal_for(law, at=[[1.0, 0.5]], metric="identity")
    assert not verdict.exists and "as far as it was followed" in verdict.why


def test_a_law_that_is_constant_around_some_points_is_followed_from_there():
    assert ln.optimal_for(lambda x: -np.clip(3 * x, -1, 1), at=[[1.0, 0.2], [0.1, 0.3]], metric="identity").exists
    with pytest.raises(ValueError, match="does not say where it rests"):
        ln.optimal_for(lambda x: -np.ones_like(x), at=[[1.0, 0.5]], metric="identity")
    with pytest.raises(ValueError, match=r"not finite at \[1.0, 0.5\]"):
        ln.optimal_for(lambda x: x * np.nan, at=[[1.0, 0.5]], metric="identity")
