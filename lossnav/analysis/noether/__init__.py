r"""Symmetry and what it leaves of a motion: of gradient descent (T19–T33), and of optimal navigation.

A loss that some maps of its parameters do not change gives each rule a quantity whose motion it cannot steer.
``Translation``, ``Scale`` and ``Rescale`` are the symmetries of networks; ``identity`` checks their balance along a
recorded path, ``discrete_…`` is what it makes of gradient descent, step by step, and ``radius_squared``,
``limiting_radius``, ``limiting_angular_speed`` what becomes of a scale-invariant block. ``find_symmetries`` finds such
blocks in a torch model, and a ``Recorder`` follows them. ``navigation_charge`` is Noether's charge of an optimal path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lossnav import _lazy
from lossnav.analysis.noether.laws import friction, limiting_angular_speed, limiting_radius, mass, radius_squared
from lossnav.analysis.noether.navigation import Breaking, defects, navigation_breaking, navigation_charge
from lossnav.analysis.noether.recursions import (
    Identity,
    continuous_radius,
    discrete_radius,
    discrete_rescale,
    discrete_translation,
    identity,
)
from lossnav.analysis.noether.symmetries import Rescale, Scale, Symmetry, Translation

if TYPE_CHECKING:  # loaded on first use: they compute with torch
    from lossnav.analysis.noether.networks import Block, Family, Recorder, find_symmetries

__all__ = [
    "Block",
    "Breaking",
    "Family",
    "Identity",
    "Recorder",
    "Rescale",
    "Scale",
    "Symmetry",
    "Translation",
    "continuous_radius",
    "defects",
    "discrete_radius",
    "discrete_rescale",
    "discrete_translation",
    "find_symmetries",
    "friction",
    "identity",
    "limiting_angular_speed",
    "limiting_radius",
    "mass",
    "navigation_breaking",
    "navigation_charge",
    "radius_squared",
]


if not TYPE_CHECKING:  # to a type checker it would offer any name
    _NETWORKS = ("Block", "Family", "Recorder", "find_symmetries")
    __getattr__, _, _ = _lazy.attach(__name__, {name: (f"{__name__}.networks", name) for name in _NETWORKS})


def __dir__() -> list[str]:
    return __all__
