r"""The families of assumptions: what a learner of each does on a mode of curvature h.

Rates are roots of one equation, :math:`Ar^2+Br=h+C`, that stays regular at both edges of planning: A = 1/a, B = γ/a and
C = j(j + γ)/a with a = ηk. A = 0 is gradient descent, B = 0 the learner without a discount; A < 0 is memory, the heavy
ball :math:`r^2-\Gamma r+bh=0`. Coordinates of a family are a share in [0, 1] that stands for γ, the logarithm of the
rate v at a curvature h₀ about the middle of those seen, and what else it has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem import drifts
from lossnav.problem.objective import Objective

Values = Mapping[str, Any]  # numbers, or arrays of one shape where many coordinates are asked at once
_FAR = 12.0  # e-folds from the data's scale at which a logarithmic coordinate ends
_EDGE = 1e4  # from the data's own scale, beyond which a value is none to count in
_APART, _FASTEST = 0.25, 130.0  # of swings to begin from, in units of the rate 3/span
_LEAST = 1e-14  # how near a share comes to an edge at which the family has no member
_OUT = 1e7  # times what is typical: at the upper edge, as far as any record can tell


@dataclass(frozen=True)
class Scale:
    """What coordinates are counted in: a curvature h₀, a rate v₀, and the times at which the record ends and begins.

    ``swings`` is the fastest swing that the record may resolve, in units of v₀: up to twice Nyquist's; it is that of
    the ``stiffest`` curvature.
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
            - q, a drift f = Qθ in a plane of one curvature, of that angular speed: the end point tells all;
            - T and c, a deadline on the record's clock and its charge over k: :math:`\dot K=K^2+γK−ah`, K(T) = ac·h.
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

    def starts(self, scale: Scale) -> Array:
        """Return coordinates to begin from, shape (S, P)."""
        pace = math.log(scale.rate) + np.linspace(-3.0, 3.0, 13)
        return _grid((0.1, 0.5, 0.9), pace, *(begin for _, _, begin in self.more))

    def values(self, x: Array, scale: Scale) -> dict[str, Any]:
        """Return what coordinates of shape (..., P) mean: the assumptions, A, B, C, of a deadline Q = K(T)/h, too.

        Further coordinates are: for j which part of r(r + γ) at h₀ is decay; q in units of the data's rate; for T 1 −
        what the record fills of the time until then; for c K(T) over v + K(T).
        """
        u, v, h = x[..., 0], np.exp(x[..., 1]), scale.curvature
        more = {name: x[..., i] for i, name in enumerate(self.names) if i > 1}
        left = 1 - more.get("j", 0 * u)  # what decay leaves of r(r + γ) for the loss
        below = v * ((1 - u) * v + u * scale.rate) * left  # (1 − u)·v(v + γ)
        a, b, c = h * (1 - u) / below, h * u * scale.rate / below, h * (1 - left) / left
        with np.errstate(divide="ignore"):  # gradient descent has A = 0
            values: dict[str, Any] = {"gamma": b / a, "a": 1 / a, "A": a, "B": b, "C": c}
        if "j" in more:
            values["j"] = 2 * c / np.where(c > 0, b + np.sqrt(b * b + 4 * a * c), 1.0)[()]
        if "q" in more:
            values["q"] = more["q"] * scale.rate
        if "T" in more:
            paid = more["c"] / np.maximum(1 - more["c"], 1e-9) * v / h
            horizon = (scale.end - scale.begin) / np.maximum(1 - more["T"], 1e-9)
            values |= {"T": scale.begin + horizon, "horizon": horizon, "c": paid * a, "Q": paid}
        return values

    def rates(self, h: Array, values: Values) -> Array:
        """Return r for each curvature, (M,), shape (..., M); NaN where there is none."""
        a, b, c = (_each(values[name]) for name in "ABC")
        pull = h + c
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = 2 * pull / (b + np.sqrt(b**2 + 4 * a * pull))
        return np.where(pull == 0, 0.0, rates)

    def columns(self, h: Array, t: Array, values: Values) -> Array:
        """Return what each mode's path is a sum of, beside where it ends: shape (..., M, N, m)."""
        if "T" in values:
            return _before_deadline(h, t, values)[..., None]
        rates = self.rates(h, values)
        if "q" in values:
            rates = rates - 1j * _each(values["q"])
        return np.asarray(np.exp(-rates[..., None] * (t - t[0]))[..., None])

    def share(self, h: Array, values: Values) -> Array:
        """Return where each mode ends, over where its loss is least, shape (..., M)."""
        pull = h + _each(values["C"])
        if "q" in values:
            q, a, b = (_each(values[name]) for name in "qAB")
            pull = pull + q * (q * a - 1j * b)
        return np.where(pull == 0, 1.0, h / np.where(pull == 0, 1.0, pull))

    def objective(self, values: Values) -> Objective:
        """Return the problem for which this is optimal, with k = 1."""
        drift = drifts.weight_decay(values["j"]) if values.get("j", 0.0) > 0 else None
        drift = drifts.rotation(values["q"]) if "q" in values else drift
        horizon, terminal = values.get("horizon", math.inf), values.get("c", 0.0)
        return Objective(eta=values["a"], gamma=values["gamma"], drift=drift, horizon=horizon, terminal=terminal)


