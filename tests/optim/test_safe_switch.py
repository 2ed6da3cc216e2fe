"""What who replaces torch's AdamW by one of ours must be able to rely on."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import warnings
from functools import partial

import pytest
import torch
from optim_problem import advance, loss, network, vector

import lossnav as ln
from lossnav import optim

RULES = (optim.Ballistic, optim.Belief, optim.BallisticMatrix, optim.Navigator, optim.Uncertain)
LIKE_ADAM = {"lr": 3e-3, "betas": (0.8, 0.95), "eps": 1e-6}
TORCH = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "RMSprop": torch.optim.RMSprop,
    "NAdam": torch.optim.NAdam,
    "Adamax": torch.optim.Adamax,
    "Adam": torch.optim.Adam,
    "AdamW": torch.optim.AdamW,
}


def derived(params, **options):
    """Return the rule that ``explain`` reads in AdamW with the options above."""
    w = torch.nn.Parameter(torch.ones(1))
    (reading,) = ln.explain(torch.optim.AdamW([w], **{**LIKE_ADAM, "weight_decay": 0.0, **options}))
    return reading.rule.optimizer(params)


# ------------------------------------------------------------------------------------------- the state of another


@pytest.mark.parametrize("theirs", ["AdamW", "Adam", "AdamW, bfloat16"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("ours", [optim.Belief, derived])
def test_the_state_of_adam_is_gone_on_with(theirs, decay, ours):
    """Ten steps of Adam's and ten of ours are twenty of Adam's."""
    kind, _, half = theirs.partition(", ")
    if kind == "Adam" and decay:
        pytest.skip("an L2 term is in the averages: refused below")
    dtype, wide = (torch.bfloat16, torch.float32) if half else (torch.float64, torch.float64)
    model = network(dtype=dtype)
    adam = getattr(torch.optim, kind)(model.parameters(), **LIKE_ADAM, weight_decay=decay)
    advance(model, adam, range(10))
    twin = network(dtype=dtype)
    twin.load_state_dict(model.state_dict())
    saved, before = adam.state_dict(), copy.deepcopy(adam.state_dict())
    rule = ours(twin.parameters()) if ours is optim.Belief else ours(twin.parameters(), weight_decay=decay)
    rule.load_state_dict(saved)
    assert str(saved) == str(before)
    for p, q in zip(twin.parameters(), model.parameters(), strict=True):
        assert rule.state[p]["step"] == 10 and torch.equal(rule.state[p]["m"], adam.state[q]["exp_avg"].to(wide))
    advance(twin, rule, range(10, 20))
    advance(model, adam, range(10, 20))
    if half:  # Adam's averages are rounded to bfloat16 in each step, ours are not
        assert (vector(twin) - vector(model)).abs().max() < 0.05
    else:
        torch.testing.assert_close(vector(twin), vector(model), rtol=1e-11, atol=1e-12)


def test_what_adamw_has_not_keeps_what_it_was_given():
    model = network()
    adam = torch.optim.AdamW([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.5}])
    advance(model, adam, range(3))
    rule = optim.Belief([{"params": model[0].parameters(), "discount": 0.1}, {"params": model[2].parameters()}])
    rule.load_state_dict(adam.state_dict())
    assert [group["discount"] for group in rule.param_groups] == [0.1, None]
    assert [group["lr"] for group in rule.param_groups] == [1e-3, 0.5]
    assert all("amsgrad" not in group for group in rule.param_groups)


def test_a_cycle_of_adamws_goes_on():
    """What the cycle has written into the groups is there: it begins at its seventh step, as it would with AdamW."""
    cycle = partial(torch.optim.lr_scheduler.OneCycleLR, max_lr=0.1, total_steps=20)
    model = network(dtype=torch.float64)
    adam = torch.optim.AdamW(model.parameters())
    first = cycle(adam)
    for n in range(6):
        advance(model, adam, [n])
        first.step()
    twin = copy.deepcopy(model)
    rule = optim.Belief(twin.parameters())
    rule.load_state_dict(adam.state_dict())
    for walker, optimizer in ((model, adam), (twin, rule)):
        schedule = cycle(optimizer, last_epoch=6)
        for n in range(6, 12):
            advance(walker, optimizer, [n])
            schedule.step()
    torch.testing.assert_close(vector(twin), vector(model), rtol=1e-11, atol=1e-12)


AMSGRAD = partial(torch.optim.AdamW, amsgrad=True), "state_dict has amsgrad = True"
COUPLED = partial(torch.optim.Adam, weight_decay=0.1), r"state_dict has weight_decay = 0\.1 of Adam"


@pytest.mark.parametrize(
    ("theirs", "said", "ours"),
    [
        *((*refused, ours) for refused in (AMSGRAD, COUPLED) for ours in (optim.Belief, derived)),
        (partial(torch.optim.Adam, **{**LIKE_ADAM, "betas": (0.8, 0.9)}),
         r"state_dict is of torch's Adam .*betas = \(0\.8, 0\.9\)", derived),
        (torch.optim.AdamW, "variance = 'centred', but it must be 'uncentred'",
         partial(optim.Belief, variance="centred")),
    ],
)  # fmt: skip
def test_an_adam_that_is_another_rule_is_refused(theirs, said, ours):
    """By its own options, by the memories of a derived rule, or where ours averages deviations and no squares."""
    model = network()
    adam = theirs(model.parameters())
    advance(model, adam, range(2))
    with pytest.raises(ValueError, match=f"^{said}"):
        ours(model.parameters()).load_state_dict(adam.state_dict())


OTHERS = {**TORCH, **{kind.__name__: kind for kind in RULES}, "derived": derived}
PAIRS = [
    (theirs, ours)
    for theirs, ours in itertools.product(OTHERS, [*(kind.__name__ for kind in RULES), "derived"])
    if theirs != ours and not (theirs in ("Adam", "AdamW") and ours in ("Belief", "derived"))
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_the_state_of_another_optimizer_is_refused_by_name(theirs, ours):
    model = network()
    foreign, rule = OTHERS[theirs](model.parameters()), OTHERS[ours](model.parameters())
    advance(model, foreign, range(2))
    advance(model, rule, range(2))
    before = copy.deepcopy(rule.state_dict())
    with pytest.raises(ValueError, match=r"^state_dict .*but it must be"):
        rule.load_state_dict(foreign.state_dict())
    assert str(rule.state_dict()) == str(before)


def test_the_state_of_another_derived_rule_is_refused():
    """The one remembers m and v, the other m alone."""
    model = network()
    descent = ln.explain(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9))[0].rule
    first, second = derived(model.parameters()), descent.optimizer(model.parameters())
    for rule, saved in ((first, second), (second, first)):
        advance(model, saved, range(2))
        with pytest.raises(ValueError, match=r"^state_dict remembers .* of a parameter, but it must be one of Derived"):
            rule.load_state_dict(saved.state_dict())


# --------------------------------------------------------------------------------------------- the order of torch's


@pytest.mark.parametrize("kind", RULES)
def test_arguments_by_place_are_those_of_torch(kind):
    """As in ``torch.optim.Adam(params, lr, betas, eps, weight_decay)``; all others by name alone."""
    known = [p for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    names = ["betas" if p.name == "beta" else p.name for p in known]
    assert names == ["params", "lr", "betas", "eps", "weight_decay"][: len(names)] and len(names) > 1


@pytest.mark.parametrize(
    ("rule", "name", "value"),
    [
        (optim.Uncertain, "weight_decay", 0.1),
        (optim.Navigator, "betas", (0.9, 0.99)),
        (optim.Belief, "momentum", 0.9),
        (optim.BallisticMatrix, "amsgrad", True),
        (optim.Ballistic, "nesterov", True),
    ],
)
def test_an_option_of_torch_in_a_group_is_not_dropped_unseen(rule, name, value):
    with pytest.raises(ValueError, match=rf"{name} = .*, but it must be False or left out: {rule.__name__} has none"):
        rule([{"params": [torch.nn.Parameter(torch.ones(2))], name: value}])
    rule([{"params": [torch.nn.Parameter(torch.ones(2))], name: type(value)(), "lr_scale": 0.5}])


def test_the_arguments_of_adamw_make_a_belief():
    rule = optim.Belief(network().parameters(), 1e-2, (0.9, 0.95), 1e-6, 0.1)
    group = rule.param_groups[0]
    assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (1e-2, (0.9, 0.95), 1e-6, 0.1)


# ------------------------------------------------------------------------------------------- gradients that are none


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_is_refused_by_name_before_anything_is_written(rule, value):
    model = network()
    optimizer = rule(list(model.named_parameters()))
    advance(model, optimizer, range(3))
    optimizer.zero_grad()
    loss(model, 3).backward()
    model[2].weight.grad[1, 2] = value
    before, state = vector(model).clone(), copy.deepcopy(optimizer.state_dict())
    with pytest.raises(ValueError, match=r"^the gradient of parameter '2\.weight', shape \(3, 7\), has 1 entries"):
        optimizer.step()
    assert torch.equal(vector(model), before)
    assert str(optimizer.state_dict()) == str(state)
    advance(model, optimizer, range(3, 5))  # and goes on
    assert torch.isfinite(vector(model)).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_largest_finite_gradients_are_let_through_if_nobody_squares_them(dtype):
    w = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    w.grad = torch.full((3,), torch.finfo(dtype).max, dtype=dtype)
    ln.derive(ln.Objective(gamma=1.0), dt=0.1).optimizer([w]).step()
    if dtype is not torch.float16:  # whose state is float32
        with pytest.raises(ValueError, match=r"has the norm .*, but its square must be finite in torch.float"):
            optim.Belief([w]).step()
    w.grad[1] = math.inf
    with pytest.raises(ValueError, match=r"^the gradient of parameter 0 of group 0, shape \(3,\), has 1 entries"):
        optim.Belief([w]).step()


def test_the_look_at_gradients_can_be_left_out():
    w = torch.nn.Parameter(torch.ones(2))
    rule = optim.Belief([w])
    rule.check_gradients = False
    rule = copy.deepcopy(rule)
    rule.param_groups[0]["params"][0].grad = torch.tensor([1.0, math.inf])
    rule.step()


# -------------------------------------------------------------------------------------------------- a loss's unit


@pytest.mark.parametrize(
    ("make", "size", "said"),
    [
        (optim.Ballistic, 1e-6, r"eps = 1e-08 exceeds most gradients' squares \(mean 1\.0e-12\)"),
        (optim.Navigator, 1e-6, r"eps = 1e-08 exceeds most curvatures"),
        (optim.Navigator, 1e4, r"curvature_scale = 1 makes the step Newton's"),
    ],
)
def test_a_loss_in_a_unit_that_decides_the_step_is_told_of_at_the_first(make, size, said):
    w = torch.nn.Parameter(torch.ones(4))
    rule = make([w])
    w.grad = torch.tensor([size, -size, size, 0.0])
    with pytest.warns(RuntimeWarning, match=f"^{make.__name__}: {said}"):
        rule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule.step()
        rule = make([w], **({"eps": 1e-20} if size < 1 else {"curvature_scale": 1e-8}))
        rule.step()


@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_step_is_newtons_from_where_the_rate_of_the_discount_makes_it_so(share):
    """r = ηkh/(γ/2 + √(γ²/4 + ηkh)), and told of beyond lr·r = 1."""
    w = torch.nn.Parameter(torch.ones(4))
    rule = optim.Navigator([w], lr=share * (4 + math.sqrt(4**2 + 16)) / 16, gamma=8.0)
    w.grad = torch.full((4,), 4.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rule.step()
    assert any("makes the step Newton's" in str(warning.message) for warning in told) is (share > 1)


@pytest.mark.parametrize("make", [*RULES, derived])
def test_a_loss_in_an_ordinary_unit_is_not_told_of(make):
    model = network()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        advance(model, make(model.parameters()), range(2))


# ------------------------------------------------------------------------------------------------------ defaults


class Tied(torch.nn.Module):
    """A model of words, whose head is its embedding."""

    def __init__(self, tied):
        super().__init__()
        self.words, self.inner = torch.nn.Embedding(50, 8), torch.nn.Linear(8, 8)
        self.norm, self.head = torch.nn.LayerNorm(8), torch.nn.Linear(8, 50, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.norm(self.inner(self.words(x))))


def names(groups):
    return [[name for name, _ in group["params"]] for group in groups]


@pytest.mark.parametrize("tied", [False, True])
def test_a_network_is_split_into_matrices_and_the_rest(tied):
    matrices, rest = optim.split(Tied(tied))
    assert names([matrices]) == [["inner.weight"]] and "curvature" not in matrices
    wanted = ["words.weight", "inner.bias", "norm.weight", "norm.bias", *([] if tied else ["head.weight"])]
    assert names([rest]) == [wanted] and rest["curvature"] == "diagonal"
    torch.nn.utils.parametrizations.spectral_norm(table := torch.nn.Embedding(9, 4))
    assert (
        names(optim.split(torch.nn.Sequential(table, torch.nn.Linear(4, 3))))[0][0]
        == "0.parametrizations.weight.original"
    )


def test_what_is_left_can_be_named():
    model = Tied(False)
    assert names(optim.split(model, leave=()))[0] == ["inner.weight", "head.weight"]
    assert optim.split(model, leave={"inner"}) == optim.split(model, leave=["inner"])
    assert names(optim.split(model, leave=["inner", "head.weight"])) == [[name for name, _ in model.named_parameters()]]
    assert names(optim.split(torch.nn.Sequential(torch.nn.Linear(2, 3)), leave=())) == [["0.weight"], ["0.bias"]]
    with pytest.raises(ValueError, match=r"^leave\[1\] = 'in', but it must be the name of a module or parameter"):
        optim.split(model, leave=["inner", "in"])
    with pytest.raises(ValueError, match="model"):
        optim.split(torch.nn.ReLU())


def test_a_network_may_be_its_own_head_and_must_have_shapes():
    alone = torch.nn.Linear(3, 2)
    assert names(optim.split(alone)) == names(optim.split(alone, leave=[""])) == [["weight", "bias"]]
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Linear(4, 2))
    with pytest.raises(ValueError, match=r"^model has no shape for '0\.weight' yet"):
        optim.split(lazy)
    lazy(torch.ones(1, 3))
    assert names(optim.split(lazy)) == [["0.weight"], ["0.bias", "1.weight", "1.bias"]]


def test_what_is_one_row_or_column_is_no_matrix():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    model.token, model.places = (torch.nn.Parameter(torch.zeros(1, size, 4)) for size in (1, 9))
    model.column = torch.nn.Parameter(torch.zeros(4, 1))
    model.tables = torch.nn.Parameter(torch.zeros(2, 9, 4))
    assert names(optim.split(model))[0] == ["tables", "0.weight", "1.weight"]


def test_a_table_that_is_left_moves_as_with_adam_and_as_a_matrix_runs_away():
    """A batch of 16 rows of 5,000: "polar" shares the length of all rows among these, Adam gives each its own."""
    moved = {}
    for name, options in {"left": {}, "matrix": {"leave": ()}}.items():
        torch.manual_seed(0)
        table = torch.nn.Embedding(5_000, 32)
        before = table.weight.detach().clone()
        groups = optim.split(table, **options) if name == "left" else [{"params": [("weight", table.weight)]}]
        rule = optim.BallisticMatrix(groups, lr=1e-3)
        table(torch.arange(16)).square().sum().backward()
        rule.step()
        moved[name] = (table.weight.detach() - before).abs().max().item() / 1e-3
    assert moved["left"] == pytest.approx(1.0, rel=1e-3) and moved["matrix"] > 20


@pytest.mark.parametrize(
    "rule",
    [optim.Ballistic, optim.Belief, optim.Navigator, derived],
    ids=["Ballistic", "Belief", "Navigator", "derived"],
)
def test_the_kernel_is_taken_unless_the_arguments_say_otherwise(rule, kernel):
    for options, wanted in (({}, True), ({"fused": False}, False), ({"foreach": True}, False), ({"fused": True}, True)):
        model = network(dtype=torch.float32)
        optimizer = rule(model.parameters()) if rule is derived else rule(model.parameters(), **options)
        for group in optimizer.param_groups:
            group.update(options)
        advance(model, optimizer, range(2))
        assert bool(optimizer.__dict__.get("_launches")) is wanted


# ------------------------------------------------------------------------------------------- another model, other sizes


@pytest.mark.parametrize("shape", [(8,), (50, 20)])
@pytest.mark.parametrize("make", [optim.Belief, optim.Navigator, optim.BallisticMatrix, optim.Uncertain])
def test_the_state_of_another_model_is_refused(make, shape):
    """A kernel would pass over memory that is not the state's."""
    small, large = (torch.nn.Parameter(torch.arange(math.prod(s)).reshape(s) / 9) for s in (shape, (20, 50)))
    optimizer, other = make([small]), make([large])
    small.grad = torch.ones(shape)
    optimizer.step()
    with pytest.raises(ValueError, match=r"state_dict remembers .* of another model"):
        other.load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize(
    ("make", "lost"),
    [(optim.Ballistic, "v"), (optim.Belief, "step"), (optim.Belief, "m"), (optim.Belief, "v"), (optim.Navigator, "h"),
     (optim.BallisticMatrix, "m"), (optim.Uncertain, "step"), (optim.Uncertain, "precision")],
)  # fmt: skip
def test_a_part_of_a_state_is_refused(make, lost):
    """What is lost would begin anew beside a counter or an average that goes on: tenfold steps of Adam's rule."""
    weights = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    optimizer, other = make([weights]), make([weights])
    weights.grad = torch.ones(2, 3)
    optimizer.step()
    saved = optimizer.state_dict()
    del saved["state"][0][lost]
    with pytest.raises(ValueError, match=f"^state_dict lacks '{lost}' of a parameter"):
        other.load_state_dict(saved)
    assert not other.state


