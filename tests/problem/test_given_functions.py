"""Losses and drifts as users have them: functions of arrays or of tensors, formulas, with and without derivatives."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sympy
import torch

import lossnav as ln

X, Y = sympy.symbols("x y")
FORMULA = sympy.exp(X * Y) + X**4 + Y**4 - X
POINTS = np.random.default_rng(0).normal(size=(3, 5, 2))


def of_arrays(x):
    return np.exp(x[..., 0] * x[..., 1]) + (x**4).sum(-1) - x[..., 0]


def of_tensors(x):
    return torch.exp(x[0] * x[1]) + x.pow(4).sum() - x[0]


def gradient(x):
    a, b = x[..., 0], x[..., 1]
    e = np.exp(a * b)
    return np.stack([b * e + 4 * a**3 - 1, a * e + 4 * b**3], axis=-1)


def hessian(x):
    a, b = x[..., 0], x[..., 1]
    e = np.exp(a * b)
    mixed = (1 + a * b) * e
    return np.stack([b**2 * e + 12 * a**2, mixed, mixed, a**2 * e + 12 * b**2], axis=-1).reshape(*x.shape, 2)


GIVEN = {"tensors": (of_tensors, {"dim": 2}), "formula": (FORMULA, {}), "symbols": (FORMULA, {"symbols": (X, Y)})}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("first", ["value", "gradient", "hessian"])
def test_derivatives_are_exact_and_batches_are_one_call(name, first):
    value, options = GIVEN[name]
    loss = ln.losses.Function(value, **options)
    expected = {"value": of_arrays, "gradient": gradient, "hessian": hessian}
    for asked in (first, *expected):
        np.testing.assert_allclose(getattr(loss, asked)(POINTS), expected[asked](POINTS), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(getattr(loss, asked)([0.3, 2.0]), expected[asked](np.array([0.3, 2.0])), rtol=1e-13)
    assert loss.batches == dict.fromkeys(("value", "gradient", "hessian"), "(..., D)")
    before = loss.calls
    loss.gradient(POINTS[0])
    assert loss.calls - before <= 3  # and not one for each point


def test_a_given_derivative_is_used():
    loss = ln.losses.Function(of_tensors, lambda x: 2 * gradient(x), dim=2)
    with pytest.warns(UserWarning, match=r"gradient is not that of value: at theta = array\(\[1., 2.\]\) along"):
        loss.gradient([1.0, 2.0])
    np.testing.assert_allclose(loss.gradient([1.0, 2.0]), 2 * gradient(np.array([1.0, 2.0])))
    mixed_loss = ln.losses.Function(of_arrays, lambda x: torch.func.grad(of_tensors)(x), dim=2)  # one of tensors
    np.testing.assert_allclose(mixed_loss.gradient(POINTS), gradient(POINTS), rtol=1e-13)
    np.testing.assert_allclose(mixed_loss.hessian(POINTS), hessian(POINTS), atol=1e-8)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("at", [[1e-9, 0.0], [0.0, 0.0], [3.0, 1e-9], [1e9, 1.0]])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_a_gradient_is_taken_for_that_of_its_value_on_any_scale(at, scale):
    def value(x):
        return np.sqrt(1 + ((x / scale) ** 2).sum(-1)) + 1e3

    def own(x):
        return x / scale**2 / np.sqrt(1 + ((x / scale) ** 2).sum(-1, keepdims=True))

    ln.losses.Function(value, own, dim=2).gradient(at)
    ln.losses.Function(lambda x: np.abs(x).sum(-1), np.sign, dim=2).gradient(at)
    ln.losses.Function(lambda x: math.log(1e-12 + x[0]), lambda x: [1 / (1e-12 + x[0]), 0.0], dim=2).gradient(at)
    ln.losses.Function(lambda x: np.sqrt(x).sum(-1), lambda x: 0.5 / np.sqrt(np.maximum(x, 1e-300)), dim=2).gradient(at)


def test_a_branch_on_a_tensor_is_called_point_by_point():
    loss = ln.losses.Function(lambda x: x.pow(2).sum() if x[0] > 0 else x.pow(4).sum(), dim=2)
    points = np.array([[1.0, 2.0], [-1.0, 2.0]])
    np.testing.assert_allclose(loss.value(points), [5.0, 17.0])
    np.testing.assert_allclose(loss.gradient(points), [[2.0, 4.0], [-4.0, 32.0]])
    assert loss.batches["value"] == "one by one"


def test_a_function_that_takes_both_is_one_of_arrays():
    loss = ln.losses.Function(lambda x: (x**2).sum(-1), dim=3)
    loss.gradient(np.ones((4, 3)))
    assert list(loss.batches) == ["value"]


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("cut", [torch.tensor, torch.detach, lambda x: torch.from_numpy(np.asarray(x.detach()))])
def test_a_gradient_that_torch_has_lost_is_differenced(cut):
    loss = ln.losses.Function(lambda x: (cut(x if torch.is_tensor(x) else torch.from_numpy(x)) ** 4).sum(), dim=2)
    np.testing.assert_allclose(loss.gradient([1.0, 2.0]), [4.0, 32.0], rtol=1e-9)
    np.testing.assert_allclose(loss.hessian([[1.0, 2.0]]), [np.diag([12.0, 48.0])], atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_that_numpy_does_not_go_through_tensors_is_not_warned_of():
    weights = torch.eye(2, dtype=torch.float64)
    loss = ln.losses.Function(lambda x: ((weights @ x) ** 2).sum(), dim=2)
    np.testing.assert_array_equal(loss.gradient([1.0, 2.0]), [2.0, 4.0])


def test_weights_of_another_precision_are_named():
    with pytest.raises(TypeError) as refusal:
        ln.losses.Function(lambda x: torch.mv(torch.eye(2), x).sum(), dim=2).value([1.0, 2.0])
    assert "must be of float64: .double()" in refusal.value.__notes__[1]


def test_metrics_and_drifts_may_be_functions_of_tensors():
    scales = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    ways = {
        "tensors": (lambda x: torch.diag(1 + x.pow(2)) + scales, lambda x: torch.stack([-x[1], x[0]])),
        "arrays": (lambda x: np.diag(1 + x**2) + scales.numpy(), lambda x: np.array([-x[1], x[0]])),
    }
    points = np.random.default_rng(0).normal(size=(5, 2))
    metrics = {name: ln.metrics.Function(metric, dim=2) for name, (metric, _) in ways.items()}
    drifts = {name: ln.drifts.Function(drift) for name, (_, drift) in ways.items()}
    for ask in ("matrix", "derivative"):
        one, other = (getattr(metrics[name], ask)(points) for name in ways)
        np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(drifts["tensors"](points), drifts["arrays"](points), rtol=1e-14)
    np.testing.assert_allclose(drifts["tensors"].jacobian(points), drifts["arrays"].jacobian(points), atol=1e-10)
    sliced = ln.drifts.Function(lambda x: torch.tensor(np.sin(np.asarray(x)[::-1].copy())))
    np.testing.assert_allclose(sliced([1.0, 2.0]), np.sin([2.0, 1.0]))


@pytest.mark.filterwarnings("ignore:__array_wrap__")
def test_what_numpy_and_torch_make_together_is_taken_in_float64_alone():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])  # of float32, which takes no tensor of float64
    np.testing.assert_array_equal(ln.drifts.Function(lambda x: turn @ x)([1.0, 2.0]), [-2.0, 1.0])
    with pytest.raises(TypeError, match="a function of an array has returned a tensor"):
        ln.losses.Function(lambda x: turn.mv(torch.as_tensor(x.astype(np.float32))).sum(), dim=2).value([1.0, 2.0])


def test_an_error_says_what_was_tried():
    with pytest.raises(TypeError, match="Tensor") as refusal:
        ln.losses.Function(lambda x: torch.dot(x, torch.ones(2)), dim=2).value([1.0, 2.0])
    assert "A tensor of float64 was tried, too: RuntimeError" in refusal.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):
        ln.losses.Function(lambda x: 1 / 0, dim=2).value([1.0, 2.0])


def test_symbols_are_ordered_by_name_and_number():
    many = sympy.symbols("w_1:12")
    loss = ln.losses.Function(sum((i + 1) * w for i, w in enumerate(many)))
    np.testing.assert_array_equal(loss.gradient(np.zeros(11)), np.arange(1, 12))
    turned = ln.losses.Function(X + 2 * Y, symbols=(Y, X))
    np.testing.assert_array_equal(turned.gradient([0.0, 0.0]), [2, 1])
    wider = ln.losses.Function(X**2, symbols=(X, Y))
    np.testing.assert_array_equal(wider.hessian(np.ones((3, 2))), np.broadcast_to(np.diag([2, 0]), (3, 2, 2)))


def test_parameters_of_a_formula_are_real_and_a_kink_has_no_second_derivative():
    kinked = ln.losses.Function(sympy.Abs(X) + Y**2)
    np.testing.assert_array_equal(kinked.gradient([[-3.0, 1.0], [2.0, 1.0]]), [[-1, 2], [1, 2]])
    assert kinked.value([-3.0, 1.0]) == 4.0
    for loss in (kinked, ln.losses.Function(sympy.Max(X, Y))):
        with pytest.raises(ValueError, match=r"hessian has the entry .*DiracDelta.* give hessian as a function"):
            loss.hessian([1.0, 2.0])
    given = ln.losses.Function(sympy.Abs(X), hessian=lambda x: np.zeros((*x.shape, 1)))
    assert given.hessian([2.0]) == 0.0 and str(given.dim) == "1"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ln.losses.Function(FORMULA, dim=3), r"dim = 3, but value has the symbols \(x, y\)"),
        (lambda: ln.losses.Function(FORMULA, symbols=(X,)), r"value has the symbols \[y\], but symbols = \(x,\)"),
        (lambda: ln.losses.Function(sympy.Integer(3)), "value = 3 has no symbol"),
        (lambda: ln.losses.Function(X**2, symbols=(X, "y")), "an entry of symbols = 'y', but it must be a symbol"),
        (lambda: ln.losses.Function(X + sympy.Symbol("x", positive=True)), "no two of them may have one name"),
        (
            lambda: ln.losses.Function(sympy.Function("g")(X)).value([1.0]),
            r"value has the entry g\(x\), but it must be",
        ),
        (lambda: ln.losses.Function(of_arrays, dim=2, symbols=(X,)), r"symbols = \(x,\), but value is no sympy"),
        (lambda: ln.losses.Function(of_arrays), "dim = None"),
        (lambda: ln.solve(ln.Objective(), ln.losses.DoubleWell, [0.0, 0.0]), "loss = <class"),
        (lambda: ln.solve(ln.Objective(), FORMULA, [0.0]), "loss = .* has 2 symbols, but the problem has 1"),
        (lambda: ln.solve(ln.Objective(), 3, [0.0]), "loss = 3, but it must be a loss"),
        (lambda: ln.Objective(drift=ln.drifts.Linear), "drift = <class"),
        (lambda: ln.Objective(drift=3.0), "drift = 3.0"),
    ],
)
def test_what_does_not_fit_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("loss", [of_arrays, of_tensors, FORMULA], ids=["arrays", "tensors", "formula"])
def test_a_bare_function_or_formula_is_a_loss_where_paths_are_asked_for(loss):
    objective, start = ln.Objective(eta=2.0, gamma=1.0), [1.0, 0.5]
    reference = ln.losses.Function(of_arrays, gradient, hessian, dim=2)
    best = ln.solve(objective, reference, start)
    assert ln.solve(objective, loss, start).action == pytest.approx(best.action, rel=1e-8)
    assert ln.value(objective, loss, start) == pytest.approx(best.action, rel=1e-8)
    np.testing.assert_allclose(ln.optimal_velocity(objective, loss, start), best.velocity(0.0), rtol=1e-6)
    places = best(0.2 * np.arange(3))
    regret, expected = (ln.regret(places, objective, each, dt=0.2, value="ends").total for each in (loss, reference))
    assert regret == pytest.approx(expected, abs=1e-7)
    assert ln.trajectory.methods(objective, loss, start)["action"] == ""


def test_a_formula_is_one_for_the_equations_too_and_can_be_stored():
    loss = ln.losses.Function(FORMULA)
    derived = ln.euler_lagrange(ln.Objective(gamma=0.5), loss).acceleration([1.0, 2.0], [0.0, 0.0])
    np.testing.assert_allclose(derived, gradient(np.array([1.0, 2.0])), rtol=1e-12)
    again = pickle.loads(pickle.dumps(loss))
    np.testing.assert_array_equal(again.hessian(POINTS), loss.hessian(POINTS))


def test_neither_torch_nor_sympy_is_loaded_for_others():
    code = """
