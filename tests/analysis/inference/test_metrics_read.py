"""A metric read off a path (theory: I9 as corrected): one path tells it where the Hessian is not diagonal."""

import numpy as np
import pytest

import lossnav as ln

COUPLED = ln.losses.Quadratic([[2.0, 0.8], [0.8, 1.0]], minimum=[0.3, -0.2])
TRUTH = ln.Objective(gamma=0.7, eta=1.5, metric=np.diag([1.0, 2.0]))
T = np.linspace(0.0, 4.0, 60)
PLACES = ln.solve(TRUTH, COUPLED, [1.3, -1.5])(T)


def test_i9_one_path_on_a_coupled_bowl_tells_discount_and_metric():
    inference = ln.infer(PLACES, COUPLED, times=T, family="+metric", noise=0)
    assert not inference.unidentified
    for name, value in {"gamma": 0.7, "a": 1.5, "G2": 2.0}.items():
        assert inference.estimates[name].value == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(inference.record[2], PLACES, atol=1e-9)  # what is drawn beside the record
    assert len(inference.plot().lines) >= 2
    again = ln.solve(inference.objective(), COUPLED, PLACES[0])
    np.testing.assert_allclose(again(T), PLACES, atol=1e-6)
    assert ln.infer(PLACES, COUPLED, times=T, noise=1e-4).fit.refuted  # of one with G = I


@pytest.mark.slow
def test_i9_three_parameters_and_other_stakes():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    bowl = ln.losses.Quadratic(root @ root.T + 0.5 * np.eye(3), minimum=np.zeros(3))
    metric, t = np.array([1.0, 0.3, 6.0]), np.linspace(0.0, 3.0, 40)
    paths = [ln.solve(ln.Objective(gamma=1.2, k=k, metric=np.diag(metric)), bowl, [1.0, -1.0, 0.5])(t) for k in (1, 4)]
    inference = ln.infer(paths, bowl, times=t, family="+metric", noise=0, known={"k": [1, 4]})
    estimates = [inference.estimates[name].value for name in ("gamma", "a", "G2", "G3")]
    np.testing.assert_allclose(estimates, [1.2, 1.0, 0.3, 6.0], rtol=1e-5)


def test_i9_on_a_diagonal_hessian_every_discount_has_its_metric():
    bowl = ln.losses.Quadratic(np.diag([1.0, 5.0]), minimum=[0.0, 0.0])
    path = ln.solve(TRUTH, bowl, [1.0, 1.0])(T)
    inference = ln.infer(path, bowl, times=T, family="+metric", noise=0)
    assert inference.estimates == {} and set(inference.unidentified[0].names) == {"gamma", "a", "G2"}
    for example in inference.unidentified[0].examples:
        np.testing.assert_allclose(ln.solve(example, bowl, [1.0, 1.0])(T), path, atol=1e-6)
    held = ln.infer(path, bowl, times=T, family="+metric", noise=0, known={"gamma": 0.7})
    assert held.estimates["G2"].value == pytest.approx(2.0, rel=1e-5)


def test_i9_a_path_along_one_mode_tells_the_metric_and_not_the_discount():
    width = np.sqrt([1.5, 0.75])
    mode = np.linalg.eigh(width[:, None] * COUPLED.hessian(np.zeros(2)) * width)[1][:, 0]
    path = ln.solve(TRUTH, COUPLED, COUPLED.minimum + width * mode)(T)
    inference = ln.infer(path, COUPLED, times=T, family="+metric", noise=0)
    assert set(inference.unidentified[0].names) == {"gamma", "a"}
    assert inference.estimates["G2"].value == pytest.approx(2.0, rel=1e-5)


def test_i9_intervals_hold_the_truth():
    rng, runs, noise = np.random.default_rng(1), 24, 0.004
    records = [PLACES + noise * rng.normal(size=PLACES.shape) for _ in range(runs)]
    fits = [ln.infer(record, COUPLED, times=T, family="+metric", noise=noise) for record in records]
    for name, value in {"gamma": 0.7, "a": 1.5, "G2": 2.0}.items():
        # 95 %, give or take three standard deviations of a share of 24
        told = [fit.estimates[name] for fit in fits if name in fit.estimates]  # what is not told excludes nothing
        assert sum(not estimate.low <= value <= estimate.high for estimate in told) <= 4
    assert np.mean([fit.fit.refuted for fit in fits]) <= 0.18


def test_refusals():
    valley = ln.losses.Quadratic(np.diag([1.0, 0.0]), minimum=[0.0, 0.0])
    with pytest.raises(ValueError, match="curvature > 0 in every direction"):
        ln.infer(PLACES, valley, times=T, family="+metric")
    with pytest.raises(ValueError, match="needs a path"):
        ln.infer(ln.infer.Rates([1.0, 2.0], [0.5, 0.7]), family="+metric")
    with pytest.raises(ValueError, match=r"needs a losses\.Quadratic"):
        ln.infer(PLACES, ln.losses.DoubleWell(), times=T, family="+metric")


@pytest.mark.slow
def test_examples_differ_in_what_is_not_told_where_the_discount_is():
    """A third parameter that rests at its minimum, and is coupled to none, tells nothing of its own metric."""
    hessian, start, t = np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0]), np.linspace(0, 3, 25)
    hessian[0, 1] = hessian[1, 0] = 0.5
    loss = ln.losses.Quadratic(hessian, minimum=np.zeros(3))
    path = ln.solve(ln.Objective(gamma=1.0, metric=np.diag([1.0, 2.0, 0.5])), loss, start)(t)
    inference = ln.infer(path, loss, times=t, family="+metric", noise=0)
    (ambiguity,) = inference.unidentified
    assert ambiguity.names == ("G3",)
    less, more = (example.metric[2, 2] / example.metric[0, 0] for example in ambiguity.examples)
    assert more > 2 * less
    for example in ambiguity.examples:
        np.testing.assert_allclose(ln.solve(example, loss, start)(t), path, atol=1e-6)
