r"""The families of assumptions: what a learner of each does on a mode of curvature h.

Rates are roots of one equation, :math:`Ar^2+Br=h+C`, that stays regular at both edges of planning: A = 1/a, B = γ/a and
C = j(j + γ)/a with a = ηk. A = 0 is gradient descent, B = 0 the learner without a discount; A < 0 is memory, the heavy
ball :math:`r^2-\Gamma r+bh=0` (book: I12, I20). Coordinates of a family are a share in [0, 1] that stands for γ, the
logarithm of the rate v at a curvature h₀ about the middle of those seen, and what else it has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem import drifts
from lossnav.problem.objective import Objective

Values = Mapping[str, float]
_FAR = 12.0  # e-folds from the data's scale at which a logarithmic coordinate ends
_EDGE = 1e4  # from the data's own scale, beyond which a value is none to count in
_APART, _FASTEST = 0.25, 130.0  # of swings to begin from, in units of the rate 3/span
_OUT = 1e7  # times what is typical: at the upper edge, as far as any record can tell


@dataclass(frozen=True)
class Scale:
    """What coordinates are counted in: a curvature h₀, a rate v₀, and the times at which the record ends and begins.

    ``swings`` is the fastest swing that the record may resolve, in units of v₀: twice Nyquist's, as uneven times tell
    more than their mean step; it is that of the ``stiffest`` curvature.
    """

    curvature: float
    rate: float
    end: float = 1.0
    begin: float = 0.0
    swings: float = 0.0
    stiffest: float = 1.0

    @property
    def frequencies(self) -> Array:
        """Swings to begin from, closer than 1/span, as wide as the valley of the best is: few samples may narrow it."""
        return np.arange(_APART, min(self.swings, _FASTEST), _APART)


@dataclass(frozen=True)
class Planner:
    r"""A planner, :math:`r(r+γ)=ah`, and what else it may have: a drift, a deadline.

    Attributes:
        name: of the family.
        names: of the assumptions, with their units; those beside γ and a are

            - j, a drift f = −jθ: :math:`r(r+γ)=ah+j(j+γ)`, and a path ends at the share ah/(ah + j(j + γ)) (book: I7);
            - q, a drift f = Qθ in a plane of one curvature, of that angular speed: the end point tells all (book: I8);
            - T and c, a deadline on the record's clock and its charge over k: :math:`\dot K=K^2+γK−ah`, K(T) = ac·h
              (book: I13).
        relation: what is known of them together where they are not told apart: of the modes of a quadratic loss.
        more: the ends of each further coordinate, and where to begin.
        motion: the equation of its extremals, where other losses than quadratic ones can be asked.
        plans: whether it is a path of least J, with an ``objective``.
        swings: whether a mode begins with any velocity.
        parted: what would tell assumptions apart.
    """

    name: str
    names: Mapping[str, str]
    relation: str
    more: Sequence[tuple[float, float, Sequence[float]]] = ()
    motion: str = ""
    plans: bool = True
    swings: bool = False
    parted: str = "other stakes, a change that is announced, or a deadline"

    def of(self, dim: int) -> Planner:
        """Return the family of a loss of so many parameters."""
        return self

    def box(self, scale: Scale) -> tuple[Array, Array]:
        """Return the ends of the coordinates, each of shape (P,)."""
        v = math.log(scale.rate)
        low, high = zip((0.0, 1.0), (v - _FAR, v + _FAR), *((low, high) for low, high, _ in self.more), strict=True)
        return np.array(low), np.array(high)

    def starts(self, scale: Scale) -> list[Array]:
        """Return coordinates to begin from."""
        pace = math.log(scale.rate) + np.linspace(-3.0, 3.0, 13)
        more = (begin for _, _, begin in self.more)
        return [np.array(x) for x in itertools.product((0.1, 0.5, 0.9), pace, *more)]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        """Return the assumptions by name, and A, B, C; of a deadline Q = K(T)/h, too.

        Further coordinates are: for j which part of r(r + γ) at h₀ is decay; q in units of the data's rate; for T 1 −
        what the record fills of the time until then; for c K(T) over v + K(T).
        """
        u, v, h = float(x[0]), math.exp(x[1]), scale.curvature
        more = dict(zip(list(self.names)[2:], map(float, x[2:]), strict=False))  # starts may follow
        left = 1 - more.get("j", 0.0)  # what decay leaves of r(r + γ) for the loss
        below = v * ((1 - u) * v + u * scale.rate) * left  # (1 − u)·v(v + γ)
        a, b, c = h * (1 - u) / below, h * u * scale.rate / below, h * (1 - left) / left
        values = {"gamma": _over(b, a), "a": _over(1.0, a), "A": a, "B": b, "C": c}
        if "j" in more:
            values["j"] = 2 * c / (b + math.sqrt(b * b + 4 * a * c)) if c else 0.0
        if "q" in more:
            values["q"] = more["q"] * scale.rate
        if "T" in more:
            paid = more["c"] / max(1 - more["c"], 1e-9) * v / h
            horizon = (scale.end - scale.begin) / (1 - more["T"])
            values |= {"T": scale.begin + horizon, "horizon": horizon, "c": paid * a, "Q": paid}
        return values

    def rates(self, h: Array, values: Values) -> Array:
        """Return r for each curvature, shape of h; NaN where there is none."""
        pull = h + values["C"]
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = 2 * pull / (values["B"] + np.sqrt(values["B"] ** 2 + 4 * values["A"] * pull))
        return np.where(pull == 0, 0.0, rates)

    def columns(self, h: float, t: Array, values: Values) -> Array:
        """Return what a mode's path is a sum of, beside where it ends: shape (N, m)."""
        if "T" in values:
            return _before_deadline(h, t, values)[:, None]
        rate = self.rates(np.array([h]), values)[0] - (1j * values["q"] if "q" in values else 0.0)
        return np.asarray(np.exp(-rate * (t - t[0]))[:, None])

    def share(self, h: float, values: Values) -> complex:
        """Return where a mode ends, over where its loss is least."""
        pull: complex = h + values["C"]
        if "q" in values:
            pull += values["q"] * (values["q"] * values["A"] - 1j * values["B"])
        return h / pull if pull else 1.0

    def objective(self, values: Values) -> Objective:
        """Return the problem for which this is optimal, with k = 1."""
        drift = drifts.weight_decay(values["j"]) if values.get("j", 0.0) > 0 else None
        drift = drifts.rotation(values["q"]) if "q" in values else drift
        horizon, terminal = values.get("horizon", math.inf), values.get("c", 0.0)
        return Objective(eta=values["a"], gamma=values["gamma"], drift=drift, horizon=horizon, terminal=terminal)


