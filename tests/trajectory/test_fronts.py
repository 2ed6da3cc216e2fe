"""When to leave a local minimum: both thresholds against closed forms, direct minimisation and a travelling front."""

import functools

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from wells import Landscape, bumped, section

import lossnav as ln
from lossnav.trajectory import phase_plane

LINE = ln.losses.Function(lambda x: x[..., 0], dim=1)
PULLED_SHALLOW_SIDE_PUSHED = bumped([-1.0, 0.0, 1.7], 8.0, -0.5, 0.15)  # barrier 0; the deeper well is at 1.7
QUARTIC = np.polyint(np.poly1d([-0.7, 0.3, 2.0], r=True))


def steep(side, edge):
    """Return a loss that is no quartic only beyond one of its wells."""
    return ln.losses.Function(lambda x: QUARTIC(x[..., 0]) + np.maximum(side * x[..., 0] - edge, 0) ** 4, dim=1)


def ends(gamma, loss, start, **objective):
    """Return where direct minimisation ends from ``start``, and J of all candidates, the best first."""
    path = ln.solve(ln.Objective(gamma=gamma, **objective), loss, [start], method="action")
    return float(path.asymptote[0]), [c.action for c in path.candidates]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_closed_forms_of_random_quartics(seed):
    """L′ = 4A(θ−m)(θ−b)(θ−p) with wells up to ten times as wide as each other, any η, k, G, and either order."""
    random = np.random.default_rng(seed)
    rise, fall = 10 ** random.uniform(-0.5, 0.5, size=2)
    roots = random.normal() + np.array([-rise, 0.0, fall])
    scale = 10 ** random.uniform(-2, 2)
    quartic = Landscape(roots, lambda t: np.log(4 * scale) + 0 * t)
    eta, k, metric = 10 ** random.uniform(-1, 1, size=3)
    objective = ln.Objective(eta, k, metric=[[metric]])
    c = np.sqrt(2 * eta * k / metric * scale)
    m, b, p = roots if fall > rise else roots[::-1]  # a quartic's wider side is the deeper
    near, far = abs(b - m), abs(p - b)
    exact = phase_plane.quartic_discounts(objective, quartic)
    assert exact.pushed == (far > 2 * near)
    assert exact.heteroclinic == pytest.approx(c * abs(m + p - 2 * b), rel=1e-12)
    dividing = c * (far + 2 * near if exact.pushed else np.sqrt(8 * near * far))
    assert exact.barrier == pytest.approx(dividing, rel=1e-12)
    assert phase_plane.heteroclinic_discount(objective, quartic) == pytest.approx(exact.heteroclinic, rel=1e-9)
    assert phase_plane.barrier_discount(objective, quartic) == pytest.approx(exact.barrier, rel=1e-9)


@pytest.mark.slow
def test_above_the_pulled_bound_crossing_still_wins_beside_the_barrier():
    """d = −1.4, γ = 2.72 > 2√(κ|h_b|) = 2.678: direct minimisation decides, and brackets the indifference point."""
    loss = section(d=-1.4)
    low, barrier, high = loss.stationary_points()[:, 0]
    end, costs = ends(2.72, loss, barrier - 0.005)
    assert end == pytest.approx(high, abs=1e-6)
    assert costs == pytest.approx([0.464596, 0.465572], abs=1e-6)
    point = phase_plane.indifference_point(ln.Objective(gamma=2.72), loss)
    assert barrier - 0.030 < point < barrier - 0.005
    assert ends(2.72, loss, point + 0.003)[0] == pytest.approx(high, abs=1e-6)
    assert ends(2.72, loss, point - 0.003)[0] == pytest.approx(low, abs=1e-6)
    assert phase_plane.indifference_point(ln.Objective(gamma=3.0292), loss) == pytest.approx(barrier, abs=1e-4)
    assert phase_plane.indifference_point(ln.Objective(gamma=3.0293), loss) == pytest.approx(barrier, abs=1e-14)


