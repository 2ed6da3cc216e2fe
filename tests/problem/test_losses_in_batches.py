"""A user's function in batches: how it takes them is found out once, said, and tested again."""

import math
import warnings

import numpy as np
import pytest

import lossnav as ln
from lossnav.problem.functions import batched, budget, differences
from lossnav.problem.functions.entries import entries, read

BATCH = np.random.default_rng(0).normal(size=(50, 3))


def bowl_rows(x):
    return (x**2).sum(-1) + x[..., 0]


def bowl_columns(x):
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[0]


def bowl_entries(x):
    return x @ x + x[0]


def bowl_single(x):
    return float(x @ x + x[0]) if x[0] > -1e9 else 0.0


@pytest.mark.parametrize(
    ("value", "layout", "calls"),
    [
        (bowl_rows, batched.ROWS, 1),
        (bowl_columns, batched.COLUMNS, 1),
        (bowl_entries, batched.ENTRIES, 1),
        (bowl_single, batched.SINGLE, 50),
    ],
)
def test_the_way_is_found_once_and_said(value, layout, calls):
    loss = ln.losses.Function(value, dim=3)
    assert loss.batches == {"value": None} and "not called with a batch yet" in repr(loss)
    expected = bowl_rows(BATCH)
    assert np.allclose(loss.value(BATCH), expected, rtol=1e-13)
    assert loss.batches == {"value": layout} and layout in repr(loss)
    loss.value(BATCH)  # tested again on a first batch, not on a second one in the same region
    before = loss.calls
    assert np.allclose(loss.value(BATCH), expected, rtol=1e-13)
    assert loss.calls - before == calls


def test_sums_over_many_data_are_asked_of_single_points():
    """Entry by entry each of the sums' terms would be an operation of Python: a hundred times as long."""
    data = np.random.default_rng(0).normal(size=(2000, 3))

    def value(x):
        return np.exp(-((data - x) ** 2)).sum()

    assert np.allclose(read(value(entries(BATCH)), len(BATCH), ()), [value(x) for x in BATCH])  # it could be done
    loss = ln.losses.Function(value, dim=3)
    assert np.array_equal(loss.value(BATCH), [value(x) for x in BATCH])
    assert loss.batches == {"value": batched.SINGLE}


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x[0] if x[1] > 0 else -x[0],
        lambda x: math.exp(x[0]),
        lambda x: float(x[0]) + x[1],
        lambda x: np.where(x[0] > 0, x[0], x @ x),
        lambda x: max(x),
        lambda x: np.linalg.norm(x) + 0.0 * float(x[0]),
        lambda x: x[0] * 0 + sum(1 for entry in x if entry > 0),
        lambda x: np.add(x[0], x @ x, where=True),
        lambda x: np.sqrt(x @ x) if isinstance(x[0], float) else x[0] * 2,
    ],
)
def test_what_differs_from_point_to_point_is_asked_of_single_points(value):
    loss = ln.losses.Function(value, dim=3)
    for _ in range(3):
        assert np.array_equal(loss.value(BATCH), [value(x.copy()) for x in BATCH])  # a product knows how x lies
    assert loss.batches == {"value": batched.SINGLE}