def _before_deadline(h: float, t: Array, values: Values) -> Array:
    """Return the path of a mode until its deadline: over S, x ∝ e^{γt/2}(cosh Ss + paid·sinh Ss), s the time left."""
    a = max(values["A"], 1e-12)
    gamma = values["B"] / a
    rate = math.sqrt(gamma * gamma / 4 + h / a)
    left = values["T"] - t
    paid = (values["Q"] * h + gamma / 2) / rate
    shape = (1 + paid) / 2 + (1 - paid) / 2 * np.exp(-2 * rate * left)
    return np.asarray(np.exp(-2 * (h / a) / (2 * rate + gamma) * (t - t[0])) * shape / shape[0])


@dataclass(frozen=True)
class Measured(Planner):
    """A planner with a constant diagonal metric: G = diag(1, G2, …), a = ηk/G₁₁ (book: I9).

    Where the Hessian is not diagonal one path in which all modes move tells them and γ: the other explanation,
    descent with a diagonal preconditioner S, would need SHS to be diagonal. Where it is, every γ has its metric.
    """

    def of(self, dim: int) -> Planner:
        more = {f"G{i}": "1" for i in range(2, dim + 1)}
        return replace(self, names=_BOTH | more, more=[(-_FAR, _FAR, (0.0,))] * len(more))

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        metric = {name: math.exp(at) for name, at in zip(list(self.names)[2:], x[2:], strict=False)}
        return super().values(x[:2], scale) | metric

    def metric(self, values: Values) -> Array:
        """Return the diagonal, shape (D,)."""
        return np.array([1.0, *(values[name] for name in list(self.names)[2:])])

    def fundamental(self, hessian: Array, t: Array, values: Values) -> Array:
        """Return what maps the first place about the minimum to the others, shape (N, D, D)."""
        width = self.metric(values) ** -0.5
        curvature, vectors = np.linalg.eigh(width[:, None] * hessian * width)
        decay = np.exp(-np.outer(t - t[0], self.rates(curvature, values)))
        return np.einsum("di,ni,ei->nde", width[:, None] * vectors, decay, vectors / width[:, None])

    def objective(self, values: Values) -> Objective:
        return replace(super().objective(values), metric=np.diag(self.metric(values)))


