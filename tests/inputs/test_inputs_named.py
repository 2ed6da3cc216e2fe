"""Wrong inputs that were once taken without a word, or answered by an error about something else; and right ones."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch
from torch import nn

import lossnav as ln
from lossnav import _checks, continual, data, models, training, uncertainty
from lossnav.euler_lagrange import derive

BOWL, WELL = ln.losses.Quadratic([[2.0]], minimum=[0.0]), ln.losses.DoubleWell()
OBJECTIVE = ln.Objective(gamma=1.0)


@pytest.mark.parametrize(
    "theta",
    [
        np.array([1 + 5j]), [1 + 5j], np.array(["1.0"]), ["1.0"], np.array([np.datetime64("NaT")]), np.array([True]),
        np.ma.masked_array([1.0], mask=[True]), np.array(["1.0"], dtype=object), np.array([None]), {1.0},
        torch.tensor([1 + 5j]), torch.ones(1, requires_grad=True), torch.ones(1, device="meta"), [[1.0], [1.0, 2.0]],
        1.0, np.array(1.0), (x for x in [1.0]), np.array([np.timedelta64(3, "s")]), [np.ma.masked_array([1.0],
        mask=True)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["value", "gradient", "hessian"])
def test_a_point_is_real_numbers_and_nothing_is_lost_on_the_way(name, theta):
    with pytest.raises(ValueError, match="theta"):
        getattr(BOWL, name)(theta)


def test_a_loss_refuses_what_a_users_function_cannot_mean():
    for loss in (ln.losses.Function(lambda x: x.sum(-1) * 1j, dim=1), ln.losses.Function(lambda x: "1.0", dim=1)):
        with pytest.raises(ValueError, match=r"value\(theta\)"):
            loss.value([1.0])
    turned = ln.drifts.Function(lambda x: x * 1j, lambda x: np.eye(1), dim=1)
    with pytest.raises(ValueError, match=r"value\(theta\)"):
        turned([1.0])
    with pytest.raises(ValueError, match=r"field\(theta\)"):
        ln.helmholtz.decompose(lambda x: x * 1j, [[0.0, 1.0]])


@pytest.mark.parametrize(
    "value", [10**400, 10**5000, np.complex128(1 + 2j), np.complex64(1), np.timedelta64(1, "s"), np.ma.masked, "1.0",
              np.array([1.0]), torch.tensor(1.0, requires_grad=True), torch.tensor(1 + 0j), True, Decimal("NaN")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_number_is_one_real_number(value):
    with pytest.raises(ValueError, match="eta"):
        ln.Objective(eta=value)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float16(2), np.int8(2), np.array(2.0), Fraction(2), Decimal(2), torch.tensor(2.0),
    torch.tensor(2),
              sympy.Integer(2), np.longdouble(2)]
)  # fmt: skip
def test_every_real_number_is_taken_as_before(value):
    assert ln.Objective(eta=value).eta == 2.0
    assert BOWL.value([value]) == 4.0
    assert ln.losses.Quadratic([[value]], minimum=[0]).value([1]) == 1.0


def test_whole_numbers_of_more_than_53_bits_are_rounded_as_python_rounds_them():
    assert _checks.reals("x", [2**53 + 1, 10**30]).tolist() == [float(2**53 + 1), 1e30]
    assert math.copysign(1.0, _checks.finite("x", -0.0, low=0.0)) == -1.0  # a zero is a zero


def test_arrays_that_were_taken_are_taken():
    rows = ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.uint8), torch.tensor([1, 2]), np.ma.masked_array([1.0, 2.0]),
            [Fraction(1), Decimal(2)], [np.float32(1), 2], np.array([1.0, 2.0])[::1], range(1, 3))  # fmt: skip
    for row in rows:
        assert WELL.value(row) == WELL.value([1.0, 2.0])


def test_an_array_that_is_kept_is_a_copy():
    point = np.array([0.5, 0.5])
    section = ln.losses.Section(WELL, 0, point)
    before = section.value([1.0])
    point[:] = 7.0
    assert section.value([1.0]) == before


def test_theta_and_velocity_have_the_same_coordinates():
    with pytest.raises(ValueError, match=r"velocity has shape \(3,\).*length 2"):
        OBJECTIVE.cost_rate(WELL, [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="theta has shape"):
        OBJECTIVE.kinetic(1.0, 1.0)
    assert OBJECTIVE.cost_rate(WELL, np.zeros((5, 2)), [1.0, 0.0]).shape == (5,)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ln.rules.rates("x", [[1.0]]), "objective"),
        (lambda: ln.losses.Section("x"), "loss"),
        (lambda: ln.belief.adam(OBJECTIVE, 1.0), "model"),
        (lambda: ln.helmholtz.effective_loss(OBJECTIVE, BOWL, None), "decomposition"),
        (lambda: ln.curvature.Hessian("x", None, []), "model"),
        (lambda: uncertainty.plan(OBJECTIVE, BOWL, [0.0], [1.0]), "problem"),
        (lambda: uncertainty.overdamped_rate(uncertainty.Problem(), BOWL, [0.0], [1.0]), "loss"),
        (lambda: uncertainty.Problem().cost_rate(uncertainty.average(BOWL), [0.0], [-1.0], [0.0], [0.0]), "variance"),
        (lambda: uncertainty.Problem().kinetic([math.nan], [0.0], [0.0]), "variance"),
        (lambda: ln.belief.Beliefs().parameter_rate(-1.0), "variance"),
        (lambda: models.mlp(4, (2,), 2, seed="x"), "seed"),
        (lambda: continual.BitFlipping(seeds=(0.7,)), r"seeds\[0\]"),
        (lambda: continual.BitFlipping(seeds=(0,), inputs=20.9), "inputs"),
        (lambda: uncertainty.Hermite(BOWL, order=8.5), "order"),
        (lambda: ln.drifts.Function(abs, abs, dim=2.7), "dim"),
        (lambda: ln.helmholtz.split_affine(ln.drifts.weight_decay(1.0), dim=2.7), "dim"),
        (lambda: ln.solve(OBJECTIVE, BOWL, [1.0], throw="no"), "throw"),
    ],
)
def test_what_is_wrong_is_named(call, name):
    with pytest.raises(ValueError, match=rf"^{name} (=|has)"):
        call()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: _checks.finite("d", "tilt"), "d = 'tilt', but it must be a finite number"),
        (lambda: _checks.positive("eta", 0), "eta = 0, but it must be a finite number > 0"),
        (lambda: _checks.nonnegative("gamma", -0.1), "gamma = -0.1, but it must be a finite number >= 0"),
        (lambda: _checks.weight("beta", 1.0), "beta = 1.0, but it must be a finite number >= 0 and < 1"),
        (lambda: _checks.duration("horizon", 0), "horizon = 0, but it must be a number in (0, inf]"),
        (lambda: _checks.whole("count", 2.5, low=1), "count = 2.5, but it must be a whole number >= 1"),
        (lambda: _checks.whole("axis", 2, low=0, high=1), "axis = 2, but it must be a whole number >= 0 and <= 1"),
        (lambda: _checks.one_of("rule", "adan", ["adam"]),
         "rule = 'adan', but it must be one of 'adam' (did you mean 'adam'?)"),
        (lambda: _checks.array("y", [1.0, 0.0], shape=(1,)), "y has shape (2,), but it must have shape (1,)"),
        (lambda: _checks.array("x", [1.0], shape=("N + 1", None)),
         "x has shape (1,), but it must have shape (N + 1, D)"),
        (lambda: _checks.array("x", [math.nan]), "x = array([nan]), but all its entries must be finite"),
        (lambda: _checks.symmetric("h", [[1, 2], [0, 1]]),
         "h = [[1, 2], [0, 1]] differs from its transpose by 2, but it must be symmetric"),
        (lambda: _checks.symmetric("h", [[1, 2], [2, 1]], definite=True),
         "h = [[1, 2], [2, 1]] has the eigenvalue -1, but it must be positive definite"),
        (lambda: _checks.positives("r", [1.0, -1.0]), "r = [1.0, -1.0], but all its entries must be > 0"),
        (lambda: _checks.points("x", [1.0], 2), "x has shape (1,), but its last axis must have length 2"),
        (lambda: _checks.instance("operator", 3, dict, "an Operator"), "operator = 3, but it must be an Operator"),
        (lambda: _checks.function("value", 3.0), "value = 3.0, but it must be callable"),
    ],
)  # fmt: skip
def test_a_check_says_the_name_the_value_and_what_is_allowed(check, words):
    """The walk asks for the name alone, of every argument there is: the words are made here."""
    with pytest.raises(ValueError) as refusal:
        check()
    assert str(refusal.value) == words


@pytest.mark.parametrize("name", ["eta", "k", "gamma", "loss", "metric", "drift"])
@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: [x], lambda x: [[x]], lambda x: np.array([[x]]), lambda x: lambda theta: x]
)
def test_a_string_is_no_formula_and_is_not_executed(name, wrap, tmp_path):
    file = tmp_path / "executed"
    text = f"__import__('pathlib').Path({str(file)!r}).touch()"
    with pytest.raises(ValueError, match=name):
        derive(1, **{name: wrap(text)})
    assert not file.exists()


def test_nothing_that_prints_a_formula_executes_a_string(tmp_path):
    file = tmp_path / "executed"
    with pytest.raises(ValueError, match="expression"):
        derive(1).print(f"__import__('pathlib').Path({str(file)!r}).touch()")
    assert not file.exists()
    loss = ln.losses.Function(lambda theta: f"__import__('pathlib').Path({str(file)!r}).touch()", dim=1)
    with pytest.raises(ValueError, match="loss"):
        _ = ln.euler_lagrange(OBJECTIVE, loss).equations
    assert not file.exists()


def test_formulas_and_numbers_of_every_kind_are_derived_as_before():
    x = sympy.Symbol("x", positive=True)
    for value in (1, 0.5, Fraction(1, 2), np.float64(0.5), x, sympy.sqrt(2)):
        assert derive(1, eta=value).equations
    assert derive(2, metric=np.eye(2), drift=[x, 0], loss=lambda theta: theta @ theta).equations
    assert derive(2, metric="constant", drift="general").equations


def tiny(images: int = 64, labels: int = 64) -> data.Split:
    pixels, names = torch.zeros(images, 1, 2, 2, dtype=torch.uint8), torch.zeros(labels, dtype=torch.int64)
    return data.Split(pixels, names, 255.0, (0.5,), (1.0,))


def test_a_split_has_a_label_for_each_image():
    with pytest.raises(ValueError, match="y has 60 labels, but x has 64 images"):
        tiny(64, 60)


def test_an_optimizer_of_another_model_is_refused():
    made = data.Dataset("tiny", tiny(), tiny(), 2, data.Provenance("made here", "nowhere", "none"))
    model, other = (models.mlp(4, (2,), 2, seed=0) for _ in range(2))
    how = {"epochs": 1, "seed": 0, "progress": False, "device": "cpu"}
    with pytest.raises(ValueError, match="optimizer = SGD holds none of the parameters of model"):
        training.train(model, made, torch.optim.SGD(other.parameters(), lr=0.1), **how)
    part = torch.optim.SGD([*model.parameters()][-1:], lr=0.1)  # only the last bias: the rest is frozen
    before = [p.detach().clone() for p in model.parameters()]
    training.train(model, made, part, **how)
    moved = [not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True)]
    assert moved == [False] * (len(moved) - 1) + [True]
    with pytest.raises(ValueError, match="rule = SGD holds none"):
        ln.ensemble.train([model], made, lambda p: torch.optim.SGD(other.parameters(), lr=0.1), epochs=1, seeds=[0])
    bits = continual.BitFlipping((0,), inputs=4, slow=1, period=2)
    several = ln.ensemble.Ensemble([models.mlp(4, (2,), 1, seed=0)])
    with pytest.raises(ValueError, match="rule = SGD holds none"):
        continual.run(several, torch.optim.SGD(other.parameters(), lr=0.1), bits, tasks=1)
    with pytest.raises(ValueError, match="optimizer = SGD holds none"):
        continual.ContinualBackprop(several, torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1), rate=0.1, seed=0)


def test_a_check_of_what_is_right_costs_next_to_nothing():
    """The fast ways return the argument itself: nothing is converted, copied or worded."""
    point, number = np.zeros((5, 2)), 0.5
    assert _checks.reals("theta", point) is point
    assert _checks.points("theta", point, 2) is point
    assert _checks.finite("x", number, low=0.0) is number


def test_objects_that_cannot_be_shown_are_refused_all_the_same():
    class Secret:
        def __repr__(self) -> str:
            raise RuntimeError("no picture")

    assert _checks.shown(Secret()) == "an object of type Secret"
    assert _checks.shown(10**5000) == "an object of type int"
    with pytest.raises(ValueError, match="eta = an object of type Secret"):
        ln.Objective(eta=Secret())