import sys, lossnav as ln
print(ln.value(ln.Objective(gamma=1.0), lambda x: (x**2).sum(-1), [1.0, 2.0]) > 0)
print({"torch", "sympy"} & set(sys.modules))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["True", "set()"]


def swirl(x):
    return np.array([-x[1], np.sin(x[0])])


def swirl_slope(x):
    return [[0 * x[0], -1 + 0 * x[0]], [np.cos(x[0]), 0 * x[0]]]


def test_a_missing_jacobian_of_a_drift_is_differenced():
    known, missing = ln.drifts.Function(swirl, swirl_slope, dim=2), ln.drifts.Function(swirl)
    np.testing.assert_allclose(missing.jacobian(POINTS), known.jacobian(POINTS), atol=1e-11)
    np.testing.assert_allclose(missing.jacobian([0.3, 0.4]), known.jacobian([0.3, 0.4]), atol=1e-11)
    outward = ln.drifts.Function(lambda x: 0.1 * x)  # of any number of parameters
    for dim in (1, 3):
        np.testing.assert_allclose(outward.jacobian(np.ones(dim)), 0.1 * np.eye(dim), atol=1e-11)


def test_a_function_is_a_drift_of_an_objective():
    options = {"gamma": 0.7, "eta": 3.0}
    known = ln.Objective(**options, drift=ln.drifts.Function(swirl, swirl_slope, dim=2))
    plain = ln.Objective(**options, drift=swirl)
    assert isinstance(plain.drift, ln.drifts.Function)
    expected, path = (ln.solve(objective, of_arrays, [1.0, 0.5]) for objective in (known, plain))
    assert path.action == pytest.approx(expected.action, rel=1e-8) and math.isfinite(expected.action)
    equations = ln.euler_lagrange(plain, ln.losses.DoubleWell())
    assert equations.acceleration([1.0, 0.5], [0.1, 0.2]) == pytest.approx(
        ln.euler_lagrange(known, ln.losses.DoubleWell()).acceleration([1.0, 0.5], [0.1, 0.2])
    )


@pytest.mark.parametrize("together", [True, False])
def test_a_function_may_fill_the_same_array_each_time(together):
    kept = np.empty(2000)

    def slope(x):
        assert together or x.ndim == 1
        filled = kept[: x.size].reshape(x.shape)
        filled[...] = gradient(x)
        return filled

    loss, drift = ln.losses.Function(of_arrays, slope, dim=2), ln.drifts.Function(slope)
    for call in (loss.gradient, drift):
        here, there = call(POINTS[0, 0]), call(POINTS[1, 1])
        many, others = call(POINTS), call(POINTS[::-1])
        np.testing.assert_allclose([here, there], gradient(POINTS[[0, 1], [0, 1]]), rtol=1e-13)
        np.testing.assert_allclose([many, others], [gradient(POINTS), gradient(POINTS[::-1])], rtol=1e-13)
    np.testing.assert_allclose(loss.hessian(POINTS), hessian(POINTS), atol=1e-9)
    assert loss.batches["gradient"] == ("(..., D)" if together else "one by one")
