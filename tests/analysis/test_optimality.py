"""Which laws are optimal for anything (theory: N1–N12 as corrected), against Riccati's equation and random search."""

import math

import numpy as np
import pytest
import scipy

import lossnav as ln


def spd(rng, size, low=0.3, high=3.0):
    turn, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return (turn * rng.uniform(low, high, size)) @ turn.T


def riccati(metric, hessian, gamma, drift=0.0):
    """Return K of the optimum θ̇ = −Kθ, by scipy's solver: not by a formula of ours."""
    size = len(metric)
    flow = drift - gamma / 2 * np.eye(size)
    p = scipy.linalg.solve_continuous_are(flow, np.eye(size), hessian, metric)
    return np.linalg.solve(metric, p) - drift


def bowl(hessian):
    return ln.losses.Quadratic(hessian, minimum=np.zeros(len(hessian)))


def test_n1_real_positive_eigenvalues_and_nothing_else():
    rng, share = np.random.default_rng(0), 0
    for _ in range(400):
        law = rng.normal(size=(2, 2))
        values = np.linalg.eigvals(law)
        wanted = bool(np.all(values.imag == 0) and np.all(values.real > 0))
        verdict = ln.optimal_for(law)
        assert verdict.exists == wanted, verdict.why
        share += wanted
        if wanted:
            back = riccati(verdict.objective.metric, verdict.hessian, verdict.objective.gamma)
            np.testing.assert_allclose(back, law, atol=1e-6 * np.linalg.norm(law))
            assert verdict.gamma == (0.0, math.inf)
    assert 0.06 < share / 400 < 0.15  # (√2 − 1)/4 = .104


def test_n1_shares_of_random_laws():
    """(√2 − 1)/4 of Gaussian laws in the plane, by the trace and the determinant of 10⁵."""
    m = np.random.default_rng(1).normal(size=(100_000, 2, 2))
    trace, det = np.trace(m, axis1=1, axis2=2), np.linalg.det(m)
    assert np.mean((trace**2 > 4 * det) & (trace > 0) & (det > 0)) == pytest.approx((math.sqrt(2) - 1) / 4, abs=0.003)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_n2_n3_n4_laws_of_riccatis_equation_are_recognised(size):
    rng = np.random.default_rng(size)
    for _ in range(15):
        metric, hessian, gamma = spd(rng, size), spd(rng, size), float(rng.choice([0.0, 0.5, 3.0]))
        law = riccati(metric, hessian, gamma)
        for known in ({}, {"gamma": gamma}, {"metric": metric}, {"loss": bowl(hessian)}, {"loss": bowl(3 * hessian)},
                      {"metric": metric, "loss": bowl(hessian)}, {"loss": bowl(hessian), "gamma": 7.0}):  # fmt: skip
            verdict = ln.optimal_for(law, **known)
            assert verdict.exists and verdict.residual < 1e-8, verdict.why
            assert ("metric" in dict(verdict.free)) == (not known or list(known) == ["gamma"])
        scaled = ln.optimal_for(law, metric=metric, loss=bowl(2.5 * hessian))
        if size > 1:
            assert scaled.gamma[0] == pytest.approx(gamma, abs=1e-6) and scaled.objective.eta == pytest.approx(0.4)
        else:
            assert scaled.gamma == (0.0, math.inf), "one curvature leaves the discount open"


def test_n3_the_metric_of_each_discount():
    hessian, pre = np.array([[2.0, 1.0], [1.0, 3.0]]), np.diag([1.0, 2.0])
    verdict = ln.optimal_for(pre @ hessian, loss=bowl(hessian), gamma=0.5)
    np.testing.assert_allclose(np.linalg.inv(verdict.objective.metric), pre @ hessian @ pre + 0.5 * pre, atol=1e-12)
    path = ln.solve(verdict.objective, bowl(hessian), [1.0, -0.5])
    np.testing.assert_allclose(path.velocity(0.0), -pre @ hessian @ [1.0, -0.5], atol=1e-9)
    # mutations: S H S without γS, or another root, are metrics of other laws
    wrong = riccati(np.linalg.inv(pre @ hessian @ pre), hessian, 0.5)
    assert np.linalg.norm(wrong - pre @ hessian) > 0.05


