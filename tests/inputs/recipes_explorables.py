"""Recipes of the explorables: what each takes is said by its traits; methods and a few arguments are said here."""

from __future__ import annotations

import inspect

import traitlets
from bad_values import NAN, Argument, array, items, number, whole, word
from walk import Recipe

from lossnav import explore
from lossnav.explore.base import Explorable

POINT = array([0.5, 0.5], bad=[[100.0, 0.0]])
ROWS = items((), bad=[[(1,)], [(1, 2, 3, 4)], [(NAN, 1.0, 1.0)], [("1", 1.0)], [1.0]])
OWN = {
    ("Deadline", "drawn"): array([0.5] * 7, any_shape=True, below=0.0, bad=[[0.5] * 6, [1.5] * 7]),
    ("Horizon", "dt"): number(1.0, low=0.01, infinite=True),
}


def made(make: type[Explorable]) -> Recipe:
    """The recipe of an explorable's constructor."""
    traits, name = make().traits(), make.__name__
    arguments = inspect.signature(make).parameters
    return Recipe(make, {key: OWN.get((name, key)) or ranged(traits[key]) for key in arguments})


def ranged(trait: traitlets.TraitType) -> Argument:
    """What a trait takes."""
    default = trait.default()
    if isinstance(trait, traitlets.Tuple):
        return POINT
    if isinstance(trait, traitlets.List):
        return ROWS
    if isinstance(trait, traitlets.Enum):
        return word(default)
    return (whole if isinstance(trait, traitlets.Int) else number)(default, low=trait.min, high=trait.max)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    kinds = [getattr(explore, name) for name in explore.__all__ if name != "Explorable"]
    return {
        **{f"explore.{make.__name__}": made(make) for make in kinds},
        "explore.MovingNetwork.distances": Recipe(explore.MovingNetwork().distances, {
            "n": array([1.0, 5.0], any_shape=True, below=0.0, bad=[1.5, [1.0, 2.5]]),
        }),
    }  # fmt: skip
