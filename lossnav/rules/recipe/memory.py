r"""Memory: leaky averages of the gradient and of a datum that stands for curvature (Eqs. 12, 13; Sec. 5)."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.rules.recipe.state import State


@dataclass(frozen=True)
class Filter:
    r"""A leaky average of data y, τẋ = y − x from x = 0.

    Over a time Δt in which y does not change the solution is x ← βx + (1−β)y with β = e^{−Δt/τ}, exactly.

    Args:
        tau: τ in [0, inf], unit of time. 0 has no memory, x = y; inf never learns.
        corrected: divide x by 1 − e^{−t/τ}, the weight of all that was seen until t (bias correction); needs τ < inf.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    tau: float = 0.0
    corrected: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", _checks.duration("tau", self.tau, zero=True))
        object.__setattr__(self, "corrected", _checks.flag("corrected", self.corrected))
        if self.corrected and self.tau == math.inf:
            raise ValueError("tau = inf, but it must be finite where corrected is True: no weight to divide by")

    @classmethod
    def of_weight(cls, beta: float, *, corrected: bool = False, dt: float = 1.0) -> Filter:
        """Return the filter that gives its past the weight β in [0, 1) in a step Δt > 0: τ = −Δt/ln β."""
        weight = _checks.finite("beta", beta, low=0.0, high=1.0)
        if weight == 1.0:
            raise ValueError(f"beta = {_checks.shown(beta)}, but it must be a finite number >= 0 and < 1")
        step = _checks.positive("dt", dt)
        return cls(0.0 if weight == 0 else -step / math.log(weight), corrected)

    def _weights(self, dt: float) -> tuple[float, float]:
        """Return β and 1 − β, the second with all its digits."""
        if self.tau == 0:
            return 0.0, 1.0
        return math.exp(-dt / self.tau), -math.expm1(-dt / self.tau)

    def _seen(self, time: float) -> float:
        """Return 1 − e^{−t/τ}, the weight of all data until ``time``."""
        return 0.0 if time == 0 else self._weights(time)[1]

    def _advance(self, value: Array, datum: Array, dt: float) -> Array:
        beta, learn = self._weights(dt)
        return beta * value + learn * datum

    def _rate(self, value: Array, datum: Array) -> Array:
        """Return ẋ; 0 without memory, where x is no state: it is y."""
        return np.zeros_like(value) if self.tau == 0 else (datum - value) / self.tau

    def _estimate(self, value: Array, time: float, datum: Array) -> Array:
        """Return what is believed at ``time``; x/(1 − e^{−t/τ}) tends to the datum as t → 0."""
        if not self.corrected:
            return value
        return datum if time == 0 else value / self._seen(time)


class Look(NamedTuple):
    """All that a datum may depend on, at the end of a step Δt, or at a moment (Δt = 0)."""

    gradient: Array
    before: Array | None  # m over its weight, before this gradient; None in the first look
    mean: Array  # m with this gradient
    beta: float  # weight of the past in m over Δt
    seen: float  # weight of all that m had averaged before
    precision: Array  # of the weights, before this look
    given: Array | None
    sample: Array | None