class Turning(Planner):
    """A planner in a plane that turns: how fast may be anything that the record resolves."""

    def starts(self, scale: Scale) -> list[Array]:
        pace = math.log(scale.rate) + np.linspace(-2.0, 2.0, 5)
        turns = (sign * w for w in scale.frequencies for sign in (-1.0, 1.0))
        return super().starts(scale) + [np.array([0.5, *x]) for x in itertools.product(pace, turns)]


class Memory(Planner):
    r"""A heavy ball :math:`\ddot θ=−Γ\dot θ−b∇L`, which no planner is: h/r falls with r."""

    def box(self, scale: Scale) -> tuple[Array, Array]:
        rate = math.log(scale.rate)
        gain = 2 * rate - math.log(scale.curvature)
        return np.array([rate - _FAR, gain - 2 * _FAR]), np.array([rate + _FAR, gain + 2 * _FAR])

    def starts(self, scale: Scale) -> list[Array]:
        rate, pairs = math.log(scale.rate), [(f, s) for f in (-1.0, 1.0, 3.0, 5.0) for s in np.linspace(-2.0, 2.0, 9)]
        gain = 2 * rate - math.log(scale.curvature)
        begin = [np.array([rate + f, gain + f + s]) for f, s in pairs]
        gain = 2 * rate - math.log(scale.stiffest)
        swinging = itertools.product((-1.0, 0.0, 1.0, 2.5), scale.frequencies)
        return begin + [np.array([rate + f, gain + 2 * math.log(w)]) for f, w in swinging]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        friction, b = math.exp(x[0]), math.exp(x[1])
        return {"friction": friction, "b": b, "A": -1 / b, "B": friction / b, "C": 0.0}

    def columns(self, h: float, t: Array, values: Values) -> Array:
        """Return both of a mode's motions, which begins with any velocity."""
        half = values["friction"] / 2
        root = np.sqrt(complex(half * half - values["b"] * h))
        since = t - t[0]
        slow, fast = np.exp((root - half) * since), np.exp((-root - half) * since)
        near = since * np.exp(-half * since)
        spread = np.where(abs(root) * since > 1e-6, (slow - fast) / (2 * root if root else 1.0), near)
        return np.asarray(np.stack([(slow + fast).real / 2, spread.real], axis=1))


class Hyperbolic(Planner):
    r"""The discount 1/(1 + αt) of a planner who knows that later selves will plan anew (book: I10).

    Each curvature shows its Laplace transform at one point: :math:`\tilde D(2r)=r/(r^2+ah)`.
    """

    def box(self, scale: Scale) -> tuple[Array, Array]:
        v = math.log(scale.rate)
        return np.array([v - _FAR, v - _FAR]), np.array([v + _FAR, v + _FAR])

    def starts(self, scale: Scale) -> list[Array]:
        return [np.array([math.log(scale.rate) + s, x[1]]) for x in super().starts(scale)[:13] for s in (-1.0, 1.0)]

    def values(self, x: Array, scale: Scale) -> dict[str, float]:
        alpha, v = math.exp(x[0]), math.exp(x[1])
        gain = float(v / _laplace(np.array([2 * v]), alpha)[0] - v * v)
        return {"alpha": alpha, "a": gain / scale.curvature, "C": 0.0}  # there is no drift

    def rates(self, h: Array, values: Values) -> Array:
        pull = values["a"] * h
        r = np.sqrt(pull)  # without a discount
        for _ in range(12):  # Newton's method for ln ah over ln r, whose slope is from 1 to 2
            transform = _laplace(2 * r, values["alpha"])
            ah_at_r = r / transform - r * r
            derivative = 1 / transform - 2 * r * (transform - 0.5 / r) / (values["alpha"] * transform**2) - 2 * r
            r = r * np.exp(np.log(pull / ah_at_r) * ah_at_r / (r * derivative))
        return np.asarray(r)