def test_n3_a_law_that_leaves_a_saddle_needs_a_discount():
    hessian, pre = np.diag([2.0, -0.5]), np.eye(2)
    verdict = ln.optimal_for(pre @ hessian, loss=bowl(hessian))
    assert verdict.exists and verdict.gamma == (1.0, math.inf)
    assert not ln.optimal_for(pre @ hessian, loss=bowl(hessian), gamma=1.0).exists


def test_n5_the_other_root_is_refused():
    """P < 0 passes the identities: A = 0, M = +1 is no optimum, and A = −2, M = +1 is none either."""
    assert not ln.optimal_for([[-1.0]], gamma=0.0).exists
    assert not ln.optimal_for([[-1.0]], drift=ln.drifts.Linear([[0.0]]), gamma=0.0).exists
    rng = np.random.default_rng(2)
    for _ in range(30):  # antistabilising roots: P = −(the one for −A), of Riccati's equation
        size = int(rng.integers(1, 4))
        metric, hessian, drift = spd(rng, size), spd(rng, size), rng.normal(size=(size, size))
        wrong = -riccati(metric, hessian, 0.0, -drift)
        assert not ln.optimal_for(wrong, drift=ln.drifts.Linear(drift), gamma=0.0).exists


def test_n4_nearest_laws_are_optimal_and_no_random_one_is_nearer():
    rng, other_rng = np.random.default_rng(3), np.random.default_rng(33)
    for _ in range(10):
        metric, hessian = spd(rng, 3), spd(rng, 3)
        law = riccati(metric, hessian, 0.5) + 0.2 * rng.normal(size=(3, 3))
        for known in ({"metric": metric}, {"loss": bowl(hessian)}, {"metric": metric, "loss": bowl(hessian)}):
            verdict = ln.optimal_for(law, **known)
            assert not verdict.exists and verdict.objective is None and verdict.gamma == (math.inf, 0.0)
            assert ln.optimal_for(verdict.nearest, **known).exists
        # In GK, or in KH⁻¹, every symmetric and positive definite matrix is a law that is optimal.
        sides = {"metric": (metric, np.eye(3)), "loss": (np.eye(3), np.linalg.inv(hessian))}
        for name, given in {"metric": metric, "loss": bowl(hessian)}.items():
            near, (left, right) = ln.optimal_for(law, **{name: given}).nearest, sides[name]
            low, centre = np.linalg.norm(left @ (law - near) @ right), np.linalg.cholesky(left @ near @ right)
            for size in np.geomspace(1e-3, 1, 40):
                other = centre + size * other_rng.normal(size=(3, 3))
                assert np.linalg.norm(left @ law @ right - other @ other.T) >= 0.999 * low
        # With both given a scale of the loss and a discount are left, and the rates of modes miss by their logarithms.
        _, modes = scipy.linalg.eigh(hessian, metric)
        tried = [(scale, gamma) for scale in np.geomspace(0.1, 10, 9) for gamma in (0.0, 0.5, 3.0, 3 * scale)]
        laws = np.stack([law, verdict.nearest, *(riccati(metric, a * hessian, gamma) for a, gamma in tried)])
        rates = np.diagonal(np.linalg.solve(modes, laws @ modes), axis1=1, axis2=2)
        misses = np.sum(np.log(rates[1:] / rates[0]) ** 2, axis=1)
        assert np.all(misses[0] <= misses)
    complex_law = ln.optimal_for([[1.0, 2.0], [-2.0, 1.0]])
    assert "1 ± 2i are complex" in complex_law.why
    np.testing.assert_allclose(complex_law.nearest, np.eye(2), atol=1e-12)
    assert not ln.optimal_for([[1.0, 1.0], [0.0, 1.0]]).exists  # no basis of eigenvectors


