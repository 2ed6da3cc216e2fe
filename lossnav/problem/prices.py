r"""Prices of motion: what a learner is charged for the way it moves, other than |θ̇|²/2η (book: W1, W12–W20).

.. math:: J=\int e^{-\gamma t}\{\varphi(\dot\theta)+kL(\theta)\}dt,\qquad
    \gamma V=kL-\varphi^*(-\nabla V),\qquad \dot\theta^*=\nabla\varphi^*(-\nabla V)

A price is one object, with φ, its conjugate :math:`\varphi^*(p)=\max_v\{p\cdot v-\varphi(v)\}`, the velocity ∇φ*(p)
that a costate p asks for, and, where it is known, the exact law on a bowl whose Hessian is diagonal in the price's
axes. ``Acceleration`` charges θ̈ instead: there the four act on accelerations.

To add one, write a class here and name it in ``__all__``: nothing else asks which price it is.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem import norms
from lossnav.problem.functions.roots import FADED, exp_moment, slow_rate

__all__ = ["Acceleration", "Box", "Linear", "Norm", "Power", "Price", "Quadratic", "Toll"]
__dir__ = __all__.copy


_ROUNDING = 1e-9  # what a speed may exceed its limit by: the product of a limit and a direction is rounded
_PIECES = 400  # of a greedy path, whose loss bends where it turns: an error of 1e-9


class Bowl(NamedTuple):
    """Separable bowls khx²/2: curvatures h > 0 along the axes, shape (D,), with k and γ."""

    curvature: Array
    k: float
    gamma: float


class Price(_checks.Shaped, abc.ABC):
    """A convex, even price φ of the velocity θ̇, of shape (..., D).

    One of your own is a frozen dataclass with ``value`` and ``velocity``; ``ln.solve`` needs ``lengths``, ``softened``
    and a ``keeps`` that returns "" besides, and ``ln.euler_lagrange`` a ``formula``.

    Attributes:
        order: which derivative of θ is charged, 1 or 2.
        smooth: whether φ is differentiable, so that there are Euler–Lagrange equations.
        moves: whether the optimum has a velocity, and does not jump.
        hypothesis: of which losses its rule is the optimum of a plan, in words.
        eta: η of a term |v|²/2η; None where there is none.
        cap: what each coordinate's speed may be at most, where the free rule, so clipped, is the optimum; None where it
            is not.
        bare: whether there is a limit and nothing else.
        lengths: for each field with a unit of θ, which power of it, so that numbers change with another unit.
        hurry: how often in a unit of time a path looks different, unit 1/T, where that is known.
    """

    _axes: ClassVar = {"value": 0, "velocity": 1}
    order: ClassVar[int] = 1
    smooth: ClassVar[bool] = False
    moves: ClassVar[bool] = True
    hypothesis: ClassVar[str] = "any; as γ → ∞"
    eta: Any = None
    cap: Any = None
    bare: bool = False
    lengths: ClassVar[Mapping[str, float]] = {}
    hurry: float = 0.0

    @abc.abstractmethod
    def value(self, v: ArrayLike) -> Any:
        """Return φ(v), shape (...), unit ℓ/T; inf beyond a limit."""

    @abc.abstractmethod
    def velocity(self, p: ArrayLike) -> Array:
        """Return ∇φ*(p), shape (..., D); at ties, where that is a set, its most symmetric element."""

    def conjugate(self, p: ArrayLike) -> Any:
        """Return φ*(p), shape (...), for costates p of shape (..., D), unit ℓ/u: what the best velocity gains."""
        costate = _checks.points("p", p)
        best = self.velocity(costate)
        return -self._beyond(np.asarray(self.value(best)), best, costate)

    def bregman(self, v: ArrayLike, p: ArrayLike) -> Any:
        """Return φ(v) + φ*(p) − p·v ≥ 0, shape (...): what v costs beyond what the costate p = −∇V asks for (W12)."""
        speed, costate = _checks.points("v", v), _checks.points("p", p)
        paid, gained = np.asarray(self.value(speed)), np.asarray(self.conjugate(costate))
        shape, own = costate.shape[gained.ndim :], speed.shape[paid.ndim :]  # of one point
        if shape != own:
            raise ValueError(f"p has points of shape {shape}, but they must have that of v, {own}")
        _checks.together(v=speed, p=costate)
        return np.maximum(self._beyond(paid + gained, speed, costate), 0.0)

    def in_units(self, length: float) -> Price:
        """Return φ as it is where θ is counted in units of ``length``."""
        given = {name: value for name in self.lengths if (value := getattr(self, name)) is not None}
        changed = {name: np.asarray(value) / length ** self.lengths[name] for name, value in given.items()}
        return replace(self, **changed)  # type: ignore[type-var]

    def softened(self, v: ArrayLike, softness: float) -> tuple[Any, Array, Array]:
        """Return a smooth φ, shape (...), that tends to this one as ``softness`` falls to 0, ∇φ and diag ∇²φ, (..., D).

        Of 0 it is φ, where ``ease`` says that none is needed.
        """
        raise NotImplementedError

    def softened_velocity(self, p: ArrayLike, softness: float) -> Array:
        """Return the velocity, (..., D), at which ∇φ of ``softened`` is p; where ∇φ* is continuous that of φ itself."""
        return self.velocity(p)

    def keeps(self) -> str:
        """Return why there is none, as it follows on the price in a sentence; "" if there is."""
        return "has no `softened`, in which Newton's method finds second derivatives"

    def ease(self, height: float) -> float:
        """Return a large softness where kL falls by ``height``, of which to take a small share; 0: none is needed."""
        return 0.0

    @staticmethod
    def _beyond(cost: Array, v: Array, p: Array) -> Any:
        """Return what a cost, shape (...), is beyond p·v."""
        return cost - (v * p).reshape(*cost.shape, -1).sum(-1)

    @property
    def quadratic(self) -> float | None:
        """η, where φ is |v|²/2η and nothing else."""
        return None

    def formula(self, v: Sequence[Any]) -> Any:
        """Return φ of symbols, where it is ``smooth``."""
        why = "no formula" if self.smooth else "a kink"
        raise ValueError(f"price = {self!r} has {why}, so that there are no Euler–Lagrange equations")

    def zone(self, k: float, gamma: float) -> float:
        """Return which gradient moves nothing, λγ/k under a toll."""
        return 0.0

    def refuses(self, curvature: Array) -> str:
        """Return why there is no exact law on separable bowls of these curvatures, shape (D,); "" if there is."""
        return "has no closed form on a bowl"

    def settle(self, x: Array, t: Array, bowl: Bowl) -> Array:
        """Return where the optimum from x, shape (D,), is after times t, shape (T,): shape (T, D)."""
        raise NotImplementedError

    def travel(self, x: Array, t: Array, bowl: Bowl) -> Array:
        """Return ``settle`` − x; a closed form has the digits that x has not left of a way much shorter than it."""
        return self.settle(x, t, bowl) - x

    def pace(self, x: Array, bowl: Bowl) -> Array:
        """Return the optimal velocity at x, shape (..., D)."""
        return self.velocity(self.costate(x, bowl))

    def costate(self, x: Array, bowl: Bowl) -> Array:
        """Return −∇V at x, shape (..., D)."""
        raise ValueError(f"price = {self!r} has no gradient of the value function in closed form")

    def cost(self, x: Array, bowl: Bowl) -> Any:
        """Return V at x, shape (...), beyond that of resting at the minimum."""
        raise NotImplementedError


class _Separable(Price):
    """A sum over coordinates; ``_of`` and ``_gain`` are φ and the slope of φ*, of |v| and |p| in each.

    Fields named in ``_each`` may be arrays, one number for each coordinate.
    """

    _each: ClassVar[tuple[str, ...]] = ()

    def value(self, v: ArrayLike) -> Any:
        return self._of(np.abs(self._points("v", v))).sum(-1)

    def velocity(self, p: ArrayLike) -> Array:
        costate = self._points("p", p)
        return np.sign(costate) * self._gain(np.abs(costate))

    def _points(self, name: str, value: ArrayLike) -> Array:
        sizes = {np.size(getattr(self, field_name)) for field_name in self._each if np.ndim(getattr(self, field_name))}
        return _checks.points(name, value, next(iter(sizes), None))

    def formula(self, v: Sequence[Any]) -> Any:
        return sum(self._of(abs(component)) for component in v) if self.smooth else super().formula(v)

    @abc.abstractmethod
    def _of(self, v: Any) -> Any: ...

    @abc.abstractmethod
    def _gain(self, p: Array) -> Array: ...


@dataclass(frozen=True)
class Acceleration(_Separable):
    r"""The price :math:`m|\ddot\theta|^2/2+c|\dot\theta|^2/2` of acceleration, in the objective's metric (W1).

    ``value``, ``conjugate``, ``velocity`` and ``bregman`` are those of m|a|²/2: here v is an acceleration.

    Args:
        m: m > 0, unit ℓ·T³/u².
        speed: c ≥ 0, unit ℓ·T/u²: the price of speed beside it, what is 1/η elsewhere.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    m: float
    speed: float = 0.0

    order = 2
    smooth = True
    lengths: ClassVar[Mapping[str, float]] = {"m": -2, "speed": -2}
    hypothesis = "a bowl of the curvature that is believed (W8, W9)"

    def __post_init__(self) -> None:
        _checks.check(self, m=_checks.positive, speed=_checks.nonnegative)

    def _of(self, v: Any) -> Any:
        return v**2 * (self.m / 2)

    def _gain(self, p: Array) -> Array:
        return p / self.m


