"""The decomposition against Saint-Venant's torsion problem, manufactured fields and orthogonality."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lossnav as ln
from lossnav import helmholtz
from lossnav.analysis.helmholtz import decompose, effective_loss, split_affine

UNIT = [[0.0, 1.0], [0.0, 1.0]]


def torsion_fraction(ratio: float) -> float:
    """∫|w|²/∫|f|² of a rotation on a rectangle: torsion constant over polar moment, by the classical series."""
    n = np.arange(1, 400, 2)
    constant = 1 / 3 - 64 / np.pi**5 / ratio * np.sum(np.tanh(n * np.pi * ratio / 2) / n**5)
    return constant * ratio / (ratio * (1 + ratio**2) / 12)


def gradient(x):
    """−∇φ of φ = cos(πx)cos(2πy)."""
    a, b = np.pi * x[..., 0], 2 * np.pi * x[..., 1]
    return np.stack([np.pi * np.sin(a) * np.cos(b), 2 * np.pi * np.cos(a) * np.sin(b)], axis=-1)


def whirl(x):
    """(−∂ψ/∂y, ∂ψ/∂x) of ψ = sin²(πx)sin²(πy), which does not cross the edge of the unit square."""
    a, b = np.pi * x[..., 0], np.pi * x[..., 1]
    return np.pi * np.stack([-(np.sin(a) ** 2) * np.sin(2 * b), np.sin(2 * a) * np.sin(b) ** 2], axis=-1)


def mixed(x):
    return gradient(x) + 0.7 * whirl(x)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 5.0])
def test_rotation_on_a_rectangle_is_the_torsion_problem(ratio):
    centred = decompose(ln.drifts.rotation(3.0), [[-ratio / 2, ratio / 2], [-0.5, 0.5]], rtol=1e-3)
    assert centred.fraction == pytest.approx(torsion_fraction(ratio), abs=3 * centred.fraction_error + 1e-9)
    # Off the centre, the rotation gains a constant, which is a gradient: w stays, f grows.
    moved = decompose(ln.drifts.rotation(3.0), [[1.0, 1.0 + ratio], [-0.5, 0.5]], rtol=1e-2)
    spread, shift = (ratio**2 + 1) / 12, (1.0 + ratio / 2) ** 2
    assert moved.fraction == pytest.approx(torsion_fraction(ratio) * spread / (spread + shift), rel=2e-3)


@pytest.mark.parametrize(("unit", "turn"), [(1.0, 1e-200), (1.0, 1e200), (1e-150, 1.0), (1e150, 1.0)])
def test_a_split_knows_no_unit(unit, turn):
    drift, box = ln.drifts.rotation(turn), unit * np.array([[1.0, 2.0], [-0.5, 0.5]])
    parts, speed = decompose(drift, box, rtol=1e-2), unit * turn
    assert parts.fraction == pytest.approx(torsion_fraction(1.0) / 6 / (1 / 6 + 2.25), rel=2e-3)
    np.testing.assert_allclose(parts.gradient_part([1.5 * unit, 0.0]), [0.0, 1.5 * speed], atol=1e-9 * speed)
    assert split_affine(drift).fraction == float(ln.helmholtz.non_gradient_fraction(drift, points=box[:, 0])) == 1.0


def test_manufactured_parts_are_found():
    parts = decompose(mixed, UNIT, rtol=2e-3)
    places = np.random.default_rng(0).uniform(0, 1, size=(50, 2))
    np.testing.assert_allclose(parts.gradient_part(places), gradient(places), atol=3e-2)
    np.testing.assert_allclose(parts.remainder(places), 0.7 * whirl(places), atol=3e-2)
    height = np.cos(np.pi * places[:, 0]) * np.cos(2 * np.pi * places[:, 1])
    np.testing.assert_allclose(parts.potential(places), height, atol=1e-4)
    # both norms in closed form
    whirling, straining = 0.49 * 3 * np.pi**2 / 8, 5 * np.pi**2 / 4
    assert parts.fraction == pytest.approx(whirling / (whirling + straining), abs=1e-6)


def test_orders_of_convergence():
    exact = 0.49 * 3 / 8 / (0.49 * 3 / 8 + 5 / 4)
    errors, fractions, claims = [], [], []
    for cells in (8, 16, 32):
        parts = decompose(mixed, UNIT, rtol=1e-12, max_points=(3 * cells) ** 2, throw=False)
        assert parts.cells == cells and not parts.converged
        axis = (np.arange(40) + 0.5) / 40
        places = np.stack(np.meshgrid(axis, axis), axis=-1)
        gap = parts.gradient_part(places) - gradient(places)
        errors.append(np.sqrt(np.mean(np.sum(gap**2, axis=-1)) / np.mean(np.sum(mixed(places) ** 2, axis=-1))))
        fractions.append(abs(parts.fraction - exact))
        claims.append(parts.error)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(fractions[0] / fractions[1]) == pytest.approx(4.0, abs=0.3)
    # The reported error is that between the last two grids: it bounds the finer one's.
    assert all(error < claim < 6 * error for error, claim in zip(errors, claims, strict=True))


def test_rest_is_orthogonal_to_every_gradient():
    parts = decompose(lambda x: np.array([np.sin(3 * x[1]) + x[0] ** 2, np.exp(-x[0]) * x[1]]), UNIT, rtol=1e-4)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    axis, weights = (nodes + 1) / 2, weights / 2
    places = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    w = parts.remainder(places)
    for a, b in ((1, 0), (2, 3), (0, 4)):
        partials = np.stack(
            [
                -a * np.sin(a * places[..., 0]) * np.cos(b * places[..., 1]),
                -b * np.cos(a * places[..., 0]) * np.sin(b * places[..., 1]),
            ],
            axis=-1,
        )
        product = np.einsum("i,j,ijk,ijk->", weights, weights, w, partials)
        assert abs(product) < 1e-4


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_gradient_has_nothing_left(dim):
    parts = decompose(lambda x: -np.tanh(x) - 0.3 * np.sum(x), [[-1.0, 2.0]] * dim, rtol=1e-2)
    assert parts.fraction < 1e-5
    theta = np.full(dim, 0.4)
    np.testing.assert_allclose(parts.remainder(theta), 0, atol=2e-2)
    step = 1e-6
    for e in np.eye(dim):
        derivative = (parts.potential(theta + step * e) - parts.potential(theta - step * e)) / (2 * step)
        assert -derivative == pytest.approx(float(parts.gradient_part(theta) @ e), abs=1e-6)


def test_any_field_in_one_dimension_is_a_gradient():
    assert decompose(lambda x: np.array([np.sin(5 * x[0])]), [[0.0, 3.0]]).fraction < 1e-6


def test_three_dimensions_against_the_plane():
    # A rotation about the third axis that does not depend on it: the split is that of the plane.
    parts = decompose(lambda x: np.array([-x[1], x[0], 0.0]), [[-1, 1], [-1, 1], [0, 1]], rtol=5e-2)
    assert parts.fraction == pytest.approx(torsion_fraction(1.0), abs=2e-3)


def test_affine_split_is_the_one_of_balls():
    rng = np.random.default_rng(1)
    drift = ln.drifts.Linear(rng.normal(size=(2, 2)), rng.normal(size=2))
    parts = split_affine(drift)
    theta = rng.normal(size=(5, 2))
    np.testing.assert_allclose(parts.gradient_part(theta) + parts.remainder(theta), drift(theta), atol=1e-14)
    np.testing.assert_allclose(np.einsum("pi,pi->p", parts.remainder(theta), theta), 0, atol=1e-14)
    step = 1e-6
    partials = [(parts.potential(theta + step * e) - parts.potential(theta - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(-np.stack(partials, axis=-1), parts.gradient_part(theta), atol=1e-8)
    centre = -np.linalg.solve(drift.matrix(2), drift.offset(2))
    angle, radius = rng.uniform(0, 2 * np.pi, 200_000), np.sqrt(rng.uniform(0, 1, 200_000))
    ball = centre + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    skew = (drift.matrix(2) - drift.matrix(2).T) / 2
    sampled = np.mean(np.sum(((ball - centre) @ skew.T) ** 2, -1)) / np.mean(np.sum(drift(ball) ** 2, -1))
    assert parts.fraction == pytest.approx(sampled, rel=1e-2)


def test_a_field_with_a_jump_is_refused_or_flagged():
    def step(x):
        return np.array([0.0, float(x[0] > 1 / 3)])

    with pytest.raises(ln.NotConverged, match=r"still differ by .* rtol = 1e-05"):
        decompose(step, UNIT, rtol=1e-5, max_points=20_000)
    parts = decompose(step, UNIT, rtol=1e-5, max_points=20_000, throw=False)
    assert not parts.converged and parts.error > 1e-5


def test_effective_loss_on_a_grid_moves_the_drift_into_the_loss():
    """J[f, L] = J[0, L_eff] − φ(θ₀)/η, with φ from the grid."""
    drift = ln.drifts.Function(lambda x: -0.8 * np.tanh(x), lambda x: np.diag(-0.8 / np.cosh(x) ** 2), dim=2)
    objective = ln.Objective(0.9, 1.1, 0.7, drift=drift)
    loss = ln.losses.Quadratic(np.diag([1.0, 2.0]), minimum=[0.5, 0.2])
    parts = decompose(drift, [[-3, 3], [-3, 3]], rtol=1e-3)
    effective = effective_loss(objective, loss, parts)
    rng = np.random.default_rng(3)
    theta = rng.uniform(-2, 2, size=(20, 2))
    height = 0.8 * np.sum(np.log(np.cosh(theta)), axis=-1)
    share = 1 / (0.9 * 1.1)
    exact = loss.value(theta) + share * (np.sum(drift(theta) ** 2, -1) / 2 + 0.7 * height)
    gap = effective.value(theta) - exact
    np.testing.assert_allclose(gap, gap[0], atol=1e-5)  # φ is known up to a constant
    step = 1e-6
    partials = [(effective.value(theta + step * e) - effective.value(theta - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(effective.gradient(theta), np.stack(partials, axis=-1), atol=1e-5)


def test_effective_loss_of_decay_is_the_ridge():
    objective = ln.Objective(0.5, 2.0, 0.6, drift=ln.drifts.weight_decay(1.5))
    loss = ln.losses.Quadratic(np.diag([1.0, 3.0]), minimum=[1.0, -2.0], offset=0.4)
    effective = effective_loss(objective, loss, split_affine(objective.drift, 2))
    assert isinstance(effective, ln.losses.Quadratic)
    ridge = 1.5 * (1.5 + 0.6)
    theta = np.array([0.3, 0.9])
    assert effective.value(theta) == pytest.approx(loss.value(theta) + ridge * theta @ theta / 2, rel=1e-12)
    end = ln.solve(objective, loss, theta).asymptote
    np.testing.assert_allclose(effective.stationary_points()[0], end, atol=1e-12)


ROTATION = ln.drifts.rotation(1.0)
BOWL = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decompose(3.0, UNIT), r"field = 3\.0"),
        (lambda: decompose(ROTATION, [0.0, 1.0]), r"box has shape \(2,\)"),
        (lambda: decompose(ROTATION, [[1.0, 0.0], [0.0, 1.0]]), "low < high"),
        (lambda: decompose(ROTATION, UNIT, rtol=0.0), r"rtol = 0\.0"),
        (lambda: decompose(ROTATION, UNIT, max_points=10), "max_points = 10"),
        (lambda: decompose(lambda x: x[:1], UNIT), r"field returns shape \(1,\)"),
        (lambda: decompose(lambda x: x / 0 if x[0] > 0.9 else x, UNIT), "field is not finite at theta = "),
        (lambda: decompose(lambda x: 0 * x, UNIT), "is zero on the box"),
        (lambda: decompose(ROTATION, UNIT, rtol=0.1).potential([2.0, 0.0]), r"theta = \[2\.0, 0\.0\]"),
        (lambda: split_affine(ROTATION).potential([1.0]), "last axis must have length 2"),
        (lambda: split_affine(ln.drifts.weight_decay(1.0)), "dim = None"),
        (lambda: split_affine(ROTATION, 3), "dim = 3"),
        (lambda: split_affine(lambda x: x), "must be a drifts.Linear"),
        (lambda: effective_loss(ln.Objective(), BOWL, split_affine(ROTATION)), "objective.drift = None"),
        (
            lambda: effective_loss(ln.Objective(drift=ln.drifts.rotation(1.0)), BOWL, split_affine(ROTATION)),
            "must be of objective.drift",
        ),
        (
            lambda: effective_loss(ln.Objective(drift=ROTATION, metric=2 * np.eye(2)), BOWL, split_affine(ROTATION)),
            "objective.metric is set",
        ),
        (
            lambda: effective_loss(ln.Objective(drift=ROTATION, horizon=1.5), BOWL, split_affine(ROTATION)),
            r"objective.horizon = 1\.5.* endless",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_errors_name_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_module_is_reached_lazily():
    assert ln.helmholtz is helmholtz


@pytest.mark.parametrize("split", [lambda field: decompose(field, UNIT), split_affine])
def test_a_decomposition_comes_back_from_another_process_as_it_was(split):
    parts = split(ln.drifts.Linear([[0.1, -0.4], [0.3, 0.0]], [0.2, 0.0]))
    again, places = pickle.loads(pickle.dumps(parts)), np.random.default_rng(0).random((9, 2))
    np.testing.assert_array_equal(again.potential(places), parts.potential(places))
    np.testing.assert_array_equal(again.remainder(places), parts.remainder(places))
