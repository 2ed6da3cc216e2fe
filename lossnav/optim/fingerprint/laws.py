"""Laws that an optimizer's steps may obey, and the search for the one that they do obey.

A law says s_t = α_t·d_t + γ_t·d′_t, where the directions follow from all gradients so far and from few numbers (β₁,
β₂, p), and the coefficients are free in each step. So bias corrections, warm-up, schedules, clipping and trust ratios
are no part of a law: they are read off the coefficients afterwards. Numbers are fitted on one play, and judged on
another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.signal import lfilter

Array = NDArray[np.float64]

_TINY = 1e-150
_ENDLESS = 1 - 2e-5
_BETAS = (0.3, 0.7, 0.9, 0.97, 0.995)
_SQUARES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Law:
    """A form: what is filtered, what it is divided by, and in which order.

    Attributes:
        name: in words.
        numbers: names of the numbers that are to be found.
        directions: from gradients and steps, (T, m, n) each, and the numbers to directions, (k, T, m, n).
    """

    name: str
    numbers: tuple[str, ...]
    directions: Callable[..., Array]


@dataclass(frozen=True)
class Fit:
    """A law with its numbers.

    Attributes:
        law: the form.
        numbers: by name.
        residual: |step − law| / |step|, the root mean square over the second half of a play that was not fitted.
        coefficients: α_t, and γ_t if the law has one, in the fitted play and in the other; (2, T, k).
    """

    law: Law
    numbers: dict[str, float]
    residual: float
    coefficients: Array


def average(values: Array, beta: float) -> Array:
    """Return the exponential average that begins at zero, along the first axis."""
    return np.asarray(lfilter([1 - beta], [1, -beta], values, axis=0))


def _decayed_maximum(values: Array, beta: float) -> Array:
    found = np.array(values)
    for t in range(1, len(found)):
        found[t] = np.maximum(beta * found[t - 1], found[t])
    return found


def _factored(squares: Array) -> Array:
    """Return rows ⊗ columns over the mean."""
    rows, columns = squares.mean(2, keepdims=True), squares.mean(1, keepdims=True)
    return np.asarray(rows * columns / np.maximum(rows.mean(1, keepdims=True), _TINY))


def _late_average(values: Array, kappa: float) -> Array:
    """Return the average whose weight of the past is 1 − t^−κ in step t."""
    found = np.array(values)
    for t in range(1, len(found)):
        weight = (t + 1.0) ** -kappa
        found[t] = (1 - weight) * found[t - 1] + weight * values[t]
    return found


def _signed(squares: Array, beta: float) -> Array:
    """Return Yogi's: it moves by a share of g², up or down."""
    found = (1 - beta) * squares
    for t in range(1, len(found)):
        found[t] = found[t - 1] - (1 - beta) * np.sign(found[t - 1] - squares[t]) * squares[t]
    return found


def _before(values: Array) -> Array:
    """Return the values of the step before; of the first step there are none."""
    return np.concatenate([np.zeros_like(values[:1]), values[:-1]])


SQUARES: dict[str, Callable[[Array, float, float], Array]] = {
    "an average of g²": lambda g, beta, _: average(g**2, beta),
    "the sum of g²": lambda g, *_: np.cumsum(g**2, axis=0),
    "a maximum of |g|": lambda g, beta, _: _decayed_maximum(np.abs(g), beta) ** 2,
    "the largest average of g²": lambda g, beta, _: np.maximum.accumulate(average(g**2, beta), axis=0),
    "an average of (g − m)²": lambda g, beta, first: average((g - average(g, first)) ** 2, beta),
    "an average of |g|": lambda g, beta, _: average(np.abs(g), beta) ** 2,
    "the variance of g": lambda g, beta, _: average(g**2, beta) - average(g, beta) ** 2,
    "an average of past g²": lambda g, beta, _: _before(average(g**2, beta)),
    "a signed average of g²": lambda g, beta, _: _signed(g**2, beta),
    "an average of |G|²": lambda g, beta, _: average((g**2).sum((1, 2), keepdims=True), beta),
    "rows ⊗ columns of an average of g²": lambda g, beta, _: _factored(average(g**2, beta)),
    "rows ⊗ columns of an ever longer average of g²": lambda g, beta, _: _factored(_late_average(g**2, beta)),
}
"""Second moments by name: from gradients, β₂ and β₁."""


