"""Metrics: matrices by hand, derivatives against differences, formulas against numbers; what a plain function costs."""

import math

import numpy as np
import pytest
import sympy

import lossnav as ln
from lossnav.problem.functions import differences

SPREADS = {  # v as a function of the coordinate s, and the metric as the docstring prints it
    "variance": (lambda s: s, lambda s: (1 / s, 1 / (2 * s**2))),
    "log_variance": (np.exp, lambda s: (np.exp(-s), 0.5)),
    "deviation": (np.square, lambda s: (1 / s**2, 2 / s**2)),
    "log_deviation": (lambda s: np.exp(2 * s), lambda s: (np.exp(-2 * s), 2.0)),
    "precision": (lambda s: 1 / s, lambda s: (s, 1 / (2 * s**2))),
}
A, B = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.2, 0.0], [0.2, 2.0, -0.4], [0.0, -0.4, 1.5]])


def bent(x):
    return [[1 + x[0] ** 2, x[0] * x[1]], [x[0] * x[1], 2 + np.sin(x[1]) ** 2]]


METRICS = {
    "constant": ln.metrics.Constant(A),
    "diagonal": ln.metrics.Diagonal([2.0, 0.5, 3.0]),
    "kronecker": ln.metrics.Kronecker(A, B),
    **{f"fisher {spread}": ln.metrics.Fisher(2, spread) for spread in SPREADS},
    "relative": ln.metrics.Relative(3),
    "relative each": ln.metrics.Relative(3, each=True),
    "function": ln.metrics.Function(bent, dim=2),
}


def points(metric, *shape):
    return np.random.default_rng(3).uniform(0.5, 1.5, size=(*shape, metric.dim))


@pytest.mark.parametrize("name", METRICS)
def test_derivatives_are_those_of_the_matrix(name):
    metric = METRICS[name]
    theta = points(metric, 2, 3)
    first, second = metric.derivative(theta), metric.second_derivative(theta)
    assert first.shape == (2, 3, *(metric.dim,) * 3) and second.shape == (2, 3, *(metric.dim,) * 4)
    assert np.allclose(first, differences.first(metric.matrix, theta, 2e-3), atol=1e-8)
    assert np.allclose(second, differences.first(metric.derivative, theta, 2e-3), atol=1e-5)


@pytest.mark.parametrize("name", METRICS)
def test_norm_is_that_of_the_matrix_and_batches_broadcast(name):
    metric = METRICS[name]
    theta, velocity = points(metric, 4, 1), np.random.default_rng(4).normal(size=(5, metric.dim))
    matrix = metric.matrix(theta)
    assert np.array_equal(metric(theta), matrix) and np.all(np.linalg.eigvalsh(matrix) > 0)
    by_hand = np.array([[v @ matrix[a, 0] @ v for v in velocity] for a in range(4)])
    assert np.allclose(metric.norm_squared(theta, velocity), by_hand, rtol=1e-13)


@pytest.mark.parametrize("name", METRICS)
def test_formula_says_what_the_numbers_say(name):
    metric = METRICS[name]
    theta = points(metric)
    names = np.array(sympy.symbols(f"x:{metric.dim}", real=True), dtype=object)
    formula = metric.expression(names, sympy)
    if name == "function":  # numpy's sine takes no symbols
        assert formula is None
        return
    formula = sympy.Matrix(formula)
    assert np.allclose(np.array(formula.subs(dict(zip(names, theta, strict=True))), dtype=float), metric.matrix(theta))


@pytest.mark.parametrize("spread", SPREADS)
def test_fisher_is_one_metric_in_five_coordinates(spread):
    """Eq. 144's dμ²/v + dv²/2v², with v(s) by differences; and the table of the docstring."""
    variance, table = SPREADS[spread]
    mean, s, d_mean, d_s = 0.3, 0.8, -0.7, 0.4
    metric = ln.metrics.Fisher(spread=spread)
    rate = (variance(s + 1e-6) - variance(s - 1e-6)) / 2e-6 * d_s
    expected = d_mean**2 / variance(s) + rate**2 / (2 * variance(s) ** 2)
    assert metric.norm_squared([mean, s], [d_mean, d_s]) == pytest.approx(expected, rel=1e-8)
    assert np.allclose(np.diag(metric.matrix([mean, s])), table(s))


