r"""The families of assumptions: what a learner of each does on a mode of curvature h.

Rates are roots of one equation, :math:`Ar^2+Br=h+C`, that stays regular at both edges of planning: A = 1/a, B = γ/a and
C = j(j + γ)/a with a = ηk. A = 0 is gradient descent, B = 0 the learner without a discount; A < 0 is memory, the heavy
ball :math:`r^2-\Gamma r+bh=0` (book: I12, I20). Coordinates of a family are a share in [0, 1] that stands for γ, the
logarithm of the rate v at a curvature h₀ about the middle of those seen, and what else it has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem import drifts
from lossnav.problem.objective import Objective

Values = Mapping[str, float]
_FAR = 12.0  # e-folds from the data's scale at which a logarithmic coordinate ends


@dataclass(frozen=True)
class Scale:
    """What coordinates are counted in: a curvature h₀, a rate v₀, and the time T that the record ends at."""

    curvature: float
    rate: float
    end: float = 1.0


class Planner:
    """γ and a = ηk: :math:`r(r+γ)=ah`."""

    name = "planner"
    names: Mapping[str, str] = {"gamma": "1/T", "a": "u²/ℓT²"}
    moves = True  # whether other losses than quadratic ones can be asked: it is an extremal of J
    objective_of = True
    swings = False
    extra: Sequence[tuple[float, float, Sequence[float]]] = ()  # ends of further coordinates, and where to begin

    def box(self, scale: Scale) -> tuple[Array, Array]:
        """Return the ends of the coordinates, each of shape (P,)."""
        v = math.log(scale.rate)
        low, high = zip((0.0, 1.0), (v - _FAR, v + _FAR), *((low, high) for low, high, _ in self.extra), strict=True)
        return np.array(low), np.array(high)

    def starts(self, scale: Scale) -> list[Array]:
        """Return coordinates to begin from."""
        pace = math.log(scale.rate) + np.linspace(-3.0, 3.0, 13)
        more = (begin for _, _, begin in self.extra)
        return [np.array(x) for x in itertools.product((0.1, 0.5, 0.9), pace, *more)]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        """Return the assumptions by name, and A, B, C."""
        u, v, h = float(x[0]), math.exp(x[1]), scale.curvature
        below = v * ((1 - u) * v + u * scale.rate)  # (1 − u)·v(v + γ)
        a, b = h * (1 - u) / below, h * u * scale.rate / below
        return {"gamma": _over(b, a), "a": _over(1.0, a), "A": a, "B": b, "C": 0.0}

    def rates(self, h: Array, values: Values) -> Array:
        """Return r for each curvature, shape of h; NaN where there is none."""
        pull = h + values["C"]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 2 * pull / (values["B"] + np.sqrt(values["B"] ** 2 + 4 * values["A"] * pull))
        return np.where(pull == 0, 0.0, found)

    def columns(self, h: float, t: Array, values: Values) -> Array:
        """Return what a mode's path is a sum of, beside where it ends: shape (N, m)."""
        return np.asarray(np.exp(-self.rates(np.array([h]), values)[0] * t)[:, None])

    def share(self, h: float, values: Values) -> complex:
        """Return where a mode ends, over where its loss is least."""
        return 1.0

    def objective(self, values: Values) -> Objective:
        """Return the problem for which this is optimal, with k = 1."""
        return Objective(eta=values["a"], gamma=values["gamma"])


class Decay(Planner):
    """And a drift f = −jθ: :math:`r(r+γ)=ah+j(j+γ)`, and a path ends at the share ah/(ah + j(j + γ)) (book: I7)."""

    name = "+decay"
    names: Mapping[str, str] = {**Planner.names, "j": "1/T"}
    extra = ((0.0, 1 - 1e-9, (0.02, 0.3, 0.8)),)  # which part of r(r + γ) at h₀ is decay

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        own, left = super().values(x[:2], scale), 1 - float(x[2])
        a, b = own["A"] / left, own["B"] / left  # what C leaves of r(r + γ) for the loss
        c = scale.curvature * float(x[2]) / left
        j = 2 * c / (b + math.sqrt(b * b + 4 * a * c)) if c else 0.0
        return {"gamma": own["gamma"], "a": _over(1.0, a), "j": j, "A": a, "B": b, "C": c}

    def share(self, h: float, values: Values) -> complex:
        return h / (h + values["C"]) if h + values["C"] else 1.0

    def objective(self, values: Values) -> Objective:
        drift = drifts.weight_decay(values["j"]) if values["j"] > 0 else None
        return Objective(eta=values["a"], gamma=values["gamma"], drift=drift)


