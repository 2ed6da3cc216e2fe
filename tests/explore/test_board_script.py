"""The board against Python: formulas against sympy, code and calls of every combination, paths, names, programs."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import oracles
import pytest
import sympy
import torch
from handles import readout
from paths import BOOK
from test_takeaway import PRESS, move

from lossnav.explore.board import tables
from lossnav.rules.derive import board, typeset

CORNERS = list(board.combinations())
REFUSED = [{"horizon": "far", "curvature": "none", "belief": belief} for belief in ("exact", "average")]
PLANNED = [at for at in CORNERS if not any(bad.items() <= at.items() for bad in REFUSED)]
NUMBERS = {"θ": 0.7, "θ₀": -0.4, "m": 0.3, "V": 1.7, "G": 1.3, "γ": 0.6, "j": 0.35, "α": 0.22, "c": 1.9, "η": 0.8,
           "k": 1.4, "t": 0.45, "e": math.e, "θ̇": -0.6, "θ̈": 0.25, "Δt": 0.37}  # fmt: skip
GREEK = {"eta": "η", "k": "k", "gamma": "γ", "alpha": "α", "j": "j", "m": "m", "V": "V", "G": "G", "c": "c"}


def value(tree, names):
    """The number of a tree: an evaluator of its own, which knows neither gains nor sympy."""
    return _sum(_items(tree, names))


def _items(tree, names):
    """Signs and numbers of a row."""
    if isinstance(tree, str):
        words = tree.replace("Δ t", "Δt").split()
        return [word if word in "+−=," else names[word] if word in names else float(word) for word in words]
    kind, *parts = tree
    if kind == "":
        joined: list = []
        for part in parts:
            joined += _items(part, names)
        return joined
    if kind == "_":
        return [names[parts[0] + {"0": "₀", "+": "₊", "θ": "θ", "m": "m"}[parts[1]]]]
    if kind in "˙¨":
        return [names[parts[0] + {"˙": "\u0307", "¨": "\u0308"}[kind]]]
    inner = [value(part, names) for part in parts]
    operations = {"(": lambda x: x, "/": lambda a, b: a / b, "√": math.sqrt, "^": lambda a, b: a**b}
    return [operations[kind](*inner)]


def _sum(items):
    total, sign, product = 0.0, 1.0, None
    for item in [*items, "+"]:
        if isinstance(item, str):
            total += 0.0 if product is None else sign * product
            sign, product = (-1.0 if item == "−" else 1.0), None
        else:
            product = item if product is None else product * item
    return total


def sides(tree):
    """Both sides of each equation in a row that commas part, as rows."""
    equations: list[list[list]] = [[[""]]]
    for word in flat(tree):
        if word == ",":
            equations.append([[""]])
        elif word == "=":
            equations[-1].append([""])
        else:
            equations[-1][-1].append(word)
    return equations


def flat(tree):
    if isinstance(tree, str):
        yield from tree.replace("Δ t", "Δt").split()
    elif tree[0] == "":
        for part in tree[1:]:
            yield from flat(part)
    else:
        yield tree


def rates(at):
    """s₊ and r as the tree of the setting says, in NUMBERS."""
    names = dict(NUMBERS)
    for left, right in sides(typeset.rate(at)):
        names["s₊" if isinstance(left[1], list) else "r"] = value(right, names)
    return names


@functools.cache
def derived(discount, metric, decay, fading, curved):
    """What sympy derives, in NUMBERS: the velocity, and the equation, left less right, with θ̈ in front once."""
    at = {"horizon": discount, "metric": metric, "drift": decay, "belief": "fading" if fading else "average",
          "curvature": "average" if curved else "none", "time": "first"}  # fmt: skip
    rule = board.chosen(at)
    number = {**{name: NUMBERS[letter] for name, letter in GREEK.items()}, "theta_0": NUMBERS["θ"]}
    speed = float(rule.velocity.subs({s: number[s.name] for s in rule.velocity.free_symbols}))
    (equation,) = rule.equations
    (path,) = equation.atoms(sympy.core.function.AppliedUndef)
    (t,) = path.args
    gap = sympy.expand(equation.lhs - equation.rhs)
    gap = gap / gap.coeff(path.diff(t, 2))
    for expression, name in ((path.diff(t, 2), "θ̈"), (path.diff(t), "θ̇"), (path, "θ"), (t, "t")):
        gap = gap.subs(expression, NUMBERS[name])
    number["theta_0"] = NUMBERS["θ₀"]
    return speed, float(gap.subs({s: number[s.name] for s in gap.free_symbols}))


@pytest.mark.slow
def test_the_formulas_that_are_set_are_those_that_sympy_derives():
    for at in PLANNED:
        names = rates({**at, "time": "exact"})
        fading, curved = at["belief"] == "fading", at["curvature"] != "none"
        speed, gap = derived(at["horizon"], at["metric"], at["drift"], fading, curved)
        ((_, right),) = sides(typeset.velocity(at))
        assert value(right, names) == pytest.approx(speed, rel=1e-13), at
        ((left, right),) = sides(typeset.equation(at))
        assert value(left, names) - value(right, names) == pytest.approx(gap, rel=1e-12, abs=1e-12), at


def test_an_exact_step_that_is_set_is_the_rules_own():
    x = board.NUMBERS
    for at in PLANNED:
        rule = board.chosen(at)
        theta, g = np.array([0.7]), np.array([0.9])
        moved, _ = rule(g, rule.init(theta), theta)
        names = {**NUMBERS, "θ": 0.7, "m": 0.9, "V": 0.81, "G": 0.9, "γ": x["gamma"], "j": x["j"], "α": x["alpha"],
                 "c": 1.0, "η": 1.0, "k": 1.0, "Δt": x["dt"]}  # fmt: skip
        for left, right in sides(typeset.rate(at)):
            names["s₊" if isinstance(left[1], list) else "r"] = value(right, names)
        ((_, right),) = sides(typeset.velocity(at))
        names["θ̇"] = value(right, names)
        names["vm"] = value(right, {**names, "θ": 0.0})
        names["vθ"] = names["θ̇"] - names["vm"]
        ((_, right),) = sides(typeset.step(at))
        assert value(right, names) == pytest.approx(float(moved[0]), rel=1e-12), at


def test_the_table_is_pythons():
    held = json.loads(tables.CONSTANTS.read_text(encoding="utf-8"))
    assert held["table"] == json.loads(json.dumps(tables.table())), "run python -m lossnav.explore.board.tables"
    assert {name: list(words) for name, (_, words) in held["switches"].items()} == {
        name: list(positions) for name, positions in board.SWITCHES.items()
    }


def test_every_combination_shows_what_python_says(board_script):
    pairs = board_script("given.map((at) => [M.shownAt(at), M.calledAt(at, '0.1')])", CORNERS)
    x = board.NUMBERS
    for at, (shown, call) in zip(CORNERS, pairs, strict=True):
        assert "import lossnav as ln\n\n" + "\n".join(call) + "\n" == board.as_python(at)
        corner = board.corner(at)
        assert (shown is None) == (corner["refused"] is not None)
        if shown is None:
            continue
        assert shown["source"] == corner["source"]
        trees = {name: getattr(typeset, name)(at) for name in ("equation", "rate", "velocity", "step")}
        assert shown == {**trees, "beliefs": typeset.beliefs(at, x["beta"], x["memory"]), "source": corner["source"]}


@pytest.mark.parametrize(("dt", "noise"), [(2.0, 0.0), (1.1, 0.8)])
def test_paths_of_every_combination_are_pythons(board_script, dt, noise):
    start = [-3.1, 2.7]
    given = {"corners": CORNERS, "run": {"start": start, "dt": dt, "noise": noise}}
    paths = board_script("given.corners.map((at) => M.runBoard(at, given.run))", given)
    for at, path in zip(CORNERS, paths, strict=True):
        expected = oracles.Board(**at, start=start, dt=dt, noise=noise).path()
        assert len(path) == len(expected)
        # where a step divides by a gradient of nearly nothing, rounding grows from step to step
        np.testing.assert_allclose(path[:12], expected[:12], rtol=1e-9, atol=1e-9, err_msg=str(at))


def test_the_field_is_the_first_step_from_each_place(board_script):
    places = [[0.3, -1.7], [-2.2, 0.4]]
    given = {"corners": PLANNED, "places": places}
    fields = board_script("given.corners.map((at) => given.places.map((p) => M.firstVelocity(at, p, 0.25)))", given)
    for at, arrows in zip(PLANNED, fields, strict=True):
        for place, arrow in zip(places, arrows, strict=True):
            rule, theta = board.chosen(at, dt=0.25), np.array(place)
            moved, _ = rule(np.array([1 / 9, 1]) * theta, rule.init(theta), theta)
            np.testing.assert_allclose(arrow, moved / 0.25, rtol=1e-12)


TORCH = {  # what the notes say of torch's own optimizers; γ = ½, j = ⅛, α = ¼, Δt = 0.1
    "SGD": (torch.optim.SGD, {"lr": 0.2}, 0),
    "heavy ball": (torch.optim.SGD, {"lr": 0.02, "momentum": 0.9}, 300),
    "RMSprop": (torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.9, "eps": 0.0}, 300),
    "RMSprop, by metric": (torch.optim.RMSprop, {"lr": 0.2, "alpha": 0.9, "eps": 0.0}, 300),
    "Adam, ε = 0": (torch.optim.Adam, {"lr": 0.1, "eps": 0.0}, 0),
    "Adam": (torch.optim.Adam, {"lr": 0.1, "eps": 0.25}, 0),
    "Adam, by metric": (torch.optim.Adam, {"lr": 0.2, "eps": 0.0}, 0),
    "AdamW": (torch.optim.AdamW, {"lr": 0.16, "eps": 0.0, "weight_decay": 0.078125}, 0),
}


@pytest.mark.parametrize("name", TORCH)
def test_names_and_notes_are_of_torchs_optimizers(name):
    make, options, settled = TORCH[name]
    at = next(dict(zip(board.SWITCHES, corner, strict=True)) for corner, word in board.NAMES.items() if word == name)
    generator = np.random.default_rng(0)
    weights = [torch.nn.Parameter(torch.tensor([0.7, -1.2], dtype=torch.float64)) for _ in range(2)]
    memory = options.get("alpha", 0.999)
    optimizers = [make([weights[0]], **options), board.chosen(at, memory=memory).optimizer([weights[1]])]
    for n in range(settled + 40):
        before = [w.detach().clone() for w in weights]
        g = torch.tensor(generator.normal(size=2))
        for weight, optimizer in zip(weights, optimizers, strict=True):
            weight.grad = g.clone()
            optimizer.step()
        if n >= settled:  # averages that are not corrected have filled
            moves = [w.detach() - b for w, b in zip(weights, before, strict=True)]
            torch.testing.assert_close(moves[0], moves[1], rtol=1e-8, atol=1e-10)


def test_names_are_found_and_told(board_script):
    known = board_script("M.KNOWN.map(({ name, at }) => [name, M.differing(at, M.KNOWN.at(-1).at)])")
    assert [name for name, _ in known] == list(board.NAMES.values()) == list(board.NOTES)
    assert dict(known)["AdamW"] == [] and dict(known)["Adam, by metric"] == ["drift"]
    # So are those that only assume otherwise, and whose code is that of a name.
    source = {
        name: board.corner(dict(zip(board.SWITCHES, at, strict=True)))["source"] for at, name in board.NAMES.items()
    }
    alike = board_script("given.map((at) => M.alike(M.shownAt(at))?.name)", PLANNED)
    for at, name in zip(PLANNED, alike, strict=True):
        assert source[name] == board.corner(at)["source"] if name else board.corner(at)["source"] not in source.values()
    assert sum(name is not None for name in alike) > len(known)
    # The chapter counts them.
    counts = len(known), sum(name is not None for name in alike) - len(known), len(CORNERS) - len(PLANNED)
    assert (len(CORNERS), *counts) == (192, 12, 5, 16)
    told = (BOOK / "myst" / "derive.md").read_text(encoding="utf-8")
    assert "192 corners" in told
    assert "Twelve of the corners have a name, and five the code of one; for 16 there is no plan" in told


def first_step(at, gradient):
    """The step that a corner takes first, at θ = 0."""
    rule, theta = board.chosen(at, dt=0.1), np.zeros(len(gradient))
    return np.abs(rule(np.array(gradient), rule.init(theta), theta)[0])


SLOPES = np.array([0.02, 0.1, 0.5, 2.5])


@pytest.mark.parametrize(
    ("change", "told", "holds"),
    [
        ({"horizon": "discounted"}, "flat directions slow down", lambda old, new: new[0] < old[0]),
        ({"metric": "rms"}, "steep directions go later", lambda old, new: new[-1] / new[0] < old[-1] / old[0]),
        ({"curvature": "average"}, "steep directions are slowed down", lambda old, new: new[-1] < old[-1]),
        (
            {"curvature": "instant"},
            "steps grow less than slopes do",
            lambda old, new: np.all(np.diff(new / SLOPES) < 0),
        ),
        ({"curvature": "signal"}, "steps grow less than slopes do", lambda old, new: np.all(np.diff(new / SLOPES) < 0)),
    ],
    ids=["discounted", "rms", "average", "instant", "signal"],
)
def test_what_an_answer_says_of_steps_holds_in_each_corner(change, told, holds):
    ((switch, position),) = change.items()
    assert told in oracles.Board()._shared["answers"][switch][position]
    for at in PLANNED:
        if at[switch] == next(iter(board.SWITCHES[switch])) and {**at, **change} in PLANNED:
            assert holds(first_step(at, SLOPES), first_step({**at, **change}, SLOPES)), at


@pytest.mark.browser
def test_every_name_can_be_gone_to_and_its_program_runs(stand):
    """Each name by its button; then a share of all corners: the program, executed, is the board's path."""
    chip = "[...document.querySelectorAll('.ln-known button')][%d].click()"
    lit = "[...document.querySelectorAll('.ln-known [aria-pressed=true]')].map((e) => e.firstChild.data)"
    page = stand(oracles.Board(noise=0.5, dt=0.5), (700, 900))
    for i, name in enumerate(board.NAMES.values()):
        page.evaluate(chip % i)
        assert page.evaluate(lit) == [name]
        assert f"This is {name}".replace(" = ", "\xa0=\xa0") in readout(page, 0)
        assert_program_is_the_path(page)
    for at in CORNERS[::11]:
        move(page, at)
        assert_program_is_the_path(page)
    assert page.complaints() == []


