"""What each optimizer states as its recipe is what it does: recipe = reference = fast, step by step in float64."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from optim_table import BALLISTIC, BELIEF, NAVIGATOR, ROWS, UNCERTAIN, Row

from lossnav import _random, optim
from lossnav.optim import _fused, _native, uncertain
from lossnav.optim._base import Rule
from lossnav.rules.recipe import Draws, Given, Recipe, State

INF = math.inf
SHAPE, STEPS = (3, 5), 45
SCALES = np.logspace(-3, 1, 5)  # of the gradients' noise, one a column
REFERENCE = {optim.Ballistic: optim.BallisticReference, optim.Belief: optim.BeliefReference,
             optim.Navigator: optim.NavigatorReference, optim.Uncertain: optim.UncertainReference}  # fmt: skip
FAST = {reference: fast for fast, reference in REFERENCE.items()}


def signed(parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Stand in for a curvature that is often negative."""
    return 0.05 * torch.sin(40 * gradient) - 0.01


def further() -> list[Row]:
    """Combinations that the contract's table has none of."""
    rows = [
        Row("belief", BELIEF, optim.Belief, {
            "variance": variance, "curvature_scale": scale, "bias_correction": corrected, "maximize": corrected,
            "eps_inside": 1e-3 * scale, "weight_decay": 0.1, **rates,
        })
        for variance, (scale, corrected), rates in itertools.product(
            ("uncentred", "centred", "innovation"), ((0.0, True), (5.0, True), (5.0, False)),
            ({"lr": 0.01}, {"lr": 0.01, "discount": INF}, {"lr": 0.01, "lr_overdamped": 0.3},
             {"lr": 0.01, "discount": 0.2}, {"lr": 0.01, "lr_overdamped": 0.0}),
        )
    ]  # fmt: skip
    rows += [Row("belief, no mean", BELIEF, optim.Belief, {"betas": (0.0, 0.99), "variance": "innovation"})]
    for look, negative, gamma, lr in itertools.product(
        ("second_moment", signed), ("absolute", "clip", "signed"), (0.0, 1.5, INF), (0.01, 3.0)
    ):
        options = {"lr": lr, "gamma": gamma, "negative": negative, "eta_k": 2.0, "beta": 0.9, "maximize": lr > 1,
                   "curvature_scale": 0.5, "eps": 1e-3, "weight_decay": 0.05, "every": 3}  # fmt: skip
        rows.append(Row("navigator", NAVIGATOR, optim.Navigator, options, code={"curvature": look}))
    for forgetting, clip, scale, (speed, up) in itertools.product(
        (None, 0.0, 0.05), (None, 0.02), (0.0, 0.7), ((0.0, True), (3.0, False))
    ):
        if forgetting == 0 and clip is None:  # a precision that stays bounds no step: refused
            continue
        options = {"lr": 0.01, "forgetting": forgetting, "clip": clip, "curvature_scale": scale, "speed": speed,
                   "maximize": up, "temperature": 0.1}  # fmt: skip
        rows.append(Row("uncertain", UNCERTAIN, optim.Uncertain, options))
    rows += [
        Row("ballistic", BALLISTIC, optim.Ballistic, {"eps": eps, "bias_correction": c, "momentum": m, "maximize": c})
        for eps, c, m in itertools.product((0.0, 1e-2), (True, False), (None, 0.0, 0.95))
    ]
    return rows


def cases() -> list[Any]:
    """Every rule of the contract with its own options and with those of its family's groups, and the rows above."""
    rows = [
        Row(f"{row.name}{which}", row.family, row.make, {**row.options, **more}, code=row.code)
        for row in ROWS
        if row.make._recipe is not Rule._recipe  # a new rule need not state one
        for which, more in (("", {}), (", group 0", row.family.groups[0]), (", group 1", row.family.groups[1]))
    ]
    found: dict[str, Any] = {}
    for row in [*rows, *further()]:
        fast = FAST.get(row.make, row.make)
        options = {key: value for key, value in row.options.items() if key not in ("foreach", "fused")}
        key = repr((fast.__name__, sorted(options.items(), key=str), row.code))  # rows that differ in form alone
        found.setdefault(key, pytest.param(Row(row.name, row.family, fast, options, code=row.code), id=row.name))
    return list(found.values())


def forms(row: Row) -> dict[str, Any]:
    """Return the optimizers that should agree: the list operations, one at a time, the kernel, the reference."""
    made = {
        "foreach": lambda p: row(p, foreach=True),
        "one at a time": lambda p: row(p, foreach=False),
    }
    reference = REFERENCE.get(row.make)
    if reference is not None and not callable(row.code.get("curvature")):  # there the reference has none
        taken = inspect.signature(reference).parameters
        plain = {key: value for key, value in row.options.items() if key in taken}
        made["reference"] = lambda p: reference(p, **plain)
    if "fused" in inspect.signature(row.make).parameters:
        try:
            _native.load(torch.float64)
        except _native.NoKernel:
            return made
        made["fused"] = lambda p: row(p, fused=True)
    return made


