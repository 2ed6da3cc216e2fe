"""Laws that an optimizer's steps may obey, and the search for the one that they do obey.

A law says s_t = Σα_t·d_t, where the directions d follow from all gradients so far and from few numbers (β₁, β₂, p), and
the coefficients α are free in each step. So bias corrections, warm-up, schedules, clipping and trust ratios are no part
of a law: they are read off the coefficients afterwards. Numbers are fitted on one play, and judged on another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.signal import lfilter

Array = NDArray[np.float64]
Play = tuple[Array, Array]  # gradients and steps, (T, m, n) each

_TINY = 1e-150
_ENDLESS = 1 - 2e-5


def average(values: Array, beta: float) -> Array:
    """Return the exponential average that begins at zero, along the first axis."""
    return np.asarray(lfilter([1 - beta], [1, -beta], values, axis=0))


def _following(values: Array, first: Array, after: Callable[[Array, Array, int], Array]) -> Array:
    """Return what begins with ``first`` and makes each entry of the one before, of this value, and of the step t."""
    sequence = np.array(first)
    for t in range(1, len(sequence)):
        sequence[t] = after(sequence[t - 1], values[t], t)
    return sequence


def _decayed_maximum(values: Array, beta: float) -> Array:
    return _following(values, values, lambda old, new, t: np.maximum(beta * old, new))


def _late_average(values: Array, kappa: float) -> Array:
    """Return the average whose weight of the past is 1 − t^−κ in step t."""

    def after(old: Array, new: Array, t: int) -> Array:
        share = (t + 1.0) ** -kappa
        return (1 - share) * old + share * new

    return _following(values, values, after)


def _signed(squares: Array, beta: float) -> Array:
    """Return Yogi's: it moves by a share of g², up or down."""
    share = 1 - beta
    return _following(squares, share * squares, lambda old, new, t: old - share * np.sign(old - new) * new)


def _factored(squares: Array) -> Array:
    """Return rows ⊗ columns over the mean."""
    rows, columns = squares.mean(2, keepdims=True), squares.mean(1, keepdims=True)
    return np.asarray(rows * columns / np.maximum(rows.mean(1, keepdims=True), _TINY))


def _before(values: Array) -> Array:
    """Return the values of the step before; of the first step there are none."""
    return np.concatenate([np.zeros_like(values[:1]), values[:-1]])


_OWN = "its own squared steps"
SQUARES: dict[str, Callable[..., Array]] = {
    "an average of g²": lambda g, s, beta2, **_: average(g**2, beta2),
    "the sum of g²": lambda g, s, **_: np.cumsum(g**2, axis=0),
    "a maximum of |g|": lambda g, s, beta2, **_: _decayed_maximum(np.abs(g), beta2) ** 2,
    "the largest average of g²": lambda g, s, beta2, **_: np.maximum.accumulate(average(g**2, beta2), axis=0),
    "an average of (g − m)²": lambda g, s, beta2, beta1, **_: average((g - average(g, beta1)) ** 2, beta2),
    "an average of |g|": lambda g, s, beta2, **_: average(np.abs(g), beta2) ** 2,
    "the variance of g": lambda g, s, beta2, **_: average(g**2, beta2) - average(g, beta2) ** 2,
    "an average of past g²": lambda g, s, beta2, **_: _before(average(g**2, beta2)),
    "a signed average of g²": lambda g, s, beta2, **_: _signed(g**2, beta2),
    "an average of |G|²": lambda g, s, beta2, **_: average((g**2).sum((1, 2), keepdims=True), beta2),
    "rows ⊗ columns of an average of g²": lambda g, s, beta2, **_: _factored(average(g**2, beta2)),
    "rows ⊗ columns of an ever longer average of g²": lambda g, s, kappa, **_: _factored(_late_average(g**2, kappa)),
    _OWN: lambda g, s, beta2, floor, **_: average(g**2, beta2) / (average(_before(s**2), beta2) + 10.0**floor),
}
"""What a direction is divided by a power of: from gradients, steps and numbers, by name."""