def test_n6_a_known_drift_adds_no_freedom():
    rng = np.random.default_rng(4)
    for _ in range(15):
        size = int(rng.integers(2, 4))
        metric, hessian, drift = spd(rng, size), spd(rng, size), rng.normal(size=(size, size))
        gamma = float(rng.choice([0.0, 0.5, 3.0]))
        law = riccati(metric, hessian, gamma, drift)
        verdict = ln.optimal_for(law, drift=ln.drifts.Linear(drift))
        assert verdict.exists and verdict.gamma[0] <= gamma + 1e-6
        np.testing.assert_allclose(
            riccati(verdict.objective.metric, verdict.hessian, verdict.objective.gamma, drift), law, atol=1e-6
        )
    growing = ln.drifts.Linear([[2.0]])  # H = P(γ + K − A)
    assert ln.optimal_for([[1.0]], drift=growing).gamma == (pytest.approx(1.0), math.inf)
    assert not ln.optimal_for([[1.0]], drift=growing, gamma=0.99).exists
    decaying = ln.optimal_for(np.diag([0.3, 2.0]), drift=ln.drifts.weight_decay(0.5))
    assert not decaying.exists and "A + K has the eigenvalue -0.2" in decaying.why


def test_n7_no_drift_excuses_sluggishness_and_n8_a_free_one_says_nothing():
    rng = np.random.default_rng(5)
    for _ in range(10):
        metric, hessian, gamma = spd(rng, 2), spd(rng, 2), float(rng.choice([0.0, 1.0]))
        law = -rng.normal(size=(2, 2))
        law += (gamma / -2 - np.linalg.eigvals(law).real.min() + 0.4) * np.eye(2)
        # the bound by bisection over the loss's scale, each time by the Hamiltonian's eigenvalues on the axis
        inner, low, high = -law - gamma / 2 * np.eye(2), 1e-6, 1e6
        for _ in range(80):
            scale = math.sqrt(low * high)
            matrix = np.block([[inner, np.linalg.inv(metric)], [-scale * hessian, -inner.T]])
            low, high = (low, scale) if np.min(np.abs(np.linalg.eigvals(matrix).real)) < 1e-7 else (scale, high)
        for factor, exists in ((0.97, True), (1.03, False)):
            verdict = ln.optimal_for(law, loss=bowl(factor * low * hessian), metric=metric, gamma=gamma, drift="any")
            assert verdict.exists == exists, verdict.why
    hessian = spd(rng, 3)  # without a discount what is optimal with no drift stands on the bound
    with pytest.raises(ValueError, match=r"gain 1 at ω = .* to rounding"):
        ln.optimal_for(scipy.linalg.sqrtm(hessian).real, loss=bowl(hessian), metric=np.eye(3), gamma=0.0, drift="any")
    with pytest.raises(ValueError, match=r"drift = 'any' needs loss, metric and gamma: else every law that settles"):
        ln.optimal_for(np.eye(2), drift="any")


def test_n9_every_law_that_settles_is_optimal_for_a_rotation_in_some_metric():
    rng = np.random.default_rng(6)
    for _ in range(15):
        law = rng.normal(size=(3, 3))
        law += (0.3 - np.linalg.eigvals(law).real.min()) * np.eye(3)
        gamma = float(rng.choice([0.0, 1.0]))
        verdict = ln.optimal_for(law, drift="rotation", gamma=gamma)
        assert verdict.objective.gamma == gamma
        turn = verdict.objective.drift.matrix(3)
        assert verdict.exists and verdict.residual < 1e-8
        assert np.linalg.norm(verdict.objective.metric @ turn + (verdict.objective.metric @ turn).T) < 1e-10
    assert not ln.optimal_for([[-0.1, 1.0], [-1.0, -0.1]], drift="rotation").exists


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_no_unit_of_time_makes_a_law_symmetric_or_real(unit):
    crooked, straight = np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[1.0, 0.5], [0.5, 2.0]])
    refused = ln.optimal_for(unit * crooked, metric=np.eye(2))
    assert not refused.exists and "not symmetric" in refused.why
    assert ln.optimal_for(unit * straight, metric=np.eye(2)).exists
    for law, why in ([[1.0, 0.5], [-0.5, 1.0]], "are complex"), ([[1.0, 1.0], [0.0, 1.0]], "no basis of eigenvectors"):
        assert why in ln.optimal_for(unit * np.array(law)).why


