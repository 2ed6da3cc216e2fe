r"""What a learner believes: the assumptions from which ``lossnav.derive`` makes a rule.

About its gradient, ``belief``: ``Filter``. About the curvature, ``curvature``: ``Known``, ``SecondMoment``,
``Innovation``, ``Hutchinson``. About the price of speed, ``metric``, beside what the objective says:
``RootMeanSquare``. About weight matrices, as either of the two: ``Kronecker``, ``Eigenbasis``, ``Polar``. Each brings
all that a rule needs of it: how its averages move, its term, its words (``Curvature`` says how to make another).
Averages have the weight β of their past in a step, whatever the time Δt that a step takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lossnav import _checks
from lossnav.rules.assumption import Assumption, Curvature, Look, Metric, Position, absent, root
from lossnav.rules.matrices import Eigenbasis, Kronecker, Polar

__all__ = [
    "Eigenbasis",
    "Filter",
    "Hutchinson",
    "Innovation",
    "Known",
    "Kronecker",
    "Polar",
    "RootMeanSquare",
    "SecondMoment",
]

_AVERAGED = "belief in the curvature"


class Mean(NamedTuple):
    """What is believed of the gradient: the average itself, what the plan is made on, and its slope over a step."""

    m: Any
    signal: Any
    slope: Any


@dataclass(frozen=True, eq=False)
class Filter(Assumption):
    r"""A belief in the mean gradient: m ← βm + (1 − β)g, and how it will go on, E[a(t)] = e^{−𝐀t} m.

    β is the weight with which gradients are averaged; ``fading`` is what the plan believes of the future. The two
    need not go together: Adam's ε is a fading of its own.

    Args:
        beta: β in [0, 1); 0 has no memory, m = g.
        fading: α, per unit of time: how fast the gradient is believed to vanish. A number >= 0; shape (D,), one
            for each coordinate, >= 0; or 𝐀 itself, shape (D, D), whose eigenvalues ``derive`` checks.
        trend: None, or the weight in [0, 1) of the past in an average of the slope ṁ (a local linear trend, Holt's
            recursion): E[a(t)] = e^{−𝐀t}(m + ṁt). The level m starts at the first gradient then.
        corrected: divide m by 1 − βⁿ in step n; without effect where there is a trend.
        share: s in [0, 1], how much of what is not in m is believed to be signal, a white one that has no forecast
            of its own: the plan is made on m + s(g − m). Nesterov's momentum is s = 1 − β, Lion s = (β₂ − β₁)/β₂. That
            it counts as much as m, whose forecast lasts, is right only where s₊Δt ≫ 1.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    fading: Any = 0.0
    trend: float | None = None
    corrected: bool = True
    share: float = 0.0

    def __post_init__(self) -> None:
        _checks.check(
            self, beta=_checks.weight, corrected=_checks.flag, share=partial(_checks.finite, low=0.0, high=1.0)
        )
        rates = _checks.array("fading", self.fading)
        if rates.ndim > 2 or rates.size == 0 or (rates.ndim == 2 and rates.shape[0] != rates.shape[1]):
            raise ValueError(f"fading has shape {rates.shape}, but it must be a number or have shape (D,) or (D, D)")
        if rates.ndim < 2 and np.any(rates < 0):
            raise ValueError(f"fading = {_checks.shown(self.fading)}, but all its entries must be >= 0")
        _checks.frozen(rates)
        object.__setattr__(self, "fading", rates)
        if self.trend is not None:
            _checks.check(self, trend=_checks.weight)

    @property
    def memory(self) -> tuple[str, ...]:  # type: ignore[override]
        """The average, and its slope where there is a trend."""
        if self.trend is not None:
            return ("m", "w")
        return () if absent(self.beta) else ("m",)

    @property
    def dim(self) -> int | None:
        """D, where the rates of fading are those of coordinates."""
        return len(self.fading) if self.fading.ndim else None

    def believed(self, look: Look) -> Mean:
        """Average the gradient; with a trend, follow level and slope (Holt's recursion)."""
        g, slope = look.gradient, None
        if self.trend is not None:
            begun = look.begun()  # in step 1, m = g and w = 0
            level = look.blend(g, look.kept("m") + look.kept("w"), begun * self.beta)
            slope = look.keep("w", look.blend(level - look.kept("m"), look.kept("w"), self.trend) * begun)
            m = signal = look.keep("m", level, "belief in the mean gradient")
        elif absent(self.beta):
            return Mean(g, g, None)
        else:
            signal = look.average("m", g, self.beta, self.corrected, "belief in the mean gradient")
            m = look.kept("m")
        return Mean(m, signal if absent(self.share) else look.blend(signal, g, self.share), slope)

    def kept(self, n: int) -> float:
        """Return Σw², with the weights w of n ≥ 1 gradients in m: the part of white noise's second moment that m keeps.

        (1 − β)/(1 + β)·(1 + βⁿ)/(1 − βⁿ): 1 for n = 1, and (1 − β)/(1 + β) for n → ∞. Not corrected, m is 1 − βⁿ times
        as large.
        """
        past = self.beta**n
        numerator = (1 - self.beta) / (1 + self.beta) * (1 + past)
        return numerator / (1 - past) if self.corrected else numerator * (1 - past)

    def words(self) -> str:
        text = "exact" if self.beta == 0 else f"an average, β = {self.beta:g}"
        if np.any(self.fading):
            rate = f"{float(self.fading):g}" if self.fading.ndim == 0 else f"an array of shape {self.fading.shape}"
            text += f"; it fades at α = {rate}"
        text += f"; with a trend, β = {self.trend:g}" if self.trend is not None else ""
        return text + (f"; and {self.share:g} of the rest is signal" if self.share else "")

    @classmethod
    def positions(cls) -> tuple[Position, ...]:
        return (
            Position("belief", "average", "m is an average of g", lambda x: {"beta": x["beta"]}),
            Position(
                "belief", "fading", "an average, believed to fade at α",
                lambda x: {"beta": x["beta"], "fading": x["alpha"]},
            ),
        )  # fmt: skip


