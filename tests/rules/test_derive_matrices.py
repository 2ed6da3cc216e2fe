"""Rules from beliefs about matrices, against the planner on the curvature of all weights, and the optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from drive import drive, walk

import lossnav as ln
from lossnav import assume

M, N = 3, 4
BELIEFS = {
    "eigenbasis": assume.Eigenbasis(0.9, scale=2.0, every=3, watch=2),
    "moments": assume.Kronecker(0.9, every=3, scale=2.0, watch=2),
    "likelihood": assume.Kronecker(0.9, "likelihood", scale=2.0, every=3, watch=1),
    "bound": assume.Kronecker(0.9, "bound", scale=2.0, every=3, watch=1),
    "polar": assume.Polar(scale=2.0),
    "noise": assume.Polar(scale=2.0, noise=True),
}
ONE_MEAN = ("polar", "noise")  # read off m, from the first gradient on
each = pytest.mark.parametrize("kind", BELIEFS)


def draws(count, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=(count, *shape))


def whole(kind, state, mean, scale=2.0):
    """Return H of all weights with all, D × D, written out from what the state holds."""
    m, n = mean.shape
    if kind in ONE_MEAN:
        c = np.kron(mean @ mean.T / n, np.eye(n)) if m <= n else np.kron(np.eye(m), mean.T @ mean / m)
        weights = 0.3 * 0.7 ** np.arange(state.step) / (1 - 0.7**state.step)
        c = c / (weights @ weights) if kind == "noise" else c
        return scale * (c + 1e-6 * np.trace(c) / len(c) * np.eye(len(c)))
    belief, averages, share = BELIEFS[kind], state.averages, 1 - 0.9 ** (state.step - 1)
    ql, qr = averages["ql"], averages["qr"]
    if kind == "eigenbasis":
        basis = np.kron(ql, qr)
        c = basis @ np.diag(averages["v"].ravel() / share) @ basis.T
    else:
        a, b = (q @ np.diag(averages[side].ravel() / share) @ q.T for q, side in ((ql, "rows"), (qr, "columns")))
        if kind == "bound":
            c = np.kron(scipy.linalg.sqrtm(n * a), scipy.linalg.sqrtm(m * b)).real
        else:
            c = np.kron(a, b) / (np.trace(a) / m if kind == "moments" else 1.0)
    return scale * (c + belief.floor * np.trace(c) / len(c) * np.eye(len(c)))


@pytest.mark.slow
def test_what_m_keeps_of_white_noise_is_the_sum_of_its_squared_weights():
    """Weights found by showing a filter one unit gradient at a time; and what has no plain weights is refused."""
    for corrected in (True, False):
        belief = assume.Filter(0.8, corrected=corrected)
        rule = ln.derive(ln.Objective(eta=1.0), belief=belief, curvature=assume.Known(np.eye(1)), dt=1.0)
        for n in (1, 2, 7, 60):
            weights = []
            for shown in range(n):
                state = rule.init(np.zeros(1))
                for k in range(n):
                    step, state = rule(np.array([float(k == shown)]), state, np.zeros(1))
                weights.append(-step.item())
            assert belief.kept(n) == pytest.approx(sum(w * w for w in weights), rel=1e-12)
    assert assume.Filter(0.0).kept(1) == assume.Filter(0.0).kept(9) == 1.0
    for belief in (assume.Filter(0.9, trend=0.5), assume.Filter(0.9, share=0.1)):
        with pytest.raises(ValueError, match="noise = True and belief = Filter"):
            ln.derive(ln.Objective(), belief=belief, curvature=assume.Polar(noise=True), dt=0.1)


def last_step(rule, gradients, theta):
    """Return the step on the last gradient, m, and the state that it was made in (no turn after step 5)."""
    state, mean = rule.init(theta), np.zeros_like(theta)
    for g in gradients:
        step, state = rule(g, state, theta)
    late = gradients if isinstance(rule.curvature, assume.Polar) else gradients[1:]
    for g in late:
        mean = 0.7 * mean + 0.3 * g
    return step, mean / (1 - 0.7 ** len(late)), state


@each
def test_the_ballistic_step_is_a_root_of_the_whole_matrix(kind):
    """m by its own recursion, H written out from the averages, H^{−1/2} by Schur's method."""
    rule = ln.derive(ln.Objective(eta=3.0, k=0.5), belief=assume.Filter(0.7), curvature=BELIEFS[kind], dt=0.01)
    for shape in ((M, N), (N, M)):
        step, mean, state = last_step(rule, draws(5, *shape), np.ones(shape))
        root = scipy.linalg.inv(scipy.linalg.sqrtm(whole(kind, state, mean)).real)
        expected = -0.01 * math.sqrt(1.5) * root @ mean.ravel()
        np.testing.assert_allclose(step.ravel(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("exact", [False, True])
@each
def test_discount_decay_price_and_fading_go_together_by_riccatis_equation(kind, exact):
    """M1 and M3 on D × D matrices: a Riccati, a Sylvester equation and one exponential, by scipy."""
    gamma, decay, fading, dt, price, d = 0.4, 0.3, 0.2, 0.5, 1.5, M * N
    objective = ln.Objective(
        eta=3.0, k=0.5, gamma=gamma, metric=price * np.eye(d),
        drift=ln.drifts.Linear(-decay * np.eye(d), np.linspace(-1, 1, d)),
    )  # fmt: skip
    rule = ln.derive(objective, belief=assume.Filter(0.7, fading=fading), curvature=BELIEFS[kind], dt=dt, exact=exact)
    theta = draws(1, M, N, seed=3)[0]
    step, mean, state = last_step(rule, draws(5, M, N), theta)
    h, eye, eta = whole(kind, state, mean), np.eye(d), 3.0 / price
    value = scipy.linalg.solve_continuous_are(-(decay + gamma / 2) * eye, eye, 0.5 * h, eye / eta)
    damping = (gamma + decay) * eye + eta * value
    held = scipy.linalg.solve_sylvester(damping, fading * eye, 0.5 * eye)
    free = -decay * theta.ravel() + np.linspace(-1, 1, d)
    forced = free - eta * np.linalg.solve(damping, value @ free)
    expected = dt * (forced - eta * held @ mean.ravel())
    if exact:
        flow = np.zeros((2 * d + 1,) * 2)
        flow[:d, :d], flow[:d, d:-1], flow[:d, -1] = -decay * eye - eta * value, -eta * held, forced
        flow[d:-1, d:-1] = -fading * eye
        expected = scipy.linalg.expm(dt * flow)[:d] @ np.concatenate([np.zeros(d), mean.ravel(), [1.0]])
    np.testing.assert_allclose(step.ravel(), expected, rtol=2e-6, atol=2e-7)


@each
def test_as_a_metric_it_is_the_price_of_a_move(kind):
    """G = H^{1/2}, no curvature: θ̇ = −ηk/(γ + j + α)·G⁻¹m − jθ."""
    objective = ln.Objective(eta=3.0, k=0.5, gamma=0.4, drift=ln.drifts.weight_decay(0.3))
    rule = ln.derive(objective, belief=assume.Filter(0.7, fading=0.2), metric=BELIEFS[kind], dt=0.01)
    theta, gradients = draws(1, M, N, seed=3)[0], draws(5, M, N)
    state, mean = rule.init(theta), np.zeros((M, N))
    for k, g in enumerate(gradients):
        step, state = rule(g, state, theta)
        if k > 0 or kind in ONE_MEAN:
            mean = 0.7 * mean + 0.3 * g
    mean = mean / (1 - 0.7 ** (5 if kind in ONE_MEAN else 4))
    price = scipy.linalg.sqrtm(whole(kind, state, mean)).real
    moved = 1.5 / 0.9 * np.linalg.solve(price, mean.ravel()).reshape(M, N)
    np.testing.assert_allclose(step, 0.01 * (-moved - 0.3 * theta), rtol=1e-6, atol=1e-9)


OBJECTIVES = {
    "ballistic": (ln.Objective(eta=2.0), assume.Filter(0.7), False),
    "fading": (ln.Objective(eta=2.0), assume.Filter(0.7, fading=0.3), False),
    "discounted": (ln.Objective(eta=2.0, gamma=0.8, metric=0.5 * np.eye(M * N)), assume.Filter(0.7), False),
    "metric": (ln.Objective(eta=2.0, gamma=0.8, drift=ln.drifts.weight_decay(0.5)), assume.Filter(0.7), True),
}


@pytest.mark.parametrize("wanted", OBJECTIVES)
@each
def test_its_optimizer_takes_the_same_steps(kind, wanted):
    objective, belief, metric = OBJECTIVES[wanted]
    rule = ln.derive(objective, belief=belief, **{"metric" if metric else "curvature": BELIEFS[kind]}, dt=0.02)
    shapes = [(M, N), (N, M)] if objective.metric is not None else [(M, N), (N, M), (1, N), (2, 3, 2, 1)]
    for shape in shapes:
        theta, gradients = draws(1, *shape, seed=3)[0], draws(30, *shape)
        places = drive(rule.optimizer, gradients, start=theta)
        most = 3e-7 if kind in ONE_MEAN else 1e-8
        np.testing.assert_allclose(places, walk(rule, gradients, theta)[0], rtol=0, atol=most)
    optimizer = rule.optimizer([torch.nn.Parameter(torch.ones(M, N))], 0.04)
    assert isinstance(optimizer, ln.optim.BallisticMatrix)
    assert optimizer.param_groups[0]["lr"] == 2 * rule.options["lr"]


def test_without_a_basis_it_is_torchs_adam():
    adam = ln.derive(
        ln.Objective(), belief=assume.Filter(0.9, fading=1e-8),
        curvature=assume.Eigenbasis(0.999, floor=0.0, max_dim=2), dt=0.01,
    )  # fmt: skip
    theirs = drive(torch.optim.Adam, draws(20, M, N), lr=0.01)
    np.testing.assert_allclose(theirs, walk(adam, draws(20, M, N), np.ones((M, N)))[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("fit", ["moments", "likelihood", "bound"])
def test_a_long_side_has_no_basis(fit):
    """One-sided: C = L/n ⊗ I by moments and likelihood, L ⊗ I by the bound, of the shorter side."""
    belief = assume.Kronecker(0.9, fit, floor=0.0, max_dim=M)
    rule = ln.derive(ln.Objective(), curvature=belief, dt=1.0)
    gradients = draws(3, M, N)  # the bases turn after the second: in it they are still those of the first
    state = rule.init(gradients[0])
    for g in gradients[:2]:
        step, state = rule(g, state, g)
    basis = np.linalg.eigh(gradients[0] @ gradients[0].T)[1]
    rows = np.diag(np.diag(basis.T @ gradients[1] @ gradients[1].T @ basis)) / (1 if fit == "bound" else N)
    root = basis @ np.sqrt(np.linalg.inv(rows)) @ basis.T
    np.testing.assert_allclose(step, -root @ gradients[1], rtol=1e-6)
    assert "ql" in state.averages and not {"qr", "columns"} & state.averages.keys()


def test_formulas_limits_regime_and_page_are_those_of_an_entry():
    rule = ln.derive(ln.Objective(gamma=0.5), belief=assume.Filter(0.999), curvature=BELIEFS["moments"], dt=0.01)
    diagonal = ln.derive(
        ln.Objective(gamma=0.5), belief=assume.Filter(0.999), curvature=assume.SecondMoment(0.9, scale=2.0), dt=0.01
    )
    assert rule.equations == diagonal.equations and rule.velocity == diagonal.velocity
    v = np.array([1e-4, 1.0, 100.0])
    limits, known = rule.limits(v), diagonal.limits(v)
    assert limits.keys() == known.keys() and len(known) == 4
    for name in known:
        np.testing.assert_allclose(limits[name].neglected, known[name].neglected)
    with pytest.warns(ln.rules.derive.RegimeWarning):
        assert rule.regime(v) == diagonal.regime(v)
    page = rule._repr_markdown_()
    assert "BallisticMatrix(params, lr=0.00707" in page and "Kronecker, with 2·C" in page
    with pytest.raises(ValueError, match="metric"):
        ln.derive(ln.Objective(gamma=1.0), metric=BELIEFS["polar"], dt=0.1).limits(v)
    with pytest.warns(ln.rules.derive.RegimeWarning):  # one datum has no memory: never slow
        polar = ln.derive(ln.Objective(gamma=1.0), curvature=assume.Polar(), dt=1e-9).regime(1e9)
    assert polar.beliefs == math.inf and not polar.holds
    exact = ln.derive(ln.Objective(), curvature=BELIEFS["moments"], dt=0.1, exact=True)
    assert "No torch optimizer" in exact._repr_markdown_()
    with pytest.raises(ValueError, match="Kronecker knows rows and columns"):
        _ = rule.source


TURN = ln.drifts.Linear(np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(2)))
SCALES = np.diag([1.0, 1.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("objective", "more", "words"),
    [
        (ln.Objective(drift=TURN), {}, "objective.drift couples"),
        (ln.Objective(drift=ln.drifts.Linear(-SCALES)), {}, "objective.drift couples"),
        (ln.Objective(metric=SCALES), {}, "objective.metric and curvature = Polar do not commute"),
        (ln.Objective(metric=ln.metrics.Kronecker(np.diag([1.0, 2.0]), np.eye(2))), {}, "do not commute"),
        (ln.Objective(), {"belief": assume.Filter(0.9, fading=np.diagonal(SCALES))}, "belief.fading has shape"),
        (ln.Objective(), {"metric": assume.RootMeanSquare(0.9)}, "curvature = Polar and metric = RootMeanSquare"),
        (ln.Objective(), {"metric": assume.Polar()}, "one of them must be None"),
        (ln.Objective(gamma=1.0, horizon=2.0), {}, "horizon"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_what_differs_between_bases_is_refused_by_name(objective, more, words):
    with pytest.raises(ValueError, match=words):
        ln.derive(objective, curvature=assume.Polar(), dt=0.1, **more)


def test_what_is_the_same_in_every_basis_is_not_refused():
    """The other side of each refusal: multiples of the identity, given as arrays too."""
    g = draws(1, 2, 2)[0]
    for objective in (
        ln.Objective(drift=ln.drifts.Linear(-0.5 * np.eye(4), np.ones(4))), ln.Objective(metric=2 * np.eye(4)),
        ln.Objective(metric=ln.metrics.Kronecker(2 * np.eye(2), np.eye(2))),
    ):  # fmt: skip
        rule = ln.derive(objective, belief=assume.Filter(0.9, fading=0.1), curvature=assume.Polar(), dt=0.1)
        assert np.isfinite(rule(g, rule.init(g), g)[0]).all()
        with pytest.raises(ValueError, match="theta has 6 entries"):
            rule.init(np.ones((2, 3)))
    with pytest.raises(ln.NoMinimiser):
        ln.derive(ln.Objective(), metric=assume.Polar(), dt=0.1)
    ln.derive(ln.Objective(gamma=1e-9), metric=assume.Polar(), dt=0.1)
    for beside in (assume.SecondMoment(0.9), assume.Known(np.eye(4))):
        with pytest.raises(ValueError, match="one eigenbasis"):
            ln.derive(ln.Objective(gamma=1.0), curvature=beside, metric=assume.Polar(), dt=0.1)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"objective": ln.Objective(drift=ln.drifts.weight_decay(0.1))}, "rates of their own"),
        ({"objective": ln.Objective(gamma=1.0), "belief": assume.Filter(0.9, fading=0.1)}, "fading = 0.1 and gamma"),
        ({"belief": assume.Filter(0.9, trend=0.9)}, "trend"), ({"belief": assume.Filter(0.9, share=0.1)}, "share"),
        ({"belief": assume.Filter(0.9, corrected=False)}, "corrected"), ({"exact": True}, "exact"),
        ({"objective": ln.Objective(gamma=1.0, drift=ln.drifts.Linear(-0.5, np.ones(4))), "curvature": None,
          "metric": assume.Polar()}, "offset"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_a_plan_that_the_optimizer_does_not_know_has_a_step_and_no_optimizer(made, words):
    rule = ln.derive(**{"objective": ln.Objective(), "curvature": assume.Eigenbasis(0.9), "dt": 0.1, **made})
    g = draws(1, 2, 2)[0]
    assert np.isfinite(rule(g, rule.init(g), g)[0]).all()
    with pytest.raises(ValueError, match=f"optimizer is asked of a rule with .*{words}"):
        rule.optimizer([torch.nn.Parameter(torch.ones(2, 2))])


def test_a_mean_without_a_unit_needs_no_correction():
    """Of Muon's step m's length is no part: with and without correction it is one optimizer, not beside a discount."""
    belief = assume.Filter(0.9, corrected=False)
    rule = ln.derive(ln.Objective(), belief=belief, curvature=assume.Polar(), dt=0.1)
    g = draws(1, 2, 3)[0]
    parameter = torch.nn.Parameter(torch.zeros(2, 3, dtype=torch.float64))
    parameter.grad = torch.tensor(g)
    rule.optimizer([parameter]).step()
    np.testing.assert_allclose(parameter.detach(), rule(g, rule.init(g), g)[0], atol=1e-7)
    with pytest.raises(ValueError, match="corrected"):
        _ = ln.derive(ln.Objective(gamma=1.0), belief=belief, curvature=assume.Polar(), dt=0.1).options


def test_wrong_calls_of_a_step_are_refused():
    rule = ln.derive(ln.Objective(), curvature=assume.Eigenbasis(0.9), dt=0.1)
    g = np.eye(2)
    with pytest.raises(ValueError, match="must be a matrix"):
        rule.init([1.0, 2.0])
    with pytest.raises(ValueError, match="state"):
        rule(g, rule.init(np.ones((2, 3))), g)
    with pytest.raises(ValueError, match="state"):
        rule(g, ln.derive(ln.Objective(), curvature=assume.Polar(), dt=0.1).init(g), g)
    with pytest.raises(ValueError, match="curvature"):
        rule(g, rule.init(g), g, curvature=g)
    with pytest.raises(ValueError, match="fused"):
        rule.optimizer([torch.nn.Parameter(torch.ones(2, 2))], fused=True)
    slow = ln.derive(ln.Objective(), curvature=assume.Eigenbasis(0.9))
    with pytest.raises(ValueError, match="dt = None"):
        slow(g, slow.init(g), g)
    with pytest.raises(ValueError, match="lr = None"):
        slow.optimizer([torch.nn.Parameter(torch.ones(2, 2))])
    assert slow.optimizer([torch.nn.Parameter(torch.ones(2, 2))], 0.3).param_groups[0]["lr"] == 0.3


@pytest.mark.parametrize("belief", [ln.assume.Kronecker, ln.assume.Eigenbasis])
def test_a_matrix_without_any_basis_moves_as_its_optimizer_moves_it(belief):
    """Both sides are longer than ``max_dim``: V is an average of g², which no floor of a product lifts."""
    rule = ln.derive(ln.Objective(), curvature=belief(0.9, floor=0.1, max_dim=2), dt=0.1)
    gradients = draws(5, 3, 4, seed=4)
    places = drive(rule.optimizer, gradients, start=0.0)
    np.testing.assert_allclose(places, walk(rule, gradients, np.zeros((3, 4)))[0], rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (2, 6)])
@pytest.mark.parametrize("kind", [assume.Eigenbasis, assume.Kronecker])
def test_directions_that_no_gradient_had_are_not_those_of_rounding(kind, shape):
    """With fewer gradients than directions the rest of a basis is free: numpy's and torch's would differ."""
    rng, theta = np.random.default_rng(0), np.zeros(shape)
    rule = ln.derive(ln.Objective(), curvature=kind(0.0, every=1, watch=1), dt=0.1)
    weights, state = torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)), rule.init(theta)
    optimizer = rule.optimizer([weights])
    for g in rng.normal(size=(8, *shape)):
        step, state = rule(g, state, theta)
        weights.grad = torch.tensor(g)
        before = weights.detach().numpy().copy()
        optimizer.step()
        np.testing.assert_allclose(weights.detach().numpy() - before, step, atol=1e-5 * np.abs(step).max(initial=1e-9))