def test_n10_n11_n12_steps():
    rng = np.random.default_rng(7)
    for _ in range(15):  # discrete Riccati, with the loss charged at the points arrived at
        size, rho = int(rng.integers(1, 4)), float(rng.choice([1.0, 0.9]))
        metric, hessian, eye = spd(rng, size), spd(rng, size), np.eye(size)
        p = scipy.linalg.solve_discrete_are(math.sqrt(rho) * eye, math.sqrt(rho) * eye, hessian, metric + hessian,
                                            s=hessian)  # fmt: skip
        step = np.linalg.solve(metric + hessian + rho * p, hessian + rho * p)
        assert ln.optimal_for(step, dt=1.0).exists
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    descent = ln.optimal_for(0.3 * hessian, dt=0.3, loss=bowl(hessian))
    assert descent.exists, "with a free metric gradient descent is, as long as it does not overshoot"
    same = ln.optimal_for(0.3 * hessian, dt=0.3, loss=bowl(hessian), metric="identity")
    assert not same.exists and "for the given metric" in same.why, "and for G = I it is not: two curvatures"
    over = ln.optimal_for(0.6 * hessian, dt=0.3)
    assert not over.exists and "overshoots" in over.why and "for no loss that is charged at the points" in over.why
    whole = ln.optimal_for(np.eye(2), dt=0.1)  # Newton's step overshoots nothing
    assert not whole.exists and "is there at once, by the multiplier 0: for no loss that is charged" in whole.why


def test_refusals():
    with pytest.raises(ValueError, match="loss has 2 parameters, but law has 3"):
        ln.optimal_for(np.eye(3), loss=bowl(np.eye(2)))
    with pytest.raises(ValueError, match=r"metric = .* eigenvalue -1.*positive definite"):
        ln.optimal_for(np.eye(2), metric=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="loss has a flat direction"):
        ln.optimal_for(np.eye(2), loss=bowl(np.diag([1.0, 0.0])))
    with pytest.raises(ValueError, match="dt and drift are given"):
        ln.optimal_for(np.eye(2) / 2, dt=1.0, drift="rotation")
    with pytest.raises(ValueError, match="drift is given, and so loss and metric have to be free"):
        ln.optimal_for(np.eye(2), loss=bowl(np.eye(2)), drift="rotation")


def test_n6_where_eigenvalues_are_equal_the_metric_has_more_freedom():
    """With a metric that is diagonal in one basis of the space they asked for γ ≥ 9, or for a singular metric."""
    drift = np.array([[-5.0, 5.0], [-5.0, 5.0]])
    law = np.eye(2) - drift
    for given in (0.0, None):
        verdict = ln.optimal_for(law, drift=ln.drifts.Linear(drift), gamma=given)
        assert verdict.exists and verdict.gamma[0] == 0.0 and dict(verdict.free)["metric"] == 3
        back = riccati(verdict.objective.metric, verdict.hessian, verdict.objective.gamma, drift)
        np.testing.assert_allclose(back, law, atol=1e-6)
    shear = np.array([[0.0, 10.0], [0.0, 0.0]])
    assert ln.optimal_for(np.eye(2) - shear, drift=ln.drifts.Linear(shear)).gamma == (0.0, math.inf)


