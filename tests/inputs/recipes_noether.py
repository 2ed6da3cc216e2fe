"""Recipes of symmetry: laws, recursions, charges, and what finds symmetries in models."""

from __future__ import annotations

import numpy as np
import torch
from bad_values import (
    NAN,
    Argument,
    array,
    flag,
    function,
    items,
    number,
    points,
    positive,
    rate,
    thing,
    whole,
    word,
)
from torch import nn
from torch.nn.functional import cross_entropy
from walk import Recipe

import lossnav as ln
from lossnav import noether

SCALE, PAIR, SHIFT = noether.Scale(2), noether.Rescale(2, [0], [1]), noether.Translation(2)
HAT = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
PATH = ln.solve(ln.Objective(gamma=1.0), HAT, [1.0, 0.5])
X, Y = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 2
NETWORK = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
(FAMILY, *_) = noether.find_symmetries(NETWORK, cross_entropy, (X, Y))
BLOCK = FAMILY.groups[0][0]
TENSORS = dict(NETWORK.named_parameters())

below_one = number(0.9, low=0.0, high=1.0, open_high=True)
RATES = {"eta": positive(0.1), "beta": below_one, "decay": rate(0.01)}
noise = Argument("white", [*word("white", none=True).bad])
field = thing(SCALE)
indices = items([0], bad=[[2], [-1], [0, 0], [0.0], [True], [NAN], [], [10**400]])


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    return {**_symmetries(), **_laws(), **_recursions(), **_navigation(), **_networks()}


def _symmetries() -> dict[str, Recipe]:
    dim, point = whole(2), points([1.0, 2.0])
    coordinates = Argument([0], [value for value in indices.bad if value is not None])
    by_name = {
        "noether.Translation": Recipe(noether.Translation, {"dim": dim, "which": coordinates}),
        "noether.Scale": Recipe(noether.Scale, {"dim": dim, "which": coordinates}),
        "noether.Rescale": Recipe(noether.Rescale, {
            "dim": dim, "first": Argument([0], [*indices.bad, [1]]), "second": Argument([1], [*indices.bad, [0]])
        }),
    }  # fmt: skip
    for name, symmetry in {"Translation": SHIFT, "Scale": SCALE, "Rescale": PAIR, "Symmetry": SCALE}.items():
        path = f"noether.{name}"
        by_name |= {
            f"{path}.__call__": Recipe(symmetry.__call__, {"theta": point}),
            f"{path}.jacobian": Recipe(symmetry.jacobian, {"theta": point}),
            f"{path}.transform": Recipe(symmetry.transform, {"theta": point, "s": number(0.5)}),
            f"{path}.charge": Recipe(symmetry.charge, {"theta": point, "velocity": point}),
            f"{path}.source": Recipe(symmetry.source, {"velocity": point}),
        }
        if name != "Symmetry":  # where it is abstract
            by_name[f"{path}.quantity"] = Recipe(symmetry.quantity, {"theta": point})
    return by_name


def _laws() -> dict[str, Recipe]:
    return {
        "noether.mass": Recipe(noether.mass, {name: RATES[name] for name in ("eta", "beta")}),
        "noether.friction": Recipe(noether.friction, {"beta": below_one}),
        "noether.limiting_angular_speed": Recipe(noether.limiting_angular_speed, {
            **RATES, "dampening": number(0.0, low=0.0, high=1.0, open_high=True), "decoupled": flag(False),
            "nesterov": flag(False),
        }),
        "noether.limiting_radius": Recipe(noether.limiting_radius, {
            "gradient_norm": array(1.0, any_shape=True, below=0.0), **RATES, "decay": positive(0.01),
            "gradient_noise": noise,
        }),
        "noether.radius_squared": Recipe(noether.radius_squared, {
            "t": Argument([0.0, 1.0], [
                value for value in array([0.0, 1.0], any_shape=True, below=0.0, bad=[[1.0, 0.0], [[0.0, 1.0]], []]).bad
                if not isinstance(value, range)
            ], ("gradient_norm_squared",)),
            "initial": positive(1.0),
            "gradient_norm_squared": Argument([1.0, 2.0], [  # a function of t is taken
                value for value in array([1.0, 2.0], below=0.0, scalars=True).bad if not callable(value)
            ]),
            "mass": positive(0.1), "friction": positive(0.5, also=("momentum",)), "decay": rate(0.01),
            "gradient_noise": noise,
        }),
    }  # fmt: skip