def test_a_parameter_that_has_grown_is_refused():
    weight = torch.nn.Parameter(torch.zeros(4))
    rule = optim.Belief([weight])
    for size in (4, 9):
        weight.grad, weight.data = None, torch.zeros(size)
        weight.grad = torch.ones(size)
        if size == 4:
            rule.step()
    with pytest.raises(ValueError, match=r"a parameter of shape \(9,\) has .* of shape \(4,\)"):
        rule.step()


@pytest.mark.parametrize(
    "make",
    [
        *(partial(kind, eps=0.0, fused=fused) for kind in (optim.Ballistic, optim.Belief) for fused in (True, False)),
        *(partial(optim.BallisticMatrix, curvature=name) for name in ("polar", "eigenbasis", "diagonal")),
        partial(optim.BallisticMatrix, root="iterated"),
    ],
)
def test_gradients_whose_squares_vanish_move_no_weight_far(make):
    """float32 holds 1e-22, and not its square."""
    weight = torch.nn.Parameter(torch.zeros(6, 5))
    rule, draw = make([weight], lr=1e-3), torch.Generator().manual_seed(0)
    for size in (1e-22, 1e-25, 1e-19, 1e-22):
        weight.grad = size * torch.randn(6, 5, generator=draw)
        rule.step()
        assert weight.abs().max() < 0.02


def test_nothing_moves_before_all_groups_are_looked_at():
    table, first, second = torch.nn.Embedding(4, 3, sparse=True), *(torch.nn.Parameter(torch.ones(3)) for _ in "ab")
    second.data.zero_()
    rules = (
        optim.Belief([{"params": [first]}, {"params": table.parameters()}]),
        optim.Uncertain([{"params": [first], "prior_variance": 1.0}, {"params": [second]}]),
        optim.Uncertain([{"params": [first]}], prior_variance=1.0, sample=True),
    )
    for rule in rules:
        rule.zero_grad()
        (first.sum() + second.sum() + table(torch.tensor([1])).sum()).backward()
        with pytest.raises((RuntimeError, ValueError), match=r"sparse gradient|prior_variance|no sample"):
            rule.step()
        assert torch.equal(first, torch.ones(3)) and not rule.state[first].get("step", 0)