def test_fisher_of_several_weights_has_means_first():
    """The order of ``lossnav.uncertainty``: its kinetic energy is this norm over 2η."""
    mean, variance, mean_rate, rate = np.random.default_rng(0).uniform(0.5, 2, size=(4, 3))
    metric = ln.metrics.Fisher(3)
    norm = metric.norm_squared(np.r_[mean, variance], np.r_[mean_rate, rate])
    assert norm / (2 * 0.7) == pytest.approx(ln.uncertainty.Problem(eta=0.7).kinetic(variance, mean_rate, rate))


@pytest.mark.parametrize("spread", SPREADS)
def test_fisher_has_the_same_formula_in_any_unit_of_weights(spread):
    """θ = scale·θ′ + shift leaves G(θ′) = scale·G(θ)·scale, of order one where the units were asked for."""
    metric = ln.metrics.Fisher(2, spread=spread)
    theta = np.array([3.0, -0.1, *(np.random.default_rng(3).uniform(1e-3, 50, size=2))])
    scale, shift = metric.units_at(theta)
    for place in (theta, theta * [2.0, 3.0, 1.5, 0.7]):
        inside = metric.matrix((place - shift) / scale)
        assert np.allclose(inside, scale[:, None] * metric.matrix(place) * scale, rtol=1e-12)
    assert np.all(np.abs(np.log2(np.diag(metric.matrix((theta - shift) / scale))[:2])) <= 1)


@pytest.mark.parametrize("spread", SPREADS)
def test_fisher_geodesics_are_shortest_in_every_coordinate(spread):
    """Steps along it have equal lengths, which add up to Rao's distance; nothing is asked of the formula itself."""
    variance, _ = SPREADS[spread]
    metric = ln.metrics.Fisher(2, spread=spread)
    ends = np.array([[0.0, 1.0, 0.5, 1.5], [2.0, -1.0, 0.8, 0.4]])
    path = metric.geodesic(np.linspace(0, 1, 2001), *ends)
    assert np.allclose(path[[0, -1]], ends)
    lengths = np.sqrt(metric.norm_squared((path[1:] + path[:-1]) / 2, np.diff(path, axis=0)))
    assert np.allclose(lengths, lengths.mean(), rtol=1e-3)
    parts = [ln.uncertainty.distance(*(x for end in ends for x in (end[i], variance(end[2 + i])))) for i in range(2)]
    assert lengths.sum() == pytest.approx(math.hypot(*parts), rel=1e-6)


def test_fisher_information_is_that_of_samples():
    """Averages of products of the score, the derivative of ln N(x; μ, v), at 2·10⁵ seeded samples."""
    mean, variance = 0.4, 1.7
    x = np.random.default_rng(1).normal(mean, math.sqrt(variance), size=200_000)
    score = np.stack([(x - mean) / variance, ((x - mean) ** 2 / variance - 1) / (2 * variance)])
    assert np.allclose(score @ score.T / x.size, ln.metrics.Fisher().matrix([mean, variance]), atol=5e-3)


def test_kronecker_acts_between_rows_and_between_columns():
    step = np.random.default_rng(2).normal(size=(2, 3))
    metric = ln.metrics.Kronecker(A, B)
    assert np.allclose(metric.matrix(np.zeros(6)) @ step.ravel(), (A @ step @ B).ravel())
    assert metric.norm_squared(np.zeros(6), step.ravel()) == pytest.approx(np.trace(step.T @ A @ step @ B))