@pytest.mark.slow
def test_a_pushed_shallow_well_claims_ground_beyond_the_barrier():
    """Between the two wells' speeds only the orbit into the shallow one passes: the Skiba point is on the deep side."""
    loss, objective = PULLED_SHALLOW_SIDE_PUSHED, ln.Objective()
    pulled = 2 * np.sqrt(-loss.hessian([0.0])[0, 0])
    assert loss.value([-1.0]) > loss.value([1.7])
    threshold = phase_plane.barrier_discount(objective, loss)
    assert threshold == pytest.approx(3.40145, abs=1e-5) and threshold > pulled + 0.7
    point = phase_plane.indifference_point(ln.Objective(gamma=2.7), loss)
    assert point > 0.05
    assert ends(2.7, loss, point - 0.01)[0] == pytest.approx(-1.0, abs=1e-6)
    assert ends(2.7, loss, point + 0.01)[0] == pytest.approx(1.7, abs=1e-6)
    assert phase_plane.indifference_point(ln.Objective(gamma=3.41), loss) == 0.0


@pytest.mark.slow
def test_below_its_threshold_the_point_is_the_barrier_where_both_orbits_pass_equally_fast():
    """γ_bar is sufficient, not necessary: by symmetry at any γ, without it where θ_s changes sides."""
    symmetric = section(d=0.0)
    assert phase_plane.barrier_discount(ln.Objective(), symmetric) == pytest.approx(4.0, rel=1e-9)
    for gamma in (0.01, 0.5, 1.0, 3.0):
        assert phase_plane.indifference_point(ln.Objective(gamma=gamma), symmetric) == pytest.approx(0.0, abs=1e-9)
        for start in (-0.02, 0.02):
            assert ends(gamma, symmetric, start)[0] == pytest.approx(np.sign(start), abs=1e-4)

    loss = PULLED_SHALLOW_SIDE_PUSHED
    pulled = 2 * np.sqrt(-loss.hessian([0.0])[0, 0])
    gamma = scipy.optimize.brentq(
        lambda gamma: phase_plane.indifference_point(ln.Objective(gamma=gamma), loss), 0.0105, 1.0, xtol=1e-10
    )
    assert gamma < pulled
    speeds = [
        float(phase_plane.feedback(ln.Objective(gamma=gamma), loss, end, (-1.5, 2.5)).speed(0.0)) for end in (-1.0, 1.7)
    ]
    assert speeds[0] == pytest.approx(-speeds[1], rel=1e-6) and speeds[1] > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_wells_by_direct_minimisation_on_both_sides_of_both_thresholds(seed):
    """L′ = (θ−m)(θ−b)(θ−p)e^{αθ+β sin 2θ}: no quartics. Starts: the shallow minimum, and both sides of θ_s."""
    random = np.random.default_rng(100 + seed)
    roots = [-random.uniform(0.5, 1.5), 0.0, random.uniform(0.5, 1.5)]
    tilt, wave = random.uniform(-0.6, 0.6, size=2)
    loss = Landscape(roots, lambda t: tilt * t + wave * np.sin(2 * t), lambda t: tilt + 2 * wave * np.cos(2 * t))
    scales = {"eta": float(random.uniform(0.5, 2)), "k": float(random.uniform(0.5, 2))}
    objective = ln.Objective(**scales)
    left, _, right = roots
    shallow, deep = (left, right) if loss.value([left]) > loss.value([right]) else (right, left)
    leaving, dividing = (find(objective, loss) for find in (phase_plane.heteroclinic_discount,
                                                            phase_plane.barrier_discount))  # fmt: skip
    assert ends(0.97 * leaving, loss, shallow, **scales)[0] == pytest.approx(deep, abs=1e-5)
    assert ends(1.03 * leaving, loss, shallow, **scales)[0] == pytest.approx(shallow, abs=1e-5)
    assert phase_plane.indifference_point(ln.Objective(gamma=0.97 * leaving, **scales), loss) is None
    gamma = (leaving + dividing) / 2
    point = phase_plane.indifference_point(ln.Objective(gamma=gamma, **scales), loss)
    assert abs(point) > 1e-6
    for start in (point + 1e-3, point - 1e-3):
        nearer = right if start > point else left
        assert ends(gamma, loss, start, **scales)[0] == pytest.approx(nearer, abs=1e-5)
    assert phase_plane.indifference_point(ln.Objective(gamma=1.001 * dividing, **scales), loss) == 0.0