@dataclass(frozen=True)
class Datum(abc.ABC):
    """What is averaged for the curvature, times ``scale`` >= 0 (the c of h = cV where it is not elsewhere)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checks.finite("scale", self.scale, low=0.0))

    @abc.abstractmethod
    def _of(self, look: Look) -> Array:
        """Return the datum, without its scale."""


class SecondMoment(Datum):
    """g²: the uncentred second moment."""

    def _of(self, look: Look) -> Array:
        return look.gradient**2


class Centred(Datum):
    """(g − m)² with the m that has seen g; small by 2β²/(1+β) for steady noise. Needs a memory of the gradient."""

    def _of(self, look: Look) -> Array:
        return (look.gradient - look.mean) ** 2


class Innovation(Datum):
    r"""(g − m̂)² with the m̂ that has not seen g, made unbiased for steady noise; g² in the first look.

    m̂ averages n − 1 gradients with weights of sum one and Σw² = (1−β)(1+βⁿ⁻¹)/((1+β)(1−βⁿ⁻¹)), so the factor is
    1/(1+Σw²) = (1+β)(1−βⁿ⁻¹)/(2(1−βⁿ)); it is 1 for Δt → 0 at any t > 0. The datum of the first look
    has the weight Δt/t in a corrected average at time t ≪ τ, so that from t = 0 a path of steps tends to the
    continuous one as Δt·log(1/Δt), and from any later state as Δt.
    """

    def _of(self, look: Look) -> Array:
        if look.before is None:
            return look.gradient**2
        unbiased = (1 + look.beta) * look.seen / (2 * (1 - look.beta * (1 - look.seen)))
        return unbiased * (look.gradient - look.before) ** 2


class Given(Datum):
    """A curvature from outside, as from a Hessian-vector product with random signs; what is not given changes nothing.

    It is the argument ``curvature`` of ``update``, for no recipe can look at the loss.
    """

    def _of(self, look: Look) -> Array:
        if look.given is None:
            raise ValueError("curvature = None, but it must be an array in the first look: datum is Given")
        return look.given


class Sampled(Datum):
    """max(0, g z √p): Price's theorem for a gradient that was taken at θ + z/√p, z being ``Draws.sample``."""

    def _of(self, look: Look) -> Array:
        if look.sample is None:
            raise ValueError("draws.sample = None, but it must be an array shaped like theta: datum is Sampled")
        return np.maximum(np.sqrt(look.precision) * look.gradient * look.sample, 0.0)


class Seen(NamedTuple):
    """What a look leaves behind: both averages, how long they are, what is believed, and the datum (None: none)."""

    mean: Array
    time: float
    curvature: Array
    observed: float
    signal: Array
    variance: Array
    datum: Array | None


@dataclass(frozen=True)
class Memory:
    """Two filters and what the second one is fed with.

    Args:
        mean: filter of the gradient, whose estimate is the signal that a step follows.
        curvature: filter of the datum, whose estimate V the preconditioner takes.
        datum: ``SecondMoment``, ``Centred``, ``Innovation``, ``Given`` or ``Sampled``.

    Raises:
        ValueError: an argument is of another kind, or ``Centred`` has no mean to compare with.
    """

    mean: Filter = field(default_factory=Filter)
    curvature: Filter = field(default_factory=Filter)
    datum: Datum = field(default_factory=SecondMoment)

    def __post_init__(self) -> None:
        _checks.instance("mean", self.mean, Filter, "a Filter")
        _checks.instance("curvature", self.curvature, Filter, "a Filter")
        _checks.instance("datum", self.datum, Datum, "a datum: SecondMoment(), Centred(), Innovation() …")
        if isinstance(self.datum, Centred) and self.mean.tau == 0:
            raise ValueError("mean.tau = 0, but it must be > 0 where datum is Centred: with m = g nothing deviates")

    def _look(
        self, gradient: Array, state: State, dt: float, floor: float, given: Array | None, sample: Array | None
    ) -> Seen:
        """Look at a gradient for a time Δt; Δt = 0 leaves the averages, and says what is believed at this moment."""
        mean = self.mean._advance(state.mean, gradient, dt)
        signal = self.mean._estimate(mean, state.time + dt, gradient)
        if isinstance(self.datum, Given) and given is None and state.observed > 0:
            variance = self.curvature._estimate(state.curvature, state.observed, state.curvature)
            return Seen(mean, state.time + dt, state.curvature, state.observed, signal, variance, None)
        seen = self.mean._seen(state.time)
        before = state.mean / seen if seen > 0 else None
        if self.mean.tau == 0 and dt == 0:  # without memory the mean is the gradient of this moment, not of a step ago
            before = gradient
        look = Look(
            gradient=gradient,
            before=before,
            mean=mean,
            beta=self.mean._weights(dt)[0],
            seen=seen,
            precision=state.curvature + floor,
            given=given,
            sample=sample,
        )
        datum = self.datum.scale * self.datum._of(look)
        curvature = self.curvature._advance(state.curvature, datum, dt)
        variance = self.curvature._estimate(curvature, state.observed + dt, datum)
        return Seen(mean, state.time + dt, curvature, state.observed + dt, signal, variance, datum)