def test_relative_metric_does_not_feel_a_change_of_scale():
    theta, velocity = np.random.default_rng(5).normal(size=(2, 7, 3))
    joint, each = ln.metrics.Relative(3), ln.metrics.Relative(3, each=True)
    for metric, scale in ((joint, 40.0), (each, np.array([1e-3, 1.0, 50.0]))):
        assert np.allclose(metric.norm_squared(theta * scale, velocity * scale), metric.norm_squared(theta, velocity))


@pytest.mark.parametrize(
    ("function", "layout"),
    [
        (lambda x: [[1 / x[1] ** 2, 0], [0, 2 / x[1] ** 2]], "(D, N)"),
        (lambda x: [[1 / x[..., 1] ** 2, 0], [0, 2 / x[..., 1] ** 2]], "(..., D)"),
        (lambda x: (x[..., 1] ** -2)[..., None, None] * np.diag([1.0, 2.0]), "(..., D)"),
        (lambda x: np.diag([1 / x[1] ** 2, 2 / x[1] ** 2]), "entry by entry"),
        (lambda x: np.array([[1 / x[1] ** 2, 0], [0, 2 / x[1] ** 2]]), "entry by entry"),
        (lambda x: np.exp(-2 * np.log(abs(x[1]))) * np.diag([1.0, 2.0]), "entry by entry"),
        (lambda x: np.diag([1.0, 2.0]) / (x @ np.diag([0.0, 1.0]) @ x), "entry by entry"),
        (lambda x: np.diag([1.0, 2.0]) * (x[1] ** -2 if x[0] > 0 else 1 / x[1] ** 2), "one by one"),
        (lambda x: [[1 / math.pow(x[1], 2), 0], [0, 2 / math.pow(x[1], 2)]], "one by one"),
    ],
)
def test_a_plain_function_is_called_with_batches_where_it_can_be(function, layout):
    metric = ln.metrics.Function(function, dim=2)
    for count in (50, 2, 3, 4):  # also batches as many as there are parameters
        theta = points(metric, count)
        expected = theta[:, 1, None, None] ** -2 * np.diag([1.0, 2.0])
        assert np.allclose(metric.matrix(theta), expected, rtol=1e-14)
        assert np.allclose(metric.derivative(theta)[..., 1], -2 * expected / theta[:, 1, None, None], rtol=1e-9)
    assert metric.batches == {"matrix": layout}
    before = metric.calls
    metric.derivative(points(metric, 1000))
    assert metric.calls - before <= (4 if layout != "one by one" else 8000)


def test_a_constant_function_is_seen_to_be_constant():
    metric = ln.metrics.Function(lambda x: A, dim=2)
    assert np.array_equal(metric.matrix(np.zeros((100, 2))), np.broadcast_to(A, (100, 2, 2)))
    assert metric.calls < 15


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [[2 + np.tanh(x.mean()), 0], [0, 1]],
        lambda x: np.diag([2 + np.tanh(x.sum()), 1.0]),
        lambda x: [[x[1] ** 2 + 1, 0], [0, 2 + float(np.sign(x.sum()))]],
    ],
)
def test_a_number_that_hardly_changes_is_no_constant(function):
    """Written for one θ it reduces a whole batch to one number, and at first all points have the same."""
    metric = ln.metrics.Function(function, dim=2)
    far = np.array([[3e3, -1e3], [-1e3, 3e3], [2e3, 1e3]])  # the box around them has the others in it
    for theta in (far, points(metric, 3) * [[-1.0], [1.0], [1.0]], -1e-3 * points(metric, 2)):
        assert np.allclose(metric.matrix(theta), [function(x) for x in theta], rtol=1e-12)


def test_a_given_derivative_is_used():
    asked = []

    def derivative(x):
        asked.append(x)
        return np.zeros((2, 2, 2))

    metric = ln.metrics.Function(lambda x: x[0] * np.eye(2), derivative, dim=2)
    assert not np.any(metric.derivative([1.0, 2.0])) and len(asked) == 1
    assert set(metric.batches) == {"matrix", "derivative"}