def test_n7_of_a_saddle_what_falls_counts_against_what_rises():
    saddle, turn = np.diag([1.0, -0.25]), np.array([[0.0, 1.0], [2.0, 0.0]])
    law = riccati(np.eye(2), saddle, 3.0, turn)
    verdict = ln.optimal_for(law, loss=bowl(saddle), metric=np.eye(2), gamma=3.0, drift="any")
    assert verdict.exists, verdict.why
    np.testing.assert_allclose(verdict.objective.drift.matrix(2), turn, atol=1e-9)


def test_n7_a_law_that_stands_still_has_a_gain():
    """1/(γ/2)² of curvature 1, though the law has no time of its own."""
    verdict = ln.optimal_for(np.zeros((2, 2)), loss=bowl(np.eye(2)), metric=np.eye(2), gamma=1.0, drift="any")
    assert not verdict.exists and "gain 4 > 1" in verdict.why


@pytest.mark.parametrize("share", [0.9, 1.5, 2.0])
def test_n7_a_resonance_is_found_however_narrow(share):
    """h/d² of a slow swing of width 10⁻⁴, beside modes a million times faster: above 1 no drift will do."""
    slow, pace = 1e-4, 3.0111
    for beside in (50 * np.eye(2), [[0.05, 1.0], [-1.0, 0.05]]):
        law = scipy.linalg.block_diag([[slow, pace], [-pace, slow]], beside)
        loss = bowl(np.diag([share * slow**2] * 2 + [0.8 * 0.05**2] * 2))
        verdict = ln.optimal_for(law, loss=loss, metric=np.eye(4), gamma=0.0, drift="any")
        assert verdict.exists == (share < 1) and f"gain {share:g}" in verdict.why


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e9])
def test_other_units_of_time_and_loss_judge_the_same(unit):
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    h, axes = np.linalg.eigh(hessian)
    for gamma in (0.0, 30.0):
        law = (axes * ((np.sqrt(gamma**2 + 4 * h) - gamma) / 2)) @ axes.T
        for scaled in (bowl(hessian), bowl(unit * hessian)):
            verdict = ln.optimal_for(unit * law, loss=scaled, metric="identity")
            assert verdict.exists and verdict.gamma[0] == pytest.approx(unit * gamma, rel=1e-6, abs=1e-8 * unit)
    rng = np.random.default_rng(0)
    metric, hessian, drift = spd(rng, 4), spd(rng, 4), rng.normal(size=(4, 4))
    law = riccati(metric, hessian, 0.5, drift)
    found = ln.optimal_for(unit * law, loss=bowl(unit**2 * hessian), metric=metric, gamma=0.5 * unit, drift="any")
    assert found.exists and found.residual < 1e-6, found.why


def test_laws_that_no_solver_can_be_asked_about_are_refused_by_name():
    with pytest.raises(ValueError, match="rates from 0 to"):
        ln.optimal_for(np.zeros((2, 2)), drift=ln.drifts.Linear(np.eye(2)))
    with pytest.raises(ValueError, match="another unit of time"):
        ln.optimal_for(1e-200 * np.eye(2))


def test_units_of_parameters_may_differ_much():
    """Beside a unit of 1e8 two rates looked like one without a basis."""
    units, vectors = np.array([1.0, 1e4, 1e-8, 1e8]), np.random.default_rng(0).normal(size=(4, 4))
    law = vectors * [1.0, 1.0, 2.0, 4.0] @ np.linalg.inv(vectors)
    found = ln.optimal_for(units[:, None] * law / units)
    assert found.exists and dict(found.free)["metric"] == 5, found.why
    metric, hessian = (units[:, None] * form * units for form in (found.objective.metric, found.hessian))
    np.testing.assert_allclose(riccati(metric, hessian, 0.0), law, rtol=1e-8)


def test_n3_a_step_may_be_small():
    """1 − (1 − 1e-12) has four digits, with which no preconditioner is symmetric."""
    hessian, shape = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 0.3], [0.3, 2.0]])
    assert ln.optimal_for(1e-12 * shape @ hessian, loss=bowl(hessian), dt=1.0).exists