@dataclass(frozen=True)
class Power(_Separable):
    """φ = Σ|v_i|^p/(pη) (W15): for p = 2 it is |v|²/2η.

    Args:
        p: p > 1.
        eta: η > 0.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    p: float
    eta: float = 1.0

    smooth = True

    def __post_init__(self) -> None:
        _checks.check(self, p=partial(_checks.finite, low=1.0, open_low=True), eta=_checks.positive)

    @property
    def lengths(self) -> Mapping[str, float]:  # type: ignore[override]
        """η has the unit u^p."""
        return {"eta": self.p}

    @property
    def quadratic(self) -> float | None:
        return self.eta if self.p == 2 else None

    def _of(self, v: Any) -> Any:
        exponent = int(self.p) if self.p == int(self.p) else self.p  # even ones need no |v|
        return v**exponent / (self.p * self.eta)

    def _gain(self, p: Array) -> Array:
        return (self.eta * p) ** (1 / (self.p - 1))

    def softened(self, v: ArrayLike, softness: float) -> tuple[Any, Array, Array]:
        """Return φ of √(v² + softness²), less what it is at 0."""
        speed = self._points("v", v)
        size = np.sqrt(speed**2 + softness**2)
        value = (self._of(size) - self._of(softness)).sum(-1)
        stiffness = size ** (self.p - 2) / self.eta
        share = np.where(size > 0, speed / np.where(size > 0, size, 1.0), 1.0)
        return value, stiffness * speed, stiffness * (1 + (self.p - 2) * share**2)

    def keeps(self) -> str:
        return ""

    def ease(self, height: float) -> float:
        return (self.p * self.eta * height) ** (1 / self.p)


@dataclass(frozen=True)
class Quadratic(Power):
    """φ = |v|²/2η: what ``Objective(eta=…)`` says, and taken as that.

    Args:
        eta: η > 0, unit u²/(ℓ·T).

    Raises:
        ValueError: naming the argument that is out of range.
    """

    p: float = field(default=2.0, init=False, repr=False)


@dataclass(frozen=True, eq=False)
class Box(_Separable):
    """Limits of speed beside a quadratic price: φ = Σ v_i²/2η_i where all |v_i| ≤ ρ_i, else inf (W16, W17).

    On a sum of convex losses of one coordinate each the optimum is the free velocity, clipped at ±ρ; with η = inf it is
    −ρ sign(g).

    Args:
        limit: ρ > 0, unit u/T; a number or shape (D,).
        eta: η > 0, a number or shape (D,); inf charges nothing within the limit.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    limit: Any
    eta: Any = math.inf

    lengths: ClassVar[Mapping[str, float]] = {"limit": 1, "eta": 2}
    hypothesis = "a sum of convex losses of one coordinate each (W16, W17)"
    _each = ("limit", "eta")

    def __post_init__(self) -> None:
        for name in self._each:
            value = getattr(self, name)
            if name == "eta" and isinstance(value, float) and value == math.inf:
                continue
            numbers = _checks.positives(name, value)
            if (
                numbers.ndim > 1
                or numbers.size == 0
                or (numbers.ndim and np.ndim(self.limit) and numbers.size != len(self.limit))
            ):
                raise ValueError(f"{name} has shape {numbers.shape}, but it must be a number or have shape (D,)")
            _checks.frozen(numbers)
            object.__setattr__(self, name, numbers if numbers.ndim else float(numbers))

    def _of(self, v: Any) -> Any:
        return np.where(v > self.limit * (1 + _ROUNDING), np.inf, v**2 / (2 * self.eta))

    def _gain(self, p: Array) -> Array:
        return np.minimum(np.where(p > 0, self.eta, 0.0) * p, self.limit)

    def softened(self, v: ArrayLike, softness: float) -> tuple[Any, Array, Array]:
        """Return φ − softness·Σ log(1 − v²/ρ²): a barrier, inf at a limit and beyond."""
        speed = self._points("v", v)
        inside = np.abs(speed) < self.limit
        share = np.where(inside, speed / self.limit, 0.0)
        room = (1 - share) * (1 + share)
        value = self._of(np.abs(speed)) - softness * np.log(room)
        gradient = speed / self.eta + 2 * softness * share / room / self.limit
        stiffness = 1 / self.eta + 2 * softness * (1 + share**2) / (room * self.limit) ** 2
        return np.where(inside, value, np.inf).sum(-1), gradient, stiffness

    def softened_velocity(self, p: ArrayLike, softness: float) -> Array:
        """Return what the barrier alone leaves of a limit, or the free velocity where that is less.

        Without a quadratic price this is exact, and with one but for the corner where both count. A path at rest has a
        costate that is rounding: the barrier makes no velocity of it, where its sign alone would ask for a limit.
        """
        costate = self._points("p", p)
        barred = costate * self.limit**2 / (softness + np.hypot(softness, costate * self.limit))
        free = self._gain(np.abs(costate))
        return np.clip(barred, -free, free)

    def keeps(self) -> str:
        return ""

    def ease(self, height: float) -> float:
        return height

    def refuses(self, curvature: Array) -> str:
        return _flat(curvature)

    @property
    def cap(self) -> Any:
        return self.limit

    @property
    def bare(self) -> bool:  # type: ignore[override]
        return bool(np.all(np.isinf(self.eta)))

    def _phases(self, x: Array, bowl: Bowl) -> tuple[Array, Array, Array, Array]:
        """Return r of the free law, its r/η, the |x| at which it takes over (0 where η is inf), and when it does."""
        free = np.isinf(self.eta)
        eta = np.where(free, 1.0, self.eta)
        r = slow_rate(bowl.curvature, eta * bowl.k, bowl.gamma)
        edge = np.where(free, 0.0, self.limit / r)
        return r, np.where(free, 0.0, r / eta), edge, np.maximum(np.abs(x) - edge, 0.0) / self.limit

    def settle(self, x: Array, t: Array, bowl: Bowl) -> Array:
        """Return |x| − ρt up to ρ/r, then e^{−rt} of it."""
        r, _, edge, turn = self._phases(x, bowl)
        t = t[:, None]
        limited = np.abs(x) - self.limit * np.minimum(t, turn)
        free = np.minimum(np.abs(x), edge) * np.exp(-r * np.maximum(t - turn, 0.0))
        return np.sign(x) * np.where(t < turn, limited, free)

    def travel(self, x: Array, t: Array, bowl: Bowl) -> Array:
        r, _, edge, turn = self._phases(x, bowl)
        t = t[:, None]
        slowed = np.minimum(np.abs(x), edge) * np.expm1(-r * np.maximum(t - turn, 0.0))
        return np.sign(x) * (slowed - self.limit * np.minimum(t, turn))

    def costate(self, x: Array, bowl: Bowl) -> Array:
        """Return −V′: what the way at the limit and the free one after it add, by the envelope theorem."""
        _, stiffness, edge, turn = self._phases(x, bowl)
        faded = bowl.gamma * turn
        way = bowl.k * bowl.curvature * turn * (edge * exp_moment(faded, 0) + self.limit * turn * exp_moment(faded, 1))
        return -np.sign(x) * (way + np.exp(-faded) * stiffness * np.minimum(np.abs(x), edge))

    def cost(self, x: Array, bowl: Bowl) -> Any:
        """Return V, the sum over both phases."""
        _, stiffness, edge, turn = self._phases(x, bowl)
        faded, reach = bowl.gamma * turn, self.limit * turn
        moment0, moment1, moment2 = (exp_moment(faded, n) for n in range(3))
        height = bowl.k * bowl.curvature / 2 * (edge**2 * moment0 + 2 * edge * reach * moment1 + reach**2 * moment2)
        free = np.exp(-faded) * stiffness * np.minimum(np.abs(x), edge) ** 2 / 2
        return (turn * (self.limit**2 / (2 * self.eta) * moment0 + height) + free).sum(-1)