class Averaged(Curvature):
    """A curvature h = c(V + floor) with an average V; ``scale``, ``floor``, ``beta`` are its fields."""

    memory = ("v",)
    beta: Any
    scale: Any
    floor: Any
    corrected: Any

    def __post_init__(self) -> None:
        _checks.check(
            self, beta=_checks.weight, scale=_checks.positive, floor=_checks.nonnegative, corrected=_checks.flag
        )

    @property
    def h(self) -> str:  # type: ignore[override]
        """Whether there is a floor in formulas; a class with a term of its own has none of these."""
        if type(self).term is not Averaged.term:
            return Curvature.h
        return "floored" if self.floor else "averaged"

    def term(self, believed: Any) -> Any:
        return (believed + self.floor) * self.scale

    def words(self) -> str:
        if self.h == Curvature.h:
            return type(self).__name__
        variance = f"(V + {self.floor:g})" if self.floor else "V"
        return f"{type(self).__name__}, h = {self.scale:g}·{variance}; a plug-in"


@dataclass(frozen=True)
class SecondMoment(Averaged):
    r"""The curvature is believed to be diagonal, h = c(V + floor), with V an average of g² (Eqs. 13, 33).

    Args:
        beta: β in [0, 1), the weight of the past in V.
        centred: average (g − m)², the variance, in place of g²; needs a belief with a memory.
        scale: c > 0, in the units that make cV a curvature.
        floor: >= 0, in the units of g²: what is believed before any gradient.
        corrected: divide V by 1 − βⁿ in step n.
        signal: average the square of what the plan is made on (m, or m + s(g − m)) in place of g²: sign descent along
            an average has β = 0.

    Raises:
        ValueError: naming the argument that is out of range, or both ``centred`` and ``signal`` are True.
    """

    beta: float
    centred: bool = False
    scale: float = 1.0
    floor: float = 0.0
    corrected: bool = True
    signal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.check(self, centred=_checks.flag, signal=_checks.flag)
        if self.centred and self.signal:
            raise ValueError("signal = True, but it must be False where centred is True: V averages one square")

    def refuse(self, belief: Filter) -> None:
        if self.centred and (belief.beta == 0 or belief.trend is not None):
            raise ValueError(
                "curvature.centred = True, but it must be False where belief has no memory (beta = 0) or a trend: "
                "there is no steady mean to deviate from"
            )

    def believed(self, look: Look) -> Any:
        """Average the square of the gradient, of its deviation from m, or of what the plan is made on."""
        datum = look.mean if self.signal else look.gradient
        if self.centred:
            datum = look.gradient - look.m
        return look.average("v", datum * datum, self.beta, self.corrected, _AVERAGED)

    @classmethod
    def positions(cls) -> tuple[Position, ...]:
        return (
            Position(
                "curvature", "average", "h = cV, V an average of g²",
                lambda x: {"beta": x["memory"], "scale": x["c"]}, "g",
            ),
            Position(
                "curvature", "instant", "h = cg², of this gradient alone",
                lambda x: {"beta": 0.0, "scale": x["c"]}, "g",
            ),
            Position(
                "curvature", "signal", "h = cm², of the mean believed in",
                lambda x: {"beta": 0.0, "scale": x["c"], "signal": True}, "m",
            ),
        )  # fmt: skip