def _laplace(s: Array, alpha: float) -> Array:
    """Return ∫e^{−st}/(1 + αt)dt = e^x E₁(x)/α at x = s/α."""
    x = s / alpha
    series = sum((-1) ** n * math.factorial(n) / np.maximum(x, 40.0) ** (n + 1) for n in range(12))
    near = np.exp(np.minimum(x, 40.0)) * scipy.special.exp1(np.minimum(x, 40.0))
    return np.asarray(np.where(x < 40, near, series) / alpha)


def _over(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else math.inf


_BOTH = {"gamma": "1/T", "a": "u²/ℓT²"}
_TURNS = (-1e3, 1e3, (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0))
_ENDS = ((0.0, 0.99, (0.01, 0.2, 0.6)), (0.0, 1.0, (0.0, 0.5)))
_LAPLACE = "r/(r² + a h) is the Laplace transform of 1/(1 + αt) at 2r"
_EVERY = (
    Planner("planner", _BOTH, "r (r + γ) = a h", motion="θ̈ = γθ̇ + a∇L"),
    Planner(
        "+decay", _BOTH | {"j": "1/T"}, "r (r + γ) = a h + j (j + γ)", [(0.0, 1 - 1e-9, (0.02, 0.3, 0.8))],
        motion="θ̈ = γθ̇ + a∇L + j(j + γ)θ",
    ),
    Measured(
        "+metric", _BOTH, "r (r + γ) are the eigenvalues of a G⁻¹H",
        parted="all modes of a Hessian that is not diagonal",
    ),
    Turning("+rotation", _BOTH | {"q": "1/T"}, "λ (λ + γ) = a h", [_TURNS]),
    Planner(
        "deadline", _BOTH | {"T": "T", "c": "T"}, "dK/dt = K² + γK − a h, K(T) = a c h", _ENDS,
        parted="another curvature with the same charge",
    ),
    Memory(
        "memory", {"friction": "1/T", "b": "u²/ℓT²"}, "r² − Γr + b h = 0", plans=False, swings=True,
        parted="another curvature",
    ),
    Hyperbolic("hyperbolic", {"alpha": "1/T", "a": "u²/ℓT²"}, _LAPLACE, plans=False, parted="another curvature"),
)  # fmt: skip
FAMILIES: dict[str, Planner] = {family.name: family for family in _EVERY}
"""By name."""


@dataclass(frozen=True)
class Quantity:
    """Where an assumption lies between its edges, 0 and 1, as a function of coordinates; ``typical`` is half-way."""

    family: Planner
    name: str
    scale: Scale
    typical: float

    @classmethod
    def around(cls, family: Planner, name: str, scale: Scale, value: float) -> Quantity:
        """Return it with a value half-way; or, if that is at an edge or nearly, what the data's own scales come to."""
        size = abs(value - scale.end if name == "T" else value)
        rate = scale.rate
        own = {"1/T": rate, "u²/ℓT²": rate**2 / scale.curvature, "T": 1 / rate, "1": 1.0}[family.names[name]]
        return cls(family, name, scale, size if own / _EDGE < size < own * _EDGE else own)

    def __call__(self, x: Array) -> float:
        """Return the place that coordinates have."""
        return self.place(self.family.values(x, self.scale)[self.name])

    def place(self, value: float) -> float:
        """Return where a value lies; a deadline is after the record, and q has either sign."""
        if self.name == "q":
            return place_on_the_line(value, self.typical)
        above = value - self._base
        return 1.0 if above > _OUT * self.typical else above / (above + self.typical)

    def value(self, place: float) -> float:
        """Return what lies at a place."""
        if self.name == "q":
            return value_on_the_line(place, self.typical)
        return math.inf if place >= 1 else self._base + self.typical * place / (1 - place)

    @property
    def _base(self) -> float:
        return self.scale.end if self.name == "T" else 0.0


def place_on_the_line(value: float, typical: float) -> float:
    """Return where a value of either sign lies between −∞, 0, and ∞, 1; 0 is half-way, a typical one three quarters."""
    return 0.5 + math.atan(value / typical) / math.pi


def value_on_the_line(place: float, typical: float) -> float:
    """Return what lies at a place of ``place_on_the_line``."""
    inside = 0 < place < 1
    return typical * math.tan(math.pi * (place - 0.5)) if inside else math.copysign(math.inf, place - 0.5)
