"""What every price obeys, by sampling: Fenchel–Young, the gain of ∇φ*, and a divergence that is never negative."""

from __future__ import annotations

import dataclasses
import pickle
from typing import ClassVar

import numpy as np
import pytest
from priced import EXAMPLES, example
from scipy.optimize import minimize

import lossnav as ln

PRICES = ln.prices
LAYERS = [(slice(0, 2), "l2"), (slice(2, 4), "l1"), (slice(4, 10), "spectral", (2, 3))]
KINDS = ("eta", "limit")
MANY = {
    **{name: (example(name), 3) for name in EXAMPLES},
    **{f"{norm} {kind}": (PRICES.Norm(norm, **{kind: 0.7}), 3) for norm in ("l1", "l2", "linf") for kind in KINDS},
    **{
        f"{norm} {kind}": (PRICES.Norm([(slice(None), norm, (2, 3))], **{kind: 0.7}), 6)
        for norm in ("spectral", "nuclear") for kind in KINDS
    },
    "layers eta": (PRICES.Norm(LAYERS, eta=[0.5, 1.0, 2.0]), 10),
    "layers limit": (PRICES.Norm(LAYERS, limit=0.3), 10),
    "pure box": (PRICES.Box([0.3, 1.0, 2.0]), 3),
    "steep power": (PRICES.Power(1.5, 2.0), 3),
}  # fmt: skip


def test_every_price_has_an_example_and_is_frozen():
    assert {*EXAMPLES, "Price"} == {*PRICES.__all__}
    for name, fields in EXAMPLES.items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(example(name), next(iter(fields)), 0.5)


@pytest.mark.parametrize("name", MANY)
def test_fenchel_young_and_its_equality(name):
    price, dim = MANY[name]
    rng = np.random.default_rng(0)
    p, v = rng.normal(size=(2, 400, dim)) * 10 ** rng.uniform(-2, 1, (2, 400, 1))
    v = np.vstack([v, 0.2 * v])
    p = np.vstack([p, p])
    slack = price.value(v) + price.conjugate(p) - (v * p).sum(-1)
    assert np.all(slack > -1e-9)
    np.testing.assert_allclose(price.bregman(v, p), np.maximum(slack, 0), atol=1e-12)
    if name == "Linear":
        p = p[np.isfinite(price.conjugate(p))]
        assert len(p) > 20 and np.all(price.velocity(p) == 0)
    best = price.velocity(p)
    size = np.maximum(np.abs((best * p).sum(-1)), 1e-300)
    assert np.max(price.bregman(best, p) / size) < 1e-9
    np.testing.assert_allclose(price.velocity(-p), -best, atol=1e-12)


@pytest.mark.parametrize("name", MANY)
def test_in_other_units_of_theta_a_price_charges_the_same(name):
    price, dim = MANY[name]
    v, changed = np.random.default_rng(0).normal(size=(50, dim)), price.in_units(8.0)
    np.testing.assert_allclose(changed.value(v / 8), price.value(v), rtol=1e-12)
    kinetic, other = (ln.Objective(price=one).kinetic for one in (price, changed))
    np.testing.assert_allclose(other(v / 8, v / 8), kinetic(v, v), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, (price, _) in MANY.items() if not price.keeps()])