def _before_deadline(h: Array, t: Array, values: Values) -> Array:
    """Return the path of each mode until its deadline, shape (..., M, N).

    Over S it is x ∝ e^{γt/2}(cosh Ss + paid·sinh Ss) with the time s that is left.
    """
    a = np.maximum(_each(values["A"]), 1e-12)
    gamma = _each(values["B"]) / a
    rate = np.sqrt(gamma * gamma / 4 + h / a)
    left = (_each(values["T"]) - t)[..., None, :]
    paid = ((_each(values["Q"]) * h + gamma / 2) / rate)[..., None]
    shape = (1 + paid) / 2 + (1 - paid) / 2 * np.exp(-2 * rate[..., None] * left)
    slow = -2 * (h / a) / (2 * rate + gamma)
    return np.asarray(np.exp(slow[..., None] * (t - t[0])) * shape / shape[..., :1])


@dataclass(frozen=True)
class Measured(Planner):
    """A planner with a constant diagonal metric: G = diag(1, G2, …), a = ηk/G₁₁.

    Where the Hessian is not diagonal one path in which all modes move tells them and γ: the other explanation,
    descent with a diagonal preconditioner S, would need SHS to be diagonal. Where it is, every γ has its metric.
    """

    def of(self, dim: int) -> Planner:
        more = {f"G{i}": "1" for i in range(2, dim + 1)}
        return replace(self, names=_BOTH | more, more=[(-_FAR, _FAR, (0.0,))] * len(more))

    def values(self, x: Array, scale: Scale) -> dict[str, Any]:
        metric = {name: np.exp(x[..., i]) for i, name in enumerate(self.names) if i > 1}
        return super().values(x, scale) | metric

    def metric(self, values: Values) -> Array:
        """Return the diagonal, shape (..., D)."""
        more = [values[name] for name in list(self.names)[2:]]
        return np.stack([np.ones_like(values["A"]), *more], axis=-1)

    def fundamental(self, hessian: Array, t: Array, values: Values) -> Array:
        """Return what maps the first place about the minimum to the others, shape (..., N, D, D)."""
        width = (self.metric(values) ** -0.5)[..., None]
        curvature, vectors = np.linalg.eigh(width * hessian * np.swapaxes(width, -2, -1))
        decay = np.exp(-(t - t[0])[:, None] * self.rates(curvature, values)[..., None, :])
        return np.einsum("...di,...ni,...ei->...nde", width * vectors, decay, vectors / width)

    def objective(self, values: Values) -> Objective:
        return replace(super().objective(values), metric=np.diag(self.metric(values)))


class Turning(Planner):
    """A planner in a plane that turns: how fast may be anything that the record resolves."""

    def starts(self, scale: Scale) -> Array:
        pace = math.log(scale.rate) + np.linspace(-2.0, 2.0, 5)
        return np.concatenate([super().starts(scale), _grid([0.5], pace, np.outer(scale.frequencies, [-1, 1]).ravel())])


class Memory(Planner):
    r"""A heavy ball :math:`\ddot θ=−Γ\dot θ−b∇L`, which no planner is: h/r falls with r."""

    def box(self, scale: Scale) -> tuple[Array, Array]:
        gain = 2 * math.log(scale.rate) - math.log(scale.curvature)
        return np.array([_LEAST, gain - 2 * _FAR]), np.array([1 - _LEAST, gain + 2 * _FAR])

    def starts(self, scale: Scale) -> Array:
        rate = math.log(scale.rate)
        slow = _grid(np.arange(-1.0, _FAR, 2.0), np.linspace(-2.0, 2.0, 9)) @ [[1.0, 1.0], [0.0, 1.0]]
        swinging = _grid((-1.0, 0.0, 1.0, 2.5), 2 * np.log(scale.frequencies))
        origins = [[0.0, 2 * rate - math.log(curvature)] for curvature in (scale.curvature, scale.stiffest)]
        friction, b = np.concatenate([slow + origins[0], swinging + origins[1]]).T  # logarithms
        return np.stack([scipy.special.expit(friction), b - np.logaddexp(0.0, friction)], axis=1)

    def values(self, x: Array, scale: Scale) -> dict[str, Any]:
        friction, b = scale.rate * x[..., 0] / (1 - x[..., 0]), np.exp(x[..., 1]) / (1 - x[..., 0])
        return {"friction": friction, "b": b, "A": -1 / b, "B": friction / b, "C": 0.0 * b}

    def columns(self, h: Array, t: Array, values: Values) -> Array:
        """Return both motions of each mode, which begins with any velocity."""
        half, pull = _each(values["friction"])[..., None] / 2, (_each(values["b"]) * h)[..., None]
        root = np.sqrt(half * half - pull + 0j)
        since = t - t[0]
        slow, fast = np.exp(-pull / (half + root) * since), np.exp((-root - half) * since)
        near = since * np.exp(-half * since)
        spread = np.where(abs(root) * since > 1e-6, (slow - fast) / np.where(root == 0, 1.0, 2 * root), near)
        return np.asarray(np.stack([(slow + fast).real / 2, spread.real], axis=-1))