class Rotation(Planner):
    """And a drift f = Qθ in a plane of one curvature, of angular speed q: the end point tells all (book: I8)."""

    name = "+rotation"
    names: Mapping[str, str] = {**Planner.names, "q": "1/T"}
    moves = False
    extra = ((-1e3, 1e3, (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0)),)  # q in units of the data's rate

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        own = super().values(x[:2], scale)
        return {
            "gamma": own["gamma"],
            "a": own["a"],
            "q": float(x[2]) * scale.rate,
            **{name: own[name] for name in "ABC"},
        }

    def columns(self, h: float, t: Array, values: Values) -> Array:
        rate = self.rates(np.array([h]), values)[0] - 1j * values["q"]
        return np.asarray(np.exp(-rate * t)[:, None])

    def share(self, h: float, values: Values) -> complex:
        q = values["q"]
        return 1 / (1 + q * (q * values["A"] - 1j * values["B"]) / h)

    def objective(self, values: Values) -> Objective:
        return Objective(eta=values["a"], gamma=values["gamma"], drift=drifts.rotation(values["q"]))


class Deadline(Planner):
    """And a deadline T with the charge c: the gain obeys :math:`\\dot K=K^2+γK−ah`, K(T) = ac·h (book: I13)."""

    name = "deadline"
    names: Mapping[str, str] = {**Planner.names, "T": "T", "c": "1"}
    moves = False
    extra = ((0.0, 0.99, (0.01, 0.2, 0.6)), (0.0, 1.0, (0.0, 0.5)))  # 1 − end/T, and K(T) over v + K(T)

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        own = super().values(x[:2], scale)
        paid = float(x[3]) / max(1 - float(x[3]), 1e-9) * math.exp(x[1]) / scale.curvature  # K(T)/h
        c = paid * own["A"]
        ends = {"T": scale.end / (1 - float(x[2])), "c": c, "Q": paid}
        return {"gamma": own["gamma"], "a": own["a"], **ends, **{name: own[name] for name in "ABC"}}

    def columns(self, h: float, t: Array, values: Values) -> Array:
        a = max(values["A"], 1e-12)
        gamma = values["B"] / a
        rate = math.sqrt(gamma * gamma / 4 + h / a)
        left, whole = values["T"] - t, values["T"] - float(t[0])
        slow = 2 * (h / a) / (2 * rate + gamma)
        paid = (values["Q"] * h + gamma / 2) / rate  # over S: x ∝ e^{γt/2}(cosh Ss + paid·sinh Ss)
        shape = (1 + paid) / 2 + (1 - paid) / 2 * np.exp(-2 * rate * left)
        first = (1 + paid) / 2 + (1 - paid) / 2 * math.exp(-2 * rate * whole)
        return np.asarray((np.exp(-slow * (t - t[0])) * shape / first)[:, None])

    def objective(self, values: Values) -> Objective:
        return Objective(eta=values["a"], gamma=values["gamma"], horizon=values["T"], terminal=values["c"])