def assert_program_is_the_path(page):
    text = page.evaluate(f"{PRESS}('Python')")
    room: dict = {"print": lambda *words: None}
    exec(text, room)
    shown = eval(text.split("\n")[-1], room)
    answer = readout(page, 0)
    if "path" not in room:
        assert "There is no plan" in answer and "except ln.NoMinimiser" in text
        return
    np.testing.assert_array_equal(np.array(room["path"]), shown.path())
    x, y = room["path"][1]
    assert f"first to ({x:.2f}, {y:.2f})".replace("-", "−") in answer.replace("−0.00", "0.00")


@pytest.mark.browser
def test_switches_answer_the_keyboard_and_an_address_that_is_none(stand):
    page = stand(oracles.Board(), (390, 900), phone=True, hash='#explore=Board&metric="round"&drift="decay"')
    pressed = "[...document.querySelectorAll('.ln-switch [aria-pressed=true]')].map((e) => e.textContent)"
    assert page.evaluate(pressed) == [
        "everything", "the same for all weights", "shrink", "an average that fades", "average square", "straight on"
    ]  # fmt: skip
    page.evaluate("document.querySelector('.ln-switch button:not([aria-pressed=true])').focus()")
    page.key("Enter")
    assert page.evaluate(pressed)[0] == "a while"
    answer = readout(page, 0)
    assert answer.startswith("You now look less far ahead, so flat directions slow down.")
    assert page.evaluate("document.querySelectorAll('.ln-changed').length") == 1
    assert page.complaints() == []
