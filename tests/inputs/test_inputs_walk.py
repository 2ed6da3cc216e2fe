"""Every public callable, with one wrong argument at a time: each must be refused by a ValueError that names it.

The recipes say how each is called and of which kind its arguments are; ``bad_values`` has the wrong values of a kind.
A callable without a recipe, and an argument that its recipe does not know, fail here, too.
"""

from __future__ import annotations

import inspect

import matplotlib.pyplot as plt
import pytest
import recipes_acceleration
import recipes_beliefs
import recipes_explorables
import recipes_figures
import recipes_inference
import recipes_noether
import recipes_prices
import recipes_rest
import recipes_sgd
import recipes_theory
import recipes_torch
from matplotlib.axes import Axes
from walk import Recipe, callables, walk

BOOKS = (
    recipes_theory, recipes_beliefs, recipes_torch, recipes_noether, recipes_figures, recipes_rest, recipes_sgd,
    recipes_acceleration, recipes_inference, recipes_explorables, recipes_prices,
)  # fmt: skip
RECIPES: dict[str, Recipe] = {name: recipe for book in BOOKS for name, recipe in book.recipes().items()}
EXEMPT: dict[str, str] = {name: reason for book in BOOKS for name, reason in getattr(book, "EXEMPT", {}).items()}
FREE = {"self", "args", "kwargs", "overrides", "closure"}  # what has no kind: keyword arguments that are handed on


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_wrong_argument_is_refused_by_its_name(name):
    recipe = RECIPES[name]
    axes = [argument.good for argument in recipe.arguments.values() if isinstance(argument.good, Axes)]
    before = [len(ax.get_children()) for ax in axes]
    count, wrong = walk(recipe)
    assert not wrong, f"{len(wrong)} of {count} calls of {name}:\n" + "\n".join(wrong)
    drawn = plt.get_fignums() or [len(ax.get_children()) for ax in axes] != before
    assert not drawn, "something was drawn before a wrong argument was refused"


@pytest.mark.parametrize("name", sorted(name for name, recipe in RECIPES.items() if not recipe.costly))
def test_what_the_recipe_calls_good_is_taken(name):
    RECIPES[name].call(**RECIPES[name].good())
    plt.close("all")


def test_every_public_callable_has_a_recipe_or_a_reason_to_have_none():
    found, known = set(callables()), {name.split(" ")[0] for name in RECIPES}  # "name (one way of two to call it)"
    assert not found - known - EXEMPT.keys(), "write a recipe for these, tests/inputs/recipes_*.py"
    assert not (known | EXEMPT.keys()) - found, "recipes or exemptions of what is not there"
    assert not known & EXEMPT.keys()


def test_every_argument_has_a_kind():
    without = {}
    for name, recipe in RECIPES.items():
        parameters = inspect.signature(recipe.call).parameters.values()
        names = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        without[name] = names - FREE - recipe.rest - recipe.arguments.keys()
    assert {name: names for name, names in without.items() if names} == {}


def test_the_walk_is_long_and_its_wrong_values_can_fail():
    calls = sum(len(argument.bad) for recipe in RECIPES.values() for argument in recipe.arguments.values())
    assert calls > 80_000
    careless = Recipe(lambda theta: float(theta), RECIPES["uncertainty.Problem"].arguments | {})
    count, wrong = walk(Recipe(lambda eta: float(eta), {"eta": careless.arguments["eta"]}))
    assert count > 50 and len(wrong) > 10