def test_entries_are_numbers_for_numpy_and_for_nothing_else():
    x, (a, b, c) = entries(BATCH), BATCH.T
    none = np.zeros(len(BATCH))
    for result, expected in (
        (np.exp(x[0]) * np.eye(2), [[np.exp(a), none], [none, np.exp(a)]]),
        (np.array([[1 / x[0], 0.0], [2, x[1] - 1]]), [[1 / a, none], [none + 2, b - 1]]),
        (np.outer(x, x)[1], [b * a, b * b, b * c]),
        ([np.hypot(x[0], x[1]), divmod(x[2], 0.5)[1], 7], [np.hypot(a, b), c % 0.5, none + 7]),
        (np.float64(2.0) * x[0] - np.array(1.0), 2 * a - 1),
        (-(abs(x[0]) ** 3), -(abs(a) ** 3)),
    ):
        batch = read(result, len(BATCH), np.shape(result))
        assert np.allclose(np.moveaxis(batch, 0, -1), expected, rtol=1e-15, atol=0)
    for taken in (bool, float, int, len, list, complex):
        with pytest.raises(TypeError):
            taken(x[0])
    with pytest.raises(ValueError, match="shape"):
        read([x[0], x[1]], len(BATCH), (3,))


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_gradients_and_hessians_in_every_way(dim):
    matrix = np.arange(dim * dim).reshape(dim, dim) / dim + np.eye(dim)
    matrix = matrix + matrix.T
    x = np.random.default_rng(1).normal(size=(4, 5, dim))
    for value, gradient in (
        (lambda t: np.einsum("...i,ij,...j->...", t, matrix, t) / 2, lambda t: t @ matrix),
        (lambda t: sum(t[i] * matrix[i, j] * t[j] for i in range(dim) for j in range(dim)) / 2, lambda t: matrix @ t),
        (lambda t: float(t @ matrix @ t) / 2, lambda t: [float(row @ t) for row in matrix]),
    ):
        for loss in (ln.losses.Function(value, dim=dim), ln.losses.Function(value, gradient, dim=dim)):
            assert np.allclose(loss.gradient(x), x @ matrix, rtol=1e-9, atol=1e-9)
            assert np.allclose(loss.hessian(x), matrix, rtol=2e-7, atol=2e-7)
            assert loss.gradient(x[:0]).shape == (0, 5, dim)


def test_a_function_that_only_seems_vectorised_is_never_believed():
    """It scales by a norm over all entries, but only of large arrays: small probes look right."""

    def clipped(x):
        norm = np.linalg.norm(x)
        x = x if norm < 20 else x * (20 / norm)
        return (x**2).sum(-1)

    loss = ln.losses.Function(clipped, dim=2)
    loss.value(np.full((3, 2), 0.1))
    assert loss.batches == {"value": batched.ROWS}
    for far in (np.full((400, 2), 1.5), np.array([[30.0, 0.0], [1.0, 1.0]])):
        assert np.allclose(loss.value(far), [clipped(x) for x in far])
    assert loss.batches == {"value": batched.SINGLE}


def test_far_out_digits_that_are_lost_to_the_order_of_a_sum_are_no_disagreement():
    """sin(Ax) at |x| of a million: the last digits of Ax, summed in another order, are another angle."""
    matrix = np.array([[0.7, -1.3, 0.2], [0.1, 0.9, -2.1], [1.7, 0.3, 0.4]])
    drift = ln.drifts.Function(lambda x: np.sin(x @ matrix.T), dim=3)
    for size in 10.0 ** np.arange(-2, 9):
        drift(size * BATCH[:, :3])
    assert drift._on(3)[0].layout == batched.ROWS

    def unlike(x):  # by a part in a million of what it is of one point
        return np.sin(x @ matrix.T) * (1 + 1e-6 * (x.ndim > 1 and len(x) > 30))

    drift = ln.drifts.Function(unlike, dim=3)
    drift(BATCH[:5, :3])
    drift(1e6 * np.concatenate([BATCH[:, :3]] * 40))
    assert drift._on(3)[0].layout == batched.SINGLE


def test_near_its_minimum_a_difference_of_ones_has_few_digits_and_that_is_no_disagreement():
    """1 − v·a of 10⁻⁸ is known to 10⁻¹⁶, whatever the order of the sum."""
    way = np.array([0.3, 0.8, 0.52]) / np.linalg.norm([0.3, 0.8, 0.52])

    def value(x):
        across = np.sin(x[..., 0])
        return 1 - np.stack([across * np.cos(x[..., 1]), across * np.sin(x[..., 1]), np.cos(x[..., 0])], axis=-1) @ way

    loss, lowest = ln.losses.Function(value, dim=2), [np.arccos(way[2]), np.arctan2(way[1], way[0])]
    loss.value(BATCH[:5, :2])
    for size in np.geomspace(1e-6, 1e-3, 100):
        loss.value(lowest + size * BATCH[:, :2])
    assert loss.batches == {"value": batched.ROWS}


