"""What can be recorded of a learner: weights over time, rates of its modes, a loss curve, or an optimizer's steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array

FEWEST = 5  # times of a record
_LEFT = 1e-3  # of a loss curve's height: how less than that ends is not known


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates at which modes decay.

    Args:
        h: curvatures > 0, eigenvalues of the Hessian, shape (M,), unit ℓ/u². Where one mode is seen at several stakes
            and its curvature is not known, any number will do: only γ is then read.
        r: rates > 0, shape (M,), unit 1/T.
        error: standard deviation of each rate, shape (M,) or a number, unit 1/T; 0 says that they are exact.

    Raises:
        ValueError: naming the argument.
    """

    h: ArrayLike
    r: ArrayLike
    error: ArrayLike = 0.0

    def __post_init__(self) -> None:
        r = _checks.positives("r", self.r, shape=("M",))
        if not r.size:
            raise ValueError("r is empty, but it must have at least one rate")
        h = _checks.positives("h", self.h, shape=r.shape)
        error = _checks.nonnegatives("error", self.error)
        if error.ndim and error.shape != r.shape:
            raise ValueError(f"error has shape {error.shape}, but it must be a number or have shape {r.shape}")
        for name, value in (("h", h), ("r", r), ("error", np.broadcast_to(error, r.shape))):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Curve:
    """A loss curve; alone it says rates only: for every γ there is a spectrum with exactly this curve.

    Args:
        t: times, rising, shape (N,), unit T.
        L: the loss then, shape (N,), unit ℓ.
        speed: |θ̇| under the metric, shape (N,), unit u/T: with it neither weights nor gradients are needed.

    Raises:
        ValueError: naming the argument.
    """

    t: ArrayLike
    L: ArrayLike
    speed: ArrayLike | None = None

    def __post_init__(self) -> None:
        times = rising("t", self.t)
        object.__setattr__(self, "t", times)
        object.__setattr__(self, "L", _checks.array("L", self.L, shape=times.shape))
        if self.speed is not None:
            object.__setattr__(self, "speed", _checks.nonnegatives("speed", self.speed, shape=times.shape))

    def rates(self, count: int) -> Array:
        """Return the rates r of the modes: L − L∞ = Σwᵢexp(−2rᵢt), shape (``count``,), rising.

        Rates closer than a factor of two are told apart only by a curve of great precision: the problem is ill-posed.

        Args:
            count: how many, at least 1.

        Raises:
            ValueError: ``count`` is out of range, or asks for more than the curve has points for.
        """
        t, loss = np.asarray(self.t), np.asarray(self.L)
        loss = (loss - loss[-1]) / (float(np.ptp(loss)) or 1.0)  # rates have no unit of it
        number = _checks.whole("count", count, low=1, high=(len(t) - 2) // 2)  # two numbers each, and L∞
        span = t[-1] - t[0]

        def left(logarithms: Array) -> Array:
            columns = np.append(np.exp(-2 * np.outer(t - t[0], np.exp(logarithms))), np.ones((len(t), 1)), axis=1)
            return np.asarray(columns @ np.linalg.lstsq(columns, loss, rcond=None)[0] - loss)

        starts = [np.log(np.geomspace(s / span, 30 * s / span, number)) for s in (0.3, 1.0, 3.0)]
        best = min((scipy.optimize.least_squares(left, s, xtol=1e-15, ftol=1e-15, gtol=1e-15) for s in starts),
                   key=lambda fit: fit.cost)  # fmt: skip
        return np.sort(np.exp(best.x))

    def discount_bound(self) -> float:
        r"""Return what a learner's discount lies below, whatever metric it has and however that depends on the place.

        Without drift :math:`kL>\gamma V` along every optimal path, and there
        :math:`V=2k\int_0^\infty e^{-2\gamma t}L\,dt`: the loss exceeds its own future average. One curve gives an upper
        bound, other starts may give lower ones. The loss is taken to be straight between the times and to stay at its
        last value, and is judged until a thousandth of what it falls is left. Noise of batches is no plan's.

        Returns:
            The bound, unit 1/T: inf for a loss that never rises, 0 where it falls below its last value.

        References:
            book: N20.
        """
        return discount_bound(np.asarray(self.t), np.asarray(self.L)[None])


def discount_bound(t: Array, losses: Array) -> float:
    """Return the least bound of several curves, shape (M, N), at common times."""
    above = losses - losses[:, -1:]
    tops = above.max(axis=1, keepdims=True)
    if np.any(tops <= 0) or np.any(above < -_LEFT * tops):
        return 0.0
    judged = np.maximum.accumulate((above > _LEFT * tops)[:, ::-1], axis=1)[:, ::-1]
    steps, derivatives = np.diff(t), np.diff(losses, axis=1) / np.diff(t)

    def least(gamma: Array) -> Array:
        """Return the least excess, −∫e^{−2γ(s−t)}L′ds over the loss, of each discount."""
        lowest, integral = np.full(len(gamma), np.inf), np.zeros((len(losses), len(gamma)))
        for i in range(len(steps) - 1, -1, -1):
            fade = np.expm1(-2 * gamma * steps[i])
            integral = (1 + fade) * integral + derivatives[:, i, None] * fade / (2 * gamma)
            if np.any(judged[:, i]):
                lowest = np.minimum(lowest, (integral / above[:, i, None])[judged[:, i]].min(axis=0))
        return lowest

    low, high = 1e-6 / (t[-1] - t[0]), 1e3 / steps.min()
    if least(np.array([high]))[0] > 0:
        return math.inf
    for _ in range(5):  # the discounts that will do are an interval from 0 on
        tried = np.geomspace(low, high, 64)
        first = int(np.argmax(least(tried) <= 0))
        if not first:
            return 0.0
        low, high = tried[first - 1], tried[first]
    return float(low)


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of an optimizer, with the gradients that it was given, or with others.

    Args:
        weights: θ_0 … θ_N, shape (N + 1, D).
        gradients: g_0 … g_{N−1}, shape (N, D): what the rule got, penalties and clipping before it included.
        shapes: those of the tensors that a row is, in their order, with which singular values are looked at; None if
            that is not known.
        own: False if the rule did not get these gradients, but those of batches that it drew by themselves at each
            step: then ``gradients`` are those of all examples, and there are intervals (book: I24).
        instruments: where not even those are known, ``gradients`` are those of another batch at each place, and these,
            shape (N, D), of a third.

    Raises:
        ValueError: naming the argument.
    """

    weights: ArrayLike
    gradients: ArrayLike
    shapes: Sequence[tuple[int, ...]] | None = None
    own: bool = True
    instruments: ArrayLike | None = None
    single: bool = field(init=False)  # whether the numbers are of single precision

    def __post_init__(self) -> None:
        gradients = _checks.array("gradients", self.gradients, shape=(None, None))
        weights = _checks.array("weights", self.weights, shape=(len(gradients) + 1, gradients.shape[1]))
        if len(gradients) < FEWEST:
            raise ValueError(f"gradients has {len(gradients)} steps, but it must have at least {FEWEST}")
        if np.all(weights == weights[0]):
            raise ValueError("weights do not move, so that there is nothing to read")
        if self.shapes is not None:
            shapes = [_checks.sequence("shapes", shape, "sizes") for shape in
                      _checks.sequence("shapes", self.shapes, "shapes")]  # fmt: skip
            sizes = [math.prod(_checks.whole("shapes", n, low=1) for n in shape) for shape in shapes]
            if sum(sizes) != gradients.shape[1]:
                raise ValueError(f"shapes have {sum(sizes)} entries, but gradients has {gradients.shape[1]} columns")
        _checks.flag("own", self.own)
        if self.instruments is not None:
            if self.own:
                raise ValueError("instruments are given, but the rule's own gradients need none: own must be False")
            third = _checks.array("instruments", self.instruments, shape=gradients.shape)
            object.__setattr__(self, "instruments", third)
        rounded = np.array_equal(weights, weights.astype(np.float32).astype(np.float64))
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "gradients", gradients)
        object.__setattr__(self, "single", bool(rounded))


@dataclass(frozen=True, eq=False)
class Gram:
    """Inner products of steps: what ``ln.watch`` keeps of an optimizer without entries.

    Args:
        steps: |Δ_t|², shape (N,).
        gradients: |g_t|², shape (N,).
        with_step: ⟨g_t, Δ_t⟩, shape (N,).
        with_last: ⟨g_t, Δ_{t−1}⟩, shape (N,), the first NaN.
        step_last: ⟨Δ_t, Δ_{t−1}⟩, shape (N,), the first NaN.
        single: whether they were summed in single precision.
    """

    steps: Array
    gradients: Array
    with_step: Array
    with_last: Array
    step_last: Array
    single: bool = False


def rising(name: str, value: ArrayLike) -> Array:
    """Return times of shape (N,) that rise, at least five of them."""
    times = _checks.array(name, value, shape=("N",))
    if len(times) < FEWEST:
        raise ValueError(f"{name} has {len(times)} times, but it must have at least {FEWEST}")
    if np.any(np.diff(times) <= 0):
        at = int(np.argmax(np.diff(times) <= 0)) + 1
        raise ValueError(
            f"{name}[{at}] = {times[at]:.12g} comes after {name}[{at - 1}] = {times[at - 1]:.12g}, but times must rise"
        )
    return times


def positions(path: ArrayLike, times: ArrayLike | None) -> tuple[Array, Array]:
    """Return times, shape (N + 1,), and places, shape (N + 1, D), of a record of weights."""
    places = _checks.array("path", path, shape=("N + 1", "D"))
    if times is None:
        raise ValueError("times is None, but a path needs the times at which it was recorded")
    at = rising("times", times)
    if len(at) != len(places):
        raise ValueError(f"times has {len(at)} entries, but path has {len(places)} places")
    if np.all(places == places[0]):
        raise ValueError("path does not move, so that there is nothing to infer")
    return at, places