class Memory(Planner):
    """A heavy ball :math:`\\ddot θ=−Γ\\dot θ−b∇L`, which no planner is: h/r falls with r."""

    name = "memory"
    names: Mapping[str, str] = {"friction": "1/T", "b": "u²/ℓT²"}
    moves = False
    objective_of = False
    swings = True

    def box(self, scale: Scale) -> tuple[Array, Array]:
        rate = math.log(scale.rate)
        gain = 2 * rate - math.log(scale.curvature)
        return np.array([rate - _FAR, gain - 2 * _FAR]), np.array([rate + _FAR, gain + 2 * _FAR])

    def starts(self, scale: Scale) -> list[Array]:
        rate, pairs = math.log(scale.rate), [(f, s) for f in (-1.0, 1.0, 3.0, 5.0) for s in np.linspace(-2.0, 2.0, 9)]
        return [np.array([rate + f, 2 * rate - math.log(scale.curvature) + f + s]) for f, s in pairs]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        friction, b = math.exp(x[0]), math.exp(x[1])
        return {"friction": friction, "b": b, "A": -1 / b, "B": friction / b, "C": 0.0}

    def columns(self, h: float, t: Array, values: Values) -> Array:
        """Return both of a mode's motions, which begins with any velocity."""
        half = values["friction"] / 2
        root = np.sqrt(complex(half * half - values["b"] * h))
        slow, fast = np.exp((root - half) * t), np.exp((-root - half) * t)
        spread = np.where(abs(root) * t > 1e-6, (slow - fast) / (2 * root if root else 1.0), t * np.exp(-half * t))
        return np.asarray(np.stack([(slow + fast).real / 2, spread.real], axis=1))


class Hyperbolic(Planner):
    r"""The discount 1/(1 + αt) of a planner who knows that later selves will plan anew (book: I10).

    Each curvature shows its Laplace transform at one point: :math:`\tilde D(2r)=r/(r^2+ah)`.
    """

    name = "hyperbolic"
    names: Mapping[str, str] = {"alpha": "1/T", "a": "u²/ℓT²"}
    moves = False
    objective_of = False

    def box(self, scale: Scale) -> tuple[Array, Array]:
        v = math.log(scale.rate)
        return np.array([v - _FAR, v - _FAR]), np.array([v + _FAR, v + _FAR])

    def starts(self, scale: Scale) -> list[Array]:
        return [np.array([math.log(scale.rate) + s, x[1]]) for x in super().starts(scale)[:13] for s in (-1.0, 1.0)]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        alpha, v = math.exp(x[0]), math.exp(x[1])
        gain = float(v / _laplace(np.array([2 * v]), alpha)[0] - v * v)
        return {"alpha": alpha, "a": gain / scale.curvature}

    def rates(self, h: Array, values: Values) -> Array:
        pull = values["a"] * h
        r = np.sqrt(pull)  # without a discount
        for _ in range(12):  # Newton's method for ln ah over ln r, whose slope is from 1 to 2
            transform = _laplace(2 * r, values["alpha"])
            found = r / transform - r * r
            bend = 1 / transform - 2 * r * (transform - 0.5 / r) / (values["alpha"] * transform**2) - 2 * r
            r = r * np.exp(np.log(pull / found) * found / (r * bend))
        return np.asarray(r)


def _laplace(s: Array, alpha: float) -> Array:
    """Return ∫e^{−st}/(1 + αt)dt = e^x E₁(x)/α at x = s/α."""
    x = s / alpha
    series = sum((-1) ** n * math.factorial(n) / np.maximum(x, 40.0) ** (n + 1) for n in range(12))
    near = np.exp(np.minimum(x, 40.0)) * scipy.special.exp1(np.minimum(x, 40.0))
    return np.asarray(np.where(x < 40, near, series) / alpha)


def _over(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else math.inf


FAMILIES: dict[str, Planner] = {
    one.name: one for one in (Planner(), Decay(), Rotation(), Deadline(), Memory(), Hyperbolic())
}
"""By name."""


def place(family: Planner, name: str, scale: Scale, typical: float) -> Callable[[Array], float]:
    """Return where a quantity lies between its edges, 0 and 1, as a function of coordinates; ``undo`` leads back."""

    def found(x: Array) -> float:
        value = family.values(x, scale)[name] - (scale.end if name == "T" else 0.0)
        if name == "q":
            return 0.5 + math.atan(value / typical) / math.pi
        return 1.0 if math.isinf(value) else value / (value + typical)

    return found


def undo(name: str, place_: float, typical: float, scale: Scale) -> float:
    """Return the value that lies at a place."""
    if name == "T":
        return scale.end + undo("", place_, typical, scale)
    if name == "q":
        return typical * math.tan(math.pi * (place_ - 0.5)) if 0 < place_ < 1 else math.copysign(math.inf, place_ - 0.5)
    return math.inf if place_ >= 1 else typical * place_ / (1 - place_)
