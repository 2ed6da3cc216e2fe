"""Units are a choice, and arguments of any size are answered or refused at once."""

import math

import mpmath
import numpy as np
import pytest

import lossnav as ln
from lossnav import uncertainty as un

UNITS = [{name: size} for name in ("cost", "time", "length", "loss") for size in (1e-20, 1e-3, 1e3, 1e20)]


def restated(
    cost=1.0, time=1.0, length=1.0, loss=1.0, *, wells=False, gamma=0.5, switch=None, horizon=math.inf, **options
):
    """A plan in other units: t → time·t, u → length·u, L → L/loss with k → loss·k, J → cost·J."""
    prior = 3.0 * length**2
    problem = un.Problem(0.7 / (time * cost), 1.3 * loss * cost / time, gamma / time, 0.8 * cost / time, prior)

    def task(h, centre):
        if wells:
            return un.Wells([[centre * length]], [1 / loss], [0.6 * length], bowl=0.4 / loss / length**2)
        return ln.losses.Quadratic([[h / loss / length**2]], minimum=[centre * length], offset=0.1 / loss)

    switches = [] if switch is None else [(switch * time, task(0.7, -0.4))]
    start = [length], [0.2 * length**2]
    path = un.plan(problem, task(2.0, 0.3), *start, switches=switches, horizon=horizon * time, **options)
    assert path.problem is problem
    t = np.array([0.0, 0.4, 1.3, 2.0])
    log = -0.8 * cost / time * math.log(length)  # what the unit of v adds to the cost rate
    forever = 1 / problem.gamma if horizon == math.inf and gamma else horizon * time
    if gamma and horizon < math.inf:
        forever = -math.expm1(-gamma * horizon) / problem.gamma
    shift = log * forever if math.isfinite(forever) else 0.0
    return {
        "action": (path.action - shift) / cost,
        "excess": path.excess / cost,
        "mean": path.mean(t * time) / length,
        "log variance": path.log_variance(t * time) - 2 * math.log(length),
        "rate": path.log_rate(t * time) * time,
        "mean rate": path.mean_rate(t * time) * time / length,
        "rest": path.rest.T / [length, length**2],
    }


CASES = {
    "forever": {},
    "deadline": {"horizon": 2.0},
    "switch": {"switch": 0.7},
    "undiscounted": {"gamma": 0.0},
    "foreseen": {"switch": 0.7, "foreseen": True},
    "wells": {"wells": True},
}


@pytest.mark.parametrize("case", CASES)
def test_plans_do_not_feel_the_units(case):
    base = restated(**CASES[case])
    for change in UNITS:
        changed = restated(**change, **CASES[case])
        for name, value in base.items():
            if name == "action" and case == "undiscounted":
                continue  # ±inf, and its sign is that of a constant which the unit of v sets
            np.testing.assert_allclose(changed[name], value, rtol=1e-6, atol=1e-6, err_msg=f"{change} {name}")


ORDINARY = {"eta": 1.0, "k": 1.0, "gamma": 0.5, "entropy": 0.8, "prior_variance": 3.0, "mean": 0.5, "variance": 0.2}
EXTREMES = (1e-300, 1e-20, 1e20, 1e300)