@functools.cache
def in_plain_units():
    """Return both thresholds, θ_s, and the reach, speed and cost of a law at d = −1.4, γ = 2.72, η = k = ℓ = s = 1."""
    loss, objective = section(d=-1.4), ln.Objective(gamma=2.72)
    return everything(objective, loss, 1.0, None)


def everything(objective, loss, size, span):
    law = phase_plane.feedback(objective, loss, size * section(d=-1.4).stationary_points()[2, 0], (-size, 3 * size))
    return (
        phase_plane.heteroclinic_discount(objective, loss, span=span),
        phase_plane.barrier_discount(objective, loss, span=span),
        phase_plane.indifference_point(objective, loss, span=span),
        law.reach[0],
        float(law.speed(0.3 * size)),
        float(law.excess(0.3 * size)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "height", "unit", "form"),
    [
        (1.0, 1e20, 1.0, "formula"),
        (1.0, 1e-20, 1.0, "formula"),
        (1e-6, 1e20, 1e-9, "function"),
    ],
)
def test_no_unit_matters(size, height, unit, form):
    """L → sL, η → η/s and θ → ℓθ, η → ℓ²η leave γ and θ/ℓ as they are; a unit of time scales every γ."""
    loss = section(a=height / size**4, b=size**2, d=-1.4 * height / size)
    span = None
    if form == "function":
        inner, span = loss, (-2 * size, 3 * size)
        loss = ln.losses.Function(inner.value, inner.gradient, inner.hessian, dim=1)
    objective = ln.Objective(size**2 / height * unit, unit, 2.72 * unit)
    units = np.array([unit, unit, size, size, size * unit, height])
    numbers = np.array(everything(objective, loss, size, span))
    np.testing.assert_allclose(numbers / units, in_plain_units(), rtol=1e-9)


@pytest.mark.slow
def test_equal_depths():
    """γ_het = 0. Mirror-symmetric wells divide at the barrier; x²(1−x)²e^{2x} does not, and solve agrees."""
    symmetric = section(d=0.0)
    assert phase_plane.heteroclinic_discount(ln.Objective(), symmetric) == 0.0
    for gamma in (0.0, 0.3, 5.0):
        assert phase_plane.indifference_point(ln.Objective(gamma=gamma), symmetric) == pytest.approx(0.0, abs=1e-9)

    barrier = (np.sqrt(5) - 1) / 2
    # L = x²(1−x)²e^{2x}: L′ = −2x(1−x)(x² + x − 1)e^{2x}, with a fourth root, a maximum, at −1.618.
    lopsided = ln.losses.Function(
        lambda t: (t**2 * (1 - t) ** 2 * np.exp(2 * t))[..., 0],
        lambda t: -2 * t * (1 - t) * (t**2 + t - 1) * np.exp(2 * t),
        lambda t: (2 * (2 * t**4 + 4 * t**3 - 4 * t**2 - 2 * t + 1) * np.exp(2 * t))[..., None],
        dim=1,
    )
    span = (-0.5, 1.5)
    assert phase_plane.heteroclinic_discount(ln.Objective(), lopsided, span=span) == 0.0

    def way(start, end):
        return abs(scipy.integrate.quad(lambda x: np.sqrt(2 * float(lopsided.value([x]))), start, end, epsabs=1e-13)[0])

    point = phase_plane.indifference_point(ln.Objective(gamma=0.0), lopsided, span=span)
    assert point == pytest.approx(0.562, abs=1e-3) and barrier - point > 0.05
    assert way(point, 0.0) == pytest.approx(way(point, 1.0), rel=1e-9)
    for gamma in (0.0, 1e-6, 0.05):
        point = phase_plane.indifference_point(ln.Objective(gamma=gamma), lopsided, span=span)
        assert ends(gamma, lopsided, point - 2e-3)[0] == pytest.approx(0.0, abs=1e-4)
        assert ends(gamma, lopsided, point + 2e-3)[0] == pytest.approx(1.0, abs=1e-4)


