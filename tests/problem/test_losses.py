"""Losses: derivatives against finite differences and sympy, batches, stationary points, errors."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import lossnav as ln
from lossnav import drifts
from lossnav.problem.weights import averages

LOSSES = {
    "quadratic": ln.losses.Quadratic([[2.0, 0.3], [0.3, -1.0]], minimum=[0.5, -0.2], offset=0.7),
    "linear": ln.losses.Quadratic([[1.0, 1.0], [1.0, 1.0]], gradient=[1.0, -2.0], offset=0.1),
    "double well": ln.losses.DoubleWell(1.3, 0.8, 0.6, -0.4),
    "rosenbrock": ln.losses.Rosenbrock(0.7, 12.0),
    "function": ln.losses.Function(lambda x: np.cos(x[..., 0]) * x[..., 1] ** 2, dim=2),
    "function, one point": ln.losses.Function(lambda x: float(np.exp(x[0]) + x[0] * x[1] ** 3), dim=2),
    "section": ln.losses.Section(ln.losses.Rosenbrock(), axis=1, point=[0.3, 0.0]),
}


def difference(function, x, step=1e-5):
    columns = []
    for j in range(len(x)):
        e = np.zeros_like(x)
        e[j] = step
        columns.append((np.asarray(function(x + e)) - np.asarray(function(x - e))) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_match_finite_differences(name):
    loss = LOSSES[name]
    for x in np.random.default_rng(1).normal(size=(5, loss.dim)):
        assert np.allclose(loss.gradient(x), difference(loss.value, x), rtol=1e-7, atol=1e-7)
        assert np.allclose(loss.hessian(x), difference(loss.gradient, x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_batches_equal_single_points(name):
    loss = LOSSES[name]
    batch = np.random.default_rng(2).normal(size=(3, 4, loss.dim))
    assert loss.value(batch).shape == (3, 4)
    assert loss.gradient(batch).shape == (3, 4, loss.dim)
    assert loss.hessian(batch).shape == (3, 4, loss.dim, loss.dim)
    for index in np.ndindex(3, 4):
        assert np.isclose(loss.value(batch[index]), loss.value(batch)[index], rtol=1e-13)
        assert np.allclose(loss.gradient(batch[index]), loss.gradient(batch)[index], rtol=1e-10, atol=1e-12)
        assert np.allclose(loss.hessian(batch[index]), loss.hessian(batch)[index], rtol=1e-7, atol=1e-9)
    assert isinstance(loss.value(batch[0, 0]), float)


@pytest.mark.parametrize("name", ["quadratic", "linear", "double well", "rosenbrock", "section"])
def test_expression_is_the_value(name):
    loss = LOSSES[name]
    symbols = sympy.symbols(f"x:{loss.dim}", real=True)
    expression = sympy.sympify(loss.expression(symbols))
    for x in np.random.default_rng(3).normal(size=(4, loss.dim)):
        there = expression.subs(dict(zip(symbols, x, strict=True)))
        assert float(there) == pytest.approx(loss.value(x), rel=1e-12, abs=1e-12)


def test_double_well_minima_of_the_paper():
    points = ln.losses.DoubleWell().stationary_points()
    assert np.allclose(points[:, 0], [-0.930403, -0.127051, 1.057454], atol=5e-7)  # theory §7.5
    assert np.max(np.abs(ln.losses.DoubleWell().gradient(points))) < 1e-14


@settings(deadline=None, max_examples=60)
@given(a=st.floats(0.1, 5), b=st.floats(0.1, 4), c=st.floats(0.1, 3), d=st.floats(-20, 20))
def test_stationary_points_are_stationary(a, b, c, d):
    loss = ln.losses.DoubleWell(a, b, c, d)
    points = loss.stationary_points()
    assert len(points) in (1, 2, 3)
    assert np.max(np.abs(loss.gradient(points))) < 1e-6 * (1 + abs(d) + a * b**1.5)


def test_gradient_form_equals_minimum_form():
    hessian, minimum = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.7])
    by_minimum = ln.losses.Quadratic(hessian, minimum=minimum, offset=0.2)
    at_origin = by_minimum.value([0.0, 0.0])
    by_gradient = ln.losses.Quadratic(hessian, gradient=by_minimum.gradient([0.0, 0.0]), offset=at_origin)
    x = np.random.default_rng(4).normal(size=(6, 2))
    assert np.allclose(by_minimum.value(x), by_gradient.value(x), atol=1e-14)


def test_vectorised_function_that_mixes_axes_up_is_not_taken_for_batched():
    loss = ln.losses.Function(lambda x: x[0] ** 2 + 3 * x[1], dim=2)  # x[0] of a batch is a point, not a coordinate
    batch = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.allclose(loss.value(batch), [7.0, 21.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ln.losses.Quadratic([[1.0, 2.0], [0.0, 1.0]], minimum=[0, 0]), "hessian.*symmetric"),
        (lambda: ln.losses.Quadratic([[1.0]]), "exactly one of minimum and gradient.*neither"),
        (lambda: ln.losses.Quadratic([[1.0]], minimum=[0], gradient=[0]), "exactly one.*both"),
        (lambda: ln.losses.Quadratic([[np.nan]], minimum=[0]), "hessian.*finite"),
        (lambda: ln.losses.Quadratic(np.eye(2), minimum=[0]), r"minimum has shape \(1,\).*\(2,\)"),
        (lambda: ln.losses.DoubleWell(a=0), "a = 0.*> 0"),
        (lambda: ln.losses.DoubleWell(d="tilt"), "d = 'tilt'"),
        (lambda: ln.losses.Function(3.0, dim=1), "value = 3.0.*callable"),
        (lambda: ln.losses.Function(abs, dim=0), "dim = 0"),
        (lambda: ln.losses.Function(abs, dim=1.5), "dim = 1.5"),
        (lambda: ln.losses.Function(lambda x: x, dim=2).value([1.0, 2.0]), r"value\(theta\) has shape \(2,\)"),
        (lambda: ln.losses.DoubleWell().value([1.0]), r"theta has shape \(1,\)"),
        (lambda: ln.losses.Section(ln.losses.DoubleWell(), axis=2), "axis = 2"),
    ],
)
def test_bad_arguments_name_the_argument(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_ragged_arguments_are_named():
    with pytest.raises(ValueError, match="hessian"):
        ln.losses.Quadratic([[1.0, 2.0], [3.0]], minimum=[0.0, 0.0])
    with pytest.raises(ValueError, match="minimum"):
        ln.losses.Quadratic(np.eye(2), minimum=[[1.0], [2.0, 3.0]])


@pytest.mark.parametrize("kind", [ln.losses.Loss, drifts.Drift, averages.Average])
def test_what_lacks_a_method_cannot_be_made(kind):
    """It is said when the object is made, and names the method; not in the middle of a solution."""
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (kind,), {"dim": 1})()
    methods = dict.fromkeys(kind.__abstractmethods__, lambda self, *arguments: 0.0)
    assert type("Whole", (kind,), {"dim": 1, **methods})().dim == 1


def test_a_section_knows_its_rests_only_where_the_loss_separates():
    """Rosenbrock's along θ₁ at θ₂ = 1 has two wells, and one of them is no minimum of the whole."""
    section = ln.losses.Section(ln.losses.Rosenbrock(), 0, [0.0, 1.0])
    assert section.stationary_points() is None
    assert ln.solve(ln.Objective(gamma=1.0), section, [-1.0]).asymptote[0] == pytest.approx(-0.994975, rel=1e-5)
    assert len(ln.losses.Section(ln.losses.DoubleWell(), 0, [0.0, 0.0]).stationary_points()) == 3
    tilted = ln.losses.Quadratic([[2.0, 1.0], [1.0, 2.0]], minimum=[1.0, 0.0])
    assert ln.losses.Section(tilted, 0).stationary_points().tolist() == [[1.0]]