@pytest.mark.parametrize("name", ["eta", "k", "gamma", "entropy", "prior_variance", "mean", "variance", "t"])
@pytest.mark.parametrize("wells", [False, True])
def test_overdamped_paths_answer_or_refuse(name, wells, monkeypatch):
    """``overdamped_path(variance=1e300)`` did not end, nor did many others; now calls are counted."""
    monkeypatch.setattr("lossnav.trajectory.weights.overdamped._MOST_CALLS", 5_000)
    bowl = un.average(ln.losses.Quadratic([[2.0]], minimum=[0.3]))
    loss = un.Wells([[0.3]], [1.0], [0.6], bowl=0.4) if wells else bowl
    for size in EXTREMES:
        values = {**ORDINARY, "t": 2.0, name: size}
        mean, variance, t = (values.pop(key) for key in ("mean", "variance", "t"))
        problem = un.Problem(**values)
        try:
            means, spread = un.overdamped_path(problem, loss, [mean], [variance], [t / 2, t])
        except ln.NotConverged as error:
            assert "too fast" in str(error) or "without bound" in str(error)
            continue
        assert np.all(np.isfinite(means)) and np.all(spread >= 0)
        if not wells:
            exact = un.overdamped_variance([t / 2, t], initial=variance, curvature=2.0, **values)
            np.testing.assert_allclose(spread[:, 0], exact, rtol=1e-6)
            pull = problem.k * 2.0 + problem.pull
            rest = problem.k * 2.0 * 0.3 / pull
            offset = un.overdamped_offset([t / 2, t], initial=variance, curvature=2.0, **values)
            np.testing.assert_allclose(means[:, 0], rest + (mean - rest) * offset, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("eta", [1e-6, 1e-100])
def test_under_a_strong_discount_plans_are_overdamped_paths(eta):
    """To within ηk·h/γ²; a metric that differs across the way took a million steps, and did not converge."""
    problem = un.Problem(eta=eta, gamma=0.5, entropy=0.8, prior_variance=3.0)
    loss, times = ln.losses.Quadratic([[2.0]], minimum=[0.3]), np.array([0.1, 0.5, 2.0]) / eta / 4
    path = un.plan(problem, loss, [0.5], [0.2])
    means, spread = un.overdamped_path(problem, loss, [0.5], [0.2], times)
    np.testing.assert_allclose(path.mean(times), means, rtol=max(eta, 1e-8))
    np.testing.assert_allclose(path.variance(times), spread, rtol=max(eta, 1e-8))
    assert path.converged and len(path.times) <= 16385


def test_a_fast_start_that_calms_down_is_integrated():
    loss = un.average(ln.losses.Quadratic([[2.0]], minimum=[0.3]))
    _, spread = un.overdamped_path(un.Problem(gamma=2.0, entropy=0.8), loss, [0.5], [1e9], [0.5, 2.0])
    exact = un.overdamped_variance([0.5, 2.0], initial=1e9, curvature=2.0, eta=1, k=1, gamma=2.0, entropy=0.8)
    np.testing.assert_allclose(spread[:, 0], exact, rtol=1e-6)


@pytest.mark.parametrize("name", ["eta", "k", "gamma", "entropy", "prior_variance", "mean", "variance", "horizon"])
def test_plans_answer_or_refuse(name):
    loss = ln.losses.Quadratic([[2.0]], minimum=[0.3])
    for size in (1e-300, 1e300):
        values = {**ORDINARY, "horizon": math.inf, name: size}
        mean, variance, horizon = (values.pop(key) for key in ("mean", "variance", "horizon"))
        try:
            path = un.plan(un.Problem(**values), loss, [mean], [variance], horizon=horizon)
        except (ValueError, ln.NotConverged):
            continue
        assert path.converged and math.isfinite(path.action)
        assert path.mean(0.0)[0, 0] == pytest.approx(mean) and path.variance(0.0)[0, 0] == pytest.approx(variance)


@pytest.mark.parametrize("near", [1.0, 1e-4, 1e-8, 1e-14])
def test_divergence_and_distance_of_neighbours(near):
    """Of e^x − 1 − x half of the digits cancelled, and more of a difference of deviations."""
    for side in (0.7, -0.7, 0.3):
        v, w, m, n = 0.37, 0.37 * (1 + side * near), 1.3, 1.3 * (1 + near)
        with mpmath.workdps(60):
            a, b, far = mpmath.mpf(v), mpmath.mpf(w), mpmath.mpf(m) - mpmath.mpf(n)
            wider = (a / b - 1 - mpmath.log(a / b)) / 2
            divergence = wider + far**2 / b / 2
            chord = (far**2 / 2 + (mpmath.sqrt(a) - mpmath.sqrt(b)) ** 2) / (4 * mpmath.sqrt(a * b))
            length = 2 * mpmath.sqrt(2) * mpmath.asinh(mpmath.sqrt(chord))
        assert float(un.kl_divergence(m, v, n, w)) == pytest.approx(float(divergence), rel=1e-14, abs=0)
        assert float(un.kl_divergence(m, v, m, w)) == pytest.approx(float(wider), rel=1e-14, abs=0)
        assert float(un.distance(m, v, n, w)) == pytest.approx(float(length), rel=1e-14, abs=0)


def test_divergence_and_distance_far_apart():
    """log1p(−1) made the divergence infinite where it is 24.5, and squares under- and overflowed."""
    assert float(un.kl_divergence(0.0, 1e-20)) == pytest.approx((-1 + 20 * math.log(10)) / 2, rel=1e-12)
    assert float(un.kl_divergence(0.0, 1.0, 0.0, 1e300)) == pytest.approx((300 * math.log(10) - 1) / 2, rel=1e-12)
    assert float(un.kl_divergence(0.0, 1.0 + 1e-9)) == pytest.approx(0.25e-18, rel=1e-6, abs=0)
    assert float(un.distance(0.0, 1.0, 1e-300, 1.0)) == pytest.approx(1e-300, rel=1e-12, abs=0)
    far = float(un.distance(1e300, 1.0, 0.0, 1.0))
    assert far == pytest.approx(2 * math.sqrt(2) * math.log(1e300 / math.sqrt(2)), rel=1e-12)
    assert float(un.distance(0.0, 1e-300, 0.0, 1.0)) == pytest.approx(math.sqrt(0.5) * 300 * math.log(10), rel=1e-12)


@pytest.mark.parametrize(
    "ends", [(0, 1e-20, 2, 1), (2, 1, 0, 1e-20), (0, 1e-300, 2, 1), (0, 1e-20, 2e-10, 1e-20), (3, 2, 3 + 9e-8, 5)]
)
def test_geodesics_are_exact_in_standard_deviations(ends):
    """Half-way is half the distance from both ends, also where the deviation is 1e−150 of the way."""
    for s in (0.25, 0.5, 0.75):
        mean, variance = (float(x) for x in un.geodesic(s, *ends))
        distance = float(un.distance(*ends))
        assert float(un.distance(*ends[:2], mean, variance)) == pytest.approx(s * distance, rel=1e-9)
        assert min(ends[0], ends[2]) < mean < max(ends[0], ends[2])


@pytest.mark.parametrize("other", [1e-6, 1.0, 1e6])
def test_a_straight_geodesic_is_the_limit_of_bent_ones(other):
    """Between unlike deviations the mean goes while the wider one lasts, and not evenly."""
    fractions, wide = np.linspace(0.0, 1.0, 9), max(1.0, math.sqrt(other))
    straight, bent = (un.geodesic(fractions, 0.0, 1.0, end, other)[0] / end for end in wide * np.array([1e-8, 1e-6]))
    np.testing.assert_allclose(straight, bent, rtol=1e-8, atol=1e-15)