class _Tolled(Price):
    """λ‖v‖₁ beside a free law of rate r, inf for a jump: the dead zone |x| ≤ x_λ = λγ/kh, the law towards it (W18)."""

    lam: float

    def _rate(self, bowl: Bowl) -> tuple[Any, Any]:
        """Return r and r/η."""
        raise NotImplementedError

    def _zone(self, x: Array, bowl: Bowl) -> tuple[Array, Array]:
        """Return sign(x)·max(|x| − x_λ, 0), and V′/λ without the free law: x/x_λ, at most ±1."""
        edge = self.lam * bowl.gamma / (bowl.k * bowl.curvature)
        share = np.clip(np.divide(x, edge, out=np.sign(x), where=edge > 0), -1.0, 1.0)
        return norms.shrunk(x, edge), share

    def settle(self, x: Array, t: Array, bowl: Bowl) -> Array:
        """Return x_λ + (x − x_λ)e^{−rt} beyond the dead zone."""
        return x + self.travel(x, t, bowl)

    def travel(self, x: Array, t: Array, bowl: Bowl) -> Array:
        r, _ = self._rate(bowl)
        gone = np.where(t[:, None] > 0, np.expm1(-np.where(t > 0, t, 1.0)[:, None] * r), 0.0)
        return self._zone(x, bowl)[0] * gone

    def costate(self, x: Array, bowl: Bowl) -> Array:
        beyond, share = self._zone(x, bowl)
        return -self.lam * share - self._rate(bowl)[1] * beyond

    def cost(self, x: Array, bowl: Bowl) -> Any:
        """Return the toll to the dead zone, the free law's share, and what resting there costs for ever, khx²/2γ."""
        beyond, share = self._zone(x, bowl)
        in_zone = np.abs(x) - np.abs(beyond)
        toll = self.lam * (np.abs(beyond) + in_zone * np.abs(share) / 2)
        return (toll + self._rate(bowl)[1] * beyond**2 / 2).sum(-1)