def _linear(g: Array, s: Array) -> Array:
    return g[None]


def _filtered(g: Array, s: Array, beta1: float) -> Array:
    return average(g, beta1)[None]


def _shared(g: Array, s: Array, beta1: float) -> Array:
    return np.stack([average(g, beta1), g])


def _two(g: Array, s: Array, beta1: float, beta3: float) -> Array:
    return np.stack([average(g, beta1), average(g, beta3)])


def _two_shared(g: Array, s: Array, beta1: float, beta3: float) -> Array:
    return np.stack([average(g, beta1), average(g, beta3), g])


def _started(g: Array, s: Array, beta1: float) -> Array:
    first = np.broadcast_to(g[:1], g.shape)
    return np.stack([average(g, beta1), g, first])


def _root(square: str, before: Callable[..., Array], after: bool) -> Callable[..., Array]:
    """Return the directions of a filter and a root: filtered first, or, ``after``, divided first."""

    def directions(
        g: Array, s: Array, beta1: float = 0.0, beta2: float = 1.0, kappa: float = 1.0, power: float = 0.5
    ) -> Array:
        memory = kappa if "longer" in square else beta2
        squares = SQUARES[square](g, memory, beta1)
        inverse = np.where(squares > 0, np.maximum(squares, _TINY) ** -power, 0.0)
        if after:
            return average(g * inverse, beta1)[None]
        return before(g, s, **({"beta1": beta1} if before is not _linear else {})) * inverse

    return directions


def _mixed(g: Array, s: Array, beta1: float, beta3: float, beta2: float, power: float) -> Array:
    return _two(g, s, beta1, beta3) * np.maximum(average(g**2, beta2), _TINY) ** -power


def _own_steps(g: Array, s: Array, beta2: float, floor: float) -> Array:
    """Adadelta: the rate is a root of an average of past squared steps, over that of the gradient."""
    steps = average(_before(s**2), beta2)
    return np.asarray(g * np.sqrt((steps + 10.0**floor) / np.maximum(average(g**2, beta2), _TINY)))[None]


_ORDERS: tuple[tuple[str, Callable[..., Array], bool], ...] = (
    ("the gradient", _linear, False), ("a filter", _filtered, False), ("a filter and the gradient", _shared, False),
    ("a filter of quotients", _filtered, True),
)  # fmt: skip


def _every() -> list[Law]:
    """Return the laws, the simplest first."""
    found = [
        Law("the gradient", (), _linear),
        Law("a filter", ("beta1",), _filtered),
        Law("a filter and the gradient", ("beta1",), _shared),
        Law("a filter, the gradient and the first one", ("beta1",), _started),
        Law("two filters", ("beta1", "beta3"), _two),
        Law("two filters and the gradient", ("beta1", "beta3"), _two_shared),
        Law("two filters over a power of an average of g²", ("beta1", "beta3", "beta2", "power"), _mixed),
    ]
    for square, (kind, before, after) in itertools.product(SQUARES, _ORDERS):
        if square == "an average of |G|²" and not after:
            continue  # one number for all coordinates is no part of a direction
        if square == "an average of (g − m)²" and before is _linear:
            continue
        memory = () if "sum" in square else ("kappa",) if "longer" in square else ("beta2",)
        first = () if before is _linear else ("beta1",)
        found.append(Law(f"{kind} over a power of {square}", (*first, *memory, "power"), _root(square, before, after)))
    found.append(Law("the gradient times a root of its own squared steps over its own", ("beta2", "floor"), _own_steps))
    return sorted(found, key=lambda law: 2 * len(law.numbers) + law.name.count("and the"))