def test_an_offset_of_the_loss_hides_no_difference_of_depth():
    inner = section(d=-1e-4)
    lifted = ln.losses.Function(lambda t: inner.value(t) + 1e13, inner.gradient, inner.hessian, dim=1)
    expected = phase_plane.quartic_discounts(ln.Objective(), inner).heteroclinic
    assert phase_plane.heteroclinic_discount(ln.Objective(), lifted) == pytest.approx(expected, rel=1e-7)


@pytest.mark.slow
def test_thresholds_are_speeds_of_fronts():
    """u_t = u_xx − L′(u) on a line, by the method of lines: the deep phase invades the shallow one, and the barrier."""
    loss = section(d=-1.4)
    low, barrier, high = loss.stationary_points()[:, 0]
    x, dx = np.linspace(-25.0, 25.0, 1001, retstep=True)

    def rates(_, u):
        u_xx = np.diff(np.pad(u, 1, mode="edge"), 2) / dx**2
        return u_xx - loss.gradient(u[:, None])[:, 0]

    def measured(state, times, start):
        level = (state + high) / 2
        front = np.where(x < start, high, state)
        solution = scipy.integrate.solve_ivp(rates, (0, times[-1]), front, "LSODA", times, rtol=1e-7, atol=1e-10,
                                             lband=1, uband=1)  # fmt: skip
        places = []
        for u in solution.y.T:
            i = int(np.flatnonzero(u > level)[-1])
            places.append(x[i] + dx * (u[i] - level) / (u[i] - u[i + 1]))
        return (places[1] - places[0]) / (times[1] - times[0])

    objective = ln.Objective()
    het, bar = (find(objective, loss) for find in (phase_plane.heteroclinic_discount, phase_plane.barrier_discount))
    assert measured(low, [8.0, 16.0], -15.0) == pytest.approx(het, rel=3e-3)
    assert measured(barrier, [7.0, 10.0], -20.0) == pytest.approx(bar, rel=3e-3)


@pytest.mark.slow
def test_several_wells_pairwise_and_merged():
    """Roots −2, −1.3, 0, .7, 2: leaving the first well pays for the third where it would not for the second."""
    loss = Landscape([-2.0, -1.3, 0.0, 0.7, 2.0])
    with pytest.raises(ValueError, match="exactly two"):
        phase_plane.heteroclinic_discount(ln.Objective(), loss)
    first = phase_plane.heteroclinic_discount(ln.Objective(), loss, span=(-2.5, 0.3))
    second = phase_plane.heteroclinic_discount(ln.Objective(), loss, span=(-0.5, 2.5))
    assert (first, second) == (pytest.approx(0.444368, abs=1e-6), pytest.approx(1.601863, abs=1e-6))
    assert ends(0.6, loss, -2.0)[0] == pytest.approx(2.0, abs=1e-4)
    assert ends(0.9, loss, -2.0)[0] == pytest.approx(-2.0, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: phase_plane.barrier_discount(ln.Objective(), ln.losses.DoubleWell()), "dim = 2"),
        (lambda: phase_plane.barrier_discount(ln.Objective(horizon=2.0), section()), "infinite horizon"),
        (lambda: phase_plane.barrier_discount(ln.Objective(), section(d=-2.0)), "exactly two"),
        (lambda: phase_plane.barrier_discount(ln.Objective(), LINE), "0 stationary points"),
        (lambda: phase_plane.barrier_discount(ln.Objective(), LINE, span=(-1, 1)), "0 stationary points"),
        # A maximum beyond the wells: what lies behind it may be deeper than either.
        (lambda: phase_plane.heteroclinic_discount(ln.Objective(), Landscape([-1, 0, 1.5, 2])), "exactly two"),
        (lambda: phase_plane.barrier_discount(ln.Objective(), section(), span=(1, -1)), "span"),
        (lambda: phase_plane.barrier_discount(ln.Objective(), section(), span=(-2, 0.2)), "span = \\(-2, 0.2\\)"),
        (lambda: phase_plane.quartic_discounts(ln.Objective(), PULLED_SHALLOW_SIDE_PUSHED), "degree four"),
        (lambda: phase_plane.quartic_discounts(ln.Objective(), steep(-1, 0.7), span=(-3, 4)), "degree four"),
        (lambda: phase_plane.quartic_discounts(ln.Objective(), steep(1, 2.0), span=(-3, 4)), "degree four"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()