@pytest.mark.parametrize("softness", [0.3, 1e-3])
def test_a_softened_price_has_the_slope_and_the_bend_that_it_says(name, softness):
    price, dim = MANY[name]
    v, small = np.random.default_rng(0).uniform(-0.25, 0.25, (40, dim)), 1e-6
    v[0] = 0.0
    _, gradient, curvature = price.softened(v, softness)
    for d, unit in enumerate(np.eye(dim)):
        above, below = price.softened(v + small * unit, softness), price.softened(v - small * unit, softness)
        np.testing.assert_allclose(gradient[:, d], (above[0] - below[0]) / (2 * small), rtol=1e-4, atol=1e-8)
        np.testing.assert_allclose(curvature[:, d], (above[1] - below[1])[:, d] / (2 * small), rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(price.softened(v, 1e-12)[0], price.value(v), atol=1e-9)
    np.testing.assert_allclose(price.softened_velocity(gradient, 1e-18), price.velocity(gradient), atol=1e-9)
    if price.bare:
        np.testing.assert_allclose(price.softened_velocity(gradient, softness), v, atol=1e-12)


@pytest.mark.parametrize("name", ["linf eta", "l1 eta", "nuclear eta", "Power", "Toll", "layers eta"])
def test_the_conjugate_is_the_largest_gain_that_a_search_finds(name):
    price, dim = MANY[name]
    for p in np.random.default_rng(1).normal(size=(1 if dim > 5 else 3, dim)):
        best = max(_gain(price, p, start) for start in (np.zeros(dim), price.velocity(p) * 0.7))
        bound = float(price.conjugate(p))
        assert best <= bound + 1e-9 and best > 0.97 * bound


def _gain(price, p, start):
    """Return the largest p·v − φ(v) that a search without derivatives finds."""
    options = {"maxiter": 20000, "maxfev": 20000, "xatol": 1e-10, "fatol": 1e-13, "adaptive": True}
    return -minimize(lambda v: float(price.value(v) - v @ p), start, method="Nelder-Mead", options=options).fun


def test_each_layer_goes_its_own_way():
    """W17: under limits of layers the exact step is that of each, wherever in θ it lies."""
    x = np.random.default_rng(3).normal(size=10)
    full_step = ln.update(ln.Objective(price=PRICES.Norm(LAYERS, limit=[0.3, 0.5, 0.7])), 2 * x, 2 * np.eye(10), 0.9)
    assert ln.update(ln.Objective(price=PRICES.Norm("l2", limit=0.3)), [2.0], [[2.0]], 0.9) == pytest.approx(-0.27)
    for (part, name, *shape), limit in zip(LAYERS, [0.3, 0.5, 0.7], strict=True):
        norm = [(slice(None), name, *shape)] if shape else name
        own = x[part]
        alone = ln.update(ln.Objective(price=PRICES.Norm(norm, limit=limit)), 2 * own, 2 * np.eye(len(own)), 0.9)
        np.testing.assert_allclose(full_step[part], alone, atol=1e-12)
        size = PRICES.Norm(norm, limit=1.0).layers[0].norm.size
        shaped = alone.reshape(*shape) if shape else alone
        assert size(shaped) <= 0.9 * limit * (1 + 1e-12)


def test_matrices_without_a_shape():
    g = np.random.default_rng(2).normal(size=(5, 4, 3))
    left, _, right = np.linalg.svd(g, full_matrices=False)
    muon = PRICES.Norm("spectral", limit=0.5)
    np.testing.assert_allclose(muon.velocity(g), 0.5 * left @ right, atol=1e-12)
    assert np.max(muon.bregman(muon.velocity(g), g)) < 1e-9
    np.testing.assert_allclose(muon.conjugate(g), 0.5 * np.linalg.svd(g, compute_uv=False).sum(-1))
    for empty in (np.zeros((0, 3)), np.zeros((5, 0, 3))):
        with pytest.raises(ValueError, match=r"v has shape .* \(\.\.\., m, n\)"):
            muon.value(empty)


def test_the_costate_tells_a_limit_from_a_rest():
    """W12 as corrected: resting beside a limit of speed costs, where φ(v) − φ(u) − φ′(u)(v − u) = 0."""
    price = PRICES.Box(0.5)
    assert price.bregman([0.0], [2.0]) == 1.0 and price.bregman([0.5], [2.0]) == 0.0


def test_a_price_of_speed_squared_is_an_eta():
    for price in (PRICES.Quadratic(0.3), PRICES.Norm("l2", eta=0.3), PRICES.Power(2.0, 0.3)):
        objective = ln.Objective(price=price, gamma=1.0, metric=np.eye(2))
        assert objective.price is None and objective.eta == 0.3
        assert repr(objective) == repr(ln.Objective(eta=0.3, gamma=1.0, metric=np.eye(2)))


def test_objectives_without_a_price_look_as_ever():
    assert repr(ln.Objective()) == (
        "Objective(eta=1.0, k=1.0, gamma=0.0, metric=None, drift=None, horizon=inf, terminal=0.0)"
    )
    assert type(ln.Objective().eta) is float


def test_what_goes_together():
    box, dear = PRICES.Box(1.0), PRICES.Acceleration(1.0)
    for wrong in (
        {"eta": 1.0, "price": box},
        {"eta": 2.0, "price": dear},
        {"price": PRICES.Quadratic(1.0), "eta": 1.0},
    ):
        with pytest.raises(ValueError, match="eta"):
            ln.Objective(**wrong)
    with pytest.raises(ValueError, match="drift"):
        ln.Objective(price=dear, drift=ln.drifts.weight_decay(1.0))
    with pytest.raises(ValueError, match=r"metric .* must be None"):
        ln.Objective(price=box, metric=np.eye(2))
    with pytest.raises(ValueError, match=r"metric .* must be constant"):
        ln.Objective(price=dear, metric=ln.metrics.Fisher())
    assert ln.Objective(price=dear, metric=2 * np.eye(2)).price is dear


def test_an_objective_with_a_price_is_replaced_pickled_and_written():
    priced = ln.Objective(price=PRICES.Toll(0.1), k=2.0)
    for copy in (dataclasses.replace(priced, k=3.0), dataclasses.replace(pickle.loads(pickle.dumps(priced)), k=3.0)):
        assert copy.price == priced.price and copy.k == 3.0
    assert repr(priced).startswith("Objective(k=2.0") and "Toll(lam=0.1, eta=1.0)" in repr(priced)


def test_what_is_of_speed_alone_refuses_a_price():
    priced = ln.Objective(gamma=1.0, price=PRICES.Toll(0.1))
    bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    for call in (
        lambda: ln.rules.rates(priced, [[1.0]]), lambda: ln.value_bounds(priced, bowl, [1.0], smoothness=1.0, pl=1.0),
        lambda: ln.rules.deadline_rate(priced, 1.0, 1.0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"price"):
            call()


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        ([(slice(0, 2), "l2"), (slice(1, 3), "l1")], "layers"),
        ([(slice(0, 2), "l2")], "layers"),
        ([(slice(0, 3), "spectral", (2, 2))], "matrix"),
    ],
)
def test_layers_must_be_all_of_theta(norm, words):
    with pytest.raises(ValueError, match=words):
        PRICES.Norm(norm, eta=1.0).value([1.0, 2.0, 3.0])