LAWS = _every()
_STARTS = {
    "beta1": _BETAS, "beta2": _SQUARES, "beta3": (0.99, 0.999, 0.9999), "kappa": (0.5, 0.8), "power": (0.5,),
    "floor": (-12.0, -9.0, -6.0),
}  # fmt: skip


def _inward(name: str, x: float) -> float:
    """Return a number from its place on the line where it is searched for, β = 1 − e^−|x|."""
    return -float(np.expm1(-abs(x))) if "beta" in name else float(x)


def _outward(name: str, number: float) -> float:
    return -float(np.log1p(-number)) if "beta" in name else number


def _misfit(directions: Array, steps: Array) -> Array:
    """Return (step − law)/|step| of the best coefficients for each step, (T, N)."""
    columns = np.moveaxis(directions.reshape(*directions.shape[:2], -1), 0, -1)  # (T, N, k)
    columns = columns / np.maximum(np.abs(columns).max(axis=1, keepdims=True), _TINY)
    if not np.isfinite(columns).all():  # numbers with which there is no such rule
        return np.ones((len(steps), steps[0].size))
    target = steps.reshape(len(steps), -1)
    basis, _ = np.linalg.qr(columns)
    along = np.einsum("tnk,tn->tk", basis, target)
    rest = target - np.einsum("tnk,tk->tn", basis, along)
    return np.asarray(rest / np.maximum(np.linalg.norm(target, axis=1, keepdims=True), _TINY))


def _coefficients(directions: Array, steps: Array) -> Array:
    columns = np.moveaxis(directions.reshape(*directions.shape[:2], -1), 0, -1)
    return np.asarray(np.einsum("tkn,tn->tk", np.linalg.pinv(columns), steps.reshape(len(steps), -1)))


def _late(misfit: Array) -> Array:
    """Leave out the first third, in which some rules are others."""
    return misfit[len(misfit) // 3 :]


def fitted(law: Law, plays: tuple[tuple[Array, Array], tuple[Array, Array]]) -> Fit:
    """Fit a law's numbers to the first play, and judge them on the second; each is (gradients, steps)."""
    (g, s), (g2, s2) = plays

    def named(x: Any) -> dict[str, float]:
        return {n: _inward(n, value) for n, value in zip(law.numbers, x, strict=True)}

    def misfit(x: Any) -> Array:
        return _late(_misfit(law.directions(g, s, **named(x)), s)).ravel()

    numbers: dict[str, float] = {}
    if law.numbers:
        grid = [
            [_outward(n, start) for n, start in zip(law.numbers, starts, strict=True)]
            for starts in itertools.product(*(_STARTS[n] for n in law.numbers))
        ]
        best = min(grid, key=lambda x: float(np.sum(misfit(x) ** 2)))
        numbers = named(least_squares(misfit, best, x_scale=np.maximum(np.abs(best), 0.1), max_nfev=60).x)
    coefficients = np.stack([
        _coefficients(law.directions(*play, **numbers), play[1]) for play in ((g, s), (g2, s2))
    ])  # fmt: skip
    endless = any("beta" in name and number > _ENDLESS for name, number in numbers.items())  # another law's sum
    return Fit(law, numbers, np.inf if endless else residual(law, numbers, g2, s2), coefficients)


def residual(law: Law, numbers: dict[str, float], gradients: Array, steps: Array) -> float:
    """Return the root mean square of |step − law|/|step| over the late steps of a play."""
    missed = _late(_misfit(law.directions(gradients, steps, **numbers), steps))
    return float(np.sqrt(np.mean(np.sum(missed**2, axis=1))))


def search(plays: tuple[tuple[Array, Array], tuple[Array, Array]], exact: float) -> Fit:
    """Return the simplest law whose residual is below ``exact``, or, if there is none, the law with the least."""
    best: Fit | None = None
    for law in LAWS:
        fit = fitted(law, plays)
        if fit.residual < exact:
            return fit
        if best is None or fit.residual < best.residual:
            best = fit
    assert best is not None
    return best
