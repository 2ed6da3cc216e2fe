"""Linear classifiers: gradient, Hessian and Fisher information against differences, labels summed out, and sampling."""

import itertools
import math

import mpmath
import numpy as np
import pytest

import lossnav as ln
from lossnav.problem.classifiers import LINKS, SCORES, LogisticRegression

ALL = list(itertools.product(LINKS, SCORES))


def problem(seed, link="logistic", score="log", count=12, dim=3, l2=0.3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, dim))
    return x, LogisticRegression(x, rng.integers(0, 2, count), l2, link, score), rng.normal(size=dim)


def chance(link, z):
    return 1 / (1 + math.exp(-z)) if link == "logistic" else (1 + math.erf(z / math.sqrt(2))) / 2


def differences(function, theta, step=1e-5):
    eye = np.eye(len(theta))
    return np.stack([(function(theta + step * e) - function(theta - step * e)) / (2 * step) for e in eye], axis=-1)


@pytest.mark.parametrize(("link", "score"), ALL)
def test_value_written_out(link, score):
    x, _, theta = problem(0)
    y = [1, 0] * 6
    model = LogisticRegression(x, y, 0.3, link, score)
    total = 0.0
    for row, label in zip(x, y, strict=True):
        p = chance(link, float(row @ theta))
        total += (p - label) ** 2 / 2 if score == "brier" else -math.log(p if label else 1 - p)
    assert model.value(theta) == pytest.approx(total / 12 + 0.15 * theta @ theta, rel=1e-12)


@pytest.mark.parametrize(("link", "score"), ALL)
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_against_differences(seed, link, score):
    _, model, theta = problem(seed, link, score)
    assert np.allclose(model.gradient(theta), differences(model.value, theta), atol=1e-9)
    assert np.allclose(model.hessian(theta), differences(model.gradient, theta), atol=1e-9)


@pytest.mark.parametrize(("link", "score"), ALL)
def test_many_points_at_once(link, score):
    _, model, _ = problem(4, link, score)
    points = np.random.default_rng(5).normal(size=(2, 4, 3))
    for method, shape in (("value", ()), ("gradient", (3,)), ("hessian", (3, 3)), ("fisher", (3, 3))):
        together = getattr(model, method)(points)
        assert together.shape == (2, 4, *shape)
        assert np.allclose(together[1, 2], getattr(model, method)(points[1, 2]), rtol=1e-13, atol=1e-15)


def score_outer(x, theta, link, y):
    """∇log P(y|x) ∇log P(y|x)ᵀ for one example, the derivative of the log by differences."""

    def log_chance(point):
        p = chance(link, float(x @ point))
        return math.log(p if y else 1 - p)

    gradient = differences(log_chance, theta)
    return np.outer(gradient, gradient)


@pytest.mark.parametrize(("link", "score"), ALL)
def test_fisher_is_the_sum_over_labels(link, score):
    """E_y[∇log P ∇log Pᵀ], both labels weighted by the model's own probabilities."""
    x, model, theta = problem(6, link, score)
    total = np.zeros((3, 3))
    for row in x:
        p = chance(link, float(row @ theta))
        total += p * score_outer(row, theta, link, 1) + (1 - p) * score_outer(row, theta, link, 0)
    assert np.allclose(model.fisher(theta), total / len(x), atol=1e-9)


@pytest.mark.parametrize("link", LINKS)
def test_fisher_by_sampled_labels(link):
    """The mean Hessian of the log score over labels drawn from the model."""
    x, model, theta = problem(7, link, l2=0.0)
    rng = np.random.default_rng(8)
    p = np.array([chance(link, float(row @ theta)) for row in x])
    draws = np.stack([LogisticRegression(x, rng.random(12) < p, link=link).hessian(theta) for _ in range(2000)])
    error = draws.std(0) / math.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(0) - model.fisher(theta)) < 5 * error + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_fisher_is_the_hessian_for_the_logistic_link_and_log_score_alone(seed):
    for link, score in ALL:
        x, model, theta = problem(seed, link, score, l2=0.0)
        gap = np.linalg.norm(model.hessian(theta) - model.fisher(theta)) / np.linalg.norm(model.fisher(theta))
        if (link, score) == ("logistic", "log"):
            assert gap == 0.0
        else:
            assert gap > 1e-2
        relabelled = LogisticRegression(x, np.zeros(len(x)), 2.0, link, "log")
        assert np.array_equal(relabelled.fisher(theta), model.fisher(theta))  # neither labels, score nor l2


def test_brier_score_can_bend_down_where_the_log_score_cannot():
    x, y = [[1.0]], [0]
    assert LogisticRegression(x, y, score="brier").hessian([3.0])[0, 0] < 0
    assert all(LogisticRegression(x, y, link=link).hessian([3.0])[0, 0] > 0 for link in LINKS)