def test_a_divergence_is_of_points_of_one_shape_and_of_integers():
    price = PRICES.Quadratic(1.0)
    assert price.bregman(np.int8([100, 3]), np.int8([90, 3])) == 50.0
    assert price.bregman(np.ones((2, 3)), np.zeros((4, 1, 3))).shape == (4, 2)
    for v, p in (([1.0, 2.0, 3.0], [1.0]), ([1.0], [1.0, 2.0, 3.0])):
        with pytest.raises(ValueError, match=r"p has points of shape \(.*, but they must have that of v"):
            price.bregman(v, p)
    with pytest.raises(ValueError, match=r"v \(2, 3\), p \(4, 3\)"):
        price.bregman(np.ones((2, 3)), np.ones((4, 3)))
    with pytest.raises(ValueError, match="points of shape"):
        PRICES.Norm("spectral", eta=1.0).bregman(np.ones((5, 3, 2)), np.ones((1, 2)))


def test_a_field_with_a_unit_that_lengths_does_not_name_is_said():
    """Far from 1 the path was that of another price: J a two-hundredth of what it is."""

    @dataclasses.dataclass(frozen=True)
    class Fourth(ln.prices.Power):
        lengths: ClassVar = {}

    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    for start in (1e4, 1e-4):
        with pytest.raises(ValueError, match=r"^price.lengths = \{\}, but it must name each field"):
            ln.solve(ln.Objective(price=Fourth(4.0), horizon=2.0), bowl, [start, 0.0])