def test_one_that_fails_on_a_later_batch_is_called_point_by_point():
    loss = ln.losses.Function(lambda x: x[0] ** 2 if np.size(x[0]) < 30 else [][1], dim=1)
    assert np.allclose(loss.value(np.ones((20, 1))), 1) and loss.batches == {"value": batched.COLUMNS}
    assert np.allclose(loss.value(np.ones((40, 1))), 1) and loss.batches == {"value": batched.SINGLE}


def test_tiny_losses_are_told_apart_like_large_ones():
    """1e-20 times a loss: an absolute tolerance would take any two of its values for equal."""
    loss = ln.losses.Function(lambda x: 1e-20 * x[0] ** 2 * np.arange(1, 1 + np.size(x[0])).mean(), dim=2)
    loss.value(BATCH[:, :2])
    assert loss.batches == {"value": batched.ENTRIES}  # columns are what it only seems to take


def test_a_function_that_changes_its_argument_changes_no_path():
    def value(x):
        x *= 2
        return (x**2).sum(-1)

    loss, points = ln.losses.Function(value, dim=3), BATCH.copy()
    assert np.allclose(loss.value(points), 4 * (BATCH**2).sum(-1))
    assert np.array_equal(points, BATCH) and loss.value(points[0]) == pytest.approx(4 * (BATCH[0] ** 2).sum())
    assert np.array_equal(points, BATCH)


def test_many_single_calls_are_worth_one_word(monkeypatch):
    monkeypatch.setattr(batched, "_MANY", 60)
    loss = ln.losses.Function(bowl_single, dim=3)
    with pytest.warns(UserWarning, match=r"value of a losses.Function was called \d+ times, point by point"):
        loss.value(np.tile(BATCH, (2, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss.value(BATCH)
        ln.losses.Function(bowl_rows, dim=3).value(np.tile(BATCH, (3, 1)))


def test_errors_of_the_function_itself_are_seen():
    with pytest.raises(ZeroDivisionError):
        ln.losses.Function(lambda x: 1 / 0, dim=2).value(BATCH[:, :2])
    with pytest.raises(KeyboardInterrupt):
        ln.losses.Function(interrupted, dim=2).value(BATCH[:, :2])


def interrupted(x):
    raise KeyboardInterrupt


def test_large_differences_are_cut_into_calls_of_bounded_size(monkeypatch):
    monkeypatch.setattr(differences, "_MOST_NUMBERS", 300)
    loss = ln.losses.Function(bowl_rows, dim=3)
    assert np.allclose(loss.hessian(BATCH), 2 * np.eye(3), atol=1e-7)
    assert np.allclose(loss.gradient(BATCH), 2 * BATCH + np.eye(3)[0], atol=1e-10)


def test_a_budget_counts_and_ends_once():
    loss = ln.losses.Function(bowl_single, dim=3)
    with budget.Budget(max_calls=20) as mine:
        with pytest.raises(budget.OutOfBudget, match="max_calls = 20 is spent"):
            loss.value(BATCH)
        assert mine.calls == loss.calls == 20
        loss.value(BATCH[0])  # what is left to hand back may still be asked for
    assert budget.spent() == ""
    with budget.Budget(max_calls=7), budget.Budget(), pytest.raises(budget.OutOfBudget):  # the outer one holds inside
        loss.value(BATCH)


@pytest.mark.parametrize(
    "value",
    [
        lambda x: (x**2).sum(-1) if np.all(x < 1.5) else (x**4).sum(-1),
        lambda x: x[..., 0] ** 2 if np.any(x > 2) else x[..., 1],
        lambda x: np.sin(x[..., 0]) * (1 if abs(x).max() < 3 else 2),
    ],
)
def test_what_asks_for_all_entries_at_once_is_not_asked_with_a_batch(value):
    """Written for one θ it is right, and takes a batch, whose points may differ in the answer."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        loss = ln.losses.Function(value, dim=3)
        for size in (1, 2, 5, 40, 400):
            points = rng.normal(size=(size, 3)) * rng.choice([0.3, 1.0, 3.0])
            np.testing.assert_allclose(loss.value(points), [value(x) for x in points], rtol=1e-10)
