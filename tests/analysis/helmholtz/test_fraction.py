"""The non-gradient fraction: exact cases, invariance, and its standard error against many simulated records."""

from __future__ import annotations

import numpy as np
import pytest

import lossnav as ln
from lossnav.analysis.helmholtz import decompose, non_gradient_fraction

HESSIAN = np.array([[1.0, 0.3], [0.3, 0.6]])


def heavy_ball(z, friction=0.5):
    x, v = z[:2], z[2:]
    return np.concatenate([v, -friction * v - HESSIAN @ x])


def vortex(x):
    strength = np.exp(-np.sum(x**2))
    return np.array([-np.sin(x[0]) - strength * x[1], -0.5 * x[1] ** 3 + strength * x[0]])


def record(matrix: np.ndarray, noise: float, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """States and updates of u = Mz + noise, started at random."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=len(matrix))
    states, updates = np.empty((2, steps, len(matrix)))
    for n in range(steps):
        u = matrix @ z + noise * rng.normal(size=len(matrix))
        states[n], updates[n] = z, u
        z = z + u
    return states, updates


def test_the_three_fields_that_one_knows():
    cloud = np.random.default_rng(0).normal(size=(10, 4))
    decayed = non_gradient_fraction(lambda x: -HESSIAN @ x - 0.1 * x, points=cloud[:, :2])
    assert decayed.value < 1e-20 and decayed.method == "jacobian"
    assert float(non_gradient_fraction(ln.drifts.rotation(7.0), points=cloud[:, :2])) == 1.0
    # The heavy ball by hand: |A|² = |I + H|²/2 and |J|² = D + |H|² + c²D.
    by_hand = np.sum((np.eye(2) + HESSIAN) ** 2) / 2 / (2 + np.sum(HESSIAN**2) + 0.25 * 2)
    fraction = non_gradient_fraction(heavy_ball, points=cloud)
    assert fraction.value == pytest.approx(by_hand, abs=1e-9)
    assert fraction.error < 1e-6


def test_differences_against_the_exact_jacobian():
    drift = ln.drifts.Function(
        vortex,
        lambda x: np.array(
            [
                [-np.cos(x[0]) + 2 * x[0] * x[1] * np.exp(-x @ x), (2 * x[1] ** 2 - 1) * np.exp(-x @ x)],
                [(1 - 2 * x[0] ** 2) * np.exp(-x @ x), -1.5 * x[1] ** 2 - 2 * x[0] * x[1] * np.exp(-x @ x)],
            ]
        ),
        dim=2,
    )
    points = np.random.default_rng(1).normal(size=(20, 2))
    exact, measured = non_gradient_fraction(drift, points=points), non_gradient_fraction(vortex, points=points)
    assert exact.error == 0
    assert measured.value == pytest.approx(exact.value, abs=1e-9)
    assert abs(measured.value - exact.value) <= measured.error + 1e-12


def test_turning_the_axes_changes_nothing_rescaling_one_does():
    rng = np.random.default_rng(2)
    matrix, points = rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    plain = float(non_gradient_fraction(lambda x: matrix @ x, points=points))
    turned = float(non_gradient_fraction(lambda x: turn @ matrix @ turn.T @ x, points=points))
    assert turned == pytest.approx(plain, rel=1e-9)
    scale = np.diag([1.0, 3.0, 1.0])
    bowl = rng.normal(size=(3, 3))
    bowl = bowl + bowl.T
    natural = lambda x: -np.linalg.solve(scale, bowl @ x)
    assert float(non_gradient_fraction(natural, points=points)) > 0.01  # −G⁻¹∇L: a gradient in G only
    assert float(non_gradient_fraction(lambda x: scale @ natural(x), points=points)) < 1e-18


def test_projection_is_that_of_the_decomposition():
    fraction = non_gradient_fraction(vortex, box=[[-2, 2], [-2, 2]], rtol=1e-2)
    parts = decompose(vortex, [[-2, 2], [-2, 2]], rtol=1e-2)
    assert (fraction.value, fraction.error, fraction.method) == (parts.fraction, parts.fraction_error, "projection")


def test_a_record_without_noise_is_exact():
    matrix = np.array([[-0.1, 0.05, 0.0], [-0.02, -0.2, 0.1], [0.0, 0.1, -0.15]])
    states, updates = record(matrix, 0.0, 12, seed=0)
    fraction = non_gradient_fraction(updates + 0.3, points=states - 5.0)  # offsets do not matter
    skew = (matrix - matrix.T) / 2
    assert fraction.value == pytest.approx(np.sum(skew**2) / np.sum(matrix**2), abs=1e-9)
    assert fraction.error < 1e-9 and fraction.method == "record"


@pytest.mark.parametrize("turn", [0.0, 0.02, 0.3], ids=["gradient", "nearly", "spiral"])
def test_standard_error_is_the_spread_over_records(turn):
    matrix = -0.1 * HESSIAN + turn * np.array([[0.0, -1.0], [1.0, 0.0]])
    skew = (matrix - matrix.T) / 2
    exact = np.sum(skew**2) / np.sum(matrix**2)
    shares = [non_gradient_fraction(u, points=z) for z, u in (record(matrix, 0.1, 1500, seed) for seed in range(100))]
    values, errors = (np.array([getattr(share, name) for share in shares]) for name in ("value", "error"))
    deviation = np.sqrt(np.mean((values - exact) ** 2))
    assert abs(values.mean() - exact) < 0.5 * deviation + 1e-12
    # Cutting at zero makes the values of a gradient spread less than the estimator itself.
    low, high = (1.0, 2.2) if turn == 0 else (0.75, 1.35)
    assert low < errors.mean() / deviation < high


def test_without_the_correction_a_gradient_would_look_like_a_rotation():
    states, updates = record(-0.1 * HESSIAN, 0.1, 60, seed=3)
    x, u = states - states.mean(0), updates - updates.mean(0)
    naive = np.linalg.lstsq(x, u, rcond=None)[0].T
    skew = (naive - naive.T) / 2
    uncorrected = np.sum(skew**2) / np.sum(naive**2)
    fraction = non_gradient_fraction(updates, points=states)
    assert fraction.value < uncorrected
    assert fraction.value < 2 * fraction.error


def test_momentum_needs_its_buffer():
    """Position and velocity together determine the update; the positions alone do not."""
    lr, mu, eye = 0.1, 0.8, np.eye(2)
    exact = np.block([[-lr * HESSIAN, mu * eye], [-lr * HESSIAN, (mu - 1) * eye]])
    states, updates = record(exact, 1e-3, 4000, seed=4)
    skew = (exact - exact.T) / 2
    truth = np.sum(skew**2) / np.sum(exact**2)
    fraction = non_gradient_fraction(updates, points=states)
    assert fraction.value == pytest.approx(truth, abs=4 * fraction.error)
    assert fraction.error < 0.02
    blind = non_gradient_fraction(updates[:, :2], points=states[:, :2])
    assert abs(blind.value - truth) > 20 * blind.error


STATES, UPDATES = record(-0.1 * HESSIAN, 0.1, 20, seed=5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: non_gradient_fraction(vortex), "exactly one of box and points"),
        (lambda: non_gradient_fraction(vortex, box=[[0, 1]], points=[0.0]), "exactly one of box and points"),
        (lambda: non_gradient_fraction(UPDATES), "recorded updates need points"),
        (lambda: non_gradient_fraction(UPDATES, points=STATES[:5]), "field has shape"),
        (lambda: non_gradient_fraction(UPDATES[:3], points=STATES[:3]), "points has 3 states"),
        (lambda: non_gradient_fraction(UPDATES, points=STATES[:, [0, 0]]), "vary in 1 of 2 directions"),
        (lambda: non_gradient_fraction(UPDATES, points=np.ones((20, 2))), "vary in 0 of 2 directions"),
        (lambda: non_gradient_fraction(lambda x: 0 * x + 1, points=[[0.0, 1.0]]), "does not vary"),
        (lambda: non_gradient_fraction(vortex, points=np.zeros((2, 2, 2))), r"points has shape \(2, 2, 2\)"),
        (lambda: non_gradient_fraction(lambda x: x[:1], points=[[0.0, 1.0]]), r"field returns shape \(1,\)"),
    ],
)
def test_errors_say_what_the_record_lacks(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_noise_that_hides_the_jacobian_is_said_so():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="noise of the updates hides their Jacobian"):
        for _ in range(50):
            states, updates = rng.normal(size=(2, 6, 3))
            non_gradient_fraction(updates, points=states)


def test_shown_with_error_and_method():
    assert repr(non_gradient_fraction(ln.drifts.rotation(1.0), points=[0.0, 0.0])) == "1.0000 ± 0 (jacobian)"


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_a_fraction_has_no_unit_and_no_origin(unit, shift):
    def field(q):
        x = q / unit - [shift, 0.0]
        return unit * np.array([np.tanh(x[1]) - x[0], -0.3 * np.tanh(x[0]) - x[1]])

    found = non_gradient_fraction(field, points=unit * np.array([shift + 0.3, -0.2]))
    bends = 1 / np.cosh([-0.2, 0.3]) ** 2 * [1.0, -0.3]
    exact = (bends[0] - bends[1]) ** 2 / 2 / (2 + bends @ bends)
    assert float(found) == pytest.approx(exact, abs=1e-8) and found.error < 1e-7


def test_a_period_that_fits_into_the_point_hides_nothing():
    def field(theta):
        turned = np.stack([-theta[..., 1], theta[..., 0]], axis=-1)
        return -(2 * theta + 20 * np.pi * np.sin(2 * np.pi * theta)) + 5 * turned

    for place in ([1.0, 1.0], [2.0, -1.0], [0.0, 1.0], [10.0, 5.0]):
        fraction = non_gradient_fraction(field, points=place)
        assert float(fraction) == pytest.approx(25 / (25 + (2 + 40 * np.pi**2) ** 2), rel=1e-6)