def _recursions() -> dict[str, Recipe]:
    start = {"initial": array(1.0, below=0.0), "charge": array(0.5)}
    speeds = Argument([0.1, 0.2], array([0.1, 0.2], any_shape=True, below=0.0, bad=[0.1, [], [[0.1, 0.2]]]).bad)
    signed = Argument([0.1, 0.2], array([0.1, 0.2], any_shape=True, bad=[0.1, [], [[0.1, 0.2]]]).bad)
    rescale = {"initial": array(1.0), "charge": array(0.5)}
    return {
        "noether.discrete_radius": Recipe(noether.discrete_radius, {**start, "speed_squared": speeds, **RATES}),
        "noether.continuous_radius": Recipe(noether.continuous_radius, {**start, "speed_squared": speeds, **RATES}),
        "noether.discrete_rescale": Recipe(noether.discrete_rescale, {**rescale, "speed_difference": signed, **RATES}),
        "noether.discrete_translation": Recipe(noether.discrete_translation, {**rescale, "steps": whole(3), **RATES}),
        "noether.identity": Recipe(noether.identity, {
            "positions": array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], bad=[[[1.0, 0.0]], [1.0, 2.0]]),
            "symmetry": thing(SCALE), **RATES,
        }),
    }  # fmt: skip


def _navigation() -> dict[str, Recipe]:
    wrong = [noether.Scale(3)]
    along = {
        "path": thing(PATH), "field": Argument(SCALE, [*field.bad, *wrong]),
        "t": Argument([0.0, 1.0], array([0.0, 1.0], any_shape=True, bad=[[-1.0], [[0.0]]]).bad),
    }  # fmt: skip
    return {
        "noether.navigation_charge": Recipe(noether.navigation_charge, along),
        "noether.navigation_breaking": Recipe(noether.navigation_breaking, along),
        "noether.defects": Recipe(noether.defects, {
            "objective": thing(ln.Objective()), "loss": thing(HAT), "field": along["field"],
            "theta": array([[1.0, 2.0]], bad=[[[1.0]], [1.0]]),
        }),
    }  # fmt: skip


def _networks() -> dict[str, Recipe]:
    pair = items((X, Y), bad=[(X, Y[:4]), (X[:2], Y[:2]), (X,), X])
    tensors = Argument(TENSORS, ["x", 0, 1.5, None, [], {}, {"other": X}, NAN, len])
    return {
        "noether.find_symmetries": Recipe(noether.find_symmetries, {
            "model": thing(NETWORK, but=(type,)), "loss": function(cross_entropy), "batch": pair,
            "training": flag(True), "probes": whole(2, low=2),
            "rtol": number(1e-6, low=0.0, high=1.0, open_low=True, open_high=True),
            "seed": whole(0, low=-(2**63), high=2**64 - 1),
        }),
        "noether.Block.of": Recipe(BLOCK.of, {"tensors": tensors}),
        "noether.Block.overlaps": Recipe(BLOCK.overlaps, {"other": thing(BLOCK)}),
        "noether.Recorder": Recipe(noether.Recorder, {
            "model": Argument(NETWORK, [*thing(NETWORK, but=(type,)).bad, nn.Linear(1, 1)]), "family": thing(FAMILY),
            "together": flag(False),
        }),
    }  # fmt: skip


EXEMPT = {
    "noether.Block": "a result, which the library makes",
    "noether.Breaking": "a result, which the library makes",
    "noether.Family": "a result, which the library makes",
    "noether.Identity": "a result, which the library makes",
    **{f"noether.{name}.expression": "symbols of sympy" for name in ("Translation", "Scale", "Rescale", "Symmetry")},
}