_MEMORY = {"the sum of g²": (), "rows ⊗ columns of an ever longer average of g²": ("kappa",), _OWN: ("beta2", "floor")}
_WORDS = {
    ("g",): "the gradient", ("beta1",): "a filter", ("beta1", "g"): "a filter and the gradient",
    ("beta1", "g", "first"): "a filter, the gradient and the first one", ("beta1", "beta3"): "two filters",
    ("beta1", "beta3", "g"): "two filters and the gradient",
}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """A form: along what steps are made, what that is divided by, and in which order.

    Attributes:
        terms: of each direction the number that filters the gradient; or "g" itself, or the "first" one.
        square: a name of ``SQUARES``, or "" where nothing is divided.
        after: whether the quotients are filtered, and not the gradients.
    """

    terms: tuple[str, ...]
    square: str = ""
    after: bool = False

    @property
    def name(self) -> str:
        """The form in words."""
        if self.square == _OWN:
            return f"the gradient times a root of {_OWN} over its own"
        words = "a filter of quotients" if self.after else _WORDS[self.terms]
        return f"{words} over a power of {self.square}" if self.square else words

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers that are to be found."""
        own = tuple(term for term in self.terms if "beta" in term)
        power = ("power",) if self.square not in ("", _OWN) else ()
        return own + (_MEMORY.get(self.square, ("beta2",)) if self.square else ()) + power

    def directions(self, play: Play, numbers: Mapping[str, float]) -> Array:
        """Return the directions, (k, T, m, n)."""
        g, inverse = play[0], np.ones(())
        if self.square:
            squares = SQUARES[self.square](*play, **numbers)
            inverse = np.where(squares > 0, np.maximum(squares, _TINY) ** -numbers.get("power", 0.5), 0.0)
        inputs = g * inverse if self.after else g
        unfiltered = {"g": inputs, "first": np.broadcast_to(inputs[:1], inputs.shape)}
        directions = [unfiltered[term] if term in unfiltered else average(inputs, numbers[term]) for term in self.terms]
        return np.stack(directions) * (1.0 if self.after else inverse)


@dataclass(frozen=True, eq=False)
class Fit:
    """A law with its numbers.

    Attributes:
        law: the form.
        numbers: by name.
        residual: |step − law| / |step|, the root mean square over the last two thirds of a play that was not fitted.
        coefficients: α_t in the fitted play and in the other; (2, T, k).
    """

    law: Law
    numbers: dict[str, float]
    residual: float
    coefficients: Array


def _every() -> list[Law]:
    """Return the laws, the simplest first."""
    laws = [*map(Law, _WORDS), Law(("beta1", "beta3"), "an average of g²")]
    forms = ((("g",), False), (("beta1",), False), (("beta1", "g"), False), (("beta1",), True))
    for square, (terms, after) in itertools.product(SQUARES, forms):
        if square == "an average of |G|²" and not after:
            continue  # one number for all coordinates is no part of a direction
        if (square == "an average of (g − m)²" and terms == ("g",)) or (square == _OWN and terms != ("g",)):
            continue
        laws.append(Law(terms, square, after))
    return sorted(laws, key=lambda law: 2 * len(law.numbers) + law.name.count("and the"))


LAWS = _every()
_STARTS = {
    "beta1": (0.3, 0.7, 0.9, 0.97, 0.995), "beta2": (0.5, 0.9, 0.99, 0.999), "beta3": (0.99, 0.999, 0.9999),
    "kappa": (0.5, 0.8), "power": (0.5,), "floor": (-12.0, -9.0, -6.0),
}  # fmt: skip


def _inward(name: str, x: float) -> float:
    """Return a number from its place on the line where it is searched for, β = 1 − e^−|x|."""
    return -float(np.expm1(-abs(x))) if "beta" in name else float(x)


def _outward(name: str, number: float) -> float:
    return -float(np.log1p(-number)) if "beta" in name else number


def _columns(law: Law, play: Play, numbers: Mapping[str, float]) -> Any:
    """Return directions as columns for each step, (T, N, k)."""
    directions = law.directions(play, numbers)
    return np.moveaxis(directions.reshape(*directions.shape[:2], -1), 0, -1)


def _misfit(law: Law, play: Play, numbers: dict[str, float]) -> Array:
    """Return (step − law)/|step| of the best coefficients, without the first third, in which some rules are others."""
    late = len(play[1]) // 3
    target = play[1].reshape(len(play[1]), -1)[late:]
    columns = _columns(law, play, numbers)[late:]
    columns = columns / np.maximum(np.abs(columns).max(axis=1, keepdims=True), _TINY)
    if not np.isfinite(columns).all():  # numbers with which there is no such rule
        return np.ones(target.shape)
    basis, _ = np.linalg.qr(columns)
    along = np.einsum("tnk,tn->tk", basis, target)
    rest = target - np.einsum("tnk,tk->tn", basis, along)
    return np.asarray(rest / np.maximum(np.linalg.norm(target, axis=1, keepdims=True), _TINY))


def _coefficients(law: Law, play: Play, numbers: dict[str, float]) -> Array:
    inverse = np.linalg.pinv(_columns(law, play, numbers))
    return np.asarray(np.einsum("tkn,tn->tk", inverse, play[1].reshape(len(play[1]), -1)))


def fitted(law: Law, plays: tuple[Play, Play]) -> Fit:
    """Fit a law's numbers to the first play, and judge them on the second."""

    def named(x: Any) -> dict[str, float]:
        return {name: _inward(name, value) for name, value in zip(law.numbers, x, strict=True)}

    def misfit(x: Any) -> Array:
        return _misfit(law, plays[0], named(x)).ravel()

    numbers: dict[str, float] = {}
    if law.numbers:
        grid = itertools.product(*([_outward(name, start) for start in _STARTS[name]] for name in law.numbers))
        best = np.array(min(grid, key=lambda x: float(np.sum(misfit(x) ** 2))))
        numbers = named(least_squares(misfit, best, x_scale=np.maximum(np.abs(best), 0.1), max_nfev=60).x)
    coefficients = np.stack([_coefficients(law, play, numbers) for play in plays])
    off = residual(law, numbers, *plays[1])
    endless = any("beta" in name and number > _ENDLESS for name, number in numbers.items())  # another law's sum
    late = np.abs(coefficients[0, len(coefficients[0]) // 3 :])
    shares = np.median(late / np.maximum(late.sum(1, keepdims=True), _TINY), axis=0)
    absent = shares.min() < off  # what remains is more than a term gives to most steps: a law of fewer terms
    return Fit(law, numbers, np.inf if endless or absent else off, coefficients)


def residual(law: Law, numbers: dict[str, float], gradients: Array, steps: Array) -> float:
    """Return the root mean square of |step − law|/|step| over the late steps of a play."""
    missed = _misfit(law, (gradients, steps), numbers)
    return float(np.sqrt(np.mean(np.sum(missed**2, axis=1))))


def search(plays: tuple[Play, Play], exact: float, close: float) -> Fit:
    """Return the simplest law whose residual is below ``exact``; if there is none, the one nearest to the steps.

    Where the least residual is below ``close``, what remains is no law, as an ε or noise, and a number more follows it
    a little: then the simplest is taken that is at most twice as far off, and elsewhere the simplest that is no tenth
    worse.
    """
    fits: list[Fit] = []
    for law in LAWS:
        fits.append(fitted(law, plays))
        if fits[-1].residual < exact:
            return fits[-1]
    least = min(fit.residual for fit in fits)
    enough = min(2 * least, close) if least < close < np.inf else 1.1 * least
    return next(fit for fit in fits if fit.residual <= enough)