@dataclass(frozen=True)
class Toll(_Tolled, _Separable):
    """φ = λ‖v‖₁ + |v|²/2η: to move at all costs something (W18).

    On separable bowls a gradient of at most λγ/k moves nothing, and the rest is the free rule towards that edge.

    Args:
        lam: λ ≥ 0, unit ℓ/u.
        eta: η > 0.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    lam: float
    eta: float = 1.0

    lengths: ClassVar[Mapping[str, float]] = {"lam": -1, "eta": 2}
    hypothesis = "a sum of bowls of one coordinate each (W18)"
    cap = math.inf

    def __post_init__(self) -> None:
        _checks.check(self, lam=_checks.nonnegative, eta=_checks.positive)

    def zone(self, k: float, gamma: float) -> float:
        return self.lam * gamma / k

    def _of(self, v: Any) -> Any:
        return self.lam * v + v**2 / (2 * self.eta)

    def _gain(self, p: Array) -> Array:
        return self.eta * norms.shrunk(p, self.lam)

    def keeps(self) -> str:
        return "has a kink where every path comes to rest: what is tolled is solved for on bowls along the axes alone"

    def refuses(self, curvature: Array) -> str:
        return _flat(curvature)

    def _rate(self, bowl: Bowl) -> tuple[Any, Any]:
        r = slow_rate(bowl.curvature, self.eta * bowl.k, bowl.gamma)
        return r, r / self.eta


@dataclass(frozen=True)
class Linear(_Tolled):
    """φ = λ‖v‖ (W19): no speed is worth while but an infinite one, and the optimum is one jump, then rest.

    ``velocity`` is 0, and where ‖p‖ > λ in the dual norm a ValueError: there the optimum jumps.

    Args:
        lam: λ > 0, unit ℓ/u.
        norm: "l1", "l2" or "linf".

    Raises:
        ValueError: naming the argument that is out of range.
    """

    lam: float
    norm: str = "l1"

    lengths: ClassVar[Mapping[str, float]] = {"lam": -1}
    moves = False

    def __post_init__(self) -> None:
        _checks.check(self, lam=_checks.positive)
        _checks.one_of("norm", self.norm, [name for name, norm in norms.NORMS.items() if not norm.matrix])

    def value(self, v: ArrayLike) -> Any:
        return self.lam * norms.NORMS[self.norm].size(_checks.points("v", v))

    def conjugate(self, p: ArrayLike) -> Any:
        dual = norms.NORMS[self.norm].dual(_checks.points("p", p))
        return np.where(dual > self.lam * (1 + _ROUNDING), np.inf, 0.0)

    def velocity(self, p: ArrayLike) -> Array:
        if np.any(np.isinf(self.conjugate(p))):
            raise ValueError(
                f"p = {_checks.shown(p)}, but its dual norm must be at most lam = {self.lam:g}: the optimum jumps"
            )
        return np.zeros_like(_checks.points("p", p))

    def keeps(self) -> str:
        return "has kinks in every direction in which the optimum moves, and Newton's method needs second derivatives"

    def refuses(self, curvature: Array) -> str:
        return _flat(curvature) if self.norm == "l1" else "has a closed form on a bowl in the norm 'l1' only"

    def _rate(self, bowl: Bowl) -> tuple[Any, Any]:
        return np.inf, 0.0


@dataclass(frozen=True, eq=False)
class Norm(Price):
    """A norm as price, φ = ‖v‖²/2η, or as limit, φ = 0 where ‖v‖ ≤ ρ and else inf (W14, W17).

    Args:
        norm: "l1", "l2", "linf"; "spectral" or "nuclear", for points of shape (..., m, n); or a list of layers, each
            (slice, norm), or of a matrix (slice, norm, (m, n)), which together are θ: φ is the sum over them.
        eta: η > 0, a number, or one for each layer.
        limit: ρ > 0, unit u/T, a number, or one for each layer. Exactly one of the two is given.

    Raises:
        ValueError: naming the argument that is wrong.

    Example:
        >>> Norm("linf", limit=2.0).velocity([3.0, -0.1])
        array([ 2., -2.])
    """

    norm: str | Sequence[Any]
    eta: Any = None
    limit: Any = None
    layers: tuple[norms.Layer, ...] = field(init=False, repr=False)

    lengths: ClassVar[Mapping[str, float]] = {"limit": 1, "eta": 2}

    def __post_init__(self) -> None:
        if (self.eta is None) is (self.limit is None):
            raise ValueError(f"eta = {self.eta!r} and limit = {self.limit!r}, but exactly one of them must be given")
        entries = [self.norm] if isinstance(self.norm, str) else list(_checks.sequence("norm", self.norm, "layers"))
        name = "limit" if self.eta is None else "eta"
        numbers = _checks.positives(name, getattr(self, name))
        if not entries or numbers.shape not in ((), () if isinstance(self.norm, str) else (len(entries),)):
            raise ValueError(
                f"{name} has shape {numbers.shape}, but it must be a number, or one for each layer of norm"
            )
        layers = (norms.Layer.of(*pair) for pair in zip(entries, np.full(len(entries), numbers).tolist(), strict=True))
        object.__setattr__(self, "layers", tuple(layers))

    @property
    def quadratic(self) -> float | None:
        return float(self.eta) if self.norm == "l2" and self.eta is not None else None

    def value(self, v: ArrayLike) -> Any:
        sizes = [(layer.number, layer.norm.size(own)) for layer, own in self._split("v", v)]
        if self.eta is not None:
            return sum(size**2 / (2 * eta) for eta, size in sizes)
        return sum(np.where(size > limit * (1 + _ROUNDING), np.inf, 0.0) for limit, size in sizes)

    def velocity(self, p: ArrayLike) -> Array:
        """Return the direction that gains the most, at the speed η‖p‖ in the dual norm, or ρ."""
        costate = _checks.points("p", p)
        velocity = np.empty_like(costate)
        for layer, own in self._split("p", costate):
            speed = np.asarray(layer.number if self.eta is None else layer.number * layer.norm.dual(own))
            part = speed[(..., *[None] * (1 + layer.norm.matrix))] * layer.norm.peak(own)
            velocity[..., layer.part] = part if layer.shape is None else part.reshape(*costate.shape[:-1], -1)
        return velocity

    def softened(self, v: ArrayLike, softness: float) -> tuple[Any, Array, Array]:
        """Return φ in the norm l2; of a limit in linf a box's barrier."""
        if self._box is not None:
            return self._box.softened(v, softness)
        velocity = _checks.points("v", v)
        stiffness = np.empty_like(velocity)
        for layer in self.layers:
            stiffness[..., layer.part] = 1 / layer.number
        return self.value(velocity), stiffness * velocity, stiffness

    def softened_velocity(self, p: ArrayLike, softness: float) -> Array:
        return self.velocity(p) if self._box is None else self._box.softened_velocity(p, softness)

    def keeps(self) -> str:
        kept = self._box is not None or (self.eta is not None and all(layer.name == "l2" for layer in self.layers))
        return "" if kept else "is kinked where its optima go: norms are solved for as eta of 'l2', or limit of 'linf'"

    def ease(self, height: float) -> float:
        return 0.0 if self._box is None else self._box.ease(height)

    def _split(self, name: str, points: ArrayLike) -> list[tuple[norms.Layer, Array]]:
        """Return each layer with its part of the points."""
        array = _checks.points(name, points)
        if isinstance(self.norm, str):
            if self.layers[0].norm.matrix and (array.ndim < 2 or 0 in array.shape[-2:]):
                raise ValueError(f"{name} has shape {array.shape}, but it must have shape (..., m, n)")
            return [(self.layers[0], array)]
        norms.covered(self.layers, name, array)
        return [(layer, layer.taken(array)) for layer in self.layers]

    @property
    def cap(self) -> Any:
        """ρ, where it limits each coordinate."""
        return None if self._box is None else self._box.limit

    @property
    def bare(self) -> bool:  # type: ignore[override]
        return self.limit is not None

    @property
    def hypothesis(self) -> str:  # type: ignore[override]
        if self.eta is not None:
            return Price.hypothesis
        of = {
            "l1": "a sum of convex losses",
            "linf": "a sum of losses of one coordinate each, or a bowl with a diagonally dominant Hessian",
            "l2": "of |θ − θ*| alone",
        }
        kinds = sorted({of.get(one.name, "of the singular values of θ − θ*, rising in each") for one in self.layers})
        return f"{'; '.join(kinds)} (W17); others as γ → ∞"

    @property
    def _box(self) -> Box | None:
        """The limit of the largest speed, which is a box."""
        return Box(self.layers[0].number) if self.norm == "linf" and self.eta is None else None

    def refuses(self, curvature: Array) -> str:
        """Return why not: under a limit greedy is optimal, on separable or on invariant losses."""
        if self.eta is not None:
            return "shares its speed between the coordinates: no closed form at a finite gamma"
        for layer in self.layers:
            own = curvature[layer.part]
            if layer.norm.matrix and layer.shape is None:
                return "is of a matrix: give it as a layer, (slice(None), norm, (m, n))"
            if layer.name not in ("l1", "linf") and np.any(np.abs(own - own[0]) > 1e-12 * np.abs(own[0])):
                return f"has an exact law in the norm {layer.name!r} only where all curvatures are alike, H = hI"
        return _flat(curvature)

    def settle(self, x: Array, t: Array, bowl: Bowl) -> Array:
        return self._greedy(x, t, bowl, way=False)

    def travel(self, x: Array, t: Array, bowl: Bowl) -> Array:
        return self._greedy(x, t, bowl, way=True)

    def _greedy(self, x: Array, t: Array, bowl: Bowl, way: bool) -> Array:
        result = np.empty((len(t), len(x)))
        for layer in self.layers:
            result[:, layer.part] = layer.greedy(x[layer.part], t, bowl.curvature[layer.part], way)
        return result

    def pace(self, x: Array, bowl: Bowl) -> Array:
        velocity = self.velocity(-bowl.curvature * x)
        for layer in self.layers:
            if layer.name in ("l1", "nuclear"):
                velocity[..., layer.part] = layer.ridge(x[..., layer.part], bowl.curvature[layer.part])
        return velocity

    def cost(self, x: Array, bowl: Bowl) -> Any:
        """Return what the loss costs on the way, by quadrature where the norm is not the largest speed's."""
        if self._box is not None:
            return self._box.cost(x, bowl)
        end = max(float(layer.norm.size(own)) / layer.number for layer, own in self._split("x", x))
        end = min(end, FADED / bowl.gamma) if bowl.gamma > 0 else end
        nodes, weights = np.polynomial.legendre.leggauss(8)
        edges = np.linspace(0.0, end, _PIECES + 1)
        t = (edges[:-1, None] + np.diff(edges)[:, None] * (1 + nodes) / 2).ravel()
        height = bowl.k / 2 * (self.settle(x, t, bowl) ** 2 @ bowl.curvature)
        return float((np.exp(-bowl.gamma * t) * height) @ np.tile(end / _PIECES / 2 * weights, _PIECES))


@dataclass(frozen=True, eq=False)
class Softened(Price):
    """A price as it is minimised: ``softened``, by so much.

    Attributes:
        price: the price itself, which ``keeps`` its momentum.
        softness: how much.
        hurry: how often in a unit of time a path looks different.
    """

    price: Price
    softness: float
    hurry: float

    def value(self, v: ArrayLike) -> Any:
        return self.price.softened(v, self.softness)[0]

    def velocity(self, p: ArrayLike) -> Array:
        return self.price.softened_velocity(p, self.softness)


def _flat(curvature: Array) -> str:
    """Return why modes are no bowls, or ""."""
    return "" if np.all(curvature > 0) else "has an exact law only where all curvatures are > 0"
