"""Quadratic losses whose modes hardly curve: of a rest that is far away J keeps its digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from resources import draws

import lossnav as ln


def exact(h, g, offset, objective, stop=None):
    """Return J of a mode from 0 and where it is at a third of its time, or at 1, in as many digits as it takes.

    Its optimum is rest + A e^{a(t−T)} + B e^{bt}, with L = offset + gx + hx²/2.
    """
    span = objective.horizon
    with mp.workdps(80 + 2 * int(50 if math.isinf(span) else span * (objective.gamma + math.sqrt(abs(h)) * 12))):
        h, g, eta, k, gamma = (mp.mpf(float(x)) for x in (h, g, objective.eta, objective.k, objective.gamma))
        charge, rest, level = mp.mpf(objective.terminal), -g / h, offset - g * g / (2 * h)
        root = mp.sqrt(gamma**2 / 4 + eta * k * h)
        a, b = gamma / 2 + root, gamma / 2 - root
        if math.isinf(span):
            cost = (b * b / (2 * eta) + k * h / 2) * rest**2 / (gamma - 2 * b)
            return float(cost + k * level / gamma), float(rest - rest * mp.exp(b))
        far, near = mp.exp(-a * span), mp.exp(b * span)
        slope = eta * charge * h  # of a free end: ẋ + ηc(g + hx) = 0
        last = (a + slope, (b + slope) * near, mp.mpf(0)) if stop is None else (1, near, stop - rest)
        determinant = far * last[1] - last[0]
        parts = [
            ((-rest * last[1] - last[2]) / determinant * far, a),
            ((far * last[2] + rest * last[0]) / determinant, b),
        ]

        def paid(rate):
            return span if rate == gamma else mp.expm1((rate - gamma) * span) / (rate - gamma)

        pairs = [(u * v, x, y) for u, x in parts for v, y in parts]
        moving = sum(w * x * y * paid(x + y) for w, x, y in pairs) / (2 * eta)
        above = sum(w * paid(x + y) for w, x, y in pairs) * h / 2
        end = level + h / 2 * sum(u * mp.exp(x * span) for u, x in parts) ** 2
        cost = moving + k * (level * paid(mp.mpf(0)) + above) + charge * mp.exp(-gamma * span) * end
        return float(mp.re(cost)), float(mp.re(rest + sum(u * mp.exp(x * span / 3) for u, x in parts)))


@pytest.mark.parametrize("seed", range(draws(40)))
@pytest.mark.parametrize("kind", ["endless", "free", "charged", "fixed"])
def test_j_and_the_path_are_exact_from_steep_modes_to_flat_ones(kind, seed):
    rng = np.random.default_rng(seed)
    dim, endless = rng.integers(1, 4), kind == "endless"
    h = 10.0 ** rng.uniform(-18, 3, dim) * np.where((rng.random(dim) < 0.2) & (not endless), -1, 1)
    g = rng.normal(size=dim) * 10.0 ** rng.uniform(-3, 3)
    eta, k, discount, span, charge = 10.0 ** rng.uniform([-1, -1, -2, -2, -2], [1, 1, 2, 1, 2])
    objective = ln.Objective(
        eta=eta, k=k, gamma=discount if endless or rng.random() < 0.7 else 0.0, horizon=math.inf if endless else span,
        terminal=charge if kind == "charged" else 0.0,
    )  # fmt: skip
    stop = rng.normal(size=dim) * 10.0 ** rng.uniform(-3, 2) if kind == "fixed" else None
    loss = ln.losses.Quadratic(np.diag(h), gradient=g, offset=0.3)
    try:
        path = ln.solve(objective, loss, np.zeros(dim), endpoint=stop)
    except ln.NoMinimiser:
        assert np.any(h < -1e-3)
        return
    ends = [None] * dim if stop is None else stop
    known = [
        exact(*mode, 0.3 * (i == 0), objective, end) for i, (*mode, end) in enumerate(zip(h, g, ends, strict=True))
    ]
    least, places = sum(cost for cost, _ in known), np.array([place for _, place in known])
    assert path.method == "closed_form"
    counted = min(objective.horizon, 1 / objective.gamma if objective.gamma else math.inf)
    assert path.action == pytest.approx(least, rel=1e-9, abs=1e-9 * k * counted)
    here = path([1.0 if endless else span / 3])[0]
    np.testing.assert_allclose(here, places, rtol=1e-9, atol=1e-9 * (0 if stop is None else np.max(np.abs(stop))))


@pytest.mark.parametrize("seed", range(draws(20)))
def test_a_hessian_that_couples_its_parameters_keeps_them_too(seed):
    """Its minimum is far away, and large numbers would cancel: in the gradient by steep entries times a flat way."""
    rng = np.random.default_rng(seed)
    turn, tilt, place, stop = np.linalg.qr(rng.normal(size=(3, 3)))[0], *rng.normal(size=(3, 3))
    hessian = turn @ np.diag([1.0, 0.3, 10.0 ** rng.uniform(-16, -2)]) @ turn.T
    hessian = (hessian + hessian.T) / 2
    loss = ln.losses.Quadratic(hessian, gradient=tilt, offset=0.3)
    np.testing.assert_allclose(loss.gradient(place), tilt + hessian @ place, rtol=1e-13, atol=1e-14)
    assert loss.value(place) == pytest.approx(0.3 + tilt @ place + place @ hessian @ place / 2, rel=1e-13)
    with mp.workdps(60):
        curvatures, vectors = (part.tolist() for part in map(np.array, mp.eigsy(mp.matrix(hessian.tolist()))))
        vectors = np.array(vectors, dtype=object).reshape(3, 3)
        g, ends = (np.array([mp.mpf(float(x)) for x in vector]) @ vectors for vector in (tilt, stop))
    for objective, known in (
        (ln.Objective(gamma=0.5), [None] * 3), (ln.Objective(gamma=0.5, horizon=2.0), [None] * 3),
        (ln.Objective(gamma=0.5, horizon=2.0), ends),
    ):  # fmt: skip
        path = ln.solve(objective, loss, np.zeros(3), endpoint=None if known[0] is None else stop)
        modes = zip(curvatures, g, known, strict=True)
        least = sum(exact(h, slope, 0.3 * (i == 0), objective, end)[0] for i, (h, slope, end) in enumerate(modes))
        assert path.action == pytest.approx(least, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("h", [1e-16, 1e-12, 1e-8, 1e-4, 1.0, 1e4])
def test_where_acceleration_is_charged_it_is_exact_too(h):
    loss = ln.losses.Quadratic([[h]], gradient=[1.0], offset=0.3)
    path = ln.solve(ln.Objective(gamma=0.5, price=ln.prices.Acceleration(2.0)), loss, [0.0])
    with mp.workdps(80):
        gamma, rest = mp.mpf("0.5"), -1 / mp.mpf(h)
        roots = mp.polyroots([1, -2 * gamma, gamma**2, 0, mp.mpf(h) / 2], maxsteps=500, extraprec=500)
        one, two = sorted(roots, key=mp.re)[:2]  # those that fall off faster than the discount lets things grow
        parts = [(rest * two / (one - two), one), (rest * one / (two - one), two)]
        pairs = [(u * v / (gamma - x - y), x * y) for u, x in parts for v, y in parts]
        least = sum(w * (z**2 * 2 + h) for w, z in pairs) / 2 + (mp.mpf(0.3) + rest / 2) / gamma
    assert path.action == pytest.approx(float(mp.re(least)), rel=1e-9)


@pytest.mark.parametrize("h", [1e-14, 1e-9, 1e-4])
@pytest.mark.parametrize("drift", [None, ln.drifts.rotation(0.3)])
def test_a_deadline_does_not_ask_how_far_a_rest_is(h, drift):
    loss = ln.losses.Quadratic(np.diag([1.0, h]), gradient=[1.0, 1.0])
    objective = ln.Objective(gamma=0.5, horizon=2.0, drift=drift)
    collocated, known = (ln.solve(objective, loss, [1.0, 1.0], method=method) for method in ("bvp", "auto"))
    assert collocated.action == pytest.approx(known.action, rel=1e-7)


@pytest.mark.parametrize("h", [1e-12, 1e-8, 1e-3])
@pytest.mark.parametrize("method", ["bvp", "action", "riccati"])
def test_a_method_that_is_asked_for_loses_no_digits_in_silence(method, h):
    """The rest is 1/h away, its loss 1/2h lower: what a method rounds there may be all that J is."""
    objective = ln.Objective(gamma=0.5)
    valley = ln.losses.Quadratic([[h]], gradient=[1.0])
    try:
        path = ln.solve(objective, valley, [0.0], method=method)
    except ln.NotConverged:
        assert method == "bvp" and h < 1e-3
    else:
        assert path.action == pytest.approx(exact(h, 1.0, 0.0, objective)[0], rel=1e-3)