def test_objectives_take_every_kind_of_metric():
    loss = ln.losses.Quadratic(np.diag([1.0, 3.0]), minimum=[0.0, 0.0])
    dense = ln.solve(ln.Objective(gamma=0.3, metric=np.diag([2.0, 0.5])), loss, [1.0, 1.0])
    for metric in (
        ln.metrics.Diagonal([2.0, 0.5]),
        ln.metrics.Constant([[2, 0], [0, 0.5]]),
        ln.metrics.Kronecker([[2.0]], np.diag([1.0, 0.25])),
    ):
        objective = ln.Objective(gamma=0.3, metric=metric)
        path = ln.solve(objective, loss, [1.0, 1.0])
        assert not objective.curved and path.method == "closed_form" and path.action == dense.action
        assert np.array_equal(objective.metric_matrix(2), np.diag([2.0, 0.5]))
        in_other_units = ln.solve(ln.Objective(eta=1e-9, gamma=0.3, metric=metric), loss, [1e6, 1.0])
        assert (
            in_other_units.action
            == ln.solve(ln.Objective(eta=1e-9, gamma=0.3, metric=np.diag([2.0, 0.5])), loss, [1e6, 1.0]).action
        )
    assert ln.Objective(metric=ln.metrics.Fisher()).curved and ln.Objective(metric=lambda x: A).curved


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ln.metrics.Constant([[1.0, 2.0], [2.0, 1.0]]), "matrix.*eigenvalue -1.*positive definite"),
        (lambda: ln.metrics.Diagonal([1.0, 0.0]), "values.*> 0"),
        (lambda: ln.metrics.Diagonal([]), "values has shape"),
        (lambda: ln.metrics.Kronecker(A, [[1.0, 2.0], [0.0, 1.0]]), "b = .*symmetric"),
        (lambda: ln.metrics.Fisher(0), "weights = 0"),
        (lambda: ln.metrics.Fisher(spread="width"), "spread = 'width'.*'deviation'"),
        (lambda: ln.metrics.Relative(2).matrix([1.0]), "theta has shape"),
        (lambda: ln.metrics.Function(bent, dim=2).norm_squared([1.0, 1.0], [1.0]), "velocity has shape"),
        (lambda: ln.Objective(metric=ln.metrics.Relative(2)).metric_at([0.0, 0.0]), r"metric\(theta\).*finite"),
        (lambda: ln.Objective(metric=ln.metrics.Fisher()).metric_at([0.0, -1.0]), "eigenvalue -1.*positive definite"),
        (lambda: ln.Objective(metric=ln.metrics.Fisher()).metric_at([0.0, 1.0, 1.0]), "metric acts on 2 parameters"),
        (lambda: ln.Objective(metric=ln.metrics.Diagonal([1.0])).check_dim(2), "metric acts on 1 parameters"),
        (lambda: ln.Objective(metric=ln.metrics.Fisher), "metric = .*not a class"),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("seed", range(3))
def test_under_the_relative_metric_a_loss_of_the_direction_keeps_the_norm(seed):
    """With a free end; an end that is fixed at another norm is reached, of course."""
    rng = np.random.default_rng(seed)
    aim, start = rng.normal(size=2), rng.normal(size=2) + 2.0
    loss = ln.losses.Function(lambda x: -(x @ aim) / np.sqrt((x * x).sum(-1)), dim=2)
    objective = ln.Objective(gamma=0.3, metric=ln.metrics.Relative(2), horizon=2.0)
    norm = np.linalg.norm(ln.solve(objective, loss, start)(np.linspace(0, 2, 9)), axis=1)
    np.testing.assert_allclose(norm, np.linalg.norm(start), rtol=1e-6)
    moved = ln.solve(ln.Objective(metric=ln.metrics.Relative(2)), loss, start, horizon=2.0, endpoint=2 * start)
    assert np.linalg.norm(moved(2.0)) == pytest.approx(2 * np.linalg.norm(start))


