"""The stream of noisy gradients that ``BeliefFilter`` watches, number for number as its script draws it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lossnav import explore
from lossnav._checks import Array

Steps = NDArray[np.int64]

_MADE: dict[str, float] = explore.BeliefFilter._shared["stream"]


def uniform(step: Steps, salt: int) -> Array:
    """Return numbers in (0, 1) that belong to steps and a salt, whatever has been drawn before: a hash of 32 bits."""
    with np.errstate(over="ignore"):  # products modulo 2³²
        x = (np.asarray(step, dtype=np.uint32) + np.uint32(1)) * np.uint32(0x9E3779B1)
        x ^= np.uint32((salt + 1) * 0x85EBCA77 & 0xFFFFFFFF)
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
        x ^= x >> np.uint32(16)
    return (x + 0.5) / 2**32


def normal(step: Steps, salt: int) -> Array:
    """Return standard normal numbers that belong to steps and a salt."""
    return np.asarray(np.sqrt(-2 * np.log(uniform(step, salt))) * np.cos(2 * np.pi * uniform(step, salt + 1)))


def gradient_stream(seed: int, jumps: Iterable[tuple[int, float]], count: int) -> tuple[Array, Array]:
    """Return the hidden mean gradients and the noisy ones after steps 1 … count, each of shape (count,).

    The mean decays, wanders and now and then leaps by 1 to 2; ``jumps`` (step, size) come on top.
    """
    step = np.arange(1, count + 1)
    chance = uniform(step, 8 * seed + 4)
    leap = np.where(chance < _MADE["often"] / 2, 1.0, -1.0) * (1 + uniform(step, 8 * seed + 5))
    increments = _MADE["diffusion"] * normal(step, 8 * seed) + np.where(chance < _MADE["often"], leap, 0.0)
    for when, size in jumps:
        if when <= count:
            increments[when - 1] += size
    means = np.empty(count)
    held = 0.0
    for i, increment in enumerate(increments):
        held = (1 - _MADE["decay"]) * held + increment
        means[i] = held
    return means, means + _MADE["noise"] * normal(step, 8 * seed + 2)