def draws(group: dict[str, Any], parameter: torch.Tensor, step: int) -> Draws:
    """Return the numbers that an optimizer's step will use for its first parameter, by their names."""
    if group.get("reset") is None:
        return Draws()
    name = (group["seed"], 0, step + 1)
    uniform = _random.uniform(parameter, torch.float64, *name, uncertain._UNIFORM)
    normal = _random.normal(parameter, torch.float64, *name, uncertain._NORMAL)
    return Draws(uniform=uniform.numpy(), normal=normal.numpy())


def look(row: Row, parameter: torch.Tensor, gradient: np.ndarray, step: int) -> np.ndarray | None:
    """Return the curvature that Navigator's function gives it in this step, or None where it is not asked."""
    function = row.code.get("curvature")
    if not callable(function) or step % row.options.get("every", 1) != 0:
        return None
    return function(parameter, torch.from_numpy(gradient)).numpy()


def rates(row: Row) -> tuple[float, float, float]:
    """Return the rate of each third of the path, as a schedule would move it."""
    base = row.options.get("lr", 1e-3)
    return (base, 0.3 * base, 2 * base) if base < INF else (0.01, 0.003, 0.02)


@pytest.mark.parametrize("row", cases())
def test_the_recipe_is_what_the_optimizer_does(row: Row):
    start = np.random.default_rng(1).normal(size=SHAPE)
    grads = np.random.default_rng(2).normal(size=(STEPS, *SHAPE)) * SCALES + 0.1 * SCALES
    schedule = np.repeat(rates(row), STEPS // 3)
    path, state, rule = walk(row, start, grads, schedule)
    assert np.ptp(path, axis=0).max() > 0 or rule.preconditioner.rate == 0
    for form, make in forms(row).items():
        parameter = torch.nn.Parameter(torch.from_numpy(start.copy()))
        optimizer, found = make([parameter]), []
        for g, rate in zip(grads, schedule, strict=True):
            optimizer.param_groups[0]["lr"] = float(rate)
            parameter.grad = torch.from_numpy(g)
            optimizer.step()
            found.append(parameter.detach().numpy().copy())
        np.testing.assert_allclose(found, path, rtol=1e-12, atol=1e-12 * np.abs(path).max(), err_msg=form)
        assert optimizer.recipe() == rule, form
        assert_same_memory(optimizer.state[parameter], state, rule)


def walk(row: Row, start: np.ndarray, grads: np.ndarray, schedule: np.ndarray) -> tuple[np.ndarray, State, Recipe]:
    """Return the path that the recipe takes in numpy alone, its last state, and the recipe at the last rate."""
    parameter = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = row([parameter])  # it makes no step: it states the recipe at each rate
    group = optimizer.param_groups[0]
    theta, path, rule, state = start, [], None, None
    for n, (g, rate) in enumerate(zip(grads, schedule, strict=True)):
        if rule is None or rate != group["lr"]:
            group["lr"] = float(rate)
            rule = optimizer.recipe()
        state = rule.init(theta) if state is None else state
        given = look(row, parameter.detach(), g, n)
        change, state = rule.update(g, state, theta, curvature=given, draws=draws(group, parameter, n))
        theta = theta + change
        path.append(theta)
    return np.array(path), state, rule


def assert_same_memory(found: dict[str, Any], state: State, rule: Recipe) -> None:
    """Compare what the optimizer remembers with what the recipe does, which sees all that goes uphill negated."""
    uphill = -1.0 if rule.maximize else 1.0
    turned = uphill if isinstance(rule.memory.datum, Given) else 1.0
    expected = {"v": state.curvature, "h": turned * state.curvature / rule.memory.datum.scale
                if rule.memory.datum.scale else None, "m": uphill * state.mean,
                "precision": state.curvature + rule.preconditioner.floor, "drift": state.drift}  # fmt: skip
    seen = [key for key in expected if key in found]
    assert seen
    for key in seen:
        np.testing.assert_allclose(
            found[key].numpy(), expected[key], rtol=1e-12, atol=1e-12 * np.abs(expected[key]).max(), err_msg=key
        )


def test_a_sampled_gradient_with_its_draw_given_from_outside():
    grads = np.random.default_rng(3).normal(size=(STEPS, *SHAPE)) * SCALES
    parameter = torch.nn.Parameter(torch.from_numpy(np.random.default_rng(4).normal(size=SHAPE)))
    theta = parameter.detach().numpy().copy()
    optimizer = optim.Uncertain([parameter], lr=0.02, temperature=0.1, curvature_scale=0.6, sample=True, seed=5,
                                maximize=True)  # fmt: skip
    rule = optimizer.recipe()
    state = rule.init(theta)
    for g in grads:
        with optimizer.sampled():
            held, place = optimizer.state[parameter], parameter.detach().numpy().copy()
        z = uncertain.last_draw(parameter, optimizer.param_groups[0], held).numpy()
        np.testing.assert_allclose(
            place, theta + z / np.sqrt(state.curvature + rule.preconditioner.floor), rtol=1e-11, atol=1e-12
        )
        parameter.grad = torch.from_numpy(g)
        optimizer.step()
        change, state = rule.update(g, state, theta, draws=Draws(sample=z))
        theta = theta + change
        np.testing.assert_allclose(parameter.detach().numpy(), theta, rtol=1e-12, atol=1e-12)


def test_a_curvature_from_hutchinsons_probe_is_an_input_of_the_recipe():
    """The recipe cannot look at the loss: it is given z ⊙ Hz, here of a quadratic, where the optimizer drew z."""
    generator = np.random.default_rng(6)
    root = generator.normal(size=(5, 5))
    hessian = torch.from_numpy(root @ root.T)
    parameter = torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    optimizer = optim.Navigator([parameter], lr=0.05, gamma=1.0, curvature="hutchinson", beta=0.9, every=2, seed=7)
    rule, theta = optimizer.recipe(), np.ones(5)
    state = rule.init(theta)
    for n in range(STEPS):
        loss = parameter @ hessian @ parameter / 2
        given = None
        if optimizer.curvature_due():
            signs = _random.signs(parameter, 7, 0, n // 2, 0)
            given = (signs * (hessian @ signs)).numpy()
            optimizer.observe(loss)
        optimizer.zero_grad()
        loss.backward()
        gradient = parameter.grad.numpy().copy()
        optimizer.step()
        change, state = rule.update(gradient, state, theta, curvature=given)
        theta = theta + change
        np.testing.assert_allclose(parameter.detach().numpy(), theta, rtol=1e-9, atol=1e-12)


def test_each_group_has_a_recipe_and_each_tensor_its_prior():
    one, two = (torch.nn.Parameter(torch.tensor(x)) for x in ([1.0, 3.0], [2.0, 2.0]))
    belief = optim.Belief([{"params": [one], "lr": 0.5}, {"params": [two], "betas": (0.0, 0.5)}])
    slow, fast = (belief.recipe(group) for group in belief.param_groups)
    assert slow.preconditioner.rate == 0.5 and slow.memory.mean.tau == pytest.approx(-1 / math.log(0.9))
    assert fast.preconditioner.rate == 1e-3 and fast.memory.mean.tau == 0
    assert belief.recipe(parameter=two) == fast
    weights = optim.Uncertain([one, two])
    priors = [weights.recipe(parameter=p) for p in (one, two)]
    assert [rule.decay.mean for rule in priors] == [2.0, 2.0]
    assert [rule.preconditioner.floor for rule in priors] == [1.0, 1.0]  # equal values borrow the spread of the others
    for p in (one, two):
        p.grad = torch.ones(2)
    weights.step()
    assert [weights.recipe(parameter=p) for p in (one, two)] == priors  # the prior is that of the beginning


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda o, p: o.recipe(), "group = None.* where there are 2"),
        (lambda o, p: o.recipe({}), "group = {}.*param_groups"),
        (lambda o, p: o.recipe(o.param_groups[0], p[2]), "group = .*holds parameter"),
        (lambda o, p: o.recipe(parameter=torch.ones(2)), r"parameter has shape \(2,\)"),
        (lambda o, p: o.recipe(parameter="w"), "parameter = 'w'"),
        (lambda o, p: o.recipe(o.param_groups[0]), "parameter = None.*one of the group's 2"),
    ],
)
def test_what_is_meant_must_be_said(call, words):
    params = [torch.nn.Parameter(torch.randn(2, generator=torch.Generator().manual_seed(i))) for i in range(3)]
    optimizer = optim.Uncertain([{"params": params[:2]}, {"params": params[2:]}])
    with pytest.raises(ValueError, match=words):
        call(optimizer, params)


def test_a_rule_without_a_recipe_says_so():
    class Odd(optim.Ballistic):
        _recipe = Rule._recipe

    with pytest.raises(NotImplementedError, match="Odd states no recipe"):
        Odd([torch.nn.Parameter(torch.ones(1))]).recipe()


def test_the_kernels_took_part():
    """Where there is a compiler the fused form of a row must not have fallen back to the list operations."""
    try:
        _native.load(torch.float64)
    except _native.NoKernel as reason:
        pytest.skip(f"no kernel on this machine: {reason}")
    assert "fused" in forms(next(row for row in ROWS if row.name == "belief"))
    assert not any("float64" in text for text in _fused._said)