class Hyperbolic(Planner):
    r"""The discount 1/(1 + αt) of a planner who knows that later selves will plan anew (book: I10).

    Each curvature shows its Laplace transform at one point: :math:`\tilde D(2r)=r/(r^2+ah)`.
    """

    def box(self, scale: Scale) -> tuple[Array, Array]:
        v = math.log(scale.rate)
        return np.array([_LEAST, v - _FAR]), np.array([1 - _LEAST, v + _FAR])

    def starts(self, scale: Scale) -> Array:
        return _grid((0.25, 0.75), math.log(scale.rate) + np.linspace(-3.0, 3.0, 13))

    def values(self, x: Array, scale: Scale) -> dict[str, Any]:
        alpha, v = scale.rate * x[..., 0] / (1 - x[..., 0]), np.exp(x[..., 1])
        gain = v / _laplace(2 * v, alpha) - v * v
        return {"alpha": alpha, "a": gain / scale.curvature, "C": 0.0 * v}  # there is no drift

    def rates(self, h: Array, values: Values) -> Array:
        pull, alpha = _each(values["a"]) * h, _each(values["alpha"])
        r = np.sqrt(pull)  # without a discount
        for _ in range(12):  # Newton's method for ln ah over ln r, whose slope is from 1 to 2
            transform = _laplace(2 * r, alpha)
            ah_at_r = r / transform - r * r
            derivative = 1 / transform - 2 * r * (transform - 0.5 / r) / (alpha * transform**2) - 2 * r
            r = r * np.exp(np.log(pull / ah_at_r) * ah_at_r / (r * derivative))
        return np.asarray(r)


def _laplace(s: Array, alpha: Array) -> Array:
    """Return ∫e^{−st}/(1 + αt)dt = e^x E₁(x)/α at x = s/α."""
    x = s / alpha
    far, near = 1 / np.maximum(x, 40.0), np.minimum(x, 40.0)
    series = far * np.polyval(_SERIES, far)
    return np.asarray(np.where(x < 40, np.exp(near) * scipy.special.exp1(near), series) / alpha)[()]


def _each(value: Array | float) -> Array:
    """Return a value of each coordinates as one for every mode, shape (..., 1)."""
    return np.asarray(value)[..., None]


def _grid(*axes: Iterable[float]) -> Array:
    """Return all combinations, shape (S, P)."""
    return np.array(list(itertools.product(*axes))).reshape(-1, len(axes))


_BOTH = {"gamma": "1/T", "a": "u²/ℓT²"}
_TURNS = (-1e3, 1e3, (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0))
_ENDS = ((0.0, 1.0, (0.01, 0.2, 0.6)), (0.0, 1.0, (0.0, 1.0)))  # free ends and fixed ones are basins apart
_SERIES = [(-1.0) ** n * math.factorial(n) for n in reversed(range(12))]  # of xe^xE₁(x) in 1/x, for large x
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

    def __call__(self, x: Array) -> Array:
        """Return the places that coordinates have, shape (...,)."""
        return self.place(self.family.values(x, self.scale)[self.name])

    def place(self, value: Array | float) -> Array:
        """Return where values lie; a deadline is after the record, and q has either sign."""
        if self.name == "q":
            return place_on_the_line(value, self.typical)
        above, out = np.asarray(value - self._base), _OUT * self.typical
        inside = np.minimum(above, out)  # infinite values have no quotient
        return np.where(above > out, 1.0, inside / (inside + self.typical))[()]

    def value(self, place: float) -> float:
        """Return what lies at a place."""
        if self.name == "q":
            return value_on_the_line(place, self.typical)
        return math.inf if place >= 1 else self._base + self.typical * place / (1 - place)

    @property
    def _base(self) -> float:
        return self.scale.end if self.name == "T" else 0.0


def place_on_the_line(value: Array | float, typical: float) -> Array:
    """Return where values of either sign lie between −∞, 0, and ∞, 1; 0 is half-way, a typical one three quarters."""
    return np.asarray(0.5 + np.arctan(value / typical) / math.pi)[()]


def value_on_the_line(place: float, typical: float) -> float:
    """Return what lies at a place of ``place_on_the_line``."""
    inside = 0 < place < 1
    return typical * math.tan(math.pi * (place - 0.5)) if inside else math.copysign(math.inf, place - 0.5)
