"""What a recipe remembers between two steps, and the random numbers that it is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lossnav import _checks
from lossnav._checks import Array


class State(NamedTuple):
    """The memory of a recipe, never changed in place; also its derivative in time, entry by entry.

    Attributes:
        mean: m, running average of the gradient, shaped like θ; without memory (τ = 0) the last gradient.
        time: how long m has averaged, in units of ``dt``'s.
        curvature: V, running average of the curvature's datum, shaped like θ.
        observed: how long V has averaged; less than ``time`` where a datum was not given in each step.
        drift: u, running average of the velocity, shaped like θ; moved by ``Blur`` alone.
        age: time since a weight was last renewed, shaped like θ.
    """

    mean: Array
    time: float
    curvature: Array
    observed: float
    drift: Array
    age: Array


class Draws(NamedTuple):
    """Random numbers that a step may need, each an array shaped like θ.

    Attributes:
        sample: z, independent N(0, 1): the gradient was taken at θ + z/√p. For ``Sampled``.
        uniform: independent numbers from [0, 1): who is renewed. For ``Renewal``.
        normal: independent N(0, 1): what a renewed weight starts from. For ``Renewal``.
    """

    sample: Any = None
    uniform: Any = None
    normal: Any = None


def blank(shape: tuple[int, ...]) -> State:
    """Return the state of a learner who has seen nothing."""
    zero = np.zeros(shape)
    zero.setflags(write=False)  # one array serves four entries
    return State(zero, 0.0, zero, 0.0, zero, zero)


def checked(state: Any, shape: tuple[int, ...]) -> State:
    """Return a state whose arrays have this shape, or raise ``ValueError``."""
    given = _checks.instance("state", state, State, "a State, as init and update return it")
    for name in ("mean", "curvature", "drift", "age"):
        if np.shape(getattr(given, name)) != shape:
            raise ValueError(
                f"state.{name} has shape {np.shape(getattr(given, name))}, but theta has shape {shape}: "
                "they must be the same"
            )
    return given


def drawn(name: str, value: Any, shape: tuple[int, ...], user: str) -> Array:
    """Return the draws of that name, or raise ``ValueError`` that says who needs them."""
    if value is None:
        raise ValueError(f"draws.{name} = None, but it must be an array of shape {shape}: {user} needs it")
    return _checks.array(f"draws.{name}", value, shape=shape)