@dataclass(frozen=True)
class Innovation(Averaged):
    r"""The curvature is believed to be diagonal, h = c(V + floor), V an average of (g − m̂)² with the m̂ of a step ago.

    What surprises is noise and not the mean: divided by 1 + Σw², the weights of m̂, it is an unbiased variance for
    steady noise; g² in the first step.

    Args:
        beta: β in [0, 1), the weight of the past in V.
        scale: c > 0, in the units that make cV a curvature.
        floor: >= 0, in the units of g².
        corrected: divide V by 1 − βⁿ in step n.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    scale: float = 1.0
    floor: float = 0.0
    corrected: bool = True

    def refuse(self, belief: Filter) -> None:
        if belief.beta == 0 or belief.trend is not None:
            raise ValueError(
                "curvature is an Innovation, but it must be another where belief has no memory (beta = 0) or a trend: "
                "there is no mean to be surprised about"
            )

    def foresee(self, look: Look) -> Any:
        """Return m̂ − g before this gradient is in m; without memory m̂ is the last gradient."""
        past = look.seen(look.belief.beta, look.n - 1)
        return look.kept("m") / (past + (1 - look.begun())) - look.gradient

    def believed(self, look: Look) -> Any:
        """Average what no one expected, m̂ having averaged n − 1 gradients with Σw² = (1−β)(1+βⁿ⁻¹)/((1+β)(1−βⁿ⁻¹))."""
        beta1, surprise = look.belief.beta, look.foreseen
        weight = (1 + beta1) * look.seen(beta1, look.n - 1) / (2 * look.seen(beta1, look.n)) + (1 - look.begun())
        return look.average("v", surprise * surprise * weight, self.beta, self.corrected, _AVERAGED)


@dataclass(frozen=True)
class Hutchinson(Averaged):
    r"""The curvature is believed to be diagonal, h = c(V + floor), with V the size of a mean of z ⊙ Hz (signs z).

    No function of gradients can know it: ``z ⊙ Hz`` is the argument ``curvature`` of a rule's step.

    Args:
        beta: β in [0, 1), the weight of the past in V.
        scale: c > 0.
        floor: >= 0, in the units of a curvature.
        corrected: divide V by 1 − βⁿ in step n.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    scale: float = 1.0
    floor: float = 0.0
    corrected: bool = True

    told = True
    needs = "z ⊙ Hz comes from the loss and not from gradients (ln.optim.Navigator takes it)"

    def believed(self, look: Look) -> Any:
        return abs(look.told("v", self.beta, self.corrected))


@dataclass(frozen=True, eq=False)
class Known(Curvature):
    """The curvature is known.

    Args:
        hessian: H, shape (D, D), symmetric, of any signature that leaves a minimiser.

    Raises:
        ValueError: it is not symmetric.
    """

    hessian: Any

    def __post_init__(self) -> None:
        matrix = _checks.symmetric("hessian", self.hessian)
        _checks.frozen(matrix)
        object.__setattr__(self, "hessian", matrix)

    constant = True
    needs = "its entries belong to coordinates, and tensors of a network have none of that number"

    @property
    def dim(self) -> int:
        return len(self.hessian)

    def believed(self, look: Look) -> None:
        """Remember nothing: it is known."""

    def term(self, believed: Any) -> Any:
        return np.diagonal(self.hessian)

    def words(self) -> str:
        return "known"


@dataclass(frozen=True)
class RootMeanSquare(Metric):
    r"""The metric is believed to be G = diag(√V + ε): a move costs more where gradients have been large.

    With it a decay θ̇ = −jθ and no curvature the optimum is AdamW, at every γ > 0. The metric is frozen within a plan.

    Args:
        beta: β in [0, 1), the weight of the past in V, an average of g².
        eps: ε >= 0, in the units of g.
        corrected: divide V by 1 − βⁿ in step n.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    eps: float = 0.0
    corrected: bool = True

    def __post_init__(self) -> None:
        _checks.check(self, beta=_checks.weight, eps=_checks.nonnegative, corrected=_checks.flag)

    memory = ("u",)

    def believed(self, look: Look) -> Any:
        square = look.gradient * look.gradient
        return look.average("u", square, self.beta, self.corrected, "belief in the metric")

    def term(self, believed: Any) -> Any:
        return root(believed) + self.eps

    def words(self) -> str:
        return f"G = √V + {self.eps:g}, from an average of g² (β = {self.beta:g}); a plug-in"

    @classmethod
    def positions(cls) -> tuple[Position, ...]:
        words = "G = √V, from an average of g²"
        return (Position("metric", "rms", words, lambda x: {"beta": x["memory"]}, "g"),)


def __dir__() -> list[str]:
    """List what users write: the assumptions, and what one of their own is made of."""
    return sorted([*__all__, "Curvature", "Metric", "root"])


def kinds() -> list[type[Assumption]]:
    """Return the assumptions of this module."""
    return [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, Assumption)]
