"""Recipes of the small explorables beside the algebra, from the ranges of their traits."""

from __future__ import annotations

import traitlets
from bad_values import Argument, array, number, whole
from walk import Recipe

from lossnav import explore
from lossnav.explore.base import Explorable

EXEMPT: dict[str, str] = {}
SMALL = (
    explore.DiscountExponent,
    explore.ExactStep,
    explore.FadingBelief,
    explore.Extremals,
    explore.MuonQuintic,
    explore.NormalArcs,
    explore.PlannedSteps,
    explore.Preconditioner,
    explore.StayMap,
)


def made(make: type[Explorable]) -> Recipe:
    """The recipe of an explorable all of whose traits are numbers."""
    traits = {name: make().traits()[name] for name in make()._state_names()}
    return Recipe(make, {name: ranged(trait) for name, trait in traits.items()})


def ranged(trait: traitlets.Float | traitlets.Int) -> Argument:
    """A number in the range of a trait."""
    kind = whole if isinstance(trait, traitlets.Int) else number
    return kind(trait.default_value, low=trait.min, high=trait.max)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {
        **{f"explore.{make.__name__}": made(make) for make in SMALL},
        "explore.Extremals.path": Recipe(explore.Extremals().path, {
            "growing": number(0.1), "t": array([0.0, 1.0], any_shape=True, below=0.0),
        }),
        "explore.Extremals.cost": Recipe(explore.Extremals().cost, {"growing": number(0.1)}),
    }  # fmt: skip