@pytest.mark.parametrize("z", [-300.0, -30.0, -9.0, 9.0, 30.0, 300.0])
def test_far_from_the_boundary_against_fifty_digits(z):
    with mpmath.workdps(50):
        u = mpmath.mpf(z)
        upper, lower = mpmath.ncdf(u), mpmath.erfc(u / mpmath.sqrt(2)) / 2
        density = mpmath.npdf(u)
        value, gradient = -mpmath.log(lower), density / lower  # y = 0
        curvature = gradient * (gradient - u)
        fisher = density**2 / (upper * lower)
    model = LogisticRegression([[1.0]], [0], link="probit")
    assert model.value([z]) == pytest.approx(float(value), rel=1e-11)
    assert model.gradient([z])[0] == pytest.approx(float(gradient), rel=1e-9)
    assert model.hessian([z])[0, 0] == pytest.approx(float(curvature), rel=1e-7, abs=1e-12)
    assert model.fisher([z])[0, 0] == pytest.approx(float(fisher), rel=1e-9)
    logistic = LogisticRegression([[1.0]], [0])
    with mpmath.workdps(400):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(z)))
        value, gradient, curvature = -mpmath.log(1 - p), p, p * (1 - p)
    assert logistic.value([z]) == pytest.approx(float(value), rel=1e-12)
    assert logistic.gradient([z])[0] == pytest.approx(float(gradient), rel=1e-12)
    assert logistic.hessian([z])[0, 0] == pytest.approx(float(curvature), rel=1e-12)


@pytest.mark.parametrize("z", [-3.0, -1e3, -1e5, -1e8, -1e30])
def test_a_probit_is_curved_however_far_on_the_wrong_side(z):
    with mpmath.workdps(80):
        u = mpmath.mpf(-z)
        left = mpmath.quad(lambda s: s * mpmath.exp(-s - (s / u) ** 2 / 2), [0, 1, 10, 200])  # z² of ∫t e^{zt−t²/2}dt
        whole = mpmath.quad(lambda s: mpmath.exp(-s - (s / u) ** 2 / 2), [0, 1, 10, 200])
        curvature = float(left / whole**2)
    assert LogisticRegression([[1.0]], [1], link="probit").hessian([z])[0, 0] == pytest.approx(curvature, rel=1e-11)


def test_accuracy():
    model = LogisticRegression([[1.0], [2.0], [-1.0], [-3.0]], [1, 0, 0, 1])
    assert model.accuracy([1.0]) == 0.5 and model.accuracy([-1.0]) == 0.5
    assert LogisticRegression([[1.0], [-2.0]], [1, 0]).accuracy([0.1]) == 1.0


def test_optimal_step_is_one_rule_on_logistic_regression():
    """G = H makes every curvature relative to the metric 1: all rules point along the natural gradient."""
    _, model, theta = problem(9, l2=0.0)
    g, metric = model.gradient(theta), model.fisher(theta)
    for gamma, dt in ((0.0, 0.2), (1.5, 3.0)):
        step = ln.update(ln.Objective(gamma=gamma, metric=metric), g, model.hessian(theta), dt)
        rate = math.sqrt(gamma**2 / 4 + 1) - gamma / 2
        assert np.allclose(step, -(1 - math.exp(-rate * dt)) * np.linalg.solve(metric, g), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LogisticRegression([1.0], [1]), "x has shape"),
        (lambda: LogisticRegression(np.ones((0, 2)), []), r"x has shape \(0, 2\).*at least one row"),
        (lambda: LogisticRegression([[np.nan]], [1]), "x.*finite"),
        (lambda: LogisticRegression([[1.0]], [1, 0]), "y has shape"),
        (lambda: LogisticRegression([[1.0]], [-1]), "y.*0 or 1"),
        (lambda: LogisticRegression([[1.0]], [1], l2=-0.1), "l2 = -0.1.*>= 0"),
        (lambda: LogisticRegression([[1.0]], [1], link="cauchit"), "link = 'cauchit'.*'logistic', 'probit'"),
        (lambda: LogisticRegression([[1.0]], [1], score="hinge"), "score = 'hinge'.*'log', 'brier'"),
        (lambda: LogisticRegression([[1.0]], [1]).value([1.0, 2.0]), "theta"),
        (lambda: LogisticRegression([[1.0]], [1]).fisher([1.0, 2.0]), "theta"),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_fisher_is_the_gauss_newton_matrix_of_the_log_score_alone():
    """Same model, Brier score: AᵀsA with s the square p'(z)², which has no curvature of p in it, is another matrix."""
    for score, same in (("log", True), ("brier", False)):
        x, model, theta = problem(5, "logistic", score)
        p = 1 / (1 + np.exp(-x @ theta))
        derivative = p * (1 - p)
        gauss_newton = (x.T * (derivative if score == "log" else derivative**2)) @ x / len(x)
        assert np.allclose(model.fisher(theta), gauss_newton, rtol=1e-10) == same