def test_without_loss_paths_by_own_size_are_straight_in_the_logarithm_and_with_one_they_are_not():
    objective, ends = ln.Objective(metric=ln.metrics.Relative(2, each=True)), ([1.0, 0.5], [2.0, 3.0])
    for loss, straight in ((ln.losses.Function(lambda x: 0 * x.sum(-1), dim=2), True), (ln.losses.DoubleWell(), False)):
        t = np.linspace(0, 1, 9)
        path = np.log(ln.solve(objective, loss, ends[0], horizon=1.0, endpoint=ends[1])(t))
        gap = np.max(np.abs(path - np.log(ends[0]) - np.outer(t, np.log(ends[1]) - np.log(ends[0]))))
        assert (gap < 1e-7) == straight


@pytest.mark.parametrize(("distance", "bulges"), [(2.44, False), (2.46, True)])
def test_the_shortest_way_is_wider_than_both_ends_if_they_are_far_apart(distance, bulges):
    """From N(0, 1) to N(d, 4): the top of the semicircle lies between them if d² > 2·3."""
    _, variance = ln.uncertainty.geodesic(np.linspace(0, 1, 20001), 0.0, 1.0, distance, 4.0)
    assert (variance.max() > 4 * (1 + 1e-9)) == bulges
    assert np.all(np.diff(variance) > 0) == (not bulges)


class Own(ln.metrics.Metric):
    """A user's metric, the same everywhere."""

    constant, dim = True, 2

    def __init__(self, matrix, batched=True):
        self.given, self.batched = np.asarray(matrix, dtype=float), batched

    def matrix(self, theta):
        return np.broadcast_to(self.given, (*np.shape(theta)[:-1], 2, 2)) if self.batched else self.given

    def derivative(self, theta):
        return np.zeros((*np.shape(theta), 2, 2))


@pytest.mark.parametrize(("matrix", "said"), [([[1, 0.5], [0, 1]], "symmetric"), ([[1, 2], [2, 1]], "definite")])
def test_a_users_constant_metric_is_one(matrix, said):
    """Of one that is no metric, steps, regrets and paths were returned."""
    bowl, wrong = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0]), ln.Objective(gamma=1.0, metric=Own(matrix))
    for call in (lambda: ln.update(wrong, [1.0, 1.0], np.eye(2), 0.1), lambda: ln.solve(wrong, bowl, [1.0, 2.0])):
        with pytest.raises(ValueError, match=rf"metric\(theta\).*{said}"):
            call()


def test_methods_of_a_users_classes_that_return_another_shape_are_named():
    """The messages were numpy's, from far inside; where shapes happened to broadcast there was a number."""

    class Bowl(ln.losses.Quadratic):
        def hessian(self, theta):
            return np.eye(2)

    class Drift(ln.drifts.Drift):
        def __call__(self, theta):
            return [-theta[1], theta[0]]

        def jacobian(self, theta):
            return np.array([[0.0, -1.0], [1.0, 0.0]])

    class Price(ln.prices.Price):
        def value(self, v):
            return np.asarray(v) ** 2

        def velocity(self, p):
            return np.asarray(p)

    batch = np.ones((3, 2))
    calls = {
        "Own.matrix": lambda: ln.Objective(metric=Own(A, batched=False)).metric.matrix(batch),
        "Bowl.hessian": lambda: Bowl(A, minimum=[0.0, 0.0]).hessian(batch),
        "Drift.__call__": lambda: ln.Objective(drift=Drift()).kinetic(batch, batch),
        "Drift.jacobian": lambda: Drift().jacobian(batch),
        "Price.value": lambda: ln.Objective(price=Price()).kinetic(np.ones((2, 2)), np.ones((2, 2))),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=rf"^{name} returns shape .* at points of shape .* must be"):
            call()
    assert Drift().jacobian(np.ones(2)).shape == (2, 2) and Drift()([1.0, 2.0]).tolist() == [-2.0, 1.0]


def test_an_object_without_a_number_of_parameters_is_named():
    class Lost(Own):
        dim = None

    with pytest.raises(ValueError, match=r"^metric\.dim = None"):
        ln.Objective(metric=Lost(A))
